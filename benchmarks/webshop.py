"""WebShop: ``python -m benchmarks.webshop``.

- *ready*: from nothing to the first observation: read, index, make goals; then the
  same from a stored catalogue.
- *search*: one query at a time, none of them asked before.
- *steps*: environments of one thread that play a mixed policy, recorded before, so
  that nothing but the environment is measured: searches, results pages, products,
  options, sub pages and purchases.  *cold*: no search has been asked before; *warm*:
  all of them have.
- *memory*: what 4096 environments add to one.

The original cannot run in the same process (it needs Java): 23 to 28 steps a second
were measured for it on two cores with 1000 products.
"""

from __future__ import annotations

import argparse
import random
import statistics
import sys
import tempfile
import time
import tracemalloc
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

import gymnasium
from gymnasium.vector import AutoresetMode

from benchmarks import machine
from roll_vec.webshop import Catalogue, WebShop

# The least that is aimed at, for 1000 products.
STEPS_PER_S, READY_S, STORED_S, SEARCH_MS = 15_000, 3.0, 0.5, 0.15
# And the search of 50,000.
BIG_SEARCH_MS = 1.5


def next_action(env: WebShop, rng: random.Random) -> str:
    """Return what a shopper might do next."""
    offered = env.get_available_actions()
    if "search[<content>]" in offered:
        words = env.instruction_text.removeprefix("Instruction: ").split()
        size = rng.randint(3, 12)
        start = rng.randrange(max(1, len(words) - size))
        return f"search[{' '.join(words[start : start + size])}]"
    if "click[buy now]" in offered and rng.random() < 0.2:
        return "click[buy now]"
    chosen = rng.choice(offered)
    if chosen == "click[back to search]":
        # Now and then is enough.
        chosen = rng.choice(offered)
    return chosen


def record(env: WebShop, num_steps: int, seed: int) -> list[str]:
    """Return the actions of a stream of episodes; ends are followed by resets."""
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
    """Make the next search of every query a first one."""
    catalogue._kept_hits.cache_clear()


class Walk:
    """Environments of one catalogue and what they do.

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


def seconds_of(function: Any) -> float:
    """Return how long a call takes."""
    begun = time.perf_counter()
    function()
    return time.perf_counter() - begun


def search_times(catalogue: Catalogue, count: int) -> list[float]:
    """Return the sorted times of searches for goals' instructions, in seconds."""
    rng = random.Random(0)
    goals = catalogue.goals
    queries = []
    for _ in range(count):
        words = goals[rng.randrange(len(goals))].instruction_text.split(", and")[0]
        queries.append(" ".join(words.split()[2:][:10]))
    return sorted(seconds_of(lambda q=q: catalogue.search(q)) for q in queries)


def memory_of(num_envs: int) -> int:
    """Return the bytes that environments of a loaded catalogue take."""
    with closing(gymnasium.make_vec("roll_vec/WebShop-v0", num_envs=1)) as one:
        one.reset(seed=0)
        tracemalloc.start()
        try:
            env = gymnasium.make_vec("roll_vec/WebShop-v0", num_envs=num_envs)
            with closing(env):
                env.reset(seed=0)
                return tracemalloc.get_traced_memory()[0]
        finally:
            tracemalloc.stop()


def measure_ready(num_products: int, tell: Any) -> list[tuple[str, str]]:
    """Measure how long a catalogue takes from its items, and from a folder."""
    with tempfile.TemporaryDirectory() as folder:
        made: list[Catalogue] = []
        seconds = seconds_of(
            lambda: made.append(Catalogue.load(num_products=num_products))
        )
        tell()
        stored = Path(folder) / "shop"
        made[0].save(stored)
        read = seconds_of(lambda: open_stored(stored, memory_map=False))
        mapped = seconds_of(lambda: open_stored(stored, memory_map=True))
        tell()
    return [
        (f"ready, {num_products:,} products, s", f"{seconds:.2f}"),
        (
            "  from a stored catalogue, s",
            f"{read:.3f}, memory-mapped {mapped:.3f}",
        ),
    ]


def open_stored(folder: Path, memory_map: bool) -> None:
    """Open a stored catalogue and show a first page of results."""
    env = WebShop(products=folder, memory_map=memory_map)
    env.reset(seed=0)
    env.step("search[red shoes]")


def measure_search(num_products: int, tell: Any) -> tuple[str, str]:
    """Measure searches one by one."""
    catalogue = Catalogue.load(num_products=num_products)
    catalogue.search("warm up the words")
    times = search_times(catalogue, 2000)
    tell()
    p50, p99 = (times[int(len(times) * share)] * 1e3 for share in (0.5, 0.99))
    return f"search, {num_products:,} products, ms", f"p50 {p50:.3f}, p99 {p99:.3f}"


def measure_steps(rounds: int, tell: Any) -> list[tuple[str, str]]:
    """Measure steps with cold and warm searches, and through the pool."""
    walk = Walk(64, 400)
    pool = PoolWalk(walk)
    rates: dict[str, list[float]] = {"cold": [], "warm": [], "pool, warm": []}
    for _ in range(rounds):
        forget_searches(walk.catalogue)
        rates["cold"].append(walk.count / seconds_of(walk.play))
        rates["warm"].append(walk.count / seconds_of(walk.play))
        rates["pool, warm"].append(walk.count / seconds_of(pool.play))
        tell()
    pool.env.close()
    return [
        (f"steps/s, one thread, {name}", f"{statistics.median(found):,.0f}")
        for name, found in rates.items()
    ]


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure, and print what was found and what it was taken with."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.webshop", description="Measure roll_vec's WebShop."
    )
    parser.add_argument(
        "--rounds", type=int, default=5, help="rounds (default %(default)s)"
    )
    parser.add_argument(
        "--big",
        type=int,
        default=50_000,
        help="products of the big shop (default %(default)s)",
    )
    options = parser.parse_args(arguments)
    if options.rounds < 1:
        parser.error("--rounds: expected at least 1")

    def tell() -> None:
        sys.stderr.write(".")
        sys.stderr.flush()

    before = machine.load()
    WebShop().reset(seed=0)  # loads the kernels and what else is imported on use
    # Another number than the default, so that it is made anew.
    rows = measure_ready(1001, tell)
    rows.append(measure_search(1000, tell))
    rows += measure_steps(options.rounds, tell)
    rows.append(("memory of 4096 environments, MB", f"{memory_of(4096) / 1e6:.1f}"))
    tell()
    rows += measure_ready(options.big, tell)
    rows.append(measure_search(options.big, tell))
    sys.stderr.write("\n")
    for name, value in rows:
        print(f"{name:45s} {value}")
    print(
        f"aimed at: {STEPS_PER_S:,} steps/s, ready in {READY_S} s, stored in "
        f"{STORED_S} s, search p50 {SEARCH_MS} ms, of 50,000 {BIG_SEARCH_MS} ms"
    )
    description = {**machine.describe(), "load_before": before}
    for key, value in {**description, "load_after": machine.load()}.items():
        print(f"{key}: {value}")


if __name__ == "__main__":
    main()
