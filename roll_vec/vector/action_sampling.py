"""Random actions for a whole batch: `sample_actions`.

An action depends on the seed, on the number of the environment and on the number of the
call.  It does not depend on ``num_envs``, and it moves no generator of a game.
"""

from __future__ import annotations

import copy
import functools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from gymnasium.spaces import Discrete, Space, Tuple
from gymnasium.vector import VectorEnv
from numpy.typing import NDArray

from roll_vec.errors import InvalidOptionError
from roll_vec.seeding import check_seed, draw_entropy, fold_seed
from roll_vec.spaces import UnicodeText
from roll_vec.vector.attributes import BatchAttributes
from roll_vec.vector.space_batches import batch_items

# The environments of a batch may have the same seed: this word keeps their levels and
# these actions apart.
_SEED_WORD = 0x616374


class BatchActionSampling(BatchAttributes):
    """Base of `roll_vec.vector.env.RollVectorEnv`: `sample_actions`."""

    _action_stream: ActionStream | None = None

    def sample_actions(
        self, action_mask: Any = None, *, seed: int | None = None
    ) -> Any:
        """Return a random action for each environment, all actions equally likely.

        Of environments that act by text these are examples of their action space, such
        as the names of moves in the form that the parser expects.

        Parameters
        ----------
        action_mask : (num_envs, n) of 0 and 1, or None
            For n integer actions: 1 where an action may be chosen, as
            ``infos["action_mask"]`` has it.  A row of zeros chooses the first action.
        seed : int or None
            Begin a new sequence.  None: continue; the first sequence has a seed of the
            operating system.

        Returns
        -------
        (num_envs,) integers, a tuple of num_envs str, or a batch of another space

        Raises
        ------
        InvalidSeedError
        InvalidOptionError
            If the mask does not fit the actions.
        ClosedError

        Notes
        -----
        The action of environment i in call t after ``seed=s`` depends on s, i and t
        alone.  `reset`, `step` and `set_state` do not change this sequence, and it
        changes nothing in them.  Spaces other than `Discrete` and texts with examples
        are sampled environment by environment, which takes much longer.
        """
        self._check_open()
        if action_mask is not None:
            action_mask = _parse_action_mask(
                action_mask, self.single_action_space, self.num_envs
            )
        if seed is not None or self._action_stream is None:
            seed = draw_entropy() if seed is None else check_seed(seed)
            self._action_stream = ActionStream(self, seed)
        return self._action_stream.next_actions(action_mask)


class ActionStream:
    """A sequence of random actions for any vector environment.

    Parameters
    ----------
    envs : VectorEnv
        Its spaces and its size are read here.
    seed : int
    """

    def __init__(self, envs: VectorEnv[Any, Any, Any], seed: int) -> None:
        self._space = envs.single_action_space
        self._examples_by_env = _examples_by_env(envs.action_space)
        words = np.full(envs.num_envs, fold_seed(seed), np.uint64)
        for counters in (np.full(envs.num_envs, _SEED_WORD), np.arange(envs.num_envs)):
            words = _fold_in(words, counters.astype(np.uint64))
        self._env_words = words
        self._counters = np.zeros(envs.num_envs, np.uint64)

    def next_actions(self, action_mask: NDArray[np.bool_] | None = None) -> Any:
        """Return a batch of actions; see `choose_actions`."""
        words = _fold_in(self._env_words, self._counters)
        self._counters += np.uint64(1)
        return choose_actions(
            words,
            self._space,
            examples_by_env=self._examples_by_env,
            action_mask=action_mask,
        )


@functools.cache
def _compiled_fold_in_rows() -> Callable[..., None]:
    # Its import loads numba.
    from roll_vec.kernels.rng.pcg64 import fold_in_rows

    return fold_in_rows  # type: ignore[no-any-return]


def _fold_in(
    words: NDArray[np.uint64], counters: NDArray[np.uint64]
) -> NDArray[np.uint64]:
    """Return a new word for each word and its counter."""
    out = np.empty_like(words)
    _compiled_fold_in_rows()(words, counters, out)
    return out


