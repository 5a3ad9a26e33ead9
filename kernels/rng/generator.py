"""A generator of stacked ones as an object with the methods of numpy's `Generator`.

``generator_of(rng_states, i)`` is generator i of ``rng_states``, (6, n) uint64; see
`.pcg64`.  Its methods draw the same numbers as those of `numpy.random.Generator`
(numpy 2.4, ``distributions.c`` and ``_generator.pyx``) around the same PCG64, to the
bit.  They are called with numbers, and return one number::

    rng.random()                  rng.integers(high)          rng.integers(low, high)
    rng.uniform(low, high)        rng.normal(mean, deviation) rng.standard_normal()
    rng.shuffle(items)            rng.choice(number or items, p=probabilities)

``shuffle`` accepts an array of one axis.  Arguments that numpy refuses are refused
before anything is drawn.  The methods stand once, in `PlainGenerator`:
`._compiled_generator` compiles them, with functions of its types in the place of the
last ones here, which look at the types of arguments.
"""

import math

import numpy as np
from numba.np.random import _constants as ziggurat

from .._jit import allow_overflow, plain_kernel
from ..rows import Items
from .pcg64 import _multiply_high, _pcg_next32, pcg_integers, pcg_next, pcg_random

BAD_INTEGERS = "rng.integers: expected bounds of 64 bits, the upper one above the lower"
BAD_CHOICE = (
    "rng.choice: expected a number above 0 or an array of items, and with p a "
    "probability for each, not negative, with the sum 1"
)
BAD_UNIFORM = "rng.uniform: expected bounds in order, with a finite difference"
BAD_NORMAL = "rng.normal: expected a deviation that is not negative"
NOT_SHUFFLED = "rng.shuffle: expected an array of one axis that can be written"

# The sum of probabilities may differ from 1 by so much, as in numpy: those of an array
# of float32, and others.
TOLERANCE_32, TOLERANCE_64 = (
    math.sqrt(np.finfo(dtype).eps) for dtype in (np.float32, np.float64)
)
_LEAST, _LIMIT = -(1 << 63), 1 << 63
_U = np.uint64
_0, _1, _8, _255 = (_U(n) for n in (0, 1, 8, 255))
_MASK32, _MASK52 = _U((1 << 32) - 1), _U((1 << 52) - 1)


# ------------------------------------------------------------------ draws


@allow_overflow
@plain_kernel(is_part=True)
def _pcg_wide_range(rng_states, i, most):
    """Return the next int64 in [0, most], where most is at least 2**32 - 1.

    It is rare, and half of the code of a draw: callers get along without it.
    """
    if most == _MASK32:
        return np.int64(_pcg_next32(rng_states, i))
    count = most + _1
    word = pcg_next(rng_states, i)
    if count == _0:
        return np.int64(word)
    if word * count < count:
        threshold = (_U(0) - count) % count
        while word * count < threshold:
            word = pcg_next(rng_states, i)
    return np.int64(_multiply_high(word, count))


@allow_overflow
@plain_kernel
def pcg_range(rng_states, i, low, high):
    """Return the next int64 in [low, high), as `Generator.integers(low, high)`.

    Lemire's method: of 32-bit draws if ``high - low`` is at most 2**32, else of 64-bit
    draws.  A range of one number draws nothing.  ``low`` is less than ``high``.
    """
    most = _U(high - 1 - low)
    if most < _MASK32:
        return low + pcg_integers(rng_states, i, most + _1)
    return low + _pcg_wide_range(rng_states, i, most)


@plain_kernel
def pcg_normal(rng_states, i):
    """Return the next float64 of the standard normal distribution.

    As `Generator.standard_normal`: the ziggurat of 256 strips.
    """
    while True:
        word = pcg_next(rng_states, i)
        strip = np.int64(word & _255)
        word >>= _8
        is_negative = word & _1
        size = (word >> _1) & _MASK52
        x = size * ziggurat.wi_double[strip]
        if is_negative:
            x = -x
        if size < ziggurat.ki_double[strip]:
            return x
        if strip == 0:
            while True:
                a = -math.log1p(-pcg_random(rng_states, i))
                a *= ziggurat.ziggurat_nor_inv_r
                b = -math.log1p(-pcg_random(rng_states, i))
                if b + b > a * a:
                    tail = ziggurat.ziggurat_nor_r + a
                    return -tail if (size >> _8) & _1 else tail
        above = ziggurat.fi_double[strip - 1] - ziggurat.fi_double[strip]
        height = above * pcg_random(rng_states, i) + ziggurat.fi_double[strip]
        if height < math.exp(-0.5 * x * x):
            return x


@plain_kernel
def pcg_interval(rng_states, i, most):
    """Return the next int64 in [0, most], as numpy draws one to shuffle; most < 2**32.

    32-bit draws are masked until one is small enough.
    """
    mask = _1
    while mask < _U(most):
        mask = (mask << _1) | _1
    value = _pcg_next32(rng_states, i) & mask
    while value > _U(most):
        value = _pcg_next32(rng_states, i) & mask
    return np.int64(value)


