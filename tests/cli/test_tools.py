"""`roll-vec doctor`, also in a checkout without links."""

import subprocess
import sys
from importlib import metadata

import roll_vec
from tests.conftest import ROOT


def test_doctor_shows_versions_folders_and_cores(works, monkeypatch):
    monkeypatch.setenv("NUMBA_DISABLE_JIT", "0")
    lines = [line.split(maxsplit=1) for line in works("doctor").out.splitlines()]
    rows = dict(lines)
    assert rows["roll_vec"].startswith(f"{roll_vec.__version__}, ")
    assert rows["numpy"] == metadata.version("numpy")
    assert rows["kernels"] == str(ROOT / "kernels")
    assert {"python", "platform", "cores", "compiled", "gymnasium"} <= rows.keys()
    assert rows["NUMBA_DISABLE_JIT"] == "0"


def test_doctor_fails_if_a_package_is_missing(run, monkeypatch):
    def version(name):
        raise metadata.PackageNotFoundError(name)

    monkeypatch.setattr(metadata, "version", version)
    outcome = run("doctor")
    assert outcome.code == 1
    assert "error: numba is not installed: pip install numba\n" in outcome.err


def test_doctor_names_the_fault_of_a_checkout_without_links(tmp_path):
    """Git writes a file for a link on Windows, unless it is told to write links."""
    clone = ("git", "clone", "-q", "--shared", "-c", "core.symlinks=false")
    subprocess.run([*clone, ROOT, tmp_path / "clone"], check=True)
    assert (tmp_path / "clone/roll_vec/kernels").is_file()
    for command, code in (("doctor", 1), ("envs", 2)):
        outcome = subprocess.run(
            [sys.executable, "-m", "roll_vec", command],
            cwd=tmp_path / "clone",
            capture_output=True,
            text=True,
            check=False,
        )
        assert outcome.returncode == code
        assert outcome.stderr.count("\n") == 1
        assert (
            "clone/roll_vec/kernels has to be the folder of the ker" in outcome.stderr
        )
        assert "core.symlinks true" in outcome.stderr
        assert ("numba" in outcome.stdout) is (command == "doctor")
