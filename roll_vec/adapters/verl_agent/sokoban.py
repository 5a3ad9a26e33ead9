"""Sokoban with verl-agent's methods."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from roll_vec.adapters.tiles import load_sokoban_tiles, paint_rooms
from roll_vec.adapters.verl_agent.envs import (
    Groups,
    Info,
    VerlAgentEnvs,
    merge_keywords,
)
from roll_vec.envs.sokoban import Sokoban
from roll_vec.kernels.sokoban.moves import PENALTY_STEP
from roll_vec.options import check_choice, check_int
from roll_vec.recordings.readers.verl_agent import TEXTS
from roll_vec.trajectories import to_json

# The ends of verl-agent's ranges of seeds.
TRAIN_SEEDS, VALIDATION_SEEDS = (0, (1 << 16) - 1), (1 << 16, (1 << 32) - 1)
MODES = ("tiny_rgb_array", "list", "state", "rgb_array")


class SokobanEnvs(VerlAgentEnvs):
    """Environments of Sokoban: actions are 0 to 4.

    Action 0, "still", is no step: it does not count against the step limit.

    Parameters
    ----------
    groups : Groups
    env_kwargs, mode
        See `roll_vec.adapters.verl_agent.build_sokoban_envs`.

    Raises
    ------
    InvalidOptionError, InvalidSeedError, UnknownOptionError, ImportError
    """

    def __init__(
        self, groups: Groups, env_kwargs: Mapping[str, Any] | None, mode: str
    ) -> None:
        self.mode = check_choice("mode", mode, MODES)
        if mode == "rgb_array":
            load_sokoban_tiles()  # raises an ImportError now
        # verl-agent ends every cell of a text with a tab.
        glyphs = {code: f" {glyph} \t" for code, glyph in Sokoban.FAMILY.glyphs.items()}
        keywords = merge_keywords(
            env_kwargs, obs_mode="grid", action_start=1, grid_lookup=glyphs
        )
        # The registered limit is verl-agent's default, too.
        keywords["max_episode_steps"] = keywords.pop("max_steps", None)
        super().__init__("roll_vec/Sokoban-v0", groups, keywords)

    def episode_facts(self) -> list[dict[str, Any]]:
        """Return what plays each episode again: a column of verl-agent's dumps.

        See `roll_vec.recordings.readers.verl_agent`.

        Returns
        -------
        list of dict
            For each environment ``id``, ``keywords``, ``seed`` and ``turn``, the number
            of calls of `step` since the reset.
        """
        names = self._keywords.keys() - {
            "autoreset_mode",
            "action_start",
            "grid_lookup",
        }
        keywords = {name: self._keywords[name] for name in sorted(names)} | TEXTS
        facts = {"id": self.envs.spec.id, "keywords": to_json(keywords)}
        seeds = np.repeat(self._tasks, self.group_n).tolist()
        return [{**facts, "seed": seed, "turn": self._num_turns} for seed in seeds]

    def _draw_tasks(self) -> NDArray[np.int64]:
        low, high = TRAIN_SEEDS if self.is_train else VALIDATION_SEEDS
        return self._rng.randint(low, high, size=self.env_num, dtype=np.int64)

    def _begin(self, tasks: NDArray[np.int64]) -> list[Info]:
        seeds = np.repeat(tasks, self.group_n).tolist()
        self._observations, _ = self.envs.reset(seed=seeds)
        return [{"won": False} for _ in seeds]

    def _idle_outcomes(self, actions: Sequence[Any]) -> dict[int, tuple[float, Info]]:
        info = {"action_is_effective": False, "won": False}
        return {
            i: (PENALTY_STEP, info)
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
        elif mode == "rgb_array":
            frames = list(paint_rooms(grids))
        else:
            frames = list(engine.observer.frames(grids, "text"))
        if mode == "list":
            lines = [text.split("\n") for text in frames]
            frames = [[" ".join(row.split()) for row in rows] for rows in lines]
        return frames if env_idx is None else frames[0]
