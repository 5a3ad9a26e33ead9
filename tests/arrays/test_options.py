"""Keywords and single environments: what the tables over all ids do not say.

`tests/envs/test_keywords.py` has the tables; the contract's lockstep says that single
environments equal the rows of a batch.
"""

import copy
import dataclasses
import re

import gymnasium
import numpy as np
import pytest

import roll_vec
from roll_vec import VectorState
from roll_vec.arrays.options import RENDER_MODES
from roll_vec.errors import (
    InvalidActionError,
    InvalidOptionError,
    InvalidSeedError,
    InvalidStateError,
    ResetNeededError,
    UnknownOptionError,
)
from tests.arrays.ids import IDS, LEVEL_IDS, OPTIONS, actions_of, silent

SOKOBAN, RANDOM_LAKE = "roll_vec/Sokoban-v0", "roll_vec/RandomFrozenLake-v0"
LAKE, LAKE_8X8 = "roll_vec/FrozenLake-v1", "roll_vec/FrozenLake8x8-v1"

# By id and keyword: what is accepted, and values that are not.
BOOL, BAND = "True or False", "a low bound that is not above the high"
BANDS = {
    "two": [5, "12", (1, 2, 3)],
    BAND: [(5, 4)],
    "at least 0": [(-1, 4)],
    "an integer": [(1.5, 4), (None, True)],
    "at most": [(0, 10**30)],
}
WRONG = {
    SOKOBAN: {
        "render_scale": {"at least 1": [0], "at most": [65], "integer": [1.5, True]},
        "text_format": {"": ["coord", "x"]},
        "action_mode": {"": ["words"]},
        "action_pattern": {"": ["<a>(.*)</a>"]},
        "action_mask": {BOOL: [1]},
        "level_info": {BOOL: [1]},
        "action_start": {"0 ": [2, -1, True, "0", "", 1.0, [0]]},
        "prefetch": {"None, True": [1, "yes", 0.0]},
        "search_depth": {"at most": [10**30]},
        "num_gen_steps": {"at most": [10**30]},
        "solution_steps": BANDS,
        "solution_pushes": BANDS,
    },
    RANDOM_LAKE: {"success_rate": {"": [1.5]}},
    LAKE: {"success_rate": {"a number": [True]}, "desc": {"": [[[1, 2], [3, 4]]]}},
}
# Values that are wrong together.
CONTRADICTIONS = [
    (SOKOBAN, "num_boxes", {"dim_x": 4, "dim_y": 4}),
    (SOKOBAN, "action_lookup", {"action_start": 0, "action_lookup": {4: "Go"}}),
    (SOKOBAN, "action_pattern", {"action_mode": "text", "action_pattern": "("}),
]


def forms(id, **keywords):
    """Both ways to make an environment, each to be called."""
    return [
        lambda: gymnasium.make(id, **keywords),
        lambda: gymnasium.make_vec(id, num_envs=2, **keywords),
    ]


def make(id, **keywords):
    """Return a single environment without wrappers, after a reset."""
    env = gymnasium.make(id, **keywords).unwrapped
    env.reset(seed=2)
    return env


# -------------------------------------------------------------------- what is refused


@pytest.mark.parametrize(
    ("id", "name", "keywords", "accepted"),
    [
        *(
            (id, name, {name: value}, accepted)
            for id, table in WRONG.items()
            for name, values in table.items()
            for accepted, wrong in values.items()
            for value in wrong
        ),
        *((id, name, keywords, None) for id, name, keywords in CONTRADICTIONS),
    ],
    ids=str,
)
def test_a_wrong_value_is_refused_by_its_name(id, name, keywords, accepted):
    messages = set()
    # A single environment has no such keyword.
    for make in forms(id, **keywords)[name == "prefetch" :]:
        with pytest.raises(InvalidOptionError) as caught:
            make()
        messages.add(str(caught.value))
    (message,) = messages
    assert message.startswith(name)
    if accepted is not None:
        assert re.search(f"expected .*{accepted}|needs", message)


