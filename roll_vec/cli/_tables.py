"""Output of commands: tables in columns, and a line of progress."""

from __future__ import annotations

import os
import shutil
import sys
import textwrap
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from time import monotonic
from typing import TextIO, TypeAlias

from roll_vec.progress import listen

# ``show(unit, count, total, rate="")``; total None: unknown.
Show: TypeAlias = Callable[..., None]

# Longest line of text, however wide the screen is.
_MAX_WIDTH = 88
# A long text in a narrower column stands below its row, with this indent.
_MIN_COLUMN = 30
_INDENT = 4
# A line that is drawn more often takes more time than short episodes.
_SECONDS_BETWEEN_DRAWINGS = 0.1
# Work within other work has no line of progress until it takes so long.
_SHORT_SECONDS = 0.5


def text_width() -> int:
    """Return the number of columns for lines of text."""
    # Python 3.10 returns 0 if a terminal does not know its size.
    return min(shutil.get_terminal_size().columns or _MAX_WIDTH, _MAX_WIDTH)


def is_screen(out: TextIO) -> bool:
    """Return whether the stream understands escape sequences."""
    return out.isatty() and os.environ.get("TERM") != "dumb"


def wants_colour(out: TextIO) -> bool:
    """Return whether colours can be shown and are not turned off."""
    return is_screen(out) and not os.environ.get("NO_COLOR")


def count(number: int, noun: str, nouns: str = "") -> str:
    """Return a number and its noun, such as ``1 row`` or ``2,000 rows``."""
    return f"{number:,} {noun if number == 1 else nouns or f'{noun}s'}"


def print_table(
    rows: Sequence[Sequence[str]],
    form: str = "<",
    title: str = "",
    notes: Iterable[str] = (),
) -> None:
    """Print rows of texts on stdout, in columns two spaces apart.

    Parameters
    ----------
    rows : sequence of rows
        Of equal lengths.  On a terminal a long text of the last column is folded to
        fit the width, or stands below its row where that leaves no room for it.
    form : str
        A letter for each column but the last: ``<`` or ``>``, its alignment.
    title : str
        A line above the rows, which are then indented.
    notes : iterable of str
        Lines below the rows.
    """
    margin = "  " if title else ""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    indent = len(margin) + sum(widths[:-1]) + 2 * len(form)
    room = text_width() - indent
    lines = [title] if title else []
    for *cells, text in rows:
        pairs = zip(cells, form, widths, strict=False)
        line = margin + "".join(f"{cell:{side}{size}}  " for cell, side, size in pairs)
        if not sys.stdout.isatty() or len(text) <= room:
            lines.append(line + text)
        elif room >= _MIN_COLUMN:
            first, *others = textwrap.wrap(text, room)
            lines += [line + first, *(" " * indent + other for other in others)]
        else:
            below = " " * (len(margin) + _INDENT)
            parts = textwrap.wrap(text, max(text_width() - 6, 1))
            lines += [line, *(below + part for part in parts)]
    sys.stdout.write("".join(f"{line.rstrip()}\n" for line in [*lines, *notes]))


@contextmanager
def progress(quiet: bool = False) -> Iterator[Show | None]:
    """Show a line of progress on stderr, if that is a terminal, until the body ends.

    Long calls of this package, such as those that draw rooms, report theirs as well.

    Parameters
    ----------
    quiet : bool
        True: there is none, and no notice of kernels that are compiled.

    Yields
    ------
    Show or None
        None: nothing is shown.
    """
    if quiet:
        from roll_vec.kernels._notice import NOTICE

        was_silent, NOTICE.is_silent = NOTICE.is_silent, True
        try:
            yield None
        finally:
            NOTICE.is_silent = was_silent
        return
    if not is_screen(sys.stderr):
        yield None
        return
    starts: dict[str, tuple[float, int]] = {}
    due, longest = 0.0, ""

    def show(unit: str, number: int, total: int | None, rate: str = "") -> None:
        nonlocal due, longest
        now = monotonic()
        start, before = starts.pop(unit, (now, 0))
        if before == 0 or number < before:  # other work in the same unit has begun
            start = now
        is_last = number == total
        if not is_last:
            starts[unit] = start, number
        longest = longest or unit
        is_short = unit != longest and now - start < _SHORT_SECONDS
        is_end = is_last and unit == longest
        if is_end:
            longest = ""
        if is_short or (now < due and not is_end):
            return
        due = now + _SECONDS_BETWEEN_DRAWINGS
        seconds = now - start
        words = [f"{number:,} {unit}"]
        if total is not None:
            words = [f"{number:,}/{total:,} {unit}", f"{number / max(total, 1):.0%}"]
            if 0 < number < total and seconds > 0:
                words.append(f"{seconds / number * (total - number):,.0f} s left")
        line = ", ".join(filter(None, [*words, rate]))
        sys.stderr.write(f"\r\x1b[K{line[: text_width() - 1]}")
        sys.stderr.flush()

    try:
        with listen(show):
            yield show
    finally:
        sys.stderr.write("\r\x1b[K")
        sys.stderr.flush()


def steps_listener(
    show: Show | None, total: int
) -> Callable[[int, int, float], None] | None:
    """Return a listener of `roll_out` and `replay` that shows the steps."""
    if show is None:
        return None

    def on_progress(num_steps: int, env_steps: int, seconds: float) -> None:
        rate = f"{env_steps / seconds:,.0f} steps/s" if seconds > 0 else ""
        show("steps", num_steps, total, rate)

    return on_progress
