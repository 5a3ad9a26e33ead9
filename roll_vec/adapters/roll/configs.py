"""ROLL's names and defaults, for keywords of ours.

ROLL's guide has a dataclass for each game.  Its fields are the table of ROLL's names
and defaults.  `GuideEnv` accepts such a configuration; the classes of ROLL's pipeline
accept `AnswerOptions` and keywords of ours together.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any, ClassVar, TypeVar

import gymnasium

from roll_vec.adapters.credit import REWARDS
from roll_vec.errors import InvalidOptionError
from roll_vec.options import check_choice, check_int, check_unknown, keywords_of
from roll_vec.text.options import TextOptions

Config = TypeVar("Config", bound="EnvConfig")

# Of grids, for frames and for observations.
RENDER_MODES = ("text", "rgb_array")


class EnvConfig:
    """The base of configurations, which are dataclasses.

    A bad value is an `InvalidOptionError` where the configuration is written.
    """

    OPTIONS: ClassVar[type[Any]]
    """The keywords of our environment."""
    OURS: ClassVar[Mapping[str, str]] = {}
    """By field our keyword, where the name is another one."""
    FIXED: ClassVar[Mapping[str, Any]] = {}
    """Other keywords of ours, which ROLL has not."""

    def __post_init__(self) -> None:
        self.make_options()

    def batch_keywords(self) -> dict[str, Any]:
        """Return the keywords of `roll_vec.make_vec` that the fields stand for."""
        accepted, keywords = keywords_of(self.OPTIONS), dict(self.FIXED)
        # Not `asdict`, which would copy levels.
        for field in fields(self):  # type: ignore[arg-type]
            name = self.OURS.get(field.name, field.name)
            if name in accepted:
                keywords[name] = getattr(self, field.name)
        return keywords

    def make_options(self) -> Any:
        """Return our options, checked.

        Raises
        ------
        InvalidOptionError
            Names an option as ROLL does.
        """
        try:
            return self.OPTIONS(**self.batch_keywords())
        except InvalidOptionError as error:
            raise self.rename(error) from None

    def rename(self, error: InvalidOptionError) -> InvalidOptionError:
        """Return an error that names an option as ROLL does."""
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

    render_mode: str
    grid_lookup: Mapping[int, str] | None
    grid_vocab: Mapping[str, str] | None
    action_lookup: Mapping[int, str] | None

    def __post_init__(self) -> None:
        family = self.OPTIONS.FAMILY
        self.grid_lookup = self.grid_lookup or dict(family.glyphs)
        self.grid_vocab = self.grid_vocab or dict(family.meanings)
        self.action_lookup = self.action_lookup or dict(
            enumerate(self.OPTIONS.actions, 1)
        )
        super().__post_init__()

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
    names = {field.name for field in fields(config_class)}  # type: ignore[arg-type]
    if isinstance(config, config_class):
        check_unknown(keywords, names)
        return replace(config, **keywords) if keywords else config  # type: ignore[type-var]
    if config is not None and not isinstance(config, Mapping):
        accepted = f"a {config_class.__name__}, a mapping of its fields or None"
        raise InvalidOptionError.expected("config", accepted, config)
    values = {**(config or {}), **keywords}
    check_unknown(values, names)
    return config_class(**values)


class GuideEnv(gymnasium.Env[Any, Any]):
    """A class of ROLL's guide: one of our single environments with a config object.

    Parameters
    ----------
    config : CONFIG, mapping or None
        A mapping has fields of the configuration; None: the defaults.
    **keywords
        Fields that replace those of ``config``, which is not changed.

    Raises
    ------
    InvalidOptionError, UnknownOptionError
    """

    CONFIG: ClassVar[type[Any]]

    def __init__(self, config: Any = None, **keywords: Any) -> None:
        self.config = make_config(self.CONFIG, config, keywords)
        try:
            super().__init__(**self.config.batch_keywords())
        except InvalidOptionError as error:
            raise self.config.rename(error) from None

    def reset(
        self, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Any, dict[str, Any]]:
        """Start a new episode, as our environment; the seed may be positional."""
        return super().reset(seed=seed, options=options)


@dataclass(frozen=True, kw_only=True)
class AnswerOptions:
    """The keywords of a model's answers, and ROLL's defaults.

    Parameters
    ----------
    max_steps : int
    action_pattern : str
        A regular expression with a group for the action, or one for the thinking and
        one for the action.
    special_token_list : sequence of str, or None
        Deleted before the pattern is searched for.
    format_penalty : float
        The reward of an answer that is no action, or added to it.
    env_instruction : str or None
        Replaces the description of the game in the prompt.
    evaluation_split : str or None
        The name of an evaluation split, for validation alone: each of its episodes is
        played once, over all environments with the same keywords, and then `reset`
        returns None.  Keywords that choose the task are the split's.
    reward : str
        The reward of a step: that of the ``game``, its ``advantage``, see
        docs/solvers.md, or ``both``; ``format_penalty`` is added to each.
    """

    REMOVES_TOKENS: ClassVar[bool] = True

    max_steps: int = 20
    action_pattern: str = "<answer>(.*?)</answer>"
    special_token_list: Sequence[str] | None = ("<|im_start|>", "<|im_end|>")
    format_penalty: float = 0.0
    env_instruction: str | None = None
    evaluation_split: str | None = None
    reward: str = "game"

    def __post_init__(self) -> None:
        check_choice("reward", self.reward, REWARDS)
        check_int("max_steps", self.max_steps, 1)

    def text_options(self) -> TextOptions:
        """Return the options of the parser, checked.

        Raises
        ------
        InvalidOptionError
        """
        tokens = self.special_token_list if self.REMOVES_TOKENS else None
        return TextOptions(
            action_pattern=self.action_pattern,
            special_token_list=tokens,
            format_penalty=self.format_penalty,
        )


def plain_value(value: Any) -> Any:
    """Return a value of a yaml with dicts and lists in place of OmegaConf's own."""
    if isinstance(value, Mapping):
        return {key: plain_value(item) for key, item in value.items()}
    if isinstance(value, Sequence) and not isinstance(value, str | bytes | tuple):
        return [plain_value(item) for item in value]
    return value
