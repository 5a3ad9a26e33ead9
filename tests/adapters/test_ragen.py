"""RAGEN's interface: transcripts of its own classes and manager, and bad input.

``tests/frameworks/ragen/record.py`` writes ``data/ragen.json`` from RAGEN 20daedc.
"""

import copy
import json
from pathlib import Path

import numpy as np
import pytest
from gymnasium.envs.toy_text.frozen_lake import FrozenLakeEnv

from roll_vec.adapters import ragen
from roll_vec.adapters.ragen.metrics import measure_rollout
from roll_vec.errors import (
    InvalidActionError,
    InvalidOptionError,
    InvalidSeedError,
    ResetNeededError,
    UnknownOptionError,
)

RECORD = json.loads((Path(__file__).parent / "data" / "ragen.json").read_text("utf-8"))


class Config(dict):
    """A dict with attributes, as RAGEN's configs are."""

    __getattr__ = dict.__getitem__


def as_config(values):
    if not isinstance(values, dict):
        return values
    return Config({key: as_config(value) for key, value in values.items()})


def make_manager(mode="train", tags=None, **changes):
    """Return a manager with the config of the record."""
    config = as_config(copy.deepcopy(RECORD["manager"]["config"]))
    config.es_manager["val"] = config.es_manager.train
    config.custom_envs.update(as_config(tags or {}))
    config.update(changes)
    return ragen.EnvStateManager(config, mode)


def turn(env_id, *actions):
    return {
        "env_id": env_id,
        "actions": list(actions),
        "llm_response": "",
        "llm_raw_response": "",
    }


@pytest.mark.parametrize("number", range(len(RECORD["classes"])))
def test_classes_repeat_transcripts(number):
    record = RECORD["classes"][number]
    env_type, keywords = record["env_type"], record["keywords"]
    config = ragen.REGISTERED_ENV_CONFIGS[env_type](**keywords)
    env = ragen.REGISTERED_ENVS[env_type](config)
    texts = [env.reset(seed=record["seed"])]
    results = []
    for action in record["actions"]:
        text, *result = env.step(action)
        assert env.render() == text
        texts.append(text)
        results.append(result)
    assert texts == record["texts"]
    # The types count: RAGEN's prompts show a reward of 0 or of 0.0.
    assert json.dumps(results) == json.dumps(record["results"])
    assert env.get_all_actions() == [1, 2, 3, 4]


def test_manager_repeats_a_rollout():
    record = RECORD["manager"]
    manager = make_manager()
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
    drawn = [seeds(free)[0] for _ in range(3)]
    assert len(set(drawn)) > 1
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
    assert env.render("text") == env.render("grid")
    assert env.render("coord") in env.render("grid_coord")
    assert env.render("grid") in env.render("grid_coord")
    with pytest.raises(InvalidOptionError, match="mode: expected"):
        env.render("ansi")


@pytest.mark.parametrize("size", [4, 12])
def test_pictures_of_lakes_have_gymnasiums_size_as_ragens_have(size):
    # RAGEN's environment is a subclass of Gymnasium's, and shows its pictures.
    shape = (*FrozenLakeEnv(desc=["S" * size] * size).window_size, 3)
    keywords = {"render_mode": "rgb_array", "size": size}
    env = ragen.FrozenLakeEnv(ragen.FrozenLakeEnvConfig(**keywords))
    text = ragen.FrozenLakeEnv(ragen.FrozenLakeEnvConfig(size=size))
    text.reset(seed=1)
    pictures = [env.reset(seed=1), env.render("rgb_array"), text.render("rgb_array")]
    assert [picture.shape for picture in pictures] == [shape] * 3
    np.testing.assert_array_equal(pictures[0], pictures[2])
    assert env.step(1)[0].shape == shape


