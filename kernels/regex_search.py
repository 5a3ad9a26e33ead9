"""Search for a regular expression in time linear in the length of the text.

A program has one instruction a row.  It backtracks in the order of Python's `re`: the
first path to `MATCH` is the match.  A state is an instruction and a position of the
text.  No state is entered twice, because a state that has failed once fails again.  So
a search takes at most as many steps as there are states.

======  =============================  =============================================
CLASS   a: bit                         Consume a character whose mask has the bit.
SPLIT   a, b: instructions             Continue at a; if that fails, at b.
JUMP    a: instruction                 Continue at a.
SAVE    a: slot                        Save the position: see `NUM_SLOTS`.
ASSERT  a: one of six kinds            Continue if the position is of this kind.
MATCH                                  The match ends here.
======  =============================  =============================================
"""

import numpy as np

from ._jit import kernel

CLASS, SPLIT, JUMP, SAVE, ASSERT, MATCH = range(6)
TEXT_START, TEXT_END, LAST_LINE_END, LINE_START, LINE_END, WORD_EDGE = range(6)
# Begin and end of group 1, begin and end of group 2.
NUM_SLOTS = 4

# Bits of a character's mask that every program shares.
NEWLINE, WORD = range(2)

_1 = np.uint64(1)


@kernel
def _has_bit(masks, position, bit):
    """Return whether the character at a position has a bit; false outside the text."""
    if position < 0 or position >= len(masks):
        return False
    return (masks[position] >> np.uint64(bit)) & _1 != 0


@kernel
def _is_kind(kind, masks, position):
    """Return whether a position is of a kind of assertions."""
    n = len(masks)
    if kind == TEXT_START:
        return position == 0
    if kind == TEXT_END:
        return position == n
    if kind == LAST_LINE_END:
        return position == n or (
            position == n - 1 and _has_bit(masks, position, NEWLINE)
        )
    if kind == LINE_START:
        return position == 0 or _has_bit(masks, position - 1, NEWLINE)
    if kind == LINE_END:
        return position == n or _has_bit(masks, position, NEWLINE)
    return _has_bit(masks, position - 1, WORD) != _has_bit(masks, position, WORD)


@kernel
def _enter(visited, state):
    """Mark a state as visited; return whether it is so for the first time."""
    word, bit = state >> 6, _1 << np.uint64(state & 63)
    if visited[word] & bit:
        return False
    visited[word] |= bit
    return True


@kernel
def _match(program, masks, begin, must_advance, visited, stack, slots):
    """Return the end of the match that begins at a position, or -1."""
    # States are numbered by position first, so that those of a step lie side by side.
    # By instruction first, each state of a text of 1 MB misses the cache: 3x the time.
    size = len(program)
    stack[0, 0], stack[0, 1] = 0, begin
    top = 1
    while top:
        top -= 1
        at, position = np.int64(stack[top, 0]), np.int64(stack[top, 1])
        if at < 0:
            slots[-at - 1] = position
            continue
        while _enter(visited, position * size + at):
            op, a = program[at, 0], program[at, 1]
            at += 1
            if op == CLASS:
                if not _has_bit(masks, position, a):
                    break
                position += 1
            elif op == SPLIT:
                stack[top, 0], stack[top, 1] = program[at - 1, 2], position
                top += 1
                at = a
            elif op == JUMP:
                at = a
            elif op == SAVE:
                stack[top, 0], stack[top, 1] = -a - 1, slots[a]
                top += 1
                slots[a] = position
            elif op == ASSERT:
                if not _is_kind(a, masks, position):
                    break
            elif not must_advance or position > begin:
                return position
            else:
                break
    return -1


@kernel
def search(program, masks, last, visited, stack, slots, spans):
    """Find the first match in a text, or the last of the matches without overlap.

    Parameters
    ----------
    program : (m, 3) int64
    masks : (n,) uint64
        For each character bit `NEWLINE`, bit `WORD`, and the bits of its classes.
    last : bool
    visited : ((m * (n + 1) + 63) // 64,) uint64, zeros, updated
    stack : (k * (n + 1) + 2, 2) int32, written
        k is the number of `SPLIT` and `SAVE` instructions.
    slots : (NUM_SLOTS,) int64, written
    spans : (NUM_SLOTS,) int64, written
        Begins and ends of the groups of the match; -1 for a group without part in it.

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
        # Skip positions whose character cannot begin a match: most of them.
        if op == CLASS:
            while begin < n and not _has_bit(masks, begin, a):
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
        for slot in range(len(slots)):
            spans[slot] = slots[slot]
        is_found = True
        if not last:
            break
        # The next match may enter the states at this match's end again; all states
        # beyond it have failed.
        for at in range(len(program)):
            state = end * len(program) + at
            visited[state >> 6] &= ~(_1 << np.uint64(state & 63))
        must_advance = end == begin
        begin = end
    return is_found
