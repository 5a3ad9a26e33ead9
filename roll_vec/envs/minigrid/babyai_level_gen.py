"""`LevelGen`: levels with any instruction, as in MiniGrid's ``core/levelgen.py``."""

from __future__ import annotations

from typing import Any

from roll_vec.arrays.rules import rule
from roll_vec.envs.minigrid.babyai_instructions import (
    BEFORE,
    CLAUSE_WORDS,
    GO_TO,
    OPEN,
    PICK_UP,
    PLACES,
    describe,
    find_matches,
)
from roll_vec.envs.minigrid.babyai_levels import (
    MAX_LEVELS,
    Level,
    are_reachable,
    level,
    place_agent_outside,
)
from roll_vec.envs.minigrid.observations import MAX_LETTERS
from roll_vec.envs.minigrid.rooms import (
    ANY,
    add_distractors,
    add_door,
    add_object,
    connect_all,
    has_neighbour,
)
from roll_vec.envs.minigrid.things import BALL, BOX, COLOURS, DOOR, KEY
from roll_vec.errors import UnsupportedError
from roll_vec.options import check_choice, check_number

ACTION_KINDS = ("goto", "pickup", "open", "putnext")
INSTR_KINDS = ACTION, AND, SEQUENCE = ("action", "and", "seq")
# In the order of the draws.
DESCRIBED = (BOX, BALL, KEY, DOOR)
ALL, WITHOUT_DOORS, DOORS = (0, 4), (0, 3), (3, 4)
MAX_DESCRIPTIONS = 101


@rule
def draw_description(env: Any, rng: Any, c: int, d: int, kinds: Any) -> bool:
    """Draw description d of clause c, until a thing matches it.

    Parameters
    ----------
    kinds : (first, last)
        The types of `DESCRIBED` to choose from; the last one is outside.

    Returns
    -------
    bool
        False: none matched in 101 draws, where MiniGrid raises an error.
    """
    first, last = kinds
    # Without implicit unlocking a thing outside of the locked room must match.
    i, j = env.locked_i, env.locked_j
    if env.implicit_unlock:
        i = j = -1
    for _ in range(MAX_DESCRIPTIONS):
        number = rng.integers(len(COLOURS) + 1)
        colour = COLOURS[number - 1] if number > 0 else ANY
        kind = DESCRIBED[first + rng.integers(last - first)]
        place = 0
        if env.locations and rng.integers(2) == 0:
            place = 1 + rng.integers(len(PLACES) - 1)
        describe(env, c, d, kind, colour, place)
        if find_matches(env, c, d, i, j) != 0:
            return True
    return False


@rule
def draw_clause(env: Any, rng: Any, c: int) -> bool:
    """Draw clause c; False: as in `draw_description`."""
    verb = env.verbs[rng.integers(len(env.verbs))]
    env.mission[1 + c * CLAUSE_WORDS] = verb
    if verb == GO_TO:
        return draw_description(env, rng, c, 0, ALL)  # type: ignore[no-any-return]
    if verb == OPEN:
        return draw_description(env, rng, c, 0, DOORS)  # type: ignore[no-any-return]
    if not draw_description(env, rng, c, 0, WITHOUT_DOORS):
        return False
    return verb == PICK_UP or draw_description(env, rng, c, 1, ALL)  # type: ignore[no-any-return]


@rule
def draw_part(env: Any, rng: Any, c: int, has_two: bool) -> bool:
    """Draw one or two clauses; False: as in `draw_description`."""
    if not draw_clause(env, rng, c):
        return False
    return not has_two or draw_clause(env, rng, c + 1)


@rule
def draw_instruction(env: Any, rng: Any) -> bool:
    """Draw an instruction; False: as in `draw_description`."""
    kind = env.forms[rng.integers(len(env.forms))]
    if kind < 2:
        return draw_part(env, rng, 0, kind == 1)  # type: ignore[no-any-return]
    for c in (0, 2):
        if not draw_part(env, rng, c, rng.integers(2) == 1):
            return False
    env.mission[0] = BEFORE + rng.integers(2)
    return True


@rule
def add_locked_room(env: Any, rng: Any) -> bool:
    """Add a locked door to a room, and its key to another one.

    Returns
    -------
    bool
        False: no room has a neighbour, or there was no place for the key.
    """
    for _ in range(MAX_LEVELS):
        i, j = rng.integers(env.num_cols), rng.integers(env.num_rows)
        side = rng.integers(4)
        if has_neighbour(env, i, j, side):
            env.locked_i, env.locked_j = i, j
            colour = add_door(env, rng, i, j, side, ANY, 1)
            while i == env.locked_i and j == env.locked_j:
                i, j = rng.integers(env.num_cols), rng.integers(env.num_rows)
            return add_object(env, rng, i, j, KEY, colour) != 0  # type: ignore[no-any-return]
    return False


class LevelGen(Level):
    """Do what the mission says: any of BabyAI's instructions.

    Parameters
    ----------
    num_dists : int
        The number of objects, beside the key of a locked room, from 0 to 62.
    locked_room_prob : float
        The chance that a room is locked, from 0 to 1.
    locations : bool
        True: the mission may say where things are at the begin.
    unblocking : bool
        True: objects may have to be moved out of the way.
    implicit_unlock : bool
        False: the mission can be done without going into the locked room.
    action_kinds : tuple of str
        What the clauses ask for: ``goto``, ``pickup``, ``open``, ``putnext``.
    instr_kinds : tuple of str
        The forms of missions: ``action``, ``and``, ``seq``.
    """

    num_dists: int = 18
    locked_room_prob: float = 0.5
    locations: bool = True
    unblocking: bool = True  # type: ignore[misc]
    implicit_unlock: bool = True
    action_kinds: tuple[str, ...] = ACTION_KINDS
    instr_kinds: tuple[str, ...] = INSTR_KINDS

    def check_options(self) -> None:
        """Refuse other kinds of actions and instructions, none, and other chances."""
        super().check_options()
        check_number("locked_room_prob", self.locked_room_prob, 0.0, 1.0)
        for name, accepted in (
            ("action_kinds", ACTION_KINDS),
            ("instr_kinds", INSTR_KINDS),
        ):
            for kind in tuple(getattr(self, name)) or (None,):
                check_choice(name, kind, accepted)
        if self.obs_mode == "flat" and {*self.instr_kinds} != {"action"}:
            message = (
                f"obs_mode='flat': needs missions of at most {MAX_LETTERS} letters, "
                "and those of two clauses or more may be longer: use "
                "obs_mode='dict', or instr_kinds=('action',)"
            )
            raise UnsupportedError(message)

    @property
    def verbs(self) -> tuple[int, ...]:
        """What clauses ask for."""
        return tuple(GO_TO + ACTION_KINDS.index(kind) for kind in self.action_kinds)

    @property
    def forms(self) -> tuple[int, ...]:
        """The forms of missions: their numbers in `INSTR_KINDS`."""
        return tuple(map(INSTR_KINDS.index, self.instr_kinds))

    @level
    def begin(env: Any, rng: Any) -> bool:
        has_lock = rng.uniform(0, 1) < env.locked_room_prob
        if has_lock and not add_locked_room(env, rng):
            return False
        if not connect_all(env, rng):
            return False
        if not add_distractors(env, rng, ANY, ANY, env.num_dists, False):
            return False
        if not place_agent_outside(env, rng):
            return False
        if not env.unblocking and not are_reachable(env):
            return False
        return draw_instruction(env, rng)  # type: ignore[no-any-return]
