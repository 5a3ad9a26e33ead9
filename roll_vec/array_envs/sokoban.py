"""Sokoban as ROLL plays it: options, the engine of N rooms, the single form."""

from __future__ import annotations

import dataclasses
import threading
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from roll_vec.array_envs.array_engine import STEP_ROWS_PER_THREAD, ArrayEngine
from roll_vec.array_envs.boards import BoardView
from roll_vec.array_envs.levels import LevelSource, LevelStreams
from roll_vec.array_envs.options import (
    OBS_MODES,
    RENDER_MODES,
    check_choice,
    check_int,
    check_levels,
    check_lookup,
    check_max_steps,
    parse_options,
    signature_of,
    smallest_limit,
)
from roll_vec.array_envs.single import LevelEnv
from roll_vec.engine import StepResult
from roll_vec.errors import InvalidOptionError, LevelGenerationError
from roll_vec.infos import masked_infos
from roll_vec.kernels import sokoban as kernels
from roll_vec.kernels import sokoban_rooms as rooms
from roll_vec.seeding import episode_seeds
from roll_vec.threads import run_rows

__all__ = ["Sokoban", "SokobanEngine", "SokobanOptions"]

GRID_LOOKUP = {0: "#", 1: "_", 2: "O", 3: "√", 4: "X", 5: "P", 6: "S"}
GRID_VOCAB = {
    "#": "wall",
    "_": "empty",
    "O": "target",
    "√": "box on target",
    "X": "box",
    "P": "player",
    "S": "player on target",
}
ACTION_LOOKUP = {1: "Up", 2: "Down", 3: "Left", 4: "Right"}

# A room takes some 30 us; handing a part of the work over takes about as much.
_ROOMS_PER_THREAD = 4


@dataclasses.dataclass(frozen=True)
class SokobanOptions:
    """The keywords of `roll_vec/Sokoban-v0`.

    Parameters
    ----------
    dim_room : (int, int)
        Rows and columns, walls included; at least 3 each.
    dim_x, dim_y : int or None
        Rows and columns in another way, only together.
    num_boxes : int
        At least 1; the room must have more inner cells than ``num_boxes + 1``.
    max_steps : int or None
        ROLL's step limit, beside ``max_episode_steps``.
    search_depth : int
        Depth of the generator's reverse search, at least 1.
    num_gen_steps : int or None
        Steps of the generator's walk; None: ``int(1.7 * (rows + columns))``.
    grid_lookup : dict from 0..6 to str, or None
        Characters of the codes in text.
    grid_vocab : dict from str to str, or None
        What the characters mean, for prompts.
    action_lookup : dict from 1..4 to str, or None
        Names of the actions.
    obs_mode : str
        ``grid``, ``planes``, ``tiny_rgb``, ``rgb`` or ``text``.
    num_levels, start_level : int
        A finite set of levels; 0 is unlimited.
    render_mode : str or None
        ``human``, ``rgb_array``, ``ansi`` or ``text``.

    Raises
    ------
    InvalidOptionError
    """

    dim_room: tuple[int, int] = (6, 6)
    dim_x: int | None = None
    dim_y: int | None = None
    num_boxes: int = 3
    max_steps: int | None = None
    search_depth: int = 300
    num_gen_steps: int | None = None
    grid_lookup: Mapping[int, str] | None = None
    grid_vocab: Mapping[str, str] | None = None
    action_lookup: Mapping[int, str] | None = None
    obs_mode: str = "grid"
    num_levels: int = 0
    start_level: int = 0
    render_mode: str | None = None

    def __post_init__(self) -> None:
        def put(name: str, value: Any) -> None:
            object.__setattr__(self, name, value)

        put("dim_room", self._check_dimensions())
        put("num_boxes", check_int("num_boxes", self.num_boxes, 1))
        inner = (self.dim_room[0] - 2) * (self.dim_room[1] - 2)
        if inner <= self.num_boxes + 1:
            message = (
                f"num_boxes: a room of dim_room={self.dim_room} has {inner} inner "
                f"cells, which is room for at most {max(inner - 2, 0)} boxes, "
                f"got {self.num_boxes}"
            )
            raise InvalidOptionError(message)
        put("max_steps", check_max_steps(self.max_steps))
        put("search_depth", check_int("search_depth", self.search_depth, 1))
        walk = self.num_gen_steps
        if walk is None:
            walk = int(1.7 * sum(self.dim_room))
        put("num_gen_steps", check_int("num_gen_steps", walk, 1))
        put("grid_lookup", check_lookup("grid_lookup", self.grid_lookup, GRID_LOOKUP))
        put("grid_vocab", dict(self.grid_vocab or GRID_VOCAB))
        put(
            "action_lookup",
            check_lookup("action_lookup", self.action_lookup, ACTION_LOOKUP),
        )
        check_choice("obs_mode", self.obs_mode, OBS_MODES)
        check_choice("render_mode", self.render_mode, (None, *RENDER_MODES))
        num_levels, start_level = check_levels(self.num_levels, self.start_level)
        put("num_levels", num_levels)
        put("start_level", start_level)

    def _check_dimensions(self) -> tuple[int, int]:
        try:
            height, width = self.dim_room
        except (TypeError, ValueError):
            message = f"dim_room: expected (rows, columns), got {self.dim_room!r}"
            raise InvalidOptionError(message) from None
        if (self.dim_x is None) != (self.dim_y is None):
            message = "dim_x and dim_y: expected both or neither, "
            raise InvalidOptionError(message + f"got {self.dim_x} and {self.dim_y}")
        if self.dim_x is not None:
            given = (self.dim_x, self.dim_y)
            default = type(self).__dataclass_fields__["dim_room"].default
            if self.dim_room not in (default, given):
                message = (
                    f"dim_room: {self.dim_room} contradicts dim_x={self.dim_x} and "
                    f"dim_y={self.dim_y}"
                )
                raise InvalidOptionError(message)
            height, width = given  # type: ignore[assignment]
        return check_int("dim_room", height, 3), check_int("dim_room", width, 3)


