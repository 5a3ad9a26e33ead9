"""FrozenLake-v1: the textbook's attributes, and Gymnasium's play, one environment.

The batch is compared with Gymnasium in ``tests/contract/test_gymnasium_parity.py``.
"""

import copy

import gymnasium
import numpy as np
import pytest
from gymnasium.envs.toy_text.frozen_lake import generate_random_map

import roll_vec  # noqa: F401  registers the ids
from tests.conftest import JIT_OFF
from tests.gymnasium_versions import Lake, make_lake

ID, ID_8X8 = "roll_vec/FrozenLake-v1", "roll_vec/FrozenLake8x8-v1"
OPTIONS = [
    {},
    {"map_name": "8x8"},
    {"is_slippery": False},
    {"success_rate": 0.7},
    {"success_rate": 0.0},
    {"success_rate": 1},
    {"map_name": "8x8", "success_rate": 1.0, "reward_schedule": (1.5, -2, -0.01)},
    {"reward_schedule": [10, -1, 0]},
    {"desc": ["SFFFF", "FHFSF", "FFFHG"], "success_rate": 0.4},
    {"desc": ["SG"], "is_slippery": False},
    {"desc": generate_random_map(size=12, seed=3)},
    {"desc": np.array([[b"F", b"S"], [b"G", b"H"]]), "map_name": None},
    {"desc": ["GSG", "HFS"]},
    {"desc": ("SFFG", "FFFF"), "map_name": "no such map"},
]


def pair(keywords, **more):
    """Our single environment and Gymnasium's, unwrapped."""
    ours = gymnasium.make(ID, **keywords, **more).unwrapped
    return ours, Lake(**keywords)


def nested_types(P):
    """Return the types in every transition."""
    return [
        [tuple(map(type, outcome)) for outcome in outcomes]
        for actions in P.values()
        for outcomes in actions.values()
    ]


# ----------------------------------------------------------------- the textbook


@pytest.mark.parametrize("options", OPTIONS, ids=lambda options: str(options)[:50])
def test_transitions_are_gymnasiums(options):
    ours, theirs = pair(options)
    # Equal to the last bit, and in the same order: rewards are as they were given.
    assert ours.P == theirs.P
    assert list(ours.P) == list(theirs.P)
    assert nested_types(ours.P) == [
        [(float, int, kind, bool) for _, _, kind, _ in outcomes]
        for outcomes in nested_types(theirs.P)
    ]


@pytest.mark.parametrize("options", OPTIONS, ids=lambda options: str(options)[:50])
def test_attributes_are_gymnasiums(options):
    ours, theirs = pair(options)
    np.testing.assert_array_equal(ours.desc, theirs.desc)
    assert ours.desc.dtype == theirs.desc.dtype
    assert (ours.nrow, ours.ncol) == (theirs.nrow, theirs.ncol)
    assert ours.reward_range == theirs.reward_range
    assert ours.observation_space == theirs.observation_space
    assert ours.action_space == theirs.action_space
    distribution = theirs.initial_state_distrib
    np.testing.assert_array_equal(ours.initial_state_distrib, distribution)


@pytest.mark.parametrize("options", OPTIONS, ids=lambda options: str(options)[:50])
def test_play_is_gymnasiums(options):
    ours, theirs = pair(options)
    rng = np.random.default_rng(1)
    for episode in range(5 if JIT_OFF else 40):
        seed = (episode, 2**64 - 1, None, 2**70 + episode)[episode % 4]
        (obs, info), (expected, expected_info) = (
            env.reset(seed=seed) for env in (ours, theirs)
        )
        assert (obs, info) == (expected, expected_info)
        assert ours.lastaction is None
        # Some episodes go on after their end.
        left = 5 if episode % 3 == 0 else 0
        ended = False
        for _ in range(30):
            action = int(rng.integers(4))
            mine, other = ours.step(action), theirs.step(action)
            assert mine == other
            assert ours.s == theirs.s
            assert ours.lastaction == theirs.lastaction == action
            ended = ended or mine[2]
            left -= ended
            if ended and left < 0:
                break
    state = theirs.np_random.bit_generator.state
    assert ours.np_random.bit_generator.state == state


@pytest.mark.parametrize(
    ("ours", "theirs"),
    [(ID, "FrozenLake-v1"), (ID_8X8, "FrozenLake8x8-v1")],
)
def test_made_by_id_it_plays_as_gymnasiums_id(ours, theirs):
    ours, theirs = gymnasium.make(ours), make_lake(theirs)
    assert ours.spec.max_episode_steps == theirs.spec.max_episode_steps
    truncations = 0
    for seed in range(4):
        assert ours.reset(seed=seed) == theirs.reset(seed=seed)
        ended = False
        while not ended:
            # Whoever always goes up stays in the first row, and meets the limit.
            mine, other = ours.step(3 * (seed % 2)), theirs.step(3 * (seed % 2))
            assert mine == other
            ended = mine[2] or mine[3]
        truncations += mine[3]
    assert truncations >= 2
    assert ours.unwrapped.P == theirs.unwrapped.P


