"""Plant each bug of the list and run the tests that must catch it.

``make test-mutants`` takes some minutes on two cores.  It works on copies of the
checkout, whose files stay as they are.  A bug whose place has gone is an error: name
its new place.  Each bug first meets the tests that are named beside it; one that they
miss meets the whole suite.
"""

import argparse
import os
import re
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from tests.mutants.bugs import BUGS, Bug
from tests.mutants.changes import plant
from tests.wheels.__main__ import copy_checkout

ROOT = Path(__file__).resolve().parents[2]
SECONDS = 900


def plant_all(bugs: list[Bug]) -> dict[Bug, str]:
    """Return the source of each bug's module with the bug in it.

    A bug whose place is not in the code any more is a `ValueError`.
    """
    sources = {}
    for bug in bugs:
        try:
            source = bug.path(ROOT).read_text("utf-8")
            sources[bug] = plant(source, bug.function, bug.change)
        except (OSError, ValueError) as error:
            message = f"{bug.name}: its place has gone: {error}"
            raise ValueError(message) from error
    return sources


def first_failure(checkout: Path, arguments: list[str]) -> str | None:
    """Run tests; return the first that fails, or None if all pass.

    It is a `ValueError` if pytest runs none, as with a path that does not exist.
    """
    environment = {**os.environ, "PYTHONDONTWRITEBYTECODE": "1"}
    command = [sys.executable, "-m", "pytest", "-q", "-x", "-p", "no:cacheprovider"]
    try:
        done = subprocess.run(
            [*command, *arguments],
            cwd=checkout,
            env=environment,
            capture_output=True,
            text=True,
            timeout=SECONDS,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return f"no end within {SECONDS} s"
    if done.returncode == 0:
        return None
    failure = re.search(r"^(?:FAILED|ERROR) (\S+)", done.stdout, re.MULTILINE)
    if failure:
        return failure[1]
    if done.returncode in (4, 5):  # a wrong argument; no test
        message = f"pytest {' '.join(arguments)}: {done.stdout}{done.stderr}"
        raise ValueError(message)
    return f"exit code {done.returncode}"  # a crash, or no test file could be read


def try_bug(bug: Bug, source: str) -> tuple[Bug, str | None, float]:
    """Return a bug, the test that catches it, and the seconds that it took."""
    begun = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="mutant-") as folder:
        checkout = Path(folder, ROOT.name)
        checkout.mkdir()
        copy_checkout(checkout)
        # Tests look for golden tables beside the checkout.
        shared = ROOT.parent / "shared"
        if shared.is_dir():
            (checkout.parent / "shared").symlink_to(shared)
        bug.path(checkout).write_text(source, "utf-8")
        failure = first_failure(checkout, [bug.tests])
        if failure is None:
            failure = first_failure(checkout, ["-n", "auto"])
    return bug, failure, time.monotonic() - begun


def main() -> int:
    """Return the exit code: 0 if every bug is caught."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("names", nargs="*", help="bugs to plant; none: all")
    parser.add_argument("--jobs", type=int, default=2, help="bugs at a time")
    options = parser.parse_args()
    known = {bug.name: bug for bug in BUGS}
    if missing := set(options.names) - set(known):
        parser.error(f"no bug is named {', '.join(sorted(missing))}")
    bugs = [known[name] for name in options.names] or BUGS
    try:
        sources = plant_all(bugs)
    except ValueError as error:
        parser.error(str(error))
    missed = 0
    with ThreadPoolExecutor(options.jobs) as pool:
        tries = pool.map(try_bug, bugs, sources.values())
        for number, (bug, failure, seconds) in enumerate(tries, 1):
            missed += failure is None
            outcome = f"caught by {failure}" if failure else "NOT CAUGHT"
            line = f"{number}/{len(bugs)} {bug.name} ({bug.module}:{bug.function})"
            print(f"{line}: {outcome}, {seconds:.0f} s", flush=True)  # noqa: T201
    print(f"{len(bugs) - missed} of {len(bugs)} bugs were caught")  # noqa: T201
    return int(missed > 0)


if __name__ == "__main__":
    sys.exit(main())
