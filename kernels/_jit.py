"""The decorator `kernel`, and the notice that kernels are being compiled."""

import sys

import numba
from numba.core import event

from ._cache import FOLDER, KernelCache

_PACKAGE = __name__.rpartition(".")[0]


class _CompileNotice(event.Listener):
    """Writes once to stderr that kernels are being compiled.

    Loading from the cache triggers no such event, so a warm start stays silent.
    """

    def __init__(self):
        self._is_silent = False

    def on_start(self, event):
        if self._is_silent:
            return
        module = event.data["dispatcher"].py_func.__module__
        if module is not None and module.startswith(_PACKAGE):
            self._is_silent = True
            place = "" if FOLDER.path is None else f", cached in {FOLDER.path}"
            sys.stderr.write(
                "roll_vec: compiling kernels for their first use on this machine "
                f"(up to 20 s{place})\n"
            )
            sys.stderr.flush()

    def on_end(self, event):
        """Do nothing: the notice is written at the start."""


event.register("numba:compile", _CompileNotice())


def kernel(function):
    """Compile ``function`` lazily, without the GIL, with an on-disk cache.

    Where the cache has no writable place (read-only home, full disk) the kernel is
    compiled anew in each process, after one warning.

    Parameters
    ----------
    function : callable
        A function of arrays and scalars in numba's language.

    Returns
    -------
    numba.core.dispatcher.Dispatcher, or ``function`` itself with the JIT off
    """
    dispatcher = numba.njit(nogil=True)(function)
    if dispatcher is not function:
        dispatcher._cache = KernelCache(  # type: ignore[attr-defined, unused-ignore]
            function, FOLDER
        )
    return dispatcher
