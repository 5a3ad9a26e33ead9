"""The environment under test, its instances, and the runs that all checks share."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import partial
from typing import Any, NamedTuple

import gymnasium
from gymnasium.vector import AutoresetMode, VectorEnv

from roll_vec.testing.comparison import observation_of
from roll_vec.testing.errors import (
    CallFailed,
    DoesNotApply,
    TimeLimitExceeded,
    describe_error,
    time_limit,
)
from roll_vec.testing.recorder import ActionPlan, Call, Recorder, Transition

# Three: one in the middle has neighbours on both sides.
NUM_ENVS = 3

_CLOSING_SECONDS = 10.0


class Attempt(NamedTuple):
    """The outcome of one attempt to make an instance."""

    call: str
    """The call, as a user would write it."""
    outcome: str
    """The error or the type of the result, in words."""
    env_type: type | None = None
    """The type of the result; None: an error."""
    mode: object = None
    """The autoreset mode in the metadata of the result."""

    @property
    def is_batch(self) -> bool:
        """True when the result is a vector environment."""
        return self.env_type is not None and issubclass(self.env_type, VectorEnv)


class Context:
    """The environment under test, and the state that the checks share.

    Parameters
    ----------
    id_or_factory : str or callable
        An id of `gymnasium.make_vec`, or a callable that takes `num_envs` and
        `autoreset_mode` and returns a vector environment.
    seed : int
        The first seed.
    steps : int
        Number of steps of the long runs.

    Attributes
    ----------
    is_id : bool
    name : str
        The environment as the caller would write it.
    attempts : dict of Attempt
        To make an instance in each autoreset mode, and for None without a mode.
    accepts_autoreset_mode : bool
    modes : tuple of AutoresetMode
        The modes to check.
    observation_space, action_space : Space
        Of a single environment; None before `explore`.
    plan : ActionPlan
        The actions of every environment.
    unstable_info_keys : set of tuple of str
        Paths of info keys whose dtype varies; comparisons leave them out.
    unsupported : set of str
        Codes of checks that failed and on which later ones depend.
    failed_closings : dict of str
        Errors of `close`, and the call that made the instance.
    has_ends : bool
        Whether an episode ended in a long run.
    warned : list of warnings.WarningMessage
        Warnings that contain a traceback.
    """

    observation_space: Any = None
    action_space: Any = None
    plan: ActionPlan

    def __init__(
        self, id_or_factory: str | Callable[..., Any], seed: int, steps: int
    ) -> None:
        self.seed, self.steps = seed, steps
        self.is_id = isinstance(id_or_factory, str)
        if isinstance(id_or_factory, str):
            self._factory: Callable[..., Any] = partial(
                gymnasium.make_vec, id_or_factory
            )
            self.name = f"make_vec({id_or_factory!r})"
        else:
            self._factory = id_or_factory
            name = getattr(id_or_factory, "__name__", repr(id_or_factory))
            self.name = "factory" if name == "<lambda>" else str(name)
        # Gymnasium's own vectorisers take their arguments in `vector_kwargs`, apart
        # from those of the environment.  The spec of an instance shows whether an id
        # is vectorised by them.
        self._uses_vector_kwargs = False
        self.attempts: dict[AutoresetMode | None, Attempt] = {}
        self.accepts_autoreset_mode = False
        self.modes: tuple[AutoresetMode, ...] = ()
        self.unstable_info_keys: set[tuple[str, ...]] = set()
        self.unsupported: set[str] = set()
        self.failed_closings: dict[str, str] = {}
        self.warned: list[Any] = []
        self.has_ends = False
        self._long_runs: dict[AutoresetMode, Recorder | CallFailed] = {}

    def explore(self) -> None:
        """Find out how to make instances, and in which autoreset modes."""
        for mode in (None, *AutoresetMode):
            keywords = {} if mode is None else {"autoreset_mode": mode}
            self.attempts[mode] = self._attempt(**keywords)
        # An instance that declares another mode is not checked as if it were in this.
        self.modes = tuple(
            mode
            for mode, attempt in self.attempts.items()
            if mode is not None
            and attempt.is_batch
            and (attempt.mode is mode or not isinstance(attempt.mode, AutoresetMode))
        )
        self.accepts_autoreset_mode = bool(self.modes)
        if not self.modes:
            default = self.attempts[None]
            if isinstance(default.mode, AutoresetMode):
                self.modes = (default.mode,)
            elif default.is_batch:
                self.modes = (AutoresetMode.NEXT_STEP,)
        self.plan = ActionPlan(self.action_space, self.seed)

    def _attempt(self, **kwargs: Any) -> Attempt:
        call = self._describe(NUM_ENVS, kwargs)
        try:
            with self._instance(NUM_ENVS, kwargs) as env:
                outcome = f"a {type(env).__qualname__}"
                if not isinstance(env, VectorEnv):
                    return Attempt(call, outcome, type(env))
                if self.is_id and not kwargs and env.unwrapped.spec is not None:
                    kind = env.unwrapped.spec.kwargs.get("vectorization_mode")
                    self._uses_vector_kwargs = kind in {"sync", "async"}
                for name in ("observation_space", "action_space"):
                    setattr(self, name, getattr(env, f"single_{name}", None))
                mode = env.metadata.get("autoreset_mode")
                return Attempt(call, outcome, type(env), mode)
        except CallFailed as failure:
            return Attempt(call, failure.text)
        except Exception as error:
            return Attempt(call, describe_error(error))

    def _describe(self, num_envs: int, kwargs: dict[str, Any]) -> str:
        """Return the call that makes an instance, as the caller would write it."""
        texts = [f"num_envs={num_envs}"]
        for key, value in kwargs.items():
            is_mode = isinstance(value, AutoresetMode)
            texts.append(f"{key}={value.name if is_mode else repr(value)}")
        start = f"{self.name[:-1]}, " if self.is_id else f"{self.name}("
        return f"{start}{', '.join(texts)})"

    @contextmanager
    def _instance(self, num_envs: int, kwargs: dict[str, Any]) -> Iterator[Any]:
        """Make an instance and close it at the end."""
        call = self._describe(num_envs, kwargs)
        if self._uses_vector_kwargs and "autoreset_mode" in kwargs:
            kwargs = dict(kwargs)
            mode = kwargs.pop("autoreset_mode")
            kwargs["vector_kwargs"] = {"autoreset_mode": mode}
        try:
            env = self._factory(num_envs=num_envs, **kwargs)
        except Exception as error:
            raise CallFailed(call, error) from error
        try:
            yield env
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

    @contextmanager
    def open(
        self,
        mode: AutoresetMode,
        sequences: Sequence[int] = range(NUM_ENVS),
        **kwargs: Any,
    ) -> Iterator[Recorder]:
        """Make an instance and its recorder, and close it at the end.

        Parameters
        ----------
        mode : AutoresetMode
            One of `modes`.
        sequences : sequence of int, optional
            The numbers of the sequences of actions, one an environment.
        **kwargs
            More arguments of the instance.
        """
        if self.accepts_autoreset_mode:
            kwargs = {"autoreset_mode": mode, **kwargs}
        call = self._describe(len(sequences), kwargs)
        with self._instance(len(sequences), kwargs) as env:
            yield Recorder(env, call, mode, self.plan, sequences)

    def require(self, slug: str) -> None:
        """Skip the check when the check `slug`, on which it depends, has failed."""
        if slug in self.unsupported:
            raise DoesNotApply

    def run(
        self,
        mode: AutoresetMode,
        steps: int,
        sequences: Sequence[int] = range(NUM_ENVS),
        *,
        explicit: bool = False,
    ) -> Recorder:
        """Reset a new instance with the seed, take `steps` steps at most, close it.

        The seed goes up by the number of the first sequence; see `Recorder` for the
        other parameters.
        """
        with self.open(mode, sequences) as recorder:
            recorder.reset(seed=self.seed + sequences[0])
            return recorder.run(min(steps, self.steps), explicit=explicit)

    def long_run(self, mode: AutoresetMode) -> list[Call]:
        """Return the calls of the long run in `mode`, which all checks share."""
        if mode not in self._long_runs:
            try:
                run = self._long_runs[mode] = self.run(mode, self.steps)
                self.has_ends |= any(call.dones.any() for call in run.calls)
            except CallFailed as failure:
                self._long_runs[mode] = failure
        recorder = self._long_runs[mode]
        if isinstance(recorder, CallFailed):
            raise recorder
        return recorder.calls

    def require_ends(self, mode: AutoresetMode) -> None:
        """Skip the check when no episode ended in the long run."""
        if not any(call.dones.any() for call in self.long_run(mode)):
            raise DoesNotApply

    def episodes(self, calls: Sequence[Call]) -> list[list[Transition]]:
        """Return the resets and steps of each environment in a recorder's calls."""
        recorder = calls[0].recorder
        rest = self.observation_space, self.unstable_info_keys
        envs = range(len(recorder.sequences))
        return [[*recorder.transitions(calls, env, *rest)] for env in envs]

    def observation(self, call: Call, env: int) -> Any:
        """Return the observation of environment `env` in a call."""
        return observation_of(self.observation_space, call.observations, env)