# Scratch memory of the room generator, one for each thread that ever drew rooms.
_workspaces = threading.local()


def _workspace(options: SokobanOptions) -> rooms.RoomWorkspace:
    key = (options.dim_room, options.num_boxes, options.search_depth)
    if getattr(_workspaces, "key", None) != key:
        _workspaces.space = rooms.make_workspace(*key)
        _workspaces.key = key
    space: rooms.RoomWorkspace = _workspaces.space
    return space


def draw_rooms(
    options: SokobanOptions,
    seeds: NDArray[np.uint64],
    num_threads: int = 1,
    max_attempts: int = rooms.MAX_ATTEMPTS,
) -> tuple[NDArray[np.uint8], NDArray[np.int8]]:
    """Return one room a seed, and what became of its last attempt.

    Parameters
    ----------
    options : SokobanOptions
    seeds : (m,) uint64
        Below 2**32.
    num_threads : int
    max_attempts : int
        1 shows what ROLL's generator makes of the seeds themselves.

    Returns
    -------
    grids : (m, H, W) uint8
    statuses : (m,) int8
        0 a room, 1 too few floor cells, 2 no box could be moved off its target, -1
        not tried because another seed of the same part found no room.
    """
    grids = np.zeros((len(seeds), *options.dim_room), np.uint8)
    statuses = np.full(len(seeds), -1, np.int8)

    def work(start: int, stop: int) -> None:
        rooms.generate_rooms(
            start,
            stop,
            seeds,
            options.num_boxes,
            options.search_depth,
            options.num_gen_steps,
            max_attempts,
            _workspace(options),
            grids,
            statuses,
        )

    run_rows(work, len(seeds), num_threads, _ROOMS_PER_THREAD)
    return grids, statuses


class RoomGenerator:
    """The `LevelSource` function of an environment: rooms or an error."""

    def __init__(self, options: SokobanOptions, num_threads: int) -> None:
        self.options, self.num_threads = options, num_threads

    def __call__(self, seeds: NDArray[np.uint64]) -> tuple[NDArray[np.uint8]]:
        """Return the rooms of some level seeds, (m, H, W) uint8."""
        grids, statuses = draw_rooms(self.options, seeds, self.num_threads)
        if statuses.any():
            seed = seeds[np.flatnonzero(statuses > 0)[0]]
            options = self.options
            message = (
                f"no room was found for level seed {seed} within "
                f"{rooms.MAX_ATTEMPTS} attempts or {rooms.MAX_SEARCHED} searched "
                f"states: dim_room={options.dim_room}, num_boxes={options.num_boxes}, "
                f"search_depth={options.search_depth}, "
                f"num_gen_steps={options.num_gen_steps} hardly has any; take fewer "
                "boxes, a larger room or a deeper search"
            )
            raise LevelGenerationError(message)
        return (grids,)


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


def _make_source(options: SokobanOptions, num_threads: int = 1) -> LevelSource:
    return LevelSource(
        RoomGenerator(options, num_threads),
        options.num_levels,
        options.start_level,
        options.dim_room[0] * options.dim_room[1],
    )


