"""BabyAI's instructions: what they ask for, when they are done, and their texts.

An instruction has up to four clauses, such as "open the red door".  The first and the
second clause are its first part, the others its second part.  It is written in the
variable ``mission``, a row of small numbers: the order of the parts, then nine words
for each clause.  The first word of a clause is what to do, 0 without a clause; two
descriptions of things follow, of four words each:

- the type, 0 for any;
- the colour + 1, 0 for any;
- the place, from 1 on as in `PLACES`, 0 for any;
- whether several things match.

The things that match a description are bits of their numbers.  The rules are those of
MiniGrid 3.2.0, ``envs/babyai/core/verifier.py``.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any

import numpy as np

from roll_vec.arrays.rules import rule
from roll_vec.envs.minigrid.rooms import ANY, find_box, find_neighbour
from roll_vec.envs.minigrid.steps import DROP, PICKUP, TOGGLE, find_front
from roll_vec.envs.minigrid.things import (
    COLOUR_NAMES,
    DOOR,
    KEY,
    LOCKED,
    LOOKS,
    NUMBER_BIT,
    NUMBERS,
    STATE,
    TYPE,
    TYPE_NAMES,
)

GO_TO, PICK_UP, OPEN, PUT_NEXT = range(1, 5)
ONCE, BEFORE, AFTER = range(3)
CONTINUE, SUCCESS, FAILURE = range(3)
NUM_CLAUSES, CLAUSE_WORDS = 4, 9
NUM_WORDS = 1 + NUM_CLAUSES * CLAUSE_WORDS
# Things that can be in the bits of an int64, beside bit 0.
MAX_THINGS = 62
VERBS = ("", "go to", "pick up", "open", "put")
LINKS = ("", ", then ", " after you ")
# Relative to the agent at the begin.
PLACES = ("", " on your left", " on your right", " in front of you", " behind you")
LEFT_SIDE, FRONT_SIDE = 1, 3


# ------------------------------------------------------------------ what is asked for


@rule
def describe(
    env: Any, c: int, d: int, kind: int, colour: int = ANY, place: int = 0
) -> None:
    """Write description d of clause c.

    Parameters
    ----------
    kind : int
        A type; 0: any.
    colour : int
        A colour, or `ANY`.
    place : int
        A place in `PLACES`; 0: any.
    """
    k = 2 + c * CLAUSE_WORDS + 4 * d
    env.mission[k], env.mission[k + 1] = kind, (colour >> 4) + 1
    env.mission[k + 2] = place


@rule
def describe_thing(env: Any, c: int, d: int, thing: int) -> None:
    """Write description d of clause c: the type and colour of a thing."""
    describe(env, c, d, thing & TYPE, thing & LOOKS - TYPE)


@rule
def ask(env: Any, c: int, verb: int, thing: int) -> None:
    """Write clause c about things with the type and colour of one."""
    env.mission[1 + c * CLAUSE_WORDS] = verb
    describe_thing(env, c, 0, thing)


@rule
def ask_kind(env: Any, c: int, verb: int, kind: int) -> None:
    """Write clause c about things of a type; 0: of any."""
    env.mission[1 + c * CLAUSE_WORDS] = verb
    describe(env, c, 0, kind)


@rule
def ask_put(env: Any, c: int, thing: int, other: int) -> None:
    """Write clause c: put a thing next to another one."""
    ask(env, c, PUT_NEXT, thing)
    describe_thing(env, c, 1, other)


# ------------------------------------------------------------------ things that match


@rule
def is_inside(env: Any, x: int, y: int, i: int, j: int) -> bool:
    """Return whether a cell is in room (i, j) or its walls; no room is (-1, -1)."""
    left, top, right, bottom = find_box(env, i, j)
    return i >= 0 and left <= x < right and top <= y < bottom


@rule
def is_at(env: Any, x: int, y: int, place: int) -> bool:
    """Return whether a cell of the agent's room is at a place relative to it."""
    s = env.room_size - 1
    if place == 0:
        return True
    if not is_inside(env, x, y, env.x // s, env.y // s):
        return False
    front, ahead = find_front(env)
    dx, dy = front - env.x, ahead - env.y
    along = (x - env.x) * dx + (y - env.y) * dy
    across = (y - env.y) * dx - (x - env.x) * dy
    if place < FRONT_SIDE:
        return across < 0 if place == LEFT_SIDE else across > 0  # type: ignore[no-any-return]
    return along > 0 if place == FRONT_SIDE else along < 0  # type: ignore[no-any-return]


@rule
def find_matches(env: Any, c: int, d: int, i: int, j: int) -> int:
    """Return the things that match description d of clause c, but not those in a room.

    Parameters
    ----------
    i, j : int
        The room whose things do not count; (-1, -1): all count.

    Returns
    -------
    int
        A bit for each thing, by its number.  Walls, which have no number, are bit 0: a
        description without a type matches them by their colour.
    """
    k = 2 + c * CLAUSE_WORDS + 4 * d
    kind, colour, place = env.mission[k], env.mission[k + 1], env.mission[k + 2]
    matches = 0
    for x in range(env.width):
        for y in range(env.height):
            thing = env.grid[x, y]
            is_match = thing != 0 and (kind == 0 or thing & TYPE == kind)
            is_match &= colour == 0 or thing >> 4 & 7 == colour - 1
            if is_match and is_at(env, x, y, place) and not is_inside(env, x, y, i, j):
                matches |= 1 << (thing >> NUMBER_BIT & NUMBERS)
    return matches


@rule
def match(env: Any) -> None:
    """Note the things that match, and where they are, at the begin of an episode."""
    note_places(env)
    for c in range(NUM_CLAUSES):
        k = 1 + c * CLAUSE_WORDS
        for d in range(2):
            env.matches[c, d] = 0
            if env.mission[k] == PUT_NEXT or (env.mission[k] > 0 and d == 0):
                matches = find_matches(env, c, d, -1, -1)
                env.mission[k + 4 + 4 * d] = matches & matches - 1 != 0
                env.matches[c, d] = matches & ~1


@rule
def note_places(env: Any) -> None:
    """Note the number of the thing in each cell; 0: none."""
    for x in range(env.width):
        for y in range(env.height):
            env.known[x, y] = env.grid[x, y] >> NUMBER_BIT & NUMBERS


@rule
def is_beside(env: Any, x: int, y: int, things: int) -> bool:
    """Return whether one of some things, in bits, is known to be beside a cell."""
    for side in range(4):
        p, q = find_neighbour(x, y, side)
        if things >> env.known[p, q] & 1:
            return True
    return False


@rule
def are_next(env: Any, things: int, others: int) -> bool:
    """Return whether one of some objects is beside one of other things, in bits."""
    for x in range(1, env.width - 1):
        for y in range(1, env.height - 1):
            if things >> env.known[x, y] & 1 and is_beside(env, x, y, others):
                return True
    return False


@rule
def find_locks(env: Any) -> int:
    """Return the colours of locked doors, a bit each."""
    colours = 0
    for x in range(env.width):
        for y in range(env.height):
            thing = env.grid[x, y]
            if thing & TYPE == DOOR and thing & STATE == LOCKED:
                colours |= 1 << (thing >> 4 & 7)
    return colours


@rule
def is_valid(env: Any) -> bool:
    """Return whether an instruction may be asked for: ``validate_instrs``.

    No thing is put next to one that is beside it, or that may be itself.  Where things
    may have to be moved out of the way, a key that opens a door is not asked for.
    """
    locks = find_locks(env) if env.unblocking else 0
    for c in range(NUM_CLAUSES):
        k = 1 + c * CLAUSE_WORDS
        things, others = env.matches[c, 0], env.matches[c, 1]
        if things & others or (others != 0 and are_next(env, things, others)):
            return False
        for d in range(2):
            kind, colour = env.mission[k + 1 + 4 * d], env.mission[k + 2 + 4 * d]
            if kind == KEY and colour > 0 and locks >> colour - 1 & 1:
                return False
    return True


@rule
def count_walks(env: Any) -> int:
    """Return how many things must be gone to: ``num_navs_needed``."""
    count = 0
    for c in range(NUM_CLAUSES):
        verb = env.mission[1 + c * CLAUSE_WORDS]
        count += (verb > 0) + (verb == PUT_NEXT)
    return count


# ------------------------------------------------------------------ when it is done


@rule
def verify_clause(env: Any, c: int, action: int) -> int:
    """Return what an action has made of clause c: ``verify_action``.

    Where things are is known from the begin, and from the last action `drop`; what was
    carried before, from the last time that the clause was verified.
    """
    verb, things = env.mission[1 + c * CLAUSE_WORDS], env.matches[c, 0]
    before, env.held[c] = env.held[c], env.carrying
    x, y = find_front(env)
    is_strict = env.strict_clauses >> c & 1
    if verb == GO_TO:
        return SUCCESS if things >> env.known[x, y] & 1 else CONTINUE
    if verb == OPEN and action == TOGGLE:
        thing = env.grid[x, y]
        is_open = thing & TYPE == DOOR and thing & STATE == 0
        if is_open and things >> (thing >> NUMBER_BIT & NUMBERS) & 1:
            return SUCCESS
        return FAILURE if is_strict and thing & TYPE == DOOR else CONTINUE
    if verb == PICK_UP and action == PICKUP:
        if before == 0 and things >> (env.carrying >> NUMBER_BIT & NUMBERS) & 1:
            return SUCCESS
        return FAILURE if is_strict and env.carrying != 0 else CONTINUE
    if verb == PUT_NEXT and action == DROP:
        # Bit 0, of nothing, never matches.
        is_moved = env.carrying == 0 and things >> (before >> NUMBER_BIT & NUMBERS) & 1
        return (
            SUCCESS
            if is_moved and is_beside(env, x, y, env.matches[c, 1])
            else CONTINUE
        )
    return CONTINUE


@rule
def verify_part(env: Any, c: int, action: int) -> int:
    """Return what an action has made of the clauses c and c + 1.

    A clause that is done stays done.
    """
    result = SUCCESS
    for k in range(c, c + 2):
        if env.mission[1 + k * CLAUSE_WORDS] > 0 and not env.done[k]:
            outcome = verify_clause(env, k, action)
            env.done[k] = outcome == SUCCESS
            if outcome != SUCCESS:
                result = outcome
    return result


@rule
def verify(env: Any, action: int) -> int:
    """Return what an action has made of the instruction.

    Returns
    -------
    int
        `SUCCESS`, `FAILURE` or `CONTINUE`.
    """
    if action == DROP and env.has_moved:
        note_places(env)
        env.has_moved = False
    first = 2 if env.mission[0] == AFTER else 0
    result = verify_part(env, first, action)
    if result == SUCCESS and env.mission[0] != ONCE:
        return verify_part(env, 2 - first, action)  # type: ignore[no-any-return]
    return result  # type: ignore[no-any-return]


# ------------------------------------------------------------------ texts


def write_description(words: Sequence[int]) -> str:
    """Return the text of a description, such as ``a red ball on your left``."""
    kind, colour, place, is_many = words
    name = TYPE_NAMES[kind] if kind else "object"
    colour_name = f"{COLOUR_NAMES[colour - 1]} " if colour else ""
    return f"{'a' if is_many else 'the'} {colour_name}{name}{PLACES[place]}"


@functools.lru_cache(1 << 14)
def write_part(words: bytes) -> str:
    """Return the text of a part, such as ``open the red door and go to the ball``."""
    texts = []
    for k in range(0, len(words), CLAUSE_WORDS):
        if words[k] > 0:
            text = f"{VERBS[words[k]]} {write_description(words[k + 1 : k + 5])}"
            if words[k] == PUT_NEXT:
                text += f" next to {write_description(words[k + 5 : k + 9])}"
            texts.append(text)
    return " and ".join(texts)


def write_instruction(mission: Any) -> str:
    """Return the text of an instruction.

    Parameters
    ----------
    mission : (37,) int8, or the row of a variable
    """
    words = np.asarray(getattr(mission, "array", mission), np.int8).tobytes()
    middle = 1 + 2 * CLAUSE_WORDS
    first = write_part(words[1:middle])
    return first + LINKS[words[0]] + write_part(words[middle:])
