"""The picture of step times: the share of steps that take longer, by time."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

DPI = 110
# Contenders of the case, by panel; colours of Okabe and Ito.
PANELS = {
    "no policy": ("steps, in time", "steps, ahead"),
    "with a policy": ("turns, in time", "turns, ahead"),
}
STYLES = (("prefetch=False", "#D55E00"), ("prefetch=None", "#0072B2"))
QUANTILES = {"p50": 0.5, "p99": 0.99, "p99.9": 0.999, "max": 1.0}


def step_times(result: Mapping[str, Any], contender: str) -> NDArray[np.float64]:
    """Return the times of all steps of a contender in ms, sorted; maybe none."""
    records = result["cases"]["goals"]["contenders"]
    texts = [
        round["step_us"]
        for record in records
        if record["name"] == contender
        for round in record["details"]
    ]
    return np.sort(np.array(" ".join(texts).split(), np.float64)) / 1e3


def quantiles(times: NDArray[np.float64]) -> dict[str, float]:
    """Return the quantiles of `QUANTILES`: each is the time of a step."""
    return {
        name: float(np.quantile(times, level, method="inverted_cdf"))
        for name, level in QUANTILES.items()
    }


def draw(results: Sequence[Mapping[str, Any]], path: Path) -> None:
    """Draw the step times of some runs into an image."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure
    from matplotlib.ticker import FuncFormatter

    figure = Figure(figsize=(9.6, 4.4), layout="constrained", facecolor="white")
    FigureCanvasAgg(figure)
    panels = figure.subplots(1, len(PANELS), sharex=True, sharey=True)
    for axes, (title, contenders) in zip(panels, PANELS.items(), strict=True):
        for side, (contender, (label, color)) in enumerate(
            zip(contenders, STYLES, strict=True)
        ):
            for number, result in enumerate(results):
                times = step_times(result, contender)
                if len(times):
                    _draw_line(axes, times, color, "" if number else label, number)
                    if number == 0:
                        _mark(axes, times, color, above=side == 0)
        axes.set(xscale="log", yscale="log", title=title)
        axes.set_xlabel("time of a step, ms")
        axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
        axes.yaxis.set_major_formatter(
            FuncFormatter(lambda value, _: f"{100 * value:g} %")
        )
        axes.margins(x=0.2)
        axes.grid(visible=True, which="major", alpha=0.3)
        axes.legend(loc="lower left", fontsize="small")
    panels[0].set_ylabel("share of the steps that take longer")
    figure.savefig(path, dpi=DPI, metadata={"Software": None})


def _draw_line(
    axes: Any, times: NDArray[np.float64], color: str, label: str, number: int
) -> None:
    """Draw the share of steps that take longer than a time; runs differ in width."""
    # The slowest step: half of a step takes longer, as 0 has no logarithm.
    shares = 1 - (np.arange(len(times)) + 0.5) / len(times)
    axes.step(
        times,
        shares,
        where="post",
        color=color,
        label=label or None,
        linewidth=0.9 if number else 2,
        alpha=0.7 if number else 1,
    )


def _mark(axes: Any, times: NDArray[np.float64], color: str, above: bool) -> None:
    """Mark the quantiles of a line, with their names and times."""
    for name, time in quantiles(times).items():
        share = max(1 - QUANTILES[name], 0.5 / len(times))
        axes.plot([time], [share], "o", color=color, markersize=5)
        axes.annotate(
            f"{name} {time:.2g}" if time < 10 else f"{name} {time:.0f}",
            (time, share),
            xytext=(6, 5) if above else (-6, -5),
            textcoords="offset points",
            ha="left" if above else "right",
            va="bottom" if above else "top",
            fontsize="x-small",
            color=color,
        )
