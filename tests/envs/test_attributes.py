"""The attributes of Gymnasium's classes, and what users set on single environments."""

import dataclasses
from typing import ClassVar

import gymnasium
import numpy as np
import pytest

import roll_vec
from roll_vec.descriptions import describe_env
from roll_vec.errors import FrozenAttributeError, InvalidOptionError, InvalidStateError
from roll_vec.registration import ENVIRONMENTS
from tests.contract.cases import ALL_IDS, assert_same
from tests.envs.test_classic_control import KEYWORDS
from tests.envs.test_toy_text import CLIFF, DRY
from tests.gymnasium_versions import Lake

ORIGINALS = {
    **{name: name for name in KEYWORDS},
    "Taxi-v4": DRY,
    "CliffWalking-v1": CLIFF,
    "Blackjack-v1": "Blackjack-v1",
    "FrozenLake-v1": "FrozenLake-v1",
}
# Of windows and pictures.
PICTURES = (
    *("_img", "imgs", "screen", "clock", "window", "surf", "cell_size", "isopen"),
    *("orientation", "arrow", "domain", "last_u", "top_card", "get_surf_loc"),
    *("median", "images"),
)
# Of the rules.  The modules of the games have them.
CONSTANTS = (
    *("gravity", "masscart", "masspole", "total_mass", "length", "polemass_length"),
    *("force_mag", "tau", "kinematics_integrator", "theta_threshold_radians"),
    *("x_threshold", "dt", "m", "l", "max_speed", "max_torque", "min_position"),
    *("max_position", "goal_position", "force", "low", "high", "min_action"),
    *("max_action", "power", "low_state", "high_state", "LINK_LENGTH_1"),
    *("LINK_LENGTH_2", "LINK_MASS_1", "LINK_MASS_2", "LINK_COM_POS_1"),
    *("LINK_COM_POS_2", "LINK_MOI", "MAX_VEL_1", "MAX_VEL_2", "AVAIL_TORQUE"),
    *("torque_noise_max", "book_or_nips", "actions_num", "shape", "nS", "nA"),
    *("start_state_index", "locs", "locs_colors", "max_row", "max_col"),
)


def make_original(name):
    if name == "FrozenLake-v1":
        return Lake()
    return gymnasium.make(ORIGINALS[name], disable_env_checker=True).unwrapped


def value_of(env, name):
    value = getattr(env, name)
    return "a method" if callable(value) else value


def is_equal(one, other):
    return one == other if isinstance(one, dict) else np.array_equal(one, other)


@pytest.mark.parametrize("name", ORIGINALS)
def test_gymnasiums_attributes_are_there_or_listed(name):
    id = f"roll_vec/{name}"
    theirs = make_original(name)
    env, envs = gymnasium.make(id).unwrapped, roll_vec.make_vec(id, 2)
    for each in (theirs, env, envs):
        each.reset(seed=1)
    differences = " ".join(describe_env(id).differences)
    names = set(dir(theirs)) - set(dir(gymnasium.Env))
    for attribute in sorted(each for each in names if not each.startswith("_")):
        if any(part in attribute.lower() for part in PICTURES):
            continue
        is_listed = attribute in CONSTANTS or f"``{attribute}``" in differences
        assert hasattr(env, attribute) or is_listed, attribute
        if is_listed:
            continue
        value = value_of(env, attribute)
        assert is_equal(value, value_of(theirs, attribute)), attribute
        # As in SyncVectorEnv, `get_attr` calls a method.
        if not isinstance(value, str):
            assert is_equal(envs.get_attr(attribute)[0], value), attribute


@pytest.mark.parametrize("name", KEYWORDS)
def test_state_can_be_set_within_its_limits(name):
    env = gymnasium.make(f"roll_vec/{name}").unwrapped
    env.reset(seed=3)
    state = np.array([0.04, -0.0625, 0.03, 0.5][: len(env.state)])
    env.state = state
    before = env.state.tolist()
    assert before == state.tolist()
    for wrong in (state[:-1], "x", None, [1e400] * len(state)):
        with pytest.raises(InvalidStateError, match="state"):
            env.state = wrong
    with pytest.raises(InvalidStateError, match=r"expected values from .*, got nan"):
        env.state = state * np.nan
    assert env.state.tolist() == before


