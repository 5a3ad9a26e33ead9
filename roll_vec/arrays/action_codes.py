"""The integers that are accepted as actions, and the warning of action 0.

The actions of a game with K of them, by the keyword ``action_start``::

    action_start     actions     0 is
    None, 1          1 to K      "no valid action": nothing moves, the step counts
    0, or no such    0 to K - 1  an action like the others
    keyword

With None the first 0 that is played gives a warning: an agent that counts its actions
from 0 would never play the last one, and nothing else would tell.
"""

from __future__ import annotations

import operator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from roll_vec.errors import (
    ActionStartWarning,
    InvalidActionError,
    list_env_ids,
    shorten,
    warn_caller,
)
from roll_vec.kernels.validation import any_outside

_INT64 = np.dtype(np.int64)


class ActionCodes:
    """The integers that an environment or a batch accepts as actions.

    Parameters
    ----------
    options : ArrayEnv

    Attributes
    ----------
    first, last : int
        The actions.
    lowest : int
        The lowest integer that is accepted.
    lowest_silent : int
        The lowest integer that needs no warning: ``first`` until the warning is given,
        ``lowest`` afterwards.  One range check from here to ``last`` finds both a 0 to
        warn of and actions to refuse, so that the warning costs nothing more.
    """

    def __init__(self, options: Any) -> None:
        self.first = options.first_action
        self.last = self.first + len(options.action_names) - 1
        self.lowest = self.lowest_silent = options.lowest_action
        if options.action_start is None:
            self.lowest_silent = self.first
        self._limits = np.array([self.lowest_silent, self.last])

    def check_one(self, action: Any) -> int:
        """Return the action of a single environment as an int.

        Raises
        ------
        InvalidActionError
        """
        try:
            # True is the int 1, and never meant as an action.
            if action is True or action is False:
                raise TypeError
            code = operator.index(action)
        except TypeError:
            code = self.lowest - 1
        if not self.lowest_silent <= code <= self.last:
            if not self.lowest <= code <= self.last:
                message = (
                    f"action: expected an integer from {self.lowest} to {self.last}, "
                    f"got {shorten(action)}"
                )
                raise InvalidActionError(message)
            self._warn("action_space")
        return code

    def check_batch(
        self, actions: Any, skip_mask: NDArray[np.bool_]
    ) -> NDArray[np.int64]:
        """Return the actions of a batch as (n,) int64 that can be written.

        Environments to skip may have any integer.

        Raises
        ------
        InvalidActionError
        """
        shape = skip_mask.shape
        try:
            batch = np.asarray(actions)
        except ValueError:
            accepted = f"{shape[0]} integers, one an environment"
            raise InvalidActionError.expected("actions", accepted, actions) from None
        if batch.shape != shape:
            accepted = f"shape {shape}, one integer an environment"
            message = f"actions: expected {accepted}, got shape {batch.shape}"
            raise InvalidActionError(message)
        codes = batch
        # The usual case in one look; numba compiles the kernels anew for a read-only
        # array, such as jax's.
        if batch.dtype is not _INT64 or not batch.flags.carray:
            if batch.dtype.kind not in "iu":
                message = f"actions: expected an integer dtype, got {batch.dtype}"
                raise InvalidActionError(message)
            codes = _to_int64(batch)
        # numpy's min and max take ten times as long.
        if any_outside(codes, self._limits):
            outside = (codes < self.lowest) | (codes > self.last)
            rows = np.flatnonzero(outside & ~skip_mask)
            if len(rows):
                message = (
                    f"actions: expected {self.lowest} to {self.last}, got "
                    f"{batch[rows[:8]].tolist()} in environments {list_env_ids(rows)}"
                )
                raise InvalidActionError(message)
            if ((codes < self.lowest_silent) & ~(outside | skip_mask)).any():
                self._warn("single_action_space")
            codes = np.where(outside, self.lowest, codes)
        return codes

    def parse_steps(self, actions: Any, num_envs: int) -> NDArray[np.int64]:
        """Return the actions of T steps as (T, n) int64.

        Raises
        ------
        ValueError
            If there is any doubt, and for a 0 that needs a warning: only `check_batch`
            knows whether its environment is skipped.
        """
        batch = np.asarray(actions)
        if batch.shape[1:] != (num_envs,) or batch.dtype.kind not in "iu":
            raise ValueError
        codes = _to_int64(batch)
        if any_outside(codes.reshape(-1), self._limits):
            raise ValueError
        return codes

    def _warn(self, space: str) -> None:
        """Warn of the action 0, once; again if the warning was raised as an error.

        Parameters
        ----------
        space : str
            Name of the attribute that has the space of one action.
        """
        warn_caller(
            'the action 0 is "no valid action" here: nothing moves, the step counts. '
            f"The actions are {self.first} to {self.last}: play action + {space}.start "
            "if yours count from 0, or make the environment with action_start=0. "
            f"action_start={self.first} keeps 0 as it is and gives no warning",
            ActionStartWarning,
        )
        self.lowest_silent = self._limits[0] = self.lowest


def _to_int64(batch: NDArray[Any]) -> NDArray[np.int64]:
    """Return integers as int64 in C order that can be written."""
    codes = np.ascontiguousarray(batch, np.int64)
    return codes if codes.flags.writeable else codes.copy()
