"""ROLL's own classes and environment manager beside ours, seed by seed.

`tests.frameworks` runs this file with a checkout of ROLL.
"""

import json
import os
import sys
import tempfile
from pathlib import Path

import original_webshop
from side_by_side import measure
from transcripts import ANSWERS, THINKING, CountResets, any_of, compare, play

from roll_vec.adapters.roll import (
    GemFrozenLakeEnv,
    GemSokobanEnv,
    GemWebShopEnv,
)

CHECKOUT = Path(os.environ["ROLL_VEC_CHECKOUT"])
NUM_SEEDS = 1000
# Of ROLL's examples/config/traj_envs.yaml.
SOKOBAN = {"dim_room": (6, 6), "num_boxes": 1, "max_steps": 10, "format_penalty": -0.15}
THINK = r"<think>(.*?)</think>\s*<answer>(.*?)</answer>"
GLYPHS = "W.GCBA@"
NAMES = ["wall", "empty", "target", "box on target", "box", "player"]
OTHER_GLYPHS = {
    "grid_lookup": dict(enumerate(GLYPHS)),
    "grid_vocab": dict(zip(GLYPHS, [*NAMES, "player on target"], strict=True)),
}
SOKOBANS = [
    (SOKOBAN, ANSWERS),
    ({"dim_room": (6, 6), "num_boxes": 2, "action_pattern": THINK}, THINKING),
    ({"dim_room": (8, 7), "search_depth": 30, **OTHER_GLYPHS}, ANSWERS),
]
LAKES = [
    ({"max_steps": 10, "format_penalty": -0.01}, ANSWERS),
    ({"is_slippery": False, "size": 6, "p": 0.7, "action_pattern": THINK}, THINKING),
]


def compare_grids():
    """Return rows for Sokoban and FrozenLake."""
    from roll.pipeline.agentic.env.frozen_lake import FrozenLakeEnv
    from roll.pipeline.agentic.env.sokoban import SokobanEnv

    rows = []
    for name, original, our_class, cases in (
        ("Sokoban", SokobanEnv, GemSokobanEnv, SOKOBANS),
        ("FrozenLake", FrozenLakeEnv, GemFrozenLakeEnv, LAKES),
    ):
        resets = CountResets(original)
        counts = []
        for keywords, answers in cases:
            pair = original(**keywords), our_class(**keywords)
            seeds = range(NUM_SEEDS)
            counts.append(compare(*pair, resets, seeds, any_of(answers)))
        keywords, answers = cases[0]
        pair = original(**keywords), our_class(**keywords)
        rows.append(describe(name, counts, *pair, any_of(answers)))
    return rows


def compare_webshop():
    """Return a row for WebShop."""
    with tempfile.TemporaryDirectory() as folder:
        original, theirs = original_webshop.make_original(CHECKOUT, Path(folder))
        resets, ours = CountResets(original), GemWebShopEnv()
        choose = original_webshop.choose
        counts = [compare(theirs, ours, resets, range(NUM_SEEDS), choose)]
        return describe("WebShop", counts, theirs, ours, choose)


def describe(name, counts, theirs, ours, choose):
    """Return a row: what was equal, and the rates of one environment of each."""
    num_equal, num_retries = (sum(column) for column in zip(*counts, strict=True))
    result = f"{num_equal} equal transcripts"
    if num_retries:
        result += f"; {num_retries} seeds where it retries with hash"
    rates = measure(
        *(lambda env=env: count_turns(env, choose) for env in (theirs, ours))
    )
    what = f"{name}, one environment, {len(counts)} × {NUM_SEEDS} seeds"
    return {
        "what": what,
        "result": result,
        "unit": "turns/s",
        "lines_changed": 1,
        **rates,
    }


def count_turns(env, choose):
    """Play five episodes; return their turns."""
    return sum(len(play(env, seed, choose, 10)[1]) for seed in range(5))


def main():
    """Compare everything, and write the rows."""
    sys.path.insert(0, str(CHECKOUT))
    rows = [*compare_grids(), compare_webshop()]
    for row in rows:
        sys.stdout.write(f"{row}\n")
    Path(sys.argv[1]).write_text(json.dumps(rows), "utf-8")


if __name__ == "__main__":
    main()
