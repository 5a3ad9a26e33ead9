"""Runs of policies as recorded episodes, for failures to be planted in."""

from contextlib import closing

import numpy as np

from roll_vec import make_vec
from roll_vec.evaluation import OraclePolicy, UniformPolicy
from roll_vec.recordings.recorded_episodes import RecordedEpisode
from roll_vec.trajectories import play_seeds

SOKOBAN = "roll_vec/Sokoban-v0"
ONE_BOX = {"num_boxes": 1, "action_start": 1}
TEXTS = {
    "obs_mode": "text",
    "action_mode": "text",
    "action_pattern": "<answer>(.*?)</answer>",
}


class Noisy:
    """The solver, with random actions in some turns."""

    def __init__(self, envs, noise=0.0, seed=0):
        self.solver, self.random = OraclePolicy(envs), UniformPolicy(envs, seed)
        self.noise = noise

    def __call__(self, turn):
        actions, others = self.solver(turn), self.random(turn)
        words = turn.random_words(7) % np.uint64(1000)
        is_random = words < 1000 * self.noise
        if isinstance(actions, np.ndarray):
            return np.where(is_random, others, actions)
        return [b if r else a for a, b, r in zip(actions, others, is_random)]


def record(id, keywords, seeds, make_policy=Noisy, groups=None):
    """Return episodes that a policy has played."""
    seeds = list(seeds)
    episodes = []
    num_envs = min(len(seeds), 256)
    with closing(make_vec(id, num_envs, autoreset_mode="Disabled", **keywords)) as envs:
        for i, played in enumerate(play_seeds(envs, seeds, make_policy(envs))):
            prompts = None
            if isinstance(played.observations[0], str):
                prompts = played.observations[:-1]
            episodes.append(
                RecordedEpisode(
                    id=id,
                    keywords=keywords,
                    seed=seeds[i],
                    answers=[
                        a if isinstance(a, str) else int(a) for a in played.actions
                    ],
                    rewards=played.rewards.tolist(),
                    prompts=prompts,
                    place=f"line {i + 1}",
                    group=None if groups is None else groups[i],
                )
            )
    return episodes
