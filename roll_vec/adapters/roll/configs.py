"""Configs of ROLL's form from objects, mappings or keywords; values of a yaml."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import fields, replace
from typing import Any, TypeVar

from roll_vec.errors import InvalidOptionError
from roll_vec.options import check_unknown, keywords_of

__all__ = ["check_env_config", "make_config", "option_name", "plain_value"]

Config = TypeVar("Config")


def make_config(
    config_class: type[Config],
    config: Config | Mapping[str, Any] | None,
    keywords: Mapping[str, Any],
) -> Config:
    """Return the configuration of an environment; keywords replace its fields.

    Raises
    ------
    InvalidOptionError, UnknownOptionError
    """
    names = [field.name for field in fields(config_class)]  # type: ignore[arg-type]
    if isinstance(config, config_class):
        check_unknown(keywords, names)
        return replace(config, **keywords) if keywords else config  # type: ignore[type-var]
    if config is not None and not isinstance(config, Mapping):
        accepted = f"a {config_class.__name__}, a mapping of its fields or None"
        raise InvalidOptionError.expected("config", accepted, config)
    values = {**(config or {}), **keywords}
    check_unknown(values, names)
    return config_class(**values)


def check_env_config(
    env_config: Mapping[str, Any],
    own_class: type[Any],
    env_class: type[Any],
    left_out: Iterable[str] = (),
) -> None:
    """Raise an error for keys of a yaml's ``env_config`` that do not exist.

    Parameters
    ----------
    env_config : mapping from str to object
    own_class : class
        The options of ROLL's class.
    env_class : class
        Those of the environment of ours.
    left_out : iterable of str
        Keywords of ``env_class`` that are not the yaml's to set.

    Raises
    ------
    UnknownOptionError
        Lists the keys that do.
    """
    accepted = keywords_of(env_class).keys() - set(left_out)
    check_unknown(env_config, accepted | keywords_of(own_class).keys())


def plain_value(value: Any) -> Any:
    """Return a value of a yaml with dicts and lists in place of OmegaConf's own."""
    if isinstance(value, Mapping):
        return {key: plain_value(item) for key, item in value.items()}
    if isinstance(value, Sequence) and not isinstance(value, str | bytes | tuple):
        return [plain_value(item) for item in value]
    return value


@contextlib.contextmanager
def option_name(ours: str, theirs: str) -> Iterator[None]:
    """Name an option as ROLL does in the errors of a block.

    Raises
    ------
    InvalidOptionError
    """
    try:
        yield
    except InvalidOptionError as error:
        message = str(error)
        if not message.startswith(f"{ours}: "):
            raise
        raise InvalidOptionError(theirs + message.removeprefix(ours)) from None
