"""A notice on stderr that kernels are being compiled.

A terminal has one line, which is written anew for each kernel, and goes when there is
nothing to compile::

    roll_vec: compiling Sokoban, generate rooms (kernel 12, 2.1 s)

A log, a notebook or a terminal with a progress bar has one such line, when the first
kernel of a game is compiled.  At its end a process writes how many kernels it has
compiled, and where they are cached.  A warm start compiles nothing and is silent.
"""

import atexit
import contextlib
import os
import sys
import time

from numba.core.event import Listener

_PACKAGE = __name__.rpartition(".")[0] + "."
# Small kernels of all games: a log is to name the game.
_COMMON = ("rng.", "validation.")


def title(function):
    """Return the name of a kernel for users: ``Sokoban, generate rooms``."""
    group = function.__module__.removeprefix(_PACKAGE).partition(".")[0]
    group = group.title().replace("_", "")
    return f"{group}, {function.__name__.strip('_').replace('_', ' ')}"


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
        self._title, self._begin, self._seconds = "", 0.0, 0.0
        self._has_begun = False
        self._line = ""

    def on_start(self, event):
        """Name the kernel that Python calls; the kernels in it are counted alone."""
        function = event.data["dispatcher"].py_func
        module = function.__module__ or ""
        if not module.startswith(_PACKAGE):
            self._depth += self._depth > 0
            return
        if self._depth == 0:
            self._title, self._begin = title(function), self._clock()
        if self._count == 0:
            atexit.register(self.write_sum, os.getpid())
        self._depth += 1
        self._count += 1
        if _is_terminal():
            seconds = self._seconds + self._clock() - self._begin
            count = f"kernel {self._count}, {seconds:.1f} s"
            self._rewrite(f"roll_vec: compiling {self._title} ({count})")
        elif not self._has_begun and not module.startswith(_COMMON, len(_PACKAGE)):
            self._has_begun = True
            first = "kernels for their first use on this machine"
            _write(f"roll_vec: compiling {first}: {self._title}, ...\n")

    def on_end(self, event):  # noqa: ARG002
        """Clear the line when the kernel that Python calls is compiled."""
        if self._depth == 0:
            return
        self._depth -= 1
        if self._depth == 0:
            self._seconds += self._clock() - self._begin
            self._rewrite("")

    def write_sum(self, process):
        """Write how many kernels were compiled; not in a fork of the process."""
        if process == os.getpid():
            path = self._folder.path
            place = "not cached" if path is None else f"cached in {path}"
            kernels = f"{self._count} kernel{'s' * (self._count > 1)}"
            _write(f"roll_vec: compiled {kernels} in {self._seconds:.1f} s, {place}\n")

    def _rewrite(self, line):
        """Write a line of the terminal in the place of the one before."""
        if line or self._line:
            blanks = " " * len(self._line)
            _write(f"\r{blanks}\r{line}" if self._line else line)
        self._line = line


def _is_terminal():
    """Return whether stderr can write a line anew."""
    stream = sys.stderr
    # A progress bar of rich takes stderr's place, and writes each line above the bar.
    is_replaced = stream is not sys.__stderr__
    if stream is None or is_replaced:
        return False
    with contextlib.suppress(ValueError):  # closed
        return stream.isatty() and os.environ.get("TERM") != "dumb"
    return False


def _write(text):
    """Write to stderr, if there is one: a notice is no reason to fail."""
    with contextlib.suppress(AttributeError, OSError, ValueError):
        sys.stderr.write(text)
        sys.stderr.flush()
