"""Operations on the environment objects, the same in every kind of worker.

The calling thread, a worker thread and a worker process each have an `EnvRunner`.  It
runs tasks, and returns an exception of an environment as a `Fault` of that task.
"""

from __future__ import annotations

import functools
import inspect
import os
import pickle
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from typing import Any

import gymnasium
import numpy as np
from gymnasium.utils import EzPickle

from roll_vec.errors import InvalidOptionError, UnsupportedError
from roll_vec.objects.base_envs import SeededEnv
from roll_vec.objects.methods import find_method
from roll_vec.objects.results import split_reset, split_step
from roll_vec.objects.states import (
    get_env_state,
    set_env_state,
    supports_state,
)
from roll_vec.options import describe_value
from roll_vec.pool.factories import parameters_of
from roll_vec.pool.tasks import (
    EnvDescription,
    EnvFnsById,
    ResetRequest,
    StateRequest,
    StepValues,
    Task,
    exception_fault,
)
from roll_vec.seeding import episode_seed
from roll_vec.storage.data_files import check_path, fingerprint
from roll_vec.vector.values import LOST, PICKLED_ENV, from_bytes, to_bytes

# Operations that need no object; the result of others is None where it was lost.
_WITHOUT_OBJECT = ("build", "place", "reset", "set_state")

# Keywords that change nothing but pictures.
_WITHOUT_EFFECT = ("render_mode",)


def check_step(result: Any) -> StepValues:
    """Return the five values of `step`, as Python's types except the observation.

    Raises
    ------
    TypeError
        If it is not five values of the right kinds.
    """
    observation, reward, terminated, truncated, info = split_step(result)
    if np.ndim(reward) or np.asarray(reward).dtype.kind not in "biuf":
        message = f"step returned the reward {reward!r}, expected a number"
        raise TypeError(message)
    return observation, float(reward), bool(terminated), bool(truncated), dict(info)


