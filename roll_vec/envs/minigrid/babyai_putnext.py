"""BabyAI's levels with an object to move: MiniGrid's ``envs/babyai/putnext.py``."""

from __future__ import annotations

from typing import Any, ClassVar

from roll_vec.arrays.rules import rule
from roll_vec.envs.minigrid.babyai_instructions import ask_put
from roll_vec.envs.minigrid.babyai_levels import Level, OneRoom, are_reachable, level
from roll_vec.envs.minigrid.observations import (
    observe_flat,
    observe_image,
    observe_parts,
    spread_codes,
)
from roll_vec.envs.minigrid.rooms import (
    ANY,
    add_distractors,
    draw_new,
    find_thing,
    place_agent_in_room,
    remove_wall,
)
from roll_vec.envs.minigrid.steps import find_front
from roll_vec.envs.minigrid.things import EMPTY, NUMBER_BIT, NUMBERS, TYPE
from roll_vec.envs.minigrid.views import write_code
from roll_vec.options import check_int


class PutNextLocal(OneRoom):
    """Put an object next to another one, in a room.

    Parameters
    ----------
    num_objs : int
        The number of objects, from 2 to 18; all are different.
    """

    num_objs: int = 8

    def check_options(self) -> None:
        """Refuse more objects than there are different ones."""
        super().check_options()
        check_int("num_objs", self.num_objs, 2, 18)

    @level
    def begin(env: Any, rng: Any) -> bool:
        if not place_agent_in_room(env, rng, ANY, ANY):
            return False
        if not add_distractors(env, rng, ANY, ANY, env.num_objs, True):
            return False
        if not are_reachable(env):
            return False
        first = draw_new(rng, env.num_objs, 0)
        second = draw_new(rng, env.num_objs, 1 << first)
        ask_put(env, 0, find_thing(env, first + 1), find_thing(env, second + 1))
        return True


@level
def draw_two_sides(env: Any, rng: Any) -> bool:
    """Draw objects on both sides, and ask to move one of one side to the other."""
    if not fill_sides(env, rng):
        return False
    first = find_thing(env, 1 + rng.integers(env.objs_per_room))
    count = env.objs_per_room
    second = find_thing(env, 1 + count + rng.integers(count))
    if rng.integers(2) == 0:
        first, second = second, first
    ask_put(env, 0, first, second)
    return True


@rule
def fill_sides(env: Any, rng: Any) -> bool:
    """Put the agent to the left, objects to both sides, and remove the wall between.

    Returns
    -------
    bool
        False: there was no place.
    """
    if not place_agent_in_room(env, rng, 0, 0):
        return False
    for i in range(2):
        if not add_distractors(env, rng, i, 0, env.objs_per_room, True):
            return False
    remove_wall(env, 0, 0, 0)
    return True


@rule
def find_known(env: Any, things: int) -> Any:
    """Return the cell (x, y) where one of some things, in bits, was at the begin."""
    for x in range(env.width):
        for y in range(env.height):
            if things >> env.known[x, y] & 1:
                return x, y
    return -1, -1


@rule
def find_target(env: Any) -> Any:
    """Return the cell (i, j) of the view where the carried object was at the begin.

    (-1, -1): it is not in the view.
    """
    size, half = env.agent_view_size, env.agent_view_size // 2
    x, y = find_known(env, 1 << (env.carrying >> NUMBER_BIT & NUMBERS))
    front, below = find_front(env)
    dx, dy = front - env.x, below - env.y
    i = half + (y - env.y) * dx - (x - env.x) * dy
    j = size - 1 - (x - env.x) * dx - (y - env.y) * dy
    return (i, j) if 0 <= i < size and 0 <= j < size else (-1, -1)


@rule
def show_target(env: Any, image: Any) -> None:
    """Show the object that the agent carries at the begin on its cell.

    MiniGrid makes the first observation before it moves the object to the agent.
    """
    if env.step_count > 0:
        return
    write_code(image, env.agent_view_size // 2, env.agent_view_size - 1, 0)
    i, j = find_target(env)
    # What is not visible is 0.
    if i >= 0 and image[i, j, 0] > 0:
        write_code(image, i, j, env.carrying)


@rule
def observe_start_parts(env: Any, out: Any) -> None:
    observe_parts(env, out)
    show_target(env, out.image)


@rule
def observe_start_image(env: Any, out: Any) -> None:
    observe_image(env, out)
    show_target(env, out)


@rule
def observe_start_one_hot(env: Any, out: Any) -> None:
    observe_parts(env, out)
    show_target(env, out.image)
    spread_codes(env, out.image)


@rule
def observe_start_flat(env: Any, out: Any) -> None:
    observe_flat(env, out)
    if env.step_count > 0:
        return
    size, thing = env.agent_view_size, env.carrying
    first = 3 * (size // 2 * size + size - 1)
    out[first : first + 3] = EMPTY, 0, 0
    i, j = find_target(env)
    first = 3 * (i * size + j)
    if i >= 0 and out[first] > 0:
        out[first : first + 3] = thing & TYPE, thing >> 4 & 7, thing >> 7 & 3


START_OBSERVERS = {
    "dict": observe_start_parts,
    "image": observe_start_image,
    "one_hot": observe_start_one_hot,
    "flat": observe_start_flat,
}


class TwoSidesLevel(Level):
    """Base class of levels in two rooms without a wall between.

    Parameters
    ----------
    room_size : int
        Columns and rows of a room with its walls, from 4 to 99.
    objs_per_room : int
        The number of objects of each side, from 1 to 9; all are different.
    """

    num_rows: ClassVar[int] = 1  # type: ignore[misc]
    num_cols: ClassVar[int] = 2  # type: ignore[misc]
    objs_per_room: int = 1

    def check_options(self) -> None:
        """Refuse more objects than there are different ones."""
        super().check_options()
        check_int("room_size", self.room_size, 4, 99)
        check_int("objs_per_room", self.objs_per_room, 1, 9)


class PutNext(TwoSidesLevel):
    """Put an object next to another one, on the other side of two rooms.

    Parameters
    ----------
    start_carrying : bool
        True: the agent carries the object at the begin.  The first observation
        shows it on its cell, as in MiniGrid; in texts, pictures and whole grids it is
        in the agent's hands.
    """

    room_size: int = 5
    start_carrying: bool = False

    @property
    def default_limit(self) -> int:
        """The limit of steps without ``max_steps``."""
        return 8 * self.room_size**2

    def rules(self) -> list[Any]:
        """Return the rules, with the first observation of ``start_carrying``."""
        begin, step, observe, legal = super().rules()
        if self.start_carrying:
            observe = START_OBSERVERS.get(self.obs_mode, observe)
        return [begin, step, observe, legal]

    @rule
    def begin(env: Any, rng: Any) -> None:
        draw_two_sides(env, rng)
        if env.start_carrying:
            env.has_moved = True
            x, y = find_known(env, env.matches[0, 0])
            env.carrying, env.grid[x, y] = env.grid[x, y], 0
