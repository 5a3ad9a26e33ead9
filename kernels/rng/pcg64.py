"""Seeds derived from seeds, and PCG64 generators equal to numpy's.

- `fold_in` is an integer hash of a seed and a counter, roll_vec's only source of
  new seeds.
- PCG64 (XSL-RR 128/64) is seeded through SeedSequence as `numpy.random.PCG64(int)`
  (numpy 2.4 ``bit_generator.pyx``, ``pcg64.h``) and draws as `Generator.random` and
  `Generator.integers`.

All arithmetic is on uint64, and masked where 32 bits are meant, so that the results
are the same with the JIT on and off.
"""

import numpy as np

from .._jit import allow_overflow, kernel, plain_kernel

_U = np.uint64
_MASK32 = _U(0xFFFFFFFF)
_0, _1, _11, _16 = (_U(n) for n in (0, 1, 11, 16))
_27, _30, _31, _32 = (_U(n) for n in (27, 30, 31, 32))
_58, _63, _64 = (_U(n) for n in (58, 63, 64))
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
def fold_in(seed, counter):
    """Return seed number ``counter`` of the sequence of seeds that starts at ``seed``.

    Parameters
    ----------
    seed : uint64
    counter : uint64
        Episode number 1, 2, ...; `RETRY` + attempt for a level that failed.

    Returns
    -------
    uint64
        Below 2**32: the upper half of
        ``avalanche(avalanche(seed + G) + counter * G)`` modulo 2**64, with G the
        odd constant 0x9E3779B97F4A7C15 and ``avalanche`` splitmix64's finaliser.
    """
    return _avalanche(_avalanche(seed + _GOLDEN) + counter * _GOLDEN) >> _32


@allow_overflow
@kernel
def fold_in_rows(seeds, counters, out):
    """Write ``fold_in(seeds[i], counters[i])`` to ``out[i]``; all (n,) uint64."""
    for i in range(seeds.shape[0]):
        out[i] = fold_in(seeds[i], counters[i])


# ------------------------------------------------------------------ PCG64
# ``rng_states`` is (6, n) uint64, one generator a column::
#
#     row 0, 1   state, upper and lower 64 bits
#     row 2, 3   increment, upper and lower 64 bits
#     row 4, 5   numpy's buffer for 32-bit draws: 1 if half a word is left; that half
#
# The words of many generators lie side by side, so that `pcg_random_rows` draws in
# vector instructions.

PCG_WORDS = 6
_PCG_HIGH = _U(2549297995355413924)
_PCG_LOW = _U(4865540595714422341)
_SEQ_INIT_A = _U(0x43B0D7E5)
_SEQ_MULT_A = _U(0x931E8875)
_SEQ_INIT_B = _U(0x8B51F9DD)
_SEQ_MULT_B = _U(0x58F38DED)
_SEQ_MIX_L = _U(0xCA01F9DD)
_SEQ_MIX_R = _U(0x4973F715)


@plain_kernel
def _multiply_high(a, b):
    """Return the upper 64 bits of the 128-bit product of two uint64."""
    a_low, a_high = a & _MASK32, a >> _32
    b_low, b_high = b & _MASK32, b >> _32
    middle = a_high * b_low + ((a_low * b_low) >> _32)
    other = a_low * b_high + (middle & _MASK32)
    return a_high * b_high + (middle >> _32) + (other >> _32)


@plain_kernel
def _pcg_advance(high, low, increment_high, increment_low):
    """Return a state after one step of the 128-bit congruential generator."""
    product_low = low * _PCG_LOW
    product_high = _multiply_high(low, _PCG_LOW) + high * _PCG_LOW + low * _PCG_HIGH
    new_low = product_low + increment_low
    # The carry in bits: vector instructions have no comparison of uint64.
    either = (product_low | increment_low) & ~new_low
    carry = ((product_low & increment_low) | either) >> _63
    return product_high + increment_high + carry, new_low


@plain_kernel
def _pcg_output(high, low):
    """Return the 64-bit output of a state."""
    word = high ^ low
    turn = high >> _58
    return (word >> turn) | (word << ((_64 - turn) & _63))


@plain_kernel
def _as_uniform(word):
    """Return the float64 in [0, 1) of a 64-bit output."""
    return np.float64(word >> _11) * (1.0 / _DOUBLE_53)


@allow_overflow
@plain_kernel
def pcg_next(rng_states, i):
    """Return the next 64-bit output of generator i, and advance it."""
    high, low = _pcg_advance(
        rng_states[0, i], rng_states[1, i], rng_states[2, i], rng_states[3, i]
    )
    rng_states[0, i], rng_states[1, i] = high, low
    return _pcg_output(high, low)


@plain_kernel
def pcg_random(rng_states, i):
    """Return the next float64 in [0, 1) of generator i, as `Generator.random()`."""
    return _as_uniform(pcg_next(rng_states, i))


@kernel
def pcg_random_rows(start, stop, at, mask, rng_states, out):
    """Draw one uniform from each of some generators, as `pcg_random`.

    It has no branch, so that several draws are made in one vector.

    Parameters
    ----------
    start, stop : int
        The generators to work on.
    at : uint64
        Where the items of generator 0 are in ``mask`` and ``out``.
    mask : (T * n,) bool, read
        False: the generator stays as it is, and the number written is meaningless.
    rng_states : (6, n) uint64, updated
    out : (T * n,) float64, written
    """
    # Four views: of one array the compiler assumes that its rows overlap.
    highs, lows = rng_states[0], rng_states[1]
    increment_highs, increment_lows = rng_states[2], rng_states[3]
    for i in range(np.uint64(start), np.uint64(stop)):
        draws, high, low = mask[at + i], highs[i], lows[i]
        next_high, next_low = _pcg_advance(
            high, low, increment_highs[i], increment_lows[i]
        )
        highs[i] = next_high if draws else high
        lows[i] = next_low if draws else low
        out[at + i] = _as_uniform(_pcg_output(next_high, next_low))


