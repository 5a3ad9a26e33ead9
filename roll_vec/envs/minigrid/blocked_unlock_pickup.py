"""BlockedUnlockPickup: a ball in front of a locked door, and a box behind it."""

from __future__ import annotations

from typing import ClassVar

from roll_vec.envs.minigrid.unlock_pickup import UnlockPickup


class BlockedUnlockPickup(UnlockPickup):
    """Move the ball away, open the door with the key, and pick up the box behind it."""

    blocked: ClassVar[bool] = True

    @property
    def default_limit(self) -> int:
        """The limit of steps without ``max_steps``."""
        return 16 * self.room_size**2
