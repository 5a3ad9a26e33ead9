"""Plant each bug of ``bugs.txt`` and run the tests that must catch it.

``make test-mutants`` takes some minutes on two cores.  It works on copies of the
checkout, whose files stay as they are.  Each bug first meets the tests that are named
beside it; one that they miss meets the whole suite.
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
from typing import NamedTuple

from tests.wheels.__main__ import copy_checkout

ROOT = Path(__file__).resolve().parents[2]
SECONDS = 900


class Bug(NamedTuple):
    """A change of lines that a test must notice: an entry of ``bugs.txt``.

    An entry has a line with the file, the tests to try first and a name, the lines of
    the file and, in their place, other lines.  The first stand in the file once.
    """

    name: str
    file: str
    tests: str
    old: str
    new: str

    def plant(self) -> str:
        """Return the file with the bug in it."""
        source = (ROOT / self.file).read_text("utf-8")
        if source.count(self.old) != 1:
            message = f"{self.file} has {source.count(self.old)} times:\n{self.old}"
            raise ValueError(f"{self.name}: its place has gone: {message}")
        return source.replace(self.old, self.new)


def read_bugs() -> list[Bug]:
    bugs = []
    for entry in Path(__file__).with_name("bugs.txt").read_text("utf-8").split("\n\n"):
        title, *lines = entry.splitlines()
        places, _, name = title.partition(": ")
        file, tests = places.split()
        old, new = (
            "".join(f"{line[1:]}\n" for line in lines if line[0] == sign)
            for sign in "-+"
        )
        bugs.append(Bug(name, file, tests, old, new))
    return bugs


def first_failure(checkout: Path, arguments: list[str]) -> str | None:
    """Run tests; return the first that fails, or None if all pass.

    It is a `ValueError` if pytest runs none, as with a path that does not exist.
    """
    environment = {**os.environ, "PYTHONDONTWRITEBYTECODE": "1"}
    command = [sys.executable, "-m", "pytest", "-q", "-x", "-p", "no:cacheprovider"]
    try:
        run = subprocess.run(
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
    if run.returncode == 0:
        return None
    failure = re.search(r"^(?:FAILED|ERROR) (\S+)", run.stdout, re.MULTILINE)
    if failure:
        return failure[1]
    if run.returncode in (4, 5):  # a wrong argument; no test
        raise ValueError(f"pytest {' '.join(arguments)}: {run.stdout}{run.stderr}")
    return f"exit code {run.returncode}"  # a crash, or no test file could be read


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
        (checkout / bug.file).write_text(source, "utf-8")
        failure = first_failure(checkout, [bug.tests])
        if failure is None:
            failure = first_failure(checkout, ["-n", "auto"])
    return bug, failure, time.monotonic() - begun


def main() -> int:
    """Return the exit code: 0 if every bug is caught."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("words", nargs="*", help="of the names of bugs; none: all")
    parser.add_argument("--jobs", type=int, default=2, help="bugs at a time")
    options = parser.parse_args()
    words = options.words or [""]
    bugs = [bug for bug in read_bugs() if any(word in bug.name for word in words)]
    sources = [bug.plant() for bug in bugs]
    missed = 0
    with ThreadPoolExecutor(options.jobs) as pool:
        tries = pool.map(try_bug, bugs, sources)
        for number, (bug, failure, seconds) in enumerate(tries, 1):
            missed += failure is None
            outcome = f"caught by {failure}" if failure else "NOT CAUGHT"
            line = f"{number}/{len(bugs)} {bug.name} ({bug.file})"
            print(f"{line}: {outcome}, {seconds:.0f} s", flush=True)  # noqa: T201
    print(f"{len(bugs) - missed} of {len(bugs)} bugs were caught")  # noqa: T201
    return int(missed > 0)


if __name__ == "__main__":
    sys.exit(main())
