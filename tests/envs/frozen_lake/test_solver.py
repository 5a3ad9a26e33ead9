"""Solutions of environments: moves without slips, policies on slippery ice."""

import gymnasium
import numpy as np
import pytest

from roll_vec.envs.frozen_lake import LakeSolution
from roll_vec.envs.frozen_lake import solver as lake_solver
from roll_vec.envs.frozen_lake.maps import MapGenerator
from roll_vec.envs.frozen_lake.solver import MAX_LINKS, LakeSolver, measure_maps
from roll_vec.errors import InvalidOptionError, SolverLimitError
from roll_vec.kernels.frozen_lake import rules as kernels
from tests.conftest import JIT_OFF
from tests.oracles.frozen_lake import fewest_moves, highest_chances
from tests.splits import split_all

GYMNASIUM, RANDOM = "roll_vec/FrozenLake-v1", "roll_vec/RandomFrozenLake-v0"
CASES = [
    (GYMNASIUM, {}),
    (GYMNASIUM, {"map_name": "8x8"}),
    (GYMNASIUM, {"desc": ["SFFS", "FHFF", "GFFF"], "obs_mode": "grid"}),
    (RANDOM, {"size": 6, "p": 0.75}),
    (RANDOM, {"action_start": 0, "num_levels": 5}),
    (RANDOM, {"levels": [["SFH", "FFG"], ["GFS", "HFF"]]}),
]


def letters(desc):
    """Return a map as a list of strings."""
    return [b"".join(row).decode() for row in desc.tolist()]


@pytest.mark.parametrize(("id", "more"), CASES, ids=str)
def test_moves_are_the_fewest_and_end_in_a_success(id, more):
    num_envs = 3 if JIT_OFF else 30
    more = {"is_slippery": False, "max_episode_steps": None, **more}
    env = gymnasium.make_vec(id, num_envs=num_envs, **more)
    env.reset(seed=4)
    solutions, starts = env.unwrapped.solve(), env.get_attr("s")
    lengths = [
        fewest_moves(letters(desc))[start]
        for desc, start in zip(env.get_attr("desc"), starts, strict=True)
    ]
    assert [len(actions) for actions in solutions] == lengths
    for actions in solutions:
        assert actions.dtype == np.int64
    last = np.zeros(num_envs, bool)
    for step in range(max(lengths)):
        is_over = step >= np.array(lengths)
        actions = [actions[min(step, len(actions) - 1)] for actions in solutions]
        _, rewards, terminations, _, _ = env.step(np.array(actions))
        expected = step + 1 == np.array(lengths)
        np.testing.assert_array_equal(terminations[~is_over], expected[~is_over])
        np.testing.assert_array_equal(rewards[~is_over], expected[~is_over])
        last |= terminations
        if id == GYMNASIUM and step == 1:
            # From where it stands now, not from the start.
            rests = [actions[2:].tolist() for actions in solutions]
            assert [actions.tolist() for actions in env.unwrapped.solve()] == rests
    assert last.all()


@pytest.mark.parametrize(("id", "more"), CASES, ids=str)
@pytest.mark.parametrize("is_slippery", [True, False])
def test_single_environments_have_the_same_solutions(id, more, is_slippery):
    env = gymnasium.make_vec(id, num_envs=4, is_slippery=is_slippery, **more)
    single = gymnasium.make(id, is_slippery=is_slippery, **more).unwrapped
    env.reset(seed=7)
    for seed, solution in zip(range(7, 11), env.unwrapped.solve(), strict=True):
        single.reset(seed=seed)
        assert repr(single.solve()) == repr(solution)
        if is_slippery:
            assert isinstance(solution, LakeSolution)
            np.testing.assert_allclose(
                solution.values, highest_chances(letters(single.desc)), rtol=1e-9
            )
            assert solution.value == solution.values[single.s]
            assert single.oracle_action == solution.policy[single.s]
            start = single.first_action
            assert set(solution.policy.tolist()) <= set(range(start, start + 4))
        else:
            assert single.oracle_action == solution[0]


