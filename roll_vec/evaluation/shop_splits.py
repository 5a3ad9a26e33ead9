"""The splits of WebShop: of the demo shop, and of a shop in files of the user."""

from __future__ import annotations

import dataclasses
import random
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from roll_vec.errors import InvalidOptionError
from roll_vec.evaluation.split import Split
from roll_vec.storage.data_files import check_path, fingerprint

WEBSHOP = "roll_vec/WebShop-v0"
_TITLES = {
    "test": "WebShop's first 500 goals",
    "eval": "WebShop's next 1000 goals",
    "train": "WebShop's other goals, free for training",
}


def _goal_seeds(num_goals: int) -> list[int]:
    """Return for each of WebShop's goals the least seed that plays it.

    A seed s plays goal ``random.Random(s).randint(0, num_goals - 1)``.
    """
    seeds: dict[int, int] = {}
    seed = 0
    while len(seeds) < num_goals:
        seeds.setdefault(random.Random(seed).randint(0, num_goals - 1), seed)
        seed += 1
    return [seeds[goal] for goal in range(num_goals)]


def _demo_split(name: str, num_goals: int, digest: str) -> Split:
    return Split(
        WEBSHOP,
        name,
        f"{_TITLES[name]}; here those of the demo shop",
        partial(_goal_seeds, num_goals),
        digest,
        {"split": name},
    )


DEMO_SHOP_SPLITS = (
    _demo_split(
        "test", 500, "207beeb99956636071280be705900cc64545c45689b78ac035be5979dffcad3b"
    ),
    _demo_split(
        "eval", 1000, "923ef4976164a96aee46249ebfb4ae139d18c6428411b4de439b60385169cbd6"
    ),
    _demo_split(
        "train",
        3837,
        "35345d445d0b1f468f3da0d83d4dd9288b4b65ee9b34474e3cf24074dc3aed0e",
    ),
)


def shop_keywords() -> list[str]:
    """Return the keywords of WebShop that choose a shop and its goals."""
    from roll_vec.envs.webshop.options import CatalogueOptions

    names = [field.name for field in dataclasses.fields(CatalogueOptions)]
    # The place of the catalogue is no part of the task.
    return [name for name in names if name != "memory_map"]


def make_shop_split(name: str, keywords: dict[str, Any]) -> Split:
    """Return a split of a shop in files of the user.

    Its episodes are the shop's own goals, and its digest is computed here: from the
    SHA-256 of each file, the other keywords, the seeds and the first observations.

    Parameters
    ----------
    name : str
        ``test``, ``eval`` or ``train``.
    keywords : dict
        ``products``, and others of `shop_keywords`.

    Raises
    ------
    InvalidOptionError
        If a keyword is none of these, a file cannot be read, or the shop has no goals
        in this split.
    """
    from roll_vec.envs.webshop.catalogue import load_catalogue
    from roll_vec.envs.webshop.options import DATA_FILES, CatalogueOptions

    names = shop_keywords()
    for keyword in keywords:
        if keyword not in names:
            accepted = f"keywords of a shop: {', '.join(names)}"
            raise InvalidOptionError.expected("keywords", accepted, keyword)
    if keywords.get("products") is None:
        accepted = "products, the file of a shop, beside other keywords of a shop"
        raise InvalidOptionError.expected("keywords", accepted, keywords)
    keywords = dict(keywords)
    files = {}
    for keyword, manifest in DATA_FILES.items():
        path = check_path(keyword, keywords.get(keyword))
        if path is not None:
            keywords[keyword] = path
            sha256 = fingerprint(keyword, path, manifest)
            files[keyword] = {"name": Path(path).name, "sha256": sha256}
    goals = load_catalogue(CatalogueOptions(**keywords)).goals
    num_goals = len(goals.select(None, None, name))
    split = Split(
        WEBSHOP,
        name,
        f"{_TITLES[name]}; here those of {files['products']['name']}",
        partial(_goal_seeds, num_goals),
        "",
        {**keywords, "split": name},
        files,
    )
    return replace(split, digest=split.compute_digest())
