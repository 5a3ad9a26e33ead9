"""Random streams as rows of integers, equal to those of numpy and of `random`.

- `mix`: roll_vec's own counter-based integer mix, the only source of new seeds.
- MT19937: seeded as Python's `random.seed(int)` and as `numpy.random.seed(int)`
  (CPython 3.11 ``_randommodule.c``; numpy 2.4 ``mt19937.c``), with the draws that
  gym-sokoban makes: `random`, `_randbelow` and the legacy `randint`.
- PCG64 (XSL-RR 128/64) seeded through SeedSequence as `numpy.random.PCG64(int)`
  (numpy 2.4 ``bit_generator.pyx``, ``pcg64.h``), with `random` and `integers`.

All arithmetic is on uint64 and masked where 32 bits are meant, so that the code
means the same with the JIT on and off.
"""

# depends: _jit.py sha256:e75ec21cdcff0df5

import numpy as np

from ._jit import kernel

_U = np.uint64
_MASK32 = _U(0xFFFFFFFF)
_0, _1, _3, _5, _6, _7, _11 = (_U(n) for n in (0, 1, 3, 5, 6, 7, 11))
_15, _16, _18, _26, _27, _30, _31 = (_U(n) for n in (15, 16, 18, 26, 27, 30, 31))
_32, _33, _58, _63, _64 = (_U(n) for n in (32, 33, 58, 63, 64))
_DOUBLE_26 = 67108864.0
_DOUBLE_53 = 9007199254740992.0

# Retries of a level draw their counters from here on; episodes never get there.
RETRY = _U(1 << 63)

_GOLDEN = _U(0x9E3779B97F4A7C15)
_MIX_A = _U(0xBF58476D1CE4E5B9)
_MIX_B = _U(0x94D049BB133111EB)


@kernel
def _avalanche(word):
    """Return the splitmix64 finaliser of one uint64 (Steele et al., 2014)."""
    word = (word ^ (word >> _30)) * _MIX_A
    word = (word ^ (word >> _27)) * _MIX_B
    return word ^ (word >> _31)


@kernel
def mix(seed, counter):
    """Return the seed number ``counter`` of the stream that starts at ``seed``.

    Parameters
    ----------
    seed : uint64
    counter : uint64
        Episode number 1, 2, ..., or `RETRY` + attempt for a level that failed.

    Returns
    -------
    uint64
        Below 2**32: the upper half of
        ``avalanche(avalanche(seed + G) + counter * G)`` modulo 2**64, with G the
        odd constant 0x9E3779B97F4A7C15 and ``avalanche`` splitmix64's finaliser.
    """
    return _avalanche(_avalanche(seed + _GOLDEN) + counter * _GOLDEN) >> _32


@kernel
def mix_rows(seeds, counters, out):
    """Write ``mix(seeds[i], counters[i])`` to ``out[i]``; all (n,) uint64."""
    for i in range(seeds.shape[0]):
        out[i] = mix(seeds[i], counters[i])


# ---------------------------------------------------------------- MT19937
# A state is a row of 625 uint64: 624 words of 32 bits and the number of words
# drawn so far modulo 624.  The twist is done word by word as they are drawn: a
# room needs some 100 of them, a full twist would make 624.

MT_WORDS = 625
_UPPER = _U(0x80000000)
_LOWER = _U(0x7FFFFFFF)
_MATRIX = _U(0x9908B0DF)
_TEMPER_B = _U(0x9D2C5680)
_TEMPER_C = _U(0xEFC60000)
_INIT = _U(1812433253)
_INIT_1 = _U(1664525)
_INIT_2 = _U(1566083941)
_INIT_ARRAY = _U(19650218)


@kernel
def mt_seed_numpy(state, seed):
    """Seed a row as `numpy.random.seed(seed)` does, 0 <= seed < 2**32.

    Parameters
    ----------
    state : (625,) uint64, written
    seed : uint64
    """
    word = seed & _MASK32
    for i in range(624):
        state[i] = word
        word = (_INIT * (word ^ (word >> _30)) + _U(i + 1)) & _MASK32
    state[624] = _0


