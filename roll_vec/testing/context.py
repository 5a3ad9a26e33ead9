"""The environment under test, its instances, and the runs that all checks share."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import cached_property
from typing import Any, TypeVar

import gymnasium
from gymnasium import spaces
from gymnasium.vector import AutoresetMode, VectorEnv

from roll_vec.testing.errors import (
    CallFailed,
    DoesNotApply,
    TimeLimitExceeded,
    describe_error,
    skip,
    time_limit,
)
from roll_vec.testing.recorder import (
    ActionPlan,
    Probe,
    Recorder,
    Transition,
    trajectories,
    trajectory_difference,
)

# Three: one in the middle has neighbours on both sides.
NUM_ENVS = 3

_CLOSING_SECONDS = 10.0
_Result = TypeVar("_Result")


class Maker:
    """Makes fresh instances of the environment under test.

    Parameters
    ----------
    id_or_factory : str or callable
        An id of `gymnasium.make_vec`, or a callable that takes `num_envs` and
        `autoreset_mode` and returns a vector environment.
    """

    def __init__(self, id_or_factory: str | Callable[..., Any]) -> None:
        self._source = id_or_factory
        self.is_id = isinstance(id_or_factory, str)
        # Gymnasium's own vectorisers take their arguments in `vector_kwargs`, apart
        # from those of the environment.  The spec of an instance shows whether an id
        # is vectorised by them.
        self._uses_vector_kwargs = False

    @property
    def name(self) -> str:
        """The environment as the caller would write it."""
        if self.is_id:
            return f"make_vec({self._source!r})"
        name = getattr(self._source, "__name__", repr(self._source))
        return "factory" if name == "<lambda>" else str(name)

    def describe(self, num_envs: int, **kwargs: Any) -> str:
        """Return the call of `make` as the caller would write it."""
        arguments = [repr(self._source)] if self.is_id else []
        arguments.append(f"num_envs={num_envs}")
        for key, value in kwargs.items():
            text = value.name if isinstance(value, AutoresetMode) else repr(value)
            arguments.append(f"{key}={text}")
        function = "make_vec" if self.is_id else self.name
        return f"{function}({', '.join(arguments)})"

    def make(self, num_envs: int, **kwargs: Any) -> Any:
        """Make an instance; `kwargs` are autoreset_mode and render_mode at most."""
        if callable(self._source):
            return self._source(num_envs=num_envs, **kwargs)
        if self._uses_vector_kwargs and "autoreset_mode" in kwargs:
            kwargs["vector_kwargs"] = {"autoreset_mode": kwargs.pop("autoreset_mode")}
        return gymnasium.make_vec(self._source, num_envs=num_envs, **kwargs)

    def learn_from(self, env: VectorEnv[Any, Any, Any]) -> None:
        """Learn from a default instance how to pass arguments to the next one."""
        spec = env.unwrapped.spec
        mode = spec.kwargs.get("vectorization_mode") if spec is not None else None
        self._uses_vector_kwargs = self.is_id and mode in {"sync", "async"}


@dataclass(frozen=True)
class Attempt:
    """The outcome of one attempt to make an instance.

    Parameters
    ----------
    call : str
        The call, as a user would write it.
    error : Exception or None
        The error that it raised.
    env_type : type or None
        The type of its result.
    declared_mode : object
        The autoreset mode in the metadata of its result.
    """

    call: str
    error: Exception | None = None
    env_type: type | None = None
    declared_mode: object = None

    @property
    def is_vector_env(self) -> bool:
        """True when the result is a vector environment."""
        return self.env_type is not None and issubclass(self.env_type, VectorEnv)

    @property
    def outcome(self) -> str:
        """The error or the type of the result, in words."""
        if self.error is not None:
            return describe_error(self.error)
        return f"a {self.env_type.__qualname__}" if self.env_type else "nothing"


class Context:
    """The environment under test, and the state that the checks share.

    Parameters
    ----------
    maker : Maker
    seed : int
        The first seed.
    steps : int
        Number of steps of the long runs.

    Attributes
    ----------
    default : Attempt or None
        To make an instance without an autoreset mode; None: not tried.
    attempts : dict of Attempt
        To make an instance in each autoreset mode.
    accepts_autoreset_mode : bool
    modes : tuple of AutoresetMode
        The modes to check.
    unstable_info_keys : frozenset of tuple of str
        Paths of info keys whose dtype varies; comparisons leave them out.
    unsupported : set of str
        Codes of checks that failed and on which later ones depend.
    failed_closings : dict of str
        Errors of `close`, and the call that made the instance.
    tracebacks : list of str
        Texts of warnings that contain a traceback.
    """

    def __init__(self, maker: Maker, seed: int, steps: int) -> None:
        self.maker, self.seed, self.steps = maker, seed, steps
        self.default: Attempt | None = None
        self.attempts: dict[AutoresetMode, Attempt] = {}
        self.accepts_autoreset_mode = False
        self.modes: tuple[AutoresetMode, ...] = ()
        self.unstable_info_keys: frozenset[tuple[str, ...]] = frozenset()
        self.unsupported: set[str] = set()
        self.failed_closings: dict[str, str] = {}
        self.tracebacks: list[str] = []
        self._cache: dict[Any, Any] = {}

    def explore(self) -> None:
        """Find out how to make instances, and in which autoreset modes."""
        if self.maker.is_id:
            self.default = self._attempt()
        for mode in AutoresetMode:
            self.attempts[mode] = self._attempt(autoreset_mode=mode)
        # An instance that declares another mode is not checked as if it were in this.
        self.modes = tuple(
            mode
            for mode, attempt in self.attempts.items()
            if attempt.is_vector_env
            and (
                attempt.declared_mode is mode
                or not isinstance(attempt.declared_mode, AutoresetMode)
            )
        )
        self.accepts_autoreset_mode = bool(self.modes)
        if self.accepts_autoreset_mode:
            return
        if self.default is None:
            self.default = self._attempt()
        declared_mode = self.default.declared_mode
        if isinstance(declared_mode, AutoresetMode):
            self.modes = (declared_mode,)
        elif self.default.is_vector_env:
            self.modes = (AutoresetMode.NEXT_STEP,)

    def all_attempts(self) -> list[Attempt]:
        """Return all attempts of `explore`."""
        first = [] if self.default is None else [self.default]
        return [*first, *self.attempts.values()]

    def _attempt(self, **kwargs: Any) -> Attempt:
        call = self.maker.describe(NUM_ENVS, **kwargs)
        try:
            env = self.maker.make(NUM_ENVS, **kwargs)
        except Exception as error:
            return Attempt(call, error)
        try:
            if not isinstance(env, VectorEnv):
                return Attempt(call, env_type=type(env))
            if not kwargs:
                self.maker.learn_from(env)
            mode = env.metadata.get("autoreset_mode")
            return Attempt(call, env_type=type(env), declared_mode=mode)
        except Exception as error:
            return Attempt(call, error)
        finally:
            self._close(env, call)

    @contextmanager
    def open(
        self, mode: AutoresetMode | None, num_envs: int = NUM_ENVS, **kwargs: Any
    ) -> Iterator[Probe]:
        """Make an instance and close it at the end.

        Parameters
        ----------
        mode : AutoresetMode or None
            One of `modes`.
        num_envs : int
        **kwargs
            More arguments; only render_mode is used.
        """
        if mode is not None and self.accepts_autoreset_mode:
            kwargs["autoreset_mode"] = mode
        call = self.maker.describe(num_envs, **kwargs)
        try:
            env = self.maker.make(num_envs, **kwargs)
        except Exception as error:
            raise CallFailed(call, error) from error
        try:
            yield Probe(env, call, num_envs)
        finally:
            self._close(env, call)

    def _close(self, env: Any, call: str) -> None:
        if not hasattr(env, "close"):
            return
        try:
            with time_limit(_CLOSING_SECONDS):
                env.close()
        except Exception as error:
            self.failed_closings.setdefault(describe_error(error), call)
        except TimeLimitExceeded:
            # AsyncVectorEnv takes the argument; its workers would outlive the check.
            late = Exception, TimeLimitExceeded
            with suppress(*late), time_limit(_CLOSING_SECONDS):
                env.close(terminate=True)
            raise

    def require(self, slug: str) -> None:
        """Skip the check when the check `slug`, on which it depends, has failed."""
        if slug in self.unsupported:
            skip(f"it needs the rule of [{slug}] to hold")

    def compute_once(self, key: Any, make: Callable[[], _Result]) -> _Result:
        """Return the result of the first `make` for this key, or raise its error."""
        if key not in self._cache:
            try:
                self._cache[key] = (make(), None)
            except (CallFailed, DoesNotApply) as error:
                self._cache[key] = (None, error)
        value, failure = self._cache[key]
        if failure is not None:
            raise failure
        return value  # type: ignore[no-any-return]

    @cached_property
    def _spaces(self) -> tuple[spaces.Space[Any], spaces.Space[Any]]:
        with self.open(self.modes[0]) as probe:
            return probe.env.single_observation_space, probe.env.single_action_space

    @property
    def observation_space(self) -> spaces.Space[Any]:
        """The observation space of a single environment."""
        return self._spaces[0]

    @property
    def action_space(self) -> spaces.Space[Any]:
        """The action space of a single environment."""
        return self._spaces[1]

    @cached_property
    def plan(self) -> ActionPlan:
        """The actions of every environment."""
        return ActionPlan(self.action_space, self.seed)

    @contextmanager
    def recorder(
        self, mode: AutoresetMode, sequences: Sequence[int] | None = None, **kwargs: Any
    ) -> Iterator[Recorder]:
        """Make an instance and its recorder, which has not reset it yet.

        Parameters
        ----------
        mode : AutoresetMode
            One of `modes`.
        sequences : sequence of int, optional
            The numbers of the sequences of actions, one an environment; by default
            those of `NUM_ENVS` environments.
        **kwargs
            Passed to `Recorder`.
        """
        numbers = list(range(NUM_ENVS) if sequences is None else sequences)
        with self.open(mode, len(numbers)) as probe:
            yield Recorder(probe, mode, self.plan, numbers, **kwargs)

    def run(
        self,
        mode: AutoresetMode,
        steps: int,
        sequences: Sequence[int] | None = None,
        *,
        explicit: bool = False,
        **kwargs: Any,
    ) -> Recorder:
        """Reset a new instance with the seed, take `steps` steps at most, close it.

        The seed goes up by the number of the first sequence; see `Recorder.run`
        for `explicit` and `recorder` for the rest.
        """
        first = 0 if sequences is None else sequences[0]
        with self.recorder(mode, sequences, **kwargs) as recorder:
            recorder.reset(seed=self.seed + first)
            return recorder.run(min(steps, self.steps), explicit=explicit)

    def long_run(self, mode: AutoresetMode) -> Recorder:
        """Return the recorder of the long run in `mode`, which all checks share."""
        key = "long run", mode
        return self.compute_once(key, lambda: self.run(mode, self.steps))

    def trajectories(self, recorder: Recorder) -> list[list[Transition]]:
        """Return the trajectory of each environment of `recorder`."""
        return trajectories(recorder, self.observation_space)

    def trajectory_difference(
        self, left: Sequence[Transition], right: Sequence[Transition]
    ) -> tuple[int, str] | None:
        """Compare two trajectories, leaving out `unstable_info_keys`."""
        return trajectory_difference(left, right, self.unstable_info_keys)

    def any_episode_ended(self) -> bool:
        """Return whether an episode ended in any long run."""
        return any(
            call.dones.any()
            for key, (recorder, _) in self._cache.items()
            if key[0] == "long run" and recorder is not None
            for call in recorder.calls
        )