@pytest.mark.parametrize("id", IDS)
def test_an_unknown_keyword_lists_those_of_the_environment_and_the_batch(id):
    with pytest.raises(UnknownOptionError, match="'dim_rooms'") as caught:
        gymnasium.make_vec(id, num_envs=2, dim_rooms=(6, 6))
    listed = str(caught.value).split("those that exist: ")[1].split("; ")[0]
    of_batch = {"autoreset_mode", "copy", "num_threads", "group_size"}
    fields = {field.name for field in dataclasses.fields(OPTIONS[id])}
    assert fields | of_batch <= set(listed.split(", "))


@pytest.mark.parametrize(
    ("id", "names", "message"),
    [
        (LAKE, ("max_steps", "grid_lookup", "size", "num_levels"), "{}"),
        (LAKE, ("seed_info", "level_info"), "get_state keeps an episode"),
        (LAKE, ("action_start",), "action_start.*Sokoban-v0 and roll_"),
        ("roll_vec/Countdown-v0", ("action_start",), "Sokoban-v0 and roll_"),
    ],
)
def test_keywords_of_other_ids_are_unknown(id, names, message):
    for name in names:
        for make in forms(id, **{name: 1}):
            with pytest.raises(UnknownOptionError, match=message.format(name)):
                make()


def test_keywords_of_batches_of_arrays_are_unknown_elsewhere():
    for name in ("num_threads", "prefetch"):
        with pytest.raises(UnknownOptionError, match=f"{name} is for batches"):
            gymnasium.make(SOKOBAN, **{name: 1})
    with pytest.raises(UnknownOptionError, match="stacked arrays alone"):
        roll_vec.make_vec("roll_vec/Countdown-v0", 2, prefetch=True)


def test_roll_environments_refuse_early():
    with pytest.raises(gymnasium.error.Error, match="seed"):
        roll_vec.FrozenLakeEnvConfig(map_seed=-1)
    with pytest.raises(gymnasium.error.ResetNeeded):
        roll_vec.SokobanEnv().render()


# --------------------------------------------------------- what is accepted, how


@pytest.mark.parametrize(
    "keywords",
    [
        {"dim_room": [7, 8]},
        {"dim_room": np.array([7, 8])},
        {"dim_x": np.int32(7), "dim_y": np.uint8(8)},
        {"dim_room": np.array([7, 8]), "dim_x": 7, "dim_y": 8},
    ],
    ids=str,
)
def test_a_size_can_be_given_in_several_ways(keywords):
    options = gymnasium.make(SOKOBAN, num_boxes=1, **keywords).unwrapped.options
    assert options.dim_room == (7, 8)
    assert {type(length) for length in options.dim_room} == {int}
    # The walk's length follows the size.
    assert options.num_gen_steps == int(1.7 * 15)


def test_numpy_numbers_are_numbers():
    keywords = {
        "num_boxes": np.int8(2),
        "max_steps": np.int64(7),
        "search_depth": np.uint16(30),
        "num_gen_steps": np.int64(20),
        "num_levels": np.uint64(9),
        "start_level": np.int32(1),
        "action_start": np.int64(0),
    }
    options = gymnasium.make(SOKOBAN, **keywords).unwrapped.options
    for name, value in keywords.items():
        assert getattr(options, name) == value
        assert type(getattr(options, name)) is int
    # The most boxes that there is room for.
    assert gymnasium.make(SOKOBAN, num_boxes=14)


def test_options_are_copies():
    lookup, actions, vocab = {5: "me"}, {1: "north"}, {"me": "the player"}
    own = {"grid_lookup": lookup, "action_lookup": actions, "grid_vocab": vocab}
    env = gymnasium.make(SOKOBAN, obs_mode="text", **own).unwrapped
    text, _ = env.reset(seed=0)
    assert set(text) == set("me?\n")
    lookup[5], actions[1] = "you", "south"
    vocab.clear()
    assert env.reset(seed=0)[0] == text
    assert env.action_lookup == {1: "north"}
    assert env.get_all_actions() == [1]
    assert env.options.grid_vocab == {"me": "the player"}
    env = gymnasium.make(LAKE, reward_schedule=(r for r in (2, 0, 0)))
    assert env.unwrapped.reward_range == (0, 2)


