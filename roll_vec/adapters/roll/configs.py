"""Configurations of a framework: its names and defaults, for keywords of ours.

A framework, ROLL or RAGEN, has a dataclass for each game.  Its fields are the table of
the framework's names and defaults.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import fields, replace
from typing import Any, ClassVar, TypeVar

from roll_vec.errors import InvalidOptionError
from roll_vec.options import check_choice, check_unknown, keywords_of, take_options

Config = TypeVar("Config")
Options = TypeVar("Options")

# Of grids, for frames and for observations.
RENDER_MODES = ("text", "rgb_array")


class EnvConfig:
    """The base of configurations, which are dataclasses.

    A bad value is an `InvalidOptionError` where the configuration is written.
    """

    OPTIONS: ClassVar[type[Any]]
    """The keywords of our environment."""
    OURS: ClassVar[Mapping[str, str | None]] = {}
    """By field our keyword, where the name is another one; None: no keyword."""
    FIXED: ClassVar[Mapping[str, Any]] = {}
    """Other keywords of ours, which the framework has not."""

    def __post_init__(self) -> None:
        self.make_options()

    def batch_keywords(self) -> dict[str, Any]:
        """Return the keywords of `roll_vec.make_vec` that the fields stand for."""
        accepted, keywords = keywords_of(self.OPTIONS), dict(self.FIXED)
        # Not `asdict`, which would copy levels.
        for field in fields(self):  # type: ignore[arg-type]
            name = self.OURS.get(field.name, field.name)
            if name is not None and name in accepted:
                keywords[name] = getattr(self, field.name)
        return keywords

    def make_options(self) -> Any:
        """Return our options, checked.

        Raises
        ------
        InvalidOptionError
            Names an option as the framework does.
        """
        try:
            return self.OPTIONS(**self.batch_keywords())
        except InvalidOptionError as error:
            raise self.rename(error) from None

    def rename(self, error: InvalidOptionError) -> InvalidOptionError:
        """Return an error that names an option as the framework does."""
        name, colon, reason = str(error).partition(": ")
        for theirs, ours in self.OURS.items():
            if ours == name:
                return InvalidOptionError(f"{theirs}{colon}{reason}")
        return error


class GridConfig(EnvConfig):
    """The base of Sokoban's and FrozenLake's, whose actions count from 1.

    Observations have the form of the ``render_mode``.  Tables that are left out are
    copies of the game's.
    """

    FIXED: ClassVar[Mapping[str, Any]] = {"action_start": 1}
    TAKEN: ClassVar[tuple[str, ...]] = ()
    """Fields that become the values of our options."""

    render_mode: str
    grid_lookup: Mapping[int, str] | None
    grid_vocab: Mapping[str, str] | None
    action_lookup: Mapping[int, str] | None

    def __post_init__(self) -> None:
        family = self.OPTIONS.FAMILY
        self.grid_lookup = self.grid_lookup or dict(family.glyphs)
        self.grid_vocab = self.grid_vocab or dict(family.meanings)
        self.action_lookup = self.action_lookup or family.action_lookup(1)
        options = self.make_options()
        for name in self.TAKEN:
            setattr(self, name, getattr(options, name))

    def batch_keywords(self) -> dict[str, Any]:
        """Return the keywords of `roll_vec.make_vec` that the fields stand for."""
        check_choice("render_mode", self.render_mode, RENDER_MODES)
        obs_mode = "text" if self.render_mode == "text" else "rgb"
        return {**super().batch_keywords(), "obs_mode": obs_mode}


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
