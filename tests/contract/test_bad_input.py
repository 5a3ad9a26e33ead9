"""Bad input: one clear error, and the batch goes on as if nothing had happened."""

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
    MODES,
    POOLED_IDS,
    POOLS,
    assert_same,
    assert_undisturbed,
    draw_actions,
    id_of,
    is_pooled,
    limit_of,
    lowest_action,
    make_batch,
    make_single,
    one,
    play,
)
from tests.gymnasium_versions import LIMIT_ERROR

NUM_ENVS = 4


# Ids as they are.
PLAIN = (*ARRAY_IDS, *POOLED_IDS, *CUSTOM_IDS)


@pytest.fixture(params=ARRAY_IDS)
def case(request):
    """An id whose batch is stacked in arrays."""
    return request.param


def frames_of(case):
    """Return a render mode that a case has."""
    return "ansi" if is_pooled(case) else "rgb_array"


# ------------------------------------------------------------------- actions


class TestActions:
    @pytest.mark.parametrize(
        "shape", [(), (0,), (1,), (NUM_ENVS - 1,), (NUM_ENVS + 1,), (NUM_ENVS, 1)]
    )
    def test_wrong_shape(self, twins, shape):
        env, _ = twins
        told = rf"expected shape \({NUM_ENVS},\).*got shape \({str(shape)[1:-1]}\)"
        for actions in (np.ones(shape, np.int64), np.ones(shape, np.int64).tolist()):
            with pytest.raises(errors.InvalidActionError, match=told):
                env.step(actions)
        assert_undisturbed(*twins)

    @pytest.mark.parametrize(
        "dtype", [np.float64, np.float32, np.bool_, object, "U1", "S1", "complex128"]
    )
    def test_wrong_dtype(self, twins, dtype):
        env, _ = twins
        actions = np.ones(NUM_ENVS).astype(dtype)
        with pytest.raises(errors.InvalidActionError, match="integer dtype, got"):
            env.step(actions)
        assert_undisturbed(*twins)

    @pytest.mark.parametrize("convert", [list, tuple, np.array, "".join])
    def test_text_says_how_it_is_taken(self, twins, convert):
        env, _ = twins
        actions = convert(["Up"] * NUM_ENVS)
        with pytest.raises(
            errors.InvalidActionError, match=r"action_mode='text'(?m:$)"
        ):
            env.step(actions)
        assert_undisturbed(*twins)

    @pytest.mark.parametrize("value", [None, "1", 1.0, [1], {}, 2**70, np.nan])
    def test_element_that_is_no_integer(self, twins, value):
        env, _ = twins
        with pytest.raises(errors.InvalidActionError, match=r"^actions: expected"):
            env.step(one(env, value))
        assert_undisturbed(*twins)

    @pytest.mark.parametrize("actions", [None, "1111", 1, {0: 1}, b"1111", iter([1])])
    def test_no_batch_at_all(self, twins, actions):
        env, _ = twins
        with pytest.raises(errors.InvalidActionError, match=r"^actions: expected"):
            env.step(actions)
        assert_undisturbed(*twins)

    @pytest.mark.parametrize("distance", [1, 2, 1000, 2**40])
    def test_out_of_range_is_named_with_its_index(self, twins, distance):
        env, _ = twins
        low = lowest_action(env)
        space = env.single_action_space
        high = int(space.start + space.n) - 1
        for value, row in ((low - distance, 2), (high + distance, 0)):
            told = (
                rf"expected {low} to {high}, got \[{value}\] in environments \[{row}\]"
            )
            with pytest.raises(errors.InvalidActionError, match=told):
                env.step(one(env, value, row))
            with pytest.raises(errors.InvalidActionError, match=told):
                env.step(np.array(one(env, value, row)))
        assert_undisturbed(*twins)

    def test_many_out_of_range_are_named_up_to_eight(self, case):
        env = make_batch(case, 20)
        env.reset(seed=0)
        told = r"\[9, 9, 9, 9, 9, 9, 9, 9\] in .* \[0, 1, 2, 3, 4, 5, 6, 7, \.\.\.\]"
        with pytest.raises(errors.InvalidActionError, match=told):
            env.step([9] * 20)

    @pytest.mark.parametrize("value", [2**63, 2**64 - 1])
    def test_unsigned_does_not_wrap_around(self, twins, value):
        env, _ = twins
        actions = np.array(one(env, 1), np.uint64)
        actions[3] = value
        with pytest.raises(errors.InvalidActionError, match=rf"\[{value}\].*\[3\]"):
            env.step(actions)
        assert_undisturbed(*twins)

    def test_is_a_value_error_and_ours(self, twins):
        env, _ = twins
        with pytest.raises(ValueError) as caught:  # noqa: PT011
            env.step(one(env, 9))
        assert isinstance(caught.value, errors.RollVecError)

    @pytest.mark.parametrize(
        "convert",
        [
            list,
            tuple,
            np.ndarray.tolist,
            lambda row: row.astype(np.int8),
            lambda row: row.astype(np.uint64),
            lambda row: row.astype(">i4"),
            lambda row: np.stack([row, row], axis=1)[:, 0],
            lambda row: row[::-1].copy()[::-1],
            lambda row: [np.int32(action) for action in row],
            lambda row: [np.array(action) for action in row],
        ],
    )
    def test_any_integers_are_accepted(self, twins, convert):
        env, twin = twins
        for row in draw_actions(env, 20):
            assert_same(env.step(convert(row)), twin.step(row))

    def test_bad_action_beside_one_that_is_ignored(self, case):
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


