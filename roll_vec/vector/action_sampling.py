"""Random actions for a whole batch.

An action depends on the seed, on the number of the environment and on the number of the
call.  It does not depend on ``num_envs``, and it moves no generator of a game.
"""

from __future__ import annotations

import copy
from typing import Any

import numpy as np
from gymnasium.spaces import Discrete, Tuple
from numpy.typing import NDArray

from roll_vec.seeding import fold_in_arrays, fold_seed
from roll_vec.vector.space_batches import batch_items

# The environments of a batch may have the same seed: this word keeps their levels and
# these actions apart.
_SEED_WORD = 0x616374


class ActionStream:
    """A sequence of random actions for any vector environment.

    Parameters
    ----------
    envs : VectorEnv
        Its spaces and its size are read here.
    seed : int
    """

    def __init__(self, envs: Any, seed: int) -> None:
        self._space = envs.single_action_space
        # In a batch of several games each environment has the examples of its game.
        batch_space = envs.action_space
        spaces = batch_space.spaces if isinstance(batch_space, Tuple) else ()
        examples = [getattr(space, "examples", ()) for space in spaces]
        self._examples = examples if all(examples) else []
        self._num_examples = np.array(list(map(len, self._examples)), np.uint64)
        counters = np.array([np.full(envs.num_envs, _SEED_WORD), range(envs.num_envs)])
        seeds = np.full(envs.num_envs, fold_seed(seed), np.uint64)
        self._env_words = fold_in_arrays(seeds, *counters.astype(np.uint64))
        self._counters = np.zeros(envs.num_envs, np.uint64)

    def next_actions(self) -> Any:
        """Return a batch of actions; see `choose`."""
        words = fold_in_arrays(self._env_words, self._counters)
        self._counters += np.uint64(1)
        return self.choose(words)

    def choose(self, words: NDArray[np.uint64]) -> Any:
        """Return the action that each random word stands for.

        Parameters
        ----------
        words : (num_envs,) uint64

        Returns
        -------
        (num_envs,) integers, a tuple of num_envs str, or a batch of the space
        """
        # A remainder favours no action by more than one part in 2**60.
        if isinstance(self._space, Discrete):
            n, dtype = np.uint64(self._space.n), self._space.dtype
            if n & (n - np.uint64(1)) == 0:
                # A power of 2, in a fourth of the time.
                numbers = words & (n - np.uint64(1))
            else:
                numbers = words % n
            return numbers.astype(dtype, copy=False) + dtype.type(self._space.start)
        if self._examples:
            places = (words % self._num_examples).tolist()
            pairs = zip(self._examples, places, strict=True)
            return tuple([examples[place] for examples, place in pairs])
        space, samples = copy.deepcopy(self._space), []
        for word in words.tolist():
            space.seed(word)
            samples.append(space.sample())
        return batch_items(space, samples)
