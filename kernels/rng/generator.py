"""A generator of stacked ones as an object with the methods of numpy's `Generator`.

``generator_of(rng_states, i)`` is generator i of ``rng_states``, (6, n) uint64; see
`.pcg64`.  Its methods draw the same numbers as those of `numpy.random.Generator`
(numpy 2.4, ``distributions.c`` and ``_generator.pyx``) around the same PCG64, to the
bit.  They are called with numbers, and return one number::

    rng.random()                  rng.integers(high)          rng.integers(low, high)
    rng.uniform(low, high)        rng.normal(mean, deviation) rng.standard_normal()
    rng.shuffle(items)            rng.choice(number or items, p=probabilities)

``shuffle`` takes an array of one axis.  ``choice`` does not check that probabilities
have the sum 1.  With the JIT off numpy draws, and ``put_generator`` writes the state
back into the array: the classes here.  Compiled code has `._compiled_generator`.
"""

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
        if name not in METHODS:
            message = f"rng.{name}: expected one of {', '.join(METHODS)}"
            raise AttributeError(message)
        method = getattr(self._generator, name)

        def draw(*args, **keywords):
            args = [_array_of(value) for value in args]
            keywords = {key: _array_of(value) for key, value in keywords.items()}
            number = method(*args, **keywords)
            return number.item() if isinstance(number, np.generic) else number

        return draw

    def put(self, rng_states, i):
        """Write the state back to generator i."""
        rng_states[:, i] = words_of(self._generator)


def _array_of(value):
    """Return the array of items of a row; other values as they are."""
    return value.array if isinstance(value, Items) else value


generator_of = PlainGenerator


def put_generator(rng, rng_states, i):
    """Write the state of a generator back to the array."""
    rng.put(rng_states, i)
