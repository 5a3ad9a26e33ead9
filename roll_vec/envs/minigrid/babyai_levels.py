"""BabyAI's levels: the base class `Level`, and the decorator `level`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, ClassVar

import numpy as np

from roll_vec.arrays.rules import rule
from roll_vec.envs.minigrid.babyai_instructions import (
    AFTER,
    CLAUSE_WORDS,
    CONTINUE,
    GO_TO,
    MAX_THINGS,
    NUM_CLAUSES,
    NUM_WORDS,
    OPEN,
    PICK_UP,
    PUT_NEXT,
    SUCCESS,
    ask,
    count_walks,
    is_valid,
    match,
    verify,
    write_instruction,
)
from roll_vec.envs.minigrid.rooms import (
    ANY,
    RoomGrid,
    add_distractors,
    add_door,
    add_object,
    connect_all,
    draw_rooms,
    find_gate,
    find_neighbour,
    find_thing,
    place_agent_in_room,
)
from roll_vec.envs.minigrid.solver import FACE, NEXT, PICK, Task
from roll_vec.envs.minigrid.solver import OPEN as OPEN_DOOR
from roll_vec.envs.minigrid.steps import end, find_front, move, reward_success
from roll_vec.envs.minigrid.things import DOOR, KEY, NUMBER_BIT, STATE, TYPE, WALL
from roll_vec.errors import InvalidOptionError
from roll_vec.kernels.rows import Row
from roll_vec.options import check_int

# MiniGrid draws levels until one is accepted, for ever where none can be.
MAX_LEVELS = 20_000
NO_LEVEL = "no level was accepted: more things than there is place for, or no way"
# A bit of cells, while the agent's ways are searched.
REACHED = 1 << 31
TOO_MANY = "a level has more than 62 doors and objects"


def level(function: Callable[..., Any]) -> Any:
    """Make a rule ``begin`` of a function that draws one level.

    Parameters
    ----------
    function : callable
        It gets ``env`` and ``rng``, draws doors, things, the agent and an instruction
        into empty rooms, and returns whether the level is accepted.

    Returns
    -------
    rule
        It begins an episode with the first level that is accepted, and whose
        instruction is valid.
    """
    draw = rule(function)

    @rule
    def begin(env: Any, rng: Any) -> None:
        is_accepted, count = False, 0
        while not is_accepted:
            count += 1
            if count > MAX_LEVELS:
                raise RuntimeError(NO_LEVEL)
            draw_rooms(env, rng)
            env.mission[:] = 0
            env.locked_i = env.locked_j = -1
            is_drawn = draw(env, rng)
            if env.num_things > MAX_THINGS:
                raise RuntimeError(TOO_MANY)
            if is_drawn:
                match(env)
                is_accepted = is_valid(env)
        env.limit = env.fixed_limit
        if env.limit == 0:
            rooms = env.num_rows * env.num_cols
            env.limit = count_walks(env) * env.room_size**2 * rooms

    return begin


@rule
def draw_thing(env: Any, rng: Any, count: int) -> Any:
    """Return a random one of the last ``count`` things."""
    return find_thing(env, env.num_things - count + 1 + rng.integers(count))


@rule
def draw_door(env: Any, rng: Any) -> Any:
    """Return a random door; each counts once in each of its two rooms."""
    rest = 0
    for i in range(env.num_cols):
        for j in range(env.num_rows):
            for side in range(4):
                rest += env.doors[i, j, side]
    rest = rng.integers(rest)
    for i in range(env.num_cols):
        for j in range(env.num_rows):
            for side in range(4):
                if env.doors[i, j, side]:
                    if rest == 0:
                        x, y = find_gate(env, i, j, side)
                        return env.grid[x, y]
                    rest -= 1
    return 0


@rule
def place_agent_outside(env: Any, rng: Any) -> Any:
    """Place the agent in a random room that is not the locked one.

    Returns
    -------
    bool
        False: there was no place, as in `place_agent_in_room`.
    """
    s = env.room_size - 1
    for _ in range(MAX_LEVELS):
        if not place_agent_in_room(env, rng, ANY, ANY):
            return False
        if env.x // s != env.locked_i or env.y // s != env.locked_j:
            return True
    return False


@rule
def open_doors(env: Any) -> None:
    """Open all doors."""
    for x in range(env.width):
        for y in range(env.height):
            if env.grid[x, y] & TYPE == DOOR:
                env.grid[x, y] = env.grid[x, y] & ~STATE


@rule
def lock_room(env: Any, rng: Any) -> int:
    """Add a locked door to a random room, and its key to any room.

    The key may come into the locked room: MiniGrid means to draw another room then, but
    compares the numbers by identity, which never are the same object.

    Returns
    -------
    int
        The door; 0: there was no place for the key.
    """
    env.locked_i, env.locked_j = rng.integers(env.num_cols), rng.integers(env.num_rows)
    colour = add_door(env, rng, env.locked_i, env.locked_j, ANY, ANY, 1)
    i, j = rng.integers(env.num_cols), rng.integers(env.num_rows)
    key = add_object(env, rng, i, j, KEY, colour)
    return DOOR + colour if key != 0 else 0


@rule
def are_reachable(env: Any) -> Any:
    """Return whether the agent can go next to each thing without moving one.

    It can open all doors: ``check_objs_reachable``.
    """
    count, first, num_things = 1, 0, 0
    env.grid[env.x, env.y] = REACHED
    env.queue[0] = env.x << 16 | env.y
    while first < count:
        x, y = env.queue[first] >> 16, env.queue[first] & 0xFFFF
        first += 1
        kind = env.grid[x, y] & TYPE
        if kind == 0 or kind == DOOR:
            for side in range(4):
                p, q = find_neighbour(x, y, side)
                thing = env.grid[p, q]
                if thing != WALL and not thing & REACHED:
                    num_things += thing != 0
                    env.grid[p, q] = thing | REACHED
                    env.queue[count] = p << 16 | q
                    count += 1
    for k in range(count):
        x, y = env.queue[k] >> 16, env.queue[k] & 0xFFFF
        env.grid[x, y] &= REACHED - 1
    return num_things == env.num_things


@rule
def fill_rooms(env: Any, rng: Any, count: int) -> bool:
    """Add so many objects to each room, and the agent outside of the locked one.

    The locked room gets objects as well, for the same reason as in `lock_room`.

    Returns
    -------
    bool
        False: there was no place, or the agent cannot go to all things.
    """
    for i in range(env.num_cols):
        for j in range(env.num_rows):
            if not add_distractors(env, rng, i, j, count, False):
                return False
    return place_agent_outside(env, rng) and are_reachable(env)  # type: ignore[no-any-return]


# What the verbs of clauses are for a solver.
TASKS = {GO_TO: FACE, PICK_UP: PICK, OPEN: OPEN_DOOR, PUT_NEXT: NEXT}


def list_things(bits: int) -> list[int]:
    """Return the numbers of things as codes, from a bit for each."""
    return [k << NUMBER_BIT for k in range(MAX_THINGS + 1) if bits >> k & 1]


class Level(RoomGrid):
    """Base class of BabyAI's levels: do what the mission says.

    A level writes its rule ``begin`` with the decorator `level`.

    Attributes
    ----------
    mission : (37,) int8
        The instruction; see `roll_vec.envs.minigrid.babyai_instructions`.
    matches : (4, 2) int64
        The things that match the descriptions of each clause, a bit for each number.
    known : (width, height) uint8
        The number of the thing in each cell, at the begin or the last action ``drop``.
    held : (4,) uint32
        What was carried when each clause was last verified.
    done : (4,) bool
        Whether each clause is done.
    has_moved : bool
        Whether a thing is not where ``known`` has it.
    queue : (width * height,) uint32
        Scratch memory: cells to which the agent can go.
    limit : int32
        The limit of steps.
    locked_i, locked_j : int8
        Column and row of the locked room; -1: there is none.

    Rewards
    -------
    1 - 0.9 * steps / limit
        The instruction is fulfilled.
    0
        Any other step.

    Episode end
    -----------
    terminated
        The instruction is fulfilled: success.
    terminated
        With ``debug`` or ``strict``: another door is toggled, or another object is
        picked up.
    truncated
        The limit of steps is reached: by default the squared ``room_size`` times the
        number of rooms, for each thing to go to; some levels have one of their own.

    Differences
    -----------
    - ``mission`` is of a ``Text`` space, not of a ``MissionSpace``.
    - ``agent_view_size`` is at most 15.
    - ``grid`` and ``carrying`` are codes, not objects, and ``mission`` has the numbers
      of the text that observations have.
    - Not there: ``screen_size``, and methods such as ``front_pos`` or ``gen_obs_grid``.
    - Wrappers that change observations are values of ``obs_mode``.
    - The variable BABYAI_DONE_ACTIONS of the process does nothing.
    """

    room_size: int = 8

    state: ClassVar[Mapping[str, Any]] = {
        **RoomGrid.state,
        "mission": (np.int8, NUM_WORDS),
        "matches": (np.int64, (NUM_CLAUSES, 2)),
        "known": (np.uint8, ("width", "height")),
        "held": (np.uint32, NUM_CLAUSES),
        "done": (np.bool_, NUM_CLAUSES),
        "has_moved": np.bool_,
        "queue": (np.uint32, "num_cells"),
        "limit": np.int32,
        "locked_i": np.int8,
        "locked_j": np.int8,
    }
    # Whether things may have to be moved out of the way.
    unblocking: ClassVar[Any] = False
    # The clauses, a bit each, that fail with a wrong door or a wrong object.
    strict_clauses: ClassVar[Any] = 0
    # The fewest rows and columns of rooms, and the fewest objects.
    LEAST_ROOMS: ClassVar[int] = 1
    LEAST_DISTS: ClassVar[int] = 0

    def check_options(self) -> None:
        """Refuse fewer rooms and objects than the level needs."""
        super().check_options()
        for name in ("num_rows", "num_cols"):
            if self.LEAST_ROOMS > 1:
                check_int(name, getattr(self, name), self.LEAST_ROOMS, 20)
        num_dists = getattr(self, "num_dists", self.LEAST_DISTS)
        check_int("num_dists", num_dists, self.LEAST_DISTS, MAX_THINGS)

    @property
    def state_limits(self) -> dict[str, Any]:
        """Limits of variables."""
        return {**super().state_limits, "limit": (1, np.iinfo(np.int32).max)}

    @property
    def num_cells(self) -> int:
        """Cells of the grid."""
        return self.width * self.height

    @property
    def default_limit(self) -> int:
        """The limit of steps without ``max_steps``; 0: it depends on the mission."""
        return 0

    @property
    def fixed_limit(self) -> int:
        """The limit of steps of all episodes; 0: it depends on the mission."""
        return self.max_steps or self.default_limit

    @rule
    def step(env: Any, action: int, rng: Any) -> Any:
        x, y = find_front(env)
        number = env.grid[x, y] >> NUMBER_BIT
        reward, _ = move(env, action)
        env.has_moved |= env.grid[x, y] >> NUMBER_BIT != number
        result = verify(env, action)
        if result == SUCCESS:
            reward = reward_success(env)
        return end(env, reward, result != CONTINUE)

    def tasks(self, env: Row) -> Any:
        """Return what the mission wants; see `MiniGrid.tasks`."""
        stages: list[list[Task]] = [[], []]
        for c in range(NUM_CLAUSES):
            verb = env.mission[1 + c * CLAUSE_WORDS]
            if verb > 0 and not env.done[c]:
                sets = [list_things(env.matches[c, d]) for d in range(2)]
                stages[c // 2].append(Task(TASKS[verb], *sets))
        return stages[::-1] if env.mission[0] == AFTER else stages

    def mission_text(self, mission: Any) -> str:
        """Return the text of an instruction, from its words."""
        return write_instruction(mission)


class LockedRoom(Level):
    """Base class of levels with a locked room."""

    def check_options(self) -> None:
        """Refuse one room, which can have no door."""
        super().check_options()
        if self.num_rows * self.num_cols == 1:
            accepted = "at least 2 where num_rows is 1"
            raise InvalidOptionError.expected("num_cols", accepted, self.num_cols)


class OneRoom(Level):
    """Base class of levels in one room."""

    num_rows: ClassVar[int] = 1  # type: ignore[misc]
    num_cols: ClassVar[int] = 1  # type: ignore[misc]


@rule
def fill_maze(env: Any, rng: Any, count: int) -> bool:
    """Add the agent, doors between all rooms, and objects in any rooms.

    Returns
    -------
    bool
        False: there was no place, or no way.
    """
    if not place_agent_in_room(env, rng, ANY, ANY) or not connect_all(env, rng):
        return False
    return add_distractors(env, rng, ANY, ANY, count, False)  # type: ignore[no-any-return]


class Maze(Level):
    """Base class of levels about one thing in a maze of rooms, or in one room.

    Attributes
    ----------
    verb : int, of the class
        `GO_TO`, `PICK_UP`, or `OPEN` for a door.
    is_blocked : bool, of the class
        Whether an object must be in the way of another one; else none is.
    """

    verb: ClassVar[int] = GO_TO
    is_blocked: ClassVar[bool] = False
    num_dists: int = 18
    doors_open: ClassVar[Any] = False
    LEAST_DISTS: ClassVar[int] = 1

    @level
    def begin(env: Any, rng: Any) -> bool:
        is_full = fill_maze(env, rng, env.num_dists)
        if not is_full or are_reachable(env) == env.is_blocked:
            return False
        if env.verb == OPEN:
            ask(env, 0, OPEN, draw_door(env, rng))
        else:
            ask(env, 0, env.verb, draw_thing(env, rng, env.num_dists))
        if env.doors_open:
            open_doors(env)
        return True
