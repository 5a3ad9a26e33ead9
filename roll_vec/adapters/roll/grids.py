"""Sokoban and FrozenLake: the classes of ROLL's guide, and those of its pipeline.

Names and defaults are ROLL's.  Rules, levels and rewards are those of our environments.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from roll_vec.adapters.roll.configs import (
    RENDER_MODES,
    AnswerOptions,
    GridConfig,
    GuideEnv,
    make_config,
)
from roll_vec.adapters.roll.gem_env import GemEnv
from roll_vec.adapters.roll.shared_batch import engine_of
from roll_vec.adapters.tiles import paint_lake, paint_rooms
from roll_vec.arrays.grid_env import GridEnv
from roll_vec.arrays.single_env import SingleEnv
from roll_vec.envs.frozen_lake import RandomFrozenLake
from roll_vec.envs.sokoban import Sokoban
from roll_vec.errors import InvalidOptionError
from roll_vec.objects.base_envs import BaseDiscreteActionEnv
from roll_vec.options import accepts_keywords_of, check_choice, keywords_of
from roll_vec.seeding import check_seed
from roll_vec.text.options import TextOptions

# ROLL's step limit; the registered ids have the same.
MAX_STEPS = 100
SOKOBAN_RULES = (
    "You are solving the Sokoban puzzle. "
    "You are the player and you need to push all boxes to targets. "
    "When you are right next to a box, you can push it by moving in the same "
    "direction. You cannot push a box through a wall, and you cannot pull a box."
)
"""The beginning of ROLL's prompts."""


class GuideGridEnv(  # type: ignore[override, misc, unused-ignore]
    GuideEnv, SingleEnv, BaseDiscreteActionEnv
):
    """The methods that ROLL adds to Sokoban and FrozenLake."""

    state_has_stream = True

    def __init__(self, config: Any = None, **keywords: Any) -> None:
        self.config = make_config(self.CONFIG, config, keywords)
        SingleEnv.__init__(self, self.config.make_options())
        # Users declare these tables on their class; here each environment has its roll.
        self.ACTION_LOOKUP = self.options.action_lookup  # type: ignore[misc]
        self.GRID_LOOKUP = self.options.grid_lookup  # type: ignore[misc]

    def render(self, mode: str | None = None) -> Any:
        """Return the grid as ``text`` (str) or ``rgb_array`` ((16 H, 16 W, 3) uint8).

        Parameters
        ----------
        mode : str or None
            None: the config's ``render_mode``.

        Raises
        ------
        InvalidOptionError, ResetNeededError
        """
        mode = self.config.render_mode if mode is None else mode
        check_choice("mode", mode, RENDER_MODES)
        self._check_started()
        return self._frame(mode)

    def get_image(self, mode: str = "rgb_array") -> NDArray[np.uint8]:
        """Return the grid as pixels.

        Parameters
        ----------
        mode : str
            Only ``rgb_array``.
        """
        check_choice("mode", mode, ("rgb_array",))
        image: NDArray[np.uint8] = self.render(mode)
        return image


@dataclass
class SokobanEnvConfig(GridConfig):
    """ROLL's configuration of Sokoban; the fields are those of `Sokoban`.

    ``render_mode`` is ``text`` or ``rgb_array``; observations have the same form.
    ``levels`` are played in place of generated rooms.  ``dim_x`` and ``dim_y`` become
    ``dim_room``.
    """

    OPTIONS: ClassVar[type[Any]] = Sokoban

    dim_room: tuple[int, int] = Sokoban.dim_room
    max_steps: int = MAX_STEPS
    num_boxes: int = Sokoban.num_boxes
    search_depth: int = Sokoban.search_depth
    num_gen_steps: int | None = None
    grid_lookup: Mapping[int, str] | None = None
    grid_vocab: Mapping[str, str] | None = None
    action_lookup: Mapping[int, str] | None = None
    dim_x: int | None = None
    dim_y: int | None = None
    render_mode: str = "text"
    levels: Any = None

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.dim_x is not None and self.dim_y is not None:
            self.dim_room = (self.dim_x, self.dim_y)


class SokobanEnv(GuideGridEnv):
    """Sokoban for users of ROLL: ``SokobanEnv(config)``.

    Parameters
    ----------
    config : SokobanEnvConfig, mapping or None
        A mapping has fields of the configuration; None: the defaults.
    **keywords
        Fields that replace those of ``config``, which is not changed.

    Raises
    ------
    InvalidOptionError, UnknownOptionError
    """

    CONFIG = SokobanEnvConfig


@dataclass
class FrozenLakeEnvConfig(GridConfig):
    """ROLL's configuration of FrozenLake, see `RandomFrozenLake`.

    ``map_seed`` is the seed of the first episode if `reset` gets none.  ``levels`` are
    played in place of random maps.
    """

    OPTIONS: ClassVar[type[Any]] = RandomFrozenLake

    size: int = RandomFrozenLake.size
    p: float = RandomFrozenLake.p
    is_slippery: bool = RandomFrozenLake.is_slippery
    max_steps: int = MAX_STEPS
    map_seed: int | None = None
    grid_lookup: Mapping[int, str] | None = None
    grid_vocab: Mapping[str, str] | None = None
    action_lookup: Mapping[int, str] | None = None
    render_mode: str = "text"
    levels: Any = None

    def __post_init__(self) -> None:
        if self.map_seed is not None:
            self.map_seed = check_seed(self.map_seed)
        super().__post_init__()


