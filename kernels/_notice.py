"""A notice on stderr that kernels are being compiled.

It has a line when the first kernel of a game is compiled, and one at the end of the
process with how many there were and where they are cached::

    roll_vec: compiling kernels for their first use on this machine: Sokoban, ...

A warm start compiles nothing and is silent.
"""

import atexit
import contextlib
import os
import sys
import time

from numba.core.event import Listener

_PACKAGE = __name__.rpartition(".")[0] + "."
# Small kernels of all games: the notice is to name the game.
_COMMON = ("rng", "validation")


class CompileNotice(Listener):
    """Listens to numba, which compiles for one thread at a time.

    Parameters
    ----------
    folder : CacheFolder
    """

    def __init__(self, folder):
        self._folder, self._count, self._seconds, self._game = folder, 0, 0.0, ""
        # When the kernels under way began, each called by the one before.
        self._begins = []

    def on_start(self, event):
        """Count the kernel, and name its game if it is the first one."""
        module = event.data["dispatcher"].py_func.__module__ or ""
        if module.startswith(_PACKAGE):
            if self._count == 0:
                atexit.register(self.write_sum, os.getpid())
            self._count += 1
            game = module.removeprefix(_PACKAGE).partition(".")[0]
            if not self._game and game not in _COMMON:
                self._game = game.title().replace("_", "")
                first = "kernels for their first use on this machine"
                _write(f"roll_vec: compiling {first}: {self._game}, ...\n")
        if self._begins or module.startswith(_PACKAGE):
            self._begins.append(time.perf_counter())

    def on_end(self, event):  # noqa: ARG002
        """Add the time of a kernel that Python calls."""
        begin = self._begins.pop() if self._begins else None
        if begin is not None and not self._begins:
            self._seconds += time.perf_counter() - begin

    def write_sum(self, process):
        """Write how many kernels were compiled; not in a fork of the process."""
        if process == os.getpid():
            path = self._folder.path
            place = "not cached" if path is None else f"cached in {path}"
            kernels = f"{self._count} kernel{'s' * (self._count > 1)}"
            _write(f"roll_vec: compiled {kernels} in {self._seconds:.1f} s, {place}\n")


def _write(text):
    """Write to stderr, if there is one: a notice is no reason to fail."""
    with contextlib.suppress(AttributeError, OSError, ValueError):
        sys.stderr.write(text)
        sys.stderr.flush()
