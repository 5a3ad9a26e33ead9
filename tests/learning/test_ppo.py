"""docs/examples/ppo.py learns; docs/batches.md and PPO's baselines."""

import dataclasses
import hashlib
import sys

import pytest
import torch

import roll_vec  # noqa: F401 - registers the ids
from benchmarks.baselines import PPO, TRAINED_SPLITS, checkpoint_of, results
from roll_vec.evaluation import find_split, play_split
from roll_vec.registration import ENVIRONMENTS
from tests.conftest import ROOT
from tests.frameworks.programs import blocks_of

pytestmark = pytest.mark.learning

SOKOBAN, LAKE = "roll_vec/Sokoban-v0", "roll_vec/RandomFrozenLake-v0"
CART_POLE, TAXI = "roll_vec/CartPole-v1", "roll_vec/Taxi-v3"
DOOR_KEY = "roll_vec/MiniGrid-DoorKey-8x8-v0"


def test_the_program_of_the_docs_about_tensors_runs():
    blocks = blocks_of(ROOT / "docs" / "batches.md")
    (block,) = (each for each in blocks if each.startswith("# with torch"))
    exec(compile(block, "<the block of batches.md>", "exec"), {})


def make_training(example, id=SOKOBAN, num_envs=64, seed=3, **changes):
    ppo = example("ppo")
    recipe = ppo.RECIPES[id]
    # Short episodes: terminations, truncations and ignored actions in every batch.
    keywords = {**recipe.keywords, "max_episode_steps": 7}
    changes = {"keywords": keywords, "num_steps": 16, "num_levels": 500, **changes}
    return ppo.Training(id, dataclasses.replace(recipe, **changes), num_envs, seed)


def test_a_stage_comes_at_ninety_percent_and_changes_the_levels(example):
    training = make_training(example)
    training.update()
    assert (training.stage, training.success < 0.9) == (0, True)
    for stage in (1, 2, 3, 3):
        training.success = 0.99
        training.update()
        # The rate begins anew; after the last stage nothing comes.
        assert training.stage == stage
    num_levels = training.recipe.num_levels
    assert training.envs.get_attr("start_level")[0] == 3 * num_levels


# A policy that has not learned gets less than 100, and -200 or less.
@pytest.mark.parametrize(
    ("id", "updates", "bound"), [(CART_POLE, 20, 150), (TAXI, 60, -150)]
)
def test_a_short_training_learns(example, id, updates, bound):
    torch.set_num_threads(1)
    ppo = example("ppo")
    recipe = dataclasses.replace(ppo.RECIPES[id], updates=updates)
    training = ppo.Training(id, recipe, num_envs=256, seed=0)
    for _ in range(updates):
        training.update()
    assert ppo.evaluate(training.policy(), id, 200).mean() > bound


def test_the_program_learns_and_its_policy_can_be_loaded(
    example, tmp_path, monkeypatch, capsys
):
    ppo = example("ppo")
    recipe = dataclasses.replace(ppo.RECIPES[LAKE], num_levels=5000)
    monkeypatch.setitem(ppo.RECIPES, LAKE, recipe)
    checkpoint, picture = tmp_path / "lake.pt", tmp_path / "lake.png"
    options = ["--id", LAKE, "--updates=20", "--num-envs=256", "--test-levels=200"]
    options += [f"--checkpoint={checkpoint}", f"--picture={picture}"]
    monkeypatch.setattr(sys, "argv", ["ppo.py", *options])
    before = torch.random.get_rng_state()
    ppo.main()
    assert torch.equal(torch.random.get_rng_state(), before)
    first, second = capsys.readouterr().out.splitlines()
    assert first.startswith("20 updates in ")
    assert "% of them in the environments" in first
    success = ppo.evaluate(ppo.load_policy(checkpoint), LAKE, 200, is_slippery=False)
    beginner = make_training(example, LAKE).policy()
    before = ppo.evaluate(beginner, LAKE, 200, is_slippery=False)
    assert success.mean() > before.mean() + 0.2
    assert second.startswith(f"held-out levels: {success.mean():.1%} of 200 solved; ")
    assert picture.read_bytes().startswith(b"\x89PNG")
    # A training that is over is only tested again.
    monkeypatch.setattr(sys, "argv", ["ppo.py", *options, f"--resume={checkpoint}"])
    ppo.main()
    assert capsys.readouterr().out.splitlines()[1] == second


def test_each_recipe_has_the_keywords_of_its_split(example):
    recipes = example("recipes").RECIPES
    assert set(recipes) == set(TRAINED_SPLITS)
    for id, name in TRAINED_SPLITS.items():
        split = find_split(id, name)
        defaults = ENVIRONMENTS[id].defaults()
        assert {**defaults, **recipes[id].keywords} == {**defaults, **split.keywords}


@pytest.mark.parametrize(
    ("id", "name"), [(LAKE, "test-no-slip"), ("roll_vec/FrozenLake-v1", "test")]
)
def test_a_checkpoint_has_a_row(example, id, name, tmp_path):
    training = example("ppo").Training(id, example("recipes").RECIPES[id], 8, 0)
    split = find_split(id, name)
    assert TRAINED_SPLITS[id] == name
    path = checkpoint_of(split, tmp_path)
    training.save(path)
    row = results(split, PPO, networks=tmp_path)
    assert row["checkpoint"] == hashlib.sha256(path.read_bytes()).hexdigest()
    assert row["episodes"] == len(split)
    assert row["torch"]
    if id != LAKE:  # a world of one map has no new levels
        assert "new_success" not in row
        return
    policy = training.policy()
    envs = split.make_vec(256, obs_mode="planes")
    played = play_split(split, envs, lambda turn: policy(turn.observations))
    assert row["success"][0] == played.successes.mean()
    assert 0 < row["new_episodes"] < len(split)


def test_the_same_training_on_minigrids_own_batch_has_equal_weights(example):
    pytest.importorskip("minigrid", reason="needs the extra originals")
    torch.set_num_threads(1)
    # It raises an error if weights differ.
    assert example("beside_minigrid").compare(DOOR_KEY, num_envs=16, updates=2)
