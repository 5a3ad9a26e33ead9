"""One of stacked generators in compiled code: the type of numba behind `.generator`."""

import numpy as np
from numba.core import cgutils, types
from numba.core.errors import TypingError
from numba.core.extending import (
    intrinsic,
    make_attribute_wrapper,
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
from . import generator
from .generator import (
    NOT_SHUFFLED,
    TOLERANCE_32,
    TOLERANCE_64,
    check_count,
    check_deviation,
    check_float_range,
    check_probabilities,
    check_range,
    check_uniform,
)
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
def generator_of(typing_context, rng_states, i):
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


make_attribute_wrapper(GeneratorType, "number", "_number")


# ------------------------------------------------------------------ the methods

_OPTIONS = {"_nrt": False, "nopython": True}
for _name in [name for name in dir(generator) if name.startswith("check_")]:
    register_jitable(getattr(generator, _name))


def _method(function):
    """Make a function that returns an implementation a method of generators."""
    name = function.__name__.removeprefix("_")
    return overload_method(GeneratorType, name, jit_options=_OPTIONS)(function)


@_method
def _random(rng):
    return lambda rng: pcg_random(_words(rng), rng._number)


@_method
def _standard_normal(rng):
    return lambda rng: pcg_normal(_words(rng), rng._number)


@_method
def _normal(rng, loc=0.0, scale=1.0):
    def draw(rng, loc=0.0, scale=1.0):
        check_deviation(scale)
        return loc + scale * pcg_normal(_words(rng), rng._number)

    return draw


@_method
def _uniform(rng, low=0.0, high=1.0):
    def draw(rng, low=0.0, high=1.0):
        check_uniform(low, high)
        return low + (high - low) * pcg_random(_words(rng), rng._number)

    return draw


def _is_none(kind):
    """Return whether an argument is None, by its type."""
    return kind is None or isinstance(kind, (types.NoneType, types.Omitted))


@_method
def _integers(rng, low, high=None):
    has_floats = isinstance(low, types.Float) or isinstance(high, types.Float)
    check = check_float_range if has_floats else check_range

    def draw(rng, low, high=None):
        check(0, low)
        return pcg_range(_words(rng), rng._number, 0, np.int64(low))

    def draw_between(rng, low, high=None):
        check(low, high)
        return pcg_range(_words(rng), rng._number, np.int64(low), np.int64(high))

    return draw if _is_none(high) else draw_between


@_method
def _shuffle(rng, x):
    if getattr(x, "ndim", 0) != 1 or not getattr(x, "is_writable", True):
        raise TypingError(NOT_SHUFFLED)

    def shuffle(rng, x):
        words, i = _words(rng), rng._number
        for last in range(len(x) - 1, 0, -1):
            j = pcg_interval(words, i, last)
            x[last], x[j] = x[j], x[last]

    return shuffle


@register_jitable
def _draw_index(rng, count):
    check_count(count)
    return pcg_range(_words(rng), rng._number, 0, count)


@register_jitable
def _draw_index_by(rng, count, p, tolerance):
    """Return an index by probabilities: as numpy's, by their cumulative sums."""
    check_count(count)
    check_probabilities(p, count, tolerance)
    total = 0.0
    for k in range(len(p)):
        total += p[k]
    uniform, cumulative = pcg_random(_words(rng), rng._number), 0.0
    for k in range(len(p)):
        cumulative += p[k]
        if cumulative / total > uniform:
            return k
    return len(p)


@_method
def _choice(rng, a, p=None):
    is_number = isinstance(a, types.Integer)
    if _is_none(p):
        if is_number:
            return lambda rng, a, p=None: _draw_index(rng, a)
        return lambda rng, a, p=None: a[_draw_index(rng, len(a))]
    is_short = getattr(p, "dtype", None) == types.float32
    tolerance = TOLERANCE_32 if is_short else TOLERANCE_64
    if is_number:
        return lambda rng, a, p=None: _draw_index_by(rng, a, p, tolerance)
    return lambda rng, a, p=None: a[_draw_index_by(rng, len(a), p, tolerance)]


@register_jitable
def put_generator(rng, rng_states, i):
    """Do nothing: a compiled generator draws in the array itself."""
