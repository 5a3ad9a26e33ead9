"""Output of commands: tables, columns of text and progress bars, each in one way."""

from __future__ import annotations

import os
import shutil
import textwrap
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from time import monotonic
from typing import Any, TextIO, TypeAlias

from roll_vec.progress import listen

# ``show(unit, count, total, rate="")``; total None: unknown.
Show: TypeAlias = Callable[..., None]

# Longest line of text, however wide the screen is.
_MAX_WIDTH = 88
_USUAL_HEIGHT = 24
# A narrower column of text stands below its row, with this indent.
_MIN_COLUMN = 30
_INDENT = 4
# A bar that is drawn more often takes more time than short episodes.
_SECONDS_BETWEEN_DRAWINGS = 0.1


def text_width() -> int:
    """Return the number of columns for lines of text."""
    # Here and below: Python 3.10 returns 0 if a terminal does not know its size.
    return min(shutil.get_terminal_size().columns or _MAX_WIDTH, _MAX_WIDTH)


def screen_height() -> int:
    """Return the number of lines of the screen."""
    return shutil.get_terminal_size().lines or _USUAL_HEIGHT


def is_screen(out: TextIO) -> bool:
    """Return whether the stream understands escape sequences."""
    return out.isatty() and os.environ.get("TERM") != "dumb"


def wants_colour(out: TextIO) -> bool:
    """Return whether colours can be shown and are not turned off."""
    return is_screen(out) and not os.environ.get("NO_COLOR")


def count(number: int, noun: str, nouns: str = "") -> str:
    """Return a number and its noun, such as ``1 row`` or ``2,000 rows``."""
    return f"{number:,} {noun if number == 1 else nouns or f'{noun}s'}"


def format_rows(rows: Sequence[Sequence[str]], form: str, out: TextIO) -> str:
    """Return rows of texts as lines in columns, two spaces apart; without rich.

    Parameters
    ----------
    rows : sequence of rows
        Of equal lengths.
    form : str
        A letter for each column but the last: ``<`` or ``>``, its alignment.
    out : stream
        On a terminal the last column is folded, or below the others, to fit its width.
    """
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    indent = sum(widths[:-1]) + 2 * len(form)
    width = text_width()
    is_below = out.isatty() and width - indent < _MIN_COLUMN
    if is_below:
        indent = _INDENT
    lines = []
    for *cells, text in rows:
        pairs = zip(cells, form, widths, strict=False)
        head = "".join(f"{cell:{side}{size}}  " for cell, side, size in pairs)
        folds = textwrap.wrap(text, width - indent) if out.isatty() else [text]
        first = "" if is_below or not folds else folds.pop(0)
        lines += [head + first, *(" " * indent + line for line in folds)]
    return "".join(f"{line.rstrip()}\n" for line in lines)


def print_table(
    title: str, rows: Iterable[tuple[str, str]], notes: Iterable[str] = ()
) -> None:
    """Print a table of names and values on stdout, and notes below; needs rich."""
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    console = Console()
    table = Table(title=title, show_header=False)
    table.add_column(style="bold", no_wrap=True)
    table.add_column(justify="right", overflow="fold")
    for name, value in rows:
        # Text: brackets in a message must not be read as markup.
        table.add_row(name, Text(value))
    console.print(table)
    for note in notes:
        console.print(note, markup=False, highlight=False, soft_wrap=True)


@contextmanager
def progress(quiet: bool = False) -> Iterator[Show | None]:
    """Show a bar on a terminal for each unit of work, until the body ends.

    Long calls of this package, such as those that draw rooms, report theirs as well.

    Parameters
    ----------
    quiet : bool
        True: there is none.

    Yields
    ------
    Show or None
        None: nothing is shown.
    """
    if quiet:
        yield None
        return
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

    console = Console(stderr=True)
    if not console.is_terminal:
        yield None
        return
    bars = Progress(
        BarColumn(),
        TextColumn("{task.description}"),
        TextColumn("{task.fields[rate]}"),
        TimeRemainingColumn(),
        console=console,
        transient=True,
        # The work refreshes it: a thread that redraws would take time from the steps.
        auto_refresh=False,
    )
    tasks: dict[str, Any] = {}
    due = 0.0

    def show(unit: str, number: int, total: int | None, rate: str = "") -> None:
        nonlocal due
        is_new = unit not in tasks
        if not is_new and number != total and monotonic() < due:
            return
        due = monotonic() + _SECONDS_BETWEEN_DRAWINGS
        of = "" if total is None else f"/{total:,}"
        text = f"{number:,}{of} {unit}"
        if is_new:
            tasks[unit] = bars.add_task(text, total=total, rate=rate)
        task = tasks[unit]
        bars.update(task, completed=number, total=total, description=text, rate=rate)
        bars.refresh()

    with bars, listen(show):
        yield show


def steps_listener(
    show: Show | None, total: int
) -> Callable[[int, int, float], None] | None:
    """Return a listener of `roll_out` and `replay` that moves a bar of steps."""
    if show is None:
        return None

    def on_progress(num_steps: int, env_steps: int, seconds: float) -> None:
        rate = f"{env_steps / seconds:,.0f} steps/s" if seconds > 0 else ""
        show("steps", num_steps, total, rate)

    return on_progress
