"""The two FrozenLake games: Gymnasium's map, or ROLL's random maps."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any, ClassVar, TypeAlias

import numpy as np
from gymnasium.spaces import Discrete, Space
from numpy.typing import NDArray

from roll_vec.arrays.advantages import MAX_BYTES, look_up, row_keys
from roll_vec.arrays.attributes import StateAttribute
from roll_vec.arrays.grid_env import GridEnv, check_cells
from roll_vec.arrays.grid_family import Cell
from roll_vec.arrays.grid_observations import OBS_MODES
from roll_vec.arrays.rules import rule
from roll_vec.arrays.state_checks import FINITE, check_each
from roll_vec.envs.frozen_lake.map_sets import LakeSet
from roll_vec.envs.frozen_lake.maps import (
    MAPS,
    generate_maps,
    parse_map,
    start_distribution,
    tile_codes,
    tiles_below,
)
from roll_vec.envs.frozen_lake.solver import (
    measure_maps,
    solve_positions,
    tabulate_advantages,
)
from roll_vec.envs.level_sets import LevelSet, refuse_beside_levels
from roll_vec.envs.roll_grids import RollGridEnv
from roll_vec.envs.walk_solver import Transitions
from roll_vec.errors import InvalidOptionError
from roll_vec.kernels.frozen_lake.moves import (
    GOAL,
    HOLE,
    ICE,
    PLAYER,
    PLAYER_ON_GOAL,
    REWARD_TILES,
    is_terminal,
    make_neighbours,
    make_slip,
    player_code,
    sample_slip,
    step_lakes,
    step_random_lakes,
    turn,
)
from roll_vec.options import (
    check_choice,
    check_int,
    check_number,
    option,
    refuse_unused,
)
from roll_vec.render.gymnasium_renderers import GymnasiumRenderer
from roll_vec.render.tiles import FROZEN_LAKE_TILES
from roll_vec.row_threads import SliceSizer

Ids: TypeAlias = NDArray[np.int64]
# The player's cell by Gymnasium's name.
_CELL = StateAttribute(lambda env: env.position, lambda cell: {"position": cell})


@rule
def draw_move(env: Any, action: int, rng: Any) -> tuple[int, float]:
    """Return the cell to which a move leads, and the probability of its slip."""
    slip = env.slip
    outcome = sample_slip(rng.random(), slip[1, 0], slip[1, 1], slip[1, 2])
    cell = env.neighbours[env.position, turn(action, outcome)]
    return cell, slip[0, outcome]


@rule
def mark_moves(env: Any, mask: Any) -> None:
    """Write 1 for the actions that may lead to another cell."""
    for action in range(4):
        for outcome in range(3):
            cell = env.neighbours[env.position, turn(action, outcome)]
            if env.slip[0, outcome] > 0.0 and cell != env.position:
                mask[action] = 1


@rule
def walk(env: Any, action: int, rng: Any) -> tuple[float, bool]:
    """Take one action on Gymnasium's map; return the reward and whether it ends."""
    env.success = False
    env.prob = 1.0
    if action < 0:
        return 0.0, False
    cell, chance = draw_move(env, action, rng)
    tile = env.board[env.position // env.ncol, env.position % env.ncol]
    if is_terminal(tile):
        # Gymnasium's terminal states lead to themselves.
        env.success = tile == GOAL
        return 0.0, True
    env.position = cell
    env.prob = chance
    tile = env.board[cell // env.ncol, cell % env.ncol]
    env.success = tile == GOAL
    reward = env.rewards[2]
    if tile == GOAL:
        reward = env.rewards[0]
    elif tile == HOLE:
        reward = env.rewards[1]
    return reward, is_terminal(tile)


class Lake(GridEnv):
    """One lake: what both games have.

    Instructions
    ------------
    Walk over a frozen lake from where you are to the goal. Who steps into a hole has
    lost; there is no way past the edge of the lake.

    If ``is_slippery``: The ice is slippery: a step may take you to the left or to the
    right of where it was meant to go.

    If ``obs_mode`` is ``position``: You are told the number of your cell: 0 is the
    first of ``nrow`` rows of ``ncol`` cells, ``ncol`` the first of the second row.

    Parameters
    ----------
    is_slippery : bool
        True: a step may lead to the left or to the right of its direction.
    success_rate : float
        Chance, from 0 to 1, of moving in the direction chosen on slippery ice.

    Infos
    -----
    success : bool; step
        The player is on the goal.
    """

    takes_invalid_actions = True
    actions = ("Left", "Down", "Right", "Up")
    # By code.  The glyphs are ROLL's; the actions are Gymnasium's directions in its
    # order, ROLL's actions are one higher.
    cells = (
        Cell("P", "player", (135, 86, 201), "1;36"),
        Cell("_", "empty", (211, 236, 248), "2"),
        Cell("O", "hole", (23, 58, 99), "1;34"),
        Cell("G", "goal", (226, 61, 75), "1;33"),
        Cell("X", "player in hole", (13, 13, 26), "1;31"),
        Cell("√", "player on goal", (255, 205, 60), "1;32"),
    )
    tiles = FROZEN_LAKE_TILES

    is_slippery: bool = True
    # Gymnasium's; RAGEN's default is 0.8.
    success_rate: float = option(1.0 / 3.0, check_number, 0.0, 1.0)

    def check_options(self) -> None:
        """Warn of a ``success_rate`` without an effect."""
        super().check_options()
        if not self.is_slippery:
            names, reason = ("success_rate",), "is ignored with is_slippery=False"
            refuse_unused(self, names, reason, warns=True)

    @property
    def nrow(self) -> int:
        """Rows of the map."""
        return self.grid_shape[0]

    @property
    def ncol(self) -> int:
        """Columns of the map."""
        return self.grid_shape[1]

    @cached_property
    def neighbours(self) -> NDArray[np.int64]:
        """(H * W, 8) int64: the cells that headings lead to."""
        table: NDArray[np.int64] = make_neighbours(*self.grid_shape)
        return table

    @cached_property
    def slip(self) -> NDArray[np.float64]:
        """(2, 3) float64: the probabilities of slips, and their sums."""
        table: NDArray[np.float64] = make_slip(self.is_slippery, self.success_rate)
        return table

    def solve_envs(self, engine: Any, env_ids: Ids, objective: str) -> list[Any]:
        """Return the best play of some lakes from here, without regard to step limits.

        On slippery ice a `LakeSolution`.  Without slips the fewest actions that lead to
        a goal, none on a goal; None if there is no way.  ``moves`` is the only
        objective.  Slippery maps have at most 161 x 161 cells.
        """
        return solve_positions(engine, env_ids, objective)

    @cached_property
    def _tables(self) -> dict[bytes, NDArray[np.float64]]:
        """A cache: the advantages of actions by map."""
        return {}

    def action_advantages(
        self, before: Mapping[str, NDArray[Any]], actions: NDArray[np.int64], after: Any
    ) -> NDArray[np.float64]:
        """Return advantages in the chance to reach the goal; without slips in moves.

        See `roll_vec.arrays.array_env.ArrayEnv`.
        """
        is_random = "grid" in before
        grids = before["grid"] if is_random else self.board[np.newaxis]
        maps = tiles_below(grids).reshape(len(grids), -1)

        def tabulate(rows: Ids) -> NDArray[np.float64]:
            return tabulate_advantages(maps[rows], self.grid_shape, self.slip)

        limit = MAX_BYTES // (40 * maps.shape[1])
        tables = look_up(self._tables, row_keys([maps]), tabulate, limit)
        if not is_random:
            tables *= len(actions)
        places = zip(tables, before["position"].tolist(), actions.tolist(), strict=True)
        return np.array([table.item(cell, action) for table, cell, action in places])


class FrozenLake(Lake):
    """Walk over a frozen lake to the goal, and do not fall into a hole.

    The player walks one cell at a time.  On slippery ice a step may lead to the left or
    to the right of its direction.

    Parameters
    ----------
    desc : list of str, or None
        A map that replaces the one of ``map_name``: rows of the letters S, F, H and G.
    map_name : str or None
        Gymnasium's map: ``4x4`` or ``8x8``.
    reward_schedule : (float, float, float)
        Rewards for entering the goal, a hole and ice.
    obs_mode : str
        Form of observations: ``position``, Gymnasium's, or a mode of the grid.  The
        modes of the grid are ``grid``, ``planes``, ``tiny_rgb``, ``rgb`` and ``text``.

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
    board : (H, W) uint8
        1 ice, 2 hole, 3 goal.
    s, position : int
        The player's cell, row * ncol + column; may be set.

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
    - Not there: ``lastaction``, ``initial_state_distrib``, ``reward_range``, attributes
      of pictures such as ``window``.

    Raises
    ------
    InvalidOptionError
    """

    seeding = "stream"
    reset_infos = ("prob",)
    solution_variables = ("position",)
    OBS_MODES: ClassVar[Mapping[str, str]] = {
        "position": "the player's cell: row * columns + column",
        **OBS_MODES,
    }
    LEVEL_OPTIONS = ()
    tuned_step = step_lakes  # 4,096 lakes: 3 ns each, with the rule 18
    # A step takes 9 ns: two threads play 16,384 0.95 times as fast as one, 32,768 1.2.
    ROWS_PER_THREAD = 1 << 14

    desc: Any = None
    map_name: str | None = "4x4"
    reward_schedule: Sequence[float] = (1, 0, 0)
    obs_mode: str = "position"

    def check_options(self) -> None:
        """Check the map and the rewards."""
        super().check_options()
        # Copies: the caller may change arrays and lists later.
        if self.desc is not None:
            rows = parse_map(self.desc)
            self._set(desc=tuple(b"".join(row).decode() for row in rows.tolist()))
            if self.map_name is not None:
                reason = "is ignored beside desc, as in Gymnasium"
                refuse_unused(self, ("map_name",), reason, warns=True)
        elif self.map_name is None:
            message = (
                "desc and map_name: both are None, which would be a random map; "
                "roll_vec/RandomFrozenLake-v0 has a new one from the seed each episode"
            )
            raise InvalidOptionError(message)
        else:
            check_choice("map_name", self.map_name, MAPS)
        name, value = "reward_schedule", self.reward_schedule
        try:
            rewards = tuple(value)
            numbers = [check_number(name, reward, *FINITE) for reward in rewards]
        except (TypeError, InvalidOptionError):
            numbers = []
        if len(numbers) != 3:
            accepted = "three finite numbers for goal, hole and ice"
            raise InvalidOptionError.expected(name, accepted, value)
        self._set(reward_schedule=rewards)

    @property
    def state(self) -> dict[str, Any]:  # type: ignore[override]
        """The variables: those of texts have an info that Gymnasium has not."""
        variables: dict[str, Any] = {
            "position": np.int64,
            "prob": np.float64,
            "success": np.bool_,
        }
        if self.action_mode == "text":
            variables["action_is_effective"] = np.bool_
        return variables

    @property
    def state_limits(self) -> dict[str, Any]:
        """The lowest and the highest value of variables of a state."""
        return {"position": (0, self.nrow * self.ncol - 1), "prob": (0.0, 1.0)}

    @property
    def infos(self) -> tuple[str, ...]:
        """The infos of a step; with integer actions Gymnasium's, beside success."""
        flags = ("action_is_effective",) if self.action_mode == "text" else ()
        return (*flags, "success", "prob")

    @property
    def hidden_infos(self) -> tuple[str, ...]:
        """Those that Gymnasium has not."""
        return () if self.action_mode == "text" else ("success",)

    @property
    def observation(self) -> str | None:  # type: ignore[override]
        """The variable that is the observation; None: the grid is."""
        return "position" if self.obs_mode == "position" else None

    def rules(self) -> list[Any]:
        """Return the rules; without ``observe`` where positions are observed."""
        begin, step, observe, legal = super().rules()
        step = type(self).step_of_text if self.action_mode == "text" else step
        return [begin, step, None if self.observation else observe, legal]

    @cached_property
    def map(self) -> NDArray[np.bytes_]:
        """The (H, W) map of bytes, not to be written."""
        if self.desc is not None:
            return np.asarray(self.desc, dtype="c")
        return np.asarray(MAPS[self.map_name or ""], dtype="c")

    @cached_property
    def grid_shape(self) -> tuple[int, int]:
        """Height and width of a grid."""
        return self.map.shape

    @cached_property
    def board(self) -> NDArray[np.uint8]:
        """(H, W) uint8: the tiles of the map."""
        return tile_codes(self.map)

    @property
    def rewards(self) -> Sequence[float]:
        """The rewards for entering the goal, a hole and ice."""
        return tuple(map(float, self.reward_schedule))

    @cached_property
    def start_chances(self) -> NDArray[np.float64]:
        """(H * W,) float64: the cumulative probabilities of the start cells."""
        return np.cumsum(start_distribution(self.map))

    @rule
    def begin(env: Any, rng: Any) -> None:
        env.prob = 1.0
        # As `categorical_sample` of Gymnasium: rounding may leave the last sum just
        # below a draw, and the argmax of no True is 0.
        draw, cell = rng.random(), 0
        while cell < len(env.start_chances) and env.start_chances[cell] <= draw:
            cell += 1
        env.position = cell if cell < len(env.start_chances) else 0

    step = walk

    @rule
    def step_of_text(env: Any, action: int, rng: Any) -> tuple[float, bool]:
        before = env.position
        reward, terminated = walk(env, action, rng)
        env.action_is_effective = env.position != before
        return reward, terminated

    @rule
    def observe(env: Any, out: Any) -> None:
        out[...] = env.board
        row, column = env.position // env.ncol, env.position % env.ncol
        out[row, column] = player_code(env.board[row, column])

    @rule
    def legal(env: Any, mask: Any) -> None:
        row, column = env.position // env.ncol, env.position % env.ncol
        if not is_terminal(env.board[row, column]):
            mark_moves(env, mask)

    # The names of Gymnasium.

    @property
    def attributes(self) -> dict[str, Any]:
        """The player's cell, and the map in place of the keyword of that name."""
        return {"s": _CELL, "desc": self.map.copy()}

    @cached_property
    def P(self) -> Transitions:
        """Transitions, ``P[s][a]``: (probability, next s, reward, terminated) each."""
        rewards = dict(zip(REWARD_TILES, self.reward_schedule, strict=True))
        chances = list(enumerate(self.slip[0].tolist()))
        if not self.is_slippery:
            chances = chances[1:2]
        tiles = self.board.reshape(-1).tolist()

        def transitions(s: int, a: int) -> list[tuple[float, int, float, bool]]:
            if is_terminal(tiles[s]):
                return [(1.0, s, 0, True)]
            results = []
            for outcome, chance in chances:
                cell = int(self.neighbours[s, turn(a, outcome)])
                is_end = is_terminal(tiles[cell])
                results.append((chance, cell, rewards[tiles[cell]], is_end))
            return results

        return {s: {a: transitions(s, a) for a in range(4)} for s in range(len(tiles))}

    @cached_property
    def gymnasium_renderer(self) -> GymnasiumRenderer:
        """Gymnasium's renderer of the map."""
        rows = tuple(b"".join(row).decode() for row in self.map.tolist())
        return GymnasiumRenderer(
            "toy_text.frozen_lake:FrozenLakeEnv",
            lambda env: {"s": env.position, "lastaction": None},
            (("desc", rows),),
        )

    @cached_property
    def observation_space(self) -> Space[Any]:
        """The space of positions, or of cell codes."""
        if self.observation:
            return Discrete(self.nrow * self.ncol)
        return super().observation_space


class RandomFrozenLake(RollGridEnv, Lake):
    """Walk over a frozen lake to the goal, and do not fall into a hole.

    The player walks one cell at a time.  On slippery ice a step may lead to the left or
    to the right of its direction.  Each episode has a new map and a new start.

    Parameters
    ----------
    size : int
        Rows and columns of the map, 2 to 1024.
    p : float
        Chance, from 0 to 1, that a cell is ice and not a hole.
    levels : array, list, or None
        Your own maps to play: an array of codes or letters, or a list of maps, each a
        list of rows.  They become a `LakeSet`.  ``size`` becomes their number of rows,
        and ``p`` must stay at its default.  Slips are drawn as on a random map.

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
    board : (nrow, ncol) uint8
        1 ice, 2 hole, 3 goal.
    start, s, position : int
        The start cell and the player's, row * size + column.
    desc : (nrow, ncol) array of bytes
        The map: S, F, H, G.

    Sources
    -------
    ROLL, FrozenLakeEnv : commit 35bea6a2; https://github.com/alibaba/ROLL
        maps, starts and slips from the same seeds, steps, rewards, boards as text

    Differences
    -----------
    - The instruction has other words.

    Raises
    ------
    InvalidOptionError
    """

    state: ClassVar[Mapping[str, Any]] = {
        "grid": (np.uint8, ("nrow", "ncol")),
        "start": np.int64,
        "position": np.int64,
        "action_is_effective": np.bool_,
        "action_is_valid": np.bool_,
        "success": np.bool_,
    }
    level_variables = ("grid", "start")
    solution_variables = ("grid", "position")
    observation = "grid"
    tuned_step = step_random_lakes  # 4,096 lakes: 3 ns each, with the rule 18
    LEVEL_OPTIONS = ("p", *RollGridEnv.LEVEL_OPTIONS)
    # See `roll_vec.envs.sokoban.env.Sokoban.MEASURES`.
    MEASURES: ClassVar[Mapping[str, float]] = {"success_probability": 1.0}

    size: int = 4
    p: float = option(0.8, check_number, 0.0, 1.0)

    def check_options(self) -> None:
        """Check the size of the map."""
        super().check_options()
        if self.levels is None:
            size = check_int("size", self.size, 2)
            check_cells("size", (size, size))
        else:
            size, _ = self.levels.shape
            refuse_beside_levels(self, ("p",), "size", size)
        self._set(size=size)

    @cached_property
    def grid_shape(self) -> tuple[int, int]:
        """Height and width of a grid."""
        if self.levels is not None:
            return self.levels.shape  # type: ignore[no-any-return]
        return self.size, self.size

    @rule
    def begin(env: Any, rng: Any) -> None:
        # Gymnasium's reset uses up one draw for the start cell.
        rng.random()
        env.position = env.start

    @rule
    def step(env: Any, action: int, rng: Any) -> tuple[float, bool]:
        env.action_is_valid = action >= 0
        env.action_is_effective = False
        env.success = False
        if action < 0:
            return 0.0, False
        cell, _ = draw_move(env, action, rng)
        row, column = env.position // env.ncol, env.position % env.ncol
        code = env.grid[row, column]
        if code == PLAYER:
            env.action_is_effective = cell != env.position
            env.grid[row, column] = ICE
            env.position = cell
            row, column = cell // env.ncol, cell % env.ncol
            tile = env.grid[row, column]
            env.grid[row, column] = player_code(tile)
            env.success = tile == GOAL
            return float(env.success), is_terminal(tile)
        # Gymnasium's terminal states lead to themselves.
        env.success = code == PLAYER_ON_GOAL
        return 0.0, True

    @rule
    def legal(env: Any, mask: Any) -> None:
        if env.grid[env.position // env.ncol, env.position % env.ncol] == PLAYER:
            mark_moves(env, mask)

    def read_levels(self, levels: Any) -> LevelSet:
        """Return the levels of the keyword ``levels`` as a set."""
        return LakeSet.load(levels)

    def draw_levels(
        self, num_threads: int, slices: SliceSizer, seeds: NDArray[np.uint64]
    ) -> tuple[NDArray[Any], ...]:
        """Return the maps and starts of some seeds; see `ArrayEnv.draw_levels`."""
        return generate_maps(self.size, self.p, num_threads, slices, seeds)

    def make_level_set(self, arrays: tuple[NDArray[Any], ...]) -> LakeSet:
        """Return maps that `draw_levels` has drawn as a set."""
        return LakeSet(arrays[0])

    def measure(self, levels: LakeSet, num_threads: int) -> dict[str, NDArray[Any]]:
        """Return the highest chance ever to reach the goal of each level, (L,).

        It is rounded to 12 decimals, so that a chance of one half is inside a band that
        ends at 0.5: the solver's last digits are not exact.
        """
        grids, starts = levels.arrays
        chances = measure_maps(
            tiles_below(grids),
            starts,
            is_slippery=self.is_slippery,
            success_rate=self.success_rate,
            num_threads=num_threads,
        )
        return {"success_probability": chances.round(12)}

    @property
    def state_limits(self) -> dict[str, Any]:
        """The lowest and the highest value of variables of a state."""
        cells = 0, self.nrow * self.ncol - 1
        return {"position": cells, "start": cells}

    def check_rows(self, arrays: Mapping[str, NDArray[Any]]) -> None:
        """Check that the one player is at its position."""
        position = arrays["position"]
        cells = arrays["grid"].reshape(len(position), -1)
        is_player = (cells == PLAYER) | (cells > GOAL)
        is_right = (is_player.sum(1) == 1) & (is_player.argmax(1) == position)
        check_each("position", position, is_right, "the cell of the one player")

    attributes: ClassVar[Any] = {
        "s": StateAttribute(lambda env: env.position),
        "board": StateAttribute(lambda env: tiles_below(env.grid)),
        "desc": StateAttribute(lambda env: _write_map(env.grid, env.start)),
    }


def _write_map(grid: NDArray[np.uint8], start: int) -> NDArray[np.bytes_]:
    """Return a map of bytes: S, F, H, G."""
    letters = np.array([b"?", b"F", b"H", b"G"])[tiles_below(grid)]
    letters.reshape(-1)[start] = b"S"
    return letters
