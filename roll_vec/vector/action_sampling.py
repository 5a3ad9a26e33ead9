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

from roll_vec.errors import InvalidOptionError
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

    def next_actions(self, action_mask: Any = None) -> Any:
        """Return a batch of actions; see `choose`."""
        words = fold_in_arrays(self._env_words, self._counters)
        actions = self.choose(words, action_mask)
        self._counters += np.uint64(1)
        return actions

    def choose(self, words: NDArray[np.uint64], action_mask: Any = None) -> Any:
        """Return the action that each random word stands for.

        Parameters
        ----------
        words : (num_envs,) uint64
        action_mask : (num_envs, n) of 0 and 1, or None
            For n integer actions: 1 where an action may be chosen.

        Returns
        -------
        (num_envs,) integers, a tuple of num_envs str, or a batch of the space

        Raises
        ------
        InvalidOptionError
            If the mask does not fit the actions.
        """
        if action_mask is not None:
            action_mask = self._check_mask(action_mask)
        # A remainder favours no action by more than one part in 2**60.
        if isinstance(self._space, Discrete):
            n, dtype = np.uint64(self._space.n), self._space.dtype
            numbers: NDArray[Any]
            if action_mask is not None:
                ranks = action_mask.cumsum(axis=1, dtype=np.uint64)
                target_ranks = words % np.maximum(ranks[:, -1], np.uint64(1))
                numbers = (ranks > target_ranks[:, None]).argmax(axis=1)
            elif n & (n - np.uint64(1)) == 0:
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

    def _check_mask(self, mask: Any) -> NDArray[np.bool_]:
        """Return a mask of actions as an array of bool."""
        if not isinstance(self._space, Discrete):
            hint = f"; it masks integer actions, and these are of {self._space}"
            raise InvalidOptionError.expected("action_mask", "None", mask, hint)
        array, shape = np.asarray(mask), (len(self._counters), int(self._space.n))
        is_mask = array.shape == shape and array.dtype.kind in "biu"
        if not is_mask or not ((array == 0) | (array == 1)).all():
            accepted = f"an array of 0 and 1 of shape {shape}"
            raise InvalidOptionError.expected("action_mask", accepted, mask)
        return array.astype(np.bool_, copy=False)
