"""How one object of a pooled id is made: the class, its keywords, the text layer."""

from __future__ import annotations

import dataclasses
import inspect
from collections.abc import Iterable, Mapping
from typing import Any

import gymnasium
from gymnasium.envs.registration import EnvSpec

from roll_vec.base_envs import BaseDiscreteActionEnv, BaseLanguageBasedEnv
from roll_vec.data_files import pin_files, unpin_files
from roll_vec.errors import InvalidOptionError
from roll_vec.options import NO_HINTS, check_choice, check_unknown
from roll_vec.text.options import ACTION_MODES, TextOptions
from roll_vec.text.wrapper import TextWrapper

__all__ = ["build", "check_keywords", "parameters_of", "pin_keywords", "text_options"]


def _own_parameters(cls: type[Any]) -> dict[str, inspect.Parameter]:
    return dict(inspect.signature(cls).parameters)


def _layer_parameters(cls: type[Any]) -> dict[str, inspect.Parameter]:
    """Return the keywords of the text layer that a class's environments take."""
    found = {}
    if issubclass(cls, (BaseLanguageBasedEnv, BaseDiscreteActionEnv)):
        found = dict(inspect.signature(TextOptions).parameters)
    if issubclass(cls, BaseDiscreteActionEnv):
        found["action_mode"] = inspect.Parameter(
            "action_mode", inspect.Parameter.KEYWORD_ONLY, default=ACTION_MODES[0]
        )
    own = _own_parameters(cls)
    return {name: shown for name, shown in found.items() if name not in own}


def parameters_of(cls: type[Any]) -> dict[str, inspect.Parameter]:
    """Return all keywords of a class's environments: its own, and the text layer's."""
    own = {
        name: shown
        for name, shown in _own_parameters(cls).items()
        if shown.kind not in (shown.VAR_KEYWORD, shown.VAR_POSITIONAL)
    }
    return own | _layer_parameters(cls)


def check_keywords(
    cls: type[Any],
    given: Mapping[str, Any],
    more: Iterable[str] = (),
    hints: Mapping[str, str] = NO_HINTS,
) -> dict[str, Any]:
    """Return the keywords that `build` takes.

    Parameters
    ----------
    cls : class
    given : mapping
        A ``render_mode`` of None is left out where the class has none.
    more : iterable of str
        Further keywords for the list in the message.
    hints : mapping of str
        See `roll_vec.options.check_unknown`.

    Raises
    ------
    UnknownOptionError
        If neither the class nor the text layer has a keyword.
    """
    parameters = _own_parameters(cls)
    keywords = dict(given)
    known = parameters_of(cls)
    if any(shown.kind is shown.VAR_KEYWORD for shown in parameters.values()):
        return keywords
    if keywords.get("render_mode", 0) is None and "render_mode" not in known:
        del keywords["render_mode"]
    check_unknown(keywords, {*known, *more}, hints)
    return keywords


def pin_keywords(cls: type[Any], keywords: Mapping[str, Any]) -> dict[str, Any]:
    """Return keywords for `build` that name data files by path and content.

    They mean the same in another folder and process; see `SeededEnv.DATA_FILES`.
    """
    return pin_files(keywords, getattr(cls, "DATA_FILES", {}))


def text_options(cls: type[Any], keywords: Mapping[str, Any]) -> TextOptions | None:
    """Return the options of the text layer, None where the class takes no text.

    Raises
    ------
    InvalidOptionError
    """
    layered = _layer_parameters(cls)
    options = {name: keywords[name] for name in keywords if name in layered}
    mode = options.pop("action_mode", ACTION_MODES[0])
    check_choice("action_mode", mode, ACTION_MODES)
    parsed = TextOptions(**options)
    if issubclass(cls, BaseLanguageBasedEnv) or mode == "text":
        return parsed
    if parsed != TextOptions():
        given = ", ".join(
            field.name
            for field in dataclasses.fields(TextOptions)
            if field.name in options
        )
        message = f"{given}: have a meaning with action_mode='text' alone"
        raise InvalidOptionError(message)
    return None


def build(
    cls: type[Any], keywords: Mapping[str, Any], spec: EnvSpec | None = None
) -> gymnasium.Env[Any, Any]:
    """Make one environment, with the text layer where the class takes text.

    Parameters
    ----------
    cls : class
    keywords : mapping
        As `check_keywords` or `pin_keywords` returned them.
    spec : EnvSpec or None
        Becomes the environment's, where `gymnasium.make` does not give it one.

    Raises
    ------
    InvalidOptionError
        Also where a data file has changed since it was pinned.
    """
    keywords = unpin_files(keywords)
    layered = _layer_parameters(cls)
    own = {name: keywords[name] for name in keywords if name not in layered}
    options = text_options(cls, keywords)
    env: gymnasium.Env[Any, Any] = cls(**own)
    if spec is not None:
        env.unwrapped.spec = spec
    return env if options is None else TextWrapper(env, options)
