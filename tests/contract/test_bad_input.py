"""Bad input: one clear error, and the batch goes on as if nothing had happened."""

import re

import gymnasium
import numpy as np
import pytest
from gymnasium import error as gym_error

from roll_vec import errors
from tests.contract.cases import (
    ARRAY_AND_POOL,
    ARRAY_IDS,
    CASES,
    CUSTOM_IDS,
    DISABLED,
    LIMIT,
    POOLED_IDS,
    POOLS,
    assert_same,
    assert_undisturbed,
    draw_actions,
    id_of,
    is_pooled,
    lowest_action,
    make_batch,
    make_single,
    one,
    play,
)
from tests.gymnasium_versions import LIMIT_ERROR

N = 4
LAMPS = "tests_vector/Lamps-v0"
# Actions from 1 on with 0 as none, and actions from 0 on.
ARRAYS = ("roll_vec/Sokoban-v0", "roll_vec/FrozenLake-v1")
# Ids as they are.
PLAIN = (*ARRAY_IDS, *POOLED_IDS, *CUSTOM_IDS)


# ------------------------------------------------------------------- actions

SHAPES = [(), (0,), (1,), (N - 1,), (N + 1,), (N, 1)]
DTYPES = ["f8", "f4", "?", "O", "U1", "S1", "c16"]
NO_INTEGER = r"^actions: expected"
BAD_ACTIONS = {
    **{
        f"{form.__name__} of shape {shape}": (
            form(np.ones(shape, np.int64)),
            rf"expected shape \({N},\).*got shape \({str(shape)[1:-1]}\)",
        )
        for shape in SHAPES
        for form in (np.asarray, np.ndarray.tolist)
    },
    **{
        f"dtype {dtype}": (np.ones(N).astype(dtype), "integer dtype, got")
        for dtype in DTYPES
    },
    **{
        f"{value!r} in a list": ([0, value, 0, 0], NO_INTEGER)
        for value in (None, "1", 1.0, [1], {}, 2**70, np.nan)
    },
    **{
        f"{actions!r} as actions": (actions, NO_INTEGER)
        for actions in (None, "1111", 1, {0: 1}, b"1111")
    },
    "an iterator": (iter([1]), NO_INTEGER),
    **{
        f"{type(texts).__name__} of texts": (texts, r"action_mode='text'(?m:$)")
        for texts in (["Up"] * N, ("Up",) * N, np.array(["Up"] * N), "UpUpUpUp")
    },
    **{
        f"unsigned {value}": (
            np.array([1, 1, 1, value], np.uint64),
            rf"\[{value}\].*\[3\]",
        )
        for value in (2**63, 2**64 - 1)
    },
}


@pytest.mark.parametrize(("actions", "told"), BAD_ACTIONS.values(), ids=BAD_ACTIONS)
@pytest.mark.parametrize("case", ARRAYS[:1])
def test_no_integer_actions(twins, actions, told):
    env, _ = twins
    with pytest.raises(errors.InvalidActionError, match=told) as caught:
        env.step(actions)
    assert isinstance(caught.value, ValueError)
    assert isinstance(caught.value, errors.RollVecError)
    assert_undisturbed(*twins)


@pytest.mark.parametrize("case", ARRAYS)
def test_out_of_range_is_named_with_its_index(twins, case):
    env, _ = twins
    low, high = lowest_action(env), 4 if case == ARRAYS[0] else 3
    for distance in (1, 2, 1000, 2**40):
        for value, row in ((low - distance, 2), (high + distance, 0)):
            told = (
                rf"expected {low} to {high}, got \[{value}\] in environments \[{row}\]"
            )
            for form in (list, np.array):
                with pytest.raises(errors.InvalidActionError, match=told):
                    env.step(form(one(env, value, row)))
    assert_undisturbed(*twins)
    many = make_batch(case, 20)
    many.reset(seed=0)
    told = r"\[9, 9, 9, 9, 9, 9, 9, 9\] in .* \[0, 1, 2, 3, 4, 5, 6, 7, \.\.\.\]"
    with pytest.raises(errors.InvalidActionError, match=told):
        many.step([9] * 20)


@pytest.mark.parametrize("case", ARRAYS)
def test_any_integers_are_accepted(twins, case):
    env, twin = twins
    forms = [
        *(list, tuple, np.ndarray.tolist),
        *(lambda row, dtype=d: row.astype(dtype) for d in (np.int8, np.uint64, ">i4")),
        lambda row: np.stack([row, row], axis=1)[:, 0],
        lambda row: row[::-1].copy()[::-1],
        lambda row: [np.int32(action) for action in row],
        lambda row: [np.array(action) for action in row],
    ]
    for form in forms:
        for row in draw_actions(env, 5):
            assert_same(env.step(form(row)), twin.step(row))


