"""ROLL's pipeline: one shared batch, faults, the registry; see data/roll*.txt too."""

import gc
import importlib
import sys
import threading
import types
import weakref

import pytest

from roll_vec.adapters.roll import GemSokobanEnv, GemWebShopEnv, register_gem_envs
from roll_vec.adapters.roll.registration import GEM_IDS
from roll_vec.errors import EnvironmentFaultError, ResetNeededError

ROOM = {"dim_room": (6, 6), "num_boxes": 1, "max_steps": 4}


@pytest.mark.filterwarnings("ignore::roll_vec.errors.EnvironmentFaultWarning")
def test_an_environment_that_fails_raises(monkeypatch):
    env = GemWebShopEnv(num_products=100)
    env.reset(seed=5)

    def fail(shop, action):
        raise RuntimeError("broken")

    with monkeypatch.context() as patch:
        patch.setattr("roll_vec.envs.webshop.env.WebShop.step", fail)
        with pytest.raises(EnvironmentFaultError, match="broken"):
            env.step("<answer>search[shoes]</answer>")
    env.reset(seed=5)
    env.step("<answer>search[shoes]</answer>")


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
    results = [None] * len(envs)

    def run(number):
        results[number] = play(envs[number], number)

    threads = [threading.Thread(target=run, args=(n,)) for n in range(len(envs))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    batch = envs[0]._batch
    assert [sessions.num_envs for sessions in batch.batches] == [24]
    alone = GemSokobanEnv(**ROOM, seed_info=True)
    for number in range(len(envs)):
        assert results[number] == play(alone, number)


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
