"""Install the package beside sets of versions, and run the tests of each.

Run as ``python -m tests.pins [names of sets]``; without names, all of `SETS`.
"""

import subprocess
import sys
from pathlib import Path

from tests.pins.sets import SETS, PinSet
from tests.pythons import find_python

ROOT = Path(__file__).resolve().parent.parent.parent
# One virtual environment a set, kept from run to run.
FOLDER = ROOT / ".pins"
TESTS = [
    "tests/pins",  # the digests of trajectories
    "tests/arrays/test_golden.py",
    "tests/envs/webshop/test_env.py",
    "tests/envs/frozen_lake/test_env.py",  # beside Gymnasium's lake
    "tests/contract/test_lockstep.py",  # beside SyncVectorEnv
    "tests/contract/test_conformance.py",  # the public checker
    "tests/pool/test_leftovers.py",
    # Of the extras: pictures, Parquet, a model behind an endpoint.
    *("tests/watch", "tests/export", "tests/evaluation/test_chat.py"),
    "tests/evaluation/test_verification.py",  # files of other versions
]
PYTEST = ["-m", "pytest", "-q", "-p", "no:cacheprovider"]
_OPENENV = "import roll_vec.adapters.openenv as openenv; openenv"
# Of sets that have a package.
MORE_TESTS = {
    "ray": [*PYTEST, "tests/joined/ray", "-m", "ray and not slow"],
    "torch": [*PYTEST, "tests/learning", "-m", "learning and not slow"],
    "openenv": ["-c", f"{_OPENENV}.create_app('roll_vec/Sokoban-v0')"],
}


def install(name: str, pins: PinSet) -> Path:
    """Return the interpreter of a set's virtual environment, built where it is not."""
    folder = FOLDER / name
    python, done = folder / "bin" / "python", folder / "installed.txt"
    wanted = f"{pins}\n{(ROOT / 'pyproject.toml').read_text()}"
    if done.is_file() and done.read_text() == wanted:
        return python
    try:
        interpreter = find_python(pins.pythons)
    except LookupError as error:
        raise SystemExit(str(error)) from None
    subprocess.run([interpreter, "-m", "venv", "--clear", folder], check=True)
    # pip refuses what cannot be installed together.
    pip = [python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    subprocess.run([*pip, ".[test]", *pins.requirements], cwd=ROOT, check=True)
    done.write_text(wanted)
    return python


def run_tests(python: Path, pins: PinSet) -> bool:
    """Run the tests with the interpreter of a set; return whether they passed."""
    subprocess.run([python, "-m", "pip", "freeze"], cwd=ROOT, check=True)
    runs = [[*PYTEST, "-n", "auto", *TESTS]]
    packages = {requirement.partition("=")[0] for requirement in pins.requirements}
    runs += [tests for package, tests in MORE_TESTS.items() if package in packages]
    codes = [subprocess.run([python, *run], cwd=ROOT).returncode for run in runs]
    return not any(codes)


def main(names: list[str]) -> None:
    """Install and test the named sets, or all."""
    if unknown := sorted(set(names) - set(SETS)):
        message = f"PINS: unknown {', '.join(unknown)}; there are {', '.join(SETS)}"
        raise SystemExit(message)
    failed = []
    for name in names or SETS:
        print(f"\n-- {name}: {' '.join(SETS[name].requirements)}", flush=True)  # noqa: T201
        if not run_tests(install(name, SETS[name]), SETS[name]):
            failed.append(name)
    if failed:
        raise SystemExit(f"failed: {', '.join(failed)}")


if __name__ == "__main__":
    main(sys.argv[1:])