class SokobanEngine(ArrayEngine):
    """N rooms in stacked arrays; see `roll_vec.engine.Engine`.

    Attributes
    ----------
    cells : (n, H * W) uint8
        Codes of `roll_vec.kernels.sokoban`: the whole state of the rooms.
    players, boxes_on_target : (n,) int32
        Derived from the cells: the player's cell, row * W + column, and a count.
    elapsed_steps : (n,) int32
    """

    QUERIES: ClassVar[tuple[str, ...]] = (
        "boxes_on_target",
        "get_all_actions",
        "num_env_steps",
        "player_position",
        "room_fixed",
        "room_state",
    )

    def __init__(
        self,
        options: SokobanOptions,
        num_envs: int,
        max_episode_steps: int | None,
        num_threads: int,
    ) -> None:
        super().__init__(
            options, num_envs, num_threads, _make_view(options, num_threads)
        )
        self.max_steps = smallest_limit(max_episode_steps, options.max_steps)
        self.streams = LevelStreams(num_envs)
        self.source = _make_source(options, num_threads)
        height, width = options.dim_room
        self.cells = np.zeros((num_envs, height * width), np.uint8)
        self.players = np.zeros(num_envs, np.int32)
        self.boxes_on_target = np.zeros(num_envs, np.int32)

    def reset(self, rows: NDArray[np.int64], seeds: Sequence[int | None]) -> None:
        """Start streams or go on in them; see `Engine.reset`."""
        self._begin(rows, *self.streams.plan(rows, seeds))

    def advance(self, rows: NDArray[np.int64]) -> None:
        """Go on to the next episode in some rows."""
        self._begin(rows, *self.streams.plan_next(rows))

    def _begin(
        self,
        rows: NDArray[np.int64],
        starts: NDArray[np.uint64],
        episodes: NDArray[np.uint64],
    ) -> None:
        (levels,), picks = self.source.pick(episode_seeds(starts, episodes))
        self.streams.commit(rows, starts, episodes)
        self.elapsed_steps[rows] = 0
        flat = levels.reshape(len(levels), -1)
        run_rows(
            lambda start, stop: kernels.place_rows(
                start,
                stop,
                rows,
                flat,
                picks,
                self.cells,
                self.players,
                self.boxes_on_target,
            ),
            len(rows),
            self.num_threads,
            STEP_ROWS_PER_THREAD,
        )

    def step(
        self, actions: NDArray[np.int64], skip_mask: NDArray[np.bool_]
    ) -> StepResult:
        """Step every row but those to skip; see `Engine.step`."""
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
                self.options.dim_room[1],
                self.options.num_boxes,
                self.max_steps,
                self.cells,
                self.players,
                self.boxes_on_target,
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
        self.successes = successes.copy()
        values = {
            "action_is_effective": effective,
            "action_is_valid": valid,
            "success": successes,
        }
        infos = masked_infos(values, ~skip_mask)
        return StepResult(rewards, terminations, truncations, infos)

    def _grids(self, rows: NDArray[np.int64] | None = None) -> NDArray[np.uint8]:
        cells = self.cells if rows is None else self.cells[rows]
        return cells.reshape(-1, *self.options.dim_room)

    def single_form(self, row: int) -> Sokoban:
        """Return a single form in the state of one row."""
        env = Sokoban(**dataclasses.asdict(self.options))
        env.grid = self.cells[row].reshape(self.options.dim_room).copy()
        env.player = int(self.players[row])
        env.boxes_on_target = int(self.boxes_on_target[row])
        env.num_env_steps = int(self.elapsed_steps[row])
        env._started = True
        return env


class Sokoban(LevelEnv):
    """One room: the form that `gymnasium.make("roll_vec/Sokoban-v0")` gives.

    Rules, levels and rewards are those of ROLL's SokobanEnv (35bea6a2).

    Parameters
    ----------
    **keywords
        Those of `SokobanOptions`.

    Notes
    -----
    Actions: 1 up, 2 down, 3 left, 4 right; 0 is accepted as "no valid action".
    Reward: -0.1 a step, +1 and -1 for a box pushed on and off a target, +10 with all
    boxes on targets, which ends the episode.  Info of a step: ``action_is_effective``
    (the player moved), ``action_is_valid``, ``success``.

    Attributes
    ----------
    grid : (H, W) uint8
        0 wall, 1 floor, 2 target, 3 box on target, 4 box, 5 player, 6 player on target.
    player : int
        The player's cell, row * W + column.
    boxes_on_target : int
    """

    def __init__(self, **keywords: Any) -> None:
        options = parse_options(SokobanOptions, keywords)
        super().__init__(options, _make_view(options))
        self._source = _make_source(options)
        self.grid = np.zeros(options.dim_room, np.uint8)
        self.player = 0
        self.boxes_on_target = 0

    __signature__ = signature_of(SokobanOptions)

    @property
    def dim_room(self) -> tuple[int, int]:
        """Rows and columns of the room."""
        return self.options.dim_room  # type: ignore[no-any-return]

    @property
    def num_boxes(self) -> int:
        """Number of boxes, and of targets."""
        return self.options.num_boxes  # type: ignore[no-any-return]

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
        self.boxes_on_target = int((self.grid == kernels.BOX_ON_TARGET).sum())

    def step(self, action: int) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        """Push or move in one direction.

        Parameters
        ----------
        action : int
            0 to 4.

        Returns
        -------
        observation, reward, terminated, truncated, info
            Terminated with all boxes on targets, truncated at ``max_steps``.

        Raises
        ------
        InvalidActionError, ResetNeededError
            Nothing has moved then.
        """
        action = self._check_action(action)
        player, self.boxes_on_target, reward = kernels.step_row(
            self.grid.reshape(1, -1),
            0,
            self.dim_room[1],
            self.player,
            self.boxes_on_target,
            self.num_boxes,
            action,
        )
        effective = player != self.player
        self.player = player
        self.num_env_steps += 1
        success = self.boxes_on_target == self.num_boxes
        truncated = self.num_env_steps == self.options.max_steps
        info = {
            "action_is_effective": effective,
            "action_is_valid": action != kernels.NO_ACTION,
            "success": success,
        }
        self._show()
        return self._observe(), reward, success, truncated, info
