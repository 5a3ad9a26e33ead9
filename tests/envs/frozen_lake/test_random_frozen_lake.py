"""RandomFrozenLake: ROLL's maps with Gymnasium's slips, in both forms."""

import gymnasium
import numpy as np
import pytest

import roll_vec  # noqa: F401  registers the ids
from roll_vec.envs.frozen_lake import maps
from roll_vec.errors import LevelGenerationError, ResetNeededError
from roll_vec.kernels.frozen_lake import random_maps as frozen_lake_maps
from roll_vec.kernels.frozen_lake import rules as kernels
from roll_vec.seeding import episode_seed
from tests.conftest import JIT_OFF
from tests.oracles.frozen_lake import OracleFrozenLake, generate_map
from tests.plain import PlainKernels
from tests.splits import split_all

ID = "roll_vec/RandomFrozenLake-v0"
CONFIGS = [
    {},
    {"is_slippery": False},
    {"size": 2, "p": 0.3},
    {"size": 3, "p": 1.0},
    {"size": 7, "p": 0.65},
    {"size": 8, "p": 0.9, "is_slippery": False},
]


def oracle_of(config, seed):
    """The oracle's lake of a seed, its stream where the first step finds it."""
    options = {"size": 4, "p": 0.8, "is_slippery": True, **config}
    lake = OracleFrozenLake(
        generate_map(options["size"], options["p"], seed), options["is_slippery"]
    )
    lake.reset(seed)
    return lake


def letters(env):
    """Return the map as strings."""
    return [b"".join(row).decode() for row in env.desc]


# -------------------------------------------------------------------------- rules


@pytest.mark.parametrize("config", CONFIGS, ids=str)
def test_play_equals_the_oracle(config):
    env = gymnasium.make(ID, action_start=1, **config).unwrapped
    rng = np.random.default_rng(2)
    for seed in [0, 2**32 - 1, *range(1, 5 if JIT_OFF else 30)]:
        grid, info = env.reset(seed=seed)
        assert info == {}
        lake = oracle_of(config, seed)
        assert letters(env) == lake.rows
        assert env.s == env.start == lake.position
        for _ in range(30):
            action = int(rng.integers(0, 5))
            before = env.s
            grid, reward, terminated, truncated, info = env.step(action)
            assert not truncated
            if action == 0:
                assert (env.s, reward, terminated) == (before, 0.0, False)
            else:
                step = lake.step(action - 1)
                assert env.s == step.position
                assert (reward, terminated) == (step.reward, step.done)
            cell = "".join(lake.rows)[env.s]
            assert info == {
                "action_is_effective": env.s != before,
                "action_is_valid": action != 0,
                "success": cell == "G",
            }
            code = {"S": 0, "F": 0, "H": 4, "G": 5}[cell]
            assert grid.ravel()[env.s] == code
            tiles = np.array([{"S": 1, "F": 1, "H": 2, "G": 3}[c] for c in cell])
            assert env.tiles.ravel()[env.s] == tiles
            if terminated:
                break


@pytest.mark.parametrize("config", CONFIGS, ids=str)
def test_later_episodes_are_those_of_the_documented_seeds(config):
    env = gymnasium.make(ID, **config).unwrapped
    for seed in (3, 2**32 - 1):
        env.reset(seed=seed)
        for episode in range(1, 4 if JIT_OFF else 12):
            env.reset()
            lake = oracle_of(config, episode_seed(seed, episode))
            assert letters(env) == lake.rows
            for _ in range(10):
                if env.step(2)[2] != lake.step(1).done:
                    raise AssertionError("other slips")
                assert env.s == lake.position
    # A seed starts again whatever happened before.
    env.reset(seed=3)
    assert letters(env) == oracle_of(config, 3).rows


def test_action_0_after_the_end_is_no_success_in_both_forms():
    single = gymnasium.make(ID, action_start=1).unwrapped
    batch = gymnasium.make_vec(
        ID, num_envs=1, action_start=1, autoreset_mode="Disabled"
    )
    single.reset(seed=0)
    batch.reset(seed=[0])
    goal = int(np.flatnonzero(single.tiles == kernels.GOAL)[0])
    single.s = batch.unwrapped.engine.positions[0] = goal
    *_, info = single.step(0)
    *_, infos = batch.step(np.array([0]))
    assert info["success"] is False
    assert not infos["success"][0]


def test_action_0_moves_nothing_and_draws_nothing_in_both_forms():
    env, twin = (gymnasium.make(ID, action_start=1).unwrapped for _ in range(2))
    batch = gymnasium.make_vec(ID, 2, max_episode_steps=None, action_start=1)
    assert not env.action_space.contains(0)
    before, _ = env.reset(seed=11)
    twin.reset(seed=11)
    batch.reset(seed=[11, 11])
    info = {"action_is_effective": False, "action_is_valid": False, "success": False}
    for _ in range(5):
        obs, reward, terminated, truncated, given = env.step(0)
        np.testing.assert_array_equal(obs, before)
        assert (reward, terminated, truncated) == (0.0, False, False)
        assert given == info
        obs, rewards, terminations, truncations, infos = batch.step([0, 0])
        np.testing.assert_array_equal(obs, [before, before])
        assert not np.concatenate([rewards, terminations, truncations]).any()
        for key in info:
            assert infos[key].tolist() == [False, False]
            assert infos["_" + key].all()
    assert env.num_env_steps == 5
    # The slips begin only now.
    for action in (1, 2, 3, 4):
        expected = twin.step(action)
        assert repr(env.step(action)) == repr(expected)
        obs, rewards, *_ = batch.step([action, action])
        np.testing.assert_array_equal(obs[0], expected[0])
        if expected[2]:
            break


