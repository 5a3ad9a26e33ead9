"""Environments of ROLL, RAGEN, verl-agent and TRL: what their transcripts leave out."""

import copy
import gc
import importlib
import itertools
import json
import sys
import threading
import types
import weakref
from types import SimpleNamespace

import gymnasium
import numpy as np
import pytest

import roll_vec
from roll_vec.adapters import ragen
from roll_vec.adapters.roll import GemSokobanEnv, GemWebShopEnv, register_gem_envs
from roll_vec.adapters.roll.registration import GEM_IDS
from roll_vec.adapters.trl import environment_factory
from roll_vec.adapters.verl_agent import build_sokoban_envs, build_webshop_envs
from roll_vec.errors import (
    EnvironmentFaultError,
    EnvironmentFaultWarning,
    InvalidOptionError,
    InvalidSeedError,
    ResetNeededError,
    UnknownOptionError,
)
from tests.adapters.test_transcripts import RAGEN

# -------------------------------------- ROLL: one shared batch, faults, the registry

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


# ---------------------------------------------------------------- RAGEN: the manager

RECORD = RAGEN["manager"]


class Config(dict):
    """A dict with attributes, as RAGEN's configs are."""

    __getattr__ = dict.__getitem__


def as_config(values):
    if not isinstance(values, dict):
        return values
    return Config({key: as_config(value) for key, value in values.items()})


def make_manager(mode="train", tags=None, **changes):
    """Return a manager with the config of the record."""
    config = as_config(copy.deepcopy(RECORD["config"]))
    config.es_manager["val"] = config.es_manager.train
    config.custom_envs.update(as_config(tags or {}))
    config.update(changes)
    return ragen.EnvStateManager(config, mode)


def turn(env_id, *actions):
    texts = {"llm_response": "", "llm_raw_response": ""}
    return {"env_id": env_id, "actions": list(actions), **texts}


def test_manager_repeats_a_rollout():
    manager = make_manager()
    outputs = manager.reset()
    for step in RECORD["steps"]:
        outputs = manager.step(step["inputs"])
        assert [rollout["env_id"] for rollout in outputs] == step["env_ids"]
    rollouts = json.loads(json.dumps(manager.get_rollout_states()))
    assert rollouts == RECORD["rollouts"]
    for rollout, expected in zip(rollouts, RECORD["rollouts"], strict=True):
        rewards = [turn.get("reward") for turn in rollout["history"]]
        assert repr(rewards) == repr([t.get("reward") for t in expected["history"]])
    successes = [r["metrics"][f"{r['tag']}/success"] for r in RECORD["rollouts"]]
    assert sum(successes) == 1
    for rollout in manager.reset():
        assert "metrics" not in rollout
        assert len(rollout["history"]) == 1


def test_seeds_of_the_groups():
    def seeds(manager, seed=None):
        manager.reset(seed)
        return [entry["status"].seed for entry in manager.envs]

    train, val = make_manager(), make_manager("val")
    assert seeds(train) == [10001, 10001, 10002, 10002]
    assert seeds(train) == [10003, 10003, 10004, 10004]
    # RAGEN goes on one after the seed of an explicit reset.
    assert seeds(train, 20000) == [20000, 20000, 20001, 20001]
    assert seeds(train) == [20001, 20001, 20002, 20002]
    assert seeds(val) == seeds(val) == [123, 123, 124, 124]
    free = make_manager(seed=None)
    assert len({seeds(free)[0] for _ in range(3)}) > 1
    assert seeds(make_manager("val", seed=None))[0] == 123


def test_pictures():
    keywords = {"render_mode": "rgb_array", "num_boxes": 1}
    tag = {"env_type": "sokoban", "max_actions_per_traj": 3, "env_config": keywords}
    manager = make_manager(tags={"SokobanTag": tag})
    first = manager.reset()[0]["history"][0]
    assert (first["state"], first["actions_left"]) == ("<images>", 3)
    (image,) = first["images"]
    np.testing.assert_array_equal(np.asarray(image), manager.render()[0])
    env = ragen.SokobanEnv(ragen.SokobanEnvConfig(**keywords))
    pixels = env.reset(seed=manager.envs[0]["status"].seed)
    np.testing.assert_array_equal(pixels, manager.render()[0])


def test_a_turn_is_refused_before_anything_moves():
    manager = make_manager()
    with pytest.raises(ResetNeededError, match="must be reset first"):
        manager.step([turn(0, "up")])
    manager.reset()
    before = copy.deepcopy((manager.render(), manager.rollout_cache))
    for bad in (
        turn(0, "down"),
        turn(4, "down"),
        turn(1, "down", 2),
        {"env_id": 1, "actions": ["up"]},
        {**turn(1), "actions": "up"},
        {**turn(1), "actions": None},
        turn(1.0, "up"),
        turn([1], "up"),
        None,
    ):
        with pytest.raises(InvalidOptionError, match="expected"):
            manager.step([turn(0, "down"), bad])
    with pytest.raises(InvalidOptionError, match="expected"):
        manager.step(None)
    assert (manager.render(), manager.rollout_cache) == before
    assert manager.step([turn(0, *["up"] * 9)]) == []
    assert manager.envs[0]["status"].num_actions == 5
    with pytest.raises(InvalidSeedError):
        manager.reset("x")
    with pytest.raises(ResetNeededError, match="have ended"):
        manager.step([turn(0, "up"), turn(1, "up")])
    assert manager.envs[1]["status"].num_actions == 0


