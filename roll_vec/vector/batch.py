"""Calls of a batch: one at a time, checked, whole or broken off."""

from __future__ import annotations

import functools
from collections.abc import Callable
from threading import get_ident
from typing import Any, ClassVar, NoReturn, TypeVar, cast

import numpy as np
from gymnasium.vector import AutoresetMode, VectorEnv
from numpy.typing import NDArray

from roll_vec.errors import (
    BatchInUseError,
    ClosedError,
    ResetNeededError,
    list_env_ids,
)
from roll_vec.vector.autoreset import NOT_RESET, Autoreset
from roll_vec.vector.engine import Engine
from roll_vec.vector.steps import CalledSteps, Steps


class Batch(VectorEnv[Any, Any, Any]):
    """The first base of `roll_vec.vector.env.RollVectorEnv`, which fills it.

    Upon it stand, in this order, `BatchAttributes` and `BatchSnapshots`.
    """

    _has_objects: ClassVar[bool] = False
    """Whether environments are objects: they draw themselves, and calls can fail, or be
    interrupted, halfway.
    """
    engine: Engine
    autoreset_mode: AutoresetMode
    copy: bool
    # A method of the engine.
    _observe: Callable[[], Any]
    group_size: int
    _options: dict[str, Any]
    _autoreset: Autoreset
    _seeds: list[int | None]
    _is_started: bool

    def _check_open(self) -> None:
        if self.closed:
            message = f"{self!r} is closed"
            raise ClosedError(message)

    def _check_started(self, use: str) -> None:
        """Check that the batch is open, ready, and was reset before this use."""
        self._check_open()
        self._check_ready()
        if not self._is_started:
            message = f"the environments must be reset before {use}"
            raise ResetNeededError(message)

    def _check_others(
        self, env_ids: NDArray[np.int64], call: str, mask_name: str
    ) -> None:
        """Check that a call may leave out all but some environments by its mask."""
        if len(env_ids) == self.num_envs:
            return
        self._check_ready()
        if not self._is_started:
            others = np.setdiff1d(np.arange(self.num_envs), env_ids)
            message = (
                f"environments {list_env_ids(others)} were never reset: {call} cannot "
                f"leave any out by {mask_name}"
            )
            raise ResetNeededError(message)

    def _check_ready(self) -> None:
        """Check that no call before has raised after something may have moved."""
        if not self._needs_full_reset():
            return
        call = self._autoreset.unfinished_call or "a call"
        message = (
            f"every environment must be reset: {call} raised an error, or was "
            "interrupted, when some may have moved; call reset() without a mask, or "
            "set_state"
        )
        raise ResetNeededError(message)

    def _needs_full_reset(self) -> bool:
        """Return whether a call has raised after something may have moved."""
        is_unfinished = self._autoreset.unfinished_call not in ("", NOT_RESET)
        return is_unfinished or self.engine.needs_full_reset

    def _check_idle(self, name: str) -> None:  # noqa: ARG002
        """Check that method ``name`` may be called: no action is under way."""
        self._check_open()

    def _drop_leftovers(self) -> None:
        """Drop what a call has left behind that raised when some may have moved."""
        if self._needs_full_reset():
            self._drop_pending()

    def _drop_pending(self) -> None:
        """Drop all actions and tasks whose results were not received."""

    def _warn(self) -> None:
        """Give the warning that was kept, if any; a filter may raise."""

    def _make_steps(self) -> Steps:
        """Return an object that begins steps of some environments."""
        return CalledSteps(self.engine)

    def _become_part(self, first_env_id: int) -> None:
        """Note that the batch is a part of a larger one, from this environment on.

        Its warnings count environments as the larger batch does, and it does not raise
        if none of its environments can be reset: others may.
        """


Method = TypeVar("Method", bound=Callable[..., Any])


def one_at_a_time(method: Method) -> Method:
    """Let only one thread be in such methods of a batch; each may call the others.

    The attribute ``_caller`` of the batch is the identifier of that thread, or 0.

    Raises
    ------
    BatchInUseError
        In a second thread; nothing has moved.
    """

    @functools.wraps(method)
    def call(self: Any, *args: Any, **keywords: Any) -> Any:
        # `RollVectorEnv.step` has these lines, too: a call costs it 0.1 us.
        caller, outer = get_ident(), self._caller
        if not outer:
            self._caller = caller
        elif outer != caller:
            raise_in_use(self)
        try:
            return method(self, *args, **keywords)
        finally:
            self._caller = outer

    return cast(Method, call)


def raise_in_use(envs: Any) -> NoReturn:
    """Raise the error for a batch that another thread is in a call of.

    Raises
    ------
    BatchInUseError
    """
    message = (
        f"{envs!r} is in use by another thread: a batch belongs to one thread at a "
        "time; make one for each, or let them share `roll_vec.sessions.Sessions`"
    )
    raise BatchInUseError(message)
