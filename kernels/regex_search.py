"""Search for a regular expression in time linear in the text, whatever it says.

A program is one instruction a row, and backtracks in the order of Python's `re`: the
first way that leads to `MATCH` is the match.  A state, an instruction at a place, is
never entered twice: where it did not lead to a match before, it does not now.  So a
search takes at most as many steps as there are states.

======  =============================  =============================================
CLASS   a: bit                         Go over a character whose mask has the bit.
SPLIT   a, b: instructions             Go on at a; if that fails, at b.
JUMP    a: instruction                 Go on there.
SAVE    a: slot                        Note the place: see `NUM_SLOTS`.
ASSERT  a: one of six kinds of place    Go on if it is such a place.
MATCH                                  There is a match.
======  =============================  =============================================
"""

import numpy as np

from ._jit import kernel

CLASS, SPLIT, JUMP, SAVE, ASSERT, MATCH = range(6)
TEXT_START, TEXT_END, LAST_LINE_END, LINE_START, LINE_END, WORD_EDGE = range(6)
# Where groups 1 and 2 begin and end.
NUM_SLOTS = 4

# Bits of a character's mask that every program shares.
NEWLINE, WORD = range(2)

_1 = np.uint64(1)


@kernel
def _has(masks, place, bit):
    """Return whether the character at a place has a bit; there is none beyond."""
    if place < 0 or place >= len(masks):
        return False
    return (masks[place] >> np.uint64(bit)) & _1 != 0


@kernel
def _is_there(kind, masks, place):
    """Return whether a place is one of the assertion's."""
    n = len(masks)
    if kind == TEXT_START:
        return place == 0
    if kind == TEXT_END:
        return place == n
    if kind == LAST_LINE_END:
        return place == n or (place == n - 1 and _has(masks, place, NEWLINE))
    if kind == LINE_START:
        return place == 0 or _has(masks, place - 1, NEWLINE)
    if kind == LINE_END:
        return place == n or _has(masks, place, NEWLINE)
    return _has(masks, place - 1, WORD) != _has(masks, place, WORD)


@kernel
def _enter(visited, state):
    """Return whether a state is entered for the first time, and note it."""
    word, bit = state >> 6, _1 << np.uint64(state & 63)
    if visited[word] & bit:
        return False
    visited[word] |= bit
    return True


@kernel
def _match(program, masks, begin, must_advance, visited, stack, slots):
    """Return where the match that begins at a place ends, or -1."""
    # By place first: the states of a step lie side by side.  An instruction first, a
    # text of 1 MB misses the cache at each of them, and takes three times as long.
    size = len(program)
    stack[0, 0], stack[0, 1] = 0, begin
    top = 1
    while top:
        top -= 1
        at, place = np.int64(stack[top, 0]), np.int64(stack[top, 1])
        if at < 0:
            slots[-at - 1] = place
            continue
        while _enter(visited, place * size + at):
            op, a = program[at, 0], program[at, 1]
            at += 1
            if op == CLASS:
                if not _has(masks, place, a):
                    break
                place += 1
            elif op == SPLIT:
                stack[top, 0], stack[top, 1] = program[at - 1, 2], place
                top += 1
                at = a
            elif op == JUMP:
                at = a
            elif op == SAVE:
                stack[top, 0], stack[top, 1] = -a - 1, slots[a]
                top += 1
                slots[a] = place
            elif op == ASSERT:
                if not _is_there(a, masks, place):
                    break
            elif not must_advance or place > begin:
                return place
            else:
                break
    return -1


@kernel
def search(program, masks, last, visited, stack, slots, found):
    """Find the first match in a text, or the last of those without overlap.

    Parameters
    ----------
    program : (m, 3) int64
    masks : (n,) uint64
        Of each character: bit `NEWLINE`, bit `WORD`, and those of the classes.
    last : bool
    visited : ((m * (n + 1) + 63) // 64,) uint64, zeros, updated
    stack : (k * (n + 1) + 2, 2) int32, written
        k is the number of instructions `SPLIT` and `SAVE`.
    slots : (NUM_SLOTS,) int64, written
    found : (NUM_SLOTS,) int64, written
        Where the groups of the match begin and end, -1 for one without part in it.

    Returns
    -------
    bool
        Whether there is a match.
    """
    n = len(masks)
    is_found = False
    begin, must_advance = 0, False
    lead = 0
    while program[lead, 0] == SAVE:
        lead += 1
    op, a = program[lead, 0], program[lead, 1]
    while begin <= n:
        # Skip places where the first character cannot match: most of them.
        if op == CLASS:
            while begin < n and not _has(masks, begin, a):
                begin += 1
                must_advance = False
        elif op == ASSERT and a == TEXT_START and begin > 0:
            break
        slots[:] = -1
        end = _match(program, masks, begin, must_advance, visited, stack, slots)
        if end < 0:
            begin += 1
            must_advance = False
            continue
        found[:] = slots
        is_found = True
        if not last:
            break
        # States at the match's end may lead on; those beyond it have all failed.
        for at in range(len(program)):
            state = end * len(program) + at
            visited[state >> 6] &= ~(_1 << np.uint64(state & 63))
        must_advance = end == begin
        begin = end
    return is_found
