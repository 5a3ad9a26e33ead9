"""A notice on stderr that kernels are being compiled.

It is one line, when the first kernel of a game is compiled in a process::

    roll_vec: compiling kernels for their first use on this machine: Sokoban, ...

A warm start compiles nothing and is silent.
"""

import contextlib
import sys

from numba.core.event import Listener

_PACKAGE = __name__.rpartition(".")[0] + "."
# Small kernels of all games: the notice is to name the game.
_COMMON = ("rng", "validation")


class CompileNotice(Listener):
    """Listens to numba, which compiles for one thread at a time."""

    def __init__(self):
        self._is_written = False

    def on_start(self, event):
        """Name the game of the first kernel that has one."""
        module = event.data["dispatcher"].py_func.__module__ or ""
        game = module.removeprefix(_PACKAGE).partition(".")[0]
        if self._is_written or not module.startswith(_PACKAGE) or game in _COMMON:
            return
        self._is_written = True
        first = "kernels for their first use on this machine"
        # Without a stderr, or with a closed one: a notice is no reason to fail.
        with contextlib.suppress(AttributeError, OSError, ValueError):
            name = game.title().replace("_", "")
            sys.stderr.write(f"roll_vec: compiling {first}: {name}, ...\n")
            sys.stderr.flush()

    def on_end(self, event):
        """Do nothing: numba calls it."""
