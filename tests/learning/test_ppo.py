"""docs/examples/learning.py and ppo.py, docs/batches.md, and PPO's baselines."""

import dataclasses
import hashlib
import sys

import gymnasium
import numpy as np
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


# ---------------------------------------------------------------------- learning.py


class TinyTraining:
    """A training that uses every kind of part: each of them changes the weights."""

    def __init__(self, seed):
        self.envs = gymnasium.make_vec("roll_vec/Sokoban-v0", num_envs=8)
        self.observations, _ = self.envs.reset(seed=seed)
        self.ended = np.zeros(8, bool)
        self.updates = 0
        self.torch_rng = torch.Generator().manual_seed(seed)
        self.numpy_rng = np.random.default_rng(seed)
        self.network = torch.nn.Linear(36, 4)
        with torch.no_grad():
            self.network.weight.normal_(0, 0.1, generator=self.torch_rng)
            self.network.bias.zero_()
        self.optimizer = torch.optim.Adam(self.network.parameters(), lr=0.01)
        self.schedule = torch.optim.lr_scheduler.ExponentialLR(self.optimizer, 0.9)
        names = ("network", "optimizer", "schedule", "torch_rng", "numpy_rng")
        self.parts = {name: getattr(self, name) for name in names}

    def update(self):
        cells = torch.from_numpy(self.observations).flatten(1).float()
        logits = self.network(cells)
        actions = torch.multinomial(logits.softmax(1), 1, generator=self.torch_rng)
        loss = logits.gather(1, actions)[:, 0] @ torch.from_numpy(
            (~self.ended * self.numpy_rng.random(8)).astype("f4")
        )
        self.optimizer.zero_grad()
        (loss * (1 + self.updates)).backward()
        self.optimizer.step()
        self.schedule.step()
        self.updates += 1
        step = self.envs.step(actions[:, 0].numpy() + 1)
        self.observations, self.ended = step[0], step[2] | step[3]

    def save(self, path, learning):
        learning.save_checkpoint(
            path,
            envs_state=self.envs.get_state(),
            parts=self.parts,
            values={"updates": self.updates, "ended": self.ended},
        )

    def load(self, path, learning):
        envs_state, values = learning.load_checkpoint(path, self.parts)
        self.observations = self.envs.set_state(envs_state)
        self.updates, self.ended = values["updates"], values["ended"]


def test_a_checkpoint_continues_bit_for_bit(example, tmp_path):
    learning = example("learning")
    first, second = TinyTraining(seed=1), TinyTraining(seed=5)
    for _ in range(95):  # to just before the step limit: autoresets are to come
        first.update()
    first.save(tmp_path / "checkpoint", learning)
    assert [path.name for path in tmp_path.iterdir()] == ["checkpoint"]
    second.load(tmp_path / "checkpoint", learning)
    for training in (first, second):
        for _ in range(60):
            training.update()
    for one, other in zip(
        first.network.parameters(), second.network.parameters(), strict=True
    ):
        assert torch.equal(one, other)


