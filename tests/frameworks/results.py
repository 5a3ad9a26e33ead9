"""The results of frameworks, in benchmarks/results/frameworks.json.

The file has the last result of each framework, by name:
``status`` (``passed``, ``failed`` or ``not run``) and ``reason``, which is empty where
it passed; and if it could be installed ``date``, ``revision`` (the commit of roll_vec),
``machine`` (``cpu``, ``cores``), ``versions`` of Python, packages and the clone, and
``rows`` of its comparisons:

``what``, ``result``
    In words.
``theirs``, ``ours``, ``unit``
    Rates, measured in turns in one run; optional.
``measured``
    Date, machine and revision of rates that an earlier run measured; optional.
"""

from __future__ import annotations

import json
from typing import Any

from tests.frameworks.frameworks import FRAMEWORKS
from tests.frameworks.programs import ROOT

RESULTS = ROOT / "benchmarks" / "results" / "frameworks.json"

Results = dict[str, dict[str, Any]]


def read_results() -> Results:
    """Return the results by name of framework."""
    content: Results = json.loads(RESULTS.read_text("utf-8"))
    return content


def write_results(results: Results) -> None:
    """Write the file, a line for each framework."""
    lines = [
        f" {json.dumps(name)}: {json.dumps(results[name], ensure_ascii=False)}"
        for name in FRAMEWORKS
        if name in results
    ]
    RESULTS.write_text("{\n" + ",\n".join(lines) + "\n}\n", "utf-8")