def test_a_turn_is_refused_before_anything_moves():
    manager = make_manager()
    with pytest.raises(ResetNeededError, match="must be reset first"):
        manager.step([turn(0, "up")])
    manager.reset()
    before = copy.deepcopy((manager.render(), manager.rollout_cache))
    bad = [
        [turn(0, "down"), turn(0, "down")],
        [turn(0, "down"), turn(4, "down")],
        [turn(0, "down"), turn(1, "down", 2)],
        [turn(0, "down"), {"env_id": 1, "actions": ["up"]}],
        [turn(0, "down"), {**turn(1), "actions": "up"}],
        [turn(0, "down"), {**turn(1), "actions": None}],
        [turn(0, "down"), turn(1.0, "up")],
        [turn(0, "down"), turn([1], "up")],
        [turn(0, "down"), None],
        None,
    ]
    for inputs in bad:
        with pytest.raises(InvalidOptionError, match="expected"):
            manager.step(inputs)
    assert (manager.render(), manager.rollout_cache) == before
    live = manager.step([turn(0, *["up"] * 9)])
    assert live == []
    assert manager.envs[0]["status"].num_actions == 5
    with pytest.raises(InvalidSeedError):
        manager.reset("x")
    with pytest.raises(ResetNeededError, match="have ended"):
        manager.step([turn(0, "up"), turn(1, "up")])
    assert manager.envs[1]["status"].num_actions == 0


@pytest.mark.parametrize("env_type", ["sokoban", "frozen_lake", "countdown"])
def test_an_action_of_none_is_refused_before_anything_moves(env_type):
    keywords = {"train_path": None} if env_type == "countdown" else {}
    config = ragen.REGISTERED_ENV_CONFIGS[env_type](**keywords)
    env = ragen.REGISTERED_ENVS[env_type](config)
    start = env.reset(seed=1)
    for action in (None, [1], 2.5):
        with pytest.raises(InvalidActionError):
            env.step(action)
    assert env.render() == start


def test_configs_are_refused_where_they_are_written():
    configs = ragen.REGISTERED_ENV_CONFIGS
    bad = [
        ("sokoban", {"observation_format": "x"}, "observation_format"),
        ("sokoban", {"action_lookup": {5: "Move"}}, "action_lookup"),
        ("sokoban", {"num_boxes": 0}, "num_boxes"),
        ("frozen_lake", {"action_map": {1: 4}}, "action_lookup"),
        ("frozen_lake", {"success_rate": 2.0}, "success_rate"),
        ("countdown", {"max_instances": 0}, "max_instances"),
        ("webshop", {"dataset": "small"}, "dataset"),
        ("webshop", {"server": "http://"}, "server"),
    ]
    for env_type, keywords, name in bad:
        with pytest.raises(InvalidOptionError, match=f"{name}: expected"):
            configs[env_type](**keywords)
    tag = {"env_type": "bandit", "max_actions_per_traj": 1, "env_config": None}
    with pytest.raises(InvalidOptionError, match="env_type: expected"):
        make_manager(tags={"LakeTag": tag})
    tag = {"env_type": "sokoban", "max_actions_per_traj": 1}
    with pytest.raises(UnknownOptionError, match="did you mean num_boxes"):
        make_manager(tags={"LakeTag": tag | {"env_config": {"num_box": 1}}})
    with pytest.raises(InvalidOptionError, match=r"LakeTag\.max_actions_per_traj: ex"):
        make_manager(
            tags={"LakeTag": tag | {"max_actions_per_traj": "1", "env_config": {}}}
        )
    env_configs = {"tags": ["LakeTag"], "n_groups": [1]}
    modes = {"env_groups": 2, "group_size": 1, "env_configs": env_configs}
    with pytest.raises(InvalidOptionError, match="n_groups: expected"):
        make_manager(es_manager=as_config({"train": modes}))


def test_lake_actions_and_letters_of_a_config():
    # Action 7 goes right, and holes and ice have each other's glyphs.
    config = ragen.FrozenLakeEnvConfig(
        is_slippery=False,
        action_map={7: 2},
        action_lookup={7: "East"},
        map_lookup={b"P": 0, b"F": 2, b"H": 1, b"G": 3},
    )
    env, plain = ragen.FrozenLakeEnv(config), ragen.FrozenLakeEnv()
    swap = str.maketrans("_O", "O_")
    assert env.reset(seed=4) == plain.reset(seed=4).translate(swap)
    text, *_ = env.step(7)
    dry = ragen.FrozenLakeEnv(ragen.FrozenLakeEnvConfig(is_slippery=False))
    dry.reset(seed=4)
    assert text == dry.step(3)[0].translate(swap)
    with pytest.raises(InvalidActionError, match=r"expected one of \[7\]"):
        env.step(3)


