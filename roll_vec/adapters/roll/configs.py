"""Values of a yaml: a game's ``env_config`` of ROLL's pipeline."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, TypeVar

from roll_vec.options import check_unknown, keywords_of, take_options

__all__ = ["plain_value", "split_env_config"]

Options = TypeVar("Options")


def split_env_config(
    env_config: Mapping[str, Any],
    own_class: type[Options],
    env_class: type[Any],
    left_out: Iterable[str] = (),
) -> tuple[Options, dict[str, Any]]:
    """Return the options of ROLL's class, and the keywords of our environment.

    Parameters
    ----------
    env_config : mapping from str to object
    own_class : class
        The options of ROLL's class.
    env_class : class
        Those of our environment.
    left_out : iterable of str
        Keywords of ``env_class`` that are not the yaml's to set.

    Raises
    ------
    UnknownOptionError
        For a key that does not exist; lists those that do.
    InvalidOptionError
        For a value of ROLL's options that cannot be used.
    """
    accepted = keywords_of(env_class).keys() - set(left_out)
    check_unknown(env_config, accepted | keywords_of(own_class).keys())
    keywords = plain_value(env_config)
    return take_options(own_class, keywords), keywords


def plain_value(value: Any) -> Any:
    """Return a value of a yaml with dicts and lists in place of OmegaConf's own."""
    if isinstance(value, Mapping):
        return {key: plain_value(item) for key, item in value.items()}
    if isinstance(value, Sequence) and not isinstance(value, str | bytes | tuple):
        return [plain_value(item) for item in value]
    return value