# ----------------------------------------------------------- resets and ends


@pytest.mark.parametrize("case", CASES)
class TestOrder:
    @pytest.mark.parametrize("mode", MODES)
    def test_step_before_reset(self, case, mode):
        env = make_batch(case, NUM_ENVS, autoreset_mode=mode)
        for _ in range(2):
            with pytest.raises(errors.ResetNeededError) as caught:
                env.step(draw_actions(env, 1)[0])
        assert isinstance(caught.value, gym_error.ResetNeeded)
        twin = make_batch(case, NUM_ENVS, autoreset_mode=mode)
        assert_same(env.reset(seed=0), twin.reset(seed=0))
        assert_undisturbed(env, twin)

    def test_step_before_reset_of_the_single_form(self, case):
        env, batch = make_single(case), make_batch(case)
        for form in (env, env.unwrapped):
            with pytest.raises(gym_error.ResetNeeded):
                form.step(lowest_action(batch))

    def test_step_of_what_has_ended_moves_nobody(self, case):
        pair = [make_batch(case, NUM_ENVS, autoreset_mode=DISABLED) for _ in range(2)]
        for env in pair:
            env.reset(seed=0)
        env, twin = pair
        for row in draw_actions(env, limit_of(case)):
            _, _, terminations, truncations, _ = env.step(row)
            twin.step(row)
            if (terminations | truncations).any():
                break
        with pytest.raises(gym_error.ResetNeeded):
            env.step(draw_actions(env, 1)[0])
        # A bad action does not hide it, and neither is half done.
        with pytest.raises(gym_error.ResetNeeded):
            env.step([99] * NUM_ENVS)
        mask = terminations | truncations
        for batch in pair:
            batch.reset(options={"reset_mask": mask})
        assert_undisturbed(env, twin)

    def test_everything_is_refused_after_close(self, case):
        env = make_batch(case, NUM_ENVS, render_mode=frames_of(case))
        env.reset(seed=0)
        env.close()
        env.close()
        assert env.closed
        calls = [
            env.reset,
            env.render,
            lambda: env.step([lowest_action(env)] * NUM_ENVS),
            lambda: env.reset(seed=3, options={}),
        ]
        for call in calls:
            with pytest.raises(errors.ClosedError, match="closed") as caught:
                call()
            assert isinstance(caught.value, gym_error.ClosedEnvironmentError)

    def test_close_before_reset(self, case):
        env = make_batch(case)
        env.close()
        with pytest.raises(errors.ClosedError):
            env.reset()

    def test_render_before_reset(self, case):
        env = make_batch(case, render_mode=frames_of(case))
        with pytest.raises(gym_error.ResetNeeded):
            env.render()


