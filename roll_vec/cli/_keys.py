"""Keys that a person presses, one at a time, or the keys in the lines of a pipe."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TextIO

from roll_vec.cli._errors import ending_signals

UNKNOWN_KEY = "unknown"

_LETTERS = {
    "w": "up",
    "a": "left",
    "s": "down",
    "d": "right",
    "u": "undo",
    "n": "new",
    "r": "restart",
    "q": "quit",
    "t": "hint",
    "\x04": "quit",  # Ctrl-D
    "\x7f": "undo",  # backspace
    **{digit: digit for digit in "0123456789"},
}
_ARROWS = {"A": "up", "B": "down", "C": "right", "D": "left"}
# An escape sequence, which ends with a letter, or any other character but white space.
# A terminal sends an arrow as ESC [ A or ESC O A, by the mode that it is in; the
# digits are modifiers, such as Ctrl.
_KEY = re.compile(r"\x1b[\[O][0-9;]*(.?)|(\S)", re.DOTALL)


def decode_keys(text: str) -> list[str]:
    """Return the names of the keys in the text that a terminal sent.

    ``up down left right`` for arrows, the names of letters, or `UNKNOWN_KEY` for any
    other key; white space is left out.
    """
    return [
        _LETTERS.get(key[2].lower(), UNKNOWN_KEY)
        if key[2]
        else _ARROWS.get(key[1], UNKNOWN_KEY)
        for key in _KEY.finditer(text)
    ]


@contextmanager
def read_keys(stream: TextIO) -> Iterator[Iterator[list[str]]]:
    """Yield an iterator over batches of keys from `stream`, until it ends.

    From a terminal: keys as they are pressed, without echo. Its settings are restored
    when the block is left, in any way. From anything else: one batch a line.
    """
    if not stream.isatty():
        yield map(decode_keys, stream)
    elif sys.platform == "win32":
        yield _windows_keys()
    else:
        with _unbuffered_terminal(stream.fileno()):
            yield _terminal_keys(stream.fileno())


if sys.platform == "win32":
    import msvcrt

    _SCAN_CODES = {"H": "up", "P": "down", "K": "left", "M": "right"}

    def _windows_keys() -> Iterator[list[str]]:
        while True:
            character = msvcrt.getwch()
            if character == "\x03":
                raise KeyboardInterrupt
            if character in "\x00\xe0":
                yield [_SCAN_CODES.get(msvcrt.getwch(), UNKNOWN_KEY)]
            else:
                yield decode_keys(character)

else:
    import select
    import termios
    import tty

    # Over a slow line an escape sequence can arrive in two reads.
    _ESCAPE_SECONDS = 0.05

    def _terminal_keys(descriptor: int) -> Iterator[list[str]]:
        while True:
            data = os.read(descriptor, 1024)
            if not data:
                return
            while (
                data.endswith((b"\x1b", b"\x1b[", b"\x1bO"))
                and _is_ready(descriptor, _ESCAPE_SECONDS)
                and (more := os.read(descriptor, 1024))
            ):
                data += more
            yield decode_keys(data.decode(errors="replace"))

    def _is_ready(descriptor: int, seconds: float) -> bool:
        return bool(select.select([descriptor], [], [], seconds)[0])

    @contextmanager
    def _unbuffered_terminal(descriptor: int) -> Iterator[None]:
        settings = termios.tcgetattr(descriptor)
        try:
            with ending_signals():
                # Not raw mode: Ctrl-C and Ctrl-Z keep their meaning.  TCSADRAIN: keys
                # that were typed ahead are not thrown away.
                tty.setcbreak(descriptor, termios.TCSADRAIN)
                yield
        finally:
            termios.tcsetattr(descriptor, termios.TCSADRAIN, settings)
