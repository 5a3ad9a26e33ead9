"""The arguments of a policy that plays a list of episodes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from roll_vec.seeding import fold_seed


@dataclass(frozen=True)
class Turn:
    """A batch whose environments wait for an action.

    Attributes
    ----------
    observations : any
        Of the whole batch.
    episodes : (num_envs,) int64
        The episode that each environment plays, by its number in the list.  One that
        waits for a new episode, or has none left, has the number of its last one: its
        action has no effect.
    steps : (num_envs,) int64
        The steps of these episodes so far.
    """

    observations: Any
    episodes: NDArray[np.int64]
    steps: NDArray[np.int64]

    def random_words(self, seed: int) -> NDArray[np.uint64]:
        """Return (num_envs,) uint64, each a function of seed, episode and step."""
        # Its import loads numba.
        from roll_vec.kernels.rng.pcg64 import fold_in_rows

        words = np.full(len(self.steps), fold_seed(seed), np.uint64)
        for counters in (self.episodes, self.steps):
            fold_in_rows(words.copy(), counters.astype(np.uint64), words)
        return words


# From a `Turn` to the actions of the batch.
Policy: TypeAlias = Callable[[Turn], Any]
