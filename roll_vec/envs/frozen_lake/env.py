"""One frozen lake as a `gymnasium.Env`, with Gymnasium's map or ROLL's random maps."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from roll_vec.arrays.single_env import LevelEnv, SingleEnv, read_only
from roll_vec.envs.frozen_lake.options import FrozenLakeOptions, RandomFrozenLakeOptions
from roll_vec.envs.frozen_lake.solver import LakeSolution
from roll_vec.kernels.frozen_lake import rules
from roll_vec.options import accepts_keywords_of, parse_options


class LakeEnv(SingleEnv):
    """One lake: what both families have."""

    @property
    def tiles(self) -> NDArray[np.uint8]:
        """(H, W) uint8: 1 ice, 2 hole, 3 goal; it cannot be written."""
        tiles: NDArray[np.uint8] = self._engine.variables[0][0]
        return read_only(tiles.reshape(self.nrow, self.ncol))

    def solve(
        self, objective: str = "moves"
    ) -> LakeSolution | NDArray[np.int64] | None:
        """Return the best play from the present cell, without regard to step limits.

        Parameters
        ----------
        objective : str
            ``moves``, the only one.

        Returns
        -------
        LakeSolution, (k,) int64, or None
            On slippery ice a `LakeSolution`.  Without slips the fewest actions that
            lead to a goal, none on a goal; None if there is no way.

        Raises
        ------
        InvalidOptionError
            For another objective.
        SolverLimitError
            For slippery maps of more than 161 x 161 cells.
        ResetNeededError, ClosedError
        """
        return super().solve(objective)  # type: ignore[no-any-return]

    def _first_action(self, solution: Any) -> int | None:
        if not isinstance(solution, LakeSolution):
            return super()._first_action(solution)
        is_over = rules.is_terminal(self.tiles.flat[self.s])
        is_lost = solution.value == 0.0 or is_over
        return None if is_lost else int(solution.policy[self.s])


class FrozenLake(LakeEnv):
    """Walk over a frozen lake to the goal, and do not fall into a hole.

    The player walks one cell at a time.  On slippery ice a step may lead to the left or
    to the right of its direction.

    Parameters
    ----------
    **keywords
        Those of `FrozenLakeOptions`.

    Actions
    -------
    A text without the name of an action: nothing moves, nothing is drawn, the reward is
    0, ``prob`` is 1, the step counts.

    Rewards
    -------
    1
        The player enters the goal: ``reward_schedule[0]``.
    0
        The player enters a hole: ``reward_schedule[1]``.
    0
        The player enters ice: ``reward_schedule[2]``.

    Episode end
    -----------
    terminated
        The player is on the goal: success.
    terminated
        The player is in a hole.

    Attributes
    ----------
    desc : (H, W) array of bytes
        The map.
    nrow, ncol : int
    tiles : (H, W) uint8
        1 ice, 2 hole, 3 goal.
    s : int
        The player's cell, row * ncol + column; may be set.
    initial_state_distrib : (H * W,) float64

    Infos
    -----
    prob : float64; reset, step
        The probability of the outcome.
    action_is_effective : bool; step; action_mode='text'
        The player has moved.
    success : bool; step; action_mode='text'
        The player is on the goal.

    Sources
    -------
    Gymnasium, FrozenLake-v1 : 1.4.0; https://gymnasium.farama.org/environments/toy_text/frozen_lake/
        slips from the same seeds, steps, rewards, infos

    Differences
    -----------
    - ``map_name=None`` is an error: ``roll_vec/RandomFrozenLake-v0`` has random maps.
    - The text of ``render_mode='ansi'`` is not Gymnasium's.
    - Not there: ``lastaction``, and attributes of pictures such as ``window``.
    """

    @accepts_keywords_of(FrozenLakeOptions)
    def __init__(self, **keywords: Any) -> None:
        options = parse_options(FrozenLakeOptions, keywords)
        super().__init__(options)


class RandomFrozenLake(LakeEnv, LevelEnv):
    """Walk over a frozen lake to the goal, and do not fall into a hole.

    The player walks one cell at a time.  On slippery ice a step may lead to the left or
    to the right of its direction.  Each episode has a new map and a new start.

    Parameters
    ----------
    **keywords
        Those of `RandomFrozenLakeOptions`.

    Actions
    -------
    0 is "no valid action" unless ``action_start=0``: nothing moves, nothing is drawn,
    the reward is 0, the step counts.  So does a text without the name of an action.

    Rewards
    -------
    1
        The player enters the goal.
    0
        Each other step.

    Episode end
    -----------
    terminated
        The player is on the goal: success.
    terminated
        The player is in a hole.

    Attributes
    ----------
    tiles : (nrow, ncol) uint8
        1 ice, 2 hole, 3 goal.
    start, s : int
        The start cell and the player's, row * size + column.

    Infos
    -----
    action_is_effective : bool; step
        The player has moved.
    action_is_valid : bool; step
        The action was not "no valid action".
    success : bool; step
        The player is on the goal.

    Sources
    -------
    ROLL, FrozenLakeEnv : commit 35bea6a2; https://github.com/alibaba/ROLL
        maps, starts and slips from the same seeds, steps, rewards, boards as text

    Differences
    -----------
    - The instruction has other words.
    """

    @accepts_keywords_of(RandomFrozenLakeOptions)
    def __init__(self, **keywords: Any) -> None:
        options = parse_options(RandomFrozenLakeOptions, keywords)
        super().__init__(options)

    @property
    def start(self) -> int:
        """The start cell, row * ncol + column."""
        return int(self._engine.variables[1][0])

    @property
    def desc(self) -> NDArray[np.bytes_]:
        """The (nrow, ncol) map of bytes: S, F, H, G."""
        letters = np.array([b"?", b"F", b"H", b"G"])[self.tiles]
        letters[divmod(self.start, self.ncol)] = b"S"
        return letters
