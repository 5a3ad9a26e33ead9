"""BabyAI's levels with an object to pick up: MiniGrid's ``envs/babyai/pickup.py``."""

from __future__ import annotations

from typing import Any, ClassVar

from roll_vec.envs.minigrid.babyai_instructions import PICK_UP, ask, describe
from roll_vec.envs.minigrid.babyai_level_gen import LevelGen
from roll_vec.envs.minigrid.babyai_levels import (
    Level,
    Maze,
    OneRoom,
    draw_thing,
    level,
)
from roll_vec.envs.minigrid.rooms import (
    ANY,
    add_distractors,
    add_door,
    add_object,
    connect_all,
    place_agent_in_room,
)
from roll_vec.envs.minigrid.things import LOOKS, TYPE


class Pickup(Maze):
    """Pick up an object in a maze of rooms."""

    verb: ClassVar[int] = PICK_UP
    num_dists: ClassVar[int] = 18  # type: ignore[misc]


class UnblockPickup(Maze):
    """Pick up an object in a maze of rooms; objects are in the way of others."""

    verb: ClassVar[int] = PICK_UP
    is_blocked: ClassVar[bool] = True
    num_dists: ClassVar[int] = 20  # type: ignore[misc]


class PickupLoc(LevelGen):
    """Pick up an object in a room, which may be named by its place."""

    num_rows: ClassVar[int] = 1  # type: ignore[misc]
    num_cols: ClassVar[int] = 1  # type: ignore[misc]
    num_dists: int = 8
    locked_room_prob: float = 0.0
    unblocking: bool = False  # type: ignore[misc]
    action_kinds: tuple[str, ...] = ("pickup",)
    instr_kinds: tuple[str, ...] = ("action",)


class PickupDist(OneRoom):
    """Pick up an object that has a type, a colour, or both.

    Parameters
    ----------
    debug : bool
        True: the episode fails with another object.
    """

    room_size: ClassVar[int] = 7  # type: ignore[misc]
    debug: bool = False

    @property
    def strict_clauses(self) -> int:
        """The clauses, a bit each, that fail with a wrong object."""
        return int(self.debug)

    @level
    def begin(env: Any, rng: Any) -> bool:
        if not add_distractors(env, rng, ANY, ANY, 5, True):
            return False
        if not place_agent_in_room(env, rng, 0, 0):
            return False
        thing = draw_thing(env, rng, 5)
        ask(env, 0, PICK_UP, thing)
        selection = rng.integers(3)
        if selection == 0:
            describe(env, 0, 0, thing & TYPE)
        elif selection == 1:
            # Also grey walls match: the mission is "a grey object".
            describe(env, 0, 0, 0, thing & LOOKS - TYPE)
        return True


class PickupAbove(Level):
    """Pick up the object in the room above."""

    room_size: ClassVar[int] = 6  # type: ignore[misc]
    LEAST_ROOMS: ClassVar[int] = 2

    @property
    def default_limit(self) -> int:
        """The limit of steps without ``max_steps``."""
        return 8 * self.room_size**2

    @level
    def begin(env: Any, rng: Any) -> bool:
        thing = add_object(env, rng, 1, 0, ANY, ANY)
        add_door(env, rng, 1, 1, 3, ANY, 0)
        if thing == 0 or not place_agent_in_room(env, rng, 1, 1):
            return False
        ask(env, 0, PICK_UP, thing)
        return connect_all(env, rng)  # type: ignore[no-any-return]
