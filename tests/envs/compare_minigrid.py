"""The full comparison with MiniGrid: 200 episodes in each way of play, every id.

``python -m tests.envs.compare_minigrid 1/4`` compares the first of four parts of the
ids, ``python -m tests.envs.compare_minigrid DoorKey`` those with a text.  It needs the
extra ``originals``.  A line for each id has the episodes, steps, successes and cuts.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Iterator, Sequence
from typing import Any

from gymnasium.vector import AutoresetMode

from roll_vec.registration import ENVIRONMENTS
from tests.envs.minigrid_episodes import (
    IDS,
    Episodes,
    assert_equal,
    longest_limit,
    play_original,
    play_ours,
    record_solver,
)

NUM_ENVS, SOLVER_STEPS = 20, 200


def plays(id: str, episodes: int, max_steps: int) -> Iterator[Episodes]:
    """Compare the plays of an id, and yield them.

    Those of the game's own limit are last: of two environments in each way, and of
    our solver's actions, which reach ends that random play does not.

    Raises
    ------
    AssertionError
        Ours differ.
    """
    for way in ("uniform", "seeker"):
        steps = -(-episodes // NUM_ENVS) * max_steps
        yield _compare(id, way, steps, NUM_ENVS, max_steps=max_steps)
    steps = longest_limit(id, 2) + 3
    for way in ("idle", "seeker"):
        yield _compare(id, way, steps, 2)
    if ENVIRONMENTS[id].load().has_solver():
        actions = record_solver(id, SOLVER_STEPS, 4)
        yield _compare(id, actions, *actions.shape)


def _compare(id: str, way: Any, steps: int, num_envs: int, **keywords: Any) -> Episodes:
    theirs = play_original(id, way, steps, num_envs, **keywords)
    for mode in AutoresetMode:
        ours = play_ours(id, theirs.actions, theirs.seeds, mode, **keywords)
        assert_equal(ours, theirs)
    return theirs


def main(arguments: Sequence[str] | None = None) -> int:
    """Compare the ids; return 1 if one of them differs."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("part", nargs="?", default="1/1", help="1/4, or a text of ids")
    parser.add_argument("--episodes", type=int, default=200)
    parser.add_argument("--max-steps", type=int, default=60)
    chosen = parser.parse_args(arguments)
    number, _, count = chosen.part.partition("/")
    ids = [id for id in IDS if chosen.part in id]
    if count:
        ids = IDS[int(number) - 1 :: int(count)]
    failures = 0
    for id in ids:
        begin, played = time.perf_counter(), []
        try:
            played += plays(id, chosen.episodes, chosen.max_steps)
            text = "equal"
        except AssertionError as error:
            text, failures = f"DIFFERENT: {error}", failures + 1
        facts: dict[str, Any] = {
            "episodes": sum(each.num_episodes for each in played),
            "steps": sum(each.rewards.size for each in played),
            "successes": sum(each.num_successes for each in played),
            "cuts": sum(int(each.truncations.sum()) for each in played),
        }
        words = ", ".join(f"{value:,} {name}" for name, value in facts.items())
        seconds = time.perf_counter() - begin
        sys.stdout.write(f"{id}: {text}: {words}, {seconds:.0f} s\n")
        sys.stdout.flush()
    sys.stdout.write(f"{len(ids)} ids, {failures} different\n")
    return int(failures > 0)


if __name__ == "__main__":
    sys.exit(main())