class FrozenLakeEnv(GuideGridEnv):
    """FrozenLake for users of ROLL: ``FrozenLakeEnv(config)``.

    Parameters
    ----------
    config : FrozenLakeEnvConfig, mapping or None
        A mapping has fields of the configuration; None: the defaults.
    **keywords
        Fields that replace those of ``config``, which is not changed.

    Raises
    ------
    InvalidOptionError, UnknownOptionError
    """

    CONFIG = FrozenLakeEnvConfig

    def reset(
        self, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Any, dict[str, Any]]:
        """Start a new episode; without a seed, the first one has ``map_seed``."""
        if seed is None and not self._has_started:
            seed = self.config.map_seed
        return super().reset(seed, options)


@dataclass(frozen=True, kw_only=True)
class GridOptions(AnswerOptions):
    """The keywords that ROLL's Sokoban and FrozenLake share, and ROLL's defaults.

    Parameters
    ----------
    render_mode : str
        ``text``, or ``rgb_array`` for pixels as observations: (height, width, 3) uint8.
        Pictures are those of gym-sokoban and Gymnasium, as in ROLL.
    grid_lookup, grid_vocab, action_lookup : mapping or None
        Symbols by code, meanings by symbol, names of actions by code; None: ROLL's.
    **keywords
        Those of `AnswerOptions`.

    Raises
    ------
    InvalidOptionError
    """

    render_mode: str = "text"
    grid_lookup: Mapping[int, str] | None = None
    grid_vocab: Mapping[str, str] | None = None
    action_lookup: Mapping[int, str] | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        check_choice("render_mode", self.render_mode, RENDER_MODES)


class GemGridEnv(GemEnv):
    """A game on a grid: names of actions, the prompt, the description of a step.

    Attributes
    ----------
    ACTION_LOOKUP, GRID_LOOKUP, GRID_VOCAB : dict
    env_instruction : str
    max_steps : int
    """

    OPTIONS: ClassVar[type[GridEnv]]
    ROLL_OPTIONS = GridOptions
    LEFT_OUT = frozenset(
        {
            *("action_mode", "action_start", "obs_mode", "render_scale"),
            *keywords_of(TextOptions),
        }
    )
    # The code of the first action, as in ROLL.
    ACTION_START: ClassVar[int]
    ACTION_LOOKUP: dict[int, str]

    def _batch_keywords(self, keywords: dict[str, Any]) -> dict[str, Any]:
        family, start, roll = self.OPTIONS.FAMILY, self.ACTION_START, self.options
        self.render_mode = roll.render_mode
        self.GRID_LOOKUP = dict(roll.grid_lookup or family.glyphs)
        self.GRID_VOCAB = dict(roll.grid_vocab or family.meanings)
        names = dict(roll.action_lookup or enumerate(self.OPTIONS.actions, start))
        # 0 is "no operation" where actions start at 1.
        last = start + len(self.OPTIONS.actions) - 1
        if not set(names) <= set(range(last + 1)):
            accepted = f"codes from 0 to {last}"
            raise InvalidOptionError.expected("action_lookup", accepted, names)
        self.ACTION_LOOKUP = names
        return {
            **keywords,
            "action_start": start,
            "grid_lookup": self.GRID_LOOKUP,
            # Pictures are made of the grids, see `_paint`.
            "obs_mode": "text" if roll.render_mode == "text" else "grid",
            "render_mode": "text",
        }

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
        check_choice("mode", mode, (None, *RENDER_MODES))
        if mode in (None, self.render_mode) or self._observation is None:
            return self._observation
        assert self._session is not None, "there is an observation"
        return self._session.render() if mode == "text" else self._paint()

    def _note(self, observation: Any, info: Mapping[str, Any]) -> None:
        is_text = self.render_mode == "text"
        super()._note(observation if is_text else self._paint(), info)

    @abstractmethod
    def _paint(self) -> NDArray[np.uint8]:
        """Return ROLL's picture of the grid, (height, width, 3)."""

    def _read_batch(self) -> tuple[Any, NDArray[np.int64]]:
        """Return the engine of the batch, and the number of this environment there."""
        assert self._session is not None, "a reset has opened it"
        return engine_of(self._session), np.array([self._session.env_id])

    def _measure_idle(self) -> float:
        engine, env_ids = self._read_batch()
        return float(engine.measure_idle(env_ids)[0])

    def _valid_info(
        self, parsed: Mapping[str, Any], result: Mapping[str, Any], penalty: float
    ) -> dict[str, Any]:
        """Return the info of a step with an action."""
        name = parsed["action_content"]
        description = f"At turn {self._turn}, you moved {name}, which is effective."
        if not result["action_is_effective"]:
            description = (
                f"At turn {self._turn}, you tried to move {name}, "
                "which is not effective yet."
            )
        return self._info(parsed, description, result, penalty)