class EnvRunner:
    """Some environment objects of the pool, and the operations on them.

    Parameters
    ----------
    env_fns : mapping of int to callable
        Constructors of the environments, by environment.
    in_caller : bool
        Whether this runs in the thread of the caller, where a KeyboardInterrupt is
        Ctrl-C and not a fault.
    on_seed : callable or None
        Called before a reset with its seed, if it has one, or if a new object begins
        the episode of a known seed.

    Attributes
    ----------
    envs : dict of int to Env
        The environment objects; one that was lost has no entry.
    """

    def __init__(
        self,
        env_fns: EnvFnsById,
        *,
        in_caller: bool = False,
        on_seed: Callable[[int], None] | None = None,
    ) -> None:
        self.env_fns = env_fns
        self.envs: dict[int, gymnasium.Env[Any, Any]] = {}
        self._interrupts = KeyboardInterrupt if in_caller else ()
        self._on_seed = on_seed

    def run(self, task: Task) -> Any:
        """Return the result of a task, or its `Fault`."""
        env_id, operation, argument = task
        return self.run_all(operation, (env_id,), (argument,))[0]

    def run_all(
        self, operation: str, env_ids: Sequence[int], arguments: Sequence[Any]
    ) -> list[Any]:
        """Run tasks one after the other.

        Parameters
        ----------
        operation : str
            ``step``, or the name of a method below.
        env_ids, arguments : sequence
            The environments, and an argument for each.

        Returns
        -------
        list
            The result of each, the `Fault` of one that failed.
        """
        values: list[Any] = []
        envs, is_step = self.envs, operation == "step"
        value: Any
        for env_id, argument in zip(env_ids, arguments, strict=True):
            try:
                if is_step:
                    value = envs[env_id].step(argument)
                    # What most environments return needs no call of ours.
                    if type(value) is not tuple or len(value) != 5:
                        value = check_step(value)
                    _, reward, terminated, truncated, info = value
                    if not (
                        type(reward) is float
                        and type(terminated) is type(truncated) is bool
                        and type(info) is dict
                    ):
                        value = check_step(value)
                elif env_id in envs or operation in _WITHOUT_OBJECT:
                    value = getattr(self, operation)(env_id, argument)
                else:
                    value = None
            except self._interrupts:
                raise
            except BaseException as error:
                value = exception_fault(operation, error)
            values.append(value)
        return values

    # ------------------------------------------------------ the operations

    def build(self, env_id: int, _: None = None) -> EnvDescription:
        """Close the environment object, if there is one, and build a new one."""
        self.close(env_id)
        env = self.envs[env_id] = self.env_fns[env_id]()
        bare = env.unwrapped
        # Both names: an environment of others may have another method `resume`.
        can_resume = hasattr(bare, "resume") and hasattr(bare, "level_seed")
        if can_resume:
            # Load numba and the kernel of seeds now: in the first autoreset this may
            # take longer than the time limit.
            episode_seed(0, 1)
        return EnvDescription(
            env.observation_space,
            env.action_space,
            dict(env.metadata),
            env.render_mode,
            can_resume,
            can_resume and bare.level_seed is None,  # type: ignore[attr-defined]
            bool(getattr(bare, "accepts_noop", False)),
            describe_env(env),
        )

    def _build_with(self, env_id: int, attributes: Mapping[str, Any]) -> None:
        """Build a new environment object and set its attributes."""
        self.build(env_id)
        for item in attributes.items():
            self.set(env_id, item)

    def fetch(self, env_id: int, _: None = None) -> bytes:
        """Return the environment object, pickled, for `place` in another pool."""
        return pickle.dumps(self.envs[env_id])

    def place(self, env_id: int, env: Any) -> None:
        """Use an environment object, or a pickled one; None: it was lost."""
        if env is not None:
            self.envs[env_id] = pickle.loads(env) if isinstance(env, bytes) else env

    def get_state(self, env_id: int, _: None = None) -> bytes:
        """Return the state of an environment object, see `roll_vec.vector.values`.

        It is the first of these that the environment allows: its `get_state`, as
        plain data; the same, pickled; the whole object, pickled.

        Raises
        ------
        UnsupportedError
            If there is no way that keeps its state.
        """
        env = self.envs[env_id]
        if supports_state(env):
            state = get_env_state(env)
            # It may hold what cannot be pickled, and the object drop that.
            with suppress(Exception):
                return to_bytes(state)
        try:
            _check_pickle(env)
            return PICKLED_ENV + pickle.dumps(env)
        except Exception as error:
            cls = type(env.unwrapped).__name__
            message = (
                f"get_state: environment {env_id} ({cls}) has no get_state and "
                f"set_state, and cannot be pickled: {type(error).__name__}: {error}; "
                f"give {cls} both methods"
            )
            raise UnsupportedError(message) from None

    def set_state(self, env_id: int, request: StateRequest) -> None:
        """Bring an environment object into the state of a snapshot.

        A state goes into a new object if there is none, or if the request says so.
        """
        content = request.content
        if content[:1] == PICKLED_ENV:
            env = pickle.loads(content[1:])
            self.close(env_id)
            self.envs[env_id] = env
        elif content == LOST:
            self.close(env_id)
        else:
            state = from_bytes(content)
            if request.replace_env or env_id not in self.envs:
                self._build_with(env_id, request.attributes)
            set_env_state(self.envs[env_id], state)

    def reset(self, env_id: int, request: ResetRequest) -> tuple[Any, dict[str, Any]]:
        """Begin an episode; return observation and info."""
        if self._on_seed is not None:
            if request.seed is not None:
                self._on_seed(request.seed)
            elif request.replace_env and request.position is not None:
                self._on_seed(episode_seed(*request.position))
        if request.replace_env:
            self._build_with(env_id, request.attributes)
        env = self.envs[env_id]
        if request.replace_env and request.position is not None:
            env.unwrapped.resume(*request.position)  # type: ignore[attr-defined]
        if request.is_autoreset and request.seed is None:
            result: Any = env.reset()
        else:
            result = env.reset(seed=request.seed, options=request.options)
        observation, info = split_reset(result)
        return observation, dict(info)

    def call(self, env_id: int, name_and_arguments: tuple[str, Any, Any]) -> Any:
        """Return an attribute, or the result of a method."""
        name, args, kwargs = name_and_arguments
        value = self.envs[env_id].get_wrapper_attr(name)
        return value(*args, **kwargs) if callable(value) else value

    def set(self, env_id: int, item: tuple[str, Any]) -> None:
        """Set an attribute of the environment object."""
        self.envs[env_id].set_wrapper_attr(*item)

    def solve(self, env_id: int, _: None = None) -> Any:
        """Return the solution that the environment knows."""
        return find_method(self.envs[env_id], "solve", "returns its solution")()

    def close(self, env_id: int, _: None = None) -> None:
        """Close an environment object; exceptions of its `close` are ignored.

        Raises
        ------
        KeyboardInterrupt
            In the thread of the caller.
        """
        env = self.envs.pop(env_id, None)
        if env is not None:
            try:
                env.close()
            except self._interrupts:
                raise
            except BaseException:
                pass

    def close_all(self) -> None:
        """Close all environment objects; an interrupt, as of `close`, ends this."""
        for env_id in list(self.envs):
            self.close(env_id)


