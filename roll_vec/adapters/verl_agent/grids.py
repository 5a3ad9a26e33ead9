"""Sokoban and FrozenLake with verl-agent's methods."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from roll_vec.adapters.tiles import GYM_SOKOBAN, OWN, join_cells, load_sokoban_tiles
from roll_vec.adapters.verl_agent.envs import Groups, Info, VerlAgentEnvs, take_keywords
from roll_vec.arrays.grid_family import GridFamily
from roll_vec.options import check_choice, check_int

MODES = ("tiny_rgb_array", "list", "state", "rgb_array")
TILES = (GYM_SOKOBAN, OWN)


class GridGame(NamedTuple):
    """A game on a grid."""

    id: str
    family: GridFamily
    still_reward: float
    """The reward of action 0."""


class GridEnvs(VerlAgentEnvs):
    """Environments on grids: actions are 0 to 4.

    Action 0, "still", is no step: it does not count against the step limit.

    Parameters
    ----------
    game : GridGame
    groups : Groups
    env_kwargs, mode, tiles
        See `roll_vec.adapters.verl_agent.build_sokoban_envs`.

    Raises
    ------
    InvalidOptionError, InvalidSeedError, UnknownOptionError
    """

    def __init__(
        self,
        game: GridGame,
        groups: Groups,
        env_kwargs: Mapping[str, Any] | None,
        *,
        mode: str,
        tiles: str,
    ) -> None:
        check_choice("mode", mode, MODES)
        check_choice("tiles", tiles, TILES)
        self.mode, self._still_reward = mode, game.still_reward
        # RAGEN's glyphs, which verl-agent has taken over: every cell ends with a tab.
        glyphs = {code: f" {glyph} \t" for code, glyph in game.family.glyphs.items()}
        keywords = take_keywords(
            env_kwargs, obs_mode="grid", action_start=1, grid_lookup=glyphs
        )
        # The registered limit is verl-agent's default, too.
        keywords["max_episode_steps"] = keywords.pop("max_steps", None)
        self._tiles: NDArray[np.uint8] | None = None
        if tiles == GYM_SOKOBAN and mode == "rgb_array":
            self._tiles = load_sokoban_tiles()
        super().__init__(game.id, groups, keywords)

    def _idle_outcomes(self, actions: Sequence[Any]) -> dict[int, tuple[float, Info]]:
        info = {"action_is_effective": False, "won": False}
        return {
            i: (self._still_reward, info)
            for i, (action, ended) in enumerate(zip(actions, self._ended, strict=True))
            if not ended and action == 0
        }

    def _outcome(self, i: int, reward: float, infos: Info) -> tuple[float, Info]:
        effective, success = infos["action_is_effective"][i], infos["success"][i]
        return reward, {"action_is_effective": bool(effective), "won": bool(success)}

    def _observe(self) -> list[Any]:
        return self.render(self.mode)  # type: ignore[no-any-return]

    def render(self, mode: str = "rgb_array", env_idx: int | None = None) -> Any:
        """Return the grid of an environment, or a list of all grids.

        Parameters
        ----------
        mode : str
            ``tiny_rgb_array``: a str with a line for each row; ``list``: a str for each
            row; ``state``: (H, W) int64 codes; ``rgb_array``: (16 H, 16 W, 3) uint8.
        env_idx : int or None

        Raises
        ------
        InvalidOptionError
        """
        check_choice("mode", mode, MODES)
        if env_idx is not None:
            check_int("env_idx", env_idx, 0, self.num_processes - 1)
        engine, env_ids = self.envs.engine, np.arange(self.num_processes)
        grids = engine.grids(env_ids if env_idx is None else env_ids[[env_idx]])
        if mode == "state":
            frames = list(grids.astype(np.int64))
        elif mode == "rgb_array" and self._tiles is not None:
            frames = list(join_cells(self._tiles[grids]))
        elif mode == "rgb_array":
            frames = list(engine.observer.frames(grids, "rgb_array"))
        else:
            frames = list(engine.observer.frames(grids, "text"))
        if mode == "list":
            lines = [text.split("\n") for text in frames]
            frames = [[" ".join(row.split()) for row in rows] for rows in lines]
        return frames if env_idx is None else frames[0]
