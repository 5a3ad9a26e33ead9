"""The interface of engines, which step many environments of one kind together.

`RollVectorEnv` works with any engine.  There are two: `roll_vec.stacked.engine` keeps
the state of all environments in arrays, `roll_vec.pool.engine` runs one Python object
per environment.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any, NamedTuple, Protocol, TypeAlias, runtime_checkable

import numpy as np
from gymnasium.spaces import Space
from gymnasium.vector import AutoresetMode
from numpy.typing import NDArray

from roll_vec.vector.info_parts import InfoParts
from roll_vec.vector.infos import InfoList, Infos
from roll_vec.vector.rollout import Rollout

__all__ = [
    "NO_IDS",
    "Engine",
    "EngineState",
    "StepResult",
    "SupportsUnroll",
    "UnrollResult",
]

NO_IDS = np.zeros(0, np.int64)
"""No environments."""


StepResult: TypeAlias = tuple[
    NDArray[np.float64],
    NDArray[np.bool_],
    NDArray[np.bool_],
    Infos | InfoList | InfoParts,
]
"""Rewards, terminations, truncations and infos of one step, in new arrays.

Environments that were skipped have zeros and no infos.  The infos are in Gymnasium's
layout, a list with one dict per environment, or parts of these forms.  It is a plain
tuple: a named one takes 3 % of a step of one environment.
"""


class UnrollResult(NamedTuple):
    """The results of T steps of N environments, in new arrays or those of ``out``."""

    observations: Any
    final_observations: Any
    """The true next observations of every step in SAME_STEP mode, else None."""
    rewards: NDArray[np.float64]
    terminations: NDArray[np.bool_]
    truncations: NDArray[np.bool_]
    infos: dict[str, NDArray[Any]]
    """(T, N) each, of steps; zeros where a step reset the environment."""
    times: NDArray[np.int64]
    """(N,) the number of steps taken: less than T if an episode ended in DISABLED mode.
    """
    has_reset_infos: bool = False
    """Whether ``infos`` has all infos of resets, too; in NEXT_STEP mode alone."""


class EngineState(NamedTuple):
    """The state of all environments of an engine; nobody writes into it."""

    arrays: dict[str, NDArray[Any]]
    """Row i of each array belongs to environment i."""
    shared: Mapping[str, Any] = MappingProxyType({})
    """Values that rows refer to, such as sets of level options; `json` can write them.
    """
    objects: tuple[Any, ...] | None = None
    """One object per environment, for states that only this process can use."""


class Engine(Protocol):
    """N environments of one kind that are advanced together.

    An engine knows nothing of autoreset, groups or closed environments: `Autoreset` and
    `RollVectorEnv` tell it which environments to reset and to step.  Environments have
    the ids 0 to N - 1.  A method that raises has moved no environment; a pool's engine
    may have moved some, see `roll_vec.pool.vector.PoolVectorEnv`.
    """

    num_envs: int
    single_observation_space: Space[Any]
    single_action_space: Space[Any]
    observation_space: Space[Any]
    action_space: Space[Any]
    metadata: dict[str, Any]
    """``render_modes`` and ``render_fps`` of the single environment."""
    render_mode: str | None

    @property
    def successes(self) -> NDArray[np.bool_]:
        """(n,) bool: whether the last step of each environment was a success."""

    def reset(
        self,
        env_ids: NDArray[np.int64],
        seeds: Sequence[int | None],
        options: dict[str, Any] | None = None,
    ) -> None:
        """Start new episodes in some environments.

        Parameters
        ----------
        env_ids : (m,) int64
            Ascending, each at most once.
        seeds : sequence of m
            An int starts a stream of episodes with this seed, at its episode 0.  None
            begins the next episode of the environment's stream.
        options : dict or None
            The argument of `RollVectorEnv.reset` without ``reset_mask``; not to be
            changed.
        """

    def advance(self, env_ids: NDArray[np.int64]) -> None:
        """Begin the next episode in some environments; as `reset` with seeds None."""

    def set_level_options(
        self, env_ids: NDArray[np.int64], level_options: dict[str, Any]
    ) -> None:
        """Change the levels of some environments from their next episodes on.

        Raises
        ------
        UnknownOptionError, InvalidOptionError
            For a name that is no level option, or a value that cannot be used; nothing
            has changed then.
        UnsupportedError
            If the environments have no level options.
        """

    def reset_infos(self, env_ids: NDArray[np.int64]) -> Infos | InfoList | InfoParts:
        """Return the infos of the last resets of some environments.

        Returns
        -------
        dict of (m,) arrays, list of m dicts, or parts of these
            A dict, a list or parts, as the infos of `step`.
        """

    def check_actions(self, actions: Any, skip_mask: NDArray[np.bool_]) -> Any:
        """Return the actions in the form that `step` takes.

        Raises
        ------
        InvalidActionError
            If the batch has the wrong shape or dtype, or an environment that is not
            skipped does not accept its action.
        """

    def step(
        self,
        actions: Any,
        skip_mask: NDArray[np.bool_],
        idle_mask: NDArray[np.bool_] | None = None,
        begins: NDArray[np.int64] = NO_IDS,
    ) -> StepResult:
        """Step some environments; the others stay as they are.

        Parameters
        ----------
        actions : batch
            As `check_actions` returned it.
        skip_mask : (n,) bool
            The environments that take no step.
        idle_mask : (n,) bool, or None
            Those of them that keep their entry in `successes`; None: none.  The entry
            of others that are skipped, which this step resets, becomes False.
        begins : (m,) int64
            Those of them whose next episodes begin first, as by `advance`; ascending.
        """

    def observe(self, out: Any = None) -> Any:
        """Return the observations of all environments.

        Parameters
        ----------
        out : batch of an earlier call, or None
            Written to and returned if the observation is of a kind that allows it.
            None: the batch is new.
        """

    def observe_envs(self, env_ids: NDArray[np.int64]) -> list[Any]:
        """Return the observations of some environments, as single environments do."""

    def frames(self, env_ids: NDArray[np.int64], mode: str) -> tuple[Any, ...]:
        """Return a rendered frame of each of some environments, in a render mode."""

    def configuration(self) -> dict[str, Any]:
        """Return all keywords that two engines must share to exchange states.

        Strings, numbers, lists and dicts, as `json` writes them.  The number of
        environments, of threads and of workers is not among them.
        """

    def get_state(self) -> EngineState:
        """Return the state of all environments, in new arrays."""

    def check_state(self, state: EngineState) -> None:
        """Check a state that may have been changed since `get_state` returned it.

        Raises
        ------
        InvalidStateError
            If `set_state` could not take it; names the array and its problem.
        """

    def set_state(
        self, state: EngineState, rows: NDArray[np.int64], env_ids: NDArray[np.int64]
    ) -> None:
        """Make environment ``env_ids[j]`` a copy of row ``rows[j]`` of a state.

        Parameters
        ----------
        state : EngineState
            Of an engine with the same `configuration`, checked.
        rows, env_ids : (m,) int64
            The ids ascending, each at most once.
        """

    def solve(self, env_ids: NDArray[np.int64], objective: str) -> list[Any]:
        """Return a solution of each of some environments, from where it stands.

        Parameters
        ----------
        env_ids : (m,) int64
        objective : str
            ``moves`` or ``pushes``, where a game knows the difference.

        Returns
        -------
        list of m
            Actions, (k,) int64, or k texts; None where there is no solution.
        """

    def close(self) -> None:
        """End threads, processes and connections of the engine; may be called twice."""

    def get_attribute(self, name: str) -> tuple[Any, ...]:
        """Return an attribute of each single environment.

        Raises
        ------
        AttributeError
            If it has no such attribute that can be read without a side effect.
        """


@runtime_checkable
class SupportsUnroll(Protocol):
    """Optional interface of engines: many steps in one call.

    If a reset or unroll of such an engine raises, `go_back` undoes it.
    """

    def save_point(self) -> Any:
        """Return a point in time that `go_back` can go back to."""

    def go_back(self, point: Any) -> None:
        """Undo everything since a point of `save_point`."""

    def unroll(
        self,
        actions: Any,
        has_ended: NDArray[np.bool_],
        mode: AutoresetMode,
        out: Rollout | None,
    ) -> UnrollResult | None:
        """Take T steps, and begin next episodes as the autoreset mode says.

        Parameters
        ----------
        actions : T batches
            As the user passed them.
        has_ended : (N,) bool
            Environments whose episode has ended.
        mode : AutoresetMode
            In DISABLED mode an environment stops at the end of its episode.
        out : Rollout or None
            Its arrays are written to; they have been checked.

        Returns
        -------
        UnrollResult or None
            None: these steps have to be taken one by one; nothing has moved.

        Raises
        ------
        LevelGenerationError
            Environments have moved then.
        """
