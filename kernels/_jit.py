"""The decorator `kernel`."""

import contextlib
import functools
import gc
import os
from collections.abc import Callable
from typing import Any, TypeVar

import numpy as np
from numba.core import config, event
from numba.core.compiler_lock import global_compiler_lock
from numba.core.registry import CPUDispatcher

from ._cache import FOLDER, KernelCache
from ._compiled_callees import Callee, RuleCallee
from ._compiler import CalleeCompiler, HashedFlags, KernelCompiler, PartCompiler
from ._notice import NOTICE
from .signals import signal_delay

_Call = TypeVar("_Call", bound=Callable[..., Any])

# False with NUMBA_DISABLE_JIT=1: kernels run as plain Python.
IS_COMPILED = not config.DISABLE_JIT  # type: ignore[attr-defined, unused-ignore]

event.register("numba:compile", NOTICE)

if hasattr(os, "register_at_fork"):
    # Another thread may compile or load a kernel.  A fork waits for it: in a child
    # numba's lock would be held for ever.
    os.register_at_fork(
        before=global_compiler_lock.acquire,
        after_in_parent=global_compiler_lock.release,
        after_in_child=global_compiler_lock.release,
    )

# No C function for callbacks is made, which nothing here needs: a tenth of the time of
# a compilation.  No references are counted; see `kernels`.
_OPTIONS = {"nopython": True, "nogil": True, "no_cfunc_wrapper": True, "_nrt": False}


@contextlib.contextmanager
def _no_collector():
    """Keep Python's collector of garbage off.

    It looks at all that a compilation makes time and again: 7 % of the time of a first
    reset and step of Sokoban.
    """
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()


class _Kernel(CPUDispatcher):
    """A kernel as Python calls it; other kernels call its ``callee``."""

    def __init__(self, py_func, locals=None, targetoptions=None):
        super().__init__(py_func, locals or {}, targetoptions, KernelCompiler)
        self._compiler._customize_flags = HashedFlags  # type: ignore[attr-defined]
        self._cache = KernelCache(py_func, FOLDER)
        # A closure is of one game; what allocates is not linked with numba's runtime.
        is_closure = "<locals>" in py_func.__qualname__
        is_shared = not (is_closure or self.targetoptions["_nrt"])
        self.callee = Callee(self, CalleeCompiler, is_shared)

    def _compile_for_args(self, *args, **kws):
        """Load or compile the kernel for a first call from Python.

        Signals wait: numba does not survive an exception within it.  They do not wait
        for another process that compiles the kernel.
        """
        sig = tuple(map(self.typeof_pyval, args))
        NOTICE.num_kernels += 1
        with self._cache.lock(sig, self.targetctx), signal_delay(), _no_collector():
            return super()._compile_for_args(*args, **kws)  # type: ignore[misc]

    @property
    def _numba_type_(self):
        """The type of this function in other kernels."""
        return self.callee._numba_type_


def kernel(function=None, *, allocates=False, inline=False, key=""):
    """Compile a function lazily, without the GIL, with an on-disk cache.

    Where the cache has no writable place (read-only home, full disk) the kernel is
    compiled anew in each process, after one warning.

    Parameters
    ----------
    function : callable
        A function of arrays and scalars in numba's language.
    allocates : bool
        The function makes arrays.
    inline : bool
        Copy the function into its callers before they are compiled.  LLVM then compiles
        a large function with one caller once, not twice: room generation takes 0.7 s
        less.  Small functions gain nothing.
    key : str
        Digest of what the function calls beside the kernels of this package: one
        function can be made into several kernels.  It is a part of their names:
        machine code of several processes may have symbols of one name, of which the
        first that is loaded serves all.

    Returns
    -------
    numba.core.dispatcher.Dispatcher, or ``function`` itself with the JIT off
    """
    if function is None:
        return lambda function: kernel(
            function, allocates=allocates, inline=inline, key=key
        )
    if not IS_COMPILED:
        return function
    if key:
        function.__qualname__ += f".{key}"
    options = {**_OPTIONS, "_nrt": allocates, "inline": "always" if inline else "never"}
    return _Kernel(function, targetoptions=options)


def allow_overflow(call: _Call) -> _Call:
    """Decorate a caller of kernels: as plain Python they warn of integers that wrap."""
    return call if IS_COMPILED else np.errstate(over="ignore")(call)


class _Function:
    """A function that kernels call; called from Python it runs as Python.

    Attributes
    ----------
    callee : _Callee
        The compiled form.
    """

    callee: Any

    def __init__(self, py_func):
        functools.update_wrapper(self, py_func)
        self.py_func, self.overloads = py_func, {}
        self.targetoptions = {**_OPTIONS, "inline": "never"}

    def __call__(self, *args, **keywords):
        """Run the function as Python."""
        return self.py_func(*args, **keywords)

    @property
    def _numba_type_(self):
        """The type of this function in kernels."""
        return self.callee._numba_type_


class Rule(_Function):
    """A function of users that kernels call.

    Parameters
    ----------
    py_func : callable

    Attributes
    ----------
    names : frozenset of str
        All names that it, and the rules that it calls, mention.  Rows that it gets have
        these variables and options alone, so that it has the same types in all classes
        that have these.
    digest : str
        Of all that its machine code depends on, beside types; "": it is not known, so
        rows have all variables, and its code is not stored.
    """

    names: frozenset[str] = frozenset()
    digest = ""

    @functools.cached_property
    def callee(self):
        """The compiled form."""
        return RuleCallee(self)


class _PlainKernel(_Function):
    compiler = CalleeCompiler

    @functools.cached_property
    def callee(self):
        """The compiled form."""
        return Callee(self, self.compiler, True)

    def __call__(self, *args):
        """Run the function as Python, also for arrays of numbers."""
        with np.errstate(over="ignore"):
            return self.py_func(*args)


def plain_kernel(function=None, *, is_part=False):
    """Return a function that kernels call, and that Python runs as Python.

    For functions that Python calls rarely: it does not wait until they are compiled.

    Parameters
    ----------
    function : callable
    is_part : bool
        It has machine code of its own, which kernels call, and is no part of theirs.
    """
    if function is None:
        return functools.partial(plain_kernel, is_part=is_part)
    if not IS_COMPILED:
        return function
    result = _PlainKernel(function)
    if is_part:
        result.compiler = PartCompiler
    return result
