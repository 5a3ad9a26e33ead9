"""Tables in Markdown from a file of ``--benchmark-json``.

::

    python -m benchmarks.tables run.json             # print a table of each group
    python -m benchmarks.tables run.json --publish   # for the pages; then make pages

``--publish`` writes benchmarks/results/speeds.json, the file without what no page
shows, and docs/performance.png.  `docs.build.figures` fills the pages.
"""

from __future__ import annotations

import argparse
import functools
import json
import re
import statistics
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from docs.build.tables import table
from roll_vec.storage.files import replace_file

ROOT = Path(__file__).parents[1]
PUBLISHED = ROOT / "benchmarks" / "results" / "speeds.json"
# By group and side: benchmarks of the file.
Groups = dict[str, dict[str, dict[str, Any]]]


def strip(content: dict[str, Any]) -> dict[str, Any]:
    """Return the content of a file without what is not shown."""
    info = content["machine_info"]
    keys = ("python_version", "system", "release", "cores", "packages")
    cpu = {"brand_raw": info["cpu"].get("brand_raw", info["machine"])}
    machine = {**{key: info[key] for key in keys}, "cpu": cpu}
    commit = {key: content["commit_info"].get(key) for key in ("id", "dirty")}
    keys = ("group", "fullname", "params", "extra_info")
    benchmarks = []
    for one in content["benchmarks"]:
        data = [float(f"{seconds:.4g}") for seconds in one["stats"]["data"]]
        benchmarks.append({**{key: one[key] for key in keys}, "stats": {"data": data}})
    return {
        "machine_info": machine,
        "commit_info": commit,
        "datetime": content["datetime"],
        "benchmarks": benchmarks,
    }


@functools.cache
def read(path: Path = PUBLISHED) -> tuple[dict[str, Any], Groups]:
    """Return the content of a file, and its benchmarks by group and side."""
    content = json.loads(path.read_text("utf-8"))
    groups: Groups = {}
    for one in content["benchmarks"]:
        side = (one["params"] or {}).get("side", "roll_vec")
        groups.setdefault(one["group"], {})[side] = one
    return content, groups


def ratios(group: dict[str, dict[str, Any]], side: str) -> list[float]:
    """Return how many times as fast the first side is, round by round."""
    first = next(iter(group.values()))["stats"]["data"]
    return [b / a for a, b in zip(first, group[side]["stats"]["data"], strict=False)]


def short(number: float) -> str:
    """Return a number to three digits: 0.0123, 12.3, 1.23k, 12.3M."""
    for divisor, suffix in ((1e6, "M"), (1e3, "k"), (1, "")):
        # A number that rounds up to 1000 of a unit belongs to the next unit.
        if number >= divisor * 0.9995:
            return f"{number / divisor:#.3g}".rstrip(".") + suffix
    return f"{number:.3g}"


def rate_of(one: dict[str, Any]) -> str:
    """Return the median rate of a side, as ``12.3M steps/s``."""
    seconds = statistics.median(one["stats"]["data"])
    return f"{short(1 / seconds)} {one['extra_info']['unit']}s/s"


def time_of(one: dict[str, Any]) -> str:
    """Return the median time of a call for all environments, as ``12.3 µs``."""
    seconds = statistics.median(one["stats"]["data"])
    seconds *= one["extra_info"].get("size", 1)
    units = ((1, "s"), (1e-3, "ms"), (1e-6, "µs"), (1e-9, "ns"))
    divisor, unit = next((x for x in units if seconds >= x[0] * 0.9995), units[-1])
    return f"{seconds / divisor:#.3g}".rstrip(".") + f" {unit}"


def times(number: float) -> str:
    """Return a ratio, as ``1.23×``."""
    return f"{number:,.0f}×" if number >= 99.95 else f"{number:#.3g}×"


def pivot(pattern: str, show: Callable[[dict[str, Any], str], str]) -> str:
    """Return a table: a line for each group that the pattern finds, a column a side.

    The first parenthesis of the pattern is the name of the line.
    """
    _, groups = read()
    lines = {m[1]: group for x, group in groups.items() if (m := re.search(pattern, x))}
    if not lines:
        raise ValueError(f"expected the pattern of a group, got {pattern}")
    sides = list(dict.fromkeys(side for group in lines.values() for side in group))
    rows = [
        (name, *(show(group, side) if side in group else "" for side in sides))
        for name, group in lines.items()
    ]
    return table(("", *sides), rows, len(sides))


def show_ratio(group: dict[str, Any], side: str) -> str:
    """Return the rate of the first side, or how many times as fast it is."""
    if side == next(iter(group)):
        return rate_of(group[side])
    return times(statistics.median(ratios(group, side)))


def main(arguments: Sequence[str] | None = None) -> None:
    """Print the tables of a file, or publish it."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.tables")
    parser.add_argument("file", type=Path, help="of --benchmark-json")
    parser.add_argument("--publish", action="store_true", help="for the pages")
    words = parser.parse_args(arguments)
    content, groups = read(words.file)
    for name, group in groups.items():
        rows = []
        for side, one in group.items():
            values = ratios(group, side)
            spread = f"{times(min(values))} – {times(max(values))}"
            median = times(statistics.median(values))
            rows.append((side, rate_of(one), time_of(one), median, spread))
        heads = (name, "rate", "time of a call", "first / this", "least – greatest")
        print(table(heads, rows, 4), end="\n\n")
    if words.publish:
        from benchmarks.plot import draw

        draw(groups, ROOT / "docs" / "performance.png")
        text = json.dumps(strip(content), ensure_ascii=False)
        # A benchmark a line.
        text = text.replace(', {"group"', ',\n {"group"')
        with replace_file(PUBLISHED) as file:
            file.write(f"{text}\n".encode())


if __name__ == "__main__":
    main()
