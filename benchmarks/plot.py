"""The plot of a result: throughput against batch size."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any


def draw(result: Mapping[str, Any], path: Path) -> None:
    """Draw the curves of a result into an image, a panel for each case."""
    from matplotlib import colormaps
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    panels = result["curves"]
    figure = Figure(figsize=(6.2 * len(panels), 4.6), layout="constrained")
    FigureCanvasAgg(figure)
    # An engine has the same colour in every panel; the dark ones of twenty come first.
    names = list(dict.fromkeys(name for engines in panels.values() for name in engines))
    subplots = figure.subplots(1, len(panels), squeeze=False)[0]
    for axes, (title, engines) in zip(subplots, panels.items(), strict=True):
        for engine, points in engines.items():
            sizes, medians, least, greatest = zip(*points, strict=True)
            number = names.index(engine)
            color = colormaps["tab20"](2 * number % 20 + number // 10 % 2)
            width = 2.5 if engine == "roll_vec" else 1.2
            axes.plot(sizes, medians, "o-", label=engine, color=color, linewidth=width)
            shade = {"color": color, "alpha": 0.15, "linewidth": 0}
            axes.fill_between(sizes, least, greatest, **shade)
        axes.set(xscale="log", yscale="log", title=title, xlabel="environments")
        axes.set_ylabel("environment steps a second")
        axes.grid(visible=True, which="major", alpha=0.3)
        axes.legend(fontsize="small")
    figure.savefig(path, dpi=120, metadata={"Software": None})
