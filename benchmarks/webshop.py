"""Tasks of roll_vec's WebShop: a mixed policy, searches, making a catalogue.

Environments of one thread replay recorded actions, so that only the environment is
measured: searches, results pages, products, options, sub pages and purchases.
*cold*: every search is new; *warm*: all searches are in the cache.

The original WebShop is not compared: it needs Java.
"""

from __future__ import annotations

import atexit
import functools
import itertools
import json
import random
import shutil
import tempfile
import weakref
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import gymnasium
from gymnasium.vector import AutoresetMode

from benchmarks.tasks import Latency, Rate
from roll_vec.envs.webshop import Catalogue, WebShop
from roll_vec.envs.webshop.catalogue import DEMO_SHOP
from roll_vec.envs.webshop.files import read_json
from roll_vec.envs.webshop.options import CatalogueOptions
from roll_vec.envs.webshop.storage import open_stored

KINDS = {"products": list, "attributes": dict, "title_nouns": dict}


@functools.cache
def shop_files(num_products: int) -> dict[str, Any]:
    """Return the keywords of a shop: the demo shop, repeated with other asins."""
    if num_products <= 1000:
        return {"num_products": num_products}
    folder = Path(tempfile.mkdtemp())
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    items, attributes, nouns = (
        read_json(name, str(DEMO_SHOP / f"{name}.json.gz"), kind)
        for name, kind in KINDS.items()
    )
    numbers = range(num_products)
    old = [items[n % len(items)]["asin"] for n in numbers]
    new = [f"{n:010}" for n in numbers]
    contents = {
        "products": [{**items[n % len(items)], "asin": new[n]} for n in numbers],
        "attributes": {new[n]: attributes[old[n]] for n in numbers},
        "title_nouns": {new[n]: nouns[old[n]] for n in numbers},
    }
    for name, content in contents.items():
        (folder / name).write_text(json.dumps(content), "utf-8")
    return {name: folder / name for name in contents}


def next_action(env: WebShop, rng: random.Random) -> str:
    """Return a plausible next action, at random."""
    actions = env.get_available_actions()
    if "search[<content>]" in actions:
        words = env.instruction_text.removeprefix("Instruction: ").split()
        size = rng.randint(3, 12)
        start = rng.randrange(max(1, len(words) - size))
        return f"search[{' '.join(words[start : start + size])}]"
    if "click[buy now]" in actions and rng.random() < 0.2:
        return "click[buy now]"
    action = rng.choice(actions)
    if action == "click[back to search]":
        # Leave a product only now and then.
        action = rng.choice(actions)
    return action


def record(env: WebShop, num_steps: int, seed: int) -> list[str]:
    """Return the actions of consecutive episodes; resets are left out."""
    rng = random.Random(seed)
    actions = []
    env.reset(seed=seed)
    while len(actions) < num_steps:
        actions.append(next_action(env, rng))
        if env.step(actions[-1])[2]:
            env.reset()
    return actions


def replay(env: WebShop, actions: Sequence[str], seed: int) -> None:
    """Take recorded actions."""
    env.reset(seed=seed)
    for action in actions:
        if env.step(action)[2]:
            env.reset()


def forget_searches(catalogue: Catalogue) -> None:
    """Empty the cache of searches."""
    catalogue.search_bar.cached_rank.cache_clear()


class Walk:
    """Environments of one catalogue, and the actions that they replay.

    Parameters
    ----------
    num_envs, num_steps : int
        Each environment takes that many steps.
    **keywords
        Of the environment.
    """

    def __init__(self, num_envs: int, num_steps: int, **keywords: Any) -> None:
        self.envs = [WebShop(**keywords) for _ in range(num_envs)]
        self.catalogue = self.envs[0].catalogue
        self.actions = [
            record(env, num_steps, seed) for seed, env in enumerate(self.envs)
        ]
        self.count = num_envs * num_steps

    def play(self) -> None:
        """Take all the steps."""
        for seed, (env, actions) in enumerate(
            zip(self.envs, self.actions, strict=True)
        ):
            replay(env, actions, seed)


class PoolWalk:
    """The same steps through `gymnasium.make_vec`, in the calling thread."""

    def __init__(self, walk: Walk, **keywords: Any) -> None:
        self.env = gymnasium.make_vec(
            "roll_vec/WebShop-v0",
            num_envs=len(walk.envs),
            max_episode_steps=-1,
            autoreset_mode=AutoresetMode.SAME_STEP,
            **keywords,
        )
        self.batches = list(zip(*walk.actions, strict=True))

    def play(self) -> None:
        """Take all the steps."""
        self.env.reset(seed=0)
        for actions in self.batches:
            self.env.step(actions)


def steps(
    cache: str, num_envs: int = 64, num_steps: int = 100, num_products: int = 1000
) -> Rate:
    """Replay with a ``cold`` or ``warm`` cache, or as a ``pool``: warm, in a batch."""
    walk = Walk(num_envs, num_steps, num_products=num_products)
    pool = PoolWalk(walk, num_products=num_products) if cache == "pool" else None

    def work() -> int:
        if cache == "cold":
            forget_searches(walk.catalogue)
        (pool or walk).play()
        return walk.count

    # Without the pool environments are stepped one after the other.
    batch = num_envs if pool else 1
    return Rate(work, "steps/s", _settings(batch, len(walk.catalogue.products)))


def search(num_products: int) -> Latency:
    """Search for the words of one goal after the other, with an empty cache."""
    catalogue = Catalogue.load(**shop_files(num_products))
    goals = itertools.cycle(catalogue.goals)

    def work() -> int:
        forget_searches(catalogue)
        words = next(goals).instruction_text.split(", and")[0]
        catalogue.search(" ".join(words.split()[2:][:10]))
        return 1

    return Latency(work, "ms", _settings(1, num_products))


def make_shop(num_products: int) -> Latency:
    """Make a shop of its files: read, index, make goals."""
    seeds, files = itertools.count(), shop_files(num_products)

    def work() -> int:
        # A new seed each time: the shop of an old one is cached.
        Catalogue.load(**files, catalog_seed=next(seeds))
        return 1

    return Latency(work, "ms", _settings(1, num_products))


def open_shop(num_products: int) -> Latency:
    """Open a stored catalogue, mapped into memory, and search in it."""
    folder = Path(tempfile.mkdtemp())
    Catalogue.load(**shop_files(num_products)).save(folder / "shop")
    path = str(folder / "shop")
    options = CatalogueOptions(products=path)

    def work() -> int:
        # Not through the cache of the process.
        Catalogue(options, open_stored(path)).search("red cotton shirt")
        return 1

    task = Latency(work, "ms", _settings(1, num_products))
    weakref.finalize(task, shutil.rmtree, folder, ignore_errors=True)
    return task


def _settings(batch: int, num_products: int) -> dict[str, Any]:
    levels = f"{num_products:,} products of the demo shop"
    return {"batch": batch, "observation": "text", "levels": levels}
