"""Bad texts: one clear error, and the batch goes on as if nothing had happened."""

import numpy as np
import pytest

from roll_vec import errors
from tests.contract.cases import (
    assert_same,
    assert_undisturbed,
    draw_actions,
    lowest_action,
    make_batch,
    one,
)

N = 4
TALK = "Up"  # said by nobody but here

pytestmark = pytest.mark.parametrize(
    "case", ["roll_vec/RandomFrozenLake-v0 text", "roll_vec/Countdown-v0"]
)


@pytest.mark.parametrize(
    "actions",
    [
        *("a" * N, "", None, 7, b"aaaa", [], {TALK: 1}, dict.fromkeys("abcd")),
        *([TALK] * (N - 1), (TALK,) * (N + 1), iter([TALK] * N), [1] * N),
        *(np.array(TALK), np.array([[TALK]] * N), np.array([TALK] * (N + 1))),
        np.ones(N, np.int64),
    ],
    ids=lambda value: type(value).__name__,
)
def test_no_batch_of_texts(twins, actions):
    env, _ = twins
    with pytest.raises(errors.InvalidActionError, match=r"^actions") as caught:
        env.step(actions)
    assert isinstance(caught.value, ValueError)
    assert_undisturbed(*twins)


@pytest.mark.parametrize("value", [None, 7, 1.5, b"Up", ["Up"], ("Up",), np.nan])
def test_element_that_is_no_text(twins, value):
    env, _ = twins
    batches = [one(env, value), tuple(one(env, value)), np.array([TALK] * N, object)]
    batches[2][1] = value
    for actions in batches:
        with pytest.raises(errors.InvalidActionError, match=r"^actions.*\[1\]"):
            env.step(actions)
    assert_undisturbed(*twins)


def test_what_is_named_is_short(twins):
    env, _ = twins
    for actions in (["x" * 10**6] * 3, one(env, ["x" * 10**6])):
        with pytest.raises(errors.InvalidActionError) as caught:
            env.step(actions)
        assert len(str(caught.value)) < 400


def test_any_sequence_of_texts_is_accepted(twins):
    env, twin = twins
    forms = [
        *(list, tuple, np.ndarray.copy),
        lambda row: np.array(row.tolist()),
        lambda row: row[::-1].copy()[::-1],
        lambda row: [np.str_(text) for text in row],
    ]
    for form in forms:
        for row in draw_actions(env, 8):
            # An array of numpy's strings cannot end in the null character.
            row = np.array([text.strip("\0") for text in row], object)
            assert_same(env.step(form(row)), twin.step(row))
    odd = ["x" * (1 << 20), "(" * 100_000, "\udc80\0", "9**9**9"]
    assert_same(env.step(odd), twin.step(tuple(odd)))
    assert_undisturbed(*twins)


def test_bad_text_beside_one_that_is_ignored(case):
    env, twin = (make_batch(case, 3, max_episode_steps=1) for _ in range(2))
    row = [lowest_action(env)] * 3
    for batch in (env, twin):
        batch.reset(seed=0)
        batch.step(row)
    with pytest.raises(errors.InvalidActionError):
        env.step(row[:2])
    assert_same(env.step([7, None, "\udc80"]), twin.step(row))
    with pytest.raises(errors.InvalidActionError, match=r"\[1\]"):
        env.step([TALK, 7, TALK])
    assert_undisturbed(env, twin)
