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
    find_gate,
    place_agent_in_room,
    set_target,
)
from roll_vec.envs.minigrid.things import BALL, BOX, COLOURS, KEY


class UnlockPickup(PickupGrid):
    """Open the locked door with the key, and pick up the box behind it."""

    room_size: ClassVar[int] = 6  # type: ignore[misc]
    num_rows: ClassVar[int] = 1  # type: ignore[misc]
    num_cols: ClassVar[int] = 2  # type: ignore[misc]
    blocked: ClassVar[bool] = False

    @property
    def default_limit(self) -> int:
        """The limit of steps without ``max_steps``."""
        return 8 * self.room_size**2

    @rule
    def begin(env: Any, rng: Any) -> None:
        draw_rooms(env, rng)
        set_target(env, add_object(env, rng, 1, 0, BOX, ANY))
        colour = add_door(env, rng, 0, 0, 0, ANY, 1)
        if env.blocked:
            x, y = find_gate(env, 0, 0, 0)
            env.grid[x - 1, y] = BALL + COLOURS[rng.integers(6)]
        add_object(env, rng, 0, 0, KEY, colour)
        place_agent_in_room(env, rng, 0, 0)
