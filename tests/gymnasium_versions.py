"""Differences between versions of Gymnasium: the one place that tests ask."""

import re

import gymnasium
import numpy as np
import pytest
from gymnasium.envs.toy_text.frozen_lake import FrozenLakeEnv
from gymnasium.spaces import Discrete

VERSION = tuple(map(int, re.findall(r"\d+", gymnasium.__version__)[:3]))

# The first version that behaves as 1.4 does.
SINCE = {
    "Discrete takes a dtype": (1, 2, 2),
    "a lake takes success_rate and reward_schedule": (1, 2, 1),
    "VectorEnv has no __del__": (1, 3, 0),
    "SyncVectorEnv leaves the metadata of its environments alone": (1, 4, 0),
    "RecordEpisodeStatistics counts the first step in SAME_STEP": (1, 4, 0),
}


def as_in_newest(difference):
    """Return whether the installed Gymnasium does as 1.4."""
    return SINCE[difference] <= VERSION


def needs(difference):
    """Return a mark: the test is about a part of Gymnasium that this one lacks."""
    since = ".".join(map(str, SINCE[difference]))
    reason = f"Gymnasium {gymnasium.__version__}: only from {since} on, {difference}"
    return pytest.mark.skipif(not as_in_newest(difference), reason=reason)


def narrow_discrete(n, start):
    """Return a `Discrete` of uint8, of int64 where it has no other."""
    if not as_in_newest("Discrete takes a dtype"):
        return Discrete(n, start=start)
    return Discrete(n, start=start, dtype=np.uint8)


class Lake(FrozenLakeEnv):
    """Gymnasium's lake, with the table of transitions that 1.2.1 and later build.

    Older ones have no ``success_rate`` and no ``reward_schedule``, write 1/3 for each
    of the three probabilities, and float rewards.  Ours has the newer table always.
    """

    def __init__(
        self, *, success_rate=1.0 / 3.0, reward_schedule=(1, 0, 0), **keywords
    ):
        if as_in_newest("a lake takes success_rate and reward_schedule"):
            super().__init__(
                success_rate=success_rate, reward_schedule=reward_schedule, **keywords
            )
            return
        super().__init__(**keywords)
        goal, hole, frozen = reward_schedule
        fail_rate = (1.0 - success_rate) / 2.0
        rewards = {b"G": goal, b"H": hole}
        letters = self.desc.ravel()
        self.reward_range = (min(reward_schedule), max(reward_schedule))
        for position, actions in self.P.items():
            if letters[position] in b"GH":
                continue
            for outcomes in actions.values():
                slips = len(outcomes) == 3
                for number, (_, after, _, ended) in enumerate(outcomes):
                    prob = (
                        (fail_rate, success_rate, fail_rate)[number] if slips else 1.0
                    )
                    reward = rewards.get(letters[after], frozen)
                    outcomes[number] = (prob, after, reward, ended)
