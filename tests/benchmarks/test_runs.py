"""Rows have their contenders, tasks work, and a step has no loop in Python."""

import importlib
import inspect
import json
import re
import sys
from contextlib import closing

import numpy as np
import pytest

from benchmarks import batches, cases, levels, own_cases, plot, suite
from benchmarks.__main__ import main
from benchmarks.comparisons import Case
from benchmarks.peers import PEERS, pufferlib
from benchmarks.processes import ROOT
from benchmarks.result import read_result
from roll_vec.envs.sokoban import load_levels
from tests.conftest import JIT_OFF

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="contenders use fork")


def every_case():
    """Yield every case, whole and quick, as parameters of a test."""
    for name, make in cases.CASES.items():
        known = ("levels.npy", "levels", "")
        extra = known[: {"boxoban": 2, "pufferlib": 3}.get(name, 0)]
        for quick in (False, True):
            made = make(quick, *extra)
            for case in [made] if isinstance(made, Case) else made:
                yield pytest.param(case, quick, id=f"{name}-{case.title}-{quick}")
    case = own_cases.custom(batches.FROZEN_LAKE, [1, 16], {})
    yield pytest.param(case, False, id="custom")


@pytest.mark.parametrize(("case", "quick"), [*every_case()])
def test_rows_find_their_contenders_and_these_their_tasks(case, quick):
    names = [contender.name for contender in case.contenders]
    assert len({*names}) == len(names)
    assert case.complete_rows
    assert quick or case.complete_rows == case.rows
    for row in case.rows:
        ours, theirs = {*case.names(row.subject)}, {*case.names(row.baseline)}
        assert not row.baseline or not ours & theirs
        # Only sizes compete for a side.
        assert len({re.sub(r"\d+", "", name) for name in ours}) <= 1
    # No contender is measured for nothing.
    prefixes = [prefix for row in case.complete_rows for prefix in row.prefixes]
    assert all(name.startswith((*case.plots, *prefixes)) for name in names)
    for contender in case.contenders:
        path = ROOT.joinpath(*contender.module.split(".")).with_suffix(".py")
        assert path.is_file()
        assert contender.peer in ("", *PEERS)
        if not contender.peer:
            task = getattr(importlib.import_module(contender.module), contender.task)
            inspect.signature(task).bind(**contender.options)
            json.dumps(contender.options)


def test_the_command_shows_and_writes_a_run(tmp_path, capsys, monkeypatch):
    pytest.importorskip("matplotlib")
    monkeypatch.setattr(suite, "SECONDS", 0.01)
    monkeypatch.setattr(suite, "SWEEPS", 1)
    out = tmp_path / "run.json"
    words = ["--env", batches.FROZEN_LAKE, "-o", "map_name=8x8", "--num-envs", "3"]
    assert main([*words, "--rounds", "1", "--out", str(out)]) == 0
    assert "SyncVectorEnv" in capsys.readouterr().out
    (row,) = read_result(out)["rows"]
    assert row["title"] == f"{batches.FROZEN_LAKE}, 3"
    content = {**read_result(out), "curves": {"X": {"roll_vec": [[1, 2, 1, 3]]}}}
    plot.draw(content, tmp_path / "run.png")
    assert (tmp_path / "run.png").stat().st_size > 1000


compiled = pytest.mark.skipif(JIT_OFF, reason="plain Python has no speed")
SMALL = {"num_envs": 2, "num_levels": 2, "num_steps": 3, "length": 3, "count": 50}
SMALL |= {"num": 2, "num_products": 30, "num_texts": 3, "wait": 0.001, "workers": 2}


def every_task():
    """Yield a contender for each task, in each of its ways."""
    seen = set()
    for parameters in every_case():
        for one in parameters.values[0].contenders:
            ways = {k for k, v in one.options.items() if v is True}
            ways |= {one.options.get(name) for name in ("cache", "call")} - {None}
            name = " ".join([one.module[11:], one.task, *sorted(ways)])
            # A first call compiles for long, and levels are read from a file; baselines
            # are compared with their file, and shards need Ray.
            is_short = one.task not in ("first_call", "results", "ratio")
            is_short &= "levels" not in one.options
            if one.peer in ("", "gymnasium") and is_short and name not in seen:
                seen.add(name)
                yield pytest.param(one, id=name)


@compiled
@pytest.mark.parametrize("contender", [*every_task()])
def test_task_works_at_a_tiny_size(contender):
    if "webshop" in contender.module:
        pytest.importorskip("rapidfuzz")
    make = getattr(importlib.import_module(contender.module), contender.task)
    names = {*inspect.signature(make).parameters} | {*contender.options}
    small = {name: SMALL[name] for name in names & SMALL.keys()}
    task = make(**{**contender.options, **small})
    figure = task.measure(0.0)
    if contender.task == "costs":
        # A difference of times, which can be none; the settings are the figures.
        assert figure >= 0
    else:
        assert figure > 0
        assert {*task.settings} <= {"batch", "observation", "levels", "threads"}


def test_levels_of_peers_are_read_and_written(tmp_path):
    fixed = [[1, 0, 2, 2, 0, 0, 2]]
    variable = [[0, 0, 0, 4, 4, 3, 3]]
    path = tmp_path / "x.npy"
    np.save(path, np.stack([fixed, variable], axis=-1).astype(np.uint8))
    assert levels.read_grids(path).tolist() == [[0, 1, 2, 3, 4, 5, 6]]
    lines = ["##########", "#@$. *   #", *["#        #"] * 7, "##########"]
    levels.write_grids(path, load_levels(["\n".join(lines)]).arrays[0])
    (level,) = pufferlib._encode(np.load(path))
    player, walls, boxes, targets = level[:400].reshape(4, 10, 10)
    assert np.argwhere(player).tolist() == [[1, 1]]
    assert walls.sum() == 36
    assert np.argwhere(boxes).tolist() == [[1, 2], [1, 5]]
    assert np.argwhere(targets).tolist() == [[1, 3], [1, 5]]
    # Column and row of the player; boxes, targets, boxes on targets.
    assert level[400:].tolist() == [1, 1, 2, 2, 1]


def count_bytecodes(env, actions):
    """Return how many bytecodes of Python a step runs."""
    count = 0

    def trace(frame, event, _):
        nonlocal count
        frame.f_trace_opcodes = True
        count += event == "opcode"
        return trace

    # Python 3.12 asks for this where tracing begins.
    inspect.currentframe().f_trace_opcodes = True
    previous = sys.gettrace()
    sys.settrace(trace)
    try:
        env.step(actions)
    finally:
        sys.settrace(previous)
    return count


@compiled
@pytest.mark.parametrize(
    ("id", "keywords", "most"),
    [
        (batches.FROZEN_LAKE, {}, 5),
        (batches.SOKOBAN, {"num_levels": 256}, 5),
        (batches.SOKOBAN, {}, 5),
        # A text is an object of Python.
        (batches.SOKOBAN, {"num_levels": 256, "obs_mode": "text"}, 30),
    ],
)
def test_a_step_has_no_loop_over_environments_in_python(id, keywords, most):
    counts = []
    for num_envs in (64, 320):
        with closing(batches.make(id, num_envs, **keywords)) as env:
            actions = batches.draw_actions(env, 9)
            for batch in actions:
                env.step(batch)
            # Where an episode begins, its level may not be there yet.
            counts.append(min(count_bytecodes(env, batch) for batch in actions))
    assert counts[0] > 0
    # A call of a function takes more than that.
    assert counts[1] - counts[0] <= most * (320 - 64)
