"""The process of one contender: ``python -m benchmarks.worker SPEC``.

It runs in whatever Python the contender needs, and itself needs none but the standard
library.  SPEC is JSON: ``module`` and ``task`` (a function that returns a
`benchmarks.tasks.Rate`), its ``options``, ``package``, whose version is told, or null,
and ``core``, the number of the one core to stay on, or null.

The answers are lines of JSON on stdout::

    at once    {"unit": ..., "facts": {...}, "version": ...} or {"skip": reason}
    for each line on stdin, a number of seconds    {"value": what was measured}

At the end of stdin the process ends.
"""

from __future__ import annotations

import importlib
import importlib.metadata
import json
import os
import sys
from typing import Any

from benchmarks.tasks import Unavailable


def make(spec: dict[str, Any]) -> Any:
    """Return the task of a specification, warmed up."""
    if spec["core"] is not None and hasattr(os, "sched_setaffinity"):
        # Before anything counts the cores or starts threads.
        usable = sorted(os.sched_getaffinity(0))
        os.sched_setaffinity(0, {usable[spec["core"]]})
    module = importlib.import_module(spec["module"])
    task = getattr(module, spec["task"])(**spec["options"])
    task.measure(0.0)
    return task


def main() -> None:
    """Make the task and measure it whenever it is asked for."""
    # What anyone else prints goes to stderr: stdout is for the answers.
    answers = os.fdopen(os.dup(sys.stdout.fileno()), "w", encoding="utf-8")
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())

    def answer(**content: Any) -> None:
        answers.write(json.dumps(content) + "\n")
        answers.flush()

    spec = json.loads(sys.argv[1])
    try:
        task = make(spec)
        package = spec["package"]
        version = importlib.metadata.version(package) if package else None
    except (ImportError, Unavailable) as error:
        answer(skip=" ".join(str(error).split()))
        return
    answer(unit=task.unit, facts=task.facts, version=version)
    for line in sys.stdin:
        answer(value=task.measure(float(line)))
    # Threads that wait for work must not keep the process.
    os._exit(0)


if __name__ == "__main__":
    main()
