"""RAGEN's manager: a rollout of its own, seeds of groups, turns that are refused."""

import copy
import json

import numpy as np
import pytest

from roll_vec.adapters import ragen
from roll_vec.errors import (
    InvalidOptionError,
    InvalidSeedError,
    ResetNeededError,
    UnknownOptionError,
)
from tests.adapters.test_transcripts import RAGEN

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
