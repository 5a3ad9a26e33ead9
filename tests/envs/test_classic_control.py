"""Classic control beside Gymnasium's, for the same seeds and actions.

Both are equal to the bit where numpy and the C library have the same sine, as on Linux;
elsewhere each step is within one unit in the last place, from the same state.
"""

import math

import gymnasium
import numba
import numpy as np
import pytest
from gymnasium.spaces import Box

import roll_vec
from roll_vec.envs.rounding import square, square_float32
from roll_vec.registration import ENVIRONMENTS
from tests.conftest import JIT_OFF

KEYWORDS = {
    "CartPole-v1": {"sutton_barto_reward": True},
    "MountainCar-v0": {"goal_velocity": 0.06},
    "MountainCarContinuous-v0": {"goal_velocity": 0.055},
    "Acrobot-v1": {},
    "Pendulum-v1": {"g": 9.81},
}
CLASSES = {name: ENVIRONMENTS[f"roll_vec/{name}"].load() for name in KEYWORDS}
_ANGLES = np.random.default_rng(0).uniform(-5, 5, 10_000)
IS_SAME_SINE = all(
    np.sin(angle) == math.sin(angle) and np.cos(angle) == math.cos(angle)
    for angle in _ANGLES
)
MAX_ULP = 0 if IS_SAME_SINE else 1
NUMPY_2 = pytest.mark.skipif(
    np.__version__ < "2", reason="numpy 1 calculates with torques and pushes in float64"
)
each_game = pytest.mark.parametrize(
    "name",
    [
        pytest.param(name, marks=NUMPY_2 if isinstance(cls.actions, Box) else ())
        for name, cls in CLASSES.items()
    ],
)


def assert_equal(ours, theirs, max_ulp=MAX_ULP):
    """Compare numbers or flags, and their dtypes."""
    ours, theirs = np.asarray(ours), np.asarray(theirs)
    assert ours.dtype == theirs.dtype
    if max_ulp == 0 or ours.dtype == bool:
        np.testing.assert_array_equal(ours, theirs)
    else:
        np.testing.assert_array_max_ulp(ours, theirs, max_ulp)


def assert_equal_starts(name, ours, theirs):
    """Compare observations, among which are first ones."""
    # The sine of numpy's float32, in Acrobot's, is not the rounded one of float64.
    assert_equal(ours, theirs, 1 if name == "Acrobot-v1" else MAX_ULP)


def draw_actions(space, num_steps):
    """Return random actions that stay for some steps, so that most states are met."""
    space.seed(1)
    actions = np.array([space.sample() for _ in range(num_steps)])
    if actions.dtype.kind == "f":
        actions *= np.float32(1.5)  # some are clipped
    lengths = np.random.default_rng(1).integers(1, 12, num_steps)
    return np.repeat(actions, lengths, axis=0)[:num_steps]


@each_game
def test_steps_equal_gymnasiums_from_the_same_state(name):
    state = CLASSES[name].state
    variables = [each for each, dtype in state.items() if dtype is not np.bool_]
    variables = [each for each in variables if each != "torque"]  # of pictures alone
    rng, num_ends = np.random.default_rng(1), 0
    for options in ({}, KEYWORDS[name]):
        ours = gymnasium.make(f"roll_vec/{name}", **options).unwrapped
        theirs = gymnasium.make(name, **options).unwrapped
        space = theirs.action_space
        assert (ours.observation_space, ours.action_space) == (
            theirs.observation_space,
            space,
        )
        terminated = True
        for action in draw_actions(space, 300 if JIT_OFF else 1000):
            if terminated or rng.random() < 0.004:
                seed, is_random = int(rng.integers(2**63)), rng.random() < 0.3
                starts = ours.reset(seed=seed)[0], theirs.reset(seed=seed)[0]
                assert_equal_starts(name, *starts)
            state = [getattr(ours, each) for each in variables]
            theirs.state = np.array(state, np.asarray(theirs.state).dtype)
            if not is_random:
                # A push along the last velocity balances the pole, and swings up.
                push = 1 if state[-1] > 0 else -1
                if isinstance(space, Box):
                    action = push * space.high
                else:
                    action = (push > 0) * (space.n - 1)
            is_box = isinstance(action, np.ndarray)
            mine = ours.step(action.astype(np.float64) if is_box else action)
            other = theirs.step(action)
            for one, another in zip(mine[:3], other[:3], strict=True):
                assert_equal(one, another)
            state = [getattr(ours, each) for each in variables]
            assert_equal(state, np.asarray(theirs.state, np.float64))
            assert (type(mine[1]), mine[4]) == (float, {})
            terminated = mine[2]
            assert getattr(ours, "success", terminated) == terminated
            num_ends += terminated
    assert num_ends > 0 or name == "Pendulum-v1"


