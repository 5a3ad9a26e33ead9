"""Bad input: one clear error, and the batch goes on as if nothing had happened.

Bad calls of `send`, `recv` and snapshots are in ``test_scenarios.py``, bad keywords of
environments in ``tests/envs/test_keywords.py``, of batches in
``tests/vector/test_batch_options.py``.
"""

import re

import numpy as np
import pytest
from gymnasium import error as gym_error

from roll_vec import errors
from tests.contract import cases

N = 4
SOKOBAN, LAKE = "roll_vec/Sokoban-v0", "roll_vec/FrozenLake-v1"
LAMPS = "tests_vector/Lamps-v0"
# Actions from 1 on with 0 as none, and actions from 0 on.
ARRAYS = (SOKOBAN, LAKE)
TEXTS = ("roll_vec/RandomFrozenLake-v0 text", "roll_vec/Countdown-v0")
EVERYBODY = np.ones(N, np.bool_)


TALK = "Up"  # said by nobody but here
NO_INTEGER = "^actions: expected"
BAD_INTEGERS = [
    *(
        (form(np.ones(shape, np.int64)), rf"expected shape \({N},\).*got shape \({got}")
        for shape, got in (
            *(((), ""), ((0,), "0,"), ((1,), "1,")),
            *(((N - 1,), "3,"), ((N + 1,), "5,"), ((N, 1), "4, 1")),
        )
        for form in (np.asarray, np.ndarray.tolist)
    ),
    *(
        (np.ones(N).astype(dtype), "integer dtype, got")
        for dtype in ("f8", "f4", "?", "O", "U1", "S1", "c16")
    ),
    *(
        ([0, value, 0, 0], NO_INTEGER)
        for value in (None, "1", 1.0, [1], {}, 2**70, np.nan)
    ),
    *((value, NO_INTEGER) for value in (None, "1111", 1, {0: 1}, b"1111", iter([1]))),
    *(
        (texts, "expected an integer dtype|one integer an environment")
        for texts in (["Up"] * N, ("Up",) * N, np.array(["Up"] * N), "UpUpUpUp")
    ),
    *(
        (np.array([1, 1, 1, value], np.uint64), rf"\[{value}\].*\[3\]")
        for value in (2**63, 2**64 - 1)
    ),
    *(
        ([1, value, 1, 1], rf"expected 0 to 4, got \[{value}\] in environments \[1\]")
        for value in (-1, 5, -(2**40), 2**40)
    ),
]
BAD_INTEGERS_OF_POOLS = [
    *([1] * (N - 1), [1] * (N + 1), [1, 4, 1, 1], [1, -1, 1, 1], [1, 1.5, 1, 1]),
    *([1, "1", 1, 1], [1, None, 1, 1], "1111", None, 1, np.ones(N)),
    *(np.ones((N, 1), np.int64), np.array([1, 1, 1, 9], np.uint64)),
]
NO_TEXTS = [
    *("a" * N, "", None, 7, b"aaaa", [], {TALK: 1}, dict.fromkeys("abcd")),
    *([TALK] * (N - 1), (TALK,) * (N + 1), iter([TALK] * N), [1] * N),
    *(np.array(TALK), np.array([[TALK]] * N), np.array([TALK] * (N + 1))),
    np.ones(N, np.int64),
]
# In the place of the second text.
NO_TEXT = [None, 7, 1.5, b"Up", ["Up"], ("Up",), np.nan]
BAD_TEXTS = [
    *((actions, "^actions") for actions in NO_TEXTS),
    *(
        (form([TALK, value, TALK, TALK]), r"^actions.*\[1\]")
        for value in NO_TEXT
        for form in (list, tuple)
    ),
    (np.array([TALK, None, TALK, 7], object), r"^actions.*\[1, 3\]"),
]
BAD_ACTIONS = {
    SOKOBAN: BAD_INTEGERS,
    LAMPS: [(actions, "^actions") for actions in BAD_INTEGERS_OF_POOLS],
    **dict.fromkeys(TEXTS, BAD_TEXTS),
}


@pytest.mark.parametrize("case", BAD_ACTIONS)
def test_bad_actions_are_refused(twins, case):
    env, _ = twins
    for actions, told in BAD_ACTIONS[case]:
        with pytest.raises(errors.InvalidActionError, match=told) as caught:
            env.step(actions)
        assert isinstance(caught.value, ValueError)
        assert isinstance(caught.value, errors.RollVecError)
    for actions in (["x" * 10**6] * 3, cases.one(env, ["x" * 10**6])):
        with pytest.raises(errors.InvalidActionError) as caught:
            env.step(actions)
        assert len(str(caught.value)) < 400
    cases.assert_undisturbed(*twins)


INTEGER_FORMS = [
    *(list, tuple, np.ndarray.tolist),
    *(lambda row, dtype=d: row.astype(dtype) for d in (np.int8, np.uint64, ">i4")),
    lambda row: np.stack([row, row], axis=1)[:, 0],
    lambda row: row[::-1].copy()[::-1],
    lambda row: [np.int32(action) for action in row],
    lambda row: [np.array(action) for action in row],
]
TEXT_FORMS = [
    *(list, tuple, np.ndarray.copy),
    lambda row: np.array(row.tolist()),
    lambda row: row[::-1].copy()[::-1],
    lambda row: [np.str_(text) for text in row],
]


