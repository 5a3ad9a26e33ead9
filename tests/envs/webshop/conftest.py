"""Fixtures: the files of the small shop, and a function that makes environments."""

import pytest

from roll_vec.envs.webshop import Catalogue
from roll_vec.envs.webshop.env import WebShop
from tests.envs.webshop.shops import shirt_goal, write


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """Return the keywords for the files of the small shop."""
    return write(tmp_path_factory.mktemp("shop"))


@pytest.fixture
def shop(files):
    """Return a function that makes an environment and plays a shirt's goal."""

    def make(**keywords):
        env = WebShop(**files, **keywords)
        env.reset(seed=0, options={"session": shirt_goal(env)})
        return env

    return make


@pytest.fixture
def small(tmp_path):
    """Return the catalogue of the small shop."""
    return Catalogue.load(**write(tmp_path))


@pytest.fixture
def shop_file(small, tmp_path):
    """Return the file of the small shop, stored."""
    small.save(tmp_path / "stored")
    return tmp_path / "stored"
