"""The suite of benchmarks runs, and pages have no figures but those of its results."""

import json
import os
import re
import subprocess
import sys

import numpy as np
import pytest

from benchmarks import baselines, peers, tables
from benchmarks.baselines import PPO, measured_pairs, results
from docs.build.pages import PAGES
from roll_vec.envs.sokoban import load_levels
from roll_vec.evaluation import find_split
from tests.conftest import JIT_OFF, ROOT

pytest.importorskip("pytest_benchmark")
ROWS = json.loads(baselines.RESULTS.read_text("utf-8"))
# Rates, durations and sizes; limits of memory are in MiB.
RATES = r"\d ?(?:[nuµm]?s|MB|[a-z]+/s)\b|\d×(?! ?\d)|PPO.*\d %|\d %.*PPO"


def run_benchmarks(*words):
    """Run the suite in a process of its own: it is off in workers of xdist."""
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *words]
    variables = {k: v for k, v in os.environ.items() if k != "PYTEST_XDIST_WORKER"}
    result = subprocess.run(
        command, cwd=ROOT, env=variables, capture_output=True, text=True
    )
    assert result.returncode == 0, result.stdout
    return result.stdout


def test_a_group_is_measured_in_turns_and_shown(tmp_path, capsys):
    path = tmp_path / "run.json"
    words = ["benchmarks/test_pool.py", "-k", "cheap", "--benchmark-only"]
    words += ["--benchmark-min-rounds", "3", "--benchmark-max-time", "0.01"]
    assert "OPS" in run_benchmarks(*words, f"--benchmark-json={path}")
    content = json.loads(path.read_text("utf-8"))
    assert content["machine_info"]["packages"]["numpy"] == np.__version__
    ours, theirs = content["benchmarks"]
    assert len(ours["stats"]["data"]) == len(theirs["stats"]["data"]) == 3
    # A time is that of one step of one environment.
    assert ours["stats"]["iterations"] % (16 * 256) == 0
    path.write_text(json.dumps(tables.strip(content)), "utf-8")
    tables.main([str(path)])
    name, _, first, second, _ = capsys.readouterr().out.split("\n", 4)
    assert ours["group"] in name
    assert re.match(r"\| roll_vec \| \S+ steps/s \| \S+ [nµm]s \| 1\.00× ", first)
    ratio = theirs["stats"]["data"][0] / ours["stats"]["data"][0]
    assert tables.ratios(tables.read(path)[1][ours["group"]], "SyncVectorEnv")[
        0
    ] == pytest.approx(ratio, rel=0.01)
    assert second.startswith("| SyncVectorEnv | ")


def test_the_spread_of_ratios_is_shown():
    groups = {
        f"steps of {id}, 8": {
            side: {"stats": {"data": [seconds, seconds, 9.0]}}
            for side, seconds in (("roll_vec", 2.0), ("EnvPool", 2 * times))
        }
        for id, times in (("A", 3), ("B", 1), ("C", 200))
    }
    groups["steps of D, 9"] = groups["steps of A, 8"]
    lines = tables.spread("^steps of (.*), 8", groups).splitlines()
    assert lines[2:] == ["| EnvPool | 3 | 1.00× (B) | 3.00× | 200× (C) |"]


@pytest.mark.slow
@pytest.mark.skipif(JIT_OFF, reason="plain Python has no speed")
def test_every_benchmark_works():
    # First calls and memory start many processes: those of one game.
    some = "(not (first_call or memory) or FrozenLake-v1) and "
    some += "(not minigrid or DoorKey-8x8)"
    run_benchmarks("benchmarks", "--benchmark-disable", "-k", some)


def test_peers_play_the_same_levels(monkeypatch):
    monkeypatch.setattr(peers.importlib.util, "find_spec", lambda name: None)
    peers.levels.cache_clear()
    levels = peers.levels()
    peers.levels.cache_clear()
    assert len(levels) > 100
    assert ((levels[..., 1] == peers.BOX).sum(axis=(1, 2)) == peers.NUM_BOXES).all()
    lines = ["##########", "#@$. *   #", *["#        #"] * 7, "##########"]
    grid = load_levels(["\n".join(lines)]).arrays[0]
    form = peers.to_boxoban(grid)
    assert (peers.CODES[form[..., 0], form[..., 1]] == grid).all()
    (level,) = peers.encode(form[np.newaxis])
    player, walls, boxes, targets = level[:400].reshape(4, 10, 10)
    assert np.argwhere(player).tolist() == [[1, 1]]
    assert walls.sum() == 36
    assert np.argwhere(boxes).tolist() == [[1, 2], [1, 5]]
    assert np.argwhere(targets).tolist() == [[1, 3], [1, 5]]
    # Column and row of the player; boxes, targets, boxes on targets.
    assert level[400:].tolist() == [1, 1, 2, 2, 1]


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.stem)
def test_figures_of_pages_come_from_results(path):
    text = path.read_text("utf-8")
    typed = re.sub(r"<!-- (?!end).*?<!-- end -->|```.*?```", "", text, flags=re.DOTALL)
    assert not re.findall(f"^.*(?:{RATES}).*$", typed, re.M), "a figure typed by hand"


def test_baselines_have_a_row_for_each_policy_and_split():
    pairs = measured_pairs()
    assert [*ROWS] == [f"{split.id} {split.name}: {policy}" for split, policy in pairs]
    for split, policy in pairs:
        row = ROWS[f"{split.id} {split.name}: {policy}"]
        assert (row["digest"], row["episodes"]) == (split.digest, len(split))
        assert row["faults"] == 0
        assert policy != PPO or len(row["checkpoint"]) == 64
    for split in {split.digest: split for split, _ in pairs}.values():
        random, greedy, solver = (
            ROWS.get(f"{split.id} {split.name}: {policy}")
            for policy in ("random", "greedy", "solver")
        )
        if solver:
            # Where there is no greedy play, random play may always get to the end.
            figure = "success" if greedy else "return"
            assert random[figure][2] < solver[figure][1]
        if greedy:
            assert random["success"][0] <= greedy["success"][0] <= solver["success"][0]


@pytest.mark.parametrize(
    ("id", "name", "policy"),
    [
        ("roll_vec/RandomFrozenLake-v0", "test-no-slip", "greedy"),
        ("roll_vec/Sokoban-v0", "test-1-box", "solver"),
        pytest.param("roll_vec/WebShop-v0", "test", "greedy", marks=pytest.mark.slow),
    ],
)
def test_a_baseline_is_measured_again(id, name, policy):
    row = results(find_split(id, name), policy, num_envs=100)
    assert row == ROWS[f"{id} {name}: {policy}"]
