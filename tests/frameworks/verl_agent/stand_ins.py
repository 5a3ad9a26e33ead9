"""verl-agent's batches, with Ray's actors as objects in this process."""

import importlib
import os
import sys
from pathlib import Path
from types import SimpleNamespace

CHECKOUT = Path(os.environ["ROLL_VEC_CHECKOUT"])
PACKAGES = "agent_system.environments.env_package"


class LocalRay:
    """Ray in one process: actors are objects, and every call has ended at once."""

    @staticmethod
    def is_initialized():
        """Return True."""
        return True

    @staticmethod
    def get(results):
        """Return results, which are no references here."""
        return results

    @staticmethod
    def kill(actor):
        """Do nothing."""

    @staticmethod
    def remote(**resources):
        """Return a decorator of an actor's class."""
        del resources
        return lambda cls: SimpleNamespace(
            remote=lambda *arguments: LocalActor(cls(*arguments))
        )


class LocalActor:
    """An object whose methods are called as those of an actor."""

    def __init__(self, instance):
        self.instance = instance

    def __getattr__(self, name):
        return SimpleNamespace(remote=getattr(self.instance, name))


def load_module(game, ray=LocalRay):
    """Return verl-agent's module of the environments of a game, over a Ray."""
    module = importlib.import_module(f"{PACKAGES}.{game}.envs")
    module.ray = ray
    return module


def load_webshop(people):
    """Return its module of WebShop, with the file of people's instructions."""
    site = CHECKOUT / PACKAGES.replace(".", "/") / "webshop" / "webshop"
    sys.path.insert(0, str(site))
    # verl-agent has fixed its place.
    engine = importlib.import_module("web_agent_site.engine.engine")
    engine.HUMAN_ATTR_PATH = str(people)
    return load_module("webshop")
