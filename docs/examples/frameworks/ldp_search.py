"""ldp: a tree search over Countdown, by snapshots.  Its agent guesses sums."""

import asyncio
import random

import gymnasium
from aviary.core import Environment, Message
from ldp.agent import Agent
from ldp.alg.tree_search import TreeSearchRollout
from ldp.graph import FxnOp, compute_graph

import roll_vec


class Game(Environment[None]):
    """One environment.  ldp closes it before it clones it: it must stay open."""

    def __init__(self, env):
        self.env = env

    async def reset(self):
        observation, _ = self.env.reset(seed=0)
        return [Message(content=observation)], []

    async def step(self, action):
        observation, reward, *ends, _ = self.env.step(action.content)
        return [Message(content=observation)], float(reward), *ends

    async def close(self):
        pass

    def export_frame(self):
        raise NotImplementedError


def env_clone_fn(game):
    """Return a copy of an environment, in the middle of its episode."""
    clone = gymnasium.make(game.env.spec)
    clone.reset(seed=0)
    clone.unwrapped.set_state(game.env.unwrapped.get_state())
    return Game(clone)


class Guesser(Agent[None]):
    """Add two of the numbers."""

    def __init__(self):
        self.rng = random.Random(0)
        self.guess = FxnOp(self.say)

    def say(self, text):
        first, second = self.rng.sample(text.split("[")[1].split("]")[0].split(", "), 2)
        return Message(role="assistant", content=f"{first} + {second}")

    async def init_state(self, tools):
        return None

    @compute_graph()
    async def get_asv(self, state, messages):
        return await self.guess(messages[-1].content), None, 0.0


def main():
    """Print the number of paths, and the rewards of the first."""
    id = "roll_vec:roll_vec/Countdown-v0"
    game = Game(gymnasium.make(id, max_steps=3, max_episode_steps=-1))
    search = TreeSearchRollout(Guesser(), branching_factor=3, env_clone_fn=env_clone_fn)
    [tree] = asyncio.run(search.sample_trees([game], max_depth=3, disable_pbar=True))
    paths = tree.get_trajectories()
    print(len(paths), [step.reward for step in paths[0].steps])


if __name__ == "__main__":
    main()
