"""Mersenne Twisters, 32 side by side, equal to those of `random` and `numpy.random`.

Sources: CPython 3.11 ``_randommodule.c`` and numpy 2.4 ``mt19937.c``.  The draws are
those that gym-sokoban makes: `random`, `_randbelow` and numpy's legacy `randint`.

An array of states holds 32 generators, called lanes as in vector instructions.  It is
flat, rows of one word of 32 bits for each lane::

                  lane 0   lane 1        lane 31
    row   0         w0       w0    ...     w0
    row   1         w1       w1    ...     w1
     ...
    row 623        w623     w623   ...    w623
    row 624        drawn    drawn  ...    drawn     outputs drawn so far
    row 625         -        -     ...      -       a row for each word that `mt_seed`
     ...                                            twists, for plans of who draws

Seeding computes each of the 624 words from the one before it, so one generator alone
gains nothing from vector instructions: 3.5 us for the two generators of a room.  A row
of 32 lanes is computed in vectors.  The first words are twisted with the seeds, in
vectors too: a room draws some 100 words an attempt.  Later words are twisted one by one
as they are drawn.

What makes the vectors: all words are uint32 (masked uint64 took twice as long), and
arrays are flat, so that the compiler knows the distances within them.
"""

import numpy as np

from .._jit import kernel

LANES = 32
_WORDS = 624
# Words that are twisted with the seeds: all attempts at a room seldom draw more.
FIRST_WORDS = 384

_U = np.uint64
_W = np.uint32
_S30 = _W(30)
_INIT, _INIT_1, _INIT_2 = _W(1812433253), _W(1664525), _W(1566083941)
# The seed from which CPython's init_by_array starts, whatever the key.
_PYTHON_START = 19650218
_0, _1, _5, _6 = (_U(n) for n in (0, 1, 5, 6))
_UPPER, _LOWER, _MATRIX = _W(0x80000000), _W(0x7FFFFFFF), _W(0x9908B0DF)
_TEMPER_B, _TEMPER_C = _W(0x9D2C5680), _W(0xEFC60000)
_DOUBLE_26 = 67108864.0
_DOUBLE_53 = 9007199254740992.0

# Distances in a flat array.
ROW = _U(LANES)
COUNTS, PLANS = _U(_WORDS * LANES), _U((_WORDS + 1) * LANES)
_227, _397 = _U(227 * LANES), _U(397 * LANES)


def make_states(first_words):
    """Return states of which `mt_seed` twists so many words at once, at most 623."""
    return np.zeros((_WORDS + 1 + first_words) * LANES, np.uint32)


def _words_of(seed):
    """Return the words of init_genrand, (624,) uint32."""
    words = [seed]
    for i in range(1, _WORDS):
        word = words[-1] ^ (words[-1] >> 30)
        words.append((int(_INIT) * word + i) % 2**32)
    return np.array(words, np.uint32)


_PYTHON_WORDS = _words_of(_PYTHON_START)


@kernel
def mt_seed(seeds, python_states, numpy_states):
    """Seed each lane as `random.seed(seed)` and as `numpy.random.seed(seed)` do.

    Parameters
    ----------
    seeds : (32,) uint32, read
    python_states, numpy_states : (w,) uint32, written
        Of `make_states`.
    """
    for lane in range(LANES):
        numpy_states[lane] = seeds[lane]
        python_states[lane] = _PYTHON_WORDS[0]
        numpy_states[COUNTS + _U(lane)] = 0
        python_states[COUNTS + _U(lane)] = 0
    for p in range(ROW, COUNTS):
        word = numpy_states[_U(p) - ROW]
        word = _W(_INIT * _W(word ^ _W(word >> _S30)))
        numpy_states[_U(p)] = _W(word + _W(_U(p) // ROW))
    for i in range(1, _WORDS):
        start, row = _PYTHON_WORDS[i], _U(i) * ROW
        # init_by_array with a key of one word: its index stays 0 throughout.
        for lane in range(LANES):
            p = row + _U(lane)
            word = python_states[p - ROW]
            word = _W(_W(word ^ _W(word >> _S30)) * _INIT_1)
            python_states[p] = _W(_W(start ^ word) + seeds[lane])
    # Word 0 would become word 623 now, and word 1 is mixed once more.
    for lane in range(LANES):
        p = ROW + _U(lane)
        word = python_states[COUNTS - ROW + _U(lane)]
        word = _W(_W(word ^ _W(word >> _S30)) * _INIT_1)
        python_states[p] = _W(_W(python_states[p] ^ word) + seeds[lane])
    for p in range(ROW + ROW, COUNTS):
        word = python_states[_U(p) - ROW]
        word = _W(_W(word ^ _W(word >> _S30)) * _INIT_2)
        word = _W(python_states[_U(p)] ^ word)
        python_states[_U(p)] = _W(word - _W(_U(p) // ROW))
    for lane in range(LANES):
        p = ROW + _U(lane)
        word = python_states[COUNTS - ROW + _U(lane)]
        word = _W(_W(word ^ _W(word >> _S30)) * _INIT_2)
        python_states[p] = _W(_W(python_states[p] ^ word) - _W(1))
        python_states[lane] = _UPPER
    _twist_first_words(python_states)
    _twist_first_words(numpy_states)


@kernel
def _twist(word, next_word, later_word):
    """Return the word that replaces the first one, all uint32."""
    y = _W(_W(word & _UPPER) | _W(next_word & _LOWER))
    # A multiplication takes ten times as long in vectors.
    matrix = _W(_W(_W(0) - _W(y & _W(1))) & _MATRIX)
    return _W(_W(later_word ^ _W(y >> _W(1))) ^ matrix)


@kernel
def mt_temper(word):
    """Return the output of a twisted word, uint32."""
    word = _W(word ^ _W(word >> _W(11)))
    word = _W(word ^ _W(_W(word << _W(7)) & _TEMPER_B))
    word = _W(word ^ _W(_W(word << _W(15)) & _TEMPER_C))
    return _W(word ^ _W(word >> _W(18)))


@kernel
def _twist_first_words(states):
    """Twist the first words of all lanes.

    Parameters
    ----------
    states : (w,) uint32, updated
    """
    length = _U(states.shape[0]) - PLANS
    for number in range(min(length, _227)):
        p = _U(number)
        states[p] = _twist(states[p], states[p + ROW], states[p + _397])
    for number in range(_227, length):
        p = _U(number)
        states[p] = _twist(states[p], states[p + ROW], states[p - _227])


@kernel
def mt_next(states, lane):
    """Return the next 32-bit output of a lane as uint64, and advance the lane.

    Parameters
    ----------
    states : (w,) uint32, updated in one lane
    lane : int
    """
    lane = _U(lane)
    drawn = _U(states[COUNTS + lane])
    states[COUNTS + lane] = drawn + _1
    i = drawn % _U(_WORDS) * ROW
    if PLANS + drawn * ROW + lane >= _U(states.shape[0]):
        j = i + ROW if i + ROW < COUNTS else _0
        k = i + _397 if i < _227 else i - _227
        word = _twist(states[i + lane], states[j + lane], states[k + lane])
        states[i + lane] = word
    return _U(mt_temper(states[i + lane]))


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
    mask |= mask >> _U(16)
    value = mt_next(states, lane) & mask
    while value > top:
        value = mt_next(states, lane) & mask
    return np.int64(value)
