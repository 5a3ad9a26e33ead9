"""Progress bars of commands that take long."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from roll_vec.progress import Listener

__all__ = ["progress_bars"]


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
