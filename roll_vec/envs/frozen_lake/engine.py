"""What both FrozenLake families share: codes, the view, the step of N lakes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from roll_vec.kernels.frozen_lake import rules as kernels
from roll_vec.kernels.rng.pcg64 import PCG_WORDS
from roll_vec.stacked.engine import ArrayEngine
from roll_vec.stacked.grid_observations import BoardView
from roll_vec.stacked.row_threads import run_rows
from roll_vec.stacked.text_actions import BatchResult

__all__ = [
    "DIRECTIONS",
    "GRID_LOOKUP",
    "GRID_VOCAB",
    "STEP_ROWS_PER_THREAD",
    "LakeEngine",
    "describe_lake",
    "make_view",
]

# Rows of a step below which a second thread costs more than it saves: handing a part
# over takes 20 to 130 us, a row 4 ns.
STEP_ROWS_PER_THREAD = 1 << 16

GRID_LOOKUP = {0: "P", 1: "_", 2: "O", 3: "G", 4: "X", 5: "√"}
GRID_VOCAB = {
    "P": "player",
    "_": "empty",
    "O": "hole",
    "G": "goal",
    "X": "player in hole",
    "√": "player on goal",
}
# Gymnasium's directions are its actions; ROLL's actions are one higher.
DIRECTIONS = ("Left", "Down", "Right", "Up")


def describe_lake(is_slippery: bool) -> str:
    """Return what the game is about, for the instructions."""
    text = (
        "Walk over a frozen lake from where you are to the goal. "
        "Who steps into a hole has lost; there is no way past the edge of the lake."
    )
    if not is_slippery:
        return text
    return text + (
        " The ice is slippery: a step may take you to the left or to the right of "
        "where it was meant to go."
    )


def make_view(
    shape: tuple[int, int],
    lookup: Mapping[int, str],
    obs_mode: str,
    num_threads: int = 1,
) -> BoardView:
    """Return the view of a lake."""
    return BoardView(
        "frozen_lake", shape, kernels.NUM_CODES, lookup, obs_mode, num_threads
    )


class LakeEngine(ArrayEngine):
    """What both FrozenLake engines share: the step and the grids of N lakes.

    Attributes
    ----------
    maps : (n, H * W) or (1, H * W) uint8
        Tile codes of `roll_vec.kernels.frozen_lake.rules`; one map for all in the
        latter.
    positions : (n,) int64
        Row * W + column.
    noise : (6, n) uint64
        PCG64 streams that the slips are drawn from.
    """

    STATE: ClassVar[tuple[str, ...]] = (*ArrayEngine.STATE, "positions", "noise")

    options: Any
    maps: NDArray[np.uint8]

    def _allocate(self, slip: NDArray[np.float64], schedule: Sequence[float]) -> None:
        self.slip = slip
        self.schedule = np.array(schedule, np.float64)
        self.neighbours = kernels.make_neighbours(*self.view.shape)
        self.positions = np.zeros(self.num_envs, np.int64)
        self.noise = np.zeros((PCG_WORDS, self.num_envs), np.uint64)

    def _play(
        self, actions: NDArray[np.int64], skip_mask: NDArray[np.bool_], max_steps: int
    ) -> BatchResult:
        n = self.num_envs
        rewards, probs = np.empty(n, np.float64), np.empty(n, np.float64)
        flags = np.empty((5, n), np.bool_)
        terminations, truncations, effective, valid, successes = flags
        run_rows(
            lambda start, stop: kernels.step_rows(
                start,
                stop,
                actions,
                skip_mask,
                self.first_action,
                max_steps,
                self.maps,
                self.neighbours,
                self.slip,
                self.schedule,
                self.positions,
                self.elapsed_steps,
                self.noise,
                rewards,
                terminations,
                truncations,
                effective,
                valid,
                successes,
                probs,
            ),
            n,
            self.num_threads,
            STEP_ROWS_PER_THREAD,
        )
        values = {
            "action_is_effective": effective,
            "action_is_valid": valid,
            "success": successes,
            "prob": probs,
        }
        return rewards, terminations, truncations, values

    def _grids(self, rows: NDArray[np.int64] | None = None) -> NDArray[np.uint8]:
        maps, positions = self.maps, self.positions
        if rows is not None:
            positions = positions[rows]
            maps = maps if len(maps) < self.num_envs else maps[rows]
        grids = np.empty((len(positions), maps.shape[1]), np.uint8)
        run_rows(
            lambda start, stop: kernels.write_grids(
                start, stop, maps, positions, grids
            ),
            len(positions),
            self.num_threads,
            STEP_ROWS_PER_THREAD,
        )
        return grids.reshape(-1, *self.view.shape)
