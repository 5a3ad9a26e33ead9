"""Record a run: its actions, rewards and ends, and digests of all other results."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from roll_vec.errors import InvalidActionError, one_line
from roll_vec.recordings.digests import digest_rows
from roll_vec.recordings.events import BatchEvent
from roll_vec.recordings.setup import plan_run
from roll_vec.registration.any_id import mode_of
from roll_vec.storage.plain_data import encode

RESULTS = ("rewards", "terminations", "truncations")
"""The results of a step that a run has as values."""


class RunRecorder:
    """The actions, rewards, ends and digests of a run, in the memory.

    Frame 0 is the first reset.  Each step is a frame, and so is each reset between
    steps, of the environments that the step before it ended.  A step takes about 15
    bytes for each environment, and its actions.

    Parameters
    ----------
    envs : VectorEnv
        The batch, whose events are added.
    id : str
        With the module that registers it, if one was named.
    options : mapping, optional
        The keywords that made the batch.

    Raises
    ------
    SetupError
        If a keyword is no plain data.
    """

    def __init__(
        self, envs: Any, id: str, options: Mapping[str, Any] | None = None
    ) -> None:
        self.setup = plan_run(id, envs.num_envs, mode_of(envs), options)
        self.exception: str | None = None
        self._space = envs.single_observation_space
        self._actions: list[Any] = []
        self._results: dict[str, list[NDArray[Any]]] = {name: [] for name in RESULTS}
        self._digests: list[NDArray[np.uint32]] = []
        self._is_reset: list[bool] = []

    def add(self, event: BatchEvent) -> None:
        """Add a reset, or a step with its actions; nothing of it is changed.

        Raises
        ------
        InvalidActionError
            If the actions are no plain data.
        """
        if not event.is_reset:
            self._actions.append(_pack(event.actions))
            for name, arrays in self._results.items():
                arrays.append(np.array(getattr(event, name)))
        size = self.setup.num_envs
        digests = digest_rows(self._space, size, event.observations, event.infos)
        self._digests.append(digests)
        self._is_reset.append(event.is_reset)

    def add_exception(self, actions: Any, error: Exception) -> None:
        """Add the actions of the last step, which raised an exception."""
        self._actions.append(_pack(actions))
        self.exception = describe_exception(error)

    @property
    def num_steps(self) -> int:
        """Steps so far, with the one that raised an exception."""
        return len(self._actions)

    def arrays(self) -> tuple[str | None, dict[str, NDArray[Any]]]:
        """Return the dtype of the actions, and the arrays of all frames and steps.

        None: the actions are no arrays of one form; they are lines of `encode`.
        """
        dtype, actions = _join(self._actions)
        # Ctrl-C may have come before the first step, or reset.
        blank = np.zeros((0, self.setup.num_envs), np.uint32)
        columns = {**self._results, "digests": self._digests}
        return dtype, {
            "actions": actions,
            **{
                name: np.stack(rows) if rows else blank
                for name, rows in columns.items()
            },
            "is_reset": np.array(self._is_reset, np.bool_),
        }


def describe_exception(error: Exception) -> str:
    """Return the class and the message of an exception on one line."""
    return f"{type(error).__name__}: {one_line(error)}"


def _pack(actions: Any) -> NDArray[Any] | bytes:
    """Return a copy of the actions of a step: an array, or a line of `encode`."""
    if isinstance(actions, np.ndarray) and actions.dtype.kind in "biuf":
        return actions.copy()
    if isinstance(actions, np.ndarray) and actions.dtype.kind == "O":
        actions = actions.tolist()
    try:
        return encode(actions)
    except TypeError as error:
        message = f"actions: expected plain data, which can be saved: {error}"
        raise InvalidActionError(message) from error


def _join(steps: list[Any]) -> tuple[str | None, NDArray[Any]]:
    """Return the dtype and the array of the actions of all steps."""
    forms = {
        (step.dtype.str, step.shape) if isinstance(step, np.ndarray) else None
        for step in steps
    }
    if len(forms) != 1 or None in forms:
        lines = [each if isinstance(each, bytes) else encode(each) for each in steps]
        return None, np.frombuffer(b"\n".join(lines), np.uint8)
    actions = np.stack(steps)
    small = actions.astype(np.int8) if actions.dtype.kind in "iu" else actions
    is_equal = np.array_equal(small, actions)
    return actions.dtype.str, small if is_equal else actions
