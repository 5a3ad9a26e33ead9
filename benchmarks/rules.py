"""Greedy play: a simple rule for each game, which looks one action ahead.

A rule sees the observations alone.  Equal actions are chosen between by random words of
seed, episode and step.
"""

from __future__ import annotations

import importlib
import re
import sys
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from types import ModuleType
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from roll_vec.trajectories import Turn

EXAMPLES = str(Path(__file__).parents[1] / "docs" / "examples")
# The policy's own seed: no seed of an episode.
SEED = 0
_WALL, _FLOOR, _TARGET, _BOX_ON_TARGET, _BOX, _PLAYER = range(6)
_LAKE_PLAYER, _LAKE_HOLE, _LAKE_GOAL = 0, 2, 3


def import_example(name: str) -> ModuleType:
    """Import a module of docs/examples; they import each other by their bare names."""
    if EXAMPLES not in sys.path:
        sys.path.append(EXAMPLES)
    return importlib.import_module(name)


def _ties(turn: Turn) -> NDArray[np.float64]:
    """Return (num_envs, 4) uniforms in [0, 1) that choose between equal actions."""
    columns = [turn.random_words(SEED + 1 + column) for column in range(4)]
    return np.stack(columns, axis=1) / 2.0**64


class SokobanRule:
    """Push a box nearer to a target if a push is at hand, or else walk anywhere.

    "Nearer" counts the pushes to the nearest target, with walls but without other
    boxes.  No box is pushed to a cell from which it cannot get to a target, as long as
    there is another action.
    """

    KEYWORDS: ClassVar = {"obs_mode": "grid", "action_start": 1}

    def __init__(self, envs: Any) -> None:
        height, width = envs.single_observation_space.shape
        self._tables = np.zeros((envs.num_envs, height * width), np.float32)
        self._rooms = import_example("rooms")

    def __call__(self, turn: Turn) -> NDArray[np.int64]:
        """Return an action for each environment."""
        grids = turn.observations
        is_new = turn.steps == 0
        if is_new.any():
            self._tables[is_new] = self._rooms.push_distances(grids[is_new])
        actions: NDArray[np.int64] = self._rooms.greedy_actions(
            grids, self._tables, _valid_moves(grids), _ties(turn)
        )
        return actions


def _valid_moves(grids: NDArray[np.uint8]) -> NDArray[np.bool_]:
    """Return (n, 4) bool: up, down, left, right changes something."""
    cells = grids.reshape(len(grids), -1)
    player = (cells >= _PLAYER).argmax(1)[:, None]
    width = grids.shape[-1]
    ahead = player + np.array([-width, width, -1, 1])
    # Beyond a wall may be outside.
    beyond = (2 * ahead - player).clip(0, cells.shape[1] - 1)
    next_codes = np.take_along_axis(cells, ahead, 1)
    codes_beyond = np.take_along_axis(cells, beyond, 1)
    is_box = (next_codes == _BOX) | (next_codes == _BOX_ON_TARGET)
    is_free = (codes_beyond == _FLOOR) | (codes_beyond == _TARGET)
    valid: NDArray[np.bool_] = (next_codes != _WALL) & (~is_box | is_free)
    return valid


class LakeRule:
    """Step to the neighbour that is nearest to the goal as the crow flies, past holes.

    Distances are in rows plus columns.  Slips are not thought of.
    """

    KEYWORDS: ClassVar = {"obs_mode": "grid"}
    # Left, down, right, up.
    _ROWS, _COLUMNS = np.array([0, 1, 0, -1]), np.array([-1, 0, 1, 0])

    def __init__(self, envs: Any) -> None:
        self._start = int(envs.single_action_space.start)

    def __call__(self, turn: Turn) -> NDArray[np.int64]:
        """Return an action for each environment."""
        grids = turn.observations
        num_envs, height, width = grids.shape
        cells = grids.reshape(num_envs, -1)
        player, goal = (
            np.divmod((cells == code).argmax(1)[:, None], width)
            for code in (_LAKE_PLAYER, _LAKE_GOAL)
        )
        rows, columns = player[0] + self._ROWS, player[1] + self._COLUMNS
        is_inside = (rows >= 0) & (rows < height) & (columns >= 0) & (columns < width)
        ahead = (rows * width + columns).clip(0, height * width - 1)
        is_hole = np.take_along_axis(cells, ahead, 1) == _LAKE_HOLE
        cost = abs(rows - goal[0]) + abs(columns - goal[1]) + _ties(turn)
        cost += (height + width) * (is_hole | ~is_inside)
        actions: NDArray[np.int64] = self._start + cost.argmin(1)
        return actions


class CountdownRule:
    """From the greatest number on, the operator that leads nearest to the target."""

    KEYWORDS: ClassVar[dict[str, Any]] = {}

    def __init__(self, envs: Any) -> None:
        pass

    def __call__(self, turn: Turn) -> list[str]:
        """Return an expression for each environment."""
        return [self._answer(text) for text in turn.observations]

    def _answer(self, observation: str) -> str:
        target, *numbers = map(int, re.findall(r"\d+", observation))
        first, *others = sorted(numbers, reverse=True)
        text, value = str(first), Fraction(first)
        for number in others:
            values = {
                "+": value + number,
                "-": value - number,
                "*": value * number,
                "/": value / number,
            }
            operator = min(values, key=lambda name: abs(values[name] - target))
            text, value = f"({text} {operator} {number})", values[operator]
        return text


class WebShopRule:
    """Search for the instruction's own words, open the first product, buy it."""

    KEYWORDS: ClassVar = {"observation_mode": "text", "observation_format": "page"}

    def __init__(self, envs: Any) -> None:
        pass

    def __call__(self, turn: Turn) -> list[str]:
        """Return a search or a click for each environment."""
        return [self._answer(text.split(" [SEP] ")) for text in turn.observations]

    def _answer(self, page: list[str]) -> str:
        if page[-1] == "Search":
            # Brackets would end the action.
            return f"search[{re.sub(r'[][]', ' ', page[2])}]"
        if page[-1] == "Buy Now":
            return "click[buy now]"
        if "Next >" in page[:-1]:
            return f"click[{page[page.index('Next >') + 1]}]"
        # Without a result, or past the end of the episode.
        return "click[back to search]"


RULES: dict[str, Callable[[Any], Any]] = {
    "roll_vec/Sokoban-v0": SokobanRule,
    "roll_vec/FrozenLake-v1": LakeRule,
    "roll_vec/FrozenLake8x8-v1": LakeRule,
    "roll_vec/RandomFrozenLake-v0": LakeRule,
    "roll_vec/Countdown-v0": CountdownRule,
    "roll_vec/WebShop-v0": WebShopRule,
}