class GemSokobanEnv(GemGridEnv):
    """ROLL's ``sokoban``: an answer without an action is a step, too.

    The step limit terminates an episode, as in ROLL; it also truncates it, unless the
    room is solved or the last answer had no action.

    Parameters
    ----------
    **keywords
        Those of `GridOptions`, and those of
        `roll_vec.envs.sokoban.Sokoban` with ROLL's defaults: rooms of
        10 × 10 cells with 4 boxes.

    Raises
    ------
    InvalidOptionError, UnknownOptionError
    """

    ID = "roll_vec/Sokoban-v0"
    OPTIONS = Sokoban
    ROOM: ClassVar[Mapping[str, Any]] = {"dim_room": (10, 10), "num_boxes": 4}
    """ROLL's defaults of rooms that are generated."""
    ACTION_START = 1
    INSTRUCTION = (
        f"{SOKOBAN_RULES} The answer must be one of action in a turn, format is "
        "<answer>Right</answer>."
    )

    @accepts_keywords_of(GridOptions, open_end=True)
    def __init__(self, **keywords: Any) -> None:
        super().__init__(keywords)

    def _batch_keywords(self, keywords: dict[str, Any]) -> dict[str, Any]:
        if keywords.get("levels") is None:
            room = dict(self.ROOM)
            if any(keywords.get(name) is not None for name in ("dim_x", "dim_y")):
                # They are the size in the place of ROLL's default.
                del room["dim_room"]
            keywords = {**room, **keywords}
        return {
            **super()._batch_keywords(keywords),
            "max_steps": self.options.max_steps,
        }

    def _paint(self) -> NDArray[np.uint8]:
        engine, env_ids = self._read_batch()
        picture: NDArray[np.uint8] = paint_rooms(engine.grids(env_ids))[0]
        return picture

    def step(self, action: str) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        """Take the action of a model's answer; see `GemEnv.step`."""
        parsed = self.parse_action(action)
        code = parsed["action"]
        result = self._take(0 if code is None else code)
        observation, reward, terminated, truncated, outcome = result
        success, has_ended = bool(outcome["success"]), terminated or truncated
        if code is None:
            reward += self.format_penalty
            info = self._invalid_info(parsed, success)
            return observation, reward, has_ended, False, info
        info = self._valid_info(parsed, outcome, penalty=0)
        return observation, reward, has_ended, has_ended and not success, info


class GemFrozenLakeEnv(GemGridEnv):
    """ROLL's ``frozen_lake``: an answer without an action moves nothing.

    As in ROLL the step limit ends no episode: ROLL's environment manager has its own.
    An episode that ends in a hole at the limit or later is truncated as well.

    Parameters
    ----------
    map_seed : int or None
        Without effect on episodes of a seed, as in ROLL: the seed of a first reset
        without one.
    **keywords
        Those of `GridOptions`, and those of
        `roll_vec.envs.frozen_lake.RandomFrozenLake`, whose defaults are
        ROLL's.

    Raises
    ------
    InvalidOptionError, UnknownOptionError
    """

    ID = "roll_vec/RandomFrozenLake-v0"
    OPTIONS = RandomFrozenLake
    ACTION_START = 0
    EPISODE = (*GemGridEnv.EPISODE, "_direction")
    # The last action of the episode, which Gymnasium's picture may show.
    _direction: int | None = None
    INSTRUCTION = (
        "You are solving the FrozenLake puzzle. "
        "Forbid the whole and go to the target. "
        "You may move to the unintended direction due to the slippery ice. "
        "The answer must be one of action in a turn, format is <answer>Right</answer>"
    )

    @accepts_keywords_of(GridOptions, open_end=True)
    def __init__(self, *, map_seed: int | None = None, **keywords: Any) -> None:
        self._map_seed = None if map_seed is None else check_seed(map_seed)
        super().__init__(keywords)

    def reset(self, seed: int | None = None) -> tuple[Any, dict[str, Any]]:
        """Start a new episode; see `GemEnv.reset`."""
        if seed is None:
            seed = self._map_seed
        self._map_seed = self._direction = None
        return super().reset(seed)

    def step(self, action: str) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        """Take the action of a model's answer; see `GemEnv.step`."""
        parsed = self.parse_action(action)
        if parsed["action"] is None:
            return self._skip(parsed)
        result = self._take(parsed["action"])
        observation, reward, terminated, _, outcome = result
        has_failed = terminated and not outcome["success"]
        truncated = has_failed and self._turn >= self.max_steps
        info = self._valid_info(parsed, outcome, self.format_penalty)
        return observation, reward, terminated, truncated, info

    def _take(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        self._check_running()
        self._direction = action
        return super()._take(action)

    def _paint(self) -> NDArray[np.uint8]:
        engine, env_ids = self._read_batch()
        codes = engine.grids(env_ids)[0]
        starts = np.arange(codes.size) == engine.named_variables()["start"][env_ids]
        return paint_lake(codes, starts.reshape(codes.shape), self._direction)
