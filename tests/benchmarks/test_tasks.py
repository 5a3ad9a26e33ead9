"""Tasks of roll_vec at a tiny size, timed kernels, files; a loop in Python fails."""

import importlib
import time
from contextlib import closing

import gymnasium
import numpy as np
import pytest

from benchmarks import batches, exports, floors, levels, step_costs
from tests.conftest import JIT_OFF

compiled = pytest.mark.skipif(JIT_OFF, reason="plain Python has no speed")
LAKE = {"id": batches.FROZEN_LAKE, "num_envs": 2}
ROOMS = {"id": batches.SOKOBAN, "num_envs": 2, "levels_are": "few", "num_levels": 2}
SHOP = {"num_envs": 2, "num_steps": 12, "num_products": 30}
TINY = [
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
    ("texts.pool", {"num_envs": 2, "wait": 0.001, "workers": 2}),
    ("texts.parse", {"num_texts": 3}),
    ("texts.parse", {"num_texts": 3, "plainly": True}),
    ("custom_env.steps", {**LAKE, "keywords": {}}),
    ("solver.solutions", {"num_boxes": 1, "count": 2, "objective": "pushes"}),
    ("solver.plain_solutions", {"num_boxes": 1, "count": 2}),
    ("snapshots.cost", {**LAKE, "call": "step"}),
    ("snapshots.cost", {**LAKE, "id": "roll_vec/Countdown-v0", "call": "clone"}),
    ("bands.levels", {**LAKE, "id": batches.SOKOBAN, "solution_steps": (3, None)}),
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


@compiled
@pytest.mark.parametrize(("name", "options"), TINY, ids=lambda value: str(value))
def test_task_works_at_a_tiny_size(name, options):
    if name.startswith("webshop"):
        pytest.importorskip("rapidfuzz")
    module, _, function = name.rpartition(".")
    make = getattr(importlib.import_module(f"benchmarks.{module}"), function)
    task = make(**options)
    assert task.measure(0.0) > 0
    assert {*task.settings} <= {"batch", "observation", "levels"}


@compiled
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


@compiled
def test_kernels_are_a_part_of_a_step(monkeypatch):
    monkeypatch.setattr(step_costs, "ENV_STEPS", 1)
    id, keywords = next(iter(step_costs.CASES.values()))
    cost, share = step_costs.measure(id, keywords, 2)
    assert cost > 0.0
    assert share > 0.0


@compiled
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


def best_rate(work, amount, times=7):
    """Return the best of several rates: other load can only make them worse."""
    work()
    rates = []
    for _ in range(times):
        start = time.perf_counter()
        work()
        rates.append(amount / (time.perf_counter() - start))
    return max(rates)


@pytest.fixture(scope="module")
def sync_rate():
    """Return the env-steps/s of Gymnasium's SyncVectorEnv on FrozenLake-v1."""
    env = gymnasium.make_vec("FrozenLake-v1", num_envs=64, vectorization_mode="sync")
    with closing(env):
        env.reset(seed=0)
        actions = np.random.default_rng(0).integers(0, 4, (20, 64))
        return best_rate(lambda: [env.step(batch) for batch in actions], actions.size)


# A tenth of what is usual, or less: a machine that is busy must not fail, a loop over
# environments in Python must.
@compiled
@pytest.mark.parametrize(
    ("id", "keywords", "least"),
    [
        (batches.FROZEN_LAKE, {}, 60),
        (batches.SOKOBAN, {"num_levels": 256}, 40),
        (batches.SOKOBAN, {}, 4),
        (batches.SOKOBAN, {"num_levels": 256, "obs_mode": "text"}, 6),
    ],
)
def test_batches_are_a_multiple_of_sync_vector_env(sync_rate, id, keywords, least):
    with closing(batches.make(id, 4096, **keywords)) as env:
        actions = batches.draw_actions(env, 8)
        rate = best_rate(lambda: [env.step(batch) for batch in actions], actions.size)
    assert rate > least * sync_rate
