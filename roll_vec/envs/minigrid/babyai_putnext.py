"""BabyAI's levels with an object to move: MiniGrid's ``envs/babyai/putnext.py``."""

from __future__ import annotations

from typing import Any, ClassVar

from roll_vec.arrays.rules import rule
from roll_vec.envs.minigrid.babyai_instructions import ask_put
from roll_vec.envs.minigrid.babyai_levels import Level, OneRoomLevel, level
from roll_vec.envs.minigrid.rooms import (
    ANY,
    add_distractors,
    are_reachable,
    draw_new,
    find_thing,
    place_agent_in_room,
    remove_wall,
)
from roll_vec.options import check_int


class PutNextLocal(OneRoomLevel):
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
    room_size : int
        Columns and rows of a room with its walls, from 4 to 99.
    objs_per_room : int
        The number of objects of each side, from 1 to 9; all are different.
    start_carrying : bool
        True: the agent carries the object at the begin.  The first observation shows it
        on its cell, as in MiniGrid.
    """

    room_size: int = 5
    start_carrying: bool = False

    @property
    def default_limit(self) -> int:
        """The limit of steps without ``max_steps``."""
        return 8 * self.room_size**2

    @rule
    def begin(env: Any, rng: Any) -> None:
        draw_two_sides(env, rng)
        if env.start_carrying:
            for number in range(1, env.num_things + 1):
                if env.matches[0, 0] >> number & 1:
                    x, y = env.places[number]
                    env.carrying, env.grid[x, y] = env.grid[x, y], 0