def test_other_files_and_missing_parts_are_errors(example, tmp_path):
    learning = example("learning")
    training = TinyTraining(seed=1)
    training.parts.pop("schedule")
    path = tmp_path / "checkpoint"
    training.save(path, learning)
    weights = training.network.weight.clone()
    with pytest.raises(ValueError, match="'schedule'"):
        learning.load_checkpoint(
            path, {"network": torch.nn.Linear(36, 4), "schedule": training.schedule}
        )
    torch.save({"weight": weights}, tmp_path / "other")
    (tmp_path / "text").write_text("hello")
    (tmp_path / "half").write_bytes(path.read_bytes()[: path.stat().st_size // 2])
    for name in ("other", "text", "half"):
        with pytest.raises(ValueError, match=f"{name}' is no checkpoint"):
            learning.load_checkpoint(tmp_path / name, {})
    # The network alone is enough for a program that plays.
    network = torch.nn.Linear(36, 4)
    learning.load_checkpoint(path, {"network": network})
    assert torch.equal(network.weight, weights)


def test_a_save_that_fails_leaves_the_old_file(example, tmp_path, monkeypatch):
    learning = example("learning")
    training, path = TinyTraining(seed=1), tmp_path / "checkpoint"
    training.save(path, learning)
    old, envs_state = path.read_bytes(), training.envs.get_state()
    mersenne = np.random.Generator(np.random.MT19937(1))
    for arguments in (
        {"parts": {}, "values": {"counts": {"inner": np.zeros(2)}}},
        {"parts": {}, "values": {"path": path}},
        {"parts": {"rng": mersenne}},
    ):
        with pytest.raises(ValueError, match="expected plain values"):
            learning.save_checkpoint(path, envs_state=envs_state, **arguments)

    def interrupt(contents, file):
        file.write_bytes(b"half")
        raise KeyboardInterrupt

    monkeypatch.setattr(torch, "save", interrupt)
    with pytest.raises(KeyboardInterrupt):
        training.save(path, learning)
    assert path.read_bytes() == old
    assert [*tmp_path.iterdir()] == [path]


def test_the_program_of_the_docs_about_tensors_runs():
    blocks = blocks_of(ROOT / "docs" / "batches.md")
    (block,) = (each for each in blocks if each.startswith("# with torch"))
    exec(compile(block, "<the block of batches.md>", "exec"), {})


# --------------------------------------------------------------------------- ppo.py


def make_training(example, id=SOKOBAN, num_envs=64, seed=3, **changes):
    ppo = example("ppo")
    recipe = ppo.RECIPES[id]
    # Short episodes: terminations, truncations and ignored actions in every batch.
    keywords = {**recipe.keywords, "max_episode_steps": 7}
    changes = {"keywords": keywords, "num_steps": 16, "num_levels": 500, **changes}
    return ppo.Training(id, dataclasses.replace(recipe, **changes), num_envs, seed)


def weights_of(training):
    return torch.nn.utils.parameters_to_vector(training.network.parameters()).detach()


def test_the_mask_is_false_where_an_action_has_no_effect(example):
    training = make_training(example)
    for _ in range(2):
        batch = training.collect()
        assert batch["terminations"].any()
        assert (batch["ended"] & ~batch["terminations"]).any()
        # A step of Sokoban costs 0.1; the step that an ended environment ignores is
        # free.
        np.testing.assert_array_equal(batch["mask"], batch["rewards"] != 0)
        assert 0 < (~batch["mask"]).sum() < batch["mask"].size / 2


def test_learning_without_the_mask_is_noticed(example):
    def learn(change_ignored_actions, use_mask):
        training = make_training(example)
        batch = training.collect()
        if change_ignored_actions:
            ignored = ~batch["mask"]
            batch["actions"][ignored] = (batch["actions"][ignored] + 1) % 4
            batch["log_probs"][ignored] -= 1
            batch["rewards"][ignored] += 3
        if not use_mask:
            batch["mask"][:] = True
        training.learn(batch, 1e-3)
        return weights_of(training)

    # Nothing of the ignored transitions gets into the weights,
    assert torch.equal(learn(False, use_mask=True), learn(True, use_mask=True))
    # unless the mask is left out.
    assert not torch.equal(learn(False, use_mask=False), learn(True, use_mask=False))


def test_advantages_equal_sums_along_episodes(example):
    training = make_training(example)
    batch, recipe = training.collect(), training.recipe
    ppo = example("ppo")
    advantages = ppo.compute_advantages(batch, recipe)
    num_steps, num_envs = batch["rewards"].shape
    decay = recipe.gamma * recipe.gae_lambda
    for i in range(num_envs):
        for start in np.flatnonzero(batch["mask"][:, i]):
            expected = 0.0
            for t in range(start, num_steps):
                goes_on = not batch["terminations"][t, i]
                target = batch["rewards"][t, i]
                target += goes_on * recipe.gamma * batch["values"][t + 1, i]
                error = target - batch["values"][t, i]
                expected += decay ** (t - start) * error
                if batch["ended"][t, i]:
                    break
            assert advantages[start, i] == pytest.approx(expected, abs=1e-4)


def test_a_training_continues_bit_for_bit_and_refuses_another_task(example, tmp_path):
    first, second = make_training(example), make_training(example, seed=9)
    first.curve.add(0, success=0)
    first.success = 1.0
    first.update()
    assert first.stage == 1
    first.save(tmp_path / "checkpoint")
    second.success = 1.0  # only here: a stage more than in the checkpoint
    second.update()
    second.load(tmp_path / "checkpoint")
    for training in (first, second):
        for _ in range(2):
            training.update()
    assert torch.equal(weights_of(first), weights_of(second))
    for name in ("stage", "success", "mean_return"):
        assert getattr(first, name) == getattr(second, name)
    assert first.curve.points == second.curve.points
    numbers = [t.envs.get_state().arrays["episodes_numbers"] for t in (first, second)]
    np.testing.assert_array_equal(*numbers)
    other = make_training(example, updates=7)
    weights = weights_of(other)
    with pytest.raises(ValueError, match=r"'updates': 200.*'updates': 7"):
        other.load(tmp_path / "checkpoint")
    assert torch.equal(weights_of(other), weights)


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


def test_every_held_out_level_is_played_once(example):
    def policy(planes):
        # Right to the last column, then down.
        players = planes[:, [0, 4, 5]].any(1).reshape(len(planes), -1).argmax(1)
        return np.where(players % 4 < 3, 3, 2)

    keywords = {"is_slippery": False, "num_levels": 60, "start_level": 7000}
    success = example("ppo").evaluate(policy, LAKE, **keywords)
    expected = np.zeros(60, bool)
    env = gymnasium.make(LAKE, obs_mode="planes", level_info=True, **keywords)
    for i in range(60):
        observation, info = env.reset(seed=i)
        assert info["level"] == 7000 + i
        is_over = False
        while not is_over:
            action = int(policy(observation[np.newaxis])[0])
            observation, _, terminated, truncated, info = env.step(action)
            is_over = terminated or truncated
        expected[i] = info["success"]
    np.testing.assert_array_equal(success, expected)
    assert 0 < success.sum() < 60


def test_returns_of_episodes_are_sums_of_rewards(example):
    def policy(observations):
        return (observations[:, 2] > 0).astype(int)  # push to where the pole leans

    returns = example("ppo").evaluate(policy, CART_POLE, 20, start_level=7000)
    env = gymnasium.make(CART_POLE)
    for i, expected in enumerate(returns):
        observation, _ = env.reset(seed=7000 + i)
        total, is_over = 0.0, False
        while not is_over:
            action = int(policy(observation[np.newaxis])[0])
            observation, reward, terminated, truncated, _ = env.step(action)
            total, is_over = total + reward, terminated or truncated
        assert total == expected
    training = make_training(
        example, CART_POLE, keywords={}, num_steps=60, num_levels=None
    )
    batch = training.collect()
    lengths = [
        length
        for mask, ended in zip(batch["mask"].T, batch["ended"].T, strict=True)
        for length in np.diff(mask.cumsum()[ended], prepend=0)
    ]
    assert training.mean_return == pytest.approx(0.1 * np.mean(lengths))


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


@pytest.mark.slow
@pytest.mark.parametrize(("id", "bound"), [(CART_POLE, 475), (TAXI, 7)])
def test_a_whole_training_learns(example, id, bound, tmp_path, monkeypatch, capsys):
    torch.set_num_threads(1)
    ppo, checkpoint = example("ppo"), tmp_path / "policy.pt"
    options = [f"--id={id}", f"--checkpoint={checkpoint}"]
    monkeypatch.setattr(sys, "argv", ["ppo.py", *options])
    ppo.main()
    mean = ppo.evaluate(ppo.load_policy(checkpoint), id).mean()
    assert mean >= bound
    report = capsys.readouterr().out.splitlines()[1]
    assert report == f"4,096 episodes of new seeds: mean return {mean:.2f}"


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
    row = results(id, name, PPO, networks=str(tmp_path)).settings
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
