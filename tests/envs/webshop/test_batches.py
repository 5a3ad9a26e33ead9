"""Batches: equal trajectories in threads and processes, separate states, memory."""

import gc
import json
import random
import sys
import tracemalloc

import gymnasium
import pytest

from roll_vec.envs.webshop import Catalogue, WebShop
from roll_vec.errors import EnvironmentFaultError
from tests.contract.cases import assert_same, play

NUM_ENVS = 6


def walk(num_steps, seed=0):
    """Return batches of actions: mostly the oracle's, sometimes random ones."""
    envs = [WebShop(num_products=60) for _ in range(NUM_ENVS)]
    rng = random.Random(seed)
    for i, env in enumerate(envs):
        env.reset(seed=i)
    batches = []
    for _ in range(num_steps):
        batch = []
        for env in envs:
            action = env.oracle_action
            if rng.random() < 0.3:
                action = rng.choice([*env.get_available_actions(), "search[<r>]"])
            batch.append(action)
            if env.step(action)[2]:
                env.reset()
        batches.append(batch)
    return batches


def results(batches, **keywords):
    """Return all results of a batch of environments for some actions."""
    keywords = {"num_products": 60, "autoreset_mode": "SameStep", **keywords}
    env = gymnasium.make_vec("roll_vec/WebShop-v0", NUM_ENVS, **keywords)
    try:
        return [env.reset(seed=0), *play(env, batches)]
    finally:
        env.close()


PROCESSES = {"workers": 2, "executor": "process", "context": "spawn"}


def test_threads_give_the_same_trajectories():
    batches = walk(60)
    expected = results(batches)
    assert sum(rewards.sum() for _, rewards, *_ in expected[1:]) > 10
    assert_same(results(batches, workers=3), expected)


@pytest.mark.slow
def test_processes_that_build_a_catalogue_give_the_same_trajectories():
    batches = walk(20)
    assert_same(results(batches, **PROCESSES), results(batches))


@pytest.mark.slow
def test_processes_that_map_a_stored_catalogue_give_the_same_trajectories(tmp_path):
    Catalogue.load(num_products=60).save(tmp_path / "shop")
    batches = walk(15)
    folder = {"products": str(tmp_path / "shop"), "num_products": None}
    mapped = results(batches, **folder, memory_map=True, **PROCESSES)
    assert_same(mapped, results(batches))


def test_environments_on_one_goal_do_not_touch_each_other():
    env = gymnasium.make_vec("roll_vec/WebShop-v0", 2, num_products=60)
    alone = gymnasium.make_vec("roll_vec/WebShop-v0", 1, num_products=60)
    options = {"session": 3}
    assert_same(env.reset(options=options)[0][:1], alone.reset(options=options)[0])
    other = ["search[<r>]", "click[back to search]", "search[chair]", "click[next >]"]
    asin = env.unwrapped.get_attr("oracle_action")[0]
    for other_action in other:
        results_of_both = env.step([asin, other_action])
        assert_same(results_of_both[0][:1], alone.step([asin])[0])
        asin = alone.unwrapped.get_attr("oracle_action")[0]


def test_a_wrong_session_is_a_clear_error():
    env = gymnasium.make_vec("roll_vec/WebShop-v0", 2, num_products=20)
    with pytest.raises(EnvironmentFaultError, match="session: expected an integer fro"):
        env.reset(seed=0, options={"session": -1})
    env.reset(seed=0, options={"session": 0})
    assert env.step(["search[a]"] * 2)[1].tolist() == [0.0, 0.0]


@pytest.mark.parametrize("source", ["reset", "step"])
def test_callers_may_change_infos(source):
    env = WebShop(num_products=20)
    env.reset(seed=0)
    _, info = env.reset(seed=0)
    if source == "step":
        *_, info = env.step("search[chair]")
    actions = env.get_available_actions()
    info["available_actions"]["clickables"].clear()
    assert env.get_available_actions() == actions
    assert env.step(actions[0].replace("<content>", "a"))[-1]["action_is_valid"]


def test_environments_share_their_shop():
    one = gymnasium.make_vec("roll_vec/WebShop-v0", 1)
    one.reset(seed=0)
    gc.collect()
    tracemalloc.start()
    try:
        env = gymnasium.make_vec("roll_vec/WebShop-v0", 512)
        env.reset(seed=0)
        env.step(["search[red shoes]"] * 512)
        gc.collect()
        num_bytes, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert num_bytes < 512 * 12_000


def test_an_environment_has_few_small_fields():
    def size_of(value):
        """Return the bytes of a value and everything in it."""
        if isinstance(value, dict):
            return sys.getsizeof(value) + sum(map(size_of, value.values()))
        if isinstance(value, (list, tuple)):
            return sys.getsizeof(value) + sum(map(size_of, value))
        return sys.getsizeof(value)

    env = WebShop()
    env.reset(seed=0)
    for _ in range(3):
        env.step(env.oracle_action)
    fields = {
        name: value
        for name, value in vars(env).items()
        # Without the fields that all environments share, and Gymnasium's spaces.
        if name not in ("catalogue", "options", "_goals")
        and not name.endswith("_space")
    }
    assert size_of(fields) < 4096


def test_a_state_survives_json():
    env, again = WebShop(num_products=20), WebShop(num_products=20)
    env.reset(seed=5)
    env.step("search[<r>]")
    again.set_state(json.loads(json.dumps(env.get_state())))
    for action in ("click[next >]", "click[< prev]"):
        assert_same(again.step(action), env.step(action))