# ------------------------------------------------------------------ arguments


def check_count(count):
    """Check the number of things to choose from."""
    if count < 1:
        raise ValueError(BAD_CHOICE)


def check_probabilities(p, count, tolerance):
    """Check the probabilities of so many things: their sum, as numpy adds, is 1."""
    if len(p) != count:
        raise ValueError(BAD_CHOICE)
    total, compensation = 0.0, 0.0
    for k in range(len(p)):
        if p[k] < 0:
            raise ValueError(BAD_CHOICE)
        term = p[k] - compensation
        longer = total + term
        compensation = (longer - total) - term
        total = longer
    if not abs(total - 1.0) <= tolerance:
        raise ValueError(BAD_CHOICE)


def check_uniform(low, high):
    """Check the bounds of a float."""
    size = high - low
    if not math.isfinite(size):
        raise OverflowError(BAD_UNIFORM)
    if math.copysign(1.0, size) < 0:
        raise ValueError(BAD_UNIFORM)


def check_deviation(deviation):
    """Check the standard deviation of a float: numpy accepts nan, and not -0.0."""
    if math.copysign(1.0, deviation) < 0 and not math.isnan(deviation):
        raise ValueError(BAD_NORMAL)


def count_of(a):
    """Return the number of things to choose from: a number, or items."""
    return a if isinstance(a, (int, np.integer)) else len(a)


def thing_of(a, index):
    """Return one of these things."""
    return index if isinstance(a, (int, np.integer)) else a[index]


def tolerance_of(p):
    """Return by how much the sum of probabilities may differ from 1."""
    array = p.array if isinstance(p, Items) else p
    is_short = getattr(array, "dtype", None) == np.float32
    return TOLERANCE_32 if is_short else TOLERANCE_64


def check_shuffled(x):
    """Check what is to be shuffled."""
    if not isinstance(x, Items) or x.ndim != 1 or not x.array.flags.writeable:
        raise TypeError(NOT_SHUFFLED)


# ------------------------------------------------------------------ the methods


@plain_kernel
def draw_integer(rng, low, high):
    """Return an int in [low, high); the fractions of floats are cut."""
    is_small = _LEAST <= low < _LIMIT and _LEAST <= high < _LIMIT
    if not is_small or int(low) >= int(high):
        raise ValueError(BAD_INTEGERS)
    return int(pcg_range(rng._words, rng._number, int(low), int(high)))


class PlainGenerator:
    """One of stacked generators.

    Its numbers are Python's, as those of compiled rules compute alike.

    Parameters
    ----------
    rng_states : (6, n) uint64, updated in one column
    i : int
    """

    def __init__(self, rng_states, i):
        self._words, self._number = rng_states, i

    def __getattr__(self, name):
        message = f"rng.{name}: expected one of {', '.join(METHODS)}"
        raise AttributeError(message)

    def random(self):
        """Return a float in [0, 1)."""
        return float(pcg_random(self._words, self._number))

    def standard_normal(self):
        """Return a float of the standard normal distribution."""
        return float(pcg_normal(self._words, self._number))

    def normal(self, loc=0.0, scale=1.0):
        """Return a float of a normal distribution."""
        check_deviation(scale)
        return loc + scale * float(pcg_normal(self._words, self._number))

    def uniform(self, low=0.0, high=1.0):
        """Return a float in [low, high)."""
        check_uniform(low, high)
        return low + (high - low) * float(pcg_random(self._words, self._number))

    def integers(self, low, high=None):
        """Return an int in [low, high), or in [0, low)."""
        if high is None:
            return draw_integer(self, 0, low)
        return draw_integer(self, low, high)

    def choice(self, a, p=None):
        """Return an int in [0, a), or an item of a.

        With probabilities by their cumulative sums, as numpy.
        """
        count = count_of(a)
        check_count(count)
        if p is None:
            index = int(pcg_range(self._words, self._number, 0, count))
            return thing_of(a, index)
        check_probabilities(p, count, tolerance_of(p))
        total = 0.0
        for k in range(count):
            total += p[k]
        uniform, cumulative = pcg_random(self._words, self._number), 0.0
        for k in range(count):
            cumulative += p[k]
            if cumulative / total > uniform:
                return thing_of(a, k)
        return thing_of(a, count - 1)

    def shuffle(self, x):
        """Shuffle an array of one axis in place."""
        check_shuffled(x)
        for last in range(len(x) - 1, 0, -1):
            j = int(pcg_interval(self._words, self._number, last))
            x[last], x[j] = x[j], x[last]


METHODS = sorted(name for name in vars(PlainGenerator) if not name.startswith("_"))
generator_of = PlainGenerator
