"""The states of objects are checked before any of them moves."""

import numpy as np
import pytest

import roll_vec
from roll_vec.errors import InvalidStateError
from tests.contract.cases import assert_same
from tests.envs.countdown.test_state import BAD_ENTRIES
from tests.pool.cases import EACH_EXECUTOR, draw_actions, play, pool
from tests.pool.envs import Drifter
from tests.pool.snapshot_envs import HalfStateful, Stateful

COUNTDOWN, WEBSHOP = "roll_vec/Countdown-v0", "roll_vec/WebShop-v0"
TEXTS = {COUNTDOWN: "1+2", WEBSHOP: "search[red]"}


def started(id, workers):
    """Return a batch within its episodes."""
    keywords = {"max_steps": 9} if id == COUNTDOWN else {}
    env = roll_vec.make_vec(id, 3, **keywords, **workers)
    env.reset(seed=3)
    env.step([TEXTS[id]] * 3)
    return env


def bad_rows(id, row):
    """Yield states of one environment that cannot be set."""
    for key in row:
        yield {k: v for k, v in row.items() if k != key}
    if id == COUNTDOWN:
        yield from ({**row, **entry} for entry in BAD_ENTRIES)
    else:
        yield {**row, "num_env_steps": -3}
        yield {**row, "session": {**row["session"], "goal": 10**30}}
        yield {**row, "level_options": {"limit_goals": 0}}


@EACH_EXECUTOR
@pytest.mark.parametrize("id", [COUNTDOWN, WEBSHOP])
def test_a_bad_row_moves_no_environment(id, workers):
    env, twin = started(id, workers), started(id, {})
    state = env.get_state()
    for one in (env, twin):
        one.step([TEXTS[id]] * 3)
    for row in bad_rows(id, state.row(1)):
        with pytest.raises(InvalidStateError, match="environment 1 of the state: "):
            env.set_state(state.replace_row(1, row))
    assert env.get_state() == twin.get_state()
    assert_same(env.step(["?"] * 3), twin.step(["?"] * 3))
    env.close()
    twin.close()


class Checked(Stateful):
    """Says itself whether it can go to a state; counts these questions."""

    checks = 0

    def check_state(self, state):
        self.checks += 1
        if state["turn"] == "refused":
            message = "refused"
            raise KeyError(message)


@EACH_EXECUTOR
def test_the_check_of_a_users_environment(workers):
    actions = draw_actions("text", 3, 6)
    with pool([Checked] * 3, **workers) as env, pool([Stateful] * 3) as twin:
        for one in (env, twin):
            one.reset(seed=1)
        state = env.get_state()
        bad = state.replace_row(2, {**state.row(2), "turn": "refused"})
        for rows in (None, [0, 0, 0]):
            with pytest.raises(KeyError, match="refused"):
                env.set_state(bad, rows=rows)
        before = env.call("checks")
        env.set_state(state)
        env.set_state(state.take([2, 1, 0]))
        env.set_state(state)
        # A snapshot that nobody has changed costs no check.
        assert env.call("checks") == before
        assert_same(play(env, actions), play(twin, actions))


@EACH_EXECUTOR
def test_objects_of_several_kinds_check_their_own_rows(workers):
    with pool([Checked, Stateful, Checked], **workers) as env:
        env.reset(seed=1)
        state = env.get_state()
        env.set_state(state.replace_row(1, {**state.row(1), "turn": 1}))
        with pytest.raises(KeyError, match="refused"):
            env.set_state(state.replace_row(2, {**state.row(2), "turn": "refused"}))
        assert_same(env.get_state().row(2), state.row(2))


class OldApi(Drifter):
    """No `SeededEnv`; its states are plain data beside a generator."""

    def __init__(self):
        super().__init__("discrete")

    def get_state(self):
        return {"clock": self.clock}

    def set_state(self, state):
        self.clock = state["clock"]


@EACH_EXECUTOR
@pytest.mark.parametrize("build", [OldApi, HalfStateful])
def test_the_generator_beside_a_state(build, workers):
    with pool([build] * 2, **workers) as env:
        env.reset(seed=1)
        env.step(np.array([0, 1]))
        state = env.get_state()
        row = state.row(1)
        env.set_state(state.replace_row(1, row))
        for change in ({"np_random": {"bit_generator": "x"}}, {"more": 1}):
            with pytest.raises(InvalidStateError, match="environment 1 of the state"):
                env.set_state(state.replace_row(1, {**row, **change}))
        assert env.get_state() == state
