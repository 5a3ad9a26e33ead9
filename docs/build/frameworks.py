"""Comparisons with other frameworks, from benchmarks/results/frameworks.json.

`tests.frameworks.results` has the form of this file.
"""

from __future__ import annotations

from benchmarks.tables import short
from docs.build.figures import two_digits
from docs.build.tables import table
from tests.frameworks.frameworks import FRAMEWORKS
from tests.frameworks.programs import link_to
from tests.frameworks.results import read_results


def ratio(words: str) -> str:
    """Return ours over theirs, from the name of a framework and a row's ``what``."""
    name, what = words.split(" ", 1)
    result = read_results()[name]
    if result["status"] != "passed":
        return "not measured"
    (row,) = [row for row in result["rows"] if row["what"] == what]
    value = row["ours"] / row["theirs"]
    return f"{value:.1f} ×" if value < 10 else f"{two_digits(value)} ×"


def runs(_: str) -> str:
    """Return the date of the last run of each framework's program, or of all."""
    dates: dict[str, list[str]] = {}
    for name, framework in FRAMEWORKS.items():
        result = read_results().get(name, {})
        date = result.get("date", "not run yet")
        dates.setdefault(date, []).append(f"[{framework.title}]({link_to(name)})")
    if len(dates) == 1:
        return "".join(dates)
    return "; ".join(f"{date}: {', '.join(dates[date])}" for date in sorted(dates))


def comparisons(_: str) -> str:
    """Return a table of what was compared or measured."""
    rows = []
    for name, framework in FRAMEWORKS.items():
        head = f"[{framework.title}]({link_to(name)})"
        for row in read_results().get(name, {}).get("rows", ()):
            rates = [""] * 3
            if "ours" in row:
                sides = [f"{short(row[x])} {row['unit']}" for x in ("theirs", "ours")]
                rates = [*sides, ratio(f"{name} {row['what']}")]
            result = "" if row["result"] == "measured" else row["result"]
            rows.append((head, row["what"], result, *rates))
            head = ""
    heads = ("framework", "case", "result", "theirs", "ours", "ratio")
    return table(heads, rows, 3)