def _examples_by_env(space: Space[Any]) -> list[tuple[str, ...]] | None:
    """Return the examples of each environment where they differ, as in joined batches.

    None where all have the same, and where there are no texts or some have no examples.
    """
    spaces = space.spaces if isinstance(space, Tuple) else ()
    examples = [one.examples for one in spaces if isinstance(one, UnicodeText)]
    if len(examples) < len(spaces) or not all(examples):
        return None
    # Copies of a space share its tuple of examples.
    return None if all(one is examples[0] for one in examples) else examples


def choose_actions(
    words: NDArray[np.uint64],
    space: Space[Any],
    *,
    examples_by_env: Sequence[Sequence[str]] | None = None,
    action_mask: NDArray[np.bool_] | None = None,
) -> Any:
    """Return the action that each random word stands for.

    Parameters
    ----------
    words : (n,) uint64
    space : gymnasium.Space
        Of one environment.
    examples_by_env : sequence of n sequences of str, or None
        The texts of each environment; None: the examples of ``space``, if it is one of
        texts.
    action_mask : (n, number of actions) bool, or None
        True: the action may be chosen.  For a `Discrete` space alone.

    Returns
    -------
    (n,) integers, a tuple of n str, or a batch of the space
    """
    # A remainder favours no action by more than one part in 2**60.
    if isinstance(space, Discrete):
        numbers: NDArray[Any]
        if action_mask is None:
            numbers = _remainder(words, int(space.n))
        else:
            numbers = _choose_allowed(words, action_mask)
        actions = numbers.astype(space.dtype, copy=False)
        return actions + actions.dtype.type(space.start)
    if examples_by_env is not None:
        pairs = zip(words.tolist(), examples_by_env, strict=True)
        return tuple([examples[word % len(examples)] for word, examples in pairs])
    if isinstance(space, UnicodeText) and space.examples:
        places = _remainder(words, len(space.examples)).tolist()
        return tuple([space.examples[place] for place in places])
    own_space = copy.deepcopy(space)
    samples = []
    for word in words.tolist():
        own_space.seed(word)
        samples.append(own_space.sample())
    return batch_items(space, samples)


def _remainder(words: NDArray[np.uint64], n: int) -> NDArray[np.uint64]:
    """Return ``words % n``; for a power of 2 in a fourth of the time."""
    if n & (n - 1) == 0:
        return words & np.uint64(n - 1)
    return words % np.uint64(n)


def _choose_allowed(
    words: NDArray[np.uint64], action_mask: NDArray[np.bool_]
) -> NDArray[np.int64]:
    """Return the number of one of the actions of each row that may be chosen."""
    ranks = action_mask.cumsum(axis=1, dtype=np.uint64)
    target_ranks = words % np.maximum(ranks[:, -1], np.uint64(1))
    numbers: NDArray[np.int64] = (ranks > target_ranks[:, None]).argmax(axis=1)
    return numbers


def _parse_action_mask(
    mask: Any, space: Space[Any], num_envs: int
) -> NDArray[np.bool_]:
    """Return a mask of actions as an array of bool.

    Raises
    ------
    InvalidOptionError
    """
    if not isinstance(space, Discrete):
        hint = f"; it masks integer actions, and these are of {space}"
        raise InvalidOptionError.expected("action_mask", "None", mask, hint)
    array = np.asarray(mask)
    is_mask = array.shape == (num_envs, space.n) and array.dtype.kind in "biu"
    if is_mask and array.dtype.kind != "b":
        is_mask = bool(array.size == 0 or (array.min() >= 0 and array.max() <= 1))
    if not is_mask:
        accepted = f"an array of 0 and 1 of shape ({num_envs}, {space.n})"
        raise InvalidOptionError.expected("action_mask", accepted, mask)
    return array.astype(np.bool_, copy=False)
