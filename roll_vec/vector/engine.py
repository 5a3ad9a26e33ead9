"""The base of engines, which step many environments together.

`RollVectorEnv` works with any engine.  `roll_vec.arrays.engine` keeps the state of all
environments in arrays, and `roll_vec.pool.engine` runs one Python object per
environment.  They differ in nothing but these methods and flags: no other code asks
which kind an engine is.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, NamedTuple, TypeAlias

import numpy as np
from gymnasium.spaces import Space
from gymnasium.vector import AutoresetMode
from numpy.typing import NDArray

from roll_vec.errors import FrozenAttributeError
from roll_vec.vector.infos import AnyInfos
from roll_vec.vector.rollout import Rollout
from roll_vec.vector.steps import CalledSteps, Steps

NO_IDS = np.zeros(0, np.int64)
"""No environments."""


StepResult: TypeAlias = tuple[
    NDArray[np.float64],
    NDArray[np.bool_],
    NDArray[np.bool_],
    AnyInfos,
]
"""Rewards, terminations, truncations and infos of one step, in new arrays.

Environments that were skipped have zeros and no infos.  The infos are in Gymnasium's
layout, a list with one dict per environment, or parts of these forms.  It is a plain
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
    """(N,) the number of steps taken: less than T if an episode ended in DISABLED mode.
    """
    has_reset_infos: bool = False
    """Whether ``infos`` has all infos of resets, too; in NEXT_STEP mode alone."""


