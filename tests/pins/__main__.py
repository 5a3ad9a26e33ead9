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
]
# Of sets that have Ray.
RAY_TESTS = ["tests/joined/ray", "-m", "ray and not slow"]
SHOW_VERSIONS = """
import platform, gymnasium, numba, numpy
print("Python", platform.python_version(), "numpy", numpy.__version__,
      "numba", numba.__version__, "Gymnasium", gymnasium.__version__, flush=True)
"""


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
    subprocess.run([python, "-c", SHOW_VERSIONS], cwd=ROOT, check=True)
    command = [python, "-m", "pytest", "-q", "-p", "no:cacheprovider"]
    runs = [["-n", "auto", *TESTS]]
    if any(requirement.startswith("ray") for requirement in pins.requirements):
        runs.append(RAY_TESTS)
    codes = [subprocess.run([*command, *run], cwd=ROOT).returncode for run in runs]
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
