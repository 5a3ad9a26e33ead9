"""Moves without slips, policies on slippery ice; bands of the chance to win."""

import gymnasium
import numpy as np
import pytest

from roll_vec.envs.frozen_lake import solver as lake_solver
from roll_vec.envs.frozen_lake.solver import MAX_LINKS, LakeSolution
from roll_vec.errors import SolverLimitError
from roll_vec.evaluation import draw_levels
from roll_vec.seeding import band_seed
from tests.conftest import JIT_OFF
from tests.oracles.frozen_lake import fewest_moves, generate_map, highest_chances

GYMNASIUM, RANDOM = "roll_vec/FrozenLake-v1", "roll_vec/RandomFrozenLake-v0"
CASES = [
    (GYMNASIUM, {}),
    (GYMNASIUM, {"desc": ["SFFS", "FHFF", "GFFF"], "obs_mode": "grid"}),
    (RANDOM, {"size": 6, "p": 0.75}),
    (RANDOM, {"levels": [["SFH", "FFG"], ["GFS", "HFF"]], "action_start": 0}),
]


def letters(desc):
    """Return a map as a list of strings."""
    return [b"".join(row).decode() for row in desc.tolist()]


@pytest.mark.parametrize(("id", "more"), CASES, ids=str)
def test_moves_are_the_fewest_and_end_in_a_success(id, more):
    more = {"is_slippery": False, **more}
    env = gymnasium.make_vec(id, num_envs=4, **more)
    single = gymnasium.make(id, **more).unwrapped
    env.reset(seed=7)
    for seed, actions in zip(range(7, 11), env.unwrapped.solve(), strict=True):
        single.reset(seed=seed)
        np.testing.assert_array_equal(single.solve(), actions)
        assert actions.dtype == np.int64
        assert len(actions) == fewest_moves(letters(single.desc))[single.s]
        for step, action in enumerate(actions):
            # From where it stands now, not from the start.
            assert single.solve().tolist() == actions[step:].tolist()
            assert single.oracle_action == action
            _, reward, terminated, _, _ = single.step(action)
            assert reward == terminated == (step == len(actions) - 1)


@pytest.mark.parametrize(("id", "more"), CASES, ids=str)
def test_policies_have_the_highest_chances(id, more):
    env = gymnasium.make_vec(id, num_envs=4, **more)
    single = gymnasium.make(id, **more).unwrapped
    env.reset(seed=7)
    for seed, solution in zip(range(7, 11), env.unwrapped.solve(), strict=True):
        single.reset(seed=seed)
        assert repr(single.solve()) == repr(solution)
        assert isinstance(solution, LakeSolution)
        np.testing.assert_allclose(
            solution.values, highest_chances(letters(single.desc)), rtol=1e-9
        )
        assert solution.value == solution.values[single.s]
        assert single.oracle_action == solution.policy[single.s]
        start = single.first_action
        assert set(solution.policy.tolist()) <= set(range(start, start + 4))


def test_the_limit_of_slippery_maps(monkeypatch):
    monkeypatch.setattr(lake_solver, "MAX_LINKS", 4 * 5**2 - 1)
    desc = ["SFFFF", "FFFFF", "FFFFF", "FFFFG"]
    env = gymnasium.make(GYMNASIUM, desc=desc).unwrapped
    env.reset(seed=0)
    with pytest.raises(SolverLimitError, match=r"= 99, such as .*, got 4 x 5"):
        env.solve()
    assert env.oracle_action is None
    env = gymnasium.make(GYMNASIUM, desc=desc, is_slippery=False).unwrapped
    env.reset(seed=0)
    assert len(env.solve()) == 7
    monkeypatch.setattr(lake_solver, "MAX_LINKS", 4 * 5**2)
    env = gymnasium.make(GYMNASIUM, desc=desc).unwrapped
    env.reset(seed=0)
    assert env.solve().value > 0
    assert 161**3 < MAX_LINKS < 162**3


@pytest.mark.skipif(JIT_OFF, reason="plain functions are for one thread")
def test_solutions_do_not_depend_on_the_number_of_threads(monkeypatch):
    monkeypatch.setattr(lake_solver, "_MAPS_PER_THREAD", 2)
    solutions = []
    for num_threads in (1, 3):
        env = gymnasium.make_vec(RANDOM, num_envs=23, num_threads=num_threads, size=5)
        env.reset(seed=2)
        solutions.append(repr(env.unwrapped.solve()))
    assert solutions[0] == solutions[1]


def start_chance(rows, is_slippery=True):
    """Return the highest chance to reach the goal from the start."""
    start = "".join(rows).index("S")
    return highest_chances(rows, 1.0 / 3.0 if is_slippery else 1.0)[start]


@pytest.mark.parametrize(("low", "high"), [(0.31, 0.71), (None, 0.41), (1, 1)])
def test_the_first_map_within_the_band_is_drawn(low, high):
    band = {"success_probability": (low, high)}
    levels, _ = draw_levels(RANDOM, 3, start_level=5, p=0.7, size=4, **band)
    attempts = set()
    for seed, grid in enumerate(levels.grids, 5):
        for attempt in range(1000):
            rows = generate_map(4, 0.7, band_seed(seed, attempt))
            chance = start_chance(rows)
            # Value iteration ends below 1.
            if (low or 0) - 1e-9 <= chance <= (1 if high is None else high):
                break
        assert ["".join("SFHG"[code] for code in row) for row in grid.tolist()] == rows
        attempts.add(attempt > 0)
    assert True in attempts


def test_maps_beyond_the_limit_of_the_solver_are_refused(monkeypatch):
    monkeypatch.setattr(lake_solver, "MAX_LINKS", 4**3)
    band = {"success_probability": (0.1, 1)}
    assert draw_levels(RANDOM, 1, size=4, **band)
    with pytest.raises(SolverLimitError, match=r"= 64, such as .*, got 5 x 5"):
        draw_levels(RANDOM, 1, size=5, **band)
    assert draw_levels(RANDOM, 1, size=5, is_slippery=False, **band)
    assert draw_levels(RANDOM, 1, size=5)
