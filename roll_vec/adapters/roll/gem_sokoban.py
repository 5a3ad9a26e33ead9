"""Sokoban of ROLL's pipeline: its rewards and ends of episodes."""

from __future__ import annotations

from typing import Any

from roll_vec.adapters.roll.gem_grid_env import GemGridEnv, GemGridOptions
from roll_vec.envs.sokoban.options import SokobanOptions
from roll_vec.options import takes_keywords_of


class GemSokobanEnv(GemGridEnv):
    """ROLL's ``sokoban``: an answer without an action is a step, too.

    The step limit terminates an episode, as in ROLL; it also truncates it, unless the
    room is solved or the last answer had no action.

    Parameters
    ----------
    **keywords
        Those of `GemGridOptions`, and those of
        `roll_vec.envs.sokoban.options.SokobanOptions` with ROLL's defaults: rooms of
        10 × 10 cells with 4 boxes.

    Raises
    ------
    InvalidOptionError, UnknownOptionError
    """

    ENV_ID = "roll_vec/Sokoban-v0"
    OPTIONS = SokobanOptions
    ACTION_START = 1
    INSTRUCTION = (
        "You are solving the Sokoban puzzle. "
        "You are the player and you need to push all boxes to targets. "
        "When you are right next to a box, you can push it by moving in the same "
        "direction. "
        "You cannot push a box through a wall, and you cannot pull a box. "
        "The answer must be one of action in a turn, format is <answer>Right</answer>."
    )

    @takes_keywords_of(GemGridOptions, open_end=True)
    def __init__(self, **keywords: Any) -> None:
        options, keywords = self.split_env_config(keywords)
        if keywords.get("levels") is None:
            keywords = {"dim_room": (10, 10), "num_boxes": 4, **keywords}
        super().__init__(options, {**keywords, "max_steps": options.max_steps})

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
