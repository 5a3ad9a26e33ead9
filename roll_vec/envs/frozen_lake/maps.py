"""The maps of Gymnasium's FrozenLake: the keywords, and what a map may be."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from roll_vec.envs.frozen_lake.engine import (
    DIRECTIONS,
    GRID_LOOKUP,
    GRID_VOCAB,
    describe_lake,
)
from roll_vec.errors import InvalidOptionError
from roll_vec.kernels.frozen_lake import rules as kernels
from roll_vec.options import check_bool, check_choice, check_int, check_number
from roll_vec.stacked.options import (
    MAX_SCALE,
    OBS_MODES,
    RENDER_MODES,
    ActionOptions,
)

__all__ = ["FrozenLakeOptions", "parse_map", "start_distribution", "tile_codes"]

ACTION_LOOKUP = dict(enumerate(DIRECTIONS))

MAPS = {
    "4x4": ("SFFF", "FHFH", "FFFH", "HFFG"),
    "8x8": (
        "SFFFFFFF",
        "FFFFFFFF",
        "FFFHFFFF",
        "FFFFFHFF",
        "FFFHFFFF",
        "FHHFFFHF",
        "FHFFHFHF",
        "FFFHFFFG",
    ),
}
_TILES = {
    b"S": kernels.ICE,
    b"F": kernels.ICE,
    b"H": kernels.HOLE,
    b"G": kernels.GOAL,
}


def parse_map(desc: Any) -> NDArray[np.bytes_]:
    """Return a map as an (H, W) array of S, F, H and G bytes.

    Raises
    ------
    InvalidOptionError
        If it is not a rectangle of these letters with a start from which a goal can
        be reached.
    """
    try:
        tiles = np.asarray(desc, dtype="c")
    except (TypeError, ValueError):
        tiles = np.empty(0, "c")
    if tiles.ndim != 2 or not tiles.size:
        message = f"desc: expected rows of one length of the letters SFHG, got {desc!r}"
        raise InvalidOptionError(message)
    unknown = sorted(set(tiles.ravel().tolist()) - set(_TILES))
    if unknown:
        shown = b"".join(unknown).decode("latin-1")
        message = (
            f"desc: expected only the letters S, F, H and G, got {shown!r} as well"
        )
        raise InvalidOptionError(message)
    neighbours = kernels.make_neighbours(*tiles.shape)
    reached = set(np.flatnonzero(tiles == b"S").tolist())
    if not reached:
        message = f"desc: expected at least one start S, got none in {desc!r}"
        raise InvalidOptionError(message)
    frontier = list(reached)
    flat = tiles.ravel()
    while frontier:
        cell = frontier.pop()
        for ahead in neighbours[cell].tolist():
            if flat[cell] in b"SF" and ahead not in reached and flat[ahead] != b"H":
                reached.add(ahead)
                frontier.append(ahead)
    if not any(flat[cell] == b"G" for cell in reached):
        message = (
            f"desc: expected a way from S to G without holes, got none in {desc!r}"
        )
        raise InvalidOptionError(message)
    return tiles


def tile_codes(desc: NDArray[np.bytes_]) -> NDArray[np.uint8]:
    """Return the (H, W) uint8 codes of a map of bytes: 1 ice, 2 hole, 3 goal."""
    codes = np.zeros(desc.shape, np.uint8)
    for letter, code in _TILES.items():
        codes[desc == letter] = code
    return codes


@dataclasses.dataclass(frozen=True)
class FrozenLakeOptions(ActionOptions):
    """The keywords of `roll_vec/FrozenLake-v1`: Gymnasium's, and how it is shown.

    Parameters
    ----------
    desc : rows of the letters S, F, H, G, or None
        A map of one's own, instead of ``map_name``.
    map_name : str or None
        ``4x4`` or ``8x8``.
    is_slippery : bool
    success_rate : float
        Probability, from 0 to 1, of going where one wants on slippery ice.
    reward_schedule : (float, float, float)
        Rewards for reaching the goal, a hole, ice.
    obs_mode : str
        ``position`` (Gymnasium's integer), ``grid``, ``planes``, ``tiny_rgb``, ``rgb``
        or ``text``.
    render_mode : str or None
        ``human``, ``rgb_array``, ``ansi`` or ``text``.
    render_scale : int
        See `LevelOptions`.
    action_mode, env_instruction, action_pattern, special_token_list, \
format_penalty, match, action_separator, max_actions_per_turn, max_answer_chars
        See `ActionOptions`.

    Raises
    ------
    InvalidOptionError
    """

    GRID_LOOKUP: ClassVar[Mapping[int, str]] = GRID_LOOKUP
    GRID_VOCAB: ClassVar[Mapping[str, str]] = GRID_VOCAB

    desc: Any = None
    map_name: str | None = "4x4"
    is_slippery: bool = True
    success_rate: float = 1.0 / 3.0
    reward_schedule: Sequence[float] = (1, 0, 0)
    obs_mode: str = "position"
    render_mode: str | None = None
    render_scale: int = 1

    def __post_init__(self) -> None:
        super().__post_init__()

        def put(name: str, value: Any) -> None:
            object.__setattr__(self, name, value)

        # What is kept is ours: the caller's arrays and lists may change.
        if self.desc is not None:
            rows = parse_map(self.desc)
            put("desc", tuple(b"".join(row).decode() for row in rows.tolist()))
        elif self.map_name is None:
            message = (
                "desc and map_name: both are None, which would be a random map; "
                "roll_vec/RandomFrozenLake-v0 has a new one from the seed each episode"
            )
            raise InvalidOptionError(message)
        else:
            check_choice("map_name", self.map_name, MAPS)
        put("is_slippery", check_bool("is_slippery", self.is_slippery))
        put("success_rate", check_number("success_rate", self.success_rate, 0.0, 1.0))
        try:
            rewards = tuple(self.reward_schedule)
            numbers = [float(reward) for reward in rewards]
        except (TypeError, ValueError, OverflowError):
            rewards, numbers = (), []
        texts = any(isinstance(reward, str) for reward in rewards)
        if len(numbers) != 3 or texts or not np.isfinite(numbers).all():
            message = (
                "reward_schedule: expected three finite numbers for goal, hole and "
                f"ice, got {self.reward_schedule!r}"
            )
            raise InvalidOptionError(message)
        put("reward_schedule", rewards)
        check_choice("obs_mode", self.obs_mode, ("position", *OBS_MODES))
        check_choice("render_mode", self.render_mode, (None, *RENDER_MODES))
        put("render_scale", check_int("render_scale", self.render_scale, 1, MAX_SCALE))

    @property
    def map(self) -> NDArray[np.bytes_]:
        """The (H, W) map of bytes, new."""
        if self.desc is not None:
            return np.asarray(self.desc, dtype="c")
        return np.asarray(MAPS[self.map_name or ""], dtype="c")

    @property
    def schedule(self) -> NDArray[np.float64]:
        """(3,) float64: rewards for goal, hole and ice."""
        return np.array(self.reward_schedule, np.float64)

    @property
    def action_lookup(self) -> Mapping[int, str]:
        """Names of Gymnasium's actions."""
        return ACTION_LOOKUP

    @property
    def grid_lookup(self) -> Mapping[int, str]:
        """Characters of the codes in text."""
        return GRID_LOOKUP

    @property
    def grid_vocab(self) -> Mapping[str, str]:
        """What the characters mean."""
        return GRID_VOCAB

    def describe(self) -> str:
        """Return what the game is about, for the instructions."""
        text = describe_lake(self.is_slippery)
        if self.obs_mode != "position":
            return text
        height, width = self.map.shape
        return (
            f"{text} You are told the number of your cell: 0 is the first of {height} "
            f"rows of {width} cells, {width} the first of the second row."
        )


def start_distribution(desc: NDArray[np.bytes_]) -> NDArray[np.float64]:
    """Return the (H * W,) probabilities of starting in each cell of a map."""
    starts = (desc == b"S").astype(np.float64).ravel()
    distribution: NDArray[np.float64] = starts / starts.sum()
    return distribution
