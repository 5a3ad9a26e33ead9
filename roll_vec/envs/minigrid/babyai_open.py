"""BabyAI's levels with doors to open: MiniGrid's ``envs/babyai/open.py``."""

from __future__ import annotations

from typing import Any, ClassVar

from roll_vec.envs.minigrid.babyai_instructions import (
    AFTER,
    BEFORE,
    OPEN,
    PLACES,
    ask,
    describe,
)
from roll_vec.envs.minigrid.babyai_levels import Level, Maze, level
from roll_vec.envs.minigrid.rooms import (
    ANY,
    add_door,
    draw_new,
    find_thing,
    place_agent_in_room,
)
from roll_vec.envs.minigrid.things import COLOUR_NAMES, COLOURS, DOOR, RED
from roll_vec.options import check_choice, check_int


class Open(Maze):
    """Open a door in a maze of rooms."""

    verb: ClassVar[int] = OPEN
    num_dists: ClassVar[int] = 18  # type: ignore[misc]


class OpenRedDoor(Level):
    """Open the red door."""

    room_size: ClassVar[int] = 5  # type: ignore[misc]
    num_rows: ClassVar[int] = 1  # type: ignore[misc]
    num_cols: ClassVar[int] = 2  # type: ignore[misc]

    @level
    def begin(env: Any, rng: Any) -> bool:
        add_door(env, rng, 0, 0, 0, RED, 0)
        ask(env, 0, OPEN, DOOR + RED)
        return place_agent_in_room(env, rng, 0, 0)  # type: ignore[no-any-return]


class OpenDoor(Level):
    """Open the door that has a colour or a place.

    Parameters
    ----------
    debug : bool
        True: the episode fails with another door.
    select_by : str or None
        ``color``, ``loc`` for the place, or None: one of these is drawn.
    """

    debug: bool = False
    select_by: str | None = None
    LEAST_ROOMS: ClassVar[int] = 3

    def check_options(self) -> None:
        """Refuse other ways to select a door."""
        super().check_options()
        check_choice("select_by", self.select_by, (None, "color", "loc"))

    @property
    def strict_clauses(self) -> int:
        """The clauses, a bit each, that fail with a wrong door."""
        return int(self.debug)

    @property
    def selection(self) -> int:
        """0: by the colour; 1: by the place; `ANY`: drawn."""
        return {"color": 0, "loc": 1}.get(str(self.select_by), ANY)

    @level
    def begin(env: Any, rng: Any) -> bool:
        drawn = 0
        for side in range(4):
            number = draw_new(rng, 6, drawn)
            drawn |= 1 << number
            add_door(env, rng, 1, 1, side, COLOURS[number], 0)
        selection = env.selection if env.selection != ANY else rng.integers(2)
        ask(env, 0, OPEN, find_thing(env, 1))
        if selection == 1:
            describe(env, 0, 0, DOOR, ANY, 1 + rng.integers(len(PLACES) - 1))
        return place_agent_in_room(env, rng, 1, 1)  # type: ignore[no-any-return]


def read_colour(name: str | None) -> int:
    """Return the code of a colour; `ANY` for None."""
    return ANY if name is None else COLOUR_NAMES.index(name) << 4


class OpenTwoDoors(Level):
    """Open two doors in an order.

    Parameters
    ----------
    first_color : str or None
        The colour of the first door; None: it is drawn.
    second_color : str or None
        The colour of the second door; None: it is drawn.
    strict : bool
        True: the episode fails when the second door is toggled first.
    """

    room_size: ClassVar[int] = 6  # type: ignore[misc]
    first_color: str | None = None
    second_color: str | None = None
    strict: bool = False
    LEAST_ROOMS: ClassVar[int] = 3

    def check_options(self) -> None:
        """Refuse other colours."""
        super().check_options()
        for name in ("first_color", "second_color"):
            check_choice(name, getattr(self, name), (None, *COLOUR_NAMES))

    @property
    def default_limit(self) -> int:
        """The limit of steps without ``max_steps``."""
        return 20 * self.room_size**2

    @property
    def strict_clauses(self) -> int:
        """The clauses, a bit each, that fail with a wrong door."""
        return int(self.strict)

    @property
    def colours(self) -> tuple[int, int]:
        """The colours of the doors, or `ANY`."""
        return read_colour(self.first_color), read_colour(self.second_color)

    @level
    def begin(env: Any, rng: Any) -> bool:
        env.mission[0] = BEFORE
        drawn = 0
        for k in range(2):
            number = draw_new(rng, 6, drawn)
            drawn |= 1 << number
            colour = env.colours[k] if env.colours[k] != ANY else COLOURS[number]
            add_door(env, rng, 1, 1, 2 - 2 * k, colour, 0)
            ask(env, 2 * k, OPEN, DOOR + colour)
        return place_agent_in_room(env, rng, 1, 1)  # type: ignore[no-any-return]


class OpenDoorsOrder(Level):
    """Open one or two doors, in the order that the mission says.

    Parameters
    ----------
    num_doors : int
        The number of doors, from 2 to 4.
    debug : bool
        True: the episode fails with another door.  With two doors to open it fails at
        the first one, which is no match for the second, as in MiniGrid.
    """

    room_size: ClassVar[int] = 6  # type: ignore[misc]
    num_doors: int = 2
    debug: bool = False
    LEAST_ROOMS: ClassVar[int] = 3

    def check_options(self) -> None:
        """Refuse more doors than a room has sides."""
        super().check_options()
        check_int("num_doors", self.num_doors, 2, 4)

    @property
    def default_limit(self) -> int:
        """The limit of steps without ``max_steps``."""
        return 20 * self.room_size**2

    @property
    def strict_clauses(self) -> int:
        """The clauses, a bit each, that fail with a wrong door."""
        return 0b101 * self.debug

    @level
    def begin(env: Any, rng: Any) -> bool:
        drawn, colours = 0, 0
        for k in range(env.num_doors):
            number = draw_new(rng, 6, drawn)
            drawn |= 1 << number
            colours |= number << 3 * k
        for k in range(env.num_doors):
            add_door(env, rng, 1, 1, ANY, COLOURS[colours >> 3 * k & 7], 0)
        if not place_agent_in_room(env, rng, 1, 1):
            return False
        first = draw_new(rng, env.num_doors, 0)
        second = draw_new(rng, env.num_doors, 1 << first)
        ask(env, 0, OPEN, find_thing(env, first + 1))
        env.mission[0] = rng.integers(AFTER + 1)
        if env.mission[0] > 0:
            ask(env, 2, OPEN, find_thing(env, second + 1))
        return True
