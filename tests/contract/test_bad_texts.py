"""Bad texts: one clear error, and the batch goes on as if nothing had happened."""

import numpy as np
import pytest

from roll_vec import errors
from tests.contract.cases import (
    POOLS,
    TEXT_OBSERVATIONS,
    assert_same,
    assert_undisturbed,
    draw_actions,
    lowest_action,
    make_batch,
    one,
)

NUM_ENVS = 4

TALK = "Up"  # said by nobody but here


@pytest.mark.parametrize(
    "case", ["roll_vec/RandomFrozenLake-v0 text", "roll_vec/Countdown-v0"]
)
class TestTexts:
    @pytest.mark.parametrize(
        "actions",
        [
            "a" * NUM_ENVS,
            "",
            None,
            7,
            b"aaaa",
            [TALK] * (NUM_ENVS - 1),
            (TALK,) * (NUM_ENVS + 1),
            [],
            {TALK: 1},
            dict.fromkeys("abcd"),
            iter([TALK] * NUM_ENVS),
            np.array(TALK),
            np.array([[TALK]] * NUM_ENVS),
            np.array([TALK] * (NUM_ENVS + 1)),
        ],
        ids=lambda value: type(value).__name__,
    )
    def test_no_batch_of_texts(self, twins, actions):
        env, _ = twins
        with pytest.raises(errors.InvalidActionError, match=r"^actions: expected"):
            env.step(actions)
        assert_undisturbed(*twins)

    @pytest.mark.parametrize("value", [None, 7, 1.5, b"Up", ["Up"], ("Up",), np.nan])
    def test_element_that_is_no_text(self, twins, value):
        env, _ = twins
        batches = [one(env, value), tuple(one(env, value))]
        batches.append(np.array([TALK] * NUM_ENVS, object))
        batches[2][1] = value
        for actions in batches:
            with pytest.raises(errors.InvalidActionError, match=r"^actions.*\[1\]"):
                env.step(actions)
        assert_undisturbed(*twins)

    def test_integers_are_no_texts(self, twins):
        env, _ = twins
        for actions in (np.ones(NUM_ENVS, np.int64), [1] * NUM_ENVS):
            with pytest.raises(errors.InvalidActionError, match="actions"):
                env.step(actions)
        assert_undisturbed(*twins)

    def test_is_a_value_error_and_ours(self, twins):
        env, _ = twins
        with pytest.raises(ValueError) as caught:  # noqa: PT011
            env.step(one(env, 9))
        assert isinstance(caught.value, errors.RollVecError)

    def test_what_is_named_is_short(self, twins):
        env, _ = twins
        for actions in (["x" * 10**6] * 3, one(env, ["x" * 10**6])):
            with pytest.raises(errors.InvalidActionError) as caught:
                env.step(actions)
            assert len(str(caught.value)) < 400

    @pytest.mark.parametrize(
        "convert",
        [
            list,
            tuple,
            np.ndarray.copy,
            lambda row: np.array(row.tolist()),
            lambda row: row[::-1].copy()[::-1],
            lambda row: [np.str_(text) for text in row],
        ],
        ids=["list", "tuple", "object", "str array", "strided", "str_"],
    )
    def test_any_sequence_of_texts_is_accepted(self, twins, convert):
        env, twin = twins
        for row in draw_actions(env, 20):
            # An array of numpy's strings cannot end in the null character.
            row = np.array([text.strip("\0") for text in row], object)
            assert_same(env.step(convert(row)), twin.step(row))

    def test_bad_text_beside_one_that_is_ignored(self, case):
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

    def test_megabytes_and_odd_characters_are_texts(self, twins):
        env, twin = twins
        odd = ["x" * (1 << 20), "(" * 100_000, "\udc80\0", "9**9**9"]
        assert_same(env.step(odd), twin.step(tuple(odd)))
        assert_undisturbed(*twins)


@pytest.mark.parametrize(
    "case", [case for case in POOLS if case not in TEXT_OBSERVATIONS]
)
@pytest.mark.parametrize(
    "actions",
    [
        [1] * (NUM_ENVS - 1),
        [1] * (NUM_ENVS + 1),
        [1, 4, 1, 1],
        [1, -1, 1, 1],
        [1, 1.5, 1, 1],
        [1, "1", 1, 1],
        [1, None, 1, 1],
        np.ones((NUM_ENVS, 1), np.int64),
        np.array([1, 1, 1, 9], np.uint64),
        np.ones(NUM_ENVS),
        "1111",
        None,
        1,
    ],
    ids=repr,
)
def test_bad_integers_of_a_pool(twins, actions):
    env, _ = twins
    with pytest.raises(errors.InvalidActionError, match=r"^actions"):
        env.step(actions)
    assert_undisturbed(*twins)
