"""The difficulty of lakes: bands of the chance to reach the goal, infos of resets."""

import gymnasium
import numpy as np
import pytest

import roll_vec
from roll_vec.envs.frozen_lake import options
from roll_vec.envs.frozen_lake.maps import MapGenerator
from roll_vec.envs.frozen_lake.solver import measure_maps
from roll_vec.errors import InvalidOptionError, LevelGenerationError
from roll_vec.seeding import band_seed
from tests.conftest import JIT_OFF
from tests.oracles.frozen_lake import generate_map, highest_chances

ID = "roll_vec/RandomFrozenLake-v0"
REQUESTS = {"difficulty_info": True, "oracle_return_info": True}
# The chances from their starts: 0, as the goal is behind holes, is no map.
MAPS = [["SFG", "HHH"], ["SGH", "FFF"], ["FSG", "HFH"]]


def letters(desc):
    """Return a map as a list of strings."""
    return [b"".join(row).decode() for row in desc.tolist()]


def start_chance(rows, is_slippery=True):
    """Return the highest chance to reach the goal from the start."""
    start = "".join(rows).index("S")
    return highest_chances(rows, 1.0 / 3.0 if is_slippery else 1.0)[start]


@pytest.mark.parametrize(
    ("low", "high"), [(0.31, 0.71), (None, 0.41), (0.951, None), (1, 1)]
)
def test_the_first_map_within_the_band_is_played(low, high):
    num_envs = 3 if JIT_OFF else 6
    more = {"p": 0.7, "success_probability": (low, high), "size": 4}
    env = gymnasium.make_vec(ID, num_envs=num_envs, **more)
    env.reset(seed=5)
    attempts = set()
    for seed, desc in enumerate(env.get_attr("desc"), 5):
        for attempt in range(1000):
            rows = generate_map(4, 0.7, band_seed(seed, attempt))
            chance = start_chance(rows)
            # Value iteration ends below 1.
            if (low or 0) - 1e-9 <= chance <= (1 if high is None else high):
                break
        assert letters(desc) == rows
        attempts.add(attempt > 0)
        single = gymnasium.make(ID, **more).unwrapped
        single.reset(seed=seed)
        assert letters(single.desc) == rows
    assert True in attempts


def test_slips_do_not_depend_on_the_attempt():
    # They are drawn from the episode's seed, as without a band.
    band = gymnasium.make_vec(ID, num_envs=20, success_probability=(0.3, 0.6))
    free = gymnasium.make_vec(ID, num_envs=20)
    for env in (band, free):
        env.reset(seed=3)
    states = [env.unwrapped.engine.rng_states for env in (band, free)]
    np.testing.assert_array_equal(*states)
    maps = [env.unwrapped.engine.maps for env in (band, free)]
    assert (maps[0] != maps[1]).any(axis=1).any()


def test_a_band_without_maps_is_an_error():
    for more, shares in (
        ({"is_slippery": False, "success_probability": (None, 0.5)}, "100.0% above"),
        ({"p": 1.0, "success_probability": (0.1, 0.2)}, "100.0% above"),
    ):
        for env in (gymnasium.make(ID, **more), gymnasium.make_vec(ID, 2, **more)):
            with pytest.raises(LevelGenerationError, match="no level was found") as e:
                env.reset(seed=0)
            assert f"{shares} success_probability" in str(e.value)


@pytest.mark.parametrize("is_slippery", [True, False])
@pytest.mark.parametrize("more", [{}, {"num_levels": 3}, {"levels": MAPS}], ids=str)
def test_infos_of_resets_have_the_chance_and_the_return(is_slippery, more):
    more = {"is_slippery": is_slippery, **REQUESTS, **more}
    env = gymnasium.make_vec(ID, num_envs=4, **more)
    for _ in range(2):
        _, infos = env.reset(seed=6)
        chances = infos["difficulty"]["success_probability"]
        assert chances.dtype == infos["oracle_return"].dtype == np.float64
        expected = [
            start_chance(letters(desc), is_slippery) for desc in env.get_attr("desc")
        ]
        np.testing.assert_allclose(chances, expected, rtol=1e-9)
        # The goal is worth 1.
        assert infos["oracle_return"].tolist() == chances.tolist()
        values = [
            solution.value if is_slippery else float(solution is not None)
            for solution in env.unwrapped.solve()
        ]
        assert values == chances.tolist()
    _, info = gymnasium.make(ID, **more).reset(seed=6)
    assert info == {
        "difficulty": {"success_probability": chances[0]},
        "oracle_return": chances[0],
    }
    assert type(info["oracle_return"]) is float


