"""Run each framework's page and check in a virtual environment of its own.

``python -m tests.frameworks`` runs all, ``python -m tests.frameworks roll trl`` some.
The results go to docs/frameworks.json and, from there, to the pages in docs.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from datetime import date
from pathlib import Path
from typing import Any

from benchmarks.machine import describe, revision
from benchmarks.processes import ROOT
from benchmarks.quotations import PAGES, rewrite
from tests.frameworks import page
from tests.frameworks.environment import (
    HERE,
    Environment,
    FailureError,
    NotRunError,
    run_check,
)
from tests.frameworks.frameworks import FRAMEWORKS
from tests.frameworks.programs import program_of
from tests.frameworks.results import (
    GENERATED,
    PROGRAM,
    Results,
    check_rows,
    read_results,
    record,
    write_results,
)

PAGE_FOLDER = ROOT / "docs" / "frameworks"


def main(arguments: Sequence[str] | None = None) -> int:
    """Run frameworks; return how many failed."""
    parser = make_parser()
    args = parser.parse_args(arguments)
    unknown = [name for name in args.names if name not in FRAMEWORKS]
    if unknown:
        parser.error(f"unknown {', '.join(unknown)}; there are {', '.join(FRAMEWORKS)}")
    # A run that is stopped ends its program too.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit("stopped"))
    results = read_results()
    if args.list:
        print_list(results)
        return 0
    failures = []
    if not args.page_only:
        with contextlib.ExitStack() as stack:
            folder = args.keep
            if folder is None:
                folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
            names = [name for name in FRAMEWORKS if name in (args.names or FRAMEWORKS)]
            failures = run_all(names, folder.resolve(), args.checkouts, results)
    try:
        rewrite(PAGES, lambda text: page.quote(text, results))
    except ValueError as error:
        failures.append(f"pages ({error})")
    sys.stdout.write(f"failed: {', '.join(failures) or 'none'}\n")
    return len(failures)


def make_parser() -> argparse.ArgumentParser:
    """Return the parser of the command line."""
    parser = argparse.ArgumentParser(
        prog="python -m tests.frameworks",
        description="Run the program of each framework's page and its differential "
        "test against the real package, and write docs/frameworks.json and the tables "
        "and figures of the pages.  The other frameworks keep their results.",
    )
    add = parser.add_argument
    add(
        "names",
        nargs="*",
        metavar="NAME",
        help=f"these alone: {', '.join(FRAMEWORKS)}",
    )
    variable = os.environ.get("ROLL_VEC_CHECKOUTS")
    add(
        "--checkouts",
        type=Path,
        metavar="FOLDER",
        default=Path(variable) if variable else None,
        help="of clones of the frameworks that PyPI does not have, each named "
        "OWNER+NAME; default: the environment variable ROLL_VEC_CHECKOUTS",
    )
    add(
        "--keep",
        type=Path,
        metavar="FOLDER",
        help="keep the virtual environments here, and use those that are here",
    )
    add("--list", action="store_true", help="list the frameworks and their results")
    add("--page-only", action="store_true", help="run nothing, write the pages")
    return parser


def print_list(results: Results) -> None:
    """Write what each framework needs, and its last result."""
    for name, framework in FRAMEWORKS.items():
        result = results.get(name, {})
        status = " ".join(
            str(result[key]) for key in ("status", "date", "revision") if key in result
        )
        python = f"Python {' or '.join(framework.pythons)}; " * bool(framework.pythons)
        sys.stdout.write(f"{name}: {status or 'no run yet'}\n")
        sys.stdout.write(f"    {python}{', '.join(framework.packages)}\n")
        if framework.checkout is not None:
            checkout = framework.checkout
            sys.stdout.write(f"    {checkout.command} (commit {checkout.commit})\n")


def run_all(
    names: Sequence[str], folder: Path, checkouts: Path | None, results: Results
) -> list[str]:
    """Run frameworks, write the file after each, and return those that failed."""
    wheel = build_wheel(folder / "wheels")
    machine = describe("")
    facts = {
        "date": date.today().isoformat(),
        "revision": revision(GENERATED),
        "machine": {"cpu": machine["cpu"], "cores": machine["cores"]},
    }
    failures = []
    for number, name in enumerate(names, 1):
        progress = Progress(f"[{number}/{len(names)}] {name}")
        result = run(name, wheel, folder / name, checkouts, facts, progress)
        if result["status"] == "failed":
            failures.append(name)
        if (PAGE_FOLDER / f"{name}.md").is_file():
            # Another run may have written meanwhile.
            results.update(read_results())
            record(results, name, result)
            write_results(results)
        else:
            result["reason"] += f" (not recorded: no docs/frameworks/{name}.md)"
        progress.end(result)
    return failures


class Progress:
    """A line on stderr: the framework, its stage, and the seconds so far."""

    def __init__(self, title: str) -> None:
        self.title, self.stage, self.start = title, "", time.monotonic()
        self.is_terminal = sys.stderr.isatty()

    def begin(self, stage: str) -> None:
        """Begin a stage."""
        self.stage = stage
        self.show()
        if not self.is_terminal:
            sys.stderr.write(f"{self._line()}\n")

    def show(self) -> None:
        """Show the line again, where that is possible."""
        if self.is_terminal:
            sys.stderr.write(f"\r\x1b[K{self._line()}")
            sys.stderr.flush()

    def end(self, result: dict[str, Any]) -> None:
        """Write the result on stdout."""
        if self.is_terminal:
            sys.stderr.write("\r\x1b[K")
        seconds = time.monotonic() - self.start
        reason = f": {result['reason']}" if result["reason"] else ""
        line = f"{self.title}: {result['status']} after {seconds:.0f} s{reason}\n"
        sys.stdout.write(line)
        for row in result.get("rows", ()):
            cells = page.show_row(row)
            rates = (
                f" ({cells['theirs']}, ours {cells['ours']})" if "ours" in row else ""
            )
            sys.stdout.write(f"    {row['what']}: {cells['result']}{rates}\n")
        sys.stdout.flush()

    def _line(self) -> str:
        return f"{self.title}: {self.stage} ({time.monotonic() - self.start:.0f} s)"


def build_wheel(folder: Path) -> Path:
    """Return a wheel of this checkout."""
    for old in folder.glob("*.whl"):
        old.unlink()
    build = [sys.executable, "-m", "pip", "wheel", "-q", "--no-deps", "-w", folder]
    subprocess.run([*build, ROOT], check=True)
    (wheel,) = folder.glob("*.whl")
    return wheel


def run(
    name: str,
    wheel: Path,
    folder: Path,
    checkouts: Path | None,
    facts: dict[str, Any],
    progress: Progress,
) -> dict[str, Any]:
    """Return the result of a framework: with the facts and rows, if it could be run."""
    text_page = PAGE_FOLDER / f"{name}.md"
    check = HERE / name / "check.py"
    rows: list[dict[str, Any]] = []
    try:
        program = program_of(text_page) if text_page.is_file() else ""
        if not program and not check.is_file():
            message = f"neither docs/frameworks/{name}.md nor a check has a program"
            raise NotRunError(message)
        progress.begin("installation")
        environment = Environment(
            FRAMEWORKS[name], folder, checkouts, report_progress=progress.show
        )
        environment.install(wheel)
        facts = facts | {
            "python": environment.python_version(),
            "versions": environment.versions(),
        }
    except NotRunError as error:
        return {"status": "not run", "reason": str(error)}
    except FailureError as error:
        sys.stdout.write(f"{error}\n")
        lines = [line for line in str(error).splitlines() if "ERROR" in line]
        reason = (lines or [str(error).splitlines()[-1]])[-1]
        return {"status": "failed", "reason": f"no installation: {reason}"}
    try:
        if program:
            progress.begin("program")
            # Python imports from the program's folder first.
            file = folder / "program" / "program.py"
            file.parent.mkdir(exist_ok=True)
            file.write_text(program, "utf-8")
            environment.run([environment.python, file])
            row = {"what": PROGRAM, "result": "runs"}
            lines = page.lines_changed(text_page.read_text("utf-8"))
            rows.append(row if lines is None else row | {"lines_changed": lines})
        if check.is_file():
            progress.begin("check")
            rows += check_rows(run_check(environment, check))
    except (FailureError, ValueError) as error:
        sys.stdout.write(f"{error}\n")
        reason = str(error).splitlines()[-1] if str(error) else "no output"
        return {"status": "failed", "reason": reason, **facts, "rows": rows}
    return {"status": "passed", "reason": "", **facts, "rows": rows}


if __name__ == "__main__":
    sys.exit(main())