@pytest.mark.parametrize(
    ("changes", "error", "match"),
    [
        ({"env_type": "bandit"}, InvalidOptionError, "env_type: expected"),
        ({"env_config": {"num_box": 1}}, UnknownOptionError, "did you mean num_boxes"),
        ({"max_actions_per_traj": "1"}, InvalidOptionError, r"LakeTag\.max_actions_p"),
    ],
)
def test_bad_tags_are_refused(changes, error, match):
    tag = {"env_type": "sokoban", "max_actions_per_traj": 1, "env_config": {}}
    with pytest.raises(error, match=match):
        make_manager(tags={"LakeTag": tag | changes})


def test_bad_numbers_of_groups_are_refused():
    env_configs = {"tags": ["LakeTag"], "n_groups": [1]}
    modes = {"env_groups": 2, "group_size": 1, "env_configs": env_configs}
    with pytest.raises(InvalidOptionError, match="n_groups: expected"):
        make_manager(es_manager=as_config({"train": modes}))


# ----------------------------------------------- verl-agent: draws, pictures, faults

SMALL_ROOM = {"dim_room": (6, 6), "num_boxes": 1, "search_depth": 30}


def build_shop(seed=0, env_num=2, group_n=1, is_train=False):
    shop = {"num_products": 100, "catalog_seed": 233}
    return build_webshop_envs(
        seed, env_num, group_n, is_train=is_train, env_kwargs=shop
    )


@pytest.mark.parametrize("is_train", [True, False])
def test_rooms_are_those_of_verl_agents_draw(is_train):
    # A draw up to 2**16 would be another one here.
    seed, mode = 24646, "tiny_rgb_array"
    envs = build_sokoban_envs(
        seed, 3, 2, mode, is_train=is_train, env_kwargs=SMALL_ROOM
    )
    rng = np.random.RandomState(seed)
    low, high = (0, 2**16 - 1) if is_train else (2**16, 2**32 - 1)
    plain = roll_vec.make_vec("roll_vec/Sokoban-v0", 3, **SMALL_ROOM)
    for _ in range(2):
        envs.reset()
        grids, _ = plain.reset(seed=rng.randint(low, high, size=3).tolist())
        np.testing.assert_array_equal(envs.render("state"), grids.repeat(2, axis=0))


def test_goals_are_those_of_verl_agents_draw():
    envs, rng = build_shop(7, 3, 2, is_train=True), np.random.RandomState(7)
    goals = envs.envs.get_attr("catalogue")[0].goals
    for _ in range(2):
        pages, infos = envs.reset()
        numbers = rng.choice(range(500, len(goals)), size=3, replace=False)
        for i, number in enumerate(np.repeat(numbers, 2)):
            assert f" [SEP] {goals[number].instruction_text} [SEP] " in pages[i]
            assert infos[i]["available_actions"]["clickables"] == ["search"]


def test_pictures_are_put_together_from_gym_sokobans(monkeypatch):
    def room_to_rgb(room):
        tiles = np.arange(7 * 16 * 16 * 3).reshape(7, 16, 16, 3) % 251
        return np.block([[[tiles[code]] for code in row] for row in room])

    module = SimpleNamespace(room_to_rgb=room_to_rgb)
    monkeypatch.setitem(sys.modules, "gym_sokoban.envs.render_utils", module)
    envs = build_sokoban_envs(0, 2, 1, env_kwargs={**SMALL_ROOM, "dim_room": (6, 7)})
    pictures, _ = envs.reset()
    assert envs.mode == "rgb_array"
    for picture, grid in zip(pictures, envs.render("state"), strict=True):
        assert (picture.shape, picture.dtype) == ((96, 112, 3), np.uint8)
        np.testing.assert_array_equal(picture, room_to_rgb(grid))
    np.testing.assert_array_equal(envs.render(env_idx=1), pictures[1])


def test_a_fault_ends_the_episode_alone(monkeypatch):
    def fail(env, action):
        raise RuntimeError(action)

    envs = build_shop()
    pages, _ = envs.reset()
    with monkeypatch.context() as patch:
        patch.setattr("roll_vec.envs.webshop.env.WebShop.step", fail)
        with pytest.warns(EnvironmentFaultWarning):
            after, rewards, dones, infos = envs.step(["search[red]", "search[blue]"])
    assert (after, rewards, dones) == (pages, [0.0] * 2, [True] * 2)
    assert [info["won"] for info in infos] == [False] * 2
    assert envs.reset()[0] != pages
    assert envs.step(["search[red]", "x"])[2] == [False, False]


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