@kernel
def mt_seed_python(state, seed, template):
    """Seed a row as `random.seed(seed)` does, 0 <= seed < 2**32.

    Parameters
    ----------
    state : (625,) uint64, written
    seed : uint64
    template : (625,) uint64, read
        A row seeded by ``mt_seed_numpy(row, 19650218)``, which is where CPython's
        init_by_array starts from for every key.
    """
    previous = template[0]
    # A key of one word: both of its indices stay 0 through the 624 rounds.
    for i in range(1, 624):
        word = (template[i] ^ ((previous ^ (previous >> _30)) * _INIT_1)) + seed
        previous = word & _MASK32
        state[i] = previous
    # Round 624 wraps: word 0 becomes word 623, and word 1 is mixed once more.
    state[0] = previous
    previous = (
        (state[1] ^ ((previous ^ (previous >> _30)) * _INIT_1)) + seed
    ) & _MASK32
    state[1] = previous
    for i in range(2, 624):
        word = (state[i] ^ ((previous ^ (previous >> _30)) * _INIT_2)) - _U(i)
        previous = word & _MASK32
        state[i] = previous
    state[0] = previous
    previous = ((state[1] ^ ((previous ^ (previous >> _30)) * _INIT_2)) - _1) & _MASK32
    state[1] = previous
    state[0] = _UPPER
    state[624] = _0


@kernel
def mt_next(state):
    """Return the next 32-bit output of a row as uint64, and advance the row."""
    i = np.int64(state[624])
    j = i + 1 if i < 623 else 0
    k = i + 397 if i < 227 else i - 227
    y = (state[i] & _UPPER) | (state[j] & _LOWER)
    word = state[k] ^ (y >> _1)
    if y & _1:
        word ^= _MATRIX
    state[i] = word
    state[624] = _U(j)
    word ^= word >> _11
    word ^= (word << _7) & _TEMPER_B
    word ^= (word << _15) & _TEMPER_C
    return word ^ (word >> _18)


@kernel
def mt_random(state):
    """Return the next float64 in [0, 1), as `random.random()`."""
    a = mt_next(state) >> _5
    b = mt_next(state) >> _6
    return (np.float64(a) * _DOUBLE_26 + np.float64(b)) / _DOUBLE_53


@kernel
def mt_randbelow(state, n):
    """Return the next int64 in [0, n), as `random.choice(range(n))`, 1 <= n < 2**31.

    CPython draws the bits of n from the top of a word and rejects what is too big.
    """
    bits = 0
    while (n >> bits) != 0:
        bits += 1
    shift = _U(32 - bits)
    value = np.int64(mt_next(state) >> shift)
    while value >= n:
        value = np.int64(mt_next(state) >> shift)
    return value


@kernel
def mt_randint(state, n):
    """Return the next int64 in [0, n), as `numpy.random.randint(n)`, n < 2**31.

    numpy's legacy generator masks the low bits and rejects; n = 1 draws nothing.
    """
    top = _U(n - 1)
    if top == _0:
        return np.int64(0)
    mask = top
    mask |= mask >> _1
    mask |= mask >> _U(2)
    mask |= mask >> _U(4)
    mask |= mask >> _U(8)
    mask |= mask >> _16
    value = mt_next(state) & mask
    while value > top:
        value = mt_next(state) & mask
    return np.int64(value)


# ------------------------------------------------------------------ PCG64
# A state is a row of an (n, 6) uint64 array: state high and low, increment high and
# low, and numpy's buffer for 32-bit draws: whether one is left, and that one.  The
# functions take the array and the row's number: a view of the row would cost a
# reference count, which is as dear as the draw.

PCG_WORDS = 6
_PCG_HIGH = _U(2549297995355413924)
_PCG_LOW = _U(4865540595714422341)
_SEQ_INIT_A = _U(0x43B0D7E5)
_SEQ_MULT_A = _U(0x931E8875)
_SEQ_INIT_B = _U(0x8B51F9DD)
_SEQ_MULT_B = _U(0x58F38DED)
_SEQ_MIX_L = _U(0xCA01F9DD)
_SEQ_MIX_R = _U(0x4973F715)


@kernel
def _multiply_high(a, b):
    """Return the upper 64 bits of the 128-bit product of two uint64."""
    a_low, a_high = a & _MASK32, a >> _32
    b_low, b_high = b & _MASK32, b >> _32
    middle = a_high * b_low + ((a_low * b_low) >> _32)
    other = a_low * b_high + (middle & _MASK32)
    return a_high * b_high + (middle >> _32) + (other >> _32)


@kernel
def _pcg_advance(states, row):
    """Advance a row by one step of the 128-bit congruential generator."""
    high, low = states[row, 0], states[row, 1]
    product_low = low * _PCG_LOW
    product_high = _multiply_high(low, _PCG_LOW) + high * _PCG_LOW + low * _PCG_HIGH
    new_low = product_low + states[row, 3]
    carry = _1 if new_low < product_low else _0
    states[row, 0] = product_high + states[row, 2] + carry
    states[row, 1] = new_low


@kernel
def pcg_next(states, row):
    """Return the next 64-bit output of a row, and advance the row."""
    _pcg_advance(states, row)
    high, low = states[row, 0], states[row, 1]
    word = high ^ low
    turn = high >> _58
    return (word >> turn) | (word << ((_64 - turn) & _63))


