"""The shortest plans of MiniGrid's games, by a search over their own rules.

The rule ``step`` of the game makes all states of the search, so that a plan does what
it promises.  Lower bounds of the steps to the end come from *tasks*: what a mission
wants in short, see `Task` and `roll_vec.kernels.minigrid.search`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from roll_vec.arrays.bound_steps import BoundStep
from roll_vec.envs.minigrid.steps import DROP, PICKUP, TOGGLE
from roll_vec.envs.minigrid.things import (
    BOX,
    CLOSED,
    CODE,
    CONTENT_BIT,
    DOOR,
    GOAL,
    KEY,
    LAVA,
    LOCKED,
    LOOKS,
    NUMBER_BIT,
    NUMBERS,
    STATE,
    TYPE,
    WALL,
)
from roll_vec.errors import SolverLimitError
from roll_vec.kernels._jit import allow_overflow
from roll_vec.kernels.minigrid import search
from roll_vec.kernels.minigrid.search import (
    FACE,
    HOLD,
    NEAR,
    NEXT,
    OPEN,
    PICK,
    REACH,
)
from roll_vec.kernels.rows import Row
from roll_vec.vector.engine import NO_IDS

__all__ = [
    "FACE",
    "NEAR",
    "NEXT",
    "OPEN",
    "PICK",
    "REACH",
    "SEARCHES",
    "Children",
    "Task",
    "find_goals",
    "find_plan",
]

# Searches one after the other: the penalty of `measure_tasks`, twice the weight of
# bounds, and the states that it may meet.
SEARCHES = (
    (0, 2, 1 << 14),
    (4, 2, 1 << 12),
    (4, 3, 1 << 13),
    (4, 4, 1 << 13),
    (4, 6, 1 << 15),
)
_MAX_FRONT = 256
_MAX_LAYERS = 1 << 12
# Variables that each step writes, and on which nothing else depends.
_RESULTS = ("step_count", "success")
_ACTIONS = {PICK: PICKUP, OPEN: TOGGLE, NEXT: DROP, NEAR: DROP}
# Numbers of all lower bounds: some 50 ms.
_MAX_BOUNDS = 1 << 21


class Task(NamedTuple):
    """Something that an agent has to do.

    Attributes
    ----------
    kind : int
        ``PICK``: pick up a thing; ``FACE``: stand before it; ``OPEN``: open a door;
        ``NEXT``: put a thing next to another one; ``NEAR``: the same, also across a
        corner; ``REACH``: go to a cell.
    things : sequence of int
        Those that will do.  One with a number is known by it, others by their looks.
        ``REACH``: cells, ``x * height + y``.
    others : sequence of int
        Of ``NEXT`` and ``NEAR`` the things that stay.
    """

    kind: int
    things: Sequence[int]
    others: Sequence[int] = ()


def _code_things(things: Sequence[int]) -> tuple[int, list[int]]:
    """Return the bits that tell things apart, and their values."""
    bits = NUMBERS << NUMBER_BIT
    if not all(thing & bits for thing in things):
        bits = LOOKS
    return bits, sorted({thing & bits for thing in things})


class _Facts:
    """The facts of tasks as kernels read them.

    Attributes
    ----------
    facts, codes : int64 arrays
        See `roll_vec.kernels.minigrid.search.measure_tasks`.
    goal : int
    table : (513,) int64
    is_too_large : bool
        Whether exact bounds would take too many numbers.
    """

    def __init__(
        self,
        stages: Sequence[Sequence[Task]],
        grid: NDArray[np.uint32],
        height: int,
        is_exact: bool,
    ) -> None:
        self._num_cells, self._height = grid.size, height
        self._rows: list[list[int]] = []
        self._codes: list[tuple[list[int], list[int]]] = []
        self.goal = 0
        self.table = _TABLE.copy()
        self._add_locks(grid)
        moved: dict[int, Sequence[int]] = {}
        for stage in stages:
            before = self.goal
            for task in stage:
                requires = before
                if task.kind in (NEXT, NEAR):
                    # In estimates it is too early to carry things of later stages.
                    first = 0 if is_exact else before
                    requires |= 1 << self._add(HOLD, first, task.things)
                fact = self._add(task.kind, requires, task.things, task.others)
                self.goal |= 1 << fact
                if task.kind == NEXT:
                    moved[fact] = task.others
                elif before and task.kind in (FACE, PICK):
                    moved[fact] = task.things
        # What may be elsewhere when it is needed: else bounds would be too high.
        num_facts = len(self._rows) + len(moved)
        self.is_too_large = is_exact and 8 * grid.size << num_facts > _MAX_BOUNDS
        if is_exact and not self.is_too_large:
            for fact, things in moved.items():
                self._rows[fact][search.MOVED] = 1 << self._add(HOLD, 0, things)
        shape = -1, search.NUM_FACT_COLUMNS
        self.facts = np.array(self._rows, np.int64).reshape(shape)
        most = max((len(each) for pair in self._codes for each in pair), default=0)
        self.codes = np.full((len(self._rows), 2, most + 1), -1, np.int64)
        for f, pair in enumerate(self._codes):
            for side, each in enumerate(pair):
                self.codes[f, side, : len(each)] = each

    def _add(
        self,
        kind: int,
        requires: int,
        things: Sequence[int],
        others: Sequence[int] = (),
    ) -> int:
        if kind == REACH:
            bits, codes = -1, [each for each in things if self._is_inside(each)]
        else:
            bits, codes = _code_things(things)
        second = _code_things(others)[1] if others else []
        self._rows.append([kind, requires, bits, _ACTIONS.get(kind, -1), 0])
        self._codes.append((codes, second))
        return len(self._rows) - 1

    def _is_inside(self, cell: int) -> bool:
        """Return whether a cell is in the grid and not at its border, a wall."""
        height, y = self._height, cell % self._height
        return height <= cell < self._num_cells - height and 0 < y < height - 1

    def _add_locks(self, grid: NDArray[np.uint32]) -> None:
        """Add a fact for each colour of a locked door: a key of it is carried."""
        doors = np.flatnonzero((grid & (TYPE | STATE)) == DOOR + LOCKED)
        for door in sorted(set((grid[doors] & CODE).tolist())):
            key = KEY + (door & LOOKS) - DOOR
            self.table[door] = search.LOCKED + self._add(HOLD, 0, [key])


def _make_table() -> NDArray[np.int64]:
    """Return the kinds of cells by their codes, as kernels read them."""
    table = np.full(CODE + 2, search.FREE)
    things = np.arange(CODE + 2)
    kinds = things & TYPE
    table[kinds == 0] = search.EMPTY
    table[(kinds == WALL & TYPE) | (kinds == LAVA & TYPE)] = search.SOLID
    table[(kinds >= KEY) & (kinds < BOX)] = search.THING
    table[kinds == BOX] = search.BOX
    is_door = kinds == DOOR
    table[is_door & (things & STATE == CLOSED)] = search.SHUT
    # Locks without a key.
    table[is_door & (things & STATE == LOCKED)] = search.SOLID
    table[-1] = CONTENT_BIT
    return table


_TABLE = _make_table()


def find_goals(env: Row) -> list[list[Task]]:
    """Return the task to go to a green goal."""
    goals = np.flatnonzero(env.grid.array == GOAL).tolist()
    return [[Task(REACH, goals)]] if goals else []


class Children:
    """States that the rule ``step`` steps, each variable behind the one before.

    Parameters
    ----------
    options : MiniGrid
    """

    def __init__(self, options: Any) -> None:
        variables = options.variables
        self.num_actions = len(options.action_names)
        count = _MAX_FRONT * self.num_actions
        layout, offset, row_offset = [], 0, 0
        for name, (dtype, shape) in variables.items():
            size = dtype.itemsize * int(np.prod(shape))
            role = search.RESET if name in _RESULTS else search.PART
            if name in ("grid", "carrying"):
                role = search.THINGS_PART
            layout.append((offset, row_offset, size, role))
            offset += -(-count * size // 8) * 8
            row_offset += -(-size // 4) * 4
        self.layout = np.array(layout, np.int64)
        self.row_size = row_offset
        self.bytes = np.zeros(offset, np.uint8)
        arrays: dict[str, Any] = {}
        for (name, (dtype, shape)), (first, _, size, _) in zip(
            variables.items(), layout, strict=True
        ):
            part = self.bytes[first : first + count * size].view(dtype)
            arrays[name] = part.reshape(count, *shape)
        self.things_at = layout[list(variables).index("grid")][1] // 4
        names = "x", "y", "direction", "carrying"
        self.packed = (
            (self.bytes, self.bytes.view(np.uint32)),
            self.layout,
            self.things_at,
            *(arrays[name] for name in names),
        )
        self._arrays = arrays
        self._bind(options, tuple(arrays.values()), count)

    def read_row(self, env: Row) -> NDArray[np.uint8]:
        """Return a state as the row of a node, (row_size,) uint8."""
        for name, array in self._arrays.items():
            value = getattr(env, name)
            array[0] = getattr(value, "array", value)
        row = np.zeros(self.row_size, np.uint8)
        search.store_first(self.packed, row, row.view(np.uint32))
        return row

    def _bind(self, options: Any, variables: Any, count: int) -> None:
        """Bind the rule ``step`` to the states."""
        constants = tuple(options.kernel_constants.values())
        generators = np.zeros((6, count if options.has_generator else 0), np.uint64)
        numbers = np.zeros((2, count), np.uint64)
        state = variables, constants, generators, np.zeros(count, np.int32)
        episodes = 0, 0, numbers[0], numbers[1]
        fixed = options.rules_of(0), state, episodes
        self._bound = BoundStep(options.family(), *fixed, False)
        self._actions = np.tile(np.arange(self.num_actions), _MAX_FRONT)
        self._actions += options.first_action
        declaration = options.declaration
        num_flags = declaration.num_flags
        self._infos = tuple(
            np.empty((count, *shape), dtype)
            for name in declaration.infos[num_flags:]
            for dtype, shape in [options.info_array(name)]
        )
        shown = len(declaration.infos) - len(options.hidden_infos)
        self._skip_mask = np.zeros(count, np.bool_)
        self._flags = np.zeros((3 + num_flags + shown, count), np.bool_)
        self._rewards = np.zeros(count)
        self._out = options.allocate_observations(1)
        self.results = self._rewards, self._flags[0]

    def step(self, count: int) -> None:
        """Take every action in as many states as a round has."""
        self._bound.step(
            0,
            count * self.num_actions,
            self._bound.words,
            NO_IDS,
            self._actions,
            self._skip_mask,
            self._rewards,
            self._flags,
            self._infos,
            self._out,
        )


@allow_overflow
def find_plan(
    options: Any, env: Row, stages: Sequence[Sequence[Task]], searches: Any = SEARCHES
) -> list[int] | None:
    """Return actions to the end of an episode with a reward; None: there are none.

    Parameters
    ----------
    options : MiniGrid
    env : roll_vec.kernels.rows.Row
    stages : sequence of sequences of Task
        The tasks of a stage have any order; those of the next stage come after them.
    searches : sequence of (int, int, int)
        See `SEARCHES`.

    Raises
    ------
    SolverLimitError
        If the last search met too many states.
    """
    # Threads take different ones.
    free = options.children
    children = free.pop() if free else Children(options)
    row = children.read_row(env)
    for penalty, weight, limit in searches:
        grid = env.grid.array
        facts = _Facts(stages, grid.ravel(), grid.shape[1], penalty == 0)
        if facts.is_too_large:
            continue
        start, task = _measure(env, facts, penalty)
        plan = _search(children, (row, *start), task, weight, limit)
        if plan is not None:
            free.append(children)
            return plan or None
    message = f"the search for a plan gave up after {searches[-1][2]} states"
    raise SolverLimitError(message)


def _measure(env: Row, facts: _Facts, penalty: int) -> tuple[Any, Any]:
    """Return the progress, pose and carried thing, and the task as kernels read it."""
    grid = env.grid.array.ravel()
    height, carried = env.grid.shape[1], env.carrying
    num_poses, num_facts = 4 * grid.size, len(facts.facts)
    links, items = np.empty((2, 32 * num_poses), np.int64)
    heap = np.full(search.NUM_BUCKETS, -1), links, items, np.zeros(1, np.int64)
    layers = np.empty((1 << num_facts, 2 * num_poses), np.int16)
    kinds = np.empty(grid.size, np.int64)
    task = height, facts.table, facts.facts, facts.codes, kinds, heap, layers, penalty
    pose = (env.x * height + env.y) * 4 + env.direction
    progress = search.find_progress(0, -1, carried, carried, pose, grid, task)
    # Estimates may forget facts.
    known = progress if penalty == 0 else 0
    search.measure_tasks(known, facts.goal, carried, grid, task)
    return (progress, pose, carried), task


def _search(
    children: Children, start: Any, task: Any, weight: int, limit: int
) -> list[int] | None:
    """Return a plan, no actions where there is none, or None at the limit of states.

    Parameters
    ----------
    start : tuple
        The row of the state, its progress, pose and carried thing.
    """
    (row, progress, pose, carried), layers = start, task[6]
    most_new = _MAX_FRONT * children.num_actions
    size = 1 << 12
    rows = np.zeros((size, children.row_size), np.uint8)
    nodes = np.zeros((size, search.NUM_NODE_COLUMNS), np.int64)
    closed = np.full((4 * size, 2), -1)
    counters = np.zeros(search.NUM_COUNTERS, np.int64)
    counters[[search.NODES, search.BEST_NODE]] = 1, -1
    buckets = np.full(search.NUM_BUCKETS, -1)
    nodes[0, [search.PARENT, search.PROGRESS, search.POSE]] = -1, progress, pose
    nodes[0, [search.CARRIED, search.LINK]] = carried, -1
    # The digest of the first state is 0.
    rows[0], closed[0] = row, 0
    bound = int(layers[progress, (carried != 0) * layers.shape[1] // 2 + pose])
    if bound >= search.FAR:
        return []
    buckets[weight * bound // 2] = 0
    counters[search.BUCKET] = weight * bound // 2
    slots = np.full((2 * _MAX_LAYERS, 2), -1)
    cache = slots, np.empty((_MAX_LAYERS, layers.shape[1]), np.int16)
    front, digests = np.zeros(_MAX_FRONT, np.int64), np.zeros(2, np.int64)
    while True:
        if counters[search.NODES] > limit:
            return None
        if counters[search.NODES] + most_new > len(nodes):
            rows, nodes = (
                np.concatenate([each, np.zeros_like(each)]) for each in (rows, nodes)
            )
            larger = np.full((2 * len(closed), 2), -1)
            search.grow(closed, larger)
            closed = larger
        arrays = (rows, rows.view(np.uint32)), nodes, buckets, closed, counters
        if not search.search_round(
            children.num_actions,
            weight,
            arrays,
            children.packed,
            task,
            cache,
            front,
            children.results,
            digests,
        ):
            break
        children.step(int(counters[search.FRONT]))
    node, plan = int(counters[search.BEST_NODE]), []
    if node >= 0:
        plan.append(int(counters[search.BEST_ACTION]))
    while node > 0:
        plan.append(int(nodes[node, search.LAST]))
        node = int(nodes[node, search.PARENT])
    return plan[::-1]