@pytest.mark.slow
@pytest.mark.skipif(JIT_OFF, reason="takes a minute as plain Python")
@pytest.mark.parametrize(
    ("id", "more"),
    [*CASES, (GYMNASIUM, {"success_rate": 0.6}), (GYMNASIUM, {"success_rate": 0.0})],
    ids=str,
)
def test_a_policy_played_by_steps_attains_its_value(id, more):
    num_envs = 4000
    env = gymnasium.make_vec(
        id,
        num_envs=num_envs,
        max_episode_steps=-1,
        autoreset_mode="Disabled",
        **more,
    )
    env.reset(seed=11)
    solutions = env.unwrapped.solve()
    policies = np.array([solution.policy for solution in solutions])
    values = np.array([solution.value for solution in solutions])
    lakes, has_ended = env.unwrapped.engine, np.zeros(num_envs, bool)
    wins = np.zeros(num_envs)
    for _ in range(3000):
        actions = policies[np.arange(num_envs), lakes.positions]
        _, rewards, terminations, _, _ = env.step(actions)
        wins += rewards * ~has_ended
        has_ended |= terminations
        if has_ended.all():
            break
        if has_ended.any():
            env.reset(options={"reset_mask": has_ended})
            # Episodes that are over stay so.
            lakes.positions[has_ended] = 0
    assert has_ended.mean() > 0.999
    deviation = np.sqrt((values * (1 - values)).sum())
    assert abs(wins.sum() - values.sum()) < 4 * deviation + 5


def test_an_episode_that_is_over_needs_no_moves():
    env = gymnasium.make(GYMNASIUM, desc=["SFG", "FHF"], is_slippery=False).unwrapped
    env.reset(seed=0)
    for cell, moves in ((0, [2, 2]), (1, [2]), (2, []), (5, [3]), (3, [3, 2, 2])):
        env.s = cell
        assert env.solve().tolist() == moves
        assert env.oracle_action == (moves[0] if moves else None)
    env.s = 4
    assert env.solve() is None
    assert env.oracle_action is None
    env = gymnasium.make(GYMNASIUM, desc=["SGH", "FHF"]).unwrapped
    env.reset(seed=0)
    for cell, value in ((1, 1.0), (2, 0.0), (4, 0.0), (5, 0.0)):
        env.s = cell
        assert env.solve().value == value
        assert env.oracle_action is None


def test_solutions_are_no_handle_on_each_other():
    env = gymnasium.make_vec(GYMNASIUM, num_envs=3)
    env.reset(seed=0)
    first, *_ = env.unwrapped.solve()
    for array in (first.policy, first.values):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 1
    env = gymnasium.make_vec(GYMNASIUM, num_envs=3, is_slippery=False)
    env.reset(seed=0)
    solutions = env.unwrapped.solve(mask=np.array([True, False, True]))
    assert solutions[1] is None
    solutions[0][:] = 9
    assert solutions[2].tolist() == [1, 1, 2, 1, 2, 2]


@pytest.mark.parametrize("id", [GYMNASIUM, RANDOM])
def test_other_objectives_are_refused(id):
    batch, single = gymnasium.make_vec(id, num_envs=2), gymnasium.make(id)
    for env in (batch.unwrapped, single.unwrapped):
        env.reset(seed=0)
        with pytest.raises(InvalidOptionError, match="objective: expected 'moves': no"):
            env.solve("pushes")
        with pytest.raises(InvalidOptionError, match="objective: expected one of 'mov"):
            env.solve("steps")


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
    LakeSolver((4, 5), kernels.make_slip(True, 0.5)).check_size()
    assert 161**3 < MAX_LINKS < 162**3


@pytest.mark.parametrize("is_slippery", [True, False])
def test_measures_of_maps_are_the_values_of_their_starts(is_slippery):
    seeds = np.arange(3 if JIT_OFF else 40, dtype=np.uint64)
    maps, starts = MapGenerator(5, 0.7, 1)(seeds)
    found = measure_maps(maps, starts, (5, 5), is_slippery=is_slippery)
    env = gymnasium.make(RANDOM, size=5, p=0.7).unwrapped
    for seed, value in zip(seeds.tolist(), found, strict=True):
        env.reset(seed=seed)
        expected = highest_chances(letters(env.desc))[env.s] if is_slippery else 1.0
        np.testing.assert_allclose(value, expected, rtol=1e-9)
    rate = measure_maps(maps, starts, (5, 5), success_rate=0.9)
    assert is_slippery or (rate <= found).all()


@pytest.mark.skipif(JIT_OFF, reason="plain functions are for one thread")
def test_solutions_do_not_depend_on_the_number_of_threads(monkeypatch):
    monkeypatch.setattr(lake_solver, "_MAPS_PER_THREAD", 2)
    split_all(monkeypatch, 5)
    solutions = []
    for num_threads in (1, 3):
        env = gymnasium.make_vec(RANDOM, num_envs=23, num_threads=num_threads, size=5)
        env.reset(seed=2)
        solutions.append(repr(env.unwrapped.solve()))
    assert solutions[0] == solutions[1]
