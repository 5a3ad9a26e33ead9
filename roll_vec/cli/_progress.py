"""Progress bars of commands that take long."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, TypeAlias

from roll_vec.progress import Listener, listen

if TYPE_CHECKING:
    from rich.progress import Progress

__all__ = ["StepListener", "episode_bar", "progress_bars", "stepping_bar", "waiting"]

StepListener: TypeAlias = Callable[[int, int, float], None]
# A bar that is drawn more often takes more time than short episodes.
_SECONDS_BETWEEN_DRAWINGS = 0.1


@contextmanager
def progress_bars() -> Iterator[Listener]:
    """Show a bar for each task, if stderr is a terminal."""
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TaskID, TextColumn

    console = Console(stderr=True)
    bar = Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        TextColumn("{task.completed:,}/{task.total:,}"),
        console=console,
        transient=True,
        disable=not console.is_terminal,
    )
    tasks: dict[str, TaskID] = {}
    with bar:

        def update(task: str, completed: int, total: int) -> None:
            if task not in tasks:
                tasks[task] = bar.add_task(task, total=total)
            bar.update(tasks[task], completed=completed)

        yield update


@contextmanager
def waiting(text: str, quiet: bool) -> Iterator[None]:
    """Show a text on a terminal while the body runs, unless all is to be quiet."""
    if quiet:
        yield
        return
    from rich.console import Console

    console = Console(stderr=True)
    if not console.is_terminal:
        yield
        return
    with console.status(text):
        yield


@contextmanager
def stepping_bar(steps: int, quiet: bool) -> Iterator[StepListener | None]:
    """Show a progress bar of steps on a terminal while the body runs.

    Parameters
    ----------
    steps : int
        Of the whole batch.
    quiet : bool
        True: there is none.

    Yields
    ------
    callable or None
        To be called with the number of steps so far, that of steps of single
        environments, and their seconds; None: nothing is shown.
    """
    bar = None if quiet else _make_bar()
    if bar is None:
        yield None
        return
    with bar:
        task = bar.add_task("starting", total=steps, rate="", unit="steps")
        bar.refresh()
        is_stepping = False

        def show(num_steps: int, env_steps: int, seconds: float) -> None:
            nonlocal is_stepping
            is_stepping = True
            rate = f"{env_steps / seconds:,.0f} steps/s" if seconds > 0 else ""
            bar.update(
                task,
                description="stepping",
                completed=num_steps,
                total=steps,
                rate=rate,
                unit="steps",
            )
            bar.refresh()

        def show_long_call(unit: str, count: int, total: int) -> None:
            bar.update(task, description=f"drawing {unit}")
            if not is_stepping:
                bar.update(task, completed=count, total=total, unit=unit)
            bar.refresh()

        with listen(show_long_call):
            yield show


@contextmanager
def episode_bar(total: int, quiet: bool) -> Iterator[StepListener | None]:
    """Show a progress bar of episodes on a terminal while the body runs.

    Parameters
    ----------
    total : int
        Episodes.
    quiet : bool
        True: there is none.

    Yields
    ------
    callable or None
        To be called with the number of episodes that are done, the number of those that
        this run has played, and its seconds; None: nothing is shown.
    """
    bar = None if quiet else _make_bar()
    if bar is None:
        yield None
        return
    with bar:
        task = bar.add_task("evaluating", total=total, rate="", unit="episodes")
        bar.refresh()
        last_drawing = 0.0

        def show(num_done: int, num_played: int, seconds: float) -> None:
            nonlocal last_drawing
            if num_done < total and seconds - last_drawing < _SECONDS_BETWEEN_DRAWINGS:
                return
            last_drawing = seconds
            rate = f"{num_played / seconds:,.1f}/s" if num_played and seconds else ""
            bar.update(task, completed=num_done, rate=rate)
            bar.refresh()

        yield show


def _make_bar() -> Progress | None:
    """Return a bar whose tasks have a rate and a unit; None without a terminal."""
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

    console = Console(stderr=True)
    if not console.is_terminal:
        return None
    return Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        TextColumn("{task.completed:,}/{task.total:,} {task.fields[unit]}"),
        TextColumn("{task.fields[rate]}"),
        TimeRemainingColumn(),
        console=console,
        transient=True,
        # The loop refreshes it: a thread that redraws would take time from the steps.
        auto_refresh=False,
    )
