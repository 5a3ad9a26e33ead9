"""The plot of the pages: rate against the number of environments."""

from __future__ import annotations

import re
import statistics
from collections.abc import Mapping
from pathlib import Path
from typing import Any


def draw(groups: Mapping[str, Mapping[str, Any]], path: Path) -> None:
    """Draw the groups of growth into an image, a panel for each game."""
    from matplotlib import colormaps
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    panels: dict[str, dict[str, list[list[float]]]] = {}
    for name, group in groups.items():
        if match := re.match("growth of (.*?),", name):
            for side, one in group.items():
                rates = [1 / seconds for seconds in one["stats"]["data"]]
                size = one["extra_info"]["size"]
                point = [size, statistics.median(rates), min(rates), max(rates)]
                panels.setdefault(match[1], {}).setdefault(side, []).append(point)
    if not panels:
        return
    figure = Figure(figsize=(6.2 * len(panels), 4.6), layout="constrained")
    FigureCanvasAgg(figure)
    # A side has the same colour in every panel.
    names = list(dict.fromkeys(side for sides in panels.values() for side in sides))
    subplots = figure.subplots(1, len(panels), squeeze=False)[0]
    for axes, (title, sides) in zip(subplots, panels.items(), strict=True):
        for side, points in sides.items():
            sizes, medians, least, greatest = zip(*sorted(points), strict=True)
            color = colormaps["tab10"](names.index(side))
            width = 2.5 if side == "roll_vec" else 1.2
            axes.plot(sizes, medians, "o-", label=side, color=color, linewidth=width)
            shade = {"color": color, "alpha": 0.15, "linewidth": 0}
            axes.fill_between(sizes, least, greatest, **shade)
        axes.set(xscale="log", yscale="log", title=title, xlabel="environments")
        axes.set_ylabel("environment steps a second")
        axes.grid(visible=True, which="major", alpha=0.3)
        axes.legend(fontsize="small")
    figure.savefig(path, dpi=120, metadata={"Software": None})
