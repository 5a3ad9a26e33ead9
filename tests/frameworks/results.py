"""The file docs/frameworks.json: the last result of each framework.

By name: ``status`` (``passed``, ``failed`` or ``not run``) and ``reason``, which is
empty where it passed; and if it could be installed ``date``, ``revision`` (the commit
of roll_vec), ``machine`` (``cpu``, ``cores``), ``python``, ``versions`` of the
packages, and ``rows``:

``what``, ``result``
    In words.
``lines_changed``
    Lines of a user's program that change; optional.
``theirs``, ``ours``, ``unit``
    Rates or times, measured in turns in one run; optional.  Units of rates end in
    ``/s``; less is better in all others.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from benchmarks.processes import ROOT
from tests.frameworks.frameworks import FRAMEWORKS

RESULTS = ROOT / "docs" / "frameworks.json"
# A change of these is no change of the code.
GENERATED = ("docs",)
PROGRAM = "the program of its page"
UNITS = ("s", "ms", "µs", "MB", "threads", "processes")

Results = dict[str, dict[str, Any]]


def read_results(path: Path = RESULTS) -> Results:
    """Return the results by name of framework; none if there is no file."""
    try:
        content: Results = json.loads(path.read_text("utf-8"))
    except FileNotFoundError:
        return {}
    return content


def write_results(results: Results, path: Path = RESULTS) -> None:
    """Write the file, a line for each row; an interrupted call leaves the old file."""
    text = json.dumps(
        {name: results[name] for name in FRAMEWORKS if name in results},
        indent=1,
        ensure_ascii=False,
    )
    temporary = path.with_name(f"{path.name}.tmp")
    temporary.write_text(f"{text}\n", "utf-8")
    temporary.replace(path)


def record(results: Results, name: str, result: Mapping[str, Any]) -> None:
    """Take a result into the others.

    A framework that could not be run keeps the result of the run before, if any.
    """
    if "rows" in result or name not in results:
        results[name] = dict(result)


def check_rows(rows: Any) -> list[dict[str, Any]]:
    """Return the rows of a check.

    Raises
    ------
    ValueError
        If they are not as above; the message is one line.
    """
    if not isinstance(rows, list) or not rows:
        message = f"a check writes a list of rows, got {rows!r}"
        raise ValueError(message)
    for row in rows:
        strings = all(isinstance(row.get(key), str) for key in ("what", "result"))
        measured = [key for key in ("theirs", "ours", "unit") if key in row]
        unknown = set(row) - {
            *("what", "result", "lines_changed", "theirs", "ours", "unit")
        }
        if not strings or unknown or len(measured) not in (0, 3):
            message = (
                "a row has what and result, perhaps lines_changed, and theirs, ours "
                f"and unit together; got {row!r}"
            )
            raise ValueError(message)
        unit = row.get("unit", "/s")
        if not (unit.endswith("/s") or unit in UNITS):
            message = f"a unit ends in /s or is one of {', '.join(UNITS)}; got {unit!r}"
            raise ValueError(message)
    if len({row["what"] for row in rows}) < len(rows):
        message = f"each row has a what of its own, got {[row['what'] for row in rows]}"
        raise ValueError(message)
    return rows
