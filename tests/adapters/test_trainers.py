"""Environments of ROLL, RAGEN, verl-agent and TRL: what their transcripts leave out."""

import contextlib
import gc
import importlib
import itertools
import json
import sys
import types
import weakref
from concurrent.futures import ThreadPoolExecutor

import gymnasium
import pytest

from roll_vec.adapters.roll import GemSokobanEnv, GemWebShopEnv, register_gem_envs
from roll_vec.adapters.roll.registration import GEM_IDS
from roll_vec.adapters.trl import environment_factory
from roll_vec.adapters.verl_agent import build_webshop_envs
from roll_vec.errors import (
    EnvironmentFaultError,
    EnvironmentFaultWarning,
    InvalidSeedError,
    ResetNeededError,
)
from tests.adapters.stand_ins import make_manager, read_json

ROOM = {"dim_room": (6, 6), "num_boxes": 1, "max_steps": 4}


@pytest.fixture
def broken_shop(monkeypatch):
    """Return a context in which each step of a shop fails."""

    def fail(shop, action):
        raise RuntimeError("broken")

    @contextlib.contextmanager
    def context():
        with monkeypatch.context() as patch:
            patch.setattr("roll_vec.envs.webshop.env.WebShop.step", fail)
            with pytest.warns(EnvironmentFaultWarning):
                yield

    return context


def test_an_environment_of_roll_that_fails_raises(broken_shop):
    env = GemWebShopEnv(num_products=100)
    env.reset(seed=5)
    with broken_shop(), pytest.raises(EnvironmentFaultError, match="broken"):
        env.step("<answer>search[shoes]</answer>")
    env.reset(seed=5)
    env.step("<answer>search[shoes]</answer>")


def test_a_fault_ends_the_episode_of_verl_agent_alone(broken_shop):
    shop = {"num_products": 100, "catalog_seed": 233}
    envs = build_webshop_envs(0, 2, 1, is_train=False, env_kwargs=shop)
    pages, _ = envs.reset()
    with broken_shop():
        after, rewards, dones, infos = envs.step(["search[red]", "search[blue]"])
    assert (after, rewards, dones) == (pages, [0.0] * 2, [True] * 2)
    assert [info["won"] for info in infos] == [False] * 2
    assert envs.reset()[0] != pages
    assert envs.step(["search[red]", "x"])[2] == [False, False]


