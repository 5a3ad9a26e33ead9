"""The archives are complete, run elsewhere, and are refused while something is missing.

The checks of the archives and of a release find each kind of fault.
"""

import re
import shutil
import subprocess
import sys
import zipfile

import pytest

import roll_vec
from roll_vec import errors
from tests.conftest import ROOT
from tests.wheels import __main__ as wheels
from tests.wheels import release

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
    kernels = "kernels" if is_sdist else "roll_vec/kernels"
    assert {"roll_vec/py.typed", f"{kernels}/rng/pcg64.py"} <= needed
    assert sum(name.endswith((".ini", ".json.gz")) for name in needed) == 5
    assert ("CITATION.cff" in needed) is is_sdist
    assert wheels.unwanted_files(needed) == []
    # Tests, caches and second kernels are not.
    unwanted = [
        ".github/workflows/ci.yml",
        "docs/levels.md",
        "roll_vec/.DS_Store",
        "roll_vec/__pycache__/env.cpython-311.pyc",
        "tests/test_docs.py",
    ]
    names = {*unwanted, "roll_vec/testing/runner.py"}
    assert wheels.unwanted_files(names) == unwanted


def test_a_release_lacks_nothing_when_its_owner_and_date_are_written(tmp_path):
    owners = release.find_owners(ROOT)
    (owner,) = set().union(*owners.values())  # the same in every file
    assert f"https://github.com/{owner}/roll_vec/" in errors.DOCS
    citation = (ROOT / "CITATION.cff").read_text("utf-8")
    date = re.search(r'^date-released: "(\d{4}-\d\d-\d\d)"$', citation, re.MULTILINE)[1]
    others = {"roll_vec/version.py", "docs/installation.md", "CHANGELOG.md"}
    for name in {*owners, *others}:
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / name, tmp_path / name)

    def git(*arguments):
        command = ["git", "-c", "user.name=a", "-c", "user.email=a@b.c", *arguments]
        subprocess.run(command, cwd=tmp_path, check=True, stdout=subprocess.DEVNULL)

    def find_faults():
        faults = release.find_faults(tmp_path, date)
        return [fault.split(":")[0].removeprefix("the ") for fault in faults]

    git("init", "--quiet")
    (tmp_path / "roll_vec" / "version.py").write_text('__version__ = "0"\n')
    (tmp_path / "CITATION.cff").write_text("https://github.com/other/roll_vec\n")
    (tmp_path / "CHANGELOG.md").write_text("## [Unreleased]\n\n- more\n")
    (tmp_path / "README.md").write_text("It is not on PyPI yet.\n")
    git("add", ".")
    git("commit", "-m", "all")
    git("tag", f"v{roll_vec.__version__}")
    (tmp_path / "docs" / "installation.md").write_text("It is not on PyPI yet.\n")
    assert find_faults() == [
        *("roll_vec/version.py", "CITATION.cff", "CITATION.cff", "CHANGELOG.md"),
        *("CHANGELOG.md", "README.md", "docs/installation.md", "tree is not clean"),
        f"tag v{roll_vec.__version__} exists",
        *(["repository has no owner"] if owner == "OWNER" else []),
        "CITATION.cff",
    ]
    git("tag", "-d", f"v{roll_vec.__version__}")
    shutil.copy(ROOT / "roll_vec" / "version.py", tmp_path / "roll_vec")
    (tmp_path / "CITATION.cff").write_text(citation)
    log = f"## [Unreleased]\n\n## [{roll_vec.__version__}] - {date}\n\n- all\n"
    (tmp_path / "CHANGELOG.md").write_text(log)
    for name in ("README.md", "docs/installation.md"):
        (tmp_path / name).write_text("pip install roll-vec\n")
    with pytest.raises(SystemExit, match="expected an account"):
        release.write_owner(tmp_path, "no name")
    release.write_owner(tmp_path, "some-one")
    git("commit", "-a", "-m", "release")
    assert find_faults() == []