def test_a_state_can_be_set_as_planners_do():
    ours, theirs = pair({})
    ours.reset(seed=0)
    theirs.reset(seed=0)
    for state in (5, 14, 15, 0, 10, 14):
        ours.s = theirs.s = state
        for action in range(4):
            assert ours.step(action) == theirs.step(action)
            ours.s = theirs.s = state


@pytest.mark.parametrize("options", [{}, {"map_name": "8x8", "is_slippery": False}])
def test_value_iteration_on_the_transitions_plays_well(options):
    env = gymnasium.make(ID, **options).unwrapped
    values = np.zeros(env.observation_space.n)

    def backup(state, action):
        return sum(
            p * (reward + 0.99 * values[after] * (not ended))
            for p, after, reward, ended in env.P[state][action]
        )

    for _ in range(300):
        values = np.array([max(backup(s, a) for a in range(4)) for s in env.P])
    wins = 0
    for seed in range(30):
        state, _ = env.reset(seed=seed)
        for _ in range(100):
            action = max(range(4), key=lambda a, s=state: backup(s, a))
            state, reward, ended, _, _ = env.step(action)
            if ended:
                wins += reward
                break
    assert wins == 30 if "is_slippery" in options else wins > 15


def test_what_is_read_is_no_handle_on_the_rules():
    env, twin = (gymnasium.make(ID).unwrapped for _ in range(2))
    env.desc[:] = b"H"
    env.P[0][0].clear()
    for each in (env, twin):
        each.reset(seed=0)
    for action in (1, 2, 1, 2, 1):
        assert env.step(action) == twin.step(action)


def test_a_given_map_stays_the_callers():
    desc = np.array([[b"S", b"F"], [b"F", b"G"]])
    env = gymnasium.make(ID, desc=desc, is_slippery=False).unwrapped
    desc[:] = b"H"
    env.reset(seed=0)
    assert env.step(1)[0] == 2
    assert env.step(2)[:3] == (3, 1.0, True)
    env.desc[:] = b"H"
    assert (desc == b"H").all()


def test_grids_show_the_map_and_the_player():
    env = gymnasium.make(
        ID, desc=["SFH", "FFG"], is_slippery=False, obs_mode="grid"
    ).unwrapped
    grid, _ = env.reset(seed=0)
    assert grid.tolist() == [[0, 1, 2], [1, 1, 3]]
    assert env.step(2)[0].tolist() == [[1, 0, 2], [1, 1, 3]]
    fallen = copy.deepcopy(env)
    assert fallen.step(2)[0].tolist() == [[1, 1, 4], [1, 1, 3]]
    env.step(1)
    grid, reward, terminated, _, _ = env.step(2)
    assert grid.tolist() == [[1, 1, 2], [1, 1, 5]]
    assert (reward, terminated) == (1.0, True)


def test_positions_are_python_integers():
    env = gymnasium.make(ID).unwrapped
    obs, _ = env.reset(seed=0)
    assert isinstance(obs, int)
    assert isinstance(env.step(1)[0], int)


@pytest.mark.parametrize(
    "id", ["roll_vec/FrozenLake-v1", "roll_vec/RandomFrozenLake-v0"]
)
def test_interrupt_while_a_reset_is_taken_over_moves_nothing(id, monkeypatch):
    env, other = (gymnasium.make_vec(id, num_envs=40) for _ in range(2))

    def late(function):
        def interrupt(*arguments):
            function(*arguments)
            raise KeyboardInterrupt

        return interrupt

    for one in (env, other):
        one.reset(seed=1)
        one.step(np.full(40, 2))
    engine = env.unwrapped.engine
    name = "_begin" if id == "roll_vec/RandomFrozenLake-v0" else "advance"
    with monkeypatch.context() as patch:
        patch.setattr(engine, name, late(getattr(engine, name)))
        with pytest.raises(KeyboardInterrupt):
            env.reset(seed=9)
    for _ in range(9):
        stepped, expected = env.step(np.full(40, 1)), other.step(np.full(40, 1))
        for part in range(4):
            np.testing.assert_array_equal(stepped[part], expected[part])
    np.testing.assert_array_equal(env.reset()[0], other.reset()[0])
