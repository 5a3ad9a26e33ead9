"""Run each framework's page in a virtual environment of its own.

Then, where roll_vec has code for the framework, ``NAME/compare.py``, whose rows say
what it has compared and measured.  ``python -m tests.frameworks`` runs all, with names
some.  The results go to benchmarks/results/frameworks.json and, from there, to the
pages in docs.
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

from cpuinfo import get_cpu_info
from pytest_benchmark.utils import get_commit_info

from docs.build.__main__ import main as write_pages
from tests.frameworks.environment import HERE, Environment, FailureError, NotRunError
from tests.frameworks.frameworks import FRAMEWORKS
from tests.frameworks.programs import ROOT, program_of, text_of
from tests.frameworks.results import Results, read_results, write_results


def main(arguments: Sequence[str] | None = None) -> int:
    """Run frameworks; return how many failed."""
    parser = argparse.ArgumentParser(
        prog="python -m tests.frameworks",
        description="Run the program of each framework's page and its comparisons, "
        "and write frameworks.json and the tables and figures of the pages.  The other "
        "frameworks keep their results.",
    )
    add = parser.add_argument
    names = f"only these of {', '.join(FRAMEWORKS)}"
    add("names", nargs="*", metavar="NAME", choices=FRAMEWORKS, help=names)
    clones = "of clones of the frameworks that PyPI does not have"
    add("--checkouts", type=Path, metavar="FOLDER", default=Path(), help=clones)
    keep = "keep the virtual environments here, and use those that are here"
    add("--keep", type=Path, metavar="FOLDER", help=keep)
    args = parser.parse_args(arguments)
    # A run that is stopped ends its program too.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit("stopped"))
    results = read_results()
    with contextlib.ExitStack() as stack:
        folder = args.keep
        if folder is None:
            folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        names = args.names or list(FRAMEWORKS)
        failures = run_all(names, folder.resolve(), args, results)
    write_pages([])
    sys.stdout.write(f"failed: {', '.join(failures) or 'none'}\n")
    return len(failures)


def run_all(
    names: Sequence[str], folder: Path, args: argparse.Namespace, results: Results
) -> list[str]:
    """Run frameworks, write the file after each, and return those that failed."""
    wheel = build_wheel(folder / "wheels")
    commit = get_commit_info()
    facts = {
        "date": date.today().isoformat(),
        "revision": f"{commit['id'][:8]}{'+' * commit['dirty']}",
        "machine": {"cpu": get_cpu_info()["brand_raw"], "cores": os.cpu_count()},
    }
    failures = []
    for number, name in enumerate(names, 1):
        title, start = f"[{number}/{len(names)}] {name}", time.monotonic()
        sys.stderr.write(f"{title}\n")
        environment = Environment(FRAMEWORKS[name], folder / name, args.checkouts)
        result = run(name, environment, wheel, facts)
        if result["status"] == "failed":
            failures.append(name)
        # Another run may have written meanwhile.
        results.update(read_results())
        # One that could not be run keeps its result of the run before.
        if "rows" in result or name not in results:
            results[name] = result
        write_results(results)
        seconds = f"{time.monotonic() - start:.0f} s"
        words = f"{title}: {result['status']} after {seconds} {result['reason']}"
        sys.stdout.write(f"{words.rstrip()}\n")
        sys.stdout.flush()
    return failures


def build_wheel(folder: Path) -> Path:
    """Return a wheel of this checkout."""
    for old in folder.glob("*.whl"):
        old.unlink()
    build = [sys.executable, "-m", "pip", "wheel", "-q", "--no-deps", "-w", folder]
    subprocess.run([*build, ROOT], check=True)
    (wheel,) = folder.glob("*.whl")
    return wheel


def run(
    name: str, environment: Environment, wheel: Path, facts: dict[str, Any]
) -> dict[str, Any]:
    """Return the result of a framework: with the facts and rows, if it could be run."""
    try:
        environment.install(wheel)
    except NotRunError as error:
        return {"status": "not run", "reason": str(error)}
    except FailureError as error:
        sys.stdout.write(f"{error}\n")
        lines = str(error).splitlines()
        reason = [*lines, *(line for line in lines if "ERROR" in line)][-1]
        return {"status": "failed", "reason": f"no installation: {reason}"}
    result: dict[str, Any] = {"status": "passed", "reason": "", **facts}
    result |= {"versions": environment.versions(), "rows": []}
    try:
        if program := program_of(text_of(name)):
            # Python imports from the program's folder first.
            file = environment.folder / "program" / "program.py"
            file.parent.mkdir(exist_ok=True)
            file.write_text(program, "utf-8")
            environment.run([environment.python, file])
        comparisons = HERE / name / "compare.py"
        if comparisons.is_file():
            result["rows"] = environment.compare(comparisons)
    except (FailureError, ValueError) as error:
        sys.stdout.write(f"{error}\n")
        reason = str(error).splitlines()[-1] if str(error) else "no output"
        result |= {"status": "failed", "reason": reason}
    return result


if __name__ == "__main__":
    sys.exit(main())
