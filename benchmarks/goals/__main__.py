"""Measure the goals in two whole runs, and write their table and picture.

``python -m benchmarks.goals`` writes docs/goals.json, docs/step_times.png and a section
of docs/performance.md.  It takes some four minutes a run, and nothing is written before
the last run has ended.  A machine that is busy is refused.

``python -m benchmarks.goals A.json B.json`` writes the same from files, of
``python -m benchmarks --cases goals --out A.json``.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from benchmarks import machine, suite, table
from benchmarks.goals import chart, page
from benchmarks.goals.case import NAME
from benchmarks.processes import ROOT
from benchmarks.progress import progress_bars
from benchmarks.result import read_result

COMMAND = "python -m benchmarks.goals"
FOLDER = ROOT / "docs"
PAGE = "performance.md"
RUNS = 2
# Share of the cores' time that others may take.
MOST_BUSY = 0.04


def measure(number: int, rounds: int | None) -> dict[str, Any]:
    """Return the result of one run."""
    print(f"run {number} of {RUNS}, load {machine.load()}", file=sys.stderr)
    begin = time.monotonic()
    with progress_bars() as report_progress:
        plan = suite.plan_of([NAME], rounds, False, {}, COMMAND)
        result = suite.run(plan, report_progress)
    print(f"run {number}: {time.monotonic() - begin:.0f} s", file=sys.stderr)
    table.show(result)
    return result


def write(results: Sequence[dict[str, Any]], folder: Path) -> list[Path]:
    """Write the data, the picture and the section of the page; return their paths."""
    path = folder / PAGE
    # First: a page without its markers is an error before anything is written.
    text = page.render(path.read_text("utf-8"), results)
    chart.draw(results, folder / page.IMAGE)
    content = json.dumps({"runs": results}, indent=1, ensure_ascii=False)
    (folder / page.DATA).write_text(f"{content}\n", "utf-8")
    path.write_text(text, "utf-8")
    return [folder / name for name in (page.DATA, page.IMAGE, PAGE)]


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure or read the runs, and write the files."""
    parser = argparse.ArgumentParser(
        prog=COMMAND,
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument(
        "results",
        nargs="*",
        type=Path,
        metavar="RUN.json",
        help="files of runs to show, in place of measuring",
    )
    parser.add_argument(
        "--rounds", type=int, help="measurements of each side of a row (default: 5)"
    )
    parser.add_argument(
        "--busy", action="store_true", help="measure on a busy machine as well"
    )
    options = parser.parse_args(arguments)
    if options.results:
        try:
            results = [read_result(path) for path in options.results]
        except ValueError as error:
            parser.error(str(error))
        for path, result in zip(options.results, results, strict=True):
            if NAME not in result["cases"]:
                parser.error(f"{path}: expected a run of the case {NAME}")
    else:
        _check_machine(parser, options.busy)
        results = [measure(n + 1, options.rounds) for n in range(RUNS)]
    for path in write(results, FOLDER):
        print(f"written: {path}")


def _check_machine(parser: argparse.ArgumentParser, accepts_busy: bool) -> None:
    """Refuse a machine that is busy: nothing of ours runs yet."""
    share = machine.busy_share()
    if share is None:
        print("the load of this system is not known", file=sys.stderr)
        return
    print(f"others take {share:.0%} of the machine", file=sys.stderr)
    if share > MOST_BUSY and not accepts_busy:
        parser.error(
            f"expected a quiet machine, where others take at most {MOST_BUSY:.0%} of "
            f"the cores, got {share:.0%}; --busy measures all the same"
        )


if __name__ == "__main__":
    try:
        main()
    except KeyboardInterrupt:
        sys.exit("interrupted: nothing is written")