def test_a_band_of_given_maps_plays_those_inside():
    more = {"levels": MAPS, "level_info": True, "success_probability": (0.9, None)}
    env = gymnasium.make_vec(ID, num_envs=60, **more)
    levels = env.reset(seed=0)[1]["level"]
    assert set(levels.tolist()) == {
        j for j, rows in enumerate(MAPS) if start_chance(rows) > 0.9
    }


def test_a_chance_of_one_half_is_inside_a_band_that_ends_there():
    rows = ["SHF", "FFF", "HHG"]
    codes = np.frombuffer("".join(rows).encode(), np.uint8)
    maps = np.array([[{83: 1, 70: 1, 72: 2, 71: 3}[code] for code in codes.tolist()]])
    chance = measure_maps(maps.astype(np.uint8), np.zeros(1, np.int64), (3, 3))[0]
    # The solver is off by its last digit, which is not shown.
    assert 0 < chance - 0.5 < 1e-15
    for band in ((None, 0.5), (0.5, 0.5)):
        more = {"levels": [rows], "success_probability": band, **REQUESTS}
        for env in (gymnasium.make(ID, **more), gymnasium.make_vec(ID, 1, **more)):
            info = env.reset(seed=0)[1]
            assert info["difficulty"]["success_probability"] == 0.5
            assert info["oracle_return"] == 0.5


def test_the_band_can_change_between_episodes():
    env = roll_vec.make_vec(ID, 6, difficulty_info=True)
    env.reset(seed=1)
    env.set_level_options(mask=np.arange(6) < 3, success_probability=(0.2, 0.4))
    chances = env.reset()[1]["difficulty"]["success_probability"]
    assert ((chances[:3] >= 0.2) & (chances[:3] <= 0.4)).all()
    assert env.get_attr("success_probability") == ((0.2, 0.4),) * 3 + (None,) * 3


@pytest.mark.parametrize(
    ("band", "problem"),
    [
        (0.5, "expected None or two numbers"),
        ((0.5,), "expected None or two numbers"),
        ((0.6, 0.5), "a low bound that is not above the high one"),
        ((-0.1, 0.5), "a number from 0 to 1"),
        ((0.5, 1.5), "a number from 0 to 1"),
        ((0.5, float("nan")), "a number from 0 to 1"),
    ],
)
def test_other_bands_are_refused(band, problem):
    for make in (gymnasium.make, gymnasium.make_vec):
        with pytest.raises(InvalidOptionError, match=problem):
            make(ID, success_probability=band)


def test_maps_beyond_the_limit_of_the_solver_are_refused(monkeypatch):
    monkeypatch.setattr(options, "MAX_LINKS", 4**3)
    for more in (
        {"success_probability": (0.5, 1)},
        *({name: True} for name in REQUESTS),
    ):
        assert gymnasium.make(ID, size=4, **more)
        with pytest.raises(InvalidOptionError, match=r"= 64, such as .*, got 5 x 5"):
            gymnasium.make(ID, size=5, **more)
        assert gymnasium.make(ID, size=5, is_slippery=False, **more)
    assert gymnasium.make(ID, size=5)


def test_chances_of_1_are_exactly_1():
    seeds = np.arange(3 if JIT_OFF else 300, dtype=np.uint64)
    maps, starts = MapGenerator(6, 0.95, 1)(seeds)
    env = gymnasium.make_vec(
        ID, num_envs=len(seeds), size=6, p=0.95, difficulty_info=True
    )
    chances = env.reset(seed=0)[1]["difficulty"]["success_probability"]
    assert (chances <= 1).all()
    assert (chances == 1).any()
    assert not ((chances < 1) & (chances > 1 - 1e-9)).any()
    np.testing.assert_array_equal(env.unwrapped.engine.maps, maps)
    np.testing.assert_array_equal(env.unwrapped.engine.starts, starts)
