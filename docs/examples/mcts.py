"""Monte Carlo tree search on many levels of Sokoban at once.

Each level has a tree of positions.  An iteration selects some leaves of every tree by
UCT, copies each into four environments, plays one action in each, and continues with a
few steps of the greedy policy.  The push distance then is the value of the leaf.  The
snapshot `memory` has one environment for each node of all trees.
"""

from __future__ import annotations

import argparse

import numpy as np
from greedy import compare, make_parser
from rooms import FAR, Rooms

from roll_vec import VectorState


class Trees:
    """The trees of all levels: node i < num_levels is the root of level i."""

    def __init__(self, num_levels: int, capacity: int, exploration: float) -> None:
        self.size, self.roots = num_levels, np.arange(num_levels)
        self.exploration = exploration
        self.children = np.full((capacity, 4), -1)
        self.parents = np.full(capacity, -1)
        self.visits, self.values = np.zeros(capacity), np.zeros(capacity)
        self.is_expanded = np.zeros(capacity, bool)
        # No leaf is left below: all positions there are known, or dead ends.
        self.is_closed = np.zeros(capacity, bool)

    def select(self) -> np.ndarray:
        """Return a leaf of each tree; a node that is not a leaf if there is none."""
        nodes = self.roots.copy()
        while True:
            self.visits[nodes] += 1
            children = self.children[nodes]
            visits = np.maximum(self.visits[children], 1)
            bonus = np.sqrt(np.log(self.visits[nodes])[:, np.newaxis] / visits)
            scores = self.values[children] / visits + self.exploration * bonus
            scores[(children < 0) | self.is_closed[children]] = -1
            is_inner = self.is_expanded[nodes] & (scores.max(1) >= 0)
            if not is_inner.any():
                return nodes
            best = children[self.roots, scores.argmax(1)]
            # A tree that has arrived at its leaf stays there; it is one visit.
            self.visits[nodes[~is_inner]] -= 1
            nodes = np.where(is_inner, best, nodes)

    def add(self, parents, actions, values) -> None:
        """Add children; their parents are expanded."""
        nodes = np.arange(self.size, self.size + len(parents))
        self.size += len(parents)
        self.children[parents, actions], self.parents[nodes] = nodes, parents
        self.visits[nodes], self.values[nodes] = 1, values

    def back_up(self, nodes, values) -> None:
        """Add a value to one node of each tree and to all above it."""
        while len(nodes):
            self.values[nodes] += values
            children = self.children[nodes]
            is_closed = (children < 0) | self.is_closed[children]
            self.is_closed[nodes] = is_closed.all(1)
            has_parent = self.parents[nodes] >= 0
            nodes, values = self.parents[nodes][has_parent], values[has_parent]


def mcts(args: argparse.Namespace) -> Rooms:
    """Search until every level is solved or has used its budget."""
    rooms = Rooms(args, lanes=4 * args.leaves)
    envs, lanes, level = rooms.envs, rooms.lanes, rooms.level
    actions = np.tile([1, 2, 3, 4], len(level) // 4)
    num_nodes = 1 + args.steps_per_level // (args.length + 1)
    trees = Trees(rooms.num_levels, rooms.num_levels * num_nodes, args.exploration)
    memory = rooms.start
    far = np.repeat(rooms.distances(*rooms.restart())[::lanes], lanes)
    while rooms.open_levels(args.length + 1).any():
        leaves = np.zeros((rooms.num_levels, args.leaves), int)
        is_leaf = np.zeros(leaves.shape, bool)
        for j in range(args.leaves):
            leaves[:, j] = nodes = trees.select()
            is_leaf[:, j] = ~(trees.is_expanded[nodes] | trees.is_closed[nodes])
            trees.is_closed[nodes] = True  # do not select it again
        is_leaf &= rooms.open_levels(args.length + 1)[:, np.newaxis]
        if not is_leaf.any():
            break
        parents, in_use = np.repeat(leaves, 4), np.repeat(is_leaf, 4)
        grids = envs.set_state(memory, rows=parents)
        grids, infos = rooms.step(actions, in_use)
        is_useful = in_use & infos["action_is_effective"]
        is_useful &= rooms.distances(grids, infos) < FAR
        new = rooms.unseen(grids, np.flatnonzero(is_useful))
        memory = VectorState.concatenate([memory, envs.get_state().select_rows(new)])
        for _ in range(args.length):
            moves = rooms.greedy_actions(grids, infos, args.noise)
            grids, infos = rooms.step(moves, in_use)
        distances = rooms.distances(grids, infos)
        values = np.clip(1 - distances / far, 0, 1)
        trees.is_expanded[leaves[is_leaf]] = True
        trees.add(parents[new], actions[new] - 1, values[new])
        trees.is_closed[leaves] = ~is_leaf
        is_new = np.zeros(len(level), bool)
        is_new[new] = True
        best = np.where(is_new, values, 0).reshape(*leaves.shape, 4).max(2)
        for j in range(args.leaves):
            trees.back_up(leaves[:, j], best[:, j])
    return rooms


if __name__ == "__main__":
    parser = make_parser(__doc__)
    add = parser.add_argument
    add("--leaves", type=int, default=4, help="leaves of each tree in an iteration")
    add("--length", type=int, default=3, help="steps after each action of a leaf")
    add("--noise", type=float, default=0.4, help="share of random actions in them")
    add("--exploration", type=float, default=0.1, help="constant of UCT")
    compare(parser.parse_args(), mcts)
