"""Plot throughput against batch size: ``python -m benchmarks.plot RESULT.json``."""

from __future__ import annotations

import argparse
import statistics
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from benchmarks.result import read_result

# Cases to plot, and the beginnings of the names of contenders with the same task.
PANELS = {
    "steps": ("lake ", "sync ", "async ", "envpool", "gymnax ", "gymnaxes "),
    "boxoban": ("",),
}
DPI = 120


def lines(case: Mapping[str, Any], prefixes: Sequence[str]) -> dict[str, Any]:
    """Return, by engine, tuples of batch size and median, least, greatest rate."""
    engines: dict[str, Any] = {}
    for record in case["contenders"]:
        if record["name"].startswith(tuple(prefixes)):
            values = record["values"]
            engines.setdefault(record["engine"], []).append(
                (
                    record["facts"]["batch"],
                    statistics.median(values),
                    min(values),
                    max(values),
                )
            )
    return {engine: sorted(points) for engine, points in engines.items()}


def _color(number: int) -> tuple[float, ...]:
    """Return one of twenty colours: the dark ones first."""
    from matplotlib import colormaps

    color: tuple[float, ...] = colormaps["tab20"](2 * number % 20 + number // 10 % 2)
    return color


def draw(result: Mapping[str, Any], path: Path) -> bool:
    """Draw the cases of `PANELS` into an image; return whether there was any."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    panels = [
        (case["title"], engines)
        for name, prefixes in PANELS.items()
        if (case := result["cases"].get(name)) and (engines := lines(case, prefixes))
    ]
    if not panels:
        return False
    figure = Figure(figsize=(6.2 * len(panels), 4.6), layout="constrained")
    FigureCanvasAgg(figure)
    # An engine has the same colour in every panel.
    names = list(dict.fromkeys(name for _, engines in panels for name in engines))
    for axes, (title, engines) in zip(
        figure.subplots(1, len(panels), squeeze=False)[0], panels, strict=True
    ):
        for engine, points in engines.items():
            sizes, medians, least, greatest = zip(*points, strict=True)
            is_ours = engine == "roll_vec"
            [line] = axes.plot(
                sizes,
                medians,
                "o-",
                label=engine,
                color=_color(names.index(engine)),
                linewidth=2.5 if is_ours else 1.2,
            )
            axes.fill_between(
                sizes, least, greatest, color=line.get_color(), alpha=0.15, linewidth=0
            )
        axes.set(xscale="log", yscale="log", title=title, xlabel="environments")
        axes.set_ylabel("environment steps a second")
        axes.grid(visible=True, which="major", alpha=0.3)
        axes.legend(fontsize="small")
    figure.savefig(path, dpi=DPI, metadata={"Software": None})
    return True


def main(arguments: Sequence[str] | None = None) -> None:
    """Draw the plot of a result beside it."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.plot",
        description="Draw the plot of a result of `python -m benchmarks`.",
    )
    parser.add_argument("result", type=Path, metavar="RESULT.json")
    path = parser.parse_args(arguments).result
    try:
        result = read_result(path)
    except ValueError as error:
        parser.error(str(error))
    if not draw(result, path.with_suffix(".png")):
        parser.error(f"{path}: expected one of the cases {', '.join(PANELS)}")
    print(f"plot: {path.with_suffix('.png')}")


if __name__ == "__main__":
    main()
