"""BabyAI's other levels: MiniGrid's ``envs/babyai/other.py``."""

from __future__ import annotations

from typing import Any, ClassVar

from roll_vec.envs.minigrid.babyai_instructions import (
    BEFORE,
    GO_TO,
    OPEN,
    PICK_UP,
    ask,
    ask_kind,
    ask_put,
)
from roll_vec.envs.minigrid.babyai_levels import (
    Level,
    OneRoom,
    draw_thing,
    level,
)
from roll_vec.envs.minigrid.babyai_putnext import TwoSidesLevel, fill_sides
from roll_vec.envs.minigrid.rooms import (
    ANY,
    add_distractors,
    add_door,
    add_object,
    connect_all,
    draw_new,
    find_thing,
    place_agent_in_room,
    remove_wall,
)
from roll_vec.envs.minigrid.things import BALL, DOOR, KEY, OBJECTS, TYPE, TYPE_NAMES
from roll_vec.errors import InvalidOptionError
from roll_vec.options import check_choice, check_int


class ActionObjDoor(Level):
    """Go to an object or a door of a room, pick it up or open it."""

    room_size: ClassVar[int] = 7  # type: ignore[misc]
    LEAST_ROOMS: ClassVar[int] = 3

    @level
    def begin(env: Any, rng: Any) -> bool:
        if not add_distractors(env, rng, 1, 1, 5, True):
            return False
        for _ in range(4):
            add_door(env, rng, 1, 1, ANY, ANY, 0)
        if not place_agent_in_room(env, rng, 1, 1):
            return False
        thing = draw_thing(env, rng, 9)
        verb = OPEN if thing & TYPE == DOOR else PICK_UP
        ask(env, 0, GO_TO if rng.integers(2) == 0 else verb, thing)
        return True


class FindObjS5(Level):
    """Find the object in the maze, and pick it up."""

    room_size: int = 5
    LEAST_ROOMS: ClassVar[int] = 2

    def check_options(self) -> None:
        """Refuse rows and columns of another number: MiniGrid mixes them up."""
        super().check_options()
        if self.num_rows != self.num_cols:
            accepted = f"num_rows, {self.num_rows}"
            raise InvalidOptionError.expected("num_cols", accepted, self.num_cols)

    @property
    def default_limit(self) -> int:
        """The limit of steps without ``max_steps``."""
        return 20 * self.room_size**2

    @level
    def begin(env: Any, rng: Any) -> bool:
        i, j = rng.integers(env.num_rows), rng.integers(env.num_cols)
        thing = add_object(env, rng, i, j, ANY, ANY)
        if thing == 0 or not place_agent_in_room(env, rng, 1, 1):
            return False
        ask_kind(env, 0, PICK_UP, thing & TYPE)
        return connect_all(env, rng)  # type: ignore[no-any-return]


class KeyCorridor(Level):
    """Find the key, unlock the door and pick up the object behind it.

    Parameters
    ----------
    obj_type : str
        The object: ``ball``, ``box`` or ``key``.
    """

    room_size: int = 6
    obj_type: str = "ball"
    num_cols: ClassVar[int] = 3  # type: ignore[misc]

    def check_options(self) -> None:
        """Refuse other objects."""
        super().check_options()
        check_choice("obj_type", self.obj_type, [TYPE_NAMES[each] for each in OBJECTS])

    @property
    def kind(self) -> int:
        """The type of the object."""
        return TYPE_NAMES.index(self.obj_type)

    @property
    def default_limit(self) -> int:
        """The limit of steps without ``max_steps``."""
        return 30 * self.room_size**2

    @level
    def begin(env: Any, rng: Any) -> bool:
        for j in range(1, env.num_rows):
            remove_wall(env, 1, j, 3)
        j = rng.integers(env.num_rows)
        colour = add_door(env, rng, 2, j, 2, ANY, 1)
        if add_object(env, rng, 2, j, env.kind, ANY) == 0:
            return False
        if add_object(env, rng, 0, rng.integers(env.num_rows), KEY, colour) == 0:
            return False
        if not place_agent_in_room(env, rng, 1, env.num_rows // 2):
            return False
        ask_kind(env, 0, PICK_UP, env.kind)
        return connect_all(env, rng)  # type: ignore[no-any-return]


class OneRoomS8(OneRoom):
    """Pick up the ball."""

    @level
    def begin(env: Any, rng: Any) -> bool:
        if add_object(env, rng, 0, 0, BALL, ANY) == 0:
            return False
        ask_kind(env, 0, PICK_UP, BALL)
        return place_agent_in_room(env, rng, ANY, ANY)  # type: ignore[no-any-return]


class MoveTwoAcross(TwoSidesLevel):
    """Put an object next to one on the other side, then another one the other way."""

    objs_per_room: int = 2

    def check_options(self) -> None:
        """Refuse fewer than two objects on a side."""
        super().check_options()
        check_int("objs_per_room", self.objs_per_room, 2, 9)

    @property
    def default_limit(self) -> int:
        """The limit of steps without ``max_steps``."""
        return 16 * self.room_size**2

    @level
    def begin(env: Any, rng: Any) -> bool:
        if not fill_sides(env, rng):
            return False
        n = env.objs_per_room
        a = draw_new(rng, n, 0)
        d = draw_new(rng, n, 1 << a)
        b = draw_new(rng, n, 0)
        c = draw_new(rng, n, 1 << b)
        env.mission[0] = BEFORE
        ask_put(env, 0, find_thing(env, 1 + a), find_thing(env, 1 + n + b))
        ask_put(env, 2, find_thing(env, 1 + n + c), find_thing(env, 1 + d))
        return True