@pytest.mark.parametrize("case", ARRAYS)
def test_bad_action_beside_one_that_is_ignored(case):
    # All end at once, so all actions of the next step are ignored, and the
    # one after it is checked again.
    env, twin = (make_batch(case, 3, max_episode_steps=1) for _ in range(2))
    for batch in (env, twin):
        batch.reset(seed=0)
        batch.step([lowest_action(batch)] * 3)
    row = [lowest_action(env)] * 3
    with pytest.raises(errors.InvalidActionError, match="shape"):
        env.step(row[:2])
    with pytest.raises(errors.InvalidActionError, match="dtype"):
        env.step([0.5, 0.5, 0.5])
    assert_same(env.step([7, -9, 10**9]), twin.step(row))
    with pytest.raises(errors.InvalidActionError, match=r"\[7\] in .*\[1\]"):
        env.step([1, 7, 1])
    assert_undisturbed(env, twin)


@pytest.mark.parametrize(
    "actions",
    [
        *([1] * (N - 1), [1] * (N + 1), [1, 4, 1, 1], [1, -1, 1, 1], [1, 1.5, 1, 1]),
        *([1, "1", 1, 1], [1, None, 1, 1], "1111", None, 1, np.ones(N)),
        *(np.ones((N, 1), np.int64), np.array([1, 1, 1, 9], np.uint64)),
    ],
    ids=repr,
)
@pytest.mark.parametrize("case", [LAMPS])
def test_bad_integers_of_a_pool(twins, actions):
    env, _ = twins
    with pytest.raises(errors.InvalidActionError, match=r"^actions"):
        env.step(actions)
    assert_undisturbed(*twins)


# ----------------------------------------------------------- resets and ends


@pytest.mark.parametrize("case", CASES)
def test_a_reset_is_needed_first(case):
    env, batch = make_single(case, render_mode="ansi"), make_batch(case, N)
    for form in (env, env.unwrapped):
        with pytest.raises(gym_error.ResetNeeded):
            form.step(lowest_action(batch))
    rendering = make_batch(case, N, render_mode="ansi")
    for call in (rendering.render, lambda: batch.step(draw_actions(batch, 1)[0])):
        with pytest.raises(errors.ResetNeededError) as caught:
            call()
        assert isinstance(caught.value, gym_error.ResetNeeded)
    # The first one cannot leave any out.
    mask = np.array([True, False, True, False])
    with pytest.raises(errors.ResetNeededError, match=r"ments \[1, 3\] were never"):
        batch.reset(seed=0, options={"reset_mask": mask})
    assert batch.np_random_seed == (None,) * N
    twin = make_batch(case, N)
    options = {"reset_mask": np.ones(N, np.bool_)}
    assert_same(batch.reset(seed=0, options=options), twin.reset(seed=0))
    assert_undisturbed(batch, twin)


@pytest.mark.parametrize("case", CASES)
def test_step_of_what_has_ended_names_it_and_moves_nobody(case):
    pair = [make_batch(case, N, autoreset_mode=DISABLED) for _ in range(2)]
    for env in pair:
        env.reset(seed=0)
    env, twin = pair
    mask = np.zeros(N, np.bool_)
    for row in draw_actions(env, LIMIT):
        if not mask.any():
            mask = np.logical_or(*env.step(row)[2:4])
            twin.step(row)
    told = rf"environments \[{np.flatnonzero(mask)[0]}.*have ended.*reset_mask"
    # A bad action does not hide it.
    for actions in (draw_actions(env, 1)[0], [99] * N):
        with pytest.raises(errors.ResetNeededError, match=told):
            env.step(actions)
    for batch in pair:
        batch.reset(options={"reset_mask": mask})
    assert_undisturbed(env, twin)


@pytest.mark.parametrize("is_reset", [True, False])
@pytest.mark.parametrize("case", CASES)
def test_everything_is_refused_after_close(case, is_reset):
    env = make_batch(case, N, render_mode="ansi")
    if is_reset:
        env.reset(seed=0)
    env.close()
    env.close()
    assert env.closed
    for call in (
        env.reset,
        env.render,
        lambda: env.step([lowest_action(env)] * N),
        lambda: env.reset(seed=3, options={}),
    ):
        with pytest.raises(errors.ClosedError, match="closed") as caught:
            call()
        assert isinstance(caught.value, gym_error.ClosedEnvironmentError)


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


