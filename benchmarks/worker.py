"""The process of one contender: ``python -m benchmarks.worker SPEC``.

It runs in the contender's own Python and imports only the standard library.  SPEC is
JSON: ``module`` and ``task`` (a function that returns one of `benchmarks.tasks`), its
``options``, ``package`` (reported with its version) or null, and ``core``, the number
of the only core to run on, or null.

The answers are lines of JSON on stdout::

    at once    {"unit": ..., "facts": {...}, "version": ...} or {"skip": reason}
    for each line on stdin, a number of seconds
                {"value": rate, time or figure}

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
    """Return the task of a specification, after a first run."""
    if spec["core"] is not None and hasattr(os, "sched_setaffinity"):
        # Before anything counts the cores or starts threads.
        usable = sorted(os.sched_getaffinity(0))
        os.sched_setaffinity(0, {usable[spec["core"]]})
    module = importlib.import_module(spec["module"])
    task = getattr(module, spec["task"])(**spec["options"])
    task.measure(0.0)
    return task


def main() -> None:
    """Make the task, and measure it once for each line on stdin."""
    # stdout is for the answers: all other output of the task goes to stderr.
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
    answer(unit=task.unit, facts=task.settings, version=version)
    for line in sys.stdin:
        answer(value=task.measure(float(line)))
    # At once: idle threads of the task must not keep the process alive.
    os._exit(0)


if __name__ == "__main__":
    main()
