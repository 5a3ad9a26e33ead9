"""FrozenLake of ROLL's pipeline: its rewards and ends of episodes."""

from __future__ import annotations

from typing import Any

from roll_vec.adapters.lake_pictures import resize_lake
from roll_vec.adapters.roll.gem_grid_env import GemGridEnv, GemGridOptions
from roll_vec.envs.frozen_lake.options import RandomFrozenLakeOptions
from roll_vec.options import takes_keywords_of
from roll_vec.seeding import check_seed


class GemFrozenLakeEnv(GemGridEnv):
    """ROLL's ``frozen_lake``: an answer without an action moves nothing.

    Pictures have 64 pixels a cell, and at most 512 a side, as ROLL's.

    As in ROLL the step limit ends no episode: ROLL's environment manager has its own.
    An episode that ends in a hole at the limit or later is truncated as well.

    Parameters
    ----------
    map_seed : int or None
        Without effect on episodes of a seed, as in ROLL: the seed of a first reset
        without one.
    **keywords
        Those of `GemGridOptions`, and those of
        `roll_vec.envs.frozen_lake.options.RandomFrozenLakeOptions`, whose defaults are
        ROLL's.

    Raises
    ------
    InvalidOptionError, UnknownOptionError
    """

    ENV_ID = "roll_vec/RandomFrozenLake-v0"
    OPTIONS = RandomFrozenLakeOptions
    ACTION_START = 0
    INSTRUCTION = (
        "You are solving the FrozenLake puzzle. "
        "Forbid the whole and go to the target. "
        "You may move to the unintended direction due to the slippery ice. "
        "The answer must be one of action in a turn, format is <answer>Right</answer>"
    )

    @takes_keywords_of(GemGridOptions, open_end=True)
    def __init__(self, *, map_seed: int | None = None, **keywords: Any) -> None:
        self._map_seed = None if map_seed is None else check_seed(map_seed)
        self._success = False
        super().__init__(*self.split_env_config(keywords))

    def reset(self, seed: int | None = None) -> tuple[Any, dict[str, Any]]:
        """Start a new episode; see `GemEnv.reset`."""
        if seed is None:
            seed = self._map_seed
        self._map_seed, self._success = None, False
        return super().reset(seed)

    def step(self, action: str) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        """Take the action of a model's answer; see `GemEnv.step`."""
        parsed = self.parse_action(action)
        if parsed["action"] is None:
            self._check_running()
            self._turn += 1
            info = self._invalid_info(parsed, self._success)
            return self._observation, self.format_penalty, False, False, info
        result = self._take(parsed["action"])
        observation, reward, terminated, _, outcome = result
        self._success = bool(outcome["success"])
        truncated = terminated and not self._success and self._turn >= self.max_steps
        info = self._valid_info(parsed, outcome, self.format_penalty)
        return observation, reward, terminated, truncated, info

    def _resize(self, frame: Any) -> Any:
        return resize_lake(frame)
