"""The figures of docs/frameworks.json in pages, and the tables of its index.

``<!-- framework NAME FIGURE WHAT -->`` quotes a figure (``theirs``, ``ours``,
``ratio``, ``result`` or ``lines_changed``) of the row that has this ``what``.
``<!-- frameworks TABLE -->`` is a table: ``results`` or ``versions``.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from benchmarks import quotations
from tests.frameworks.frameworks import FRAMEWORKS
from tests.frameworks.results import UNITS, Results

FIGURES = ("theirs", "ours", "ratio", "result", "lines_changed")
ABSENT = "not measured"


def quote(text: str, results: Results) -> str:
    """Return a page with its quotations of the results replaced.

    A framework that has not passed has no figures: ``not measured``.

    Raises
    ------
    ValueError
        If there is no such framework, row, figure or table; the message is one line.
    """
    text = quotations.quote(text, "framework", lambda words: show(words, results))
    return quotations.quote(
        text, "frameworks", lambda words: f"\n{show_table(words, results)}\n"
    )


def show(words: str, results: Results) -> str:
    """Return a figure, from the words of its quotation."""
    name, _, others = words.partition(" ")
    figure, _, what = others.partition(" ")
    if name not in FRAMEWORKS or figure not in FIGURES:
        message = (
            "expected the name of a framework, one of "
            f"{', '.join(FIGURES)}, and a row, got {words!r}"
        )
        raise ValueError(message)
    result = results.get(name, {})
    if result.get("status") != "passed":
        return ABSENT
    rows = {row["what"]: row for row in result["rows"]}
    cells = show_row(rows[what]) if what in rows else {}
    if not cells.get(figure):
        message = f"no {figure} in docs/frameworks.json: {words}; rows: {list(rows)}"
        raise ValueError(message)
    return cells[figure]


def show_row(row: Mapping[str, Any]) -> dict[str, str]:
    """Return the figures of a row in words; those that it has not are empty."""
    cells = {
        "result": row["result"],
        "lines_changed": str(row.get("lines_changed", "")),
    }
    if "ours" not in row:
        return cells | dict.fromkeys(("theirs", "ours", "ratio"), "")
    theirs, ours, unit = row["theirs"], row["ours"], row["unit"]
    ratio = theirs / ours if unit in UNITS else ours / theirs
    return cells | {
        "theirs": f"{show_number(theirs)} {unit}",
        "ours": f"{show_number(ours)} {unit}",
        "ratio": f"{show_number(ratio, 2)} ×",
    }


def show_number(value: float, digits: int = 3) -> str:
    """Return a number with some significant digits, and no exponent."""
    rounded = float(f"{value:.{digits}g}")
    if rounded >= 10 ** (digits - 1):
        return f"{rounded:,.0f}"
    decimals = len(f"{value:.{digits - 1}e}".split("e")[0]) - 2
    exponent = int(f"{value:.{digits - 1}e}".split("e")[1])
    return f"{rounded:.{max(decimals - exponent, 0)}f}"


def lines_changed(page: str) -> int | None:
    """Return the lines that the first diff of a page adds; None if it has none."""
    diff = re.search(r"^```diff\n(.*?)^```$", page, re.MULTILINE | re.DOTALL)
    return diff and len(re.findall(r"^\+(?!\+\+)", diff[1], re.MULTILINE))


def show_table(words: str, results: Results) -> str:
    """Return a table of the index.

    Raises
    ------
    ValueError
        If there is no such table.
    """
    if words == "results":
        return results_table(results)
    if words == "versions":
        return versions_table(results)
    message = f"expected the table results or versions, got {words!r}"
    raise ValueError(message)


def results_table(results: Results) -> str:
    """Return the table of all rows; frameworks that have none say why."""
    lines = [
        "| framework | what runs | lines changed | result | theirs | ours | ratio |",
        "|---|---|--:|---|--:|--:|--:|",
    ]
    for name, framework in FRAMEWORKS.items():
        # Each that has a result has a page.
        link = f"[{framework.title}]({name}.md)" if name in results else framework.title
        result = results.get(name, {"status": "not run", "reason": "no run yet"})
        if result["status"] != "passed":
            reason = f"{result['status']}: {result['reason']}".replace("|", "/")
            lines.append(f"| {link} | {reason} | | | | | |")
            continue
        for row in result["rows"]:
            cells = show_row(row)
            lines.append(
                f"| {link} | {row['what']} | {cells['lines_changed']} | "
                f"{cells['result']} | {cells['theirs']} | {cells['ours']} | "
                f"{cells['ratio']} |"
            )
            link = ""
    return "\n".join(lines)


def versions_table(results: Results) -> str:
    """Return the table of the versions that each framework was run with."""
    lines = [
        "| framework | Python | packages | date | roll_vec | machine |",
        "|---|---|---|---|---|---|",
    ]
    for name, framework in FRAMEWORKS.items():
        result = results.get(name, {})
        if "versions" not in result:
            continue
        packages = ", ".join(f"{n} {v}" for n, v in result["versions"].items())
        machine = f"{result['machine']['cpu']}, {result['machine']['cores']} cores"
        lines.append(
            f"| {framework.title} | {result['python']} | {packages} | "
            f"{result['date']} | {result['revision']} | {machine} |"
        )
    return "\n".join(lines)
