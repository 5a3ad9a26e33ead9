"""The description of an environment object, by which pools exchange snapshots."""

from __future__ import annotations

import functools
import inspect
import os
from typing import Any

import gymnasium

from roll_vec.base_envs import SeededEnv
from roll_vec.errors import InvalidOptionError
from roll_vec.options import describe_value
from roll_vec.pool.factories import parameters_of
from roll_vec.storage.data_files import check_path, fingerprint

# Keywords that change nothing but pictures.
_WITHOUT_EFFECT = ("render_mode",)
_EMPTY = inspect.Parameter.empty


def describe_env(env: gymnasium.Env[Any, Any]) -> dict[str, Any]:
    """Return class, wrappers and keywords of an environment, as `json` writes them.

    Returns
    -------
    dict
        ``class``, and ``wrappers`` from the outermost: ``module:name`` of each.
        ``keywords``: those of its spec, with the constructor's defaults; for a data
        file its SHA-256.  An environment without a spec has none: it is its function's
        own affair that it builds equal environments.
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
    names = [name for name in parameters if parameters[name].default is not _EMPTY]
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
