"""Greedy play in Sokoban, the baseline of the searches in this folder.

It takes an action that shortens the push distance, if there is one, and else any valid
one.  After 1000 steps it begins again, in a dead end sooner.  Some random actions help
it, which is a part of the gain of every search that plays at random.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable

from rooms import Rooms


def greedy(args: argparse.Namespace, noise: float = 0.0, length: int = 1000) -> Rooms:
    """Play greedily in 32 lanes for each level until the budget is used up."""
    rooms = Rooms(args, lanes=32)
    while rooms.open_levels().any():
        grids, infos = rooms.restart()
        for t in range(length):
            if not rooms.open_levels().any():
                break
            grids, infos = rooms.step(rooms.greedy_actions(grids, infos, noise))
            if t % 20 == 19:  # set_state costs as much as a step
                is_dead = infos["deadlock"]
                grids = rooms.envs.set_state(
                    rooms.start, mask=is_dead, rows=rooms.level
                )
                infos["action_mask"][is_dead] = 1
    return rooms


def make_parser(description: str | None) -> argparse.ArgumentParser:
    """Return a parser of the arguments that all searches have."""
    parser = argparse.ArgumentParser(
        description=description, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    add = parser.add_argument
    add(
        "--levels", help="file of levels, the last of which are played; none: 8x8 rooms"
    )
    add("--num-levels", type=int, default=200)
    add("--steps-per-level", type=int, default=32_000, help="the budget of each level")
    add("--seed", type=int, default=0)
    return parser


def compare(args: argparse.Namespace, search: Callable) -> None:
    """Run greedy play and a search with the same budget; print the counts of each."""
    print(f"{'':<22}{'solved':>12}{'environment steps':>20}")
    for name, play in (
        ("greedy", greedy),
        ("greedy, 20 % random", lambda args: greedy(args, noise=0.2)),
        (search.__name__.replace("_", " "), search),
    ):
        rooms = play(args)
        solved = f"{rooms.solved.sum()} of {rooms.num_levels}"
        print(f"{name:<22}{solved:>12}{rooms.used.sum():>20,}", flush=True)


if __name__ == "__main__":
    compare(make_parser(__doc__).parse_args(), greedy)