def test_random_lakes_slip_as_often_as_they_are_told():
    def step_down(**keywords):
        lakes = roll_vec.make_vec(RANDOM_LAKE, 30, size=6, p=1.0, **keywords)
        lakes.reset(seed=0)
        before = np.array(lakes.get_attr("s"))
        lakes.step(np.full(30, 2))
        return before, np.array(lakes.get_attr("s"))

    before, dry = step_down(is_slippery=False)
    assert (step_down(success_rate=1.0)[1] == dry).all()
    _, aside = step_down(success_rate=0.0)
    assert (aside // 6 == before // 6).all()
    assert (aside != before).any()


def test_deep_search_takes_no_memory_ahead():
    env = gymnasium.make(SOKOBAN, search_depth=10**9, num_boxes=1)
    observation, _ = env.reset(seed=1)
    assert (observation >= 5).sum() == 1


# Of ROLL's and Gymnasium's limit the smaller one holds: id, max_steps,
# max_episode_steps, and the step on which an episode is truncated.
LIMITS = [
    (SOKOBAN, None, None, 100),
    (SOKOBAN, None, -1, None),
    (SOKOBAN, 105, 140, 105),
    (RANDOM_LAKE, 150, None, 100),
    (RANDOM_LAKE, 7, 9, 7),
    (RANDOM_LAKE, 9, 7, 7),
    (RANDOM_LAKE, 9, -1, 9),
    (LAKE_8X8, None, None, 200),
]


@pytest.mark.parametrize(("id", "max_steps", "max_episode_steps", "limit"), LIMITS)
def test_the_smaller_limit_holds_in_both_forms(id, max_steps, max_episode_steps, limit):
    keywords = {"max_episode_steps": max_episode_steps}
    if id in LEVEL_IDS:
        keywords.update(max_steps=max_steps, action_start=1)
    else:
        keywords["is_slippery"] = False
    env = gymnasium.make(id, **keywords)
    batch = gymnasium.make_vec(id, num_envs=2, autoreset_mode="Disabled", **keywords)
    env.reset(seed=0)
    batch.reset(seed=0)
    # Action 0 moves nothing, or leads against the wall of the first column.
    for t in range(1, (limit or 210) + 1):
        _, _, terminated, truncated, _ = env.step(0)
        _, _, terminations, truncations, _ = batch.step([0, 0])
        assert not terminated
        assert not terminations.any()
        assert truncated == (t == limit)
        assert truncations.tolist() == [t == limit] * 2


# ------------------------------------------------------------- single environments


@pytest.fixture(params=IDS)
def id(request):
    """An id of stacked environments."""
    return request.param


def test_observations_are_the_callers_own(id):
    env, twin = make(id, obs_mode="grid"), make(id, obs_mode="grid")
    obs, _ = env.reset(seed=8, options={"anything": 1})
    twin.reset(seed=8)
    for action in actions_of(id):
        obs[:] = 77
        obs = env.step(action)[0]
        np.testing.assert_array_equal(obs, twin.step(action)[0])


def test_a_step_needs_a_reset(id):
    env = gymnasium.make(id, render_mode="text").unwrapped
    with pytest.raises(gymnasium.error.ResetNeeded, match="must be reset"):
        env.step(1)
    with pytest.raises(ResetNeededError):
        env.render()


BAD_ACTIONS = [True, -1, 99, 2**70, 1.0, "1", None, [1], np.array([1, 2]), np.nan]


def test_a_bad_action_or_seed_is_named_and_moves_nothing(id):
    env, twin = make(id), make(id)
    high = actions_of(id)[-1]
    for action in (*BAD_ACTIONS, high + 1):
        with pytest.raises(InvalidActionError, match=f"from 0 to {high}, got"):
            env.step(action)
    for seed in (-1, -(2**40), 1.5, "7", [1]):
        with pytest.raises(InvalidSeedError, match=r"seed: .* got"):
            env.reset(seed=seed)
        with pytest.raises(gymnasium.error.Error, match=r"seed: .* got"):
            gymnasium.make(id).unwrapped.reset(seed=seed)
    # Integers of any kind are actions.
    for kind in (np.int8, np.uint8, np.int64, np.array):
        assert repr(env.step(kind(high))) == repr(twin.step(high))
    assert env.num_env_steps == twin.num_env_steps == 4
    assert repr(env.reset()) == repr(twin.reset())
    assert env.num_env_steps == 0


@pytest.mark.parametrize(
    ("action", "shown"),
    [
        ("1", "got '1'; names of actions are taken with action_mode='text'(?m:$)"),
        (1.0, "got 1.0(?m:$)"),
        (None, "got None(?m:$)"),
        (b"1", "got b'1'(?m:$)"),
    ],
)
def test_an_action_of_another_type_is_shown_as_it_is(action, shown):
    with pytest.raises(InvalidActionError, match=shown):
        make(SOKOBAN).step(action)


def test_no_colour_is_asked_for_by_a_variable(id, monkeypatch):
    env = make(id, render_mode="ansi")
    monkeypatch.setenv("NO_COLOR", "1")
    plain = env.render()
    assert plain == make(id, render_mode="text").render()
    monkeypatch.setenv("NO_COLOR", "")
    assert "\x1b" in env.render()
    assert re.sub(r"\x1b\[[0-9;]*m", "", env.render()) == plain


def test_without_a_mode_rendering_warns_and_says_which_there_are(id):
    env = make(id)
    with pytest.warns(UserWarning, match="without a render_mode.*'rgb_array'.*'text'"):
        assert env.render() is None


def test_human_mode_shows_every_reset_and_step(id, monkeypatch):
    shown, closed = [], []

    class FakeWindow:
        def show(self, frame, fps):
            shown.append(frame)

        def close(self):
            closed.append(self)

    monkeypatch.setattr("roll_vec.render.window.Window", FakeWindow)
    env, twin = make(id, render_mode="human"), make(id, render_mode="rgb_array")
    assert env.metadata["render_modes"] == list(RENDER_MODES)
    np.testing.assert_array_equal(shown[-1], twin.render())
    env.step(1)
    twin.step(1)
    np.testing.assert_array_equal(shown[-1], twin.render())
    assert len(shown) == 2
    assert env.render() is None
    assert len(shown) == 3
    # The window is no state: a copy has none, and opens its own.
    copy.deepcopy(env).close()
    assert not closed
    env.close()
    env.close()
    assert len(closed) == 1


RANGED = {"episodes_numbers", "elapsed_steps", "cells", "players", "boxes_left"}
RANGED |= {"positions", "maps", "starts"}


def test_a_wrong_array_of_a_state_is_refused_by_name(id):
    env = roll_vec.make_vec(id, 6, max_episode_steps=9, **silent(id))
    env.reset(seed=3)
    for action in actions_of(id)[1:]:
        env.step([action] * 6)
    state, single = env.get_state(), make(id, **silent(id))

    def check(name, arrays):
        damaged = VectorState(state.id, state.configuration, arrays, state.shared)
        with pytest.raises(InvalidStateError, match=name):
            env.set_state(damaged)
        return damaged

    for name, array in state.arrays.items():
        check(name, {**state.arrays, name: array.astype(np.float32)})
        check(name, {**state.arrays, name: array[..., np.newaxis]})
        check("state", {k: v for k, v in state.arrays.items() if k != name})
        if name in RANGED:
            highest = {"uint8": 255, "uint64": (1 << 63) - 1}
            for value in (-1, highest.get(str(array.dtype), 1 << 30)):
                bad = array.copy()
                bad[-1] = np.array(value).astype(array.dtype)
                damaged = check(name, {**state.arrays, name: bad})
                # A single environment does not know the limit of a batch.
                if name != "elapsed_steps" or value < 0:
                    with pytest.raises(InvalidStateError, match=name):
                        single.set_state(damaged.row(5))
