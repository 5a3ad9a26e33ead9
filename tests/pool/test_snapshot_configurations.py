"""Pools exchange snapshots if their environments are alike, whatever runs them."""

import functools
import json
from contextlib import closing

import numpy as np
import pytest

import roll_vec
from roll_vec.errors import InvalidStateError
from roll_vec.pool import PoolVectorEnv
from tests.contract.cases import assert_same
from tests.pool.cases import PROCESSES, THREADS, draw_actions, play, pool
from tests.pool.envs import Talker, drifters
from tests.pool.snapshot_envs import Stateful, wrapped_countdown

COUNTDOWN = "roll_vec/Countdown-v0"


def make(id=COUNTDOWN, num_envs=2, **keywords):
    """Return a batch that was reset."""
    env = roll_vec.make_vec(id, num_envs, **keywords)
    env.reset(seed=3)
    return env


@pytest.mark.parametrize(
    "keywords",
    [
        {},
        THREADS,
        PROCESSES,
        {"workers": 1, "step_timeout": 5.0, "on_error": "raise", "copy": False},
        {"render_mode": "text"},
        {"max_steps": 3, "action_pattern": None, "score": 1.0},
    ],
    ids=str,
)
def test_batches_that_exchange_snapshots(keywords):
    state = make(max_steps=3).get_state()
    env = make(**{"max_steps": 3, **keywords})
    env.set_state(state)
    assert env.get_state().digest == state.digest
    env.close()


@pytest.mark.parametrize(
    ("keywords", "words"),
    [
        ({"max_steps": 4}, "max_steps.*4"),
        ({"score": 2.0}, "score"),
        ({"format_penalty": -1.0}, "format_penalty"),
        ({"max_episode_steps": 9}, "max_episode_steps is 9"),
        ({"autoreset_mode": "SameStep"}, "autoreset_mode"),
    ],
)
def test_batches_that_do_not(keywords, words):
    state = make(max_steps=3).get_state()
    env = make(**{"max_steps": 3, **keywords})
    twin = make(**{"max_steps": 3, **keywords})
    with pytest.raises(InvalidStateError, match=words):
        env.set_state(state)
    assert env.get_state() == twin.get_state()


def test_other_environments_are_refused_by_name():
    state = make().get_state()
    shop = make("roll_vec/WebShop-v0")
    with pytest.raises(InvalidStateError, match="WebShop"):
        shop.set_state(state)
    with pool([Talker] * 2) as env, pool([Stateful] * 2) as other:
        env.reset(seed=1)
        other.reset(seed=1)
        with pytest.raises(InvalidStateError, match=r"Stateful.*Talker"):
            other.set_state(env.get_state())
    fns = [wrapped_countdown, lambda: wrapped_countdown().unwrapped]
    fns += [drifters(kind, 1)[0] for kind in ("box", "discrete")]
    pools = [PoolVectorEnv([each]) for each in fns]
    for env in pools:
        env.reset(seed=1)
    for one, words in ((0, "TimeLimit"), (2, "Discrete")):
        with pytest.raises(InvalidStateError, match=words):
            pools[one + 1].set_state(pools[one].get_state())


def test_a_data_file_counts_by_its_content(tmp_path):
    lines = ['{"nums": [1, 2, 3], "target": 6}', '{"nums": [2, 3, 4], "target": 9}']
    paths = [tmp_path / name for name in ("one.jsonl", "same.jsonl", "other.jsonl")]
    for path, text in zip(paths, (lines, lines, lines[::-1]), strict=True):
        path.write_text("\n".join(text))
    one, same, other = (make(data=path) for path in paths)
    state = one.get_state()
    assert str(tmp_path) not in json.dumps(state.configuration)
    same.set_state(state)
    assert_same(same.step(["1", "2"]), one.step(["1", "2"]))
    with pytest.raises(InvalidStateError, match="sha256"):
        other.set_state(state)


def even_goals(number, goal):
    return number % 2 == 0


def goals_below(limit, number, goal):
    return number < limit


WEBSHOP = "roll_vec/WebShop-v0"
FILTERS = (
    None,
    even_goals,
    lambda number, goal: number % 2 == 1,
    lambda number, goal: number < 40,
    functools.partial(goals_below, 40),
    functools.partial(goals_below, 50),
)


def test_a_function_counts_by_its_name_and_arguments():
    states = [make(WEBSHOP, filter_goals=one).get_state() for one in FILTERS]
    assert len({state.digest for state in states}) == len(FILTERS)
    env = make(WEBSHOP, filter_goals=even_goals)
    words = "filter_goals.*test_snapshot_configurations:even_goals.* in this batch"
    for state in states[2:]:
        with pytest.raises(InvalidStateError, match=words):
            env.set_state(state)
    env.set_state(states[1])
    with closing(make(WEBSHOP, filter_goals=FILTERS[4], **PROCESSES)) as env:
        env.set_state(states[4])
        assert env.get_state() == states[4]


def test_different_environments_in_one_pool():
    """Each goes to rows of its like."""
    fns = [Stateful, Talker, Stateful, Talker]
    actions = draw_actions("text", 4, 6)
    with pool(fns) as env, pool(fns) as other:
        env.reset(seed=1)
        play(env, actions[:3])
        state = env.get_state()
        expected = play(env, actions[3:])
        other.set_state(state)
        assert_same(play(other, actions[3:]), expected)
        before = other.get_state()
        with pytest.raises(InvalidStateError, match=r"environment 0 .* environment 1"):
            other.set_state(state, rows=[1, 1, 2, 3])
        assert_same(other.step(actions[0]), env.step(actions[0]))
        other.set_state(before, rows=[2, 3, 2, 3])
        other.set_state(state, mask=np.array([True, False, False, True]))
    with pool(fns[::-1]) as reversed_pool:
        reversed_pool.reset(seed=1)
        with pytest.raises(InvalidStateError, match="another configuration"):
            reversed_pool.set_state(state)


# ------------------------------------------------------------- rows and level options


def test_a_part_of_a_snapshot_is_as_wide_as_its_longest_state():
    with pool([Stateful] * 3) as env:
        env.reset(seed=1)
        state = env.get_state()
        env.step(("a", "b" * 5000, "c"))
        longer = env.get_state()
    assert longer.take([0, 2]).nbytes < 2000 < longer.nbytes
    assert longer.take([0, 2]) == longer.take([2, 1, 0]).take([2, 0])
    assert longer.take([0, 2]) != state.take([0, 2])


@pytest.mark.parametrize("id", [COUNTDOWN, "roll_vec/WebShop-v0"])
def test_a_row_is_a_single_environment_and_goes_back(id):
    """`gymnasium.make(id)` has the same content, with and without the text layer."""
    import gymnasium

    env, single = make(id, 3), gymnasium.make(id)
    texts = {COUNTDOWN: "1+2", "roll_vec/WebShop-v0": "search[red]"}
    env.step([texts[id]] * 3)
    state = env.get_state()
    single.reset(seed=0)
    layers = [single.unwrapped, single.get_wrapper_attr("set_state").__self__]
    assert type(layers[0]) is not type(layers[1])
    for layer in layers:
        layer.set_state(state.row(1))
        assert layer.get_state() == state.row(1)
    if id == COUNTDOWN:
        assert state.arrays["has_ended"].all()
        layers[1].reset()
    expected = single.step(texts[id])
    moved = state.replace_row(0, layers[1].get_state())
    assert moved.row(0) == layers[0].get_state()
    assert moved.row(1) == state.row(1)
    env.set_state(moved)
    assert env.call("get_state")[0] == layers[0].get_state()
    assert expected[0]
