"""The results of frameworks, in benchmarks/results/frameworks.json.

The file has the last result of each framework, by name:
``status`` (``passed``, ``failed`` or ``not run``) and ``reason``, which is empty where
it passed; and if it could be installed ``date``, ``revision`` (the commit of roll_vec),
``machine`` (``cpu``, ``cores``), ``python``, ``versions`` of the packages, ``rows``:

``what``, ``result``
    In words.
``lines_changed``
    Lines of a user's program that change; optional.
``theirs``, ``ours``, ``unit``
    Rates, measured in turns in one run; optional.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tests.frameworks.frameworks import FRAMEWORKS
from tests.frameworks.programs import ROOT

RESULTS = ROOT / "benchmarks" / "results" / "frameworks.json"
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
    lines = [
        f" {json.dumps(name)}: {json.dumps(results[name], ensure_ascii=False)}"
        for name in FRAMEWORKS
        if name in results
    ]
    path.write_text("{\n" + ",\n".join(lines) + "\n}\n", "utf-8")


def record(results: Results, name: str, result: Mapping[str, Any]) -> None:
    """Add a result to the others.

    A framework that could not be run keeps the result of the run before, if any.
    """
    if "rows" in result or name not in results:
        results[name] = dict(result)


def lines_changed(page: str) -> int | None:
    """Return the lines that the first diff of a page adds; None if it has none."""
    diff = re.search(r"^```diff\n(.*?)^```$", page, re.MULTILINE | re.DOTALL)
    return diff and len(re.findall(r"^\+(?!\+\+)", diff[1], re.MULTILINE))
