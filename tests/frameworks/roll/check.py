"""ROLL's own classes and environment manager beside ours, seed by seed.

`tests.frameworks` runs this file with a checkout of ROLL.
"""

import json
import os
import sys
import tempfile
from pathlib import Path

import original_webshop
from guide_classes import compare_guide as compare_classes
from side_by_side import measure
from transcripts import ANSWERS, THINKING, CountResets, any_of, compare, play

from roll_vec.adapters.roll import (
    GemFrozenLakeEnv,
    GemSokobanEnv,
    GemWebShopEnv,
    register_gem_envs,
)

CHECKOUT = Path(os.environ["ROLL_VEC_CHECKOUT"])
NUM_SEEDS = 1000
# Of ROLL's examples/config/traj_envs.yaml.
SOKOBAN = {"dim_room": (6, 6), "num_boxes": 1, "max_steps": 10, "format_penalty": -0.15}
THINK = r"<think>(.*?)</think>\s*<answer>(.*?)</answer>"
LARGER = {
    **SOKOBAN,
    "dim_room": (10, 10),
    "num_boxes": 2,
    "search_depth": 10,
    "action_pattern": THINK,
}
GLYPHS = "W.GCBA@"
NAMES = ["wall", "empty", "target", "box on target", "box", "player"]
OTHER_GLYPHS = {
    "grid_lookup": dict(enumerate(GLYPHS)),
    "grid_vocab": dict(zip(GLYPHS, [*NAMES, "player on target"], strict=True)),
}
SOKOBANS = [
    (SOKOBAN, ANSWERS),
    (LARGER, THINKING),
    ({**SOKOBAN, "search_depth": 30, **OTHER_GLYPHS}, ANSWERS),
]
LAKES = [
    ({"max_steps": 10, "format_penalty": -0.01}, ANSWERS),
    ({"is_slippery": False, "size": 6, "p": 0.7, "action_pattern": THINK}, THINKING),
]


def compare_guide(folder):
    """Return a row for each class of ROLL's guide."""
    folder.mkdir()
    counts = compare_classes(CHECKOUT, folder, NUM_SEEDS)
    return [
        {
            "what": f"the guide's {name}Env, {NUM_SEEDS} seeds",
            "result": count_episodes(*numbers),
            "lines_changed": 1,
        }
        for name, numbers in counts.items()
    ]


def count_episodes(num_equal, num_retries):
    """Return the result of a comparison in words."""
    if not num_retries:
        return f"{num_equal} equal episodes"
    return f"{num_equal} equal episodes; ROLL retries {num_retries} with hash"


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


def compare_webshop(folder):
    """Return a row for WebShop, whose environments read the folder ever after."""
    original, theirs = original_webshop.make_original(CHECKOUT, folder)
    resets, ours = CountResets(original), GemWebShopEnv()
    choose = original_webshop.choose
    counts = [compare(theirs, ours, resets, range(NUM_SEEDS), choose)]
    return describe("WebShop", counts, theirs, ours, choose)


def compare_managers():
    """Return rows for ROLL's environment managers, 16 groups of 8 environments.

    ROLL's WebShop has groups of 1: environments with equal goals would share a session.
    """
    import manager_loop

    register_gem_envs()
    shopping = {"observation_mode": "text", "max_steps": 10, "format_penalty": -0.05}
    room = {**SOKOBAN, "dim_room": [6, 6]}
    rows = []
    for name, theirs, config, choose, group_size in (
        ("Sokoban", "sokoban", room, any_of(ANSWERS), 8),
        ("FrozenLake", "frozen_lake", LAKES[0][0], any_of(ANSWERS), 8),
        ("WebShop", "webshop", shopping, original_webshop.choose, 1),
    ):
        game = config, choose, 16, group_size
        _, expected = manager_loop.roll_out(theirs, *game)
        envs, rollouts = manager_loop.roll_out(f"roll_vec/{theirs}", *game)
        common = rollouts.keys() & expected.keys()
        assert len(common) > 0.9 * len(envs)
        for trajectory in common:
            ours = manager_loop.as_plain(rollouts[trajectory])
            assert ours == manager_loop.as_plain(expected[trajectory]), trajectory
        # One batch serves all of them.
        (batch,) = {env._batch for env in envs}
        assert [sessions.num_envs for sessions in batch.batches] == [len(envs)]
        rates = measure(
            lambda game=game, theirs=theirs: count_actions(theirs, *game),
            lambda game=game, theirs=theirs: count_actions(f"roll_vec/{theirs}", *game),
            rounds=3,
        )
        what = f"{name}, TrajEnvManager, 16 groups of {group_size}, scripted policy"
        rows.append(make_row(what, f"{len(common)} equal trajectories", rates))
    return rows


def count_actions(env_type, *game):
    """Play a batch of episodes with ROLL's managers; return their actions."""
    import manager_loop

    _, rollouts = manager_loop.roll_out(env_type, *game)
    key = "env/Game/num_actions"
    return int(sum(rollout.meta_info["metrics"][key] for rollout in rollouts.values()))


def make_row(what, result, rates):
    """Return a row of the table."""
    return {
        "what": what,
        "result": result,
        "unit": "turns/s",
        "lines_changed": 1,
        **rates,
    }


def describe(name, counts, theirs, ours, choose):
    """Return a row: what was equal, and the rates of one environment of each."""
    num_equal, num_retries = (sum(column) for column in zip(*counts, strict=True))
    rates = measure(
        *(lambda env=env: count_turns(env, choose) for env in (theirs, ours))
    )
    return make_row(
        f"{name}, {num_equal + num_retries} seeds",
        count_episodes(num_equal, num_retries),
        rates,
    )


def count_turns(env, choose):
    """Play five episodes; return their turns."""
    return sum(len(play(env, seed, choose, 10)[1]) for seed in range(5))


def main():
    """Compare everything, and write the rows."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        rows = [
            *compare_guide(folder / "guide"),
            *compare_grids(),
            compare_webshop(folder / "shop"),
            *compare_managers(),
        ]
    for row in rows:
        sys.stdout.write(f"{row}\n")
    Path(sys.argv[1]).write_text(json.dumps(rows), "utf-8")


if __name__ == "__main__":
    main()
