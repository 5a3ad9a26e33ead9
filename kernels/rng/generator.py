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
back into the array.
"""

import numpy as np
from numba.core import cgutils, config, types
from numba.core.extending import (
    intrinsic,
    models,
    overload_method,
    register_jitable,
    register_model,
)
from numba.np.random._constants import (
    fi_double,
    ki_double,
    wi_double,
    ziggurat_nor_inv_r,
    ziggurat_nor_r,
)

from .._jit import kernel
from ..rows import Items
from .pcg64 import (
    PCG_WORDS,
    _multiply_high,
    _pcg_next32,
    pcg_integers,
    pcg_next,
    pcg_random,
)

_U = np.uint64
_0, _1, _8, _255 = (_U(n) for n in (0, 1, 8, 255))
_MASK32, _MASK52 = _U((1 << 32) - 1), _U((1 << 52) - 1)
METHODS = (
    "choice",
    "integers",
    "normal",
    "random",
    "shuffle",
    "standard_normal",
    "uniform",
)


# ------------------------------------------------------------------ draws


@kernel
def pcg_range(rng_states, i, low, high):
    """Return the next int64 in [low, high), as `Generator.integers(low, high)`.

    Lemire's method: of 32-bit draws if ``high - low`` is at most 2**32, else of 64-bit
    draws.  A range of one number draws nothing.  ``low`` is less than ``high``.
    """
    most = _U(high - 1 - low)
    if most < _MASK32:
        return low + pcg_integers(rng_states, i, most + _1)
    if most == _MASK32:
        return low + np.int64(_pcg_next32(rng_states, i))
    count = most + _1
    word = pcg_next(rng_states, i)
    if count == _0:
        return low + np.int64(word)
    if word * count < count:
        threshold = (_U(0) - count) % count
        while word * count < threshold:
            word = pcg_next(rng_states, i)
    return low + np.int64(_multiply_high(word, count))


@kernel
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
        x = size * wi_double[strip]
        if is_negative:
            x = -x
        if size < ki_double[strip]:
            return x
        if strip == 0:
            while True:
                a = -ziggurat_nor_inv_r * np.log1p(-pcg_random(rng_states, i))
                b = -np.log1p(-pcg_random(rng_states, i))
                if b + b > a * a:
                    tail = ziggurat_nor_r + a
                    return -tail if (size >> _8) & _1 else tail
        above = fi_double[strip - 1] - fi_double[strip]
        height = above * pcg_random(rng_states, i) + fi_double[strip]
        if height < np.exp(-0.5 * x * x):
            return x


@kernel
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


# ------------------------------------------------------------------ the type


class GeneratorType(types.Type):
    """One of stacked generators: where their words are, how many, which."""

    def __init__(self):
        super().__init__("Generator")


_WORDS = types.Array(types.uint64, 2, "C")


@register_model(GeneratorType)
class _GeneratorModel(models.StructModel):
    def __init__(self, manager, generator):
        words = types.CPointer(types.uint64)
        members = [("words", words), ("count", types.intp), ("number", types.intp)]
        super().__init__(manager, generator, members)


@intrinsic
def _compiled_generator(typing_context, rng_states, i):
    generator = GeneratorType()

    def lower(context, builder, sig, args):
        array = context.make_array(sig.args[0])(context, builder, args[0])
        struct = cgutils.create_struct_proxy(generator)(context, builder)
        struct.words = array.data
        struct.count = cgutils.unpack_tuple(builder, array.shape, 2)[1]
        struct.number = context.cast(builder, args[1], sig.args[1], types.intp)
        return struct._getvalue()

    return generator(rng_states, i), lower


@intrinsic
def _words(typing_context, rng):
    """Return the array of all generators, which nobody counts references of."""

    def lower(context, builder, sig, args):
        from numba.np.arrayobj import populate_array

        struct = cgutils.create_struct_proxy(rng)(context, builder, args[0])
        array = context.make_array(_WORDS)(context, builder)
        rows = context.get_constant(types.intp, PCG_WORDS)
        size = context.get_constant(types.intp, 8)
        strides = [builder.mul(struct.count, size), size]
        populate_array(array, struct.words, [rows, struct.count], strides, size, None)
        return array._getvalue()

    return _WORDS(rng), lower


@intrinsic
def _number(typing_context, rng):
    def lower(context, builder, sig, args):
        return cgutils.create_struct_proxy(rng)(context, builder, args[0]).number

    return types.intp(rng), lower


# ------------------------------------------------------------------ the methods

_OPTIONS = {"_nrt": False, "nopython": True}


def _method(function):
    """Make a function that returns an implementation a method of generators."""
    name = function.__name__.removeprefix("_")
    return overload_method(GeneratorType, name, jit_options=_OPTIONS)(function)


@_method
def _random(rng):
    return lambda rng: pcg_random(_words(rng), _number(rng))


@_method
def _standard_normal(rng):
    return lambda rng: pcg_normal(_words(rng), _number(rng))


@_method
def _normal(rng, loc=0.0, scale=1.0):
    def draw(rng, loc=0.0, scale=1.0):
        return loc + scale * pcg_normal(_words(rng), _number(rng))

    return draw


@_method
def _uniform(rng, low=0.0, high=1.0):
    def draw(rng, low=0.0, high=1.0):
        return low + (high - low) * pcg_random(_words(rng), _number(rng))

    return draw


@_method
def _integers(rng, low, high=None):
    if high is None or isinstance(high, (types.NoneType, types.Omitted)):
        return lambda rng, low, high=None: pcg_range(
            _words(rng), _number(rng), 0, np.int64(low)
        )
    return lambda rng, low, high=None: pcg_range(
        _words(rng), _number(rng), np.int64(low), np.int64(high)
    )


@_method
def _shuffle(rng, items):
    if getattr(items, "ndim", 1) != 1:
        return None

    def shuffle(rng, items):
        words, i = _words(rng), _number(rng)
        for last in range(len(items) - 1, 0, -1):
            j = pcg_interval(words, i, last)
            items[last], items[j] = items[j], items[last]

    return shuffle


@register_jitable
def _choose(words, i, p):
    """Return an index by probabilities: as numpy's, by their cumulative sums."""
    total = 0.0
    for k in range(len(p)):
        total += p[k]
    uniform, cumulative = pcg_random(words, i), 0.0
    for k in range(len(p)):
        cumulative += p[k]
        if cumulative / total > uniform:
            return k
    return len(p)


@_method
def _choice(rng, a, p=None):
    without_p = p is None or isinstance(p, (types.NoneType, types.Omitted))
    if isinstance(a, types.Integer):
        if without_p:
            return lambda rng, a, p=None: pcg_range(_words(rng), _number(rng), 0, a)
        return lambda rng, a, p=None: _choose(_words(rng), _number(rng), p)
    if without_p:
        return lambda rng, a, p=None: a[pcg_range(_words(rng), _number(rng), 0, len(a))]
    return lambda rng, a, p=None: a[_choose(_words(rng), _number(rng), p)]


# ------------------------------------------------------------------ the JIT off


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


def _put_plain_generator(rng, rng_states, i):
    rng.put(rng_states, i)


@register_jitable
def _put_compiled_generator(rng, rng_states, i):
    """Do nothing: a compiled generator draws in the array itself."""


if config.DISABLE_JIT:
    generator_of, put_generator = PlainGenerator, _put_plain_generator
else:
    generator_of, put_generator = _compiled_generator, _put_compiled_generator
