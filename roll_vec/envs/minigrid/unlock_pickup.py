"""UnlockPickup: a key, a locked door, and a box behind it."""

from __future__ import annotations

from typing import Any, ClassVar

from roll_vec.arrays.rules import rule
from roll_vec.envs.minigrid.rooms import (
    ANY,
    PickupGrid,
    add_door,
    add_object,
    draw_rooms,
    place_agent_in_room,
    set_target,
)
from roll_vec.envs.minigrid.things import BOX, KEY


class UnlockPickup(PickupGrid):
    """Open the locked door with the key, and pick up the box behind it."""

    room_size: ClassVar[int] = 6  # type: ignore[misc]
    num_rows: ClassVar[int] = 1  # type: ignore[misc]
    num_cols: ClassVar[int] = 2  # type: ignore[misc]

    @property
    def default_limit(self) -> int:
        """The limit of steps without ``max_steps``."""
        return 8 * self.room_size**2

    @rule
    def begin(env: Any, rng: Any) -> None:
        draw_rooms(env, rng)
        set_target(env, add_object(env, rng, 1, 0, BOX, ANY))
        colour = add_door(env, rng, 0, 0, 0, ANY, 1)
        add_object(env, rng, 0, 0, KEY, colour)
        place_agent_in_room(env, rng, 0, 0)
