"""Best of N on many levels of Sokoban at once.

Each environment is continued N times by the greedy policy with some random actions, and
the best continuation goes on, by push distance.  A level has several of them at a time;
after some segments all begin again.
"""

from __future__ import annotations

import argparse

import numpy as np
from greedy import compare, make_parser
from rooms import Rooms


def best_of_n(args: argparse.Namespace) -> Rooms:
    """Search until every level is solved or has used its budget."""
    rooms = Rooms(args, lanes=args.n * args.groups)
    while rooms.open_levels(args.length).any():
        grids, infos = rooms.restart()
        for _ in range(args.segments):
            if not rooms.open_levels(args.length).any():
                break
            for _ in range(args.length):
                actions = rooms.greedy_actions(grids, infos, args.noise)
                grids, infos = rooms.step(actions)
            # Lane i belongs to group i // n: find the best of each group.
            distances = rooms.distances(grids, infos)
            distances += 0.5 * rooms.rng.random(len(distances))  # break ties
            best = distances.reshape(-1, args.n).argmin(1)
            rows = np.repeat(best + args.n * np.arange(len(best)), args.n)
            grids = rooms.envs.set_state(rooms.envs.get_state(), rows=rows)
            infos = {"action_mask": infos["action_mask"][rows]}
    return rooms


if __name__ == "__main__":
    parser = make_parser(__doc__)
    add = parser.add_argument
    add("--n", type=int, default=4, help="continuations of each environment")
    add("--groups", type=int, default=16, help="environments of each level that go on")
    add("--length", type=int, default=25, help="steps of a continuation")
    add("--segments", type=int, default=40, help="continuations until a new start")
    add("--noise", type=float, default=0.4, help="share of random actions")
    compare(parser.parse_args(), best_of_n)
