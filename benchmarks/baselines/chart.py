"""The picture docs/baselines.png: success by split and policy."""

from __future__ import annotations

from pathlib import Path

from benchmarks.baselines.results import key_of
from benchmarks.baselines.tables import content

# Colours and markers differ: they are told apart without colour, too (Okabe and Ito).
_STYLES = (("#999999", "o"), ("#E69F00", "s"), ("#0072B2", "D"), ("#D55E00", "^"))


def draw(path: Path) -> None:
    """Draw the success rates into a png."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    rows = {key_of(row): row for row in content()["rows"]}
    splits = content()["splits"]
    figure = Figure(figsize=(7.6, 1.0 + 0.36 * len(splits)), layout="constrained")
    canvas = FigureCanvasAgg(figure)
    axes = figure.subplots()
    for policy, (color, marker) in zip(content()["policies"], _STYLES, strict=True):
        points = [
            (place, [100 * value for value in rows[key]["success"]])
            for place, split in enumerate(splits)
            if (key := (split["id"], split["name"], policy)) in rows
        ]
        rates = [rate for _, (rate, _, _) in points]
        below = [rate - low for _, (rate, low, _) in points]
        above = [high - rate for _, (rate, _, high) in points]
        places = [place for place, _ in points]
        style = {"fmt": marker, "color": color, "markersize": 5, "capsize": 2}
        axes.errorbar(rates, places, xerr=[below, above], label=policy, **style)
    labels = [f"{s['id'].split('/')[1]}  {s['name']}" for s in splits]
    axes.set_yticks(range(len(splits)), labels, fontsize="small")
    axes.invert_yaxis()
    axes.set_xlim(-2, 102)
    axes.set_xlabel("success in %, with 95 % intervals")
    axes.grid(alpha=0.3)
    axes.legend(loc="upper center", bbox_to_anchor=(0.4, 1.09), ncols=4, frameon=False)
    figure.set_dpi(90)
    canvas.print_png(path, metadata={"Software": None})
