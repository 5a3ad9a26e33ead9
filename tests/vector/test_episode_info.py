"""`infos["episode"]`: return and length of each episode, by step, unroll and recv."""

import numpy as np
import pytest
from gymnasium.vector import AutoresetMode
from gymnasium.wrappers.vector import RecordEpisodeStatistics

import roll_vec
from roll_vec import VectorState
from roll_vec.errors import InvalidStateError, LevelGenerationError
from roll_vec.testing import check_vector_env
from tests.contract.cases import assert_same

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


def last_infos(infos, mode):
    """Return the infos of ended episodes, which SAME_STEP mode moves."""
    is_moved = mode in ("SameStep", AutoresetMode.SAME_STEP)
    return infos.get("final_info", {}) if is_moved else infos


def reset_ended(envs, result):
    """Reset what a step in DISABLED mode has ended."""
    ended = result[2] | result[3]
    if envs.autoreset_mode is AutoresetMode.DISABLED and ended.any():
        envs.reset(options={"reset_mask": ended})


@pytest.mark.parametrize("mode", AutoresetMode)
def test_entries_are_the_sums_of_the_steps_of_an_episode(id, mode):
    envs = make(id, mode, episode_info=True)
    envs.reset(seed=0)
    returns, lengths, ends = np.zeros(N), np.zeros(N, int), 0
    is_new = np.zeros(N, bool)
    for batch in actions_of(id, 60):
        result = envs.step(batch)
        _, rewards, terminations, truncations, infos = result
        ended = terminations | truncations
        infos = last_infos(infos, mode)
        returns, lengths = np.where(is_new, 0, returns + rewards), lengths + ~is_new
        assert ("episode" in infos) == ended.any()
        if ended.any():
            entry, mask = infos["episode"], infos["_episode"]
            np.testing.assert_array_equal(mask, ended)
            np.testing.assert_array_equal(entry["r"], np.where(ended, returns, 0))
            np.testing.assert_array_equal(entry["l"], np.where(ended, lengths, 0))
        ends += ended.sum()
        returns[ended], lengths[ended] = 0, 0
        is_new = ended if mode is AutoresetMode.NEXT_STEP else np.zeros(N, bool)
        reset_ended(envs, result)
    assert ends > 20


def test_entries_are_those_of_gymnasiums_wrapper(id):
    envs = make(id, "NextStep", episode_info=True)
    wrapped = RecordEpisodeStatistics(make(id, "NextStep"))
    envs.reset(seed=0)
    wrapped.reset(seed=0)
    for batch in actions_of(id, 30):
        infos, expected = envs.step(batch)[-1], wrapped.step(batch)[-1]
        assert infos.keys() == expected.keys()
        for key in ("r", "l"):
            if "episode" in infos:
                np.testing.assert_array_equal(
                    infos["episode"][key], expected["episode"][key]
                )


@pytest.mark.parametrize("mode", ["NextStep", "SameStep"])
def test_an_unroll_has_the_entries_of_its_steps(id, mode):
    envs, twin = (make(id, mode, episode_info=True) for _ in range(2))
    envs.reset(seed=0)
    twin.reset(seed=0)
    actions = actions_of(id, 40)
    for start in (0, 20):
        infos = last_infos(envs.unroll(actions[start : start + 20]).infos, mode)
        for t in range(20):
            expected = last_infos(twin.step(actions[start + t])[-1], mode)
            if "episode" not in expected:
                assert not infos["_episode"][t].any()
                continue
            row = {key: array[t] for key, array in infos["episode"].items()}
            assert_same(row, expected["episode"])
            np.testing.assert_array_equal(infos["_episode"][t], expected["_episode"])
    assert_same(envs.get_attr("np_random_seed"), twin.get_attr("np_random_seed"))


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


@pytest.mark.parametrize("mode", ["NextStep", "SameStep"])
def test_recv_has_the_entries_too(mode):
    id = "roll_vec/Countdown-v0"
    envs, twin = (make(id, mode, episode_info=True) for _ in range(2))
    envs.reset(seed=0)
    twin.reset(seed=0)
    for batch in actions_of(id, 12):
        expected = last_infos(twin.step(batch)[-1], mode)
        for ids in ([0, 3], [1, 2, 4]):
            envs.send(batch[ids], ids)
            infos = last_infos(envs.recv(None)[-1], mode)
            if "episode" not in infos:
                assert not expected.get("_episode", np.zeros(N, bool))[ids].any()
                continue
            for key, array in infos["episode"].items():
                np.testing.assert_array_equal(array, expected["episode"][key][ids])


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


def test_the_public_checker_accepts_the_entries():
    def factory(num_envs, autoreset_mode="NextStep"):
        id = "roll_vec/RandomFrozenLake-v0"
        return make(id, autoreset_mode, num_envs=num_envs, episode_info=True)

    check_vector_env(factory, steps=100)