# -------------------------------------------------------------- construction

REFUSED = [
    ("num_envs", [0, -1, 1.5, "4", None, True]),
    ("group_size", [0, -2, 3, 8, 1.0, None, True]),
    ("max_episode_steps", [0, -2, -100, 1.5, "9", True, False]),
    ("num_threads", [0, -1, 1.5, "2", True]),
    ("autoreset_mode", ["next_step", "nextstep", "", None, 0]),
    ("render_mode", ["rgb", "", 1, "depth_array"]),
    ("obs_mode", ["image", "", None]),
]
ARRAYS_ONLY = ("num_threads", "obs_mode")
VALUES = [
    pytest.param(case, name, value, id=f"{case}-{name}={value!r}")
    for case in ARRAY_AND_POOL
    for name, values in REFUSED
    for value in values
    if name not in ARRAYS_ONLY or case not in POOLS
]


class TestConstruction:
    @pytest.mark.parametrize(("case", "name", "value"), VALUES)
    def test_bad_value_is_refused_and_named(self, case, name, value):
        given = {"num_envs": NUM_ENVS, "max_episode_steps": LIMIT, name: value}
        with pytest.raises(errors.InvalidOptionError, match=name) as caught:
            gymnasium.make_vec(id_of(case), **given)
        assert isinstance(caught.value, ValueError)
        assert repr(value) in str(caught.value) or str(value) in str(caught.value)

    @pytest.mark.parametrize("case", PLAIN)
    @pytest.mark.parametrize("name", ["num_levls", "env_fns", "autoreset", "seed"])
    def test_unknown_keyword_is_refused_with_those_that_exist(self, case, name):
        with pytest.raises(errors.UnknownOptionError, match=name) as caught:
            gymnasium.make_vec(case, num_envs=2, **{name: 1})
        assert isinstance(caught.value, TypeError)
        listed = str(caught.value).split("exist: ")[1].split("; ")[0].split(", ")
        known = {"num_envs", "group_size", "copy", "render_mode"}
        known |= {"workers"} if is_pooled(case) else {"obs_mode"}
        assert known <= set(listed)
        assert listed == sorted(listed)

    @pytest.mark.parametrize("case", PLAIN)
    def test_single_env_refuses_the_vector_forms_keywords(self, case):
        with pytest.raises(errors.UnknownOptionError, match="group_size"):
            gymnasium.make(case, group_size=1)

    @pytest.mark.parametrize("case", PLAIN)
    @pytest.mark.parametrize("limit", [0, -2])
    def test_single_env_refuses_the_same_limits(self, case, limit):
        with pytest.raises(LIMIT_ERROR, match="max_episode_steps"):
            gymnasium.make(case, max_episode_steps=limit)

    @pytest.mark.parametrize("case", PLAIN)
    def test_integers_of_numpy_are_integers(self, case):
        env = gymnasium.make_vec(
            case, num_envs=np.int64(4), group_size=np.int32(2), max_episode_steps=3
        )
        assert (env.num_envs, env.group_size) == (4, 2)
        assert type(env.num_envs) is int


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


def test_failed_generation_leaves_a_running_batch_as_it_was(monkeypatch):
    for case in ("roll_vec/Sokoban-v0", "roll_vec/RandomFrozenLake-v0"):
        # Levels that were drawn ahead of time would be played without an error.
        env, twin = (make_batch(case, NUM_ENVS, prefetch=False) for _ in range(2))
        for batch in (env, twin):
            batch.reset(seed=0)
            play(batch, draw_actions(batch, 5))

        def fail(seeds):
            raise errors.LevelGenerationError("no level")

        with monkeypatch.context() as patch:
            patch.setattr(env.engine.level_provider, "generate", fail)
            for seed in (None, 5, [1, None, 2, None]):
                with pytest.raises(errors.LevelGenerationError):
                    env.reset(seed=seed)
        assert_undisturbed(env, twin)
