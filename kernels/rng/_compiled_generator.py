"""One of stacked generators in compiled code: the type of numba behind `.generator`."""

import inspect

from numba.core import cgutils, types
from numba.core.errors import TypingError
from numba.core.extending import (
    intrinsic,
    make_attribute_wrapper,
    models,
    overload,
    overload_method,
    register_jitable,
    register_model,
)
from numba.core.imputils import lower_getattr
from numba.core.typing.templates import AttributeTemplate, infer_getattr
from numba.np.arrayobj import populate_array

from .._compiler import CalleeCompiler
from . import generator
from .pcg64 import PCG_WORDS

_WORDS = types.Array(types.uint64, 2, "C")
_OPTIONS = {"_nrt": False, "nopython": True, "pipeline_class": CalleeCompiler}


# ------------------------------------------------------------------ the type


class GeneratorType(types.Type):
    """One of stacked generators: where their words are, how many, which."""

    def __init__(self):
        super().__init__("Generator")


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


@infer_getattr
class _GeneratorAttributes(AttributeTemplate):
    key = GeneratorType

    def resolve__words(self, _rng):
        """Return the type of the array of all generators."""
        return _WORDS


@lower_getattr(GeneratorType, "_words")
def _get_words(context, builder, rng, value):
    """Return the array of all generators, which nobody counts references of."""
    struct = cgutils.create_struct_proxy(rng)(context, builder, value)
    array = context.make_array(_WORDS)(context, builder)
    rows = context.get_constant(types.intp, PCG_WORDS)
    size = context.get_constant(types.intp, 8)
    strides = [builder.mul(struct.count, size), size]
    populate_array(array, struct.words, [rows, struct.count], strides, size, None)
    return array._getvalue()


make_attribute_wrapper(GeneratorType, "number", "_number")


# ------------------------------------------------------------------ arguments


@overload(generator.count_of)
def _count_of(a):
    is_number = isinstance(a, types.Integer)
    return (lambda a: a) if is_number else (lambda a: len(a))


@overload(generator.thing_of)
def _thing_of(a, index):
    is_number = isinstance(a, types.Integer)
    return (lambda a, index: index) if is_number else (lambda a, index: a[index])


@overload(generator.tolerance_of)
def _tolerance_of(p):
    is_short = getattr(p, "dtype", None) == types.float32
    tolerance = generator.TOLERANCE_32 if is_short else generator.TOLERANCE_64
    return lambda p: tolerance


@overload(generator.check_shuffled)
def _check_shuffled(x):
    if getattr(x, "ndim", 0) != 1 or not getattr(x, "is_writable", True):
        raise TypingError(generator.NOT_SHUFFLED)
    return lambda x: None


for _name in ("count", "probabilities", "uniform", "deviation"):
    register_jitable(getattr(generator, f"check_{_name}"))


# ------------------------------------------------------------------ the methods


def _compile_method(name):
    """Give the type a method of `PlainGenerator`."""
    method = getattr(generator.PlainGenerator, name)

    def implementation(*_args, **_keywords):
        return method

    implementation.__signature__ = inspect.signature(method)
    overload_method(GeneratorType, name, jit_options=_OPTIONS)(implementation)


for _name in generator.METHODS:
    _compile_method(_name)