def first_seed(config, found):
    """Return the first seed whose map passes a test."""
    env = gymnasium.make(ID, **config).unwrapped
    for seed in range(1000):
        env.reset(seed=seed)
        if found(env):
            return seed
    raise AssertionError("no such map")


@pytest.mark.parametrize("kind", ["max_steps", "max_episode_steps"])
@pytest.mark.parametrize(("goal", "reward"), [(kernels.GOAL, 1.0), (kernels.HOLE, 0.0)])
def test_an_end_on_the_very_step_of_the_limit_is_both(kind, goal, reward):
    config = {"is_slippery": False, "p": 0.5}
    # The goal or a hole lies to the right of the start.
    seed = first_seed(
        config,
        lambda env: env.s % 4 < 3 and env.tiles.ravel()[env.s + 1] == goal,
    )
    env = gymnasium.make(ID, **config, **{kind: 1})
    batch = gymnasium.make_vec(ID, num_envs=2, **config, **{kind: 1})
    env.reset(seed=seed)
    batch.reset(seed=[seed, seed])
    _, given, terminated, truncated, info = env.step(3)
    assert (given, terminated, truncated) == (reward, True, True)
    assert info["success"] == (goal == kernels.GOAL)
    _, rewards, terminations, truncations, infos = batch.step([3, 3])
    assert rewards.tolist() == [reward] * 2
    assert terminations.all()
    assert truncations.all()
    assert infos["success"].tolist() == [info["success"]] * 2


def test_attributes_of_the_map():
    env = gymnasium.make(ID, size=5).unwrapped
    env.reset(seed=4)
    assert (env.nrow, env.ncol) == (5, 5)
    assert env.desc.shape == (5, 5)
    assert env.desc.dtype == np.dtype("S1")
    assert (env.desc == b"S").sum() == (env.desc == b"G").sum() == 1
    assert env.desc.ravel()[env.start] == b"S"
    start = env.start
    for action in (1, 2, 3, 4):
        env.step(action)
    assert env.start == start
    assert (env.desc == b"S").sum() == 1
    env.desc[:] = b"H"
    assert (env.desc != b"H").any()


# --------------------------------------------------------------- threads, failures


@pytest.mark.skipif(JIT_OFF, reason="plain functions are for one thread")
def test_batches_do_not_depend_on_the_number_of_threads(monkeypatch):
    split_all(monkeypatch, 5)
    monkeypatch.setattr(maps, "_MAPS_PER_THREAD", 2)
    played = []
    for num_threads in (1, 2, 5):
        env = gymnasium.make_vec(
            ID, num_envs=23, num_threads=num_threads, max_episode_steps=6
        )
        env.action_space.seed(0)
        results = [env.reset(seed=0)]
        results += [env.step(env.action_space.sample()) for _ in range(15)]
        played.append(repr(results))
    assert played[0] == played[1] == played[2]


def few_draws(monkeypatch, max_draws):
    """Let the kernel give up after a few draws."""
    few = PlainKernels(frozen_lake_maps, MAX_DRAWS=max_draws)
    monkeypatch.setattr(frozen_lake_maps, "generate_maps", few.generate_maps)
    monkeypatch.setattr(frozen_lake_maps, "MAX_DRAWS", max_draws)


def test_a_configuration_without_maps_ends_in_an_error(monkeypatch):
    # 100,000 draws of a map take a while where hardly any is solvable; 5 do not.
    few_draws(monkeypatch, 5)
    config = {"size": 40, "p": 0.0}
    for form in (gymnasium.make(ID, **config), gymnasium.make_vec(ID, 2, **config)):
        with pytest.raises(LevelGenerationError) as caught:
            form.reset(seed=1)
        message = str(caught.value)
        assert "no solvable map was found for level seed 1 within 5 draws" in message
        assert "size=40, p=0.0" in message
        with pytest.raises(ResetNeededError):
            form.unwrapped.step([1, 1] if hasattr(form, "num_envs") else 1)


@pytest.mark.parametrize("form", ["single", "vector"])
def test_nothing_has_moved_where_a_map_fails(form, monkeypatch):
    few_draws(monkeypatch, 1)
    config = {"p": 0.4, "action_start": 1}

    def works(seed):
        try:
            gymnasium.make(ID, **config).reset(seed=seed)
        except LevelGenerationError:
            return False
        return True

    good = [seed for seed in range(300) if works(seed)][:2]
    bad = next(seed for seed in range(300) if not works(seed))
    if form == "single":
        env, twin = (gymnasium.make(ID, **config) for _ in range(2))
        seeds, failing, action = good[0], bad, 0
    else:
        env, twin = (gymnasium.make_vec(ID, num_envs=2, **config) for _ in range(2))
        seeds, failing, action = good, [good[0], bad], [0, 0]
    for each in (env, twin):
        each.reset(seed=seeds)
        each.step(action)
    with pytest.raises(LevelGenerationError, match=f"level seed {bad} "):
        env.reset(seed=failing)
    assert env.np_random_seed == twin.np_random_seed
    for _ in range(5):
        assert repr(env.step(action)) == repr(twin.step(action))
    last = env.step(1 if form == "single" else [1, 2])
    assert repr(last) == repr(twin.step(1 if form == "single" else [1, 2]))
    # Nor have the streams.
    monkeypatch.undo()
    assert repr(env.reset()) == repr(twin.reset())
