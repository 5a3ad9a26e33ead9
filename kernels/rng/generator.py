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


class PlainGenerator:
    """One of stacked generators in Python, around numpy's own.

    Parameters
    ----------
    rng_states : (6, n) uint64
    i : int
    """

    def __init__(self, rng_states, i):
        words = rng_states[:, i].tolist()
        high, low, increment_high, increment_low, has_half, half = words
        bit_generator = np.random.PCG64(0)
        bit_generator.state = {
            "bit_generator": "PCG64",
            "state": {
                "state": high << 64 | low,
                "inc": increment_high << 64 | increment_low,
            },
            "has_uint32": has_half,
            "uinteger": half,
        }
        self._generator = np.random.Generator(bit_generator)

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
        values = self._generator.bit_generator.state
        words, most = values["state"], (1 << 64) - 1
        rng_states[:, i] = (
            words["state"] >> 64,
            words["state"] & most,
            words["inc"] >> 64,
            words["inc"] & most,
            values["has_uint32"],
            values["uinteger"],
        )


def _array_of(value):
    """Return the array of items of a row; other values as they are."""
    return value.array if isinstance(value, Items) else value


generator_of = PlainGenerator


def put_generator(rng, rng_states, i):
    """Write the state of a generator back to the array."""
    rng.put(rng_states, i)