@pytest.mark.parametrize("case", ARRAY_AND_POOL)
def test_bad_mask_is_refused_before_anything_moves(twins, case):
    env, twin = twins
    for mask, error, told in BAD_MASKS:
        options = {"reset_mask": mask}
        # The words are Gymnasium's.
        told = re.escape(f"`options['reset_mask']` must {told}")
        with pytest.raises(error, match=f"^{told}"):
            env.reset(seed=9, options=options)
        assert options["reset_mask"] is mask
    # Other options are ignored.
    assert_same(env.reset(options={"level": 3}), twin.reset(options={}))
    assert_undisturbed(env, twin)


# -------------------------------------------------------------- construction

REFUSED = {
    "num_envs": [0, -1, 1.5, "4", None, True],
    "group_size": [0, -2, 3, 8, 1.0, None, True],
    "max_episode_steps": [0, -2, -100, 1.5, "9", True, False],
    "num_threads": [0, -1, 1.5, "2", True],
    "autoreset_mode": ["next_step", "Same_Step", "", None, 0],
    "render_mode": ["rgb", "", 1, "depth_array"],
    "obs_mode": ["image", "", None],
}
LISTED = {
    "autoreset_mode": "'NextStep', 'SameStep', 'Disabled'",
    "render_mode": "'ansi'",
}


@pytest.mark.parametrize("case", ARRAY_AND_POOL)
@pytest.mark.parametrize("name", REFUSED)
def test_bad_value_is_refused_and_named(case, name):
    if case in POOLS and name in ("num_threads", "obs_mode"):
        pytest.skip("of arrays alone")
    for value in REFUSED[name]:
        given = {"num_envs": N, "max_episode_steps": LIMIT, name: value}
        with pytest.raises(errors.InvalidOptionError, match=name) as caught:
            gymnasium.make_vec(id_of(case), **given)
        assert isinstance(caught.value, ValueError)
        assert str(value) in str(caught.value)
        assert LISTED.get(name, "") in str(caught.value)


@pytest.mark.parametrize("case", PLAIN)
def test_keywords_of_every_id(case):
    for name in ("num_levls", "env_fns", "autoreset", "seed"):
        with pytest.raises(errors.UnknownOptionError, match=name) as caught:
            gymnasium.make_vec(case, num_envs=2, **{name: 1})
        assert isinstance(caught.value, TypeError)
        listed = str(caught.value).split("exist: ")[1].split("; ")[0].split(", ")
        known = {"num_envs", "group_size", "copy", "render_mode"}
        known |= {"workers"} if is_pooled(case) else {"obs_mode"}
        assert known <= set(listed)
        assert listed == sorted(listed)
    with pytest.raises(errors.UnknownOptionError, match="group_size"):
        gymnasium.make(case, group_size=1)
    for limit in (0, -2):
        with pytest.raises(LIMIT_ERROR, match="max_episode_steps"):
            gymnasium.make(case, max_episode_steps=limit)
    more = {"num_envs": np.int64(4), "group_size": np.int32(2), "max_episode_steps": 3}
    env = gymnasium.make_vec(case, **more)
    assert (env.num_envs, env.group_size) == (4, 2)
    assert type(env.num_envs) is int
    env.close()


# ------------------------------------------------- configurations without levels


def test_no_room_is_an_error_before_anything_moves():
    # Two boxes in a corridor cannot be moved off their targets.
    env = make_batch("roll_vec/Sokoban-v0", 3, dim_room=(3, 6), num_boxes=2)
    for _ in range(2):
        told = r"no room .* level seed \d .* dim_room=\(3, 6\), num_boxes=2"
        with pytest.raises(errors.LevelGenerationError, match=told) as caught:
            env.reset(seed=0)
        assert isinstance(caught.value, RuntimeError)
    assert env.np_random_seed == (None, None, None)
    with pytest.raises(gym_error.ResetNeeded):
        env.step([1, 1, 1])


@pytest.mark.parametrize(
    "case", ["roll_vec/Sokoban-v0", "roll_vec/RandomFrozenLake-v0"]
)
def test_failed_generation_leaves_a_running_batch_as_it_was(case, monkeypatch):
    # Levels that were drawn ahead of time would be played without an error.
    env, twin = (make_batch(case, N, prefetch=False) for _ in range(2))
    for batch in (env, twin):
        batch.reset(seed=0)
        play(batch, draw_actions(batch, 5))

    def fail(seeds):
        raise errors.LevelGenerationError("no level")

    with monkeypatch.context() as patch:
        patch.setattr(env.engine.level_provider, "generate", fail)
        for seed in (None, 5, [1, None, 2, None]):
            for options in (None, {"reset_mask": np.arange(N) > 1}):
                with pytest.raises(errors.LevelGenerationError):
                    env.reset(seed=seed, options=options)
    assert_undisturbed(env, twin)
