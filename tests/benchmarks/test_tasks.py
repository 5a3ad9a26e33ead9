"""Tasks of roll_vec at a tiny size, files of levels, timed kernels."""

import importlib

import numpy as np
import pytest

from benchmarks import batches, exports, floors, levels, step_costs
from tests.conftest import JIT_OFF

LAKE = {"id": batches.FROZEN_LAKE, "num_envs": 2}
ROOMS = {"id": batches.SOKOBAN, "num_envs": 2, "levels_are": "few", "num_levels": 2}
SHOP = {"num_envs": 2, "num_steps": 12, "num_products": 30}
TINY = [
    ("batches.steps", {**LAKE, "levels_are": "one"}),
    ("batches.steps", ROOMS),
    ("batches.unroll", {**ROOMS, "length": 3}),
    ("batches.rooms", {"size": 6, "num_boxes": 1, "count": 2}),
    ("batches.room_times", {"size": 6, "num_boxes": 1, "statistic": "mean"}),
    ("peers.gymnasium.frozen_lake", {"num_envs": 2}),
    ("peers.gymnasium.single", {"id": batches.FROZEN_LAKE}),
    ("countdown.tasks", {}),
    ("countdown.scores", {}),
    ("countdown.episodes", {"num_envs": 2, "num_steps": 2}),
    ("countdown.episodes", {"num_envs": 2, "num_steps": 2, "sync": True}),
    ("texts.pool", {"num_envs": 2, "workers": 0}),
    ("texts.pool", {"num_envs": 2, "wait": 0.001, "workers": 2}),
    ("texts.parse", {"num_texts": 3}),
    ("texts.parse", {"num_texts": 3, "plainly": True}),
    ("custom_env.steps", {**LAKE, "keywords": {}}),
    ("solver.solutions", {"num_boxes": 1, "count": 2, "objective": "pushes"}),
    ("solver.plain_solutions", {"num_boxes": 1, "count": 2}),
    *(
        ("snapshots.cost", {**LAKE, "call": call})
        for call in ("step", "get", "set", "clone")
    ),
    (
        "snapshots.cost",
        {"id": "roll_vec/Countdown-v0", "num_envs": 2, "call": "clone"},
    ),
    (
        "bands.levels",
        {"id": "roll_vec/Sokoban-v0", "num_envs": 2, "solution_steps": (3, None)},
    ),
    ("goals.policy.loop_ratio", {"num_envs": 2, "num_steps": 3}),
    ("goals.policy.slowest_turn", {"num_envs": 2, "num_steps": 3}),
    ("goals.steps.step_time", {**LAKE}),
    ("goals.kernels.kernel_share", {**LAKE}),
    (
        "goals.unrolls.unroll_ratio",
        {"game": "FrozenLake-v1", "num_envs": 2, "num_steps": 3},
    ),
    ("goals.steps.worst_ratio", {"id": batches.FROZEN_LAKE, "sizes": (2, 3)}),
    ("webshop.steps", {"cache": "cold", **SHOP}),
    ("webshop.steps", {"cache": "pool", **SHOP}),
    ("webshop.search", {"num_products": 30}),
    ("webshop.make_shop", {"num_products": 30}),
    ("webshop.open_shop", {"num_products": 30}),
]


@pytest.mark.skipif(JIT_OFF, reason="as plain Python there is nothing to measure")
@pytest.mark.parametrize(("name", "options"), TINY, ids=lambda value: str(value))
def test_task_works_at_a_tiny_size(name, options):
    if name.startswith("webshop"):
        pytest.importorskip("rapidfuzz")
    module, _, function = name.rpartition(".")
    make = getattr(importlib.import_module(f"benchmarks.{module}"), function)
    task = make(**options)
    assert task.measure(0.0) > 0
    assert {*task.settings} <= {"batch", "observation", "levels"}


@pytest.mark.skipif(JIT_OFF, reason="as plain Python there is nothing to measure")
@pytest.mark.parametrize(
    "workload", floors.WORKLOADS, ids=lambda workload: workload.title
)
def test_kernels_are_timed_where_they_are_called(workload):
    small = {**workload.keywords, "num_levels": 2} if workload.keywords else {}
    costs = floors.measure(workload._replace(keywords=small), 3, rounds=1, env_steps=30)
    assert [name for name, _, _ in costs] == ["step", *workload.kernels]
    # No room ends in so short a time; every other kernel must have been called.
    assert all(cost > 0 for name, cost, _ in costs if not name.endswith("begin_rows"))
    assert costs[0][1] > sum(cost for _, cost, _ in costs[1:])


@pytest.mark.skipif(JIT_OFF, reason="nothing is compiled")
def test_kernels_are_a_part_of_a_step(monkeypatch):
    monkeypatch.setattr(step_costs, "ENV_STEPS", 1)
    id, keywords = next(iter(step_costs.CASES.values()))
    cost, share = step_costs.measure(id, keywords, 2)
    assert cost > 0.0
    assert share > 0.0


@pytest.mark.skipif(JIT_OFF, reason="draws rooms")
def test_levels_are_drawn_without_envpool_and_read_in_our_codes(tmp_path):
    path, description = levels.find_levels("/no/such/python", tmp_path, count=5)
    assert description == "5 rooms of our generator"
    env = batches.make(batches.SOKOBAN, 4, levels=path)
    assert env.reset(seed=0)[0].shape == (4, 10, 10)
    env.close()
    fixed = [[1, 0, 2, 2, 0, 0, 2]]
    variable = [[0, 0, 0, 4, 4, 3, 3]]
    np.save(tmp_path / "x.npy", np.stack([fixed, variable], axis=-1).astype(np.uint8))
    assert levels.read_grids(tmp_path / "x.npy").tolist() == [[0, 1, 2, 3, 4, 5, 6]]


def test_an_export_writes_and_deletes_a_file(tmp_path, monkeypatch):
    monkeypatch.setattr(exports, "ID", "roll_vec/FrozenLake-v1")
    keywords = {**exports.TEXTS, "is_slippery": False}
    monkeypatch.setattr(exports, "KEYWORDS", {"messages": keywords})
    write = exports.make_export("messages", 3, tmp_path / "rows.jsonl")
    write()
    write()
    assert not list(tmp_path.iterdir())
