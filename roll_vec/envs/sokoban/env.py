"""Sokoban as ROLL plays it: the engine of N rooms, the single form."""

from __future__ import annotations

import dataclasses
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from roll_vec.envs.sokoban.level_files import GivenSource
from roll_vec.envs.sokoban.rooms import RoomGenerator, SokobanOptions
from roll_vec.kernels.sokoban import rules as kernels
from roll_vec.kernels.sokoban.unroll import unroll_rows
from roll_vec.options import parse_options, takes_keywords_of
from roll_vec.stacked.grid_observations import BoardView
from roll_vec.stacked.levels import LevelEngine, Levels, LevelSource, Source
from roll_vec.stacked.rollout_buffer import Tape
from roll_vec.stacked.row_threads import run_rows
from roll_vec.stacked.single_env import LevelEnv
from roll_vec.stacked.text_actions import BatchResult

__all__ = ["Sokoban", "SokobanEngine", "SokobanOptions"]

# Rows of a step below which a second thread costs more than it saves: handing a part
# over takes 20 to 130 us, a row 7 ns.
STEP_ROWS_PER_THREAD = 1 << 15


def _make_view(options: SokobanOptions, num_threads: int = 1) -> BoardView:
    assert options.grid_lookup is not None
    return BoardView(
        "sokoban",
        options.dim_room,
        kernels.NUM_CODES,
        options.grid_lookup,
        options.obs_mode,
        num_threads,
    )


def _make_source(options: SokobanOptions, num_threads: int = 1) -> Source:
    if options.levels is not None:
        return GivenSource(options.levels, options.num_levels, options.start_level)
    return LevelSource(
        RoomGenerator(options, num_threads),
        options.num_levels,
        options.start_level,
        options.dim_room[0] * options.dim_room[1],
    )


class SokobanEngine(LevelEngine):
    """N rooms in stacked arrays; see `roll_vec.vector.engine.Engine`.

    Attributes
    ----------
    cells : (n, H * W) uint8
        Codes of `roll_vec.kernels.sokoban.rules`: the whole state of the rooms.
    players, boxes_left : (n,) int32
        Derived from the cells: the player's cell, row * W + column, and how many
        boxes are not on targets.
    elapsed_steps : (n,) int32
    """

    STATE: ClassVar[tuple[str, ...]] = (
        *LevelEngine.STATE,
        "cells",
        "players",
        "boxes_left",
        *LevelEngine.STREAMS,
    )
    STATE_QUERIES: ClassVar[tuple[str, ...]] = (
        "boxes_on_target",
        "num_boxes",
        "num_env_steps",
        "player_position",
        "room_fixed",
        "room_state",
    )
    SHARED_QUERIES: ClassVar[tuple[str, ...]] = (
        "get_all_actions",
        "get_instructions",
    )

    def __init__(
        self,
        options: SokobanOptions,
        num_envs: int,
        max_episode_steps: int | None,
        num_threads: int,
    ) -> None:
        view = _make_view(options, num_threads)
        super().__init__(options, num_envs, max_episode_steps, num_threads, view)
        self.source = _make_source(options, num_threads)
        height, width = options.dim_room
        self.cells = np.zeros((num_envs, height * width), np.uint8)
        self.players = np.zeros(num_envs, np.int32)
        self.boxes_left = np.zeros(num_envs, np.int32)

    def _place(
        self,
        rows: NDArray[np.int64],
        levels: Levels,
        picks: NDArray[np.int64],
        seeds: NDArray[np.uint64],
    ) -> None:
        flat = levels[0].reshape(len(levels[0]), -1)
        run_rows(
            lambda start, stop: kernels.place_rows(
                start,
                stop,
                rows,
                flat,
                picks,
                self.cells,
                self.players,
                self.boxes_left,
            ),
            len(rows),
            self.num_threads,
            STEP_ROWS_PER_THREAD,
        )

    def _play(
        self, actions: NDArray[np.int64], skip_mask: NDArray[np.bool_], max_steps: int
    ) -> BatchResult:
        n = self.num_envs
        rewards = np.empty(n, np.float64)
        flags = np.empty((5, n), np.bool_)
        terminations, truncations, effective, valid, successes = flags
        run_rows(
            lambda start, stop: kernels.step_rows(
                start,
                stop,
                actions,
                skip_mask,
                self.first_action,
                self.options.dim_room[1],
                max_steps,
                self.cells,
                self.players,
                self.boxes_left,
                self.elapsed_steps,
                rewards,
                terminations,
                truncations,
                effective,
                valid,
                successes,
            ),
            n,
            self.num_threads,
            STEP_ROWS_PER_THREAD,
        )
        values = {
            "action_is_effective": effective,
            "action_is_valid": valid,
            "success": successes,
        }
        return rewards, terminations, truncations, values

    def _play_on(self, rows: NDArray[np.int64], until: int, tape: Tape) -> None:
        run_rows(
            lambda start, stop: unroll_rows(
                start,
                stop,
                rows,
                until,
                tape.same_step,
                tape.actions,
                self.first_action,
                self.options.dim_room[1],
                self.max_steps,
                self.cells,
                self.players,
                self.boxes_left,
                self.elapsed_steps,
                tape.times,
                tape.states,
                tape.rewards,
                tape.terminations,
                tape.truncations,
                tape.effective,
                tape.valid,
                tape.successes,
                tape.seen,
                tape.seen_next,
            ),
            len(rows),
            self.num_threads,
            1 + STEP_ROWS_PER_THREAD // len(tape.actions),
            self.unroll_slices,
        )

    def _grids(self, rows: NDArray[np.int64] | None = None) -> NDArray[np.uint8]:
        cells = self.cells if rows is None else self.cells[rows]
        return cells.reshape(-1, *self.options.dim_room)

    def single_form(self) -> Sokoban:
        """Return a single form with these options."""
        return Sokoban(**dataclasses.asdict(self.options))

    def pose(self, env: Sokoban, row: int) -> None:
        """Put a single form into the state of one row."""
        env.grid = self.cells[row].reshape(self.options.dim_room).copy()
        env.player = int(self.players[row])
        env.boxes_left = int(self.boxes_left[row])
        env.num_env_steps = int(self.elapsed_steps[row])


