"""A generator of stacked ones as an object with the methods of numpy's `Generator`.

``generator_of(rng_states, i)`` is generator i of ``rng_states``, (6, n) uint64; see
`.pcg64`.  Its methods draw the same numbers as those of `numpy.random.Generator`
(numpy 2.4, ``distributions.c`` and ``_generator.pyx``) around the same PCG64, to the
bit.  They are called with numbers, and return one number::

    rng.random()                  rng.integers(high)          rng.integers(low, high)
    rng.uniform(low, high)        rng.normal(mean, deviation) rng.standard_normal()
    rng.shuffle(items)            rng.choice(number or items, p=probabilities)

``shuffle`` takes an array of one axis.  Arguments that numpy refuses are refused before
anything is drawn, by the functions ``check_...``, which both forms call.  With the JIT
off numpy draws, and ``put_generator`` writes the state back into the array: the classes
here.  Compiled code has `._compiled_generator`.
"""

import math
from collections.abc import Sequence

import numpy as np

from ..rows import Items

METHODS = (
    "choice",
    "integers",
    "normal",
    "random",
    "shuffle",
    "standard_normal",
    "uniform",
)

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


def check_range(low, high):
    """Check the bounds of an integer."""
    if low >= high:
        raise ValueError(BAD_INTEGERS)


def check_float_range(low, high):
    """Check bounds of an integer that may be floats: their fractions are cut."""
    least, limit = -9223372036854775808.0, 9223372036854775808.0
    is_small = least <= low < limit and least <= high < limit
    if not is_small or int(low) >= int(high):
        raise ValueError(BAD_INTEGERS)


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
    """Check the standard deviation of a float: numpy takes nan, and not -0.0."""
    if math.copysign(1.0, deviation) < 0 and not math.isnan(deviation):
        raise ValueError(BAD_NORMAL)


def generator_at(words: Sequence[int]) -> np.random.Generator:
    """Return a numpy generator at the position of a compiled PCG64 stream.

    Parameters
    ----------
    words : sequence of 6 int
        A column of `roll_vec.kernels.rng.pcg64`: state high and low, increment high and
        low, whether a 32-bit draw is left over, and that draw.
    """
    state_high, state_low, increment_high, increment_low, has_draw, draw = words
    bits = np.random.PCG64(0)
    bits.state = {
        "bit_generator": "PCG64",
        "state": {
            "state": state_high << 64 | state_low,
            "inc": increment_high << 64 | increment_low,
        },
        "has_uint32": has_draw,
        "uinteger": draw,
    }
    return np.random.Generator(bits)


def words_of(generator: np.random.Generator) -> list[int]:
    """Return the position of a numpy generator of PCG64 as `generator_at` takes it."""
    state = generator.bit_generator.state
    words = [
        number >> shift & (1 << 64) - 1
        for number in (state["state"]["state"], state["state"]["inc"])
        for shift in (64, 0)
    ]
    return [*words, state["has_uint32"], state["uinteger"]]


class PlainGenerator:
    """One of stacked generators in Python, around numpy's own.

    Parameters
    ----------
    rng_states : (6, n) uint64
    i : int
    """

    def __init__(self, rng_states, i):
        self._generator = generator_at(rng_states[:, i].tolist())

    def __getattr__(self, name):
        message = f"rng.{name}: expected one of {', '.join(METHODS)}"
        raise AttributeError(message)

    def random(self):
        """Return a float in [0, 1)."""
        return self._generator.random()

    def standard_normal(self):
        """Return a float of the standard normal distribution."""
        return self._generator.standard_normal()

    def normal(self, loc=0.0, scale=1.0):
        """Return a float of a normal distribution."""
        check_deviation(scale)
        return self._generator.normal(loc, scale)

    def uniform(self, low=0.0, high=1.0):
        """Return a float in [low, high)."""
        check_uniform(low, high)
        return self._generator.uniform(low, high)

    def integers(self, low, high=None):
        """Return an int in [low, high), or in [0, low)."""
        low, high = (0, low) if high is None else (low, high)
        has_floats = isinstance(low, float) or isinstance(high, float)
        (check_float_range if has_floats else check_range)(low, high)
        return int(self._generator.integers(low, high))

    def choice(self, a, p=None):
        """Return an int in [0, a), or an item of a."""
        is_number = isinstance(a, (int, np.integer))
        count = a if is_number else len(a)
        check_count(count)
        if p is None:
            index = self._generator.integers(count)
        else:
            p = p.array if isinstance(p, Items) else p
            is_short = getattr(p, "dtype", None) == np.float32
            check_probabilities(p, count, TOLERANCE_32 if is_short else TOLERANCE_64)
            index = self._generator.choice(count, p=p)
        return int(index) if is_number else a[int(index)]

    def shuffle(self, x):
        """Shuffle an array of one axis in place."""
        if not isinstance(x, Items) or x.ndim != 1 or not x.array.flags.writeable:
            raise TypeError(NOT_SHUFFLED)
        self._generator.shuffle(x.array)

    def put(self, rng_states, i):
        """Write the state back to generator i."""
        rng_states[:, i] = words_of(self._generator)


generator_of = PlainGenerator


def put_generator(rng, rng_states, i):
    """Write the state of a generator back to the array."""
    rng.put(rng_states, i)
