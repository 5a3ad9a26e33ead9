"""Moves without slips, policies on slippery ice; bands of the chance to win."""

import gymnasium
import numpy as np
import pytest

from roll_vec.envs.frozen_lake import LakeSolution
from roll_vec.envs.frozen_lake import options as lake_options
from roll_vec.envs.frozen_lake import solver as lake_solver
from roll_vec.envs.frozen_lake.solver import MAX_LINKS
from roll_vec.errors import InvalidOptionError, SolverLimitError
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


# --------------------------------------------------------------------- difficulty

REQUESTS = {"difficulty_info": True, "oracle_return_info": True}
# The chances from their starts: 0, as the goal is behind holes, is no map.
MAPS = [["SFG", "HHH"], ["SGH", "FFF"], ["FSG", "HFH"]]


def maps_of(env):
    """Return the maps of a batch in letters."""
    arrays = env.unwrapped.get_state().arrays
    letters = np.array([b"?", b"F", b"H", b"G"])[arrays["maps"]]
    letters[np.arange(len(letters)), arrays["starts"]] = b"S"
    return letters.reshape(-1, env.get_attr("nrow")[0], env.get_attr("ncol")[0])


def start_chance(rows, is_slippery=True):
    """Return the highest chance to reach the goal from the start."""
    start = "".join(rows).index("S")
    return highest_chances(rows, 1.0 / 3.0 if is_slippery else 1.0)[start]


@pytest.mark.parametrize(("low", "high"), [(0.31, 0.71), (None, 0.41), (1, 1)])
def test_the_first_map_within_the_band_is_played(low, high):
    num_envs = 3
    more = {"p": 0.7, "success_probability": (low, high), "size": 4}
    env = gymnasium.make_vec(RANDOM, num_envs=num_envs, **more)
    env.reset(seed=5)
    attempts = set()
    for seed, desc in enumerate(maps_of(env), 5):
        for attempt in range(1000):
            rows = generate_map(4, 0.7, band_seed(seed, attempt))
            chance = start_chance(rows)
            # Value iteration ends below 1.
            if (low or 0) - 1e-9 <= chance <= (1 if high is None else high):
                break
        assert letters(desc) == rows
        attempts.add(attempt > 0)
        single = gymnasium.make(RANDOM, **more).unwrapped
        single.reset(seed=seed)
        assert letters(single.desc) == rows
    assert True in attempts


def test_slips_do_not_depend_on_the_attempt():
    # They are drawn from the episode's seed, as without a band.
    band = gymnasium.make_vec(RANDOM, num_envs=20, success_probability=(0.3, 0.6))
    free = gymnasium.make_vec(RANDOM, num_envs=20)
    for env in (band, free):
        env.reset(seed=3)
    states = [env.unwrapped.get_state().arrays for env in (band, free)]
    np.testing.assert_array_equal(*(each["generator_states"] for each in states))
    assert (states[0]["maps"] != states[1]["maps"]).any()


@pytest.mark.parametrize("is_slippery", [True, False])
@pytest.mark.parametrize("more", [{"num_levels": 3}, {"levels": MAPS}], ids=str)
def test_infos_of_resets_have_the_chance_and_the_return(is_slippery, more):
    more = {"is_slippery": is_slippery, **REQUESTS, **more}
    env = gymnasium.make_vec(RANDOM, num_envs=4, **more)
    for _ in range(2):
        _, infos = env.reset(seed=6)
        chances = infos["difficulty"]["success_probability"]
        assert chances.dtype == infos["oracle_return"].dtype == np.float64
        expected = [start_chance(letters(desc), is_slippery) for desc in maps_of(env)]
        np.testing.assert_allclose(chances, expected, rtol=1e-9)
        # The goal is worth 1.
        assert infos["oracle_return"].tolist() == chances.tolist()
        values = [
            solution.value if is_slippery else float(solution is not None)
            for solution in env.unwrapped.solve()
        ]
        assert values == chances.tolist()
    _, info = gymnasium.make(RANDOM, **more).reset(seed=6)
    assert info == {
        "difficulty": {"success_probability": chances[0]},
        "oracle_return": chances[0],
    }
    assert type(info["oracle_return"]) is float


def test_maps_beyond_the_limit_of_the_solver_are_refused(monkeypatch):
    monkeypatch.setattr(lake_options, "MAX_LINKS", 4**3)
    for more in (
        {"success_probability": (0.5, 1)},
        *({name: True} for name in REQUESTS),
    ):
        assert gymnasium.make(RANDOM, size=4, **more)
        with pytest.raises(InvalidOptionError, match=r"= 64, such as .*, got 5 x 5"):
            gymnasium.make(RANDOM, size=5, **more)
        assert gymnasium.make(RANDOM, size=5, is_slippery=False, **more)
    assert gymnasium.make(RANDOM, size=5)
