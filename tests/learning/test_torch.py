"""`roll_vec.torch`, on tensors of the CPU."""

import numpy as np
import pytest
import torch

import roll_vec
from roll_vec.errors import (
    ClosedError,
    InvalidActionError,
    InvalidOptionError,
    InvalidSeedError,
    ResetNeededError,
)
from roll_vec.torch import GridObservations, Turns

pytestmark = pytest.mark.learning

SOKOBAN, LAKE = "roll_vec/Sokoban-v0", "roll_vec/RandomFrozenLake-v0"


def batch_of(id, n=8, **keywords):
    return roll_vec.make_vec(id, n, num_threads=1, **keywords)


@pytest.mark.parametrize("id", [SOKOBAN, LAKE])
def test_grid_observations_equal_the_modes_of_a_batch(id):
    envs = batch_of(id)
    modes = ["planes", "tiny_rgb", "rgb"] + ["planes4"] * (id == SOKOBAN)
    rng = np.random.default_rng(3)
    height, width = envs.single_observation_space.shape
    num_codes = int(envs.single_observation_space.high.max()) + 1
    grids = rng.integers(0, num_codes, (1024, height, width), np.uint8)
    for mode in modes:
        expected = batch_of(id, obs_mode=mode).engine.observer.observe(grids)
        layer = GridObservations(envs, mode)
        assert not layer.state_dict()
        found = layer(torch.from_numpy(grids))
        assert found.dtype == torch.uint8
        np.testing.assert_array_equal(found.numpy(), expected)
        # Any number of axes before those of a grid, and none.
        steps = layer(torch.from_numpy(grids.reshape(16, 64, height, width)))
        assert torch.equal(steps.reshape(found.shape), found)
        assert torch.equal(layer(torch.from_numpy(grids[5])), found[5])


def test_rooms_of_unequal_sides_and_tiles_of_ones_own():
    envs = batch_of(SOKOBAN, dim_room=(5, 7), num_boxes=1)
    grids, _ = envs.reset(seed=0)
    tiles = np.random.default_rng(0).integers(0, 256, (7, 4, 4, 3), np.uint8)
    pictures = GridObservations(envs, "rgb", tiles)(torch.from_numpy(grids)).numpy()
    assert pictures.shape == (8, 20, 28, 3)
    for i, row, col in np.ndindex(8, 5, 7):
        cell = pictures[i, 4 * row : 4 * row + 4, 4 * col : 4 * col + 4]
        np.testing.assert_array_equal(cell, tiles[grids[i, row, col]])


def test_what_grid_observations_refuse():
    envs = batch_of(SOKOBAN)
    with pytest.raises(InvalidOptionError, match=r"envs: expected .*obs_mode='grid'"):
        GridObservations(batch_of(SOKOBAN, obs_mode="planes"), "planes")
    with pytest.raises(InvalidOptionError, match="envs: expected"):
        GridObservations(None, "planes")
    with pytest.raises(InvalidOptionError, match="envs: expected"):
        GridObservations(roll_vec.make_vec("roll_vec/Countdown-v0", 2), "planes")
    with pytest.raises(InvalidOptionError, match="obs_mode: expected one of 'planes'"):
        GridObservations(envs, "grid")
    tiles = np.zeros((7, 16, 16, 3), np.uint8)
    for mode, bad in (
        ("planes", tiles),
        ("rgb", tiles[:6]),
        ("rgb", tiles / 2),
        ("rgb", [[1], [1, 2]]),
    ):
        with pytest.raises(InvalidOptionError, match="tiles: expected a uint8 array"):
            GridObservations(envs, mode, bad)


def policy(observations):
    """Choose by the content of a grid alone; the second item is what was seen."""
    sums = observations.long().flatten(1) @ torch.arange(1, 37)
    return sums % 4 + 1, sums


@pytest.mark.parametrize("mode", ["NextStep", "SameStep"])
@pytest.mark.parametrize("copy", [False, True])
@pytest.mark.parametrize("sizes", [(8, 8), (5, 4, 7), (16,)])
def test_turns_give_the_results_of_one_batch(mode, copy, sizes):
    keywords = {"autoreset_mode": mode, "max_episode_steps": 7, "num_boxes": 1}
    whole = batch_of(SOKOBAN, 16, **keywords)
    turns = Turns([batch_of(SOKOBAN, n, copy=copy, **keywords) for n in sizes], "cpu")
    assert turns.num_envs == 16
    for seed in (5, range(30, 46)):
        observations, _ = whole.reset(seed=seed)
        turns.reset(seed=seed)
        # Twice: the second call goes on where the first one ended.
        for num_steps in (20, 3):
            played = list(turns.play(policy, num_steps))
            assert len(played) == num_steps * len(sizes)
            for step in range(num_steps):
                parts = played[step * len(sizes) : (step + 1) * len(sizes)]
                assert {part.step for part in parts} == {step}
                assert parts[0].rows.start == 0
                assert parts[-1].rows.stop == 16
                seen = torch.cat([part.observations for part in parts])
                np.testing.assert_array_equal(seen, observations)
                actions, sums = policy(torch.from_numpy(observations))
                assert torch.equal(torch.cat([p.output[1] for p in parts]), sums)
                observations, *results, _ = whole.step(actions.numpy())
                for k, result in enumerate(results, 4):
                    together = np.concatenate([part[k] for part in parts])
                    np.testing.assert_array_equal(together, result)
                for part in parts:
                    success = whole.successes[part.rows]
                    if "success" in part.infos:
                        np.testing.assert_array_equal(part.infos["success"], success)
            np.testing.assert_array_equal(torch.cat(turns.observations), observations)
    turns.close()


def test_a_policy_may_write_into_the_tensor_that_it_returned():
    lake = "roll_vec/FrozenLake-v1"
    turns = Turns([batch_of(lake, 1, is_slippery=False) for _ in range(2)], "cpu")
    turns.reset(seed=0)
    buffer, chosen = torch.zeros(1, dtype=torch.int64), iter([2, 1])
    list(turns.play(lambda _: buffer.fill_(next(chosen)), 1))
    assert [seen.tolist() for seen in turns.observations] == [[1], [4]]


def test_what_turns_refuse():
    batch, texts = batch_of(SOKOBAN), roll_vec.make_vec("roll_vec/Countdown-v0", 2)
    for batches in ([], batch, [3], [batch, batch], [texts], [batch, batch_of(LAKE)]):
        with pytest.raises(InvalidOptionError, match="batches: expected different"):
            Turns(batches, "cpu")
    turns = Turns([batch, batch_of(SOKOBAN, 3)], "cpu")
    with pytest.raises(ResetNeededError):
        turns.play(policy, 1)
    turns.reset(seed=0)
    with pytest.raises(InvalidOptionError, match="num_steps"):
        turns.play(policy, 0)
    for output in (np.ones(8, np.int64), [torch.ones(8)], ()):
        with pytest.raises(InvalidActionError, match="actions: expected a tensor"):
            next(turns.play(lambda _, output=output: output, 1))
    # Seeds are checked before any batch begins anew.
    before = [seen.clone() for seen in turns.observations]
    for seed in (range(10), range(8), True, 1.5, "abcdefghijk", [0] * 10 + [-5]):
        with pytest.raises(InvalidSeedError, match="seed"):
            turns.reset(seed=seed)
    assert all(map(torch.equal, before, turns.observations))
    # After a reset that failed in between nothing is played.
    turns.batches[1].close()
    with pytest.raises(ClosedError):
        turns.reset(seed=1)
    with pytest.raises(ResetNeededError):
        turns.play(policy, 1)
