"""Environments of one shop beside each other: in a thread, in threads, in processes."""

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
    """Return what shoppers do who know their goals, and now and then do otherwise."""
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
    """Return everything that a batch answers."""
    keywords = {"num_products": 60, "autoreset_mode": "SameStep", **keywords}
    env = gymnasium.make_vec("roll_vec/WebShop-v0", NUM_ENVS, **keywords)
    try:
        return [env.reset(seed=0), *play(env, batches)]
    finally:
        env.close()


def test_threads_and_processes_give_the_same_trajectories():
    batches = walk(60)
    expected = results(batches)
    assert sum(rewards.sum() for _, rewards, *_ in expected[1:]) > 10
    assert_same(results(batches, workers=3), expected)
    processes = {"workers": 2, "executor": "process", "context": "spawn"}
    assert_same(results(batches[:20], **processes), expected[:21])


def test_processes_open_a_stored_catalogue(tmp_path):
    Catalogue.load(num_products=60).save(tmp_path / "shop")
    batches = walk(15)
    expected = results(batches)
    stored = {"products": str(tmp_path / "shop"), "num_products": None}
    processes = {"workers": 2, "executor": "process", "context": "spawn"}
    assert_same(results(batches, **stored, memory_map=True, **processes), expected)


def test_environments_on_one_goal_do_not_touch_each_other():
    env = gymnasium.make_vec("roll_vec/WebShop-v0", 2, num_products=60)
    alone = gymnasium.make_vec("roll_vec/WebShop-v0", 1, num_products=60)
    options = {"session": 3}
    assert_same(env.reset(options=options)[0][:1], alone.reset(options=options)[0])
    other = ["search[<r>]", "click[back to search]", "search[chair]", "click[next >]"]
    asin = env.unwrapped.get_attr("oracle_action")[0]
    for noise in other:
        seen = env.step([asin, noise])
        assert_same(seen[0][:1], alone.step([asin])[0])
        asin = alone.unwrapped.get_attr("oracle_action")[0]


def test_a_wrong_session_is_a_clear_error():
    env = gymnasium.make_vec("roll_vec/WebShop-v0", 2, num_products=20)
    with pytest.raises(EnvironmentFaultError, match="session: expected an integer fro"):
        env.reset(seed=0, options={"session": -1})
    env.reset(seed=0, options={"session": 0})
    assert env.step(["search[a]"] * 2)[1].tolist() == [0.0, 0.0]


@pytest.mark.parametrize("read", ["reset", "step"])
def test_what_a_caller_does_with_infos_harms_nobody(read):
    env = WebShop(num_products=20)
    env.reset(seed=0)
    _, info = env.reset(seed=0)
    if read == "step":
        *_, info = env.step("search[chair]")
    kept = env.get_available_actions()
    info["available_actions"]["clickables"].clear()
    assert env.get_available_actions() == kept
    assert env.step(kept[0].replace("<content>", "a"))[-1]["action_is_valid"]


def test_environments_share_their_shop():
    one = gymnasium.make_vec("roll_vec/WebShop-v0", 1)
    one.reset(seed=0)
    gc.collect()
    tracemalloc.start()
    try:
        env = gymnasium.make_vec("roll_vec/WebShop-v0", 4096)
        env.reset(seed=0)
        env.step(["search[red shoes]"] * 4096)
        gc.collect()
        kept, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert kept < 50e6


def test_an_instance_is_a_few_small_fields():
    def size_of(value):
        if isinstance(value, dict):
            return sys.getsizeof(value) + sum(map(size_of, value.values()))
        if isinstance(value, (list, tuple)):
            return sys.getsizeof(value) + sum(map(size_of, value))
        return sys.getsizeof(value)

    env = WebShop()
    env.reset(seed=0)
    for _ in range(3):
        env.step(env.oracle_action)
    own = {
        name: value
        for name, value in vars(env).items()
        # What all environments of a shop share, and Gymnasium's spaces.
        if name not in ("catalogue", "options", "_goals")
        and not name.endswith("_space")
    }
    assert size_of(own) < 4096


def test_a_state_survives_json():
    env, again = WebShop(num_products=20), WebShop(num_products=20)
    env.reset(seed=5)
    env.step("search[<r>]")
    again.set_state(json.loads(json.dumps(env.get_state())))
    for action in ("click[next >]", "click[< prev]"):
        assert_same(again.step(action), env.step(action))
