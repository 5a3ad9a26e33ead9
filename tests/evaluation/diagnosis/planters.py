"""Runs of policies as recorded episodes, for failures to be planted in."""

from contextlib import closing
from dataclasses import replace

import numpy as np

from roll_vec import make_vec
from roll_vec.evaluation import OraclePolicy, UniformPolicy
from roll_vec.evaluation.diagnosis.best_play import play_best
from roll_vec.evaluation.diagnosis.played import play_again
from roll_vec.recordings.recorded_episodes import RecordedEpisode
from roll_vec.trajectories import play_seeds

SOKOBAN = "roll_vec/Sokoban-v0"
ONE_BOX = {"num_boxes": 1, "action_start": 1}
THREE_BOXES = {"action_start": 1}
TEXTS = {
    "obs_mode": "text",
    "action_mode": "text",
    "action_pattern": "<answer>(.*?)</answer>",
}
CHAT = ONE_BOX | TEXTS


def random_policy(envs):
    return UniformPolicy(envs, 0)


class Noisy:
    """The solver, with random actions, or a wrong text, in a part of the turns."""

    def __init__(self, envs, noise=0.0, wrong=None):
        self.solver, self.random = OraclePolicy(envs), UniformPolicy(envs, 0)
        self.noise, self.wrong = noise, wrong

    def __call__(self, turn):
        actions, others = self.solver(turn), self.random(turn)
        if self.wrong is not None:
            others = [self.wrong] * len(actions)
        is_random = turn.random_words(7) % np.uint64(1000) < 1000 * self.noise
        if isinstance(actions, np.ndarray):
            return np.where(is_random, others, actions)
        pairs = zip(is_random, actions, others, strict=True)
        return [other if random else action for random, action, other in pairs]


class Bumps:
    """Walks into a wall beside the player of Sokoban."""

    codes = (0,)

    def __init__(self, envs):
        del envs

    def __call__(self, turn):
        actions = []
        words = turn.random_words(3).tolist()
        for grid, word in zip(turn.observations, words, strict=True):
            row, column = np.argwhere(grid >= 5)[0] if (grid >= 5).any() else (1, 1)
            near = [(row - 1, column), (row + 1, column), (row, column - 1)]
            near = [grid[place] for place in [*near, (row, column + 1)]]
            good = [i for i, code in enumerate(near) if code in self.codes] or [0]
            actions.append(1 + good[word % len(good)])
        return np.array(actions)


class Strolls(Bumps):
    """Walks to a free cell beside the player of Sokoban."""

    codes = (1, 2)


def record(id, keywords, seeds, make_policy=Noisy):
    """Return episodes that a policy has played."""
    seeds, episodes = list(seeds), []
    num_envs = min(len(seeds), 128)
    with closing(make_vec(id, num_envs, autoreset_mode="Disabled", **keywords)) as envs:
        for i, played in enumerate(play_seeds(envs, seeds, make_policy(envs))):
            has_texts = isinstance(played.observations[0], str)
            episodes.append(
                RecordedEpisode(
                    id=id,
                    keywords=keywords,
                    seed=seeds[i],
                    answers=[
                        x if isinstance(x, str) else int(x) for x in played.actions
                    ],
                    rewards=played.rewards.tolist(),
                    success=played.success,
                    prompts=played.observations[:-1] if has_texts else None,
                    place=f"line {i + 1}",
                )
            )
    return episodes


def answer_all(episodes, choose, limit=100):
    """Return episodes with answers by number and turn, and their true rewards."""
    episodes = [
        replace(
            each,
            answers=[choose(i, turn) for turn in range(limit)],
            rewards=None,
            success=None,
            prompts=None,
        )
        for i, each in enumerate(episodes)
    ]
    played = play_again(episodes)
    result = []
    for i, each in enumerate(episodes):
        start, length = played.starts[i], played.lengths[i]
        rewards = played.rewards[start : start + length].tolist()
        result.append(replace(each, answers=each.answers[:length], rewards=rewards))
    return result


def in_groups(episodes, size):
    """Return episodes in groups of neighbours."""
    return [replace(each, group=i // size) for i, each in enumerate(episodes)]


def of_steps(keywords, low, high, count):
    """Return seeds of rooms of Sokoban whose best play has so many steps."""
    seeds = np.arange(1_000_000, 1_001_500)
    lengths = play_best(SOKOBAN, keywords, seeds.tolist()).lengths
    return seeds[(lengths >= low) & (lengths <= high)][:count].tolist()
