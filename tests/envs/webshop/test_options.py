"""Keywords of the environment: their values are checked, errors name them."""

import inspect
from dataclasses import FrozenInstanceError, fields

import numpy as np
import pytest

from roll_vec.envs.webshop.catalogue.catalogue import Catalogue
from roll_vec.envs.webshop.catalogue.options import CatalogueOptions
from roll_vec.envs.webshop.options import WebShopOptions
from roll_vec.errors import InvalidOptionError, UnknownOptionError
from roll_vec.options import parse_options


class Unhashable:
    """A filter of goals that cannot be hashed."""

    __hash__ = None

    def __call__(self, number, goal):
        return True


BAD = [
    ({"filter_goals": 3}, "filter_goals: expected a hashable function"),
    ({"filter_goals": "goals"}, "filter_goals"),
    ({"filter_goals": Unhashable()}, "filter_goals: expected a hashable function"),
    ({"limit_goals": 0}, "limit_goals: expected at least 1, got 0"),
    ({"limit_goals": 2.0}, "limit_goals"),
    ({"split": "validation"}, "split: expected one of 'all', 'test', 'eval', 'train'"),
    ({"split": None}, "split"),
    ({"observation_mode": "html"}, "observation_mode: expected one of 'text'"),
    ({"observation_format": "gem"}, "observation_format: expected one of 'page'"),
    ({"show_attrs": 1}, "show_attrs"),
    ({"num_levels": -1}, "num_levels"),
    ({"start_level": 3}, "start_level: 3 has no meaning"),
    ({"env_instruction": 3}, "env_instruction: expected a str or None"),
    ({"render_mode": "rgb_array"}, "render_mode"),
    # Those of the catalogue are checked as well.
    ({"attributes": "/a.json"}, "attributes: '/a.json' needs products"),
    ({"human_instructions": "/a.json"}, "human_instructions: '/a.json' needs products"),
    ({"title_nouns": "/a.json"}, "title_nouns: '/a.json' needs products"),
    ({"products": 3}, "products: expected the path"),
    ({"num_products": 0}, "num_products"),
    ({"human_goals": None}, "human_goals"),
    ({"catalog_seed": -1}, "catalog_seed"),
    ({"memory_map": True}, "memory_map: expected products to be the folder"),
    ({"search_backend": "bm25"}, "search_backend"),
]


@pytest.mark.parametrize(
    ("keywords", "message"),
    BAD,
    ids=lambda part: "" if isinstance(part, str) else "-".join(part),
)
def test_bad_values_are_named(keywords, message):
    with pytest.raises(InvalidOptionError) as raised:
        WebShopOptions(**keywords)
    assert str(raised.value).startswith(message)


def test_unknown_keywords_are_named():
    with pytest.raises(UnknownOptionError, match=r"argument 'file'; .*products"):
        parse_options(WebShopOptions, {"file": "x"})


def test_a_stored_catalogue_has_the_other_files_in_it(tmp_path):
    for name in ("attributes", "human_instructions", "title_nouns"):
        with pytest.raises(InvalidOptionError, match=f"^{name}: .* stored catalogue"):
            WebShopOptions(products=tmp_path, **{name: "x.json"})
    with pytest.raises(InvalidOptionError, match=r"^num_products: 3 .* stored"):
        WebShopOptions(products=tmp_path, num_products=3)
    assert WebShopOptions(products=tmp_path, memory_map=True).is_stored


def test_values_are_kept_in_one_form(tmp_path):
    options = WebShopOptions(
        products=tmp_path / "items.json",
        limit_goals=np.int64(3),
        show_attrs=np.True_,
        num_levels=np.int8(5),
    )
    assert options.products == str(tmp_path / "items.json")
    assert (options.limit_goals, type(options.limit_goals)) == (3, int)
    assert options.show_attrs is True
    assert type(options.num_levels) is int
    with pytest.raises(FrozenInstanceError):
        options.split = "test"
    assert hash(options) == hash(WebShopOptions(**vars(options)))


def test_the_catalogues_keywords_are_among_them():
    keywords = {field.name for field in fields(WebShopOptions)}
    assert keywords > {field.name for field in fields(CatalogueOptions)}
    for name in keywords:
        assert name in WebShopOptions.__doc__


def test_the_constructor_shows_its_keywords():
    from roll_vec.envs.webshop.env import WebShop

    parameters = inspect.signature(WebShop).parameters
    assert list(parameters) == list(inspect.signature(WebShopOptions).parameters)
    of_load = inspect.signature(Catalogue.load).parameters
    keywords = inspect.signature(CatalogueOptions).parameters
    assert list(of_load) == [*keywords, "progress"]
    assert parameters["split"].default == "all"
    assert all(p.kind is inspect.Parameter.KEYWORD_ONLY for p in parameters.values())
