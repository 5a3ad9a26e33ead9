"""The picture docs/baselines.png: success by split and policy."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from benchmarks.baselines.results import key_of

# Colours and markers differ: they are told apart without colour, too (Okabe and Ito).
_STYLES = (("#999999", "o"), ("#E69F00", "s"), ("#0072B2", "D"), ("#D55E00", "^"))


def digest_of(content: Mapping[str, Any]) -> str:
    """Return a digest of the figures; the picture has it as its description."""
    figures = [[key_of(row), row["success"]] for row in content["rows"]]
    return hashlib.sha256(json.dumps(figures).encode()).hexdigest()


def draw(content: Mapping[str, Any], path: Path) -> None:
    """Draw the success rates of a file's content into a png, below 60 KB."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    rows = {key_of(row): row for row in content["rows"]}
    splits, policies = content["splits"], list(content["policies"])
    figure = Figure(figsize=(7.6, 1.0 + 0.36 * len(splits)), layout="constrained")
    canvas = FigureCanvasAgg(figure)
    axes = figure.subplots()
    for policy, (color, marker) in zip(policies, _STYLES, strict=True):
        points = [
            (place, [100 * value for value in rows[key]["success"]])
            for place, split in enumerate(splits)
            if (key := (split["id"], split["name"], policy)) in rows
        ]
        axes.errorbar(
            [values[0] for _, values in points],
            [place for place, _ in points],
            xerr=[
                [values[0] - values[1] for _, values in points],
                [values[2] - values[0] for _, values in points],
            ],
            fmt=marker,
            color=color,
            markersize=5,
            capsize=2,
            label=policy,
        )
    labels = [f"{s['id'].split('/')[1]}  {s['name']}" for s in splits]
    axes.set_yticks(range(len(splits)), labels, fontsize="small")
    axes.invert_yaxis()
    axes.set_xlim(-2, 102)
    axes.set_xlabel("success in %, with 95 % intervals")
    axes.grid(alpha=0.3)
    axes.legend(loc="upper center", bbox_to_anchor=(0.4, 1.09), ncols=4, frameon=False)
    metadata = {"Software": None, "Description": digest_of(content)}
    figure.set_dpi(90)
    canvas.print_png(path, metadata=metadata)
