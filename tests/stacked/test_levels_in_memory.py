"""Episodes whose levels are all in memory begin in one compiled call, and as others."""

import numpy as np
import pytest

import roll_vec
from roll_vec.stacked.levels import LevelEngine
from tests.contract.cases import MODES, assert_same

SOKOBAN, LAKES = "roll_vec/Sokoban-v0", "roll_vec/RandomFrozenLake-v0"
ROOMS = ["#####\n#@$.#\n#####", "#####\n#.$@#\n#####", "#####\n#+$ #\n#####"]
CASES = {
    "rooms of a user": (SOKOBAN, {"levels": ROOMS, "start_level": 1}),
    "maps of a user": (LAKES, {"levels": ["SF\nFG", "FS\nGF", "SH\nFG"]}),
    "maps of a set": (LAKES, {"size": 3, "num_levels": 3, "start_level": 2**32 - 5}),
}


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("case", CASES)
def test_they_begin_as_one_by_one(case, mode, monkeypatch):
    id, more = CASES[case]
    keywords = {"max_episode_steps": 5, "autoreset_mode": mode, "action_start": 1}
    env, other = (roll_vec.make_vec(id, 6, **more, **keywords) for _ in range(2))
    assert type(other.engine)._begin_rows is not LevelEngine._begin_rows
    monkeypatch.setattr(other.engine, "_begin_rows", lambda *_: False)
    calls = []
    begin_rows = env.engine._begin_rows
    monkeypatch.setattr(
        env.engine, "_begin_rows", lambda *args: calls.append(1) or begin_rows(*args)
    )
    assert_same(env.reset(seed=3), other.reset(seed=3))
    rng = np.random.default_rng(0)
    for _ in range(60):
        actions = rng.integers(1, 5, 6)
        result = env.step(actions)
        assert_same(result, other.step(actions))
        ends = result[2] | result[3]
        if mode.value == "Disabled" and ends.any():
            options = {"reset_mask": ends}
            assert_same(env.reset(options=options), other.reset(options=options))
        assert_same(env.engine.get_state().arrays, other.engine.get_state().arrays)
    assert calls or mode.value == "Disabled"


def test_sets_that_are_not_all_in_memory_are_left_to_the_provider():
    env = roll_vec.make_vec(LAKES, 2, size=3, num_levels=40, max_episode_steps=1)
    rows = np.arange(2)
    env.reset(seed=0)
    assert not env.engine._begin_in_memory(rows)
    # Forty seeds, forty levels.
    for seed in range(2, 40, 2):
        env.reset(seed=seed)
    numbers = env.engine.episodes.numbers.copy()
    assert env.engine._begin_in_memory(rows)
    assert (env.engine.episodes.numbers == numbers + 1).all()
    env.set_level_options(mask=np.array([True, False]), num_levels=2)
    assert not env.engine._begin_in_memory(rows)
