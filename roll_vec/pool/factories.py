"""Factories of pooled environments: check the keywords, make one, wrap it for text."""

from __future__ import annotations

import inspect
import os
from collections.abc import Iterable, Mapping
from typing import Any

import gymnasium
from gymnasium.envs.registration import EnvSpec

from roll_vec.errors import InvalidOptionError
from roll_vec.objects.base_envs import BaseDiscreteActionEnv, BaseLanguageBasedEnv
from roll_vec.options import check_choice, check_unknown, keywords_of
from roll_vec.storage.data_files import check_path
from roll_vec.text.options import ACTION_MODES, TextOptions
from roll_vec.text.wrapper import TextWrapper


def _text_parameters(cls: type[Any]) -> dict[str, inspect.Parameter]:
    """Return the keywords of `TextWrapper` that environments of a class accept."""
    parameters = {}
    if issubclass(cls, (BaseLanguageBasedEnv, BaseDiscreteActionEnv)):
        parameters = dict(keywords_of(TextOptions))
    if issubclass(cls, BaseLanguageBasedEnv):
        # Without names a text cannot have several actions.
        for name in ("action_separator", "max_actions_per_turn"):
            del parameters[name]
    if issubclass(cls, BaseDiscreteActionEnv):
        parameters["action_mode"] = inspect.Parameter(
            "action_mode", inspect.Parameter.KEYWORD_ONLY, default=ACTION_MODES[0]
        )
    of_class = keywords_of(cls)
    return {name: one for name, one in parameters.items() if name not in of_class}


def parameters_of(cls: type[Any]) -> dict[str, inspect.Parameter]:
    """Return all keywords of environments of a class, with those of text."""
    variadic = (inspect.Parameter.VAR_KEYWORD, inspect.Parameter.VAR_POSITIONAL)
    parameters = keywords_of(cls).items()
    named = {name: one for name, one in parameters if one.kind not in variadic}
    return named | _text_parameters(cls)


def check_keywords(
    cls: type[Any],
    keywords: Mapping[str, Any],
    others: Iterable[str] = (),
) -> dict[str, Any]:
    """Return the keywords that `build` accepts.

    Parameters
    ----------
    cls : class
    keywords : mapping
        A ``render_mode`` of None is left out if the class has no render mode.
    others : iterable of str
        More keywords for the list in the message.

    Raises
    ------
    UnknownOptionError
        If neither the class nor `TextWrapper` has a keyword.
    """
    keywords = dict(keywords)
    if any(p.kind is p.VAR_KEYWORD for p in keywords_of(cls).values()):
        return keywords
    names = parameters_of(cls)
    if keywords.get("render_mode", 0) is None and "render_mode" not in names:
        del keywords["render_mode"]
    check_unknown(keywords, {*names, *others})
    return keywords


def parse_text_options(
    cls: type[Any], keywords: Mapping[str, Any]
) -> TextOptions | None:
    """Return the options of `TextWrapper`; None if the class acts without text.

    Raises
    ------
    InvalidOptionError
    """
    names = _text_parameters(cls)
    options = {name: keywords[name] for name in keywords if name in names}
    mode = options.pop("action_mode", ACTION_MODES[0])
    check_choice("action_mode", mode, ACTION_MODES)
    text_options = TextOptions(**options)
    if issubclass(cls, BaseLanguageBasedEnv) or mode == "text":
        return text_options
    if text_options != TextOptions():
        message = (
            f"{', '.join(name for name in names if name in options)}: have a meaning "
            "with action_mode='text' alone"
        )
        raise InvalidOptionError(message)
    return None


def build(
    cls: type[Any], keywords: Mapping[str, Any], spec: EnvSpec | None = None
) -> gymnasium.Env[Any, Any]:
    """Make one environment, in a `TextWrapper` if it acts by text.

    Parameters
    ----------
    cls : class
    keywords : mapping
        Result of `check_keywords`.
    spec : EnvSpec or None
        Becomes the environment's spec; `gymnasium.make` sets it itself.

    Raises
    ------
    InvalidOptionError
    """
    names = _text_parameters(cls)
    class_keywords = {name: keywords[name] for name in keywords if name not in names}
    options = parse_text_options(cls, keywords)
    env: gymnasium.Env[Any, Any] = cls(**class_keywords)
    if spec is not None:
        env.unwrapped.spec = spec
    return env if options is None else TextWrapper(env, options)


def resolve_paths(keywords: Mapping[str, Any], names: Iterable[str]) -> dict[str, Any]:
    """Return keywords in which those with some names are absolute paths.

    They then mean the same in other folders and processes.
    """
    paths = {
        name: check_path(name, keywords[name])
        for name in names
        if isinstance(keywords.get(name), (str, os.PathLike))
    }
    return {**keywords, **paths}
