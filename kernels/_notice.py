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
_COMMON = ("rng.", "validation.")


class CompileNotice(Listener):
    """Listens to numba, which compiles for one thread at a time.

    Parameters
    ----------
    folder : CacheFolder
    clock : callable
        Returns seconds.
    """

    def __init__(self, folder, clock=time.perf_counter):
        self._folder, self._clock = folder, clock
        # Kernels under way, each called by the one before; all kernels so far.
        self._depth, self._count = 0, 0
        self._begin, self._seconds = 0.0, 0.0
        self._has_begun = False

    def on_start(self, event):
        """Count the kernel, and name its game if it is the first one."""
        module = event.data["dispatcher"].py_func.__module__ or ""
        if not module.startswith(_PACKAGE):
            self._depth += self._depth > 0
            return
        if self._count == 0:
            atexit.register(self.write_sum, os.getpid())
        if self._depth == 0:
            self._begin = self._clock()
        self._depth += 1
        self._count += 1
        module = module.removeprefix(_PACKAGE)
        if not self._has_begun and not module.startswith(_COMMON):
            self._has_begun = True
            game = module.partition(".")[0].title().replace("_", "")
            first = "kernels for their first use on this machine"
            _write(f"roll_vec: compiling {first}: {game}, ...\n")

    def on_end(self, event):  # noqa: ARG002
        """Add the time of a kernel that Python calls."""
        if self._depth > 0:
            self._depth -= 1
            if self._depth == 0:
                self._seconds += self._clock() - self._begin

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
