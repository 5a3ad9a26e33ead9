"""`Engine`: the base of engines, which step many environments together.

`RollVectorEnv` works with any engine.  `roll_vec.arrays.engine` keeps the state of all
environments in arrays, and `roll_vec.pool.engine` runs one Python object per
environment.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from gymnasium.spaces import Space
from gymnasium.vector import AutoresetMode
from numpy.typing import NDArray

from roll_vec.errors import UnsupportedError
from roll_vec.vector.infos import AnyInfos
from roll_vec.vector.rollout import Rollout

NO_IDS = np.zeros(0, np.int64)
"""No environments."""


StepResult: TypeAlias = tuple[
    NDArray[np.float64],
    NDArray[np.bool_],
    NDArray[np.bool_],
    NDArray[np.bool_] | None,
    AnyInfos,
]
"""Rewards, terminations, truncations, dones and infos of one step, in new arrays.

Dones are terminations or truncations; None: no episode ended.  Environments that were
skipped have zeros.  They have no infos, unless their next episode began.  The infos are
in Gymnasium's layout, or a list with one dict per environment.  The result is a plain
tuple: a named one takes 3 % of a step of one environment.
"""


StateArrays: TypeAlias = Mapping[str, NDArray[Any]]
"""The state of environments; row i of each array belongs to environment i."""


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
    """(N,) the number of steps: less than T if an episode ended in DISABLED mode.
    """
    begin_infos: dict[str, NDArray[Any]]
    """(T, N) each, of the episodes that began; in NEXT_STEP mode arrays of ``infos``.
    """


class Engine:
    """N environments that are advanced together.

    An engine knows nothing of autoreset, groups or closed environments: `Autoreset` and
    `RollVectorEnv` tell it which environments to reset and to step.  Environments have
    the ids 0 to N - 1; ``env_ids`` are ascending, each at most once.  A method that
    raises a `RollVecError` has moved no environment, unless `needs_full_reset`.
    """

    name: str
    """Of the environments, in snapshots, where they have no id."""
    num_envs: int
    single_observation_space: Space[Any]
    single_action_space: Space[Any]
    metadata: dict[str, Any]
    """``render_modes`` and ``render_fps`` of the single environment."""
    render_mode: str | None
    needs_full_reset: bool = False
    """Whether an error that it raised demands a reset of all environments."""
    successes: NDArray[np.bool_]
    """(n,) bool: whether the last step of each environment was a success."""

    def reset(
        self,
        env_ids: NDArray[np.int64],
        seeds: Sequence[int | None] | None = None,
        options: dict[str, Any] | None = None,
    ) -> None:
        """Start new episodes in some environments.

        Parameters
        ----------
        env_ids : (m,) int64
        seeds : sequence of m, or None
            An int starts a stream of episodes with this seed, at its episode 0.  None
            begins the next episode of the environment's stream, or of all streams.
        options : dict or None
            The argument of `RollVectorEnv.reset` without ``reset_mask``; not to be
            changed.
        """
        raise NotImplementedError

    def begin_infos(self, env_ids: NDArray[np.int64]) -> AnyInfos:
        """Return the infos of the last resets of some environments.

        Returns
        -------
        dict of (m,) arrays, or list of m dicts
        """
        raise NotImplementedError

    def check_actions(self, actions: Any, skip_mask: NDArray[np.bool_]) -> Any:
        """Return the actions in the form that `step` accepts.

        Parameters
        ----------
        actions : batch of m
            Of any number of environments.
        skip_mask : (m,) bool
            Environments whose actions are ignored.

        Raises
        ------
        InvalidActionError
            If the batch has the wrong shape or dtype, or an environment that is not
            skipped does not accept its action.
        """
        raise NotImplementedError

    def step(
        self,
        actions: Any,
        skip_mask: NDArray[np.bool_],
        begins: NDArray[np.int64] = NO_IDS,
        resets_ended: bool = False,
    ) -> StepResult:
        """Step some environments; the others stay as they are.

        Parameters
        ----------
        actions : batch
            As `check_actions` returned it.
        skip_mask : (n,) bool
            The environments that take no step; their entry in `successes` becomes
            False.
        begins : (m,) int64
            Those of them whose next episodes begin first, as by `reset`; their infos
            are `begin_infos`.
        resets_ended : bool
            True: an engine may reset those that end, as the mode SAME_STEP does.  Then
            it returns no dones, and infos with ``final_obs`` and ``final_info``.
        """
        raise NotImplementedError

    def unroll(
        self,
        actions: Any,
        has_ended: NDArray[np.bool_],
        mode: AutoresetMode,
        out: Rollout | None,
    ) -> UnrollResult | None:
        """Take T steps, and begin next episodes as the autoreset mode says.

        After any error all environments must be reset.

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
            None: these must be single steps; nothing has moved.

        Raises
        ------
        LevelGenerationError
        """

    def observe(
        self, env_ids: NDArray[np.int64] | None = None, *, copy: bool = True
    ) -> Any:
        """Return the observations of some or all environments.

        Parameters
        ----------
        env_ids : (m,) int64, or None
            None: all.
        copy : bool
            False: the batch of all environments may be one that later steps write into.

        Returns
        -------
        batch, or list of m
            A batch of all environments.  Of some a list, whose items are as those of
            single environments.
        """
        raise NotImplementedError

    def frames(self, env_ids: NDArray[np.int64], mode: str) -> tuple[Any, ...]:
        """Return a rendered frame of each of some environments, in a render mode."""
        raise NotImplementedError

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
        raise NotImplementedError

    def call(
        self, name: str, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> tuple[Any, ...]:
        """Return an attribute of each environment, called if it is a method.

        Raises
        ------
        AttributeError
            If they have no such attribute.
        """
        raise NotImplementedError

    def set_level_options(self, level_options: Mapping[str, Any]) -> None:
        """Change the levels of all environments from their next episodes on.

        Raises
        ------
        UnknownOptionError, InvalidOptionError
            For a name that is no level option, or a value that cannot be used; nothing
            has changed then.
        UnsupportedError
            If the environments have no level options.
        """
        names = ", ".join(level_options) or "none"
        message = (
            f"set_level_options: {self.name} has none, got {names}: make a new one"
        )
        raise UnsupportedError(message)

    def configuration(self) -> dict[str, Any]:
        """Return all keywords that two engines must share to exchange states.

        Strings, numbers, lists and dicts, as `json` writes them.  The number of
        environments, of threads and of workers is not among them.
        """
        raise NotImplementedError

    def get_state(
        self, env_ids: NDArray[np.int64] | None = None
    ) -> dict[str, NDArray[Any]]:
        """Return the state of some or all environments, in new arrays."""
        raise NotImplementedError

    def check_state(self, arrays: StateArrays) -> None:
        """Check a state that may have been changed since `get_state` returned it.

        Raises
        ------
        InvalidStateError
            If `set_state` could not use it; names the array and its problem.
        """
        raise NotImplementedError

    def set_state(
        self, arrays: StateArrays, rows: NDArray[np.int64], env_ids: NDArray[np.int64]
    ) -> None:
        """Make environment ``env_ids[j]`` a copy of row ``rows[j]`` of a state.

        Parameters
        ----------
        arrays : mapping from str to array
            Of an engine with the same `configuration`, checked.
        rows, env_ids : (m,) int64
        """
        raise NotImplementedError

    def close(self) -> None:
        """End threads, processes and connections of the engine; may be called twice."""