@pytest.mark.skipif(not IS_SAME_SINE, reason="numpy's sine is not the C library's here")
@each_game
@pytest.mark.parametrize("is_plain", [True, False])
@pytest.mark.filterwarnings("ignore:.*You are calling 'step")
def test_steps_past_the_end_equal_gymnasiums(name, is_plain):
    options = {} if is_plain else KEYWORDS[name]
    ours = gymnasium.make(f"roll_vec/{name}", **options).unwrapped
    theirs = gymnasium.make(name, **options).unwrapped
    assert_equal_starts(name, ours.reset(seed=2)[0], theirs.reset(seed=2)[0])
    actions = draw_actions(theirs.action_space, 120)
    for number, action in enumerate(actions):
        if number == 60:
            # It has ended before.
            theirs.state = ours.state = np.zeros(len(ours.state))
        mine, other = ours.step(action), theirs.step(action)
        for one, another in zip(mine[:3], other[:3], strict=True):
            assert_equal(one, another)


def test_a_success_is_no_info_but_counts():
    env = gymnasium.make("roll_vec/MountainCar-v0")
    observation, _ = env.reset(seed=0)
    actions, terminated = [], False
    while not terminated:
        actions.append(2 if observation[1] > 0 else 0)
        observation, _, terminated, _, _ = env.step(actions[-1])
    envs = roll_vec.make_vec("roll_vec/MountainCar-v0", 3, autoreset_mode="SameStep")
    envs.reset(seed=[0, 0, 1])
    for action in actions[:-1]:
        assert envs.step([action] * 3)[4] == {}
    assert envs.step([actions[-1]] * 3)[4]["final_info"] == {}
    assert envs.successes.tolist() == [True, True, False]


@NUMPY_2
def test_squares_are_numpys():
    numbers = np.random.default_rng(0).uniform(-3, 3, 5000)
    for function, kind in ((square, np.float64), (square_float32, np.float32)):
        compiled = numba.njit(function.py_func)
        for number in numbers.astype(kind):
            squares = compiled(float(number)), function(float(number))
            assert_equal(np.array(squares, kind), np.array([number**2] * 2, kind))


@NUMPY_2
def test_first_steps_of_the_continuous_car_are_float64():
    name, num_envs = "MountainCarContinuous-v0", 300 if JIT_OFF else 3000
    envs = roll_vec.make_vec(f"roll_vec/{name}", num_envs, autoreset_mode="SameStep")
    envs.reset(seed=0)
    observations = envs.step(np.full((num_envs, 1), 1.5, np.float32))[0]
    original = gymnasium.make(name).unwrapped
    for seed, observation in enumerate(observations):
        original.reset(seed=seed)
        assert_equal(observation, original.step(np.array([1.5], np.float32))[0])


@pytest.mark.parametrize("name", ["MountainCar-v0", "Acrobot-v1"])
def test_a_text_without_an_action_costs_a_step(name):
    env = gymnasium.make(f"roll_vec/{name}", action_mode="text")
    env.reset(seed=0)
    assert env.step("I wait.")[1] == env.step("none")[1] == -1.0