def test_countdown_grades_the_numbers_of_any_text(tmp_path):
    path = tmp_path / "tasks.jsonl"
    tasks = [
        {"nums": [3, 8], "target": 11},
        {"nums": [3, 8], "target": 24},
        {"nums": [5, 2, 9], "target": 2},
    ]
    path.write_text("\n".join(map(json.dumps, tasks)), "utf-8")
    config = ragen.CountdownEnvConfig(train_path=str(path))
    env = ragen.CountdownEnv(config)
    # The second row is no sum with signs, so that two rows are left.
    assert env.reset(seed=3) == env.render() == "Target: 2, nums: [5, 2, 9]"
    assert env.step("the numbers 9, 5 and 2") == (
        "Your answer get 0.1 points.",
        0.1,
        True,
        {"action_is_effective": True, "action_is_valid": True, "success": False},
    )
    with pytest.raises(InvalidSeedError):
        env.reset(seed=-1)
    scores = {
        "3" * 5000: 0,
        "+ 3 + 8": 1,
        "-3 + 8": 0.1,
        "3 + 8 = 11": 0,
        "": 0,
        "8 / (3 - 3)": 0,
    }
    for answer, score in scores.items():
        env.reset(seed=0)
        text, reward, done, info = env.step(answer)
        assert (text, reward, done) == (f"Your answer get {score} points.", score, True)
        assert info["success"] == (score == 1)
        with pytest.raises(ResetNeededError):
            env.step(answer)


def test_shop_prompts_and_goals():
    env = ragen.WebShopEnv(ragen.WebShopEnvConfig(num_products=350))
    page = env.reset(seed=5, mode="test")
    assert page == env.reset(seed=505, mode="test")
    assert page != env.reset(seed=5, mode="val") != env.reset(seed=5, mode="train")
    assert env.get_available_actions() == ["search[<content>]"]
    instruction = page.split(" [SEP] ")[2]
    env.reset(seed=5, mode="test")
    prompt = env.render()
    assert prompt.startswith(f"Instruction: {instruction}.We must buy a product")
    assert prompt.endswith("\n You must choose from these actions:search[<content>].")
    *_, info = env.step("search[xyzzy]")
    assert (info["action_is_valid"], info["end_of_page"]) == (True, 0)
    assert env.get_available_actions() == ["click[back to search]", "click[next >]"]
    # The last page does not offer the next one.
    page, reward, done, info = env.step("click[next >]")
    assert (info["action_is_effective"], info["end_of_page"]) == (True, 1)
    assert env.get_available_actions() == ["click[back to search]", "click[< prev]"]
    assert env.render().startswith(f"{page}.We must buy")
    assert (reward, done) == (0.0, False)
    # A search is possible anywhere, but valid on the first page alone.
    assert not env.step("search[xyzzy]")[3]["action_is_valid"]
    assert not env.step("click[next]")[3]["action_is_valid"]
    for mode in ("validation", "eval"):
        with pytest.raises(InvalidOptionError, match="mode: expected"):
            env.reset(seed=0, mode=mode)


def test_metrics_of_shops_are_sums():
    history = [
        {"info": {"raw_reward": 0.5, "end_of_page": 1, "page": "x", "success": 1}},
        {"info": {"raw_reward": 0.25, "end_of_page": 0, "score": 3}},
        {},
    ]
    metrics, values = measure_rollout(history, "MyWebShop", False, 2)
    assert metrics == {
        "MyWebShop/success": 0.0,
        "MyWebShop/num_actions": 2,
        "MyWebShop/episodic_return": 0.75,
        "MyWebShop/traj_sum/raw_reward": 0.75,
        "MyWebShop/end_of_page": 0.5,
        "MyWebShop/traj_sum/page": 0.0,
        "MyWebShop/traj_sum/score": 3.0,
        "MyWebShop/final_score": 3.0,
    }
    assert values["page"] == []
