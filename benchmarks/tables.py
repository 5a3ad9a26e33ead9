"""Tables in Markdown from a file of ``--benchmark-json``.

::

    python -m benchmarks.tables run.json             # print a table of each group
    python -m benchmarks.tables run.json --spread "^steps of (.*), 4,096"
    python -m benchmarks.tables run.json --publish   # for the pages; then make pages

``--publish`` writes benchmarks/results/speeds.json, the file without what no page
shows, and docs/performance.png; ``--publish minigrid`` writes minigrid.json alone.
`docs.build.figures` fills the pages.
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
RESULTS = ROOT / "benchmarks" / "results"
PUBLISHED, MINIGRID = RESULTS / "speeds.json", RESULTS / "minigrid.json"
# By group and side: benchmarks of the file.
Groups = dict[str, dict[str, dict[str, Any]]]


def strip(content: dict[str, Any]) -> dict[str, Any]:
    """Return the content of a file without what is not shown."""
    info = content["machine_info"]
    keys = ("python_version", "system", "release", "cores", "packages")
    cpu = {"brand_raw": info["cpu"].get("brand_raw", info["machine"])}
    machine = {**{key: info[key] for key in keys}, "cpu": cpu}
    commit = {key: content["commit_info"].get(key) for key in ("id", "dirty")}
    keys = ("group", "params", "extra_info")
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


def published_groups() -> Groups:
    """Return the groups of all published files."""
    return {**read()[1], **read(MINIGRID)[1]}


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
    groups = published_groups()
    lines = {m[1]: group for x, group in groups.items() if (m := re.search(pattern, x))}
    if not lines:
        raise ValueError(f"expected the pattern of a group, got {pattern}")
    sides = list(dict.fromkeys(side for group in lines.values() for side in group))
    rows = [
        (name, *(show(group, side) if side in group else "" for side in sides))
        for name, group in lines.items()
    ]
    return table(("", *sides), rows, len(sides))


def spread(pattern: str, groups: Groups) -> str:
    """Return a table of the groups that a pattern finds: a line for each other side.

    It has the least, the median and the greatest of how many times as fast the first
    side is, with the names of the groups, the first parenthesis of the pattern.
    """
    values: dict[str, list[tuple[float, str]]] = {}
    for group, sides in groups.items():
        match = re.search(pattern, group)
        for side in [*sides][1:] if match else ():
            value = statistics.median(ratios(sides, side))
            values.setdefault(side, []).append((value, match[1] if match else ""))
    rows = []
    for side, pairs in values.items():
        median = times(statistics.median(value for value, _ in pairs))
        ends = [f"{times(value)} ({name})" for value, name in (min(pairs), max(pairs))]
        rows.append((side, str(len(pairs)), ends[0], median, ends[1]))
    return table(("", "ids", "least", "median", "greatest"), rows, 4)


def show_ratio(group: dict[str, Any], side: str) -> str:
    """Return the rate of the first side, or how many times as fast it is."""
    if side == next(iter(group)):
        return rate_of(group[side])
    return times(statistics.median(ratios(group, side)))


def main(arguments: Sequence[str] | None = None) -> None:
    """Print the tables of a file, or publish it."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.tables")
    parser.add_argument("file", type=Path, help="of --benchmark-json")
    parser.add_argument(
        "--publish", nargs="?", const="speeds", metavar="NAME", help="for the pages"
    )
    parser.add_argument(
        "--spread", metavar="PATTERN", help="the spread of the ratios of groups alone"
    )
    words = parser.parse_args(arguments)
    content, groups = read(words.file)
    if words.spread:
        print(spread(words.spread, groups))
        return
    for name, group in groups.items():
        rows = []
        for side, one in group.items():
            values = ratios(group, side)
            ends = f"{times(min(values))} – {times(max(values))}"
            median = times(statistics.median(values))
            rows.append((side, rate_of(one), time_of(one), median, ends))
        heads = (name, "rate", "time of a call", "first / this", "least – greatest")
        print(table(heads, rows, 4), end="\n\n")
    if words.publish:
        path = RESULTS / f"{words.publish}.json"
        if path == PUBLISHED:
            from benchmarks.plot import draw

            draw(groups, ROOT / "docs" / "performance.png")
        text = json.dumps(strip(content), ensure_ascii=False)
        # A benchmark a line.
        text = text.replace(', {"group"', ',\n {"group"')
        with replace_file(path) as file:
            file.write(f"{text}\n".encode())


if __name__ == "__main__":
    main()
