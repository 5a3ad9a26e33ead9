"""The seam between the vector wrapper and what runs N environments together."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, Protocol, runtime_checkable

import numpy as np
from gymnasium.spaces import Space
from gymnasium.vector import AutoresetMode
from numpy.typing import NDArray

from roll_vec.vector.infos import Infos, RowInfos

__all__ = ["Engine", "Rollout", "StepResult", "SupportsUnroll", "UnrollResult"]


class StepResult(NamedTuple):
    """What a step of N environments gives; fresh arrays that the caller keeps.

    Rows that were skipped have zeros and no infos.  Infos are in Gymnasium's layout,
    or a list with a dict for each row, empty where it was skipped.
    """

    rewards: NDArray[np.float64]
    terminations: NDArray[np.bool_]
    truncations: NDArray[np.bool_]
    infos: Infos | RowInfos


class Rollout(NamedTuple):
    """What T steps of N environments gave, stacked in time.

    Texts are a tuple of T tuples of N; the parts of nested observations are stacked.
    """

    observations: Any
    """(T, N, ...): after each step, as `step` returned them."""
    rewards: NDArray[np.float64]
    """(T, N)."""
    terminations: NDArray[np.bool_]
    """(T, N)."""
    truncations: NDArray[np.bool_]
    """(T, N)."""
    infos: Infos
    """The layout of `step` with arrays and masks of (T, N)."""


class UnrollResult(NamedTuple):
    """What an engine's T steps gave; arrays that the caller keeps."""

    observations: Any
    final_observations: Any
    """The true next observation of every step in SAME_STEP mode, else None."""
    rewards: NDArray[np.float64]
    terminations: NDArray[np.bool_]
    truncations: NDArray[np.bool_]
    infos: dict[str, NDArray[Any]]
    """(T, N) each, of steps; zeros where a step began an episode."""
    times: NDArray[np.int64]
    """(N,) the steps that were made: fewer than T where DISABLED mode had no more."""


class Engine(Protocol):
    """N environments of one kind that are advanced together.

    An engine knows nothing of autoreset, of groups or of closed environments: the
    vector wrapper tells it which rows to start, to move on and to step.  Every
    method either raises before any row has moved or succeeds for all its rows.
    """

    num_envs: int
    single_observation_space: Space[Any]
    single_action_space: Space[Any]
    observation_space: Space[Any]
    action_space: Space[Any]
    metadata: dict[str, Any]
    """``render_modes`` and ``render_fps`` of the single form."""
    render_mode: str | None

    @property
    def successes(self) -> NDArray[np.bool_]:
        """(n,) whether the last step of each environment ended in success."""

    def reset(
        self,
        rows: NDArray[np.int64],
        seeds: Sequence[int | None],
        options: dict[str, Any] | None = None,
    ) -> None:
        """Start new episodes in some rows.

        Parameters
        ----------
        rows : (m,) int64
            Ascending, each at most once.
        seeds : sequence of m
            An int starts a stream with this seed, at its episode 0; None goes on to
            the next episode of the row's stream.
        options : dict or None
            What the user passed to `reset`, without ``reset_mask``; not to be changed.
        """

    def advance(self, rows: NDArray[np.int64]) -> None:
        """Go on to the next episode in some rows, as `reset` with None for each."""

    def reset_infos(self, rows: NDArray[np.int64]) -> Infos | RowInfos:
        """Return the infos of the last resets of some rows.

        Returns
        -------
        dict of (m,) arrays, or list of m dicts
            In the form of the infos of `step`.
        """

    def check_actions(self, actions: Any, skip_mask: NDArray[np.bool_]) -> Any:
        """Return the actions in the form that `step` takes.

        Raises
        ------
        InvalidActionError
            If the batch has the wrong shape or dtype, or a row that is not skipped
            has an action that it does not accept.
        """

    def step(self, actions: Any, skip_mask: NDArray[np.bool_]) -> StepResult:
        """Step every row but those of the mask, which stay as they are."""

    def observe(self, out: Any = None) -> Any:
        """Return the observations of all rows.

        Parameters
        ----------
        out : the batch that an earlier call returned, or None
            Written and returned where the kind of observation allows; with None the
            batch is new.
        """

    def observe_rows(self, rows: NDArray[np.int64]) -> list[Any]:
        """Return the observations of some rows, each as its single form gives it."""

    def frames(self, rows: NDArray[np.int64], mode: str) -> tuple[Any, ...]:
        """Return a rendered frame for each of some rows, in one of its modes."""

    def get_attribute(self, name: str) -> tuple[Any, ...]:
        """Return an attribute of each environment's single form.

        Raises
        ------
        AttributeError
            If it has none of this name that can be read without a side effect.
        """


@runtime_checkable
class SupportsUnroll(Protocol):
    """What an engine has besides if it can go back, and take many steps in one call."""

    def checkpoint(self) -> Callable[[], None]:
        """Return a function that puts all environments back to where they are now."""

    def unroll(
        self,
        actions: Any,
        finished: NDArray[np.bool_],
        mode: AutoresetMode,
        out: Rollout | None,
    ) -> UnrollResult | None:
        """Take T steps, going on to next episodes as an autoreset mode says.

        Parameters
        ----------
        actions : T batches
            As users give them.
        finished : (N,) bool
            Environments whose episodes have ended.
        mode : AutoresetMode
            In DISABLED mode an environment stops where its episode ends.
        out : Rollout or None
            Whose arrays are written into; they have been checked.

        Returns
        -------
        UnrollResult or None
            None where this has to be done step by step; nothing has moved then.

        Raises
        ------
        LevelGenerationError
            Environments have moved then.
        """
