"""Atomic instructions, calls by address and calls of the system, for compiled code.

They exist for `thread_team` alone, and in compiled code alone.  All atomic accesses
are sequentially consistent: each is a few nanoseconds, a handful a job.
"""

import platform
import sys
from typing import Any

from llvmlite import ir
from numba import types as _types
from numba.core import cgutils
from numba.extending import intrinsic as _intrinsic

from ._jit import kernel

_INT64 = ir.IntType(64)
_INT32 = ir.IntType(32)
_ORDER = "seq_cst"
# C: int32 (data, start, stop).  The result is not 0 where the kernel has failed.
_JOB = ir.FunctionType(_INT32, (_INT64, _INT64, _INT64))

# The number of the system call `futex` on Linux.
_FUTEX_NUMBERS = {"x86_64": 202, "aarch64": 98, "riscv64": 98, "ppc64le": 221}
_FUTEX_WAIT_PRIVATE, _FUTEX_WAKE_PRIVATE = 128, 129
# 0 where there is no such call: `futex_wait` and `futex_wake` then do nothing.
FUTEX_NUMBER = 0
if sys.platform == "linux" and sys.maxsize > 1 << 32:
    FUTEX_NUMBER = _FUTEX_NUMBERS.get(platform.machine(), 0)
_HAS_YIELD = sys.platform != "win32"

# Type checkers would see the arguments of the functions that generate code.
types: Any = _types
intrinsic: Any = _intrinsic

_syscall = types.ExternalFunction("syscall", types.int64(*[types.int64] * 7))
_sched_yield = types.ExternalFunction("sched_yield", types.int32())


@kernel
def futex_wait(address, value):
    """Sleep until `futex_wake`, unless the 32-bit word differs from ``value``.

    It may return at any time, as after a signal.
    """
    if FUTEX_NUMBER:
        word = value & 0xFFFFFFFF
        _syscall(FUTEX_NUMBER, address, _FUTEX_WAIT_PRIVATE, word, 0, 0, 0)


@kernel
def futex_wake(address, number):
    """Wake at most so many threads that sleep in `futex_wait` at an address."""
    if FUTEX_NUMBER:
        _syscall(FUTEX_NUMBER, address, _FUTEX_WAKE_PRIVATE, number, 0, 0, 0)


@kernel
def yield_core():
    """Let another thread that waits for this core run."""
    if _HAS_YIELD:
        _sched_yield()


def _on_item(result, array, num_operands, instruct):
    """Return the signature and the code of an instruction on an item of an array.

    ``instruct`` gets a builder, the pointer to the item, and the other operands, int64.
    """

    def generate(context, builder, signature, args):
        data = context.make_array(array)(context, builder, args[0]).data
        value = instruct(builder, builder.gep(data, [args[1]]), *args[2:])
        return context.get_dummy_value() if result == types.void else value

    return result(array, *[types.int64] * (1 + num_operands)), generate


@intrinsic
def atomic_load(typing_context, array, index):
    """Return an item of an int64 array."""

    def load(builder, item):
        return builder.load_atomic(item, _ORDER, 8)

    return _on_item(types.int64, array, 0, load)


@intrinsic
def atomic_store(typing_context, array, index, value):
    """Set an item of an int64 array."""

    def store(builder, item, value):
        return builder.store_atomic(value, item, _ORDER, 8)

    return _on_item(types.void, array, 1, store)


@intrinsic
def atomic_add(typing_context, array, index, value):
    """Add to an item of an int64 array and return the item before."""

    def add(builder, item, value):
        return builder.atomic_rmw("add", item, value, _ORDER)

    return _on_item(types.int64, array, 1, add)


@intrinsic
def compare_and_swap(typing_context, array, index, expected, value):
    """Set an item of an int64 array if it is as expected; return whether it was."""

    def swap(builder, item, *values):
        return builder.extract_value(builder.cmpxchg(item, *values, _ORDER, _ORDER), 1)

    return _on_item(types.boolean, array, 2, swap)


@intrinsic
def item_address(typing_context, array, index):
    """Return the address of an item of an int64 array, as int64."""
    return _on_item(types.int64, array, 0, lambda to, item: to.ptrtoint(item, _INT64))


@intrinsic
def pause(typing_context):
    """Wait for some cycles, within a loop that waits for another thread."""

    def generate(context, builder, signature, args):
        machine, void = platform.machine().lower(), ir.VoidType()
        if machine in ("x86_64", "amd64"):
            function = ir.FunctionType(void, [])
            name, arguments = "llvm.x86.sse2.pause", []
        elif machine in ("aarch64", "arm64"):
            function = ir.FunctionType(void, [_INT32])
            name, arguments = "llvm.aarch64.hint", [_INT32(1)]
        else:
            return context.get_dummy_value()
        callee = cgutils.get_or_insert_function(builder.module, function, name)
        builder.call(callee, arguments)
        return context.get_dummy_value()

    return types.void(), generate


@intrinsic
def job_address(typing_context, kernel, arguments):
    """Return the address of a function that calls a kernel on a range of rows.

    Parameters
    ----------
    kernel : Dispatcher
        Called as ``kernel(start, stop, *arguments)``; its result is not used.
    arguments : tuple

    Notes
    -----
    The function belongs to the module of its caller, which therefore can be stored: the
    code of the kernel is in it, and no address of this process.
    """
    rows = types.int64, types.int64
    kernel_signature = kernel.get_call_type(typing_context, (*rows, *arguments), {})

    def generate(context, builder, signature, args):
        compiled = kernel.dispatcher.overloads[tuple(kernel_signature.args)]
        context.active_code_library.add_linking_library(compiled.library)
        name = f"{builder.function.name}.job"
        job = cgutils.get_or_insert_function(builder.module, _JOB, name)
        job.linkage = "internal"
        inner = ir.IRBuilder(job.append_basic_block())
        data, start, stop = job.args
        pointer = context.get_value_type(arguments).as_pointer()
        values = inner.load(inner.inttoptr(data, pointer))
        items = cgutils.unpack_tuple(inner, values, len(arguments))
        status, _ = context.call_internal_no_propagate(
            inner, compiled.fndesc, kernel_signature, (start, stop, *items)
        )
        inner.ret(inner.zext(status.is_error, _INT32))
        return builder.ptrtoint(job, _INT64)

    return types.int64(kernel, arguments), generate


@intrinsic
def stack_address(typing_context, arguments):
    """Return the address of a copy of a tuple, which lives as long as the caller."""

    def generate(context, builder, signature, args):
        copy = cgutils.alloca_once_value(builder, args[0])
        return builder.ptrtoint(copy, _INT64)

    return types.int64(arguments), generate


@intrinsic
def call_job(typing_context, address, data, start, stop):
    """Call a function of `job_address`; return 0, or another number if it failed."""

    def generate(context, builder, signature, args):
        job = builder.inttoptr(args[0], _JOB.as_pointer())
        return builder.call(job, args[1:])

    return types.int32(*[types.int64] * 4), generate
