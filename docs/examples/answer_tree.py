"""A tree of answers in the environments of ROLL's pipeline, without a model.

ROLL plays the members of a group from the beginning of a task.  Here they share their
beginning: `fork` makes copies of an environment in the middle of an episode, each copy
takes another answer, and so on.  The value of an answer is the mean return of the
leaves below it, and its advantage the difference to the value of the answer before.  So
each step has a score, though the task gives one for the whole episode.

At the end each leaf is compared with an environment that has played the same answers
from the beginning: the states are equal to the bit.

To train a language model, replace `choose_answer`: search for PUT YOUR MODEL HERE.
"""

from __future__ import annotations

import argparse
import random
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from roll_vec.adapters.roll import (
    GemFrozenLakeEnv,
    GemSokobanEnv,
    GemWebShopEnv,
)

GAMES: dict[str, Callable[[], Any]] = {
    "Sokoban": lambda: GemSokobanEnv(dim_room=(6, 6), num_boxes=1, max_steps=10),
    "FrozenLake": lambda: GemFrozenLakeEnv(size=4),
    "WebShop": lambda: GemWebShopEnv(num_products=100, max_steps=10),
}


@dataclass
class Node:
    """An answer, and where the environment stands after it."""

    env: Any
    observation: str
    answers: tuple[str, ...] = ()
    score: float = 0.0
    has_ended: bool = False
    children: list[Node] = field(default_factory=list)

    def leaves(self) -> Iterator[Node]:
        """Return the nodes below that have no children; a leaf itself."""
        if not self.children:
            yield self
        for child in self.children:
            yield from child.leaves()

    @property
    def value(self) -> float:
        """The mean return of the leaves."""
        scores = [leaf.score for leaf in self.leaves()]
        return sum(scores) / len(scores)


def choose_answer(env: Any, observation: str, rng: random.Random) -> str:
    """PUT YOUR MODEL HERE: return an answer, here a random action of the game."""
    if isinstance(env, GemWebShopEnv):
        words = " ".join(rng.sample(observation.split(), 2))
        action = rng.choice(env.get_available_actions()).replace("<content>", words)
    else:
        action = rng.choice(list(env.ACTION_LOOKUP.values()))
    return f"<answer>{action}</answer>"


def grow(root: Node, width: int, depth: int, rng: random.Random) -> None:
    """Let each node take `width` answers, `depth` times."""
    frontier = [root]
    for _ in range(depth):
        for node in frontier:
            for env in node.env.fork(width):
                answer = choose_answer(env, node.observation, rng)
                observation, reward, terminated, *_ = env.step(answer)
                answers, score = (*node.answers, answer), node.score + reward
                child = Node(env, observation, answers, score, terminated)
                node.children.append(child)
            node.env.close()  # its row of the shared batch is free again
        children = [child for node in frontier for child in node.children]
        frontier = [child for child in children if not child.has_ended]


def check_worlds(root: Node, make: Callable[[], Any], seed: int) -> int:
    """Play the answers of each leaf from the beginning; return the number of steps."""
    env, num_steps = make(), 0
    for leaf in root.leaves():
        env.reset(seed=seed)
        score = 0.0
        for answer in leaf.answers:
            observation, reward, terminated, *_ = env.step(answer)
            score += reward
        assert (observation, score, terminated) == (
            leaf.observation,
            leaf.score,
            leaf.has_ended,
        )
        # A state has the world, the streams of random numbers and the count of turns.
        assert env.get_state()["row"] == leaf.env.get_state()["row"]
        num_steps += len(leaf.answers)
    return num_steps


def count_steps(node: Node) -> int:
    """Return the number of answers in a tree."""
    return sum(1 + count_steps(child) for child in node.children)


def main(arguments: Sequence[str] | None = None) -> None:
    """Grow a tree for each game, check it and print what its steps are worth."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--width", type=int, default=3, help="answers of a node")
    parser.add_argument("--depth", type=int, default=3, help="answers of an episode")
    parser.add_argument("--seed", type=int, default=7)
    args = parser.parse_args(arguments)
    print(f"{'':12}{'leaves':>8}{'steps':>8}{'replayed':>10}{'best':>8}  advantages")
    for name, make in GAMES.items():
        env, rng = make(), random.Random(args.seed)
        root = Node(env, env.reset(seed=args.seed)[0])
        grow(root, args.width, args.depth, rng)
        leaves = list(root.leaves())
        replayed = check_worlds(root, make, args.seed)
        best = max(leaf.score for leaf in leaves)
        first = "  ".join(f"{one.value - root.value:+.2f}" for one in root.children)
        figures = f"{len(leaves):>8}{count_steps(root):>8}{replayed:>10}{best:>8.2f}"
        print(f"{name:12}{figures}  {first}")


if __name__ == "__main__":
    main()
