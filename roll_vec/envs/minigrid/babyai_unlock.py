"""BabyAI's levels with locked doors: MiniGrid's ``envs/babyai/unlock.py``."""

from __future__ import annotations

from typing import Any, ClassVar

from roll_vec.envs.minigrid.babyai_instructions import OPEN, PICK_UP, ask, ask_kind
from roll_vec.envs.minigrid.babyai_levels import (
    Level,
    LockedRoom,
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
    draw_new,
    find_gate,
    number_thing,
    place_agent_in_room,
    place_in_room,
)
from roll_vec.envs.minigrid.things import (
    BALL,
    BOX,
    COLOURS,
    CONTENT_BIT,
    DOOR,
    KEY,
    LOOKS,
    TYPE,
)


class Unlock(LockedRoom):
    """Open the locked door of a room in a maze, whose key must be found.

    The key may be in the locked room itself, as in MiniGrid.
    """

    @level
    def begin(env: Any, rng: Any) -> bool:
        door = lock_room(env, rng)
        if door == 0:
            return False
        # In half of the levels no other door has this colour.
        without = door & LOOKS - TYPE if rng.integers(2) == 0 else ANY
        if not connect_all(env, rng, without):
            return False
        ask(env, 0, OPEN, door)
        return fill_rooms(env, rng, 3)  # type: ignore[no-any-return]


class UnlockLocal(Level):
    """Open the locked door; the key is in the room.

    Parameters
    ----------
    distractors : bool
        True: there are three other objects.
    """

    distractors: bool = False
    # Whether the key is in a box.
    is_in_box: ClassVar[bool] = False
    LEAST_ROOMS: ClassVar[int] = 2

    @level
    def begin(env: Any, rng: Any) -> bool:
        thing = KEY + add_door(env, rng, 1, 1, ANY, ANY, 1)
        if env.is_in_box:
            thing = BOX + COLOURS[rng.integers(6)] + (thing << CONTENT_BIT)
        if not place_in_room(env, rng, 1, 1, number_thing(env, thing)):
            return False
        if env.distractors and not add_distractors(env, rng, 1, 1, 3, True):
            return False
        ask_kind(env, 0, OPEN, DOOR)
        return place_agent_in_room(env, rng, 1, 1)  # type: ignore[no-any-return]


class KeyInBox(UnlockLocal):
    """Open the locked door; the key is in the box."""

    distractors: ClassVar[bool] = False  # type: ignore[misc]
    is_in_box: ClassVar[bool] = True


class UnlockPickup(Level):
    """Open the locked door with the key, and pick up the box behind it.

    Parameters
    ----------
    distractors : bool
        True: there are four other objects.
    """

    room_size: ClassVar[int] = 6  # type: ignore[misc]
    num_rows: ClassVar[int] = 1  # type: ignore[misc]
    num_cols: ClassVar[int] = 2  # type: ignore[misc]
    distractors: bool = False
    # Whether a ball is in front of the door.
    is_blocked: ClassVar[bool] = False

    @level
    def begin(env: Any, rng: Any) -> bool:
        box = add_object(env, rng, 1, 0, BOX, ANY)
        if box == 0:
            return False
        colour = add_door(env, rng, 0, 0, 0, ANY, 1)
        ask(env, 0, PICK_UP, box)
        if env.is_blocked:
            x, y = find_gate(env, 0, 0, 0)
            env.grid[x - 1, y] = number_thing(env, BALL + COLOURS[rng.integers(6)])
            ask_kind(env, 0, PICK_UP, BOX)
        if add_object(env, rng, 0, 0, KEY, colour) == 0:
            return False
        if env.distractors and not add_distractors(env, rng, ANY, ANY, 4, True):
            return False
        return place_agent_in_room(env, rng, 0, 0)  # type: ignore[no-any-return]


class BlockedUnlockPickup(UnlockPickup):
    """Move the ball from the locked door, open it, and pick up the box behind it."""

    distractors: ClassVar[bool] = False  # type: ignore[misc]
    is_blocked: ClassVar[bool] = True

    @property
    def default_limit(self) -> int:
        """The limit of steps without ``max_steps``."""
        return 16 * self.room_size**2


class UnlockToUnlock(Level):
    """Unlock a door, to get the key of another door, and pick up the ball behind it."""

    room_size: ClassVar[int] = 6  # type: ignore[misc]
    num_rows: ClassVar[int] = 1  # type: ignore[misc]
    num_cols: ClassVar[int] = 3  # type: ignore[misc]

    @property
    def default_limit(self) -> int:
        """The limit of steps without ``max_steps``."""
        return 30 * self.room_size**2

    @level
    def begin(env: Any, rng: Any) -> bool:
        first = draw_new(rng, 6, 0)
        second = draw_new(rng, 6, 1 << first)
        add_door(env, rng, 0, 0, 0, COLOURS[first], 1)
        if add_object(env, rng, 2, 0, KEY, COLOURS[first]) == 0:
            return False
        add_door(env, rng, 1, 0, 0, COLOURS[second], 1)
        if add_object(env, rng, 1, 0, KEY, COLOURS[second]) == 0:
            return False
        if add_object(env, rng, 0, 0, BALL, ANY) == 0:
            return False
        ask_kind(env, 0, PICK_UP, BALL)
        return place_agent_in_room(env, rng, 1, 0)  # type: ignore[no-any-return]
