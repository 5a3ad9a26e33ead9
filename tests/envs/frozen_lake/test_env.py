"""FrozenLake: Gymnasium's textbook attributes and play; ROLL's maps from seeds."""

import warnings

import gymnasium
import numpy as np
import pytest
from gymnasium.envs.toy_text.frozen_lake import generate_random_map

import roll_vec
from roll_vec.envs.frozen_lake import maps
from roll_vec.errors import (
    InvalidOptionError,
    LevelGenerationError,
    ResetNeededError,
    RollVecWarning,
)
from roll_vec.seeding import episode_seed
from tests.conftest import JIT_OFF
from tests.gymnasium_versions import Lake
from tests.oracles.frozen_lake import OracleFrozenLake, generate_map
from tests.plain import PlainKernels

ID, ID_8X8 = "roll_vec/FrozenLake-v1", "roll_vec/FrozenLake8x8-v1"
RANDOM = "roll_vec/RandomFrozenLake-v0"
OPTIONS = [
    {},
    {"map_name": "8x8", "success_rate": 1.0, "reward_schedule": (1.5, -2, -0.01)},
    {"is_slippery": False},
    {"success_rate": 0.0},
    {"success_rate": 1, "reward_schedule": [10, -1, 0]},
    {"desc": ["SFFFF", "FHFSF", "FFFHG"], "success_rate": 0.4},
    {"desc": ["SG"], "is_slippery": False},
    {"desc": generate_random_map(size=12, seed=3)},
    {"desc": np.array([[b"F", b"S"], [b"G", b"H"]]), "map_name": None},
    {"desc": ("GSG", "HFS")},
]
each_option = pytest.mark.parametrize(
    "options", OPTIONS, ids=lambda options: str(options)[:50]
)


# ------------------------------------------------------- one map: Gymnasium's game


def nested_types(P):
    """Return the types in every transition."""
    return [
        [tuple(map(type, outcome)) for outcome in outcomes]
        for actions in P.values()
        for outcomes in actions.values()
    ]


@each_option
def test_attributes_are_gymnasiums(options):
    ours, theirs = gymnasium.make(ID, **options).unwrapped, Lake(**options)
    # Equal to the last bit, and in the same order: rewards are as they were given.
    assert ours.P == theirs.P
    assert list(ours.P) == list(theirs.P)
    assert nested_types(ours.P) == [
        [(float, int, kind, bool) for _, _, kind, _ in outcomes]
        for outcomes in nested_types(theirs.P)
    ]
    np.testing.assert_array_equal(ours.desc, theirs.desc)
    assert ours.desc.dtype == theirs.desc.dtype
    for name in ("nrow", "ncol", "observation_space", "action_space"):
        assert getattr(ours, name) == getattr(theirs, name)


@pytest.mark.parametrize("desc", [[b"SF", b"FG"], np.array([b"SF", b"FG"])])
def test_rows_of_a_map_may_be_bytes(desc):
    env = gymnasium.make(ID, desc=desc)
    assert env.get_wrapper_attr("desc").tolist() == [[b"S", b"F"], [b"F", b"G"]]


@pytest.mark.parametrize("desc", [["SFH", "FHF", "HFG"], ["SF", "FF"]])
def test_a_lake_without_a_way_is_played_with_a_warning(desc):
    for make in (gymnasium.make, roll_vec.make_vec):
        with pytest.warns(RollVecWarning, match="no way leads from S to G"):
            make(ID, desc=desc).close()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RollVecWarning)
        test_play_is_gymnasiums({"desc": desc})
        assert gymnasium.make(ID, desc=desc, is_slippery=False).reset()[0] == 0
    with pytest.raises(InvalidOptionError, match="at least one start S"):
        gymnasium.make(ID, desc=["FG"])


@each_option
def test_play_is_gymnasiums(options):
    ours, theirs = gymnasium.make(ID, **options).unwrapped, Lake(**options)
    rng = np.random.default_rng(1)
    for episode in range(5 if JIT_OFF else 20):
        seed = (episode, 2**64 - 1, None, 2**70 + episode)[episode % 4]
        mine, other = ours.reset(seed=seed), theirs.reset(seed=seed)
        assert mine == other
        assert type(mine[0]) is int
        # Some episodes go on after their end.
        left = 5 if episode % 3 == 0 else 0
        ended = False
        for _ in range(30):
            action = int(rng.integers(4))
            mine, other = ours.step(action), theirs.step(action)
            assert mine == other
            assert type(mine[0]) is int
            assert ours.s == theirs.s
            ended = ended or mine[2]
            left -= ended
            if ended and left < 0:
                break
        # As planners do.
        ours.s = theirs.s = int(rng.integers(theirs.observation_space.n))
        assert ours.step(2) == theirs.step(2)
    state = theirs.np_random.bit_generator.state
    assert ours.np_random.bit_generator.state == state