def play(env, number):
    """Return the results of an episode, that of the reset first."""
    results = [env.reset(seed=number // 4)]
    for turn in range(ROOM["max_steps"]):
        name = ("Up", "Left", "Down", "Right")[(number + turn) % 4]
        results.append(env.step(f"<answer>{name}</answer>"))
        if results[-1][2]:
            break
    return results


def test_environments_of_equal_keywords_share_one_batch():
    envs = [GemSokobanEnv(**ROOM) for _ in range(24)]
    other = GemSokobanEnv(**{**ROOM, "max_steps": 5})
    assert len({id(env._batch) for env in envs}) == 1
    assert other._batch is not envs[0]._batch
    # A group has one seed; ROLL plays each environment in a thread of its own.
    with ThreadPoolExecutor(len(envs)) as threads:
        results = list(threads.map(play, envs, range(len(envs))))
    batch = envs[0]._batch
    assert [sessions.num_envs for sessions in batch.batches] == [24]
    alone = GemSokobanEnv(**ROOM, seed_info=True)
    assert results == [play(alone, number) for number in range(len(envs))]


def test_late_environments_get_rows_of_a_new_batch_and_closed_ones_free_theirs():
    envs = [GemSokobanEnv(**ROOM, num_levels=9) for _ in range(3)]
    batch = envs[0]._batch
    for env in envs:
        env.reset(1)
    late = GemSokobanEnv(**ROOM, num_levels=9)
    late.reset(1)
    assert [sessions.num_envs for sessions in batch.batches] == [3, 3]
    envs[0].close()
    with pytest.raises(ResetNeededError):
        envs[0].step("Up")
    late.close()
    envs.append(GemSokobanEnv(**ROOM, num_levels=9))
    assert envs[3].reset(2) == envs[0].reset(2)
    assert len(batch.batches) == 2
    # Nothing of it stays behind the last environment.
    is_gone = weakref.ref(batch)
    del batch, env, envs, late
    gc.collect()
    assert is_gone() is None


def test_the_names_are_registered_once(monkeypatch):
    registry = {}
    gem = types.ModuleType("gem")
    gem.register = lambda name, entry_point: registry.update({name: entry_point})
    envs = types.ModuleType("gem.envs")
    registration = types.ModuleType("gem.envs.registration")
    registration.ENV_REGISTRY = registry
    for module in (gem, envs, registration):
        monkeypatch.setitem(sys.modules, module.__name__, module)
    register_gem_envs()
    assert registry == GEM_IDS
    registry["roll_vec/sokoban"] = "mine"
    register_gem_envs()
    assert registry["roll_vec/sokoban"] == "mine"
    for entry_point in GEM_IDS.values():
        module, name = entry_point.split(":")
        assert callable(getattr(importlib.import_module(module), name))


def test_ragens_manager_repeats_a_rollout():
    record, manager = read_json("ragen")["manager"], make_manager()
    outputs = manager.reset()
    for step in record["steps"]:
        outputs = manager.step(step["inputs"])
        assert [rollout["env_id"] for rollout in outputs] == step["env_ids"]
    rollouts = json.loads(json.dumps(manager.get_rollout_states()))
    assert rollouts == record["rollouts"]
    for rollout, expected in zip(rollouts, record["rollouts"], strict=True):
        rewards = [turn.get("reward") for turn in rollout["history"]]
        assert repr(rewards) == repr([t.get("reward") for t in expected["history"]])
    successes = [r["metrics"][f"{r['tag']}/success"] for r in record["rollouts"]]
    assert sum(successes) == 1
    for rollout in manager.reset():
        assert "metrics" not in rollout
        assert len(rollout["history"]) == 1


# ---------------------------------------- TRL: which task a row of the data set gets

COUNTDOWN = "roll_vec/Countdown-v0"


def reset_all(rows, **keywords):
    """Return the tasks of rows, in the order in which one trainer resets them."""
    factory = environment_factory(COUNTDOWN, **keywords)
    pool = [factory() for _ in range(3)]
    return [each.reset(**row) for each, row in zip(itertools.cycle(pool), rows)]


def test_equal_rows_are_tasks_of_groups():
    rows = [{"prompt": [{"role": "user", "content": ""}]}] * 12
    tasks = reset_all(rows, group_size=4)
    assert [len(set(tasks[i : i + 4])) for i in (0, 4, 8)] == [1, 1, 1]
    assert len(set(tasks)) == 3


def test_tasks_do_not_depend_on_the_order_of_rows():
    rows = [{"prompt": f"game {i % 4}", "image": object()} for i in range(24)]
    by_row = reset_all(rows, group_size=3)
    sets = [[by_row[i + 4 * j] for j in range(6)] for i in range(4)]
    assert all(len({*tasks[:3]}) == len({*tasks[3:]}) == 1 for tasks in sets)
    assert len({task for tasks in sets for task in tasks}) == 8
    order = sorted(range(24), key=lambda i: (-(i % 4), i))
    tasks = reset_all([rows[i] for i in order], group_size=3)
    assert [sets[i % 4][j % 6] for j, i in enumerate(order)] == tasks
    assert reset_all(rows, group_size=3, seed=1) != by_row


def test_a_column_of_seeds_decides(monkeypatch):
    rows = [{"prompt": f"{i}", "seed": i % 3} for i in range(9)]
    tasks = reset_all(rows, group_size=1, seed=5)
    for seed in range(3):
        env = gymnasium.make(COUNTDOWN)
        assert all(task.endswith(env.reset(seed=seed)[0]) for task in tasks[seed::3])
    alone = reset_all([{"seed": None}], group_size=2)
    assert reset_all([{"seed": None}] * 2, group_size=2) == alone * 2
    for seed in (-1, 0.5, "x"):
        with pytest.raises(InvalidSeedError, match="seed: expected"):
            reset_all([{"seed": seed}])
    # Several processes need it.
    monkeypatch.setenv("WORLD_SIZE", "2")
    assert reset_all([{"seed": 3}])
    with pytest.raises(InvalidSeedError, match="a column of the data set"):
        reset_all([{"prompt": ""}])