def describe_env(env: gymnasium.Env[Any, Any]) -> dict[str, Any]:
    """Return class, wrappers and keywords of an environment, as `json` writes them.

    Pools whose environments have equal descriptions can exchange snapshots.

    Returns
    -------
    dict
        ``class``, and ``wrappers`` from the outermost: ``module:name`` of each.
        ``keywords``: those of its spec, with the constructor's defaults; for a data
        file its SHA-256.  An environment without a spec has none: its
        function must build equal environments.
    """
    wrappers: list[str] = []
    layer: Any = env
    while isinstance(layer, gymnasium.Wrapper):
        wrappers.append(_name_of(type(layer)))
        layer = layer.env
    keywords: dict[str, Any] | None = None
    spec = layer.spec
    if spec is not None:
        cls: Any = type(layer)
        keywords = {**_defaults_of(cls), **spec.kwargs}
        keywords = {
            name: _describe_keyword(layer, name, value)
            for name, value in sorted(keywords.items())
            if name not in _WITHOUT_EFFECT
        }
    return {"class": _name_of(type(layer)), "wrappers": wrappers, "keywords": keywords}


def _name_of(cls: type) -> str:
    return f"{cls.__module__}:{cls.__qualname__}"


@functools.lru_cache(maxsize=256)
def _defaults_of(cls: type[Any]) -> dict[str, Any]:
    """Return the default values of all keywords; not to be changed."""
    parameters = parameters_of(cls)
    names = [
        name
        for name in parameters
        if parameters[name].default is not inspect.Parameter.empty
    ]
    return {name: parameters[name].default for name in names}


def _describe_keyword(env: gymnasium.Env[Any, Any], name: str, value: Any) -> Any:
    files = env.DATA_FILES if isinstance(env, SeededEnv) else ()
    if name in files and isinstance(value, (str, os.PathLike)):
        try:
            path = str(check_path(name, value))
            return {"sha256": fingerprint(name, path)}
        except InvalidOptionError:
            return None  # the environment writes it itself
    return describe_value(value)


def _check_pickle(env: gymnasium.Env[Any, Any]) -> None:
    """Refuse a layer whose pickle is only the arguments of its constructor.

    Raises
    ------
    TypeError
    """
    layer: Any = env
    while layer is not None:
        if (
            isinstance(layer, EzPickle)
            and type(layer).__getstate__ is EzPickle.__getstate__
        ):
            message = f"{type(layer).__name__} is pickled without its state"
            raise TypeError(message)
        layer = layer.env if isinstance(layer, gymnasium.Wrapper) else None
