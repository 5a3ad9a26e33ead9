"""`infos["episode"]`: return and length of each episode.

Unrolls and steps of some environments have them as well in ``tests/contract``.
"""

import numpy as np
import pytest
from gymnasium.vector import AutoresetMode

import roll_vec
from roll_vec import VectorState
from roll_vec.errors import InvalidStateError, LevelGenerationError

N = 5
KEYWORDS = {
    "roll_vec/RandomFrozenLake-v0": {"max_episode_steps": 7, "action_start": 1},
    "roll_vec/Countdown-v0": {"max_steps": 3},
}


@pytest.fixture(params=KEYWORDS)
def id(request):
    """An array family, and one of objects."""
    return request.param


def actions_of(id, steps):
    """Return actions that end episodes at different times."""
    rng = np.random.default_rng(1)
    if "Countdown" in id:
        return rng.choice(["1+1", "no", "2*3"], (steps, N)).astype(object)
    return rng.integers(1, 5, (steps, N))


def make(id, mode, **keywords):
    """Make a batch."""
    keywords = {"num_envs": N, **KEYWORDS[id], **keywords}
    return roll_vec.make_vec(id, autoreset_mode=mode, **keywords)


@pytest.mark.parametrize("mode", AutoresetMode)
def test_entries_are_the_sums_of_the_steps_of_an_episode(id, mode):
    envs = make(id, mode, episode_info=True)
    envs.reset(seed=0)
    returns, lengths, ends = np.zeros(N), np.zeros(N, int), 0
    is_new = np.zeros(N, bool)
    for batch in actions_of(id, 60):
        _, rewards, terminations, truncations, infos = envs.step(batch)
        ended = terminations | truncations
        if mode is AutoresetMode.SAME_STEP:
            infos = infos.get("final_info", {})
        returns, lengths = np.where(is_new, 0, returns + rewards), lengths + ~is_new
        assert ("episode" in infos) == ended.any()
        if ended.any():
            entry, mask = infos["episode"], infos["_episode"]
            np.testing.assert_array_equal(mask, ended)
            assert (entry["r"].dtype, entry["l"].dtype) == (np.float64, np.int64)
            np.testing.assert_array_equal(entry["r"], np.where(ended, returns, 0))
            np.testing.assert_array_equal(entry["l"], np.where(ended, lengths, 0))
        ends += ended.sum()
        returns[ended], lengths[ended] = 0, 0
        is_new = ended if mode is AutoresetMode.NEXT_STEP else np.zeros(N, bool)
        if mode is AutoresetMode.DISABLED and ended.any():
            envs.reset(options={"reset_mask": ended})
    assert ends > 20


def test_an_unroll_that_raises_takes_the_counts_back():
    envs = make("roll_vec/RandomFrozenLake-v0", "NextStep", episode_info=True)
    envs.reset(seed=0)
    envs.step(np.ones(N, int))
    before = envs.get_state()
    bad = np.ones((4, N), int)
    bad[3] = 99
    with pytest.raises(ValueError, match="step 3"):
        envs.unroll(bad)
    assert envs.get_state() == before


def test_counts_are_right_after_a_level_that_cannot_be_drawn():
    envs = roll_vec.make_vec(
        "roll_vec/Sokoban-v0",
        2,
        autoreset_mode="SameStep",
        max_episode_steps=3,
        action_start=1,
        episode_info=True,
    )
    envs.reset(seed=0)
    envs.set_level_options(mask=np.array([True, False]), solution_steps=(900, 999))
    envs.step([1, 1])
    envs.reset(options={"reset_mask": np.array([False, True])})
    envs.step([1, 1])
    with pytest.raises(LevelGenerationError):
        envs.step([1, 1])
    arrays = envs.get_state().arrays
    np.testing.assert_array_equal(arrays["elapsed_steps"], arrays["episode_lengths"])
    assert arrays["episode_lengths"][1] == 2


def test_lengths_that_no_episode_has_are_refused():
    envs = roll_vec.make_vec("roll_vec/FrozenLake-v1", 2, episode_info=True)
    envs.reset(seed=0)
    state = envs.get_state()
    for length in (-1, (1 << 63) - 1):
        arrays = {**state.arrays, "episode_lengths": np.array([0, length])}
        with pytest.raises(InvalidStateError, match=r"episode_lengths: .* got"):
            envs.set_state(VectorState(state.id, state.configuration, arrays))
