"""States of the text wrapper: the environment's own, and the last results."""

import copy

import pytest

from roll_vec.envs.countdown import Countdown
from roll_vec.errors import ClosedError, InvalidStateError, UnsupportedError
from roll_vec.text.options import TextOptions
from roll_vec.text.wrapper import TextWrapper
from tests.pool.snapshot_envs import NoopCounter
from tests.text.test_wrapper import Echo

TEXTS = ("up", "?", "down, up", "", "stay", "up, up", "?")


def make():
    """Return a wrapper that repeats results after texts without an action."""
    return TextWrapper(NoopCounter(), TextOptions(action_separator=","))


@pytest.mark.parametrize("num_steps", range(len(TEXTS)))
def test_it_goes_on_alike_and_apart(num_steps):
    env, twin, fresh = make(), make(), make()
    env.reset(seed=4)
    for text in TEXTS[:num_steps]:
        env.step(text)
    state = env.get_state()
    saved = copy.deepcopy(state)
    twin.reset(seed=9)
    twin.step("up")
    for other in (twin, fresh):
        other.set_state(state)
    expected = [env.step(text) for text in ("", *TEXTS)]
    assert [twin.step(text) for text in ("", *TEXTS)] == expected
    assert state == saved
    assert [fresh.step(text) for text in ("", *TEXTS)] == expected
    assert fresh.reset() == env.reset()


def test_with_an_environment_of_text_it_is_the_state_of_the_environment():
    env = TextWrapper(Countdown(max_steps=3), TextOptions())
    env.reset(seed=1)
    env.step("1")
    assert env.get_state() == env.unwrapped.get_state()
    other = TextWrapper(Countdown(max_steps=3), TextOptions())
    other.set_state(env.unwrapped.get_state())
    assert other.step("2") == env.step("2")


def test_bad_states():
    env = make()
    env.reset(seed=1)
    before = env.get_state()
    for state in (before["env"], {**before, "more": 1}, None):
        with pytest.raises(InvalidStateError, match="a state of TextWrapper with"):
            env.set_state(state)
    assert env.get_state() == before
    env.close()
    with pytest.raises(ClosedError):
        env.set_state(before)
    echo = TextWrapper(Echo())
    echo.reset(seed=1)
    for call in (echo.get_state, lambda: echo.set_state({})):
        with pytest.raises(UnsupportedError, match="Echo has no get_state"):
            call()
