"""The rows of PPO: checkpoints of docs/examples/ppo.py on the evaluation splits."""

import hashlib
import json

import pytest

from benchmarks.baselines import __main__ as command
from benchmarks.baselines.policies import PPO, TRAINED_SPLITS, checkpoint_of
from roll_vec.evaluation import find_split, play_split
from roll_vec.registration import ENVIRONMENTS

pytestmark = pytest.mark.learning

LAKE = "roll_vec/RandomFrozenLake-v0"


@pytest.fixture
def trained(example, tmp_path):
    """Return a function from an id to the checkpoint of a beginner, and its network."""

    def make(id):
        training = example("ppo").Training(id, example("recipes").RECIPES[id], 8, 0)
        path = checkpoint_of(find_split(id, TRAINED_SPLITS[id]), tmp_path)
        training.save(path)
        return path, training

    return make


def test_each_recipe_has_the_keywords_of_its_split(example):
    recipes = example("recipes").RECIPES
    assert set(recipes) == set(TRAINED_SPLITS)
    for id, name in TRAINED_SPLITS.items():
        split = find_split(id, name)
        defaults = ENVIRONMENTS[id].defaults()
        assert {**defaults, **recipes[id].keywords} == {**defaults, **split.keywords}


def test_a_checkpoint_has_a_row(trained, tmp_path, monkeypatch):
    path, training = trained(LAKE)
    out = tmp_path / "out.json"
    monkeypatch.setattr(command.chart, "draw", lambda content, path: None)
    only = ["--only", LAKE, "--only", PPO]
    command.main([*only, "--checkpoints", str(tmp_path), "--out", str(out)])
    (row,) = json.loads(out.read_text("utf-8"))["rows"]
    split = find_split(LAKE, "test-no-slip")
    policy = training.policy()
    results = play_split(
        split,
        split.make_vec(256, obs_mode="planes"),
        lambda turn: policy(turn.observations),
    )
    assert row["success"][0] == results.successes.mean()
    assert row["checkpoint"] == hashlib.sha256(path.read_bytes()).hexdigest()
    assert row["training_levels"] == 50_000
    assert 0 < row["new_episodes"] < len(split)
    assert row["versions"]["torch"]


def test_a_world_of_one_map_has_no_new_levels(trained, tmp_path):
    trained("roll_vec/FrozenLake-v1")
    args = command.make_parser().parse_args(["--checkpoints", str(tmp_path)])
    split = find_split("roll_vec/FrozenLake-v1", "test")
    facts = {"revision": None}
    row = command.measure(split, PPO, args, facts, {}, lambda *_: None)
    assert "new_success" not in row
    assert row["episodes"] == 10_000
