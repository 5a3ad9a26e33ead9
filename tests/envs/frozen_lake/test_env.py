"""FrozenLake: Gymnasium's textbook attributes and play; ROLL's maps from seeds."""

import gymnasium
import numpy as np
import pytest
from gymnasium.envs.toy_text.frozen_lake import generate_random_map

import roll_vec
from roll_vec import errors
from roll_vec.envs.frozen_lake import maps
from roll_vec.seeding import episode_seed
from tests.gymnasium_versions import Lake
from tests.oracles.frozen_lake import generate_map
from tests.plain import PlainKernels

ID, RANDOM = "roll_vec/FrozenLake-v1", "roll_vec/RandomFrozenLake-v0"
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
    {"desc": ["SFFFFFG"], "reward_schedule": (0.1, 0.2, 0.3)},
]
each_option = pytest.mark.parametrize(
    "options", OPTIONS, ids=lambda options: str(options)[:50]
)


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


@each_option
def test_steps_and_their_slips_are_gymnasiums(options):
    ours, theirs = gymnasium.make(ID, **options).unwrapped, Lake(**options)
    rng, num_ends = np.random.default_rng(0), 0
    for seed in (3, None, 2**64 - 1, None, 3**90, *[None] * 20):
        assert ours.reset(seed=seed) == theirs.reset(seed=seed)
        for action in rng.choice([0, 1, 2, 2, 3], 30).tolist():
            mine, other = ours.step(action), theirs.step(action)
            infos = [mine[-1].pop("prob"), other[-1].pop("prob")]
            assert (mine[:4], infos[0]) == (other[:4], infos[1])
            assert type(mine[1]) is type(infos[0]) is float
            if mine[2]:
                num_ends += 1
                break
    assert num_ends


def test_limits_are_gymnasiums():
    for name in ("FrozenLake-v1", "FrozenLake8x8-v1"):
        ids = name, f"roll_vec/{name}"
        limits = [gymnasium.spec(id).max_episode_steps for id in ids]
        assert limits[0] == limits[1]
    default = gymnasium.make("roll_vec/FrozenLake8x8-v1").unwrapped
    assert default.P == Lake(map_name="8x8").P


@pytest.mark.parametrize("desc", [[b"SF", b"FG"], np.array([b"SF", b"FG"])])
def test_rows_of_a_map_may_be_bytes(desc):
    env = gymnasium.make(ID, desc=desc)
    assert env.get_wrapper_attr("desc").tolist() == [[b"S", b"F"], [b"F", b"G"]]


@pytest.mark.parametrize("desc", [["SFH", "FHF", "HFG"], ["SF", "FF"]])
def test_a_lake_without_a_way_is_played_with_a_warning(desc):
    for make in (gymnasium.make, roll_vec.make_vec):
        with pytest.warns(errors.RollVecWarning, match="no way leads from S to G"):
            make(ID, desc=desc).close()
    with pytest.raises(errors.InvalidOptionError, match="at least one start S"):
        gymnasium.make(ID, desc=["FG"])


@pytest.mark.parametrize(
    "config", [{}, {"size": 7, "p": 0.65}, {"num_levels": 3}], ids=str
)
def test_attributes_of_a_random_lake_are_those_of_its_map(config):
    env = gymnasium.make(RANDOM, action_start=1, **config).unwrapped
    # Later episodes are those of the documented seeds.
    for number, seed in enumerate([5, *(episode_seed(5, k) for k in range(1, 5))]):
        grid, info = env.reset(seed=None if number else seed)
        assert info == {}
        level = seed % config.get("num_levels", 2**32)
        rows = generate_map(config.get("size", 4), config.get("p", 0.8), level)
        assert [b"".join(row).decode() for row in env.desc] == rows
        assert (env.desc.dtype, env.desc.shape) == (np.dtype("S1"), grid.shape)
        assert (env.nrow, env.ncol) == grid.shape
        cells = "".join(rows)
        assert env.s == env.start == cells.index("S")
        for action in (1, 2, 3, 4, 2, 3):
            grid = env.step(action)[0]
            assert grid.ravel()[env.s] == {"S": 0, "F": 0, "H": 4, "G": 5}[cells[env.s]]
            code = {"S": 1, "F": 1, "H": 2, "G": 3}[cells[env.s]]
            assert env.board.ravel()[env.s] == code


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
        with pytest.raises(errors.LevelGenerationError) as caught:
            form.reset(seed=1)
        message = str(caught.value)
        assert "no solvable map was found for level seed 1 within 5 draws" in message
        assert "size=40, p=0.0" in message
        with pytest.raises(errors.ResetNeededError):
            form.unwrapped.step([1, 1] if hasattr(form, "num_envs") else 1)