def test_the_generator_is_a_copy():
    ours, theirs = gymnasium.make(ID).unwrapped, Lake()
    assert ours.reset(seed=3) == theirs.reset(seed=3)
    expected = theirs.np_random.bit_generator.state
    for _ in range(2):
        assert ours.np_random.bit_generator.state == expected
        ours.np_random.random()
    with pytest.raises(AttributeError, match="np_random"):
        ours.np_random = np.random.default_rng()
    assert ours.step(1) == theirs.step(1)


# ------------------------------------------------------------- a map of every seed

CONFIGS = [
    {},
    {"size": 2, "p": 0.3},
    {"size": 3, "p": 1.0},
    {"size": 7, "p": 0.65},
    {"size": 8, "p": 0.9, "is_slippery": False},
    {"success_rate": 0.9},
    # Slips are those of the episode's seed and not of the level.
    {"num_levels": 1},
    {"num_levels": 3},
]


def oracle_of(config, seed):
    """The oracle's lake of a seed, its stream where the first step finds it."""
    options = {"size": 4, "p": 0.8, **config}
    level = seed % options.get("num_levels", 2**32)
    rows = generate_map(options["size"], options["p"], level)
    names = config.keys() & {"is_slippery", "success_rate"}
    lake = OracleFrozenLake(rows, **{name: config[name] for name in names})
    lake.reset(seed)
    return lake


def letters(env):
    return [b"".join(row).decode() for row in env.desc]


@pytest.mark.parametrize("config", CONFIGS, ids=str)
def test_play_equals_the_oracle(config):
    env = gymnasium.make(RANDOM, action_start=1, **config).unwrapped
    rng = np.random.default_rng(2)
    seeds = [0, 2**32 - 1, *range(1, 5 if JIT_OFF else 12)]
    # Later episodes are those of the documented seeds.
    for seed in [*seeds, *(episode_seed(seeds[-1], k) for k in range(1, 5))]:
        grid, info = env.reset(seed=seed if seed in seeds else None)
        assert info == {}
        lake = oracle_of(config, seed)
        assert letters(env) == lake.rows
        assert env.s == env.start == lake.position
        assert env.desc.dtype == np.dtype("S1")
        assert env.desc.shape == (env.nrow, env.ncol) == grid.shape
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
            assert grid.ravel()[env.s] == {"S": 0, "F": 0, "H": 4, "G": 5}[cell]
            assert env.board.ravel()[env.s] == {"S": 1, "F": 1, "H": 2, "G": 3}[cell]
            if terminated:
                break
        assert env.start == "".join(lake.rows).index("S")


def test_action_0_after_the_end_is_no_success():
    more = {"levels": [["SG"]], "is_slippery": False, "action_start": 1}
    env = gymnasium.make(RANDOM, **more).unwrapped
    env.reset(seed=0)
    assert env.step(3)[-1]["success"] is True
    assert env.step(0)[-1]["success"] is False


# ----------------------------------------------------------------------- failures


def test_a_configuration_without_maps_ends_in_an_error(monkeypatch):
    # 100,000 draws of a map take a while where hardly any is solvable; 5 do not.
    few = PlainKernels(maps.map_kernels, MAX_DRAWS=5)
    monkeypatch.setattr(maps.map_kernels, "generate_maps", few.generate_maps)
    monkeypatch.setattr(maps.map_kernels, "MAX_DRAWS", 5)
    config = {"size": 40, "p": 0.0}
    for form in (
        gymnasium.make(RANDOM, **config),
        gymnasium.make_vec(RANDOM, 2, **config),
    ):
        with pytest.raises(LevelGenerationError) as caught:
            form.reset(seed=1)
        message = str(caught.value)
        assert "no solvable map was found for level seed 1 within 5 draws" in message
        assert "size=40, p=0.0" in message
        with pytest.raises(ResetNeededError):
            form.unwrapped.step([1, 1] if hasattr(form, "num_envs") else 1)
