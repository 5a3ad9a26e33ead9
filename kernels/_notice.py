"""A notice on stderr that kernels are being compiled.

A terminal shows a line while a kernel is compiled, which counts the functions of the
process so far.  How many there will be nobody knows before they are read::

    roll_vec: compiling Sokoban for its first use on this machine: 12, carve_floor

Elsewhere it is one line, when the first kernel of a game is compiled in a process::

    roll_vec: compiling kernels for their first use on this machine: Sokoban, ...

A warm start compiles nothing and is silent.
"""

import contextlib
import os
import shutil
import sys

from numba.core.event import Listener

_PACKAGE = __name__.rpartition(".")[0] + "."
# Small kernels of all games: the notice is to name the game.
_COMMON = ("rng", "validation", "masks")


class CompileNotice(Listener):
    """Listens to numba, which compiles for one thread at a time.

    Attributes
    ----------
    game : str
        The game that was made last; "": its kernels have its name.
    is_silent : bool
        Nothing is written.
    """

    def __init__(self):
        self.game, self.is_silent = "", False
        self._is_written, self._count, self._depth = False, 0, 0

    def on_start(self, event):
        """Show the function that is compiled, if it is one of ours."""
        self._depth += 1
        function = event.data["dispatcher"].py_func
        module = function.__module__ or ""
        if not module.startswith(_PACKAGE):
            return
        self._count += 1
        folder = module.removeprefix(_PACKAGE).partition(".")[0]
        game = self.game or folder.title().replace("_", "")
        if _is_terminal():
            # Of a rule its class as well, without the digest before it.
            names = function.__qualname__.rpartition("<locals>.")[2].split(".")
            name = ".".join(names[1:] if len(names) > 2 else names[:1])
            line = f"compiling {game} for its first use on this machine: "
            line = f"roll_vec: {line}{self._count}, {name}"
            self._write(f"\r\x1b[K{line[: shutil.get_terminal_size().columns - 1]}")
        elif not self._is_written and folder not in _COMMON:
            self._is_written = True
            first = "kernels for their first use on this machine"
            self._write(f"roll_vec: compiling {first}: {game}, ...\n")

    def on_end(self, event):  # noqa: ARG002
        """Remove the line of a terminal when the whole kernel is there."""
        self._depth -= 1
        if self._depth == 0 and _is_terminal():
            self._write("\r\x1b[K")

    def _write(self, text):
        # Without a stderr, or with a closed one: a notice is no reason to fail.
        with contextlib.suppress(AttributeError, OSError, ValueError):
            if not self.is_silent:
                sys.stderr.write(text)
                sys.stderr.flush()


def _is_terminal():
    with contextlib.suppress(AttributeError, OSError, ValueError):
        return sys.stderr.isatty() and os.environ.get("TERM") != "dumb"
    return False


NOTICE = CompileNotice()
