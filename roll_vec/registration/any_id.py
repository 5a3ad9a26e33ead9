"""Environments and batches of any registered id; each error is one line."""

from __future__ import annotations

import importlib
import re
import sys
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from types import ModuleType
from typing import Any, TypeVar

import gymnasium
from gymnasium.envs.registration import EnvSpec, load_env_creator
from gymnasium.vector import AutoresetMode, VectorEnv

from roll_vec.errors import (
    InvalidOptionError,
    MissingExtraError,
    UnknownOptionError,
    one_line,
)
from roll_vec.options import close_match
from roll_vec.registration import ENVIRONMENTS

_Env = TypeVar("_Env")


class SetupError(InvalidOptionError):
    """Raised when the environments of a run, or of a command, cannot be made here."""

    docs = ""


def import_from_here(name: str) -> ModuleType:
    """Import a module, from the working directory first, as ``python -m`` does.

    The directory stays at the end of the path: worker processes get the path and have
    to find the module, too. All errors of the module are raised.
    """
    sys.path.insert(0, "")
    try:
        module = importlib.import_module(name)
    finally:
        sys.path.remove("")
    search_here()
    return module


def search_here() -> None:
    """Let modules of the working directory be imported, after all others."""
    here = str(Path.cwd())
    if here not in sys.path:
        sys.path.append(here)


def full_id(env_id: str) -> str:
    """Return an id with its version; where none is given, the newest.

    Raises
    ------
    SetupError
        Nothing is registered by that name, or the module before its colon cannot be
        imported.
    """
    module, colon, name = env_id.rpartition(":")
    if module:
        import_module(module)
    if name in gymnasium.registry:
        return env_id
    versions = [id for id in gymnasium.registry if id == f"{name}-v{_version(id)}"]
    if not versions:
        raise SetupError(_unknown_id(env_id, name))
    return f"{module}{colon}{max(versions, key=_version)}"


def find_spec(env_id: str) -> EnvSpec:
    """Return the registered specification of an id; errors as `full_id`."""
    return gymnasium.spec(full_id(env_id).rpartition(":")[2])


def _unknown_id(env_id: str, name: str) -> str:
    """Return the message about an id that is not registered."""
    namespace, _, bare = name.rpartition("/")
    # The dict below keeps the last of several ids with one name: the newest of this
    # package, if it has one.
    ids = sorted(
        gymnasium.registry,
        key=lambda id: (id in ENVIRONMENTS, "/" not in id, _version(id)),
    )
    ids = [id for id in ids if id.startswith(f"{namespace}/")] or ids
    by_name = {_bare_name(id): id for id in ids}
    match = close_match(_bare_name(bare), by_name)
    advice = "" if match is None else f"; did you mean {by_name[match]}?"
    return f"there is no environment {env_id}{advice} (see roll-vec envs)"


def _version(env_id: str) -> int:
    """Return the version of an id; -1 where it has none."""
    match = re.search(r"-v(\d+)$", env_id)
    return -1 if match is None else int(match[1])


def _bare_name(env_id: str) -> str:
    """Return an id without its namespace and version."""
    return re.sub(r"-v\d+$", "", env_id.rpartition("/")[2])


def import_module(name: str) -> None:
    """Import a module that registers environments.

    Raises
    ------
    SetupError
        It cannot be imported.
    """
    try:
        import_from_here(name)
    except Exception as error:
        # A module of the user's may raise anything while it is imported.
        message = f"cannot import {name}: {one_line(error)}"
        raise SetupError(message) from error


def is_pooled(spec: EnvSpec) -> bool:
    """Return whether a batch of an id is a pool of this package."""
    return spec.id in ENVIRONMENTS and ENVIRONMENTS[spec.id].pooled


def make_vector(
    env_id: str,
    num_envs: int,
    *,
    options: Mapping[str, Any],
    autoreset: AutoresetMode = AutoresetMode.NEXT_STEP,
    render_mode: str | None = None,
) -> VectorEnv[Any, Any, Any]:
    """Return a batch of this package; of other ids gymnasium's SyncVectorEnv.

    An id with nothing but a vector entry point has that one.  A render mode that the
    environment refuses is left out: look at ``env.render_mode``.

    Parameters
    ----------
    env_id : str
        A registered id.
    num_envs : int
    options : mapping
        Keywords of the environment.
    autoreset : AutoresetMode
    render_mode : str, optional

    Raises
    ------
    SetupError
        The environment refuses a keyword, or the id is unknown.
    """
    spec = find_spec(env_id)
    is_ours, keywords = spec.id in ENVIRONMENTS, dict(options)
    if is_ours:
        keywords["autoreset_mode"] = autoreset
    elif spec.entry_point is not None:
        keywords["vectorization_mode"] = "sync"
        keywords["vector_kwargs"] = {"autoreset_mode": autoreset}

    def make(**more: Any) -> VectorEnv[Any, Any, Any]:
        return gymnasium.make_vec(spec, num_envs=num_envs, **keywords, **more)

    modes = render_modes(spec)
    can_render = modes is None or render_mode in modes
    env = make_or_refuse(env_id, make, render_mode if can_render else None)
    if mode_of(env) is not autoreset:
        env.close()
        message = f"autoreset_mode: {env_id} can only do {mode_of(env).value}"
        raise SetupError(message)
    return env


def mode_of(env: VectorEnv[Any, Any, Any]) -> AutoresetMode:
    """Return the autoreset mode that a vector environment declares."""
    return AutoresetMode(env.metadata.get("autoreset_mode", AutoresetMode.NEXT_STEP))


def load_class(spec: EnvSpec) -> Any:
    """Return the class, or other entry point, of an id; None if it cannot be loaded."""
    # Making the environment fails likewise, and says why.
    with suppress(Exception):
        if spec.id in ENVIRONMENTS:
            return ENVIRONMENTS[spec.id].load()
        if isinstance(spec.entry_point, str):
            return load_env_creator(spec.entry_point)
        return spec.entry_point
    return None


def action_names(get: Callable[[str], Any]) -> dict[int, str]:
    """Return the names of integer actions, by their codes; empty: they have none.

    Parameters
    ----------
    get : callable
        From the name of an attribute of an environment to its value.
    """
    # Array environments, and those of a user's class.
    for attribute in ("action_lookup", "ACTION_LOOKUP"):
        # A pool of a user's objects may raise anything for a missing attribute.
        with suppress(Exception):
            if names := dict(get(attribute)):
                return {int(code): str(name) for code, name in names.items()}
    return {}


def render_modes(spec: EnvSpec) -> list[str] | None:
    """Return the render modes that an id's class declares; None: unknown."""
    metadata = getattr(load_class(spec), "metadata", None) or {}
    return metadata.get("render_modes")


def make_or_refuse(
    env_id: str, make: Callable[..., _Env], render_mode: str | None = None
) -> _Env:
    """Return the result of `make`, with the render mode unless that is refused.

    Raises
    ------
    SetupError
        With an exception of ``make`` as one line for the user.
    """
    if render_mode is not None:
        # If this fails, the call below shows whether only the render mode is wrong.
        with suppress(Exception):
            return make(render_mode=render_mode)
    try:
        return make()
    except (SetupError, MissingExtraError):
        raise
    except Exception as error:
        # The keywords are the user's: the constructor's own words are the answer.
        is_option = isinstance(error, (InvalidOptionError, UnknownOptionError))
        advice = f" (see roll-vec info {env_id})" if is_option else ""
        message = f"{env_id}: {one_line(error)}{advice}"
        raise SetupError(message) from error
