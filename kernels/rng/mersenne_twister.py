"""Mersenne Twisters, 32 side by side, equal to those of `random` and `numpy.random`.

Sources: CPython 3.11 ``_randommodule.c`` and numpy 2.4 ``mt19937.c``.  The draws are
those that gym-sokoban makes: `random`, `_randbelow` and numpy's legacy `randint`.

An array of states holds one generator a column, called a lane as in vector
instructions, and one word of 32 bits a row::

                  lane 0   lane 1        lane 31
    row   0         w0       w0    ...     w0
    row   1         w1       w1    ...     w1
     ...
    row 623        w623     w623   ...    w623
    row 624        next     next   ...    next      row of the word to draw next

Seeding computes each of the 624 words from the one before it, so one generator alone
gains nothing from vector instructions: 3.5 us for the two generators of a room.  A row
of 32 lanes is computed in vectors: 0.45 us for two.  With fewer lanes the compiler
unrolls a row into single words: 1.0 us.  All words are uint32; masked uint64 took
twice as long.  The twist is done word by word as words are drawn, because a room draws
some 100 words and a full twist makes 624.
"""

import numpy as np

from .._jit import kernel

LANES = 32
MT_WORDS = 625

_U = np.uint64
_W = np.uint32
_S30 = _W(30)
_INIT, _INIT_1, _INIT_2 = _W(1812433253), _W(1664525), _W(1566083941)
# The seed from which CPython's init_by_array starts, whatever the key.
_PYTHON_START = _W(19650218)
_1, _5, _6, _7, _11 = (_U(n) for n in (1, 5, 6, 7, 11))
_15, _16, _18 = (_U(n) for n in (15, 16, 18))
_UPPER = _U(0x80000000)
_LOWER = _U(0x7FFFFFFF)
_MATRIX = _U(0x9908B0DF)
_TEMPER_B = _U(0x9D2C5680)
_TEMPER_C = _U(0xEFC60000)
_DOUBLE_26 = 67108864.0
_DOUBLE_53 = 9007199254740992.0


@kernel
def mt_seed(seeds, python_states, numpy_states):
    """Seed each lane as `random.seed(seed)` and as `numpy.random.seed(seed)` do.

    Parameters
    ----------
    seeds : (32,) uint32, read
    python_states, numpy_states : (625, 32) uint32, written
    """
    start = _PYTHON_START
    for lane in range(LANES):
        numpy_states[0, lane] = seeds[lane]
        python_states[0, lane] = start
        numpy_states[624, lane] = 0
        python_states[624, lane] = 0
    for i in range(1, 624):
        row = _W(i)
        start = _W(_W(_INIT * (start ^ (start >> _S30))) + row)
        for lane in range(LANES):
            word = numpy_states[i - 1, lane]
            numpy_states[i, lane] = _W(_INIT * (word ^ (word >> _S30))) + row
        # init_by_array with a key of one word: its index stays 0 throughout.
        for lane in range(LANES):
            word = python_states[i - 1, lane]
            word = _W((word ^ (word >> _S30)) * _INIT_1)
            python_states[i, lane] = _W(start ^ word) + seeds[lane]
    # Word 0 would become word 623 now, and word 1 is mixed once more.
    for lane in range(LANES):
        word = python_states[623, lane]
        word = _W((word ^ (word >> _S30)) * _INIT_1)
        python_states[1, lane] = _W(python_states[1, lane] ^ word) + seeds[lane]
    for i in range(2, 624):
        row = _W(i)
        for lane in range(LANES):
            word = python_states[i - 1, lane]
            word = _W((word ^ (word >> _S30)) * _INIT_2)
            python_states[i, lane] = _W(python_states[i, lane] ^ word) - row
    for lane in range(LANES):
        word = python_states[623, lane]
        word = _W((word ^ (word >> _S30)) * _INIT_2)
        python_states[1, lane] = _W(python_states[1, lane] ^ word) - _W(1)
        python_states[0, lane] = _W(_UPPER)


@kernel
def mt_next(states, lane):
    """Return the next 32-bit output of a lane as uint64, and advance the lane.

    Parameters
    ----------
    states : (625, 32) uint32, updated in one column
    lane : int
    """
    lane = _U(lane)
    i = _U(states[624, lane])
    j = i + _1 if i < _U(623) else _U(0)
    k = i + _U(397) if i < _U(227) else i - _U(227)
    y = (states[i, lane] & _UPPER) | (states[j, lane] & _LOWER)
    word = states[k, lane] ^ (y >> _1) ^ ((y & _1) * _MATRIX)
    states[i, lane] = word
    states[624, lane] = j
    word ^= word >> _11
    word ^= (word << _7) & _TEMPER_B
    word ^= (word << _15) & _TEMPER_C
    return word ^ (word >> _18)


@kernel
def mt_random(states, lane):
    """Return the next float64 in [0, 1), as `random.random()`."""
    a = mt_next(states, lane) >> _5
    b = mt_next(states, lane) >> _6
    return (np.float64(a) * _DOUBLE_26 + np.float64(b)) / _DOUBLE_53


@kernel
def mt_randbelow(states, lane, n):
    """Return the next int64 in [0, n), as `random.choice(range(n))`, 1 <= n < 2**31.

    CPython draws the bits of n from the top of a word and rejects what is too big.
    """
    bits = 0
    while (n >> bits) != 0:
        bits += 1
    shift = _U(32 - bits)
    value = np.int64(mt_next(states, lane) >> shift)
    while value >= n:
        value = np.int64(mt_next(states, lane) >> shift)
    return value


@kernel
def mt_randint(states, lane, n):
    """Return the next int64 in [0, n), as `numpy.random.randint(n)`, n < 2**31.

    numpy's legacy generator masks the low bits and rejects; n = 1 draws nothing.
    """
    top = _U(n - 1)
    if top == _U(0):
        return np.int64(0)
    mask = top
    mask |= mask >> _1
    mask |= mask >> _U(2)
    mask |= mask >> _U(4)
    mask |= mask >> _U(8)
    mask |= mask >> _16
    value = mt_next(states, lane) & mask
    while value > top:
        value = mt_next(states, lane) & mask
    return np.int64(value)
