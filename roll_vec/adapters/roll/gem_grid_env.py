"""Games on grids of ROLL's pipeline: names of actions, the prompt, infos of steps."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from roll_vec.adapters.roll.answer_options import AnswerOptions
from roll_vec.adapters.roll.configs import split_env_config
from roll_vec.adapters.roll.gem_env import GemEnv
from roll_vec.arrays.options import LevelOptions
from roll_vec.errors import InvalidOptionError
from roll_vec.options import (
    check_choice,
    check_int,
    keywords_of,
    parse_options,
)
from roll_vec.text.action_parser import ActionParser
from roll_vec.text.options import TextOptions

# Keywords of our environments that the classes below set themselves.
_FIXED_KEYWORDS = {
    *("action_mode", "action_start", "obs_mode", "render_scale"),
    *keywords_of(TextOptions),
}
# By ROLL's render mode.
_OBS_MODES = {"text": "text", "rgb_array": "rgb"}


@dataclass(frozen=True, kw_only=True)
class GemGridOptions(AnswerOptions):
    """The keywords that ROLL's Sokoban and FrozenLake share, and ROLL's defaults.

    Parameters
    ----------
    render_mode : str
        ``text``, or ``rgb_array`` for pixels as observations: (height, width, 3) uint8
        of ROLL's size.  The tiles are ours.
    max_steps : int
    grid_lookup, grid_vocab, action_lookup : mapping or None
        Symbols by code, meanings by symbol, names of actions by code; None: ROLL's.
    action_pattern, special_token_list, format_penalty, env_instruction
        See `roll_vec.adapters.roll.gem_env.AnswerOptions`.

    Raises
    ------
    InvalidOptionError
    """

    render_mode: str = "text"
    max_steps: int = 20
    grid_lookup: Mapping[int, str] | None = None
    grid_vocab: Mapping[str, str] | None = None
    action_lookup: Mapping[int, str] | None = None

    def __post_init__(self) -> None:
        check_choice("render_mode", self.render_mode, tuple(_OBS_MODES))
        check_int("max_steps", self.max_steps, 1)


class GemGridEnv(GemEnv):
    """A game on a grid: names of actions, the prompt, the description of a step.

    Attributes
    ----------
    ACTION_LOOKUP, GRID_LOOKUP, GRID_VOCAB : dict
    env_instruction : str
    max_steps : int
    """

    ENV_ID: ClassVar[str]
    OPTIONS: ClassVar[type[LevelOptions]]
    # The code of the first action, as in ROLL.
    ACTION_START: ClassVar[int]
    INSTRUCTION: ClassVar[str]

    def __init__(self, options: GemGridOptions, keywords: dict[str, Any]) -> None:
        family, start = self.OPTIONS.FAMILY, self.ACTION_START
        self.render_mode, self.max_steps = options.render_mode, options.max_steps
        self.GRID_LOOKUP = dict(options.grid_lookup or family.glyphs)
        self.GRID_VOCAB = dict(options.grid_vocab or family.meanings)
        self.ACTION_LOOKUP = dict(options.action_lookup or family.action_lookup(start))
        # 0 is "no operation" where actions start at 1.
        if not set(self.ACTION_LOOKUP) <= set(range(start + family.num_actions)):
            accepted = f"codes from 0 to {start + family.num_actions - 1}"
            value = self.ACTION_LOOKUP
            raise InvalidOptionError.expected("action_lookup", accepted, value)
        self.env_instruction = options.env_instruction or self.INSTRUCTION
        keywords |= {
            "action_start": start,
            "grid_lookup": self.GRID_LOOKUP,
            "obs_mode": _OBS_MODES[options.render_mode],
            # That of the frames which are no observations, see `render`.
            "render_mode": "text" if options.render_mode != "text" else "rgb_array",
        }
        # Validated now, so that a bad keyword fails where it is written.
        parse_options(self.OPTIONS, keywords)
        parser = ActionParser(options.text_options(), self.ACTION_LOOKUP)
        super().__init__(self.ENV_ID, keywords, parser)

    @classmethod
    def split_env_config(
        cls, env_config: Mapping[str, Any]
    ) -> tuple[GemGridOptions, dict[str, Any]]:
        """Return ROLL's options of an ``env_config``, and the keywords of the batch.

        Raises
        ------
        InvalidOptionError, UnknownOptionError
        """
        own, ours = GemGridOptions, cls.OPTIONS
        return split_env_config(env_config, own, ours, _FIXED_KEYWORDS)

    def get_instructions(self) -> str:
        """Return the description of the game, the symbols and the actions."""
        symbols = ", ".join(f"{key}: {value}" for key, value in self.GRID_VOCAB.items())
        actions = ", ".join(self.ACTION_LOOKUP.values())
        return (
            f"{self.env_instruction}\nThe meaning of each symbol in the state is:\n"
            f"{symbols}\nYour available actions are:\n{actions}"
        )

    def sample_random_action(self) -> str:
        """Return the name of an action."""
        return self._random.choice(list(self.ACTION_LOOKUP.values()))

    def render(self, mode: str | None = None) -> Any:
        """Return the grid in one of ROLL's render modes; None before a reset.

        Parameters
        ----------
        mode : str or None
            ``text`` or ``rgb_array``; None: the environment's own ``render_mode``.

        Returns
        -------
        str, or (height, width, 3) uint8

        Raises
        ------
        InvalidOptionError
        """
        check_choice("mode", mode, (None, *_OBS_MODES))
        if mode in (None, self.render_mode) or self._session is None:
            return self._observation
        return self._resize(self._session.render())

    def _note(self, observation: Any, info: Mapping[str, Any]) -> None:
        super()._note(self._resize(observation), info)

    def _resize(self, frame: Any) -> Any:
        """Return pixels in ROLL's size, and a text as it is."""
        return frame

    def _valid_info(
        self, parsed: Mapping[str, Any], result: Mapping[str, Any], penalty: float
    ) -> dict[str, Any]:
        """Return the info of a step with an action."""
        is_effective, name = (
            bool(result["action_is_effective"]),
            parsed["action_content"],
        )
        description = f"At turn {self._turn}, you moved {name}, which is effective."
        if not is_effective:
            description = (
                f"At turn {self._turn}, you tried to move {name}, "
                "which is not effective yet."
            )
        return self._info(
            parsed,
            description,
            is_effective=is_effective,
            success=bool(result["success"]),
            penalty=penalty,
        )
