"""Unlock: a key, and a locked door."""

from __future__ import annotations

from typing import Any, ClassVar

from roll_vec.arrays.rules import rule
from roll_vec.envs.minigrid.rooms import (
    ANY,
    RoomGrid,
    add_door,
    add_object,
    draw_rooms,
    find_gate,
    place_agent_in_room,
)
from roll_vec.envs.minigrid.solver import OPEN, Task
from roll_vec.envs.minigrid.steps import TOGGLE, end, is_shut, move, reward_success
from roll_vec.envs.minigrid.things import KEY
from roll_vec.kernels.rows import Row


class Unlock(RoomGrid):
    """Pick up the key and open the door.

    Episode end
    -----------
    terminated
        The door is open: success.
    """

    room_size: ClassVar[int] = 6  # type: ignore[misc]
    num_rows: ClassVar[int] = 1  # type: ignore[misc]
    num_cols: ClassVar[int] = 2  # type: ignore[misc]
    MISSION: ClassVar[Any] = "open the door"

    @property
    def default_limit(self) -> int:
        """The limit of steps without ``max_steps``."""
        return 8 * self.room_size**2

    @rule
    def begin(env: Any, rng: Any) -> None:
        draw_rooms(env, rng)
        colour = add_door(env, rng, 0, 0, 0, ANY, 1)
        add_object(env, rng, 0, 0, KEY, colour)
        place_agent_in_room(env, rng, 0, 0)

    @rule
    def step(env: Any, action: int, rng: Any) -> Any:
        reward, terminated = move(env, action)
        x, y = find_gate(env, 0, 0, 0)
        if action == TOGGLE and not is_shut(env.grid[x, y]):
            reward, terminated = reward_success(env), True
        return end(env, reward, terminated)

    def tasks(self, env: Row) -> Any:
        """Return what the mission wants; see `MiniGrid.tasks`."""
        x, y = find_gate(env, 0, 0, 0)
        return [[Task(OPEN, [env.grid[x, y]])]]