@pytest.mark.parametrize("name", ["Taxi-v4", "CliffWalking-v1", "FrozenLake-v1"])
def test_s_is_gymnasiums_and_can_be_set(name):
    theirs = make_original(name)
    env = gymnasium.make(f"roll_vec/{name}").unwrapped
    theirs.reset(seed=3), env.reset(seed=3)
    count = theirs.observation_space.n
    for state in range(0, count, count // 50 + 1):
        for action in range(theirs.action_space.n):
            theirs.s = env.s = state
            assert env.s == state
            mine, other = env.step(action), theirs.step(action)
            assert mine[:4] == other[:4]
            assert env.s == mine[0]
    for wrong in (count, -1, 10**9, 1 << 70, 0.5, None):
        with pytest.raises((InvalidStateError, InvalidOptionError)):
            env.s = wrong
    assert env.s == mine[0]


@pytest.mark.parametrize("id", [*ALL_IDS, "roll_vec/Taxi-v4"])
def test_nothing_that_is_set_is_lost(id):
    if ENVIRONMENTS[id].pooled:
        pytest.skip("an object has all attributes that are set")
    env = gymnasium.make(id).unwrapped
    env.reset(seed=0)
    before = env.get_state()
    fields = [field.name for field in dataclasses.fields(env.options)]
    for name in (*env.options.state, *fields):
        try:
            value = getattr(env, name)
        except AttributeError:
            continue
        if name == "render_mode":
            continue
        new = value + 1 if isinstance(value, (int, float)) else [value]
        try:
            setattr(env, name, new)
        except (AttributeError, ValueError):  # frozen, read-only, or not accepted
            assert np.array_equal(getattr(env, name), value)
        else:
            assert getattr(env, name) == new
        if isinstance(value, np.ndarray) and name in env.options.state:
            with pytest.raises(ValueError, match="read-only"):
                value[...] = 0
        env.set_state(before)
    # What is no name of the game belongs to the user.
    env.my_notes = [1]
    assert env.my_notes == [1]


@pytest.mark.parametrize(
    ("id", "name"),
    [
        ("roll_vec/CartPole-v1", "sutton_barto_reward"),
        ("roll_vec/Pendulum-v1", "g"),
        ("roll_vec/Taxi-v4", "P"),
        ("roll_vec/Sokoban-v0", "search_depth"),
    ],
)
def test_options_and_constants_are_refused_as_by_a_batch(id, name):
    env, envs = gymnasium.make(id).unwrapped, roll_vec.make_vec(id, 2)
    for change in (lambda: setattr(env, name, 1), lambda: envs.set_attr(name, 1)):
        with pytest.raises(FrozenAttributeError, match=f"{name} cannot be set"):
            change()


BOUNDS = {
    "CartPole-v1": {"low": -0.1, "high": 0.3},
    "MountainCar-v0": {"low": -0.7},
    "MountainCarContinuous-v0": {"low": np.array(-0.7), "high": -0.7},
    "Acrobot-v1": {"low": -3, "high": 8},
    "Pendulum-v1": {"x_init": 1.0},
}


@pytest.mark.parametrize("name", BOUNDS)
def test_episodes_begin_between_the_bounds_of_a_reset(name):
    id, options = f"roll_vec/{name}", BOUNDS[name]
    env, envs = gymnasium.make(id), roll_vec.make_vec(id, 3)
    theirs = gymnasium.make(name)
    originals = gymnasium.make_vec(name, 3, vectorization_mode="sync")
    for each in (options, None, {}):
        assert_starts(name, *(e.reset(seed=5, options=each) for e in (env, theirs)))
        np.testing.assert_array_equal(env.unwrapped.state, theirs.unwrapped.state)
        assert_starts(name, *(e.reset(seed=5, options=each) for e in (envs, originals)))
    # Later episodes begin as ever.
    for e in (env, theirs, envs, originals):
        e.reset(seed=6, options=options)
    assert_starts(name, *(e.reset() for e in (env, theirs)))
    assert_starts(name, *(e.reset() for e in (envs, originals)))
    mask = {**options, "reset_mask": np.array([False, True, False])}
    assert_starts(name, *(e.reset(options={**mask}) for e in (envs, originals)))


def assert_starts(name, mine, other):
    # The sine of numpy's float32, in Acrobot's, is not the rounded one of float64.
    ulp = 1 if name == "Acrobot-v1" else 0
    np.testing.assert_array_max_ulp(mine[0], other[0], ulp)


@pytest.mark.parametrize("name", BOUNDS)
@pytest.mark.parametrize(
    "bounds",
    [
        ("x", "y"),
        (10.0, -8.0),
        ([-1.0, -1.0], [1.0, 1.0]),
        (np.array([-1.0, -1.0]), np.array([1.0, 1.0])),
        (None, 1.0),
        (-np.inf, 0.0),
        (0.0, np.nan),
    ],
)
def test_bad_bounds_are_refused_and_move_nothing(name, bounds):
    names = ("x_init", "y_init") if name == "Pendulum-v1" else ("low", "high")
    options = dict(zip(names, bounds, strict=True))
    with pytest.raises((ValueError, OverflowError)):
        gymnasium.make(name).reset(options=options)
    id = f"roll_vec/{name}"
    for env in (gymnasium.make(id), roll_vec.make_vec(id, 2)):
        env.reset(seed=1)
        before = env.unwrapped.get_state()
        with pytest.raises(InvalidOptionError, match=r"options\['"):
            env.reset(seed=2, options=options)
        assert_same(env.unwrapped.get_state(), before)


class Ball(roll_vec.ArrayEnv):
    """Keep the ball in the air."""

    state: ClassVar = {"height": np.float32, "bounces": np.int8}
    state_limits: ClassVar = {"height": (0.0, 10.0)}
    attributes: ClassVar = {"mass": 2.5}
    reset_options: ClassVar = {"drop": 1.0}
    actions = 2
    seeding = "stream"
    observation_space = gymnasium.spaces.Box(0, 10, (1,), np.float32)

    @roll_vec.rule
    def begin(env, rng):
        env.height = env.drop

    @roll_vec.rule
    def step(env, action, rng):
        env.bounces += 1
        return 0.0, False

    @roll_vec.rule
    def observe(env, out):
        out[0] = env.height


def test_a_class_of_a_user_declares_the_same():
    roll_vec.register("mine/Ball-v0", Ball)
    env, envs = gymnasium.make("mine/Ball-v0"), roll_vec.make_vec("mine/Ball-v0", 2)
    assert env.reset(options={"drop": 3})[0] == 3.0
    assert envs.reset(options={"drop": 4})[0].tolist() == [[4.0], [4.0]]
    assert (env.unwrapped.mass, envs.get_attr("mass")) == (2.5, (2.5, 2.5))
    game = env.unwrapped
    game.height = 0.1  # rounded to float32, as by a rule
    assert game.height == np.float32(0.1)
    for wrong in (11, np.nan, "x", [1.0]):
        with pytest.raises(InvalidStateError, match="height"):
            game.height = wrong
    with pytest.raises(InvalidStateError, match="bounces: expected int8"):
        game.bounces = 300
    game.bounces = -5
    env.step(0)
    assert (game.bounces, game.height) == (-4, np.float32(0.1))


@pytest.mark.parametrize(
    ("more", "message"),
    [
        ({"state_limits": {"hight": (0, 1)}}, "state_limits: .*height, bounces"),
        (
            {"state": {"successes": np.int8}, "state_limits": {}},
            "state: .* none of .*successes",
        ),
        ({"state_limits": {"height": 10.0}}, r"state_limits\['height'\]: .* a pair"),
        # A comma is missing.
        ({"infos": ("height")}, "infos: expected a tuple of different names"),
        ({"infos": ("height", "height")}, "infos: expected a tuple"),
        ({"hidden_infos": ("height")}, "hidden_infos: expected a tuple"),
        ({"seeding": "level"}, "seeding: expected 'stream' beside reset_options"),
    ],
)
def test_declarations_that_do_not_fit_are_errors(more, message):
    with pytest.raises(InvalidOptionError, match=message):
        roll_vec.register("mine/Wrong-v0", type("Wrong", (Ball,), more))
