"""KeyCorridor: a key in a room on the left, and an object behind a locked door."""

from __future__ import annotations

from typing import Any, ClassVar

from roll_vec.arrays.rules import rule
from roll_vec.envs.minigrid.rooms import (
    ANY,
    PickupGrid,
    add_door,
    add_object,
    connect_all,
    draw_rooms,
    place_agent_in_room,
    remove_wall,
    set_target,
)
from roll_vec.envs.minigrid.things import KEY, OBJECTS, TYPE_NAMES
from roll_vec.options import check_choice


class KeyCorridor(PickupGrid):
    """Find the key, unlock the door and pick up the object behind it.

    Rooms lie on both sides of a corridor; the key is in one on the left, the object in
    one on the right, the only one that is locked.

    Parameters
    ----------
    num_rows : int
        Rows of rooms, from 1 to 20.
    obj_type : str
        The object: ``ball``, ``box`` or ``key``.
    room_size : int
        Columns and rows of a room with its walls, from 3 to 99.
    """

    num_rows: int = 3
    obj_type: str = "ball"
    room_size: int = 6
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

    @rule
    def begin(env: Any, rng: Any) -> None:
        draw_rooms(env, rng)
        for j in range(1, env.num_rows):
            remove_wall(env, 1, j, 3)
        j = rng.integers(env.num_rows)
        colour = add_door(env, rng, 2, j, 2, ANY, 1)
        set_target(env, add_object(env, rng, 2, j, env.kind, ANY))
        add_object(env, rng, 0, rng.integers(env.num_rows), KEY, colour)
        place_agent_in_room(env, rng, 1, env.num_rows // 2)
        connect_all(env, rng)
