"""`roll-vec levels make`, `warm` and `doctor`, also in a checkout without links."""

import re
import subprocess
import sys
from importlib import metadata

import gymnasium
import numpy as np
import pytest
from gymnasium.vector import AutoresetMode
from numba.core import event

import roll_vec
from roll_vec.envs.sokoban import load_levels
from roll_vec.evaluation import draw_levels
from tests.conftest import JIT_OFF, ROOT

SOKOBAN = "roll_vec/Sokoban-v0"
ROOMS = {"dim_room": (5, 7), "num_boxes": 1}


@pytest.mark.parametrize(
    ("out", "band"), [("set.txt", {}), ("set.XSB", {"solution_steps": (4, 20)})]
)
def test_made_levels_are_those_that_are_played(works, out, band):
    own = [w for k, v in {**ROOMS, **band}.items() for w in ("-o", f"{k}={v}")]
    make = ("--num-levels", 9, "--start-level", 40, "--out", out)
    outcome = works("levels", "make", SOKOBAN, *own, *make)
    assert outcome.out == f"9 levels of {SOKOBAN}, seeds 40 to 48: {out}\n"
    levels, seeds = draw_levels(SOKOBAN, 9, start_level=40, **ROOMS, **band)
    np.testing.assert_array_equal(load_levels(out).grids, levels.grids)
    env = gymnasium.make(SOKOBAN, **ROOMS)
    for grid, seed in zip(levels.grids, seeds.tolist(), strict=True):
        np.testing.assert_array_equal(env.reset(seed=seed)[0], grid)


LAKE = "roll_vec/FrozenLake-v1"


@pytest.mark.skipif(JIT_OFF, reason="nothing is compiled with the JIT off")
def test_after_it_a_batch_compiles_nothing(works):
    first, last = works("warm", LAKE).out.splitlines()
    assert re.fullmatch(r"compiling the kernels of 1 environment in \d+ proc\w+", first)
    assert re.fullmatch(r"\d+ kernels? compiled in \d+ s; \d+ in .*", last)
    with event.install_recorder("numba:compile") as recorder:
        for mode in AutoresetMode:
            envs = roll_vec.make_vec(LAKE, 16, autoreset_mode=mode)
            envs.reset(seed=0)
            envs.step(envs.action_space.sample())
            if mode is not AutoresetMode.DISABLED:
                envs.unroll([envs.action_space.sample()] * 40)
            envs.close()
    assert recorder.buffer == []


@pytest.mark.skipif(not JIT_OFF, reason="the error of a process with the JIT off")
def test_without_the_jit_it_is_refused(fails):
    assert "got NUMBA_DISABLE_JIT=1" in fails("warm")


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