class Engine:
    """N environments that are advanced together.

    An engine knows nothing of autoreset, groups or closed environments: `Autoreset` and
    `RollVectorEnv` tell it which environments to reset and to step.  Environments have
    the ids 0 to N - 1.  A method that raises a `RollVecError` has moved no environment,
    unless `can_fail` or `needs_full_reset`, but for `unroll`.
    """

    can_fail: ClassVar[bool] = False
    """Whether there are objects or processes: calls can fail or be interrupted halfway.
    """
    has_objects: ClassVar[bool] = False
    """Whether all environments are objects, which draw and show themselves."""
    abandoned_threads: int = 0
    """Threads that were left to environments that took too long."""
    needs_full_reset: bool = False
    """Whether an error that it raised demands a reset of all environments."""
    raises_faults: bool = False
    """Whether a fault of one environment is an error of all."""
    needs_seed: Sequence[bool] | None = None
    """Whether the first reset of each environment must have a seed; None: all."""
    num_envs: int
    single_observation_space: Space[Any]
    single_action_space: Space[Any]
    observation_space: Space[Any]
    action_space: Space[Any]
    metadata: dict[str, Any]
    """``render_modes`` and ``render_fps`` of the single environment."""
    render_mode: str | None

    needs_reset_infos: bool = True
    """Whether the infos of the last step lack those of the episodes that it began."""
    ends: NDArray[np.bool_] | None = None
    """(n,) bool, of the last step: terminations or truncations; None: not computed."""
    has_ends: bool = True
    """Whether `ends` can have a True."""
    successes: NDArray[np.bool_]
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
        raise NotImplementedError

    def advance(self, env_ids: NDArray[np.int64]) -> None:
        """Begin the next episode in some environments; as `reset` with seeds None."""
        raise NotImplementedError

    def set_level_options(self, level_options: dict[str, Any]) -> None:
        """Change the levels of all environments from their next episodes on.

        Raises
        ------
        UnknownOptionError, InvalidOptionError
            For a name that is no level option, or a value that cannot be used; nothing
            has changed then.
        UnsupportedError
            If the environments have no level options.
        """
        raise NotImplementedError

    def reset_infos(self, env_ids: NDArray[np.int64]) -> AnyInfos:
        """Return the infos of the last resets of some environments.

        Returns
        -------
        dict of (m,) arrays, list of m dicts, or parts of these
            A dict, a list or parts, as the infos of `step`.
        """
        raise NotImplementedError

    def check_actions(self, actions: Any, skip_mask: NDArray[np.bool_]) -> Any:
        """Return the actions in the form that `step` takes.

        Raises
        ------
        InvalidActionError
            If the batch has the wrong shape or dtype, or an environment that is not
            skipped does not accept its action.
        """
        raise NotImplementedError

    def check_some(self, actions: Any, skip_mask: NDArray[np.bool_]) -> list[Any]:
        """Return m actions of some environments, in the form that `Steps` take.

        Parameters
        ----------
        actions : batch of m
        skip_mask : (m,) bool
            Environments whose actions are ignored.

        Raises
        ------
        InvalidActionError
        """
        self.check_actions(actions, skip_mask)
        return list(actions)

    def make_steps(self) -> Steps:
        """Return an object that begins steps of some environments."""
        return CalledSteps(self)

    def step(
        self,
        actions: Any,
        skip_mask: NDArray[np.bool_],
        begins: NDArray[np.int64] = NO_IDS,
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
            Those of them whose next episodes begin first, as by `advance`; ascending.
        """
        raise NotImplementedError

    def observe(self) -> Any:
        """Return a new batch of the observations of all environments."""
        raise NotImplementedError

    def observe_in_place(self) -> Any:
        """Return a batch of all observations that later steps may write into."""
        return self.observe()

    def observe_envs(self, env_ids: NDArray[np.int64]) -> list[Any]:
        """Return the observations of some environments, as single environments do."""
        raise NotImplementedError

    def frames(self, env_ids: NDArray[np.int64], mode: str) -> tuple[Any, ...]:
        """Return a rendered frame of each of some environments, in a render mode."""
        raise NotImplementedError

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
            If `set_state` could not take it; names the array and its problem.
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
            The ids ascending, each at most once.
        """
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

    def close(self) -> None:
        """End threads, processes and connections of the engine; may be called twice."""

    # --------------------------------------------------------- attributes

    def get_attribute(self, name: str) -> tuple[Any, ...]:
        """Return an attribute of each single environment.

        Raises
        ------
        AttributeError
            If it has no such attribute that can be read without a side effect.
        """
        raise NotImplementedError

    def find_attribute(
        self, name: str, known: Mapping[str, Sequence[Any]]
    ) -> tuple[Any, ...]:
        """Return an attribute of each environment, also one that the batch has.

        Parameters
        ----------
        name : str
        known : mapping from name to n values
            Attributes of environments that are no objects, such as their seeds.
        """
        return tuple(known[name]) if name in known else self.get_attribute(name)

    def call(
        self,
        name: str,
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
        known: Mapping[str, Sequence[Any]],
    ) -> tuple[Any, ...]:
        """Return an attribute of each environment, called if it is a method."""
        values = self.find_attribute(name, known)
        if not all(callable(value) for value in values):
            return values
        return tuple(value(*args, **kwargs) for value in values)

    def set_attribute(self, name: str, values: Sequence[Any]) -> None:  # noqa: ARG002
        """Set an attribute of each environment, also of objects that replace it.

        Raises
        ------
        FrozenAttributeError
            If environments are no objects.
        """
        advice = (
            "make a new environment, for instance "
            f"gymnasium.make_vec(id, num_envs={self.num_envs}, {name}=...)"
        )
        if name.startswith("np_random"):
            advice = "reset(seed=...) starts other streams"
        message = f"{name} cannot be set: {advice}"
        raise FrozenAttributeError(message)

    @property
    def snapshot_id(self) -> str:
        """The name of the environments in snapshots, where they have no id."""
        return type(self).__name__

    # ------------------------------------------------- faults and interrupts

    def become_part(self, first_env_id: int) -> None:
        """Note that the engine is a part of a larger batch, from this environment on.

        Its warnings count environments as the larger batch does, and it does not raise
        if none of its environments can be reset: others may.
        """

    def demand_reset(self) -> None:
        """Drop everything that was started; all environments must be reset."""

    def warn(self) -> None:
        """Give the warnings that were kept; a filter may raise."""

    def count_faults(self) -> tuple[NDArray[np.int64], dict[str, int]]:
        """Return the faults of each environment, (n,), and of each kind."""
        return np.zeros(self.num_envs, np.int64), {}

    # --------------------------------------------------------- many steps

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
