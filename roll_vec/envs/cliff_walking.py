"""CliffWalking: walk along a cliff to the goal, as in Gymnasium."""

from __future__ import annotations

from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from gymnasium.spaces import Discrete
from numpy.typing import NDArray

from roll_vec.arrays.array_env import METADATA, ArrayEnv
from roll_vec.arrays.attributes import StateAttribute
from roll_vec.arrays.rules import rule
from roll_vec.envs.walk_solver import (
    Transitions,
    find_costs,
    find_policy,
    follow,
    tabulate_advantages,
)
from roll_vec.kernels.rows import Row
from roll_vec.render.gymnasium_renderers import GymnasiumRenderer

ROWS, COLUMNS = 4, 12
DOWN = 2
START, GOAL = (ROWS - 1) * COLUMNS, ROWS * COLUMNS - 1
STEP_REWARD, FALL_REWARD = -1.0, -100.0


class CliffWalking(ArrayEnv):
    """Walk along a cliff to the goal.

    The board has 4 rows of 12 cells.  The cliff is the bottom row between the start, on
    the left, and the goal, on the right.  Who falls off is back at the start.

    Instructions
    ------------
    Walk to the goal in as few steps as possible. x is you, o is ground, T is the goal,
    C is a cliff: who steps there falls, which costs as much as 100 steps, and is back
    at the start, at the bottom left.

    If ``is_slippery``: The ground is slippery: a step may turn to the left or to the
    right.

    Parameters
    ----------
    is_slippery : bool
        True: a step goes in its direction, to the left and to the right of it with the
        same chance.

    Attributes
    ----------
    cell : int
        The player's cell, row * 12 + column: the observation.
    prob : float
        The probability of what the last action has led to.
    success : bool
        Whether the player is on the goal.
    heading : int
        The last action, 2 (down) at first.  Gymnasium's pictures had it until 1.3.
    s : int
        The cell, by Gymnasium's name; may be set.

    Actions
    -------
    A text without the name of an action: nothing moves or is drawn, the reward is -1,
    the step counts.

    Rewards
    -------
    -100
        The player falls off the cliff.
    -1
        Each other step.

    Episode end
    -----------
    terminated
        The player is on the goal.

    Sources
    -------
    Gymnasium, CliffWalking-v1 : 1.4.0; https://gymnasium.farama.org/environments/toy_text/cliff_walking/
        slips from the same seeds, steps, rewards, infos; with ``is_slippery`` those of
        CliffWalkingSlippery-v1

    Differences
    -----------
    - ``prob`` of a reset is a float, as that of a step.
    - The text of ``render_mode='ansi'`` is not Gymnasium's.
    - Not there: ``lastaction``, ``initial_state_distrib``, constants such as ``nS``,
      attributes of pictures such as ``window``.

    Raises
    ------
    InvalidOptionError

    Notes
    -----
    The rule is that of Gymnasium 1.4.0, CliffWalking-v1, whose random numbers are one
    stream: each reset and each step draws one, also without slips.
    """

    is_slippery: bool = False

    state: ClassVar = {
        "cell": np.int8,
        "prob": np.float64,
        "success": np.bool_,
        "heading": np.int8,
    }
    state_limits: ClassVar = {"cell": (0, GOAL), "prob": (0.0, 1.0), "heading": (0, 3)}
    attributes: ClassVar = {
        "s": StateAttribute(lambda env: env.cell, lambda value: {"cell": value})
    }
    actions: ClassVar = ("up", "right", "down", "left")
    infos: ClassVar = ("prob", "success")
    hidden_infos: ClassVar = ("success",)  # Gymnasium has none
    reset_infos: ClassVar = ("prob",)
    takes_invalid_actions: ClassVar = True
    solution_variables: ClassVar = ("cell",)
    seeding: ClassVar = "stream"
    observation_space = Discrete(ROWS * COLUMNS)
    gymnasium_renderer: ClassVar = GymnasiumRenderer(
        "toy_text.cliffwalking:CliffWalkingEnv",
        lambda env: {"s": env.cell, "lastaction": env.heading},
    )
    metadata: ClassVar = METADATA

    @property
    def turns(self) -> tuple[int, ...]:
        """The quarter turns to the right that a step may take, each as likely."""
        return (-1, 0, 1) if self.is_slippery else (0,)

    @cached_property
    def cells(self) -> NDArray[np.int64]:
        """(48, 4, k) int64: where a step up, right, down or left leads, by its turn."""
        rows, columns = np.divmod(np.arange(ROWS * COLUMNS), COLUMNS)
        down, right = np.array([(-1, 0), (0, 1), (1, 0), (0, -1)]).T
        rows = np.clip(rows[:, np.newaxis] + down, 0, ROWS - 1)
        columns = np.clip(columns[:, np.newaxis] + right, 0, COLUMNS - 1)
        directions = (np.arange(4)[:, np.newaxis] + self.turns) % 4
        cells: NDArray[np.int64] = (rows * COLUMNS + columns)[:, directions]
        return cells

    @cached_property
    def P(self) -> Transitions:
        """Transitions, ``P[s][a]``: (probability, next s, reward, terminated) each."""
        chance = 1 / len(self.turns)

        def outcome_of(cell: int) -> tuple[float, int, float, bool]:
            is_fall = START < cell < GOAL
            reward = FALL_REWARD if is_fall else STEP_REWARD
            return chance, START if is_fall else cell, reward, cell == GOAL

        table = self.cells.tolist()
        return {
            s: {a: list(map(outcome_of, row[a])) for a in range(4)}
            for s, row in enumerate(table)
        }

    @rule
    def begin(env: Any, rng: Any) -> None:
        rng.random()
        env.cell, env.prob, env.heading = START, 1.0, DOWN

    @rule
    def step(env: Any, action: int, rng: Any) -> tuple[float, bool]:
        env.prob = 1.0
        if action < 0:
            return STEP_REWARD, False
        draw, count = rng.random(), len(env.turns)
        env.prob = 1.0 / count
        env.heading = action
        number, total = 0, env.prob
        while total <= draw:
            number += 1
            total += env.prob
        cell = env.cells[env.cell, action, number]
        if START < cell < GOAL:
            env.cell = START
            return FALL_REWARD, False
        env.cell = cell
        env.success = cell == GOAL
        return STEP_REWARD, env.success

    @rule
    def observe(env: Any, out: Any) -> None:
        out[0] = env.cell

    @rule
    def legal(env: Any, mask: Any) -> None:
        for action in range(4):
            for number in range(len(env.turns)):
                if env.cells[env.cell, action, number] != env.cell:
                    mask[action] = 1

    def text(self, env: Row) -> str:
        """Return the board."""
        cells = list("o" * START + "o" + "C" * (COLUMNS - 2) + "T")
        cells[env.cell] = "x"
        rows = [cells[k : k + COLUMNS] for k in range(0, len(cells), COLUMNS)]
        return "\n".join(" ".join(row) for row in rows)

    def solve(self, env: Row) -> list[int]:
        """Return the fewest actions to the goal.

        On slippery ground: the action with the highest expected return.
        """
        if env.cell == GOAL:
            return []
        if self.is_slippery:
            return [int(self.policy[env.cell])]
        return follow(self.policy, self.cells, env.cell, GOAL)

    @property
    def costs(self) -> NDArray[np.float64]:
        """(48, 4, k) float64: what an outcome of each action costs, below 0."""
        falls = (self.cells > START) & (self.cells < GOAL)
        return np.where(falls, -FALL_REWARD, -STEP_REWARD)

    @cached_property
    def policy(self) -> NDArray[np.int64]:
        """(48,) int64: the action of the highest expected return in each cell."""
        return find_policy(*self._ways(self.costs))

    def _ways(self, costs: Any) -> Any:
        """Return the arguments of `find_costs`."""
        falls = (self.cells > START) & (self.cells < GOAL)
        chances = [1.0 / len(self.turns)] * len(self.turns)
        return np.where(falls, START, self.cells), costs, chances, GOAL

    @cached_property
    def advantages(self) -> NDArray[np.float64]:
        """(48, 5) float64: the advantage of each action in each cell; none is last."""
        costs = self.costs if self.is_slippery else 1.0
        return tabulate_advantages(find_costs(*self._ways(costs)), GOAL, -1.0)

    def action_advantages(
        self, before: Any, actions: NDArray[np.int64], after: Any
    ) -> NDArray[np.float64]:
        """Return advantages in moves; on slippery ground in expected return.

        See `roll_vec.arrays.array_env.ArrayEnv`.
        """
        result: NDArray[np.float64] = self.advantages[before["cell"], actions]
        return result
