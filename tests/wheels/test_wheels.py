"""The archives are complete and run elsewhere; each kind of fault is found."""

import re
import shutil
import subprocess
import sys
import zipfile
from functools import partial

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
    wheel, sdist = wheels.build_and_check(tmp_path)
    for path, kernels in ((wheel, "roll_vec/kernels"), (sdist, "kernels")):
        names = set(wheels.read(path))
        assert {"roll_vec/py.typed", f"{kernels}/rng/pcg64.py"} <= names
        assert sum(name.endswith((".ini", ".json.gz")) for name in names) == 5
        assert ("CITATION.cff" in names) is (path == sdist)
    site = tmp_path / "site"
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(site)
    subprocess.run([sys.executable, "-c", PROGRAM], check=True, cwd=site)


def test_tests_caches_and_hidden_files_are_not_wanted():
    unwanted = [
        *(".github/workflows/ci.yml", "docs/levels.md", "roll_vec/.DS_Store"),
        *("roll_vec/__pycache__/env.cpython-311.pyc", "tests/test_docs.py"),
    ]
    assert wheels.unwanted_files({*unwanted, "roll_vec/testing/runner.py"}) == unwanted
    assert wheels.unwanted_files(wheels.needed_files(ROOT, False)) == []


def test_a_release_needs_versions_a_date_an_owner_and_a_clean_tree(tmp_path):
    owners = release.find_owners(ROOT)
    (owner,) = set().union(*owners.values())
    assert f"https://github.com/{owner}/roll_vec/" in errors.DOCS
    citation = (ROOT / "CITATION.cff").read_text("utf-8")
    assert f'\nversion: "{roll_vec.__version__}"\n' in citation
    date = re.search(r'^date-released: "(\d{4}-\d\d-\d\d)"$', citation, re.MULTILINE)[1]
    others = ("CHANGELOG.md", "docs/installation.md", "roll_vec/version.py")
    for name in {*owners, *others}:
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / name, tmp_path / name)

    me = ("-c", "user.name=a", "-c", "user.email=a@b.c")
    git = partial(release.git, tmp_path, *me)

    def faults_of(texts):
        for name, text in texts.items():
            (tmp_path / name).write_text(text, "utf-8")
        return [x.split(":")[0] for x in release.find_faults(tmp_path, date)]

    git("init", "--quiet")
    git("add", ".")
    git("commit", "-m", "all")
    tag = f"v{roll_vec.__version__}"
    git("tag", tag)
    bad = {
        "roll_vec/version.py": '__version__ = "0"\n',
        "CITATION.cff": "https://github.com/other/roll_vec\n",
        "CHANGELOG.md": "## [Unreleased]\n\n- more\n",
        "README.md": "It is not on PyPI yet.\n",
    }
    faults = faults_of({**bad, "docs/installation.md": "not on PyPI"})
    tree = {"the tree is not clean", f"the tag {tag} exists"}
    assert {*faults} >= {*bad, *tree, "docs/installation.md"}
    # Version, date, owner; the section of the version, and "Unreleased".
    assert (faults.count("CITATION.cff"), faults.count("CHANGELOG.md")) == (3, 2)
    assert ("the repository has no owner" in faults) == (owner == "OWNER")
    git("tag", "-d", tag)
    log = f"## [Unreleased]\n\n## [{roll_vec.__version__}] - {date}\n\n- all\n"
    good = {name: (ROOT / name).read_text("utf-8") for name in bad}
    good |= {"CHANGELOG.md": log, "README.md": "", "docs/installation.md": ""}
    faults_of(good)
    with pytest.raises(SystemExit, match="expected an account"):
        release.write_owner(tmp_path, "no name")
    release.write_owner(tmp_path, "some-one")
    git("commit", "-a", "-m", "release")
    assert faults_of({}) == []
