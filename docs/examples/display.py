"""What programs of this folder show: a progress bar and a learning curve; no torch."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any


class ProgressBar:
    """A bar on the screen; see `progress_bar`."""

    def __init__(self, bar: Any, task: Any) -> None:
        self._bar, self._task = bar, task

    def advance(self, count: float = 1) -> None:
        """Move the bar on by a part of its total."""
        self._bar.advance(self._task, count)

    def show(self, **values: float) -> None:
        """Show some values beside the bar, such as ``success=0.5``."""
        text = "  ".join(f"{name} {value:.3g}" for name, value in values.items())
        self._bar.update(self._task, values=text)


@contextmanager
def progress_bar(total: float, description: str) -> Iterator[ProgressBar]:
    """Draw a bar on stderr while the block runs; nothing if stderr is no terminal.

    Parameters
    ----------
    total : float
        The sum of all `ProgressBar.advance`.
    description : str
        The text in front of the bar.
    """
    from rich.console import Console
    from rich.progress import Progress, TextColumn

    console = Console(stderr=True)
    with Progress(
        *Progress.get_default_columns(),
        TextColumn("{task.fields[values]}"),
        console=console,
        disable=not console.is_terminal,
    ) as bar:
        yield ProgressBar(bar, bar.add_task(description, total=total, values=""))


class LearningCurve:
    """Values by environment step, and their picture.

    Attributes
    ----------
    points : list of dict
        Each has ``step`` and the values of one call of `add`.
    """

    def __init__(self) -> None:
        self.points: list[dict[str, float]] = []

    def add(self, step: int, **values: float) -> None:
        """Add values at a step; later points may have other names."""
        numbers = {name: float(value) for name, value in values.items()}
        self.points.append({"step": step, **numbers})

    def state_dict(self) -> dict[str, Any]:
        """Return the points, for a checkpoint."""
        return {"points": self.points}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Go back to the points of a checkpoint."""
        self.points = [dict(point) for point in state["points"]]

    def save_picture(
        self,
        path: str | os.PathLike[str],
        title: str = "",
        step_name: str = "environment steps",
    ) -> None:
        """Draw a plot for each name into a png; without points the plots are empty."""
        from matplotlib.backends.backend_agg import FigureCanvasAgg
        from matplotlib.figure import Figure

        names = list(dict.fromkeys(name for point in self.points for name in point))
        names = [name for name in names if name != "step"] or ["no values"]
        figure = Figure(figsize=(6.4, 1.0 + 1.6 * len(names)), layout="constrained")
        axes = figure.subplots(len(names), 1, sharex=True, squeeze=False)[:, 0]
        for axis, name in zip(axes, names, strict=True):
            points = [point for point in self.points if name in point]
            steps = [point["step"] for point in points]
            # A line needs two points; a single one is a dot.
            marker = "." if len(points) < 20 else ""
            values = [point[name] for point in points]
            axis.plot(steps, values, linewidth=1.2, marker=marker)
            axis.set_ylabel(name.replace("_", " "))
            axis.grid(alpha=0.3)
        axes[-1].set_xlabel(step_name)
        figure.suptitle(title)
        FigureCanvasAgg(figure).print_png(os.fspath(path))
