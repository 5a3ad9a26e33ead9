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
    """A batch whose environments wait for an action."""

    observations: Any
    """Of the whole batch."""
    episodes: NDArray[np.int64]
    """(num_envs,) the episode that each environment plays, by its number in the list.

    An environment that waits for a new episode, or has none left, has the number of its
    last one.  Its action has no effect.
    """
    steps: NDArray[np.int64]
    """(num_envs,) the steps of these episodes so far."""

    def random_words(self, seed: int) -> NDArray[np.uint64]:
        """Return (num_envs,) uint64, each a function of seed, episode and step."""
        # Its import loads numba.
        from roll_vec.kernels.rng.pcg64 import fold_in_rows

        words = np.full(len(self.steps), fold_seed(seed), np.uint64)
        for counters in (self.episodes, self.steps):
            fold_in_rows(words.copy(), counters.astype(np.uint64), words)
        return words


Policy: TypeAlias = Callable[[Turn], Any]
"""From a `Turn` to the actions of the batch."""