@pytest.mark.parametrize("case", [*ARRAYS, *TEXTS])
def test_actions_are_accepted_in_any_form(twins, case):
    env, twin = twins
    for form in TEXT_FORMS if case in TEXTS else INTEGER_FORMS:
        for row in cases.draw_actions(env, 6):
            if case in TEXTS:
                # An array of numpy's strings cannot end in the null character.
                row = np.array([text.strip("\0") for text in row], object)
            cases.assert_same(env.step(form(row)), twin.step(row))
    if case in TEXTS:
        odd = ["x" * (1 << 20), "(" * 100_000, "\udc80\0", "9**9**9"]
        cases.assert_same(env.step(odd), twin.step(tuple(odd)))
    cases.assert_undisturbed(env, twin)


@pytest.mark.parametrize("case", cases.CASES)
def test_a_reset_is_needed_first(case):
    env, batch = cases.make_single(case, render_mode="ansi"), cases.make_batch(case, N)
    for form in (env, env.unwrapped):
        with pytest.raises(gym_error.ResetNeeded):
            form.step(cases.lowest_action(batch))
    rendering = cases.make_batch(case, N, render_mode="ansi")
    with pytest.raises(errors.ResetNeededError):
        rendering.render()
    # The first one cannot leave any out.
    mask = np.array([True, False, True, False])
    with pytest.raises(errors.ResetNeededError, match=r"ments \[1, 3\] were never"):
        batch.reset(seed=0, options={"reset_mask": mask})
    assert batch.np_random_seed == (None,) * N


BAD_MASKS = [
    ([True, False, False, True], TypeError, "be a numpy array, got <class 'list'>"),
    (None, TypeError, "be a numpy array, got <class 'NoneType'>"),
    (np.array([1, 0, 0, 1]), TypeError, "have `dtype=np.bool_`, got int64"),
    (np.array([True, None, False, 1]), TypeError, "have `dtype=np.bool_`, got object"),
    (np.array([True, False]), ValueError, "have shape `(4,)`, got (2,)"),
    (np.ones((4, 1), np.bool_), ValueError, "have shape `(4,)`, got (4, 1)"),
    (
        np.zeros(4, np.bool_),
        ValueError,
        "contain a boolean array with at least one True value, got reset_mask=[",
    ),
]


@pytest.mark.parametrize("case", cases.ARRAY_AND_POOL)
def test_a_bad_mask_is_refused_before_anything_moves(twins, case):
    env, twin = twins
    for mask, error, told in BAD_MASKS:
        options = {"reset_mask": mask}
        # The words are Gymnasium's.
        told = re.escape(f"`options['reset_mask']` must {told}")
        with pytest.raises(error, match=f"^{told}"):
            env.reset(seed=9, options=options)
        assert options["reset_mask"] is mask
    state = env.get_state()
    some = (EVERYBODY[:3], [1, 0, 1, 0], "some", np.ones((4, 1), np.bool_), 3, True)
    for mask in some:
        with pytest.raises(errors.InvalidOptionError, match="mask: expected"):
            env.set_state(state, mask=mask)
    # Other options are for the environments.
    with pytest.warns(errors.RollVecWarning, match="^options of reset: 'level': "):
        results = env.reset(options={"level": 3})
    cases.assert_same(results, twin.reset(options={}))
    cases.assert_undisturbed(env, twin)


@pytest.mark.parametrize("case", [SOKOBAN, "roll_vec/RandomFrozenLake-v0"])
def test_failed_generation_leaves_a_running_batch_as_it_was(case, monkeypatch):
    env, twin = (cases.make_batch(case, N) for _ in range(2))
    for batch in (env, twin):
        batch.reset(seed=0)
        cases.play(batch, cases.draw_actions(batch, 5))

    def fail(seeds):
        raise errors.LevelGenerationError("no level")

    with monkeypatch.context() as patch:
        patch.setattr(env.engine.level_provider, "generate", fail)
        for seed in (None, 5, [1, None, 2, None]):
            for options in (None, {"reset_mask": np.arange(N) > 1}):
                with pytest.raises(errors.LevelGenerationError):
                    env.reset(seed=seed, options=options)
    cases.assert_undisturbed(env, twin)


@pytest.mark.parametrize("mode", [cases.NEXT_STEP, cases.SAME_STEP])
def test_a_step_without_a_next_level_names_the_step_or_moves_nothing(mode):
    corridor = {"dim_room": (3, 6), "num_boxes": 1}
    env, twin = (
        cases.make_batch(SOKOBAN, 3, autoreset_mode=mode, **corridor) for _ in range(2)
    )
    count = cases.limit_of(SOKOBAN) - (mode is cases.SAME_STEP)
    for batch in (env, twin):
        batch.reset(seed=0)
        for _ in range(count):
            batch.step([0] * 3)
    env.set_level_options(num_boxes=2)
    with pytest.raises(errors.LevelGenerationError):
        env.step([0] * 3)
    # Also a reset needs a level.
    env.set_level_options(num_boxes=1)
    if mode is cases.SAME_STEP:
        cases.assert_needs_reset(env, twin)
    else:
        cases.assert_undisturbed(env, twin)
