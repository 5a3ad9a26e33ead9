"""Keywords of array environments: a dataclass a family, the only place of a default."""

from __future__ import annotations

import dataclasses
import operator
from collections.abc import Mapping
from typing import Any, ClassVar

from roll_vec.errors import InvalidOptionError
from roll_vec.options import (
    check_choice,
    check_int,
    check_levels,
    check_lookup,
    check_optional_text,
)
from roll_vec.text.options import ACTION_MODES, TextOptions

__all__ = [
    "MAX_CELLS",
    "MAX_SCALE",
    "NUM_ACTIONS",
    "OBS_MODES",
    "RENDER_MODES",
    "ActionOptions",
    "LevelOptions",
    "check_cells",
]

# Of a generated board.
MAX_CELLS = 1 << 20
# At this scale the picture of a 6x6 room has 6144 x 6144 pixels.
MAX_SCALE = 64
RENDER_MODES = ("human", "rgb_array", "ansi", "text")
# Up, down, left and right.
NUM_ACTIONS = 4
OBS_MODES = ("grid", "planes", "tiny_rgb", "rgb", "text")


@dataclasses.dataclass(frozen=True, kw_only=True)
class ActionOptions(TextOptions):
    """How one acts in an array environment.

    Parameters
    ----------
    action_mode : str
        ``discrete``, or ``text`` for names of actions in what a model writes.
    env_instruction : str or None
        The game, in place of our description at the head of the instructions.
    action_pattern, special_token_list, format_penalty, match, action_separator, \
max_actions_per_turn, max_answer_chars
        See `roll_vec.text.options.TextOptions`; of ``text`` alone.

    Raises
    ------
    InvalidOptionError
    """

    GRID_LOOKUP: ClassVar[Mapping[int, str]]
    GRID_VOCAB: ClassVar[Mapping[str, str]]

    action_mode: str = "discrete"
    env_instruction: str | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        check_choice("action_mode", self.action_mode, ACTION_MODES)
        check_optional_text("env_instruction", self.env_instruction)
        if self.action_mode == "discrete":
            changed = [
                field.name
                for field in dataclasses.fields(TextOptions)
                if getattr(self, field.name) != field.default
            ]
            if changed:
                message = f"{', '.join(changed)}: needs action_mode='text'"
                raise InvalidOptionError(message)

    @property
    def first_action(self) -> int:
        """The least action; the other three follow."""
        return 0

    def describe(self) -> str:
        """Return what the game is about, for the instructions."""
        raise NotImplementedError


def _check_action_start(value: Any) -> int | None:
    """Return an ``action_start``: 0, 1 or None."""
    if value is None:
        return None
    try:
        start = -1 if isinstance(value, bool) else operator.index(value)
    except TypeError:
        start = -1
    if start not in (0, 1):
        message = (
            "action_start: expected 0 (actions 0 to 3), 1 (actions 1 to 4, 0 is no "
            f"valid action) or None (1, with a warning), got {value!r}"
        )
        raise InvalidOptionError(message)
    return start


@dataclasses.dataclass(frozen=True, kw_only=True)
class LevelOptions(ActionOptions):
    """The keywords that ROLL's environments share.

    Parameters
    ----------
    max_steps : int or None
        ROLL's step limit, beside ``max_episode_steps``.
    grid_lookup : dict from code to str, or None
        Characters of the codes in text.
    grid_vocab : dict from str to str, or None
        What the characters mean, for prompts.
    action_start : int or None
        1: the actions are 1 to 4, ROLL's, and 0 is "no valid action": nothing moves,
        the step counts.  0: they are 0 to 3, and each of them moves.  None is 1, and
        warns once where 0 is played.  Texts play the same whatever it is.
    action_lookup : dict from int to str, or None
        Names of the actions, from ``action_start`` on.
    obs_mode : str
        ``grid``, ``planes``, ``tiny_rgb``, ``rgb`` or ``text``.
    num_levels, start_level : int
        A finite set of levels; 0 is unlimited.
    render_mode : str or None
        ``human``, ``rgb_array``, ``ansi`` or ``text``.
    render_scale : int
        From 1 to 64: every pixel of a rendered picture becomes a square of this side.
    action_mode, env_instruction, action_pattern, special_token_list, \
format_penalty, match, action_separator, max_actions_per_turn, max_answer_chars
        See `ActionOptions`.

    Raises
    ------
    InvalidOptionError
    """

    ACTION_LOOKUP: ClassVar[Mapping[int, str]]

    max_steps: int | None = None
    grid_lookup: Mapping[int, str] | None = None
    grid_vocab: Mapping[str, str] | None = None
    action_start: int | None = None
    action_lookup: Mapping[int, str] | None = None
    obs_mode: str = "grid"
    num_levels: int = 0
    start_level: int = 0
    render_mode: str | None = None
    render_scale: int = 1

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.max_steps is not None:
            self._put("max_steps", check_int("max_steps", self.max_steps, 1))
        self._put("action_start", _check_action_start(self.action_start))
        shift = self.first_action - 1
        lookups = {
            "grid_lookup": self.GRID_LOOKUP,
            "action_lookup": {
                code + shift: name for code, name in self.ACTION_LOOKUP.items()
            },
        }
        for name, default in lookups.items():
            self._put(name, check_lookup(name, getattr(self, name), default))
        vocab: Any = self.GRID_VOCAB if self.grid_vocab is None else self.grid_vocab
        if not isinstance(vocab, Mapping):
            message = f"grid_vocab: expected a dict from str to str, got {vocab!r}"
            raise InvalidOptionError(message)
        self._put("grid_vocab", dict(vocab))
        check_choice("obs_mode", self.obs_mode, OBS_MODES)
        check_choice("render_mode", self.render_mode, (None, *RENDER_MODES))
        self._put(
            "render_scale", check_int("render_scale", self.render_scale, 1, MAX_SCALE)
        )
        num_levels, start_level = check_levels(self.num_levels, self.start_level)
        self._put("num_levels", num_levels)
        self._put("start_level", start_level)

    @property
    def first_action(self) -> int:
        """The least action; the other three follow."""
        return 1 if self.action_start is None else self.action_start

    def _put(self, name: str, value: Any) -> None:
        """Replace a field by its validated form, while the options are made."""
        object.__setattr__(self, name, value)


def check_cells(name: str, shape: tuple[int, int]) -> None:
    """Refuse a generated board that is too large, before anything is allocated.

    Raises
    ------
    InvalidOptionError
    """
    rows, columns = shape
    if rows * columns > MAX_CELLS:
        message = (
            f"{name}: expected a board of at most {MAX_CELLS} cells, got {rows} rows "
            f"and {columns} columns, which are {rows * columns} cells"
        )
        raise InvalidOptionError(message)
