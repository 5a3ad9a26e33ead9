"""A notice on stderr that kernels are being compiled.

A terminal shows a line while a kernel is compiled.  It counts the functions that the
process has compiled, and estimates from the source how many the kernel needs::

    roll_vec: compiling Sokoban for its first use: 12 of about 31, carve_floor

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
    num_kernels : int
        Kernels that this process has loaded or compiled.
    """

    def __init__(self):
        self.game, self.is_silent, self.num_kernels = "", False, 0
        self._is_written, self._count, self._depth, self._total = False, 0, 0, 0

    def on_start(self, event):
        """Show the function that is compiled, if it is one of ours."""
        function = event.data["dispatcher"].py_func
        if self._depth == 0:
            with contextlib.suppress(Exception):  # of a user's objects
                self._total = self._count + len(_functions_below(function))
        self._depth += 1
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
            counts = f"{self._count} of about {max(self._count, self._total)}"
            line = f"roll_vec: compiling {game} for its first use: {counts}, {name}"
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


def _functions_below(function):
    """Return a function and all that it calls, as far as the source names them."""
    functions, waiting = set(), [function]
    while waiting:
        function = waiting.pop()
        if not hasattr(function, "__code__") or function in functions:
            continue
        functions.add(function)
        values = [function.__globals__.get(name) for name in function.__code__.co_names]
        for cell in function.__closure__ or ():
            with contextlib.suppress(ValueError):  # an empty cell
                values.append(cell.cell_contents)
        for value in values:
            # Families keep rules in tuples.
            items = value if isinstance(value, tuple) else (value,)
            kernels = (getattr(item, "py_func", None) for item in items)
            waiting += [each for each in kernels if each is not None]
    return functions


def _is_terminal():
    with contextlib.suppress(AttributeError, OSError, ValueError):
        return sys.stderr.isatty() and os.environ.get("TERM") != "dumb"
    return False


NOTICE = CompileNotice()