@kernel
def pcg_random(states, row):
    """Return the next float64 in [0, 1), as `Generator.random()`."""
    return np.float64(pcg_next(states, row) >> _11) * (1.0 / _DOUBLE_53)


@kernel
def _pcg_next32(states, row):
    """Return the next 32-bit output as uint64: a word's low half, then its high."""
    if states[row, 4] != _0:
        states[row, 4] = _0
        return states[row, 5]
    word = pcg_next(states, row)
    states[row, 4] = _1
    states[row, 5] = word >> _32
    return word & _MASK32


@kernel
def pcg_integers(states, row, n):
    """Return the next int64 in [0, n), as `Generator.integers(n)`, 1 <= n < 2**32.

    Lemire's multiplication with rejection, on 32-bit draws; n = 1 draws nothing.
    """
    bound = _U(n)
    if bound == _1:
        return np.int64(0)
    product = _pcg_next32(states, row) * bound
    low = product & _MASK32
    if low < bound:
        threshold = (_MASK32 - (bound - _1)) % bound
        while low < threshold:
            product = _pcg_next32(states, row) * bound
            low = product & _MASK32
    return np.int64(product >> _32)


@kernel
def _sequence_hash(value, constant):
    """Return SeedSequence's hash of one word under the current constant."""
    value = ((value ^ constant) * ((constant * _SEQ_MULT_A) & _MASK32)) & _MASK32
    return value ^ (value >> _16)


@kernel
def _sequence_mix(x, y):
    """Return SeedSequence's mix of two words."""
    word = (_SEQ_MIX_L * x - _SEQ_MIX_R * y) & _MASK32
    return word ^ (word >> _16)


@kernel
def _sequence_word(pool, constant):
    """Return one 32-bit word of SeedSequence's output."""
    word = ((pool ^ constant) * ((constant * _SEQ_MULT_B) & _MASK32)) & _MASK32
    return word ^ (word >> _16)


@kernel
def pcg_seed(states, row, seed):
    """Seed a row as `numpy.random.PCG64(seed)` does, 0 <= seed < 2**64.

    Parameters
    ----------
    states : (n, 6) uint64, written at the row
    row : int
    seed : uint64
    """
    # The pool of four words lives in the row while it is mixed.
    constant = _SEQ_INIT_A
    for i in range(4):
        word = (seed & _MASK32) if i == 0 else ((seed >> _32) if i == 1 else _0)
        states[row, i] = _sequence_hash(word, constant)
        constant = (constant * _SEQ_MULT_A) & _MASK32
    for source in range(4):
        for target in range(4):
            if source != target:
                hashed = _sequence_hash(states[row, source], constant)
                constant = (constant * _SEQ_MULT_A) & _MASK32
                states[row, target] = _sequence_mix(states[row, target], hashed)
    p0, p1, p2, p3 = states[row, 0], states[row, 1], states[row, 2], states[row, 3]
    constant = _SEQ_INIT_B
    w0 = _sequence_word(p0, constant)
    constant = (constant * _SEQ_MULT_B) & _MASK32
    w1 = _sequence_word(p1, constant)
    constant = (constant * _SEQ_MULT_B) & _MASK32
    w2 = _sequence_word(p2, constant)
    constant = (constant * _SEQ_MULT_B) & _MASK32
    w3 = _sequence_word(p3, constant)
    constant = (constant * _SEQ_MULT_B) & _MASK32
    w4 = _sequence_word(p0, constant)
    constant = (constant * _SEQ_MULT_B) & _MASK32
    w5 = _sequence_word(p1, constant)
    constant = (constant * _SEQ_MULT_B) & _MASK32
    w6 = _sequence_word(p2, constant)
    constant = (constant * _SEQ_MULT_B) & _MASK32
    w7 = _sequence_word(p3, constant)
    start_high, start_low = w0 | (w1 << _32), w2 | (w3 << _32)
    sequence_high, sequence_low = w4 | (w5 << _32), w6 | (w7 << _32)
    # pcg_setseq_128_srandom: from 0, step, add the start, step.
    states[row, 2] = (sequence_high << _1) | (sequence_low >> _63)
    states[row, 3] = (sequence_low << _1) | _1
    states[row, 0], states[row, 1] = states[row, 2], states[row, 3]
    low = states[row, 1] + start_low
    carry = _1 if low < start_low else _0
    states[row, 0] = states[row, 0] + start_high + carry
    states[row, 1] = low
    _pcg_advance(states, row)
    states[row, 4] = _0
    states[row, 5] = _0
