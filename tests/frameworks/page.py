"""The results of frameworks, their figures in pages, and the tables of their index.

benchmarks/results/frameworks.json has the last result of each framework, by name:
``status`` (``passed``, ``failed`` or ``not run``) and ``reason``, which is empty where
it passed; and if it could be installed ``date``, ``revision`` (the commit of roll_vec),
``machine`` (``cpu``, ``cores``), ``python``, ``versions`` of the packages, ``rows``:

``what``, ``result``
    In words.
``lines_changed``
    Lines of a user's program that change; optional.
``theirs``, ``ours``, ``unit``
    Rates, measured in turns in one run; optional.

``<!-- framework NAME ratio WHAT -->`` quotes ours over theirs in the row that has this
``what``.  ``<!-- frameworks TABLE -->`` is a table: ``results`` or ``versions``.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from benchmarks import quotations
from benchmarks.processes import ROOT
from benchmarks.result import write_result
from tests.frameworks.frameworks import FRAMEWORKS
from tests.frameworks.programs import link_to

RESULTS = ROOT / "benchmarks" / "results" / "frameworks.json"
ABSENT = "not measured"
# The row that every framework has: the table of versions says it.
PROGRAM = "the program of its page"

Results = dict[str, dict[str, Any]]


def read_results(path: Path = RESULTS) -> Results:
    """Return the results by name of framework; none if there is no file."""
    try:
        content: Results = json.loads(path.read_text("utf-8"))
    except FileNotFoundError:
        return {}
    return content


def write_results(results: Results, path: Path = RESULTS) -> None:
    """Write the file, a line for each framework."""
    write_result(path, {name: results[name] for name in FRAMEWORKS if name in results})


def record(results: Results, name: str, result: Mapping[str, Any]) -> None:
    """Take a result into the others.

    A framework that could not be run keeps the result of the run before, if any.
    """
    if "rows" in result or name not in results:
        results[name] = dict(result)


def quote(text: str, results: Results) -> str:
    """Return a page with its quotations of the results replaced.

    A framework that has not passed has no figures: ``not measured``.  Without such a
    framework, row or figure it is a ValueError of one line.
    """
    text = quotations.quote(text, "framework", lambda words: show(words, results))
    tables = {"results": results_table, "versions": versions_table}
    return quotations.quote(
        text, "frameworks", lambda words: f"\n{tables[words](results)}\n"
    )


def show(words: str, results: Results) -> str:
    """Return a ratio, from the words of its quotation."""
    name, figure, what = words.split(" ", 2)
    if name in FRAMEWORKS and results.get(name, {}).get("status") != "passed":
        return ABSENT
    for row in results.get(name, {}).get("rows", ()):
        if row["what"] == what and figure == "ratio":
            return show_row(row)["ratio"]
    message = f"no such ratio in frameworks.json: {words}"
    raise ValueError(message)


def show_row(row: Mapping[str, Any]) -> dict[str, str]:
    """Return the figures of a row in words; those that it has not are empty."""
    cells = {
        "result": row["result"],
        "lines_changed": str(row.get("lines_changed", "")),
    }
    if "ours" not in row:
        return cells | dict.fromkeys(("theirs", "ours", "ratio"), "")
    theirs, ours, unit = row["theirs"], row["ours"], row["unit"]
    return cells | {
        "theirs": f"{show_number(theirs)} {unit}",
        "ours": f"{show_number(ours)} {unit}",
        "ratio": f"{show_number(ours / theirs, 2)} ×",
    }


def show_number(value: float, digits: int = 3) -> str:
    """Return a number with some significant digits, and no exponent."""
    mantissa, exponent = f"{value:.{digits - 1}e}".split("e")
    decimals = max(digits - 1 - int(exponent), 0)
    return f"{float(f'{mantissa}e{exponent}'):,.{decimals}f}"


def lines_changed(page: str) -> int | None:
    """Return the lines that the first diff of a page adds; None if it has none."""
    diff = re.search(r"^```diff\n(.*?)^```$", page, re.MULTILINE | re.DOTALL)
    return diff and len(re.findall(r"^\+(?!\+\+)", diff[1], re.MULTILINE))


def results_table(results: Results) -> str:
    """Return the table of what was compared; frameworks that were not run say why."""
    lines = [
        "| framework | what runs | lines changed | result | theirs | ours | ratio |",
        "|---|---|--:|---|--:|--:|--:|",
    ]
    for name, framework in FRAMEWORKS.items():
        link = f"[{framework.title}]({link_to(name)})"
        result = results.get(name, {"status": "not run", "reason": "no run yet"})
        if result["status"] != "passed":
            reason = f"{result['status']}: {result['reason']}".replace("|", "/")
            lines.append(f"| {link} | {reason} | | | | | |")
            continue
        for row in result["rows"]:
            if row["what"] == PROGRAM:
                continue
            cells = show_row(row)
            lines.append(
                f"| {link} | {row['what']} | {cells['lines_changed']} | "
                f"{cells['result']} | {cells['theirs']} | {cells['ours']} | "
                f"{cells['ratio']} |"
            )
            link = ""
    return "\n".join(lines)


def versions_table(results: Results) -> str:
    """Return the table of the frameworks whose programs ran, and of their versions."""
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
            f"| [{framework.title}]({link_to(name)}) | {result['python']} | "
            f"{packages} | {result['date']} | {result['revision']} | {machine} |"
        )
    return "\n".join(lines)