class Sokoban(LevelEnv):
    """One room: the form that `gymnasium.make("roll_vec/Sokoban-v0")` gives.

    Rules, levels and rewards are those of ROLL's SokobanEnv (35bea6a2).

    Parameters
    ----------
    **keywords
        Those of `SokobanOptions`.

    Notes
    -----
    Actions: 1 up, 2 down, 3 left, 4 right; 0 is accepted as "no valid action", and
    gives a warning, once, unless ``action_start=1``.  An agent that counts from 0 plays
    action + ``action_space.start``, or with ``action_start=0``: 0 up, 1 down, 2 left,
    3 right.
    Reward: -0.1 a step, +1 and -1 for a box pushed on and off a target, +10 with all
    boxes on targets, which ends the episode.  Info of a step: ``action_is_effective``
    (the player moved), ``action_is_valid``, ``success``.

    Attributes
    ----------
    grid : (H, W) uint8
        0 wall, 1 floor, 2 target, 3 box on target, 4 box, 5 player, 6 player on target.
    player : int
        The player's cell, row * W + column.
    boxes_left : int
        Boxes that are not on targets.
    """

    @takes_keywords_of(SokobanOptions)
    def __init__(self, **keywords: Any) -> None:
        options = parse_options(SokobanOptions, keywords)
        super().__init__(options, _make_view(options))
        self._source = _make_source(options)
        self.grid = np.zeros(options.dim_room, np.uint8)
        self.player = 0
        self.boxes_left = 0

    @property
    def dim_room(self) -> tuple[int, int]:
        """Rows and columns of the room."""
        return self.options.dim_room  # type: ignore[no-any-return]

    @property
    def num_boxes(self) -> int:
        """Number of boxes, and of targets; of given levels that of the one played."""
        if self.options.levels is None:
            return self.options.num_boxes  # type: ignore[no-any-return]
        return self.boxes_on_target + self.boxes_left

    @property
    def boxes_on_target(self) -> int:
        """Number of boxes that are on targets."""
        return int(np.count_nonzero(self.grid == kernels.BOX_ON_TARGET))

    @property
    def room_fixed(self) -> NDArray[np.uint8]:
        """(H, W) uint8: 0 wall, 1 floor, 2 target."""
        return np.array([0, 1, 2, 2, 1, 1, 2], np.uint8)[self.grid]

    @property
    def room_state(self) -> NDArray[np.uint8]:
        """(H, W) uint8: the codes 0 to 5; the player is 5 on a target as well."""
        return np.minimum(self.grid, kernels.PLAYER)

    @property
    def player_position(self) -> NDArray[np.int64]:
        """(2,) int64: row and column."""
        return np.array(divmod(self.player, self.dim_room[1]))

    def _grid(self) -> NDArray[np.uint8]:
        return self.grid

    def _begin(self, episode_seed: int) -> None:
        (levels,), picks = self._source.pick(np.array([episode_seed], np.uint64))
        self.grid = levels[picks[0]].copy()
        self.player = int(np.flatnonzero(self.grid >= kernels.PLAYER)[0])
        self.boxes_left = int(np.count_nonzero(self.grid == kernels.BOX))

    def _play(self, action: int) -> tuple[float, bool, dict[str, Any]]:
        player, boxes_left, reward = kernels.step_row(
            self.grid.reshape(1, -1),
            0,
            self.dim_room[1],
            self.player,
            self.boxes_left,
            action - self.first_action + kernels.UP,
        )
        effective = bool(player != self.player)
        self.player, self.boxes_left = int(player), int(boxes_left)
        success = self.boxes_left == 0
        info = {
            "action_is_effective": effective,
            "action_is_valid": action >= self.first_action,
            "success": success,
        }
        return float(reward), success, info
