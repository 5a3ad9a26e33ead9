"""The one decorator of this layer, and a word to the user while it compiles."""

import sys
import warnings

import numba
from numba.core import event

_PACKAGE = __name__.rpartition(".")[0]


class _CompileNotice(event.Listener):
    """Tell the user once, on stderr, that kernels are being compiled.

    Loading from the cache triggers no such event, so a warm start stays silent.
    """

    def __init__(self):
        self._told = False

    def on_start(self, event):
        if self._told:
            return
        module = event.data["dispatcher"].py_func.__module__
        if module is not None and module.startswith(_PACKAGE):
            self._told = True
            sys.stderr.write(
                "roll_vec: compiling kernels for their first use on this machine "
                "(up to 20 s, cached afterwards)\n"
            )
            sys.stderr.flush()

    def on_end(self, event):
        """Nothing to do: the notice is given at the start."""


event.register("numba:compile", _CompileNotice())

_warned = False


def kernel(function):
    """Compile ``function`` lazily, without the GIL, with an on-disk cache.

    Where the cache has no writable place (read-only install, no home) the kernel
    is compiled anew in each process, after one warning.

    Parameters
    ----------
    function : callable
        A function of arrays and scalars in numba's language.

    Returns
    -------
    numba.core.dispatcher.Dispatcher, or ``function`` itself with the JIT off
    """
    global _warned
    try:
        return numba.njit(cache=True, nogil=True)(function)
    except RuntimeError as error:  # numba: "no locator available for file ..."
        if "cannot cache" not in str(error):
            raise
        if not _warned:
            _warned = True
            warnings.warn(
                "roll_vec: no writable directory for numba's cache, so kernels are "
                "compiled in every process; set NUMBA_CACHE_DIR to a writable "
                "directory to avoid this",
                RuntimeWarning,
                stacklevel=2,
            )
        return numba.njit(nogil=True)(function)
