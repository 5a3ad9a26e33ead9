"""The archives are complete, run elsewhere, and are refused while something is missing.

The checks of the archives and of a release find each kind of fault.
"""

import shutil
import subprocess
import sys
import zipfile

import pytest

from tests.conftest import ROOT
from tests.wheels import __main__ as wheels
from tests.wheels.release import find_faults, read_version

PROGRAM = """
import gymnasium, roll_vec
assert "site" in roll_vec.__file__
envs = gymnasium.make_vec("roll_vec/FrozenLake-v1", num_envs=2)
envs.reset(seed=0)
envs.step([0, 1])
from roll_vec.envs.webshop.catalogue import DEMO_SHOP
assert len([*DEMO_SHOP.glob("*.json.gz")]) == 4
"""


@pytest.mark.slow
def test_archives_are_complete_and_the_wheel_runs_elsewhere(tmp_path):
    wheel, _ = wheels.build_and_check(tmp_path)
    site = tmp_path / "site"
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(site)
    subprocess.run([sys.executable, "-c", PROGRAM], check=True, cwd=site)


@pytest.mark.parametrize("is_sdist", [False, True])
def test_kernels_and_files_that_are_not_python_are_needed(is_sdist):
    needed = wheels.needed_files(ROOT, is_sdist)
    assert {"roll_vec/py.typed", "roll_vec/kernels/rng/pcg64.py"} <= needed
    assert sum(name.endswith((".ini", ".json.gz")) for name in needed) == 5
    assert ("CITATION.cff" in needed) is is_sdist
    assert wheels.unwanted_files(needed) == []
    # Tests, caches and second kernels are not.
    unwanted = [
        ".github/workflows/ci.yml",
        "docs/levels.md",
        "kernels/grids.py",
        "roll_vec/.DS_Store",
        "roll_vec/__pycache__/env.cpython-311.pyc",
        "roll_vec/kernels/kernels/grids.py",
        "tests/test_docs.py",
    ]
    names = {*unwanted, "roll_vec/testing/runner.py"}
    assert wheels.unwanted_files(names) == unwanted


def test_what_a_release_lacks_is_named(tmp_path):
    (tmp_path / "roll_vec").mkdir()
    for name in ("pyproject.toml", "CITATION.cff", "CHANGELOG.md"):
        shutil.copy(ROOT / name, tmp_path)
    version = tmp_path / "roll_vec" / "version.py"
    version.write_text('__version__ = "0"\n')
    (tmp_path / "CHANGELOG.md").write_text("## [Unreleased]\n\n- more\n")
    files = [fault.partition(":")[0] for fault in find_faults(tmp_path)]
    assert files == ["roll_vec/version.py", "CHANGELOG.md", "CHANGELOG.md"]
    shutil.copy(ROOT / "roll_vec" / "version.py", version)
    title = f"## [{read_version(ROOT)}] - 2026-01-31"
    (tmp_path / "CHANGELOG.md").write_text(f"## [Unreleased]\n\n{title}\n\n- all\n")
    assert find_faults(tmp_path) == []
