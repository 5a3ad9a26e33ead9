"""BabyAI's levels with one thing to go to: MiniGrid's ``envs/babyai/goto.py``."""

from __future__ import annotations

from typing import Any, ClassVar

from roll_vec.envs.minigrid.babyai_instructions import GO_TO, ask
from roll_vec.envs.minigrid.babyai_level_gen import LevelGen
from roll_vec.envs.minigrid.babyai_levels import (
    Level,
    LockedRoom,
    Maze,
    OneRoom,
    are_reachable,
    draw_thing,
    fill_maze,
    fill_rooms,
    level,
    lock_room,
)
from roll_vec.envs.minigrid.rooms import (
    ANY,
    add_distractors,
    add_door,
    add_object,
    connect_all,
    find_thing,
    has_looks,
    place_agent_in_room,
)
from roll_vec.envs.minigrid.things import (
    BALL,
    BLUE,
    GREY,
    LOOKS,
    NUMBER_BIT,
    RED,
    TYPE,
)


class GoToRedBall(OneRoom):
    """Go to the red ball.

    Parameters
    ----------
    num_dists : int
        The number of other objects, from 0 to 62.
    """

    num_dists: int = 7
    # Whether the other objects are grey.
    is_grey: ClassVar[bool] = False

    @level
    def begin(env: Any, rng: Any) -> bool:
        if not place_agent_in_room(env, rng, 0, 0):
            return False
        ball = add_object(env, rng, 0, 0, BALL, RED)
        if ball == 0 or not add_distractors(env, rng, 0, 0, env.num_dists, False):
            return False
        for x in range(env.width):
            for y in range(env.height):
                thing = env.grid[x, y]
                if env.is_grey and thing >> NUMBER_BIT > 1:
                    env.grid[x, y] = thing - (thing & LOOKS - TYPE) + GREY
        ask(env, 0, GO_TO, ball)
        return are_reachable(env)  # type: ignore[no-any-return]


class GoToRedBallGrey(GoToRedBall):
    """Go to the red ball; all other objects are grey."""

    is_grey: ClassVar[bool] = True


class GoToRedBallNoDists(GoToRedBall):
    """Go to the red ball, the only object."""

    room_size: ClassVar[int] = 8  # type: ignore[misc]
    num_dists: ClassVar[int] = 0  # type: ignore[misc]


class GoToLocal(Maze):
    """Go to an object in a room.

    Parameters
    ----------
    num_dists : int
        The number of objects, from 1 to 62.
    """

    num_rows: ClassVar[int] = 1  # type: ignore[misc]
    num_cols: ClassVar[int] = 1  # type: ignore[misc]
    num_dists: int = 8


class GoToObj(GoToLocal):
    """Go to the only object."""

    num_dists: ClassVar[int] = 1  # type: ignore[misc]


class GoTo(Maze):
    """Go to an object in a maze of rooms.

    Parameters
    ----------
    num_dists : int
        The number of objects, from 1 to 62.
    doors_open : bool
        True: all doors are open at the begin.
    """

    doors_open: bool = False  # type: ignore[misc]


class GoToImpUnlock(LockedRoom):
    """Go to an object in a locked room, whose key must be found.

    The key may be in the locked room itself, as in MiniGrid.
    """

    @level
    def begin(env: Any, rng: Any) -> bool:
        if lock_room(env, rng) == 0 or not connect_all(env, rng):
            return False
        if not fill_rooms(env, rng, 2):
            return False
        i, j = env.locked_i, env.locked_j
        if not add_distractors(env, rng, i, j, 1, False):
            return False
        ask(env, 0, GO_TO, find_thing(env, env.num_things))
        return True


class GoToSeq(LevelGen):
    """Go to things, in the order that the mission says."""

    locked_room_prob: float = 0.0
    locations: bool = False
    unblocking: bool = False  # type: ignore[misc]
    action_kinds: tuple[str, ...] = ("goto",)


class GoToRedBlueBall(OneRoom):
    """Go to the only ball that is red or blue.

    Parameters
    ----------
    num_dists : int
        The number of other objects, from 0 to 62.
    """

    num_dists: int = 7

    @level
    def begin(env: Any, rng: Any) -> bool:
        if not fill_maze(env, rng, env.num_dists):
            return False
        if has_looks(env, BALL + RED) or has_looks(env, BALL + BLUE):
            return False
        colour = RED if rng.integers(2) == 0 else BLUE
        ball = add_object(env, rng, 0, 0, BALL, colour)
        ask(env, 0, GO_TO, ball)
        return ball != 0 and are_reachable(env)  # type: ignore[no-any-return]


class GoToDoor(Level):
    """Go to one of the four doors of a room."""

    room_size: ClassVar[int] = 7  # type: ignore[misc]
    LEAST_ROOMS: ClassVar[int] = 3

    @level
    def begin(env: Any, rng: Any) -> bool:
        for _ in range(4):
            add_door(env, rng, 1, 1, ANY, ANY, ANY)
        if not place_agent_in_room(env, rng, 1, 1):
            return False
        ask(env, 0, GO_TO, draw_thing(env, rng, 4))
        return True


class GoToObjDoor(Level):
    """Go to an object or a door of a room."""

    room_size: ClassVar[int] = 8  # type: ignore[misc]
    LEAST_ROOMS: ClassVar[int] = 3

    @level
    def begin(env: Any, rng: Any) -> bool:
        if not place_agent_in_room(env, rng, 1, 1):
            return False
        if not add_distractors(env, rng, 1, 1, 8, False):
            return False
        for _ in range(4):
            add_door(env, rng, 1, 1, ANY, ANY, ANY)
        if not are_reachable(env):
            return False
        ask(env, 0, GO_TO, draw_thing(env, rng, 12))
        return True