@plain_kernel
def _pcg_next32(rng_states, i):
    """Return the next 32-bit output as uint64: a word's low half, then its high."""
    if rng_states[4, i] != _0:
        rng_states[4, i] = _0
        return rng_states[5, i]
    word = pcg_next(rng_states, i)
    rng_states[4, i] = _1
    rng_states[5, i] = word >> _32
    return word & _MASK32


@plain_kernel
def pcg_integers(rng_states, i, n):
    """Return the next int64 in [0, n), as `Generator.integers(n)`, 1 <= n < 2**32.

    Lemire's multiplication with rejection, on 32-bit draws; n = 1 draws nothing.
    """
    bound = _U(n)
    if bound == _1:
        return np.int64(0)
    product = _pcg_next32(rng_states, i) * bound
    low = product & _MASK32
    if low < bound:
        threshold = (_MASK32 - (bound - _1)) % bound
        while low < threshold:
            product = _pcg_next32(rng_states, i) * bound
            low = product & _MASK32
    return np.int64(product >> _32)


@plain_kernel
def _sequence_hash(value, constant, multiplier):
    """Return SeedSequence's hash of one word, and the next constant."""
    next_constant = (constant * multiplier) & _MASK32
    value = ((value ^ constant) * next_constant) & _MASK32
    return value ^ (value >> _16), next_constant


@plain_kernel
def _sequence_mix(target, source, constant):
    """Return SeedSequence's mix of one word into another, and the next constant."""
    word, constant = _sequence_hash(source, constant, _SEQ_MULT_A)
    word = (_SEQ_MIX_L * target - _SEQ_MIX_R * word) & _MASK32
    return word ^ (word >> _16), constant


@plain_kernel
def _sequence_uint64(first, second, constant):
    """Return two words of SeedSequence's output as one uint64; the next constant."""
    low, constant = _sequence_hash(first, constant, _SEQ_MULT_B)
    high, constant = _sequence_hash(second, constant, _SEQ_MULT_B)
    return low | (high << _32), constant


@plain_kernel
def pcg_seed(rng_states, i, seed):
    """Seed generator i as `numpy.random.PCG64(seed)` does, 0 <= seed < 2**64.

    Parameters
    ----------
    rng_states : (6, n) uint64, written at column i
    i : int
        From Python also an array of them, with an array of seeds.
    seed : uint64
    """
    # Four variables and no array: every constant is then known to the compiler.
    constant = _SEQ_INIT_A
    pool_0, constant = _sequence_hash(seed & _MASK32, constant, _SEQ_MULT_A)
    pool_1, constant = _sequence_hash(seed >> _32, constant, _SEQ_MULT_A)
    pool_2, constant = _sequence_hash(_0, constant, _SEQ_MULT_A)
    pool_3, constant = _sequence_hash(_0, constant, _SEQ_MULT_A)
    pool_1, constant = _sequence_mix(pool_1, pool_0, constant)
    pool_2, constant = _sequence_mix(pool_2, pool_0, constant)
    pool_3, constant = _sequence_mix(pool_3, pool_0, constant)
    pool_0, constant = _sequence_mix(pool_0, pool_1, constant)
    pool_2, constant = _sequence_mix(pool_2, pool_1, constant)
    pool_3, constant = _sequence_mix(pool_3, pool_1, constant)
    pool_0, constant = _sequence_mix(pool_0, pool_2, constant)
    pool_1, constant = _sequence_mix(pool_1, pool_2, constant)
    pool_3, constant = _sequence_mix(pool_3, pool_2, constant)
    pool_0, constant = _sequence_mix(pool_0, pool_3, constant)
    pool_1, constant = _sequence_mix(pool_1, pool_3, constant)
    pool_2, constant = _sequence_mix(pool_2, pool_3, constant)
    start_high, constant = _sequence_uint64(pool_0, pool_1, _SEQ_INIT_B)
    start_low, constant = _sequence_uint64(pool_2, pool_3, constant)
    sequence_high, constant = _sequence_uint64(pool_0, pool_1, constant)
    sequence_low, constant = _sequence_uint64(pool_2, pool_3, constant)
    # pcg_setseq_128_srandom: begin at 0, advance, add the start, advance.
    increment_high = (sequence_high << _1) | (sequence_low >> _63)
    increment_low = (sequence_low << _1) | _1
    low = increment_low + start_low
    carry = _U(low < start_low)
    high = increment_high + start_high + carry
    high, low = _pcg_advance(high, low, increment_high, increment_low)
    rng_states[0, i], rng_states[1, i] = high, low
    rng_states[2, i], rng_states[3, i] = increment_high, increment_low
    rng_states[4, i] = rng_states[5, i] = _0


@allow_overflow
def seed_rows(rows, seeds, rng_states):
    """Seed the generators of some rows, with numpy: a kernel is compiled in a second.

    Parameters
    ----------
    rows : (m,) int64, read
    seeds : (m,) uint64, read
    rng_states : (6, n) uint64, written at ``rows``
    """
    pcg_seed(rng_states, rows, seeds)
