"""BlockedUnlockPickup: a ball in front of a locked door, and a box behind it."""

from __future__ import annotations

from typing import Any

from roll_vec.arrays.rules import rule
from roll_vec.envs.minigrid.rooms import (
    ANY,
    add_door,
    add_object,
    draw_rooms,
    find_gate,
    place_agent_in_room,
    set_target,
)
from roll_vec.envs.minigrid.things import BALL, BOX, COLOURS, KEY
from roll_vec.envs.minigrid.unlock_pickup import UnlockPickup


class BlockedUnlockPickup(UnlockPickup):
    """Move the ball away, open the door with the key, and pick up the box behind it."""

    @property
    def default_limit(self) -> int:
        """The limit of steps without ``max_steps``."""
        return 16 * self.room_size**2

    @rule
    def begin(env: Any, rng: Any) -> None:
        draw_rooms(env, rng)
        set_target(env, add_object(env, rng, 1, 0, BOX, ANY))
        colour = add_door(env, rng, 0, 0, 0, ANY, 1)
        x, y = find_gate(env, 0, 0, 0)
        env.grid[x - 1, y] = BALL + COLOURS[rng.integers(6)]
        add_object(env, rng, 0, 0, KEY, colour)
        place_agent_in_room(env, rng, 0, 0)
