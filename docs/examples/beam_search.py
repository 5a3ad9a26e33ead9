"""Beam search on many levels of Sokoban at once.

Each level keeps its best positions, by push distance.  A step copies each of them into
four environments, plays one action in each, and keeps the best positions that the level
has not had before.
"""

from __future__ import annotations

import argparse

import numpy as np
from greedy import compare, make_parser
from rooms import FAR, Rooms


def beam_search(args: argparse.Namespace) -> Rooms:
    """Search until every level is solved or has used its budget."""
    rooms = Rooms(args, lanes=4 * args.width)
    envs, lanes, level = rooms.envs, rooms.lanes, rooms.level
    actions = np.tile([1, 2, 3, 4], len(level) // 4)
    # Lane i becomes a copy of environment parents[i] of the state; at first only one
    # position is there, in the first four lanes of each level.
    state, parents = rooms.start, level
    in_use = np.arange(len(level)) % lanes < 4
    while np.repeat(rooms.open_levels(), lanes)[in_use].any():
        envs.set_state(state, rows=parents)
        grids, infos = rooms.step(actions, in_use)
        distances = rooms.distances(grids, infos)
        is_useful = in_use & (distances < FAR) & infos["action_is_effective"]
        is_useful &= np.repeat(rooms.open_levels(), lanes)
        children = rooms.unseen(grids, np.flatnonzero(is_useful))
        # Sort them by level, then by distance, then at random; number them by level.
        ties = rooms.rng.random(len(children))
        order = np.lexsort((ties, distances[children], level[children]))
        children = children[order]
        rank = np.arange(len(children)) - np.searchsorted(
            level[children], level[children]
        )
        best, rank = children[rank < args.width], rank[rank < args.width]
        # Each of them goes into the four lanes of its rank.
        slots = (level[best] * lanes + 4 * rank)[:, np.newaxis] + np.arange(4)
        parents, in_use = np.zeros_like(level), np.zeros_like(in_use)
        parents[slots], in_use[slots] = best[:, np.newaxis], True
        state = envs.get_state()
    return rooms


if __name__ == "__main__":
    parser = make_parser(__doc__)
    parser.add_argument("--width", type=int, default=64, help="positions of each level")
    compare(parser.parse_args(), beam_search)
