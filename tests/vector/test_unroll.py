"""Many steps in one call: equal to as many calls of `step`, and all or nothing."""

import copy

import numpy as np
import pytest

from roll_vec.errors import (
    InvalidActionError,
    InvalidOptionError,
    LevelGenerationError,
    PendingResultsError,
    ResetNeededError,
)
from roll_vec.unrolling import Rollout
from tests.conftest import JIT_OFF
from tests.vector.cases import (
    CASES,
    DISABLED,
    IDS,
    LIMIT,
    MODES,
    NEXT_STEP,
    SAME_STEP,
    assert_same,
    assert_undisturbed,
    draw_actions,
    info_of,
    is_pooled,
    lowest_action,
    make_batch,
    own_keywords,
)

N, T = 4, 40
ARRAYS = tuple(case for case in CASES if not is_pooled(case))
OBS_MODES = ("grid", "position", "planes", "tiny_rgb", "rgb", "text")
if JIT_OFF:
    # The views have tests of their own, and take minutes here.
    OBS_MODES = OBS_MODES[:2]


def make_pair(case, **more):
    """Return two batches at the same point in the middle of episodes."""
    pair = [make_batch(case, N, **more) for _ in range(2)]
    for env in pair:
        env.reset(seed=2)
        env.step([lowest_action(env)] * N)
    return pair


def play_out(env, actions):
    """Return actions and results of steps until the first that ends something."""
    results = []
    for batch in actions:
        results.append(copy.deepcopy(env.step(batch)))
        if env.autoreset_mode is DISABLED and (results[-1][2] | results[-1][3]).any():
            break
    return results


def infos_at(infos, t):
    """Return the layout that one step of a rollout's infos stands for."""
    layout = {}
    for key, values in infos.items():
        if not key.startswith("_"):
            own = infos_at(values, t) if isinstance(values, dict) else values[t]
            mask = infos["_" + key][t]
            if mask.any():
                layout[key], layout["_" + key] = own, mask
    return layout


def assert_equal_steps(env, rollout, results):
    """Compare a rollout with what as many steps returned."""
    observations, *numbers, infos = rollout
    for t, result in enumerate(results):
        assert_same(observations[t], result[0], f"observations of step {t}")
        for values, expected in zip(numbers, result[1:4], strict=True):
            assert_same(values[t], expected, f"step {t}")
        own, expected = infos_at(infos, t), dict(result[4])
        finals = env.unwrapped.final_obs(result[0], expected)
        if env.autoreset_mode is SAME_STEP:
            assert_same(infos["final_obs"][t], finals, f"final_obs of step {t}")
        for layout in (own, expected):
            layout.pop("final_obs", None)
            layout.pop("_final_obs", None)
        # Dtypes may be wider where steps differ in them: what a row has is the same.
        assert own.keys() == expected.keys()
        for row in range(env.num_envs):
            assert_same(info_of(own, row), info_of(expected, row), f"info {t}, {row}")
        if not is_pooled_env(env):
            assert_same(own, expected, f"infos of step {t}")
    assert len(observations) == len(numbers[0]) == len(results)


def is_pooled_env(env):
    """Return whether a batch is a pool."""
    return hasattr(env.unwrapped, "fault_counts")


def check_equal(env, twin, actions):
    """Compare a rollout with steps of a twin, and how both go on."""
    results = play_out(twin, actions)
    rollout = env.unroll(actions[: len(results)])
    assert type(rollout) is Rollout
    assert_equal_steps(env, rollout, results)
    assert_same(env.successes, twin.successes)
    assert env.get_attr("num_env_steps") == twin.get_attr("num_env_steps")
    if env.autoreset_mode is DISABLED:
        finished = results[-1][2] | results[-1][3]
        for batch in (env, twin):
            batch.reset(options={"reset_mask": finished} if finished.any() else None)
    return rollout


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("case", CASES)
def test_unroll_equals_as_many_steps(case, mode):
    env, twin = make_pair(case, autoreset_mode=mode)
    actions = draw_actions(env, 2 * T)
    # The second call begins where episodes have just ended, or go on.
    check_equal(env, twin, actions[:T])
    check_equal(env, twin, actions[T:])
    assert_undisturbed(env, twin)


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("obs_mode", OBS_MODES)
@pytest.mark.parametrize("case", IDS)
def test_unroll_equals_as_many_steps_in_every_view(case, obs_mode, mode):
    if obs_mode == "position" and "obs_mode" not in own_keywords(case):
        pytest.skip("it has no positions")
    if obs_mode == "position" and own_keywords(case)["obs_mode"] != "position":
        pytest.skip("it has no positions")
    more = {"group_size": 2, "group_id_info": True, "copy": False}
    env, twin = make_pair(case, autoreset_mode=mode, obs_mode=obs_mode, **more)
    check_equal(env, twin, draw_actions(env, T))
    assert_undisturbed(env, twin)


@pytest.mark.skipif(JIT_OFF, reason="wrap-around is silenced in one thread alone")
@pytest.mark.parametrize("threads", [1, 3])
@pytest.mark.parametrize("mode", [NEXT_STEP, SAME_STEP])
@pytest.mark.parametrize("case", IDS)
def test_threads_and_levels_make_no_difference(case, mode, threads):
    more = {"num_levels": 6} if "num_levels" in own_keywords(case) else {}
    pair = [
        make_batch(case, 40, autoreset_mode=mode, num_threads=number, **more)
        for number in (threads, 1)
    ]
    for env in pair:
        env.reset(seed=0)
    # So many steps that 40 rows are split.
    actions = draw_actions(pair[0], 600)[:, :40]
    env, twin = pair
    assert_same(tuple(env.unroll(actions)), tuple(_parts(twin, actions)))


def _parts(env, actions):
    """Return a rollout of several calls, joined."""
    parts = [env.unroll(actions[at : at + 75]) for at in range(0, 600, 75)]
    joined = [np.concatenate(column) for column in list(zip(*parts, strict=True))[:4]]
    keys = {key for part in parts for key in part.infos} - {"final_info"}
    infos = {key: np.concatenate([p.infos[key] for p in parts]) for key in keys}
    if "_final_info" in keys:
        finals = [part.infos["final_info"] for part in parts]
        infos["final_info"] = {
            key: np.concatenate([final[key] for final in finals]) for key in finals[0]
        }
    return *joined, infos


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("case", ["roll_vec/FrozenLake-v1", "roll_vec/Sokoban-v0 text"])
@pytest.mark.parametrize("copies", [True, False])
def test_a_policy_sees_what_the_step_before_returned(case, mode, copies):
    env, twin = make_pair(case, autoreset_mode=mode, copy=copies)
    steps = 3 if mode is DISABLED else T
    actions = list(draw_actions(env, steps))
    if mode is DISABLED:
        actions = [[lowest_action(env)] * N] * steps
    current = copy.deepcopy(env.step([lowest_action(env)] * N)[0])
    twin.step([lowest_action(env)] * N)
    heard = []

    def policy(observations):
        heard.append(copy.deepcopy(observations))
        return actions[len(heard) - 1]

    rollout = env.unroll(policy, steps)
    assert_same(tuple(rollout), tuple(twin.unroll(actions)))
    expected = [current, *rollout.observations[:-1]]
    assert_same(heard, expected)
    assert_undisturbed(env, twin)


@pytest.mark.parametrize("mode", [NEXT_STEP, SAME_STEP])
@pytest.mark.parametrize(
    "case", [*IDS, "roll_vec/Sokoban-v0 text", "tests_vector/Lamps-v0"]
)
def test_out_is_written_into_and_equal(case, mode):
    env, twin = make_pair(case, autoreset_mode=mode)
    actions = draw_actions(env, 2 * T)
    first = env.unroll(actions[:T])
    again = env.unroll(actions[T:], out=first)
    twin.unroll(actions[:T])
    assert_same(tuple(again), tuple(twin.unroll(actions[T:])))
    for given, written in zip(first[:4], again[:4], strict=True):
        assert (
            written is given or np.shares_memory(written, given) or case[-4:] == "text"
        )
    if mode is SAME_STEP and isinstance(again.observations, np.ndarray):
        assert np.shares_memory(again.infos["final_obs"], first.infos["final_obs"])
    assert_undisturbed(env, twin)


def test_out_that_does_not_fit_is_refused_and_nothing_moves():
    env, twin = make_pair("roll_vec/Sokoban-v0")
    actions = draw_actions(env, T)
    out = copy.deepcopy(twin).unroll(actions)
    wrong = {
        "rewards": out.rewards.astype(np.float32),
        "terminations": out.terminations[1:],
        "truncations": out.truncations[:, ::-1],
        "observations": None,
    }
    for name, value in wrong.items():
        with pytest.raises(InvalidOptionError, match=rf"out\.{name}: expected .* got"):
            env.unroll(actions, out=out._replace(**{name: value}))
    with pytest.raises(InvalidOptionError, match="out: expected a Rollout"):
        env.unroll(actions, out=out.rewards)
    with pytest.raises(InvalidOptionError, match=r"out\.observations: .*\(40,.*\(39,"):
        env.unroll(actions, out=out._replace(observations=out.observations[1:]))
    assert_undisturbed(env, twin)


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("case", ARRAYS)
def test_nothing_is_shared_with_the_environment(case, mode):
    env, twin = make_pair(case, autoreset_mode=mode)
    for batch in (env, twin):
        rollout = batch.unroll(draw_actions(batch, 1))
        if batch is env:
            scribble(tuple(rollout))
    if mode is not DISABLED:
        assert_undisturbed(env, twin)
    assert_same(env.successes, twin.successes)


def scribble(value):
    """Overwrite all arrays in a value."""
    if isinstance(value, dict):
        value = tuple(value.values())
    if isinstance(value, tuple):
        for part in value:
            scribble(part)
    elif isinstance(value, np.ndarray):
        value[...] = None if value.dtype == object else 1


# ------------------------------------------------------------------- errors


@pytest.mark.parametrize("case", CASES)
def test_disabled_names_the_row_and_the_step(case):
    env, twin, guide = (make_batch(case, N, autoreset_mode=DISABLED) for _ in range(3))
    for batch in (env, twin, guide):
        batch.reset(seed=2)
    actions = draw_actions(env, T)
    results = play_out(guide, actions)
    rows = np.flatnonzero(results[-1][2] | results[-1][3])
    told = rf"^step {len(results)}: environments \[{rows[0]}.*reset_mask"
    with pytest.raises(ResetNeededError, match=told):
        env.unroll(actions)
    if not is_pooled(case):
        assert env.get_attr("num_env_steps") == twin.get_attr("num_env_steps")
        assert_same(env.unroll(actions[:1]).infos, twin.unroll(actions[:1]).infos)
        assert_same(env.successes, twin.successes)
    for batch in (env, twin)[: 1 + (not is_pooled(case))]:
        batch.reset()
    if not is_pooled(case):
        assert_undisturbed(env, twin)
    # And what has ended before the call.
    guide_actions = actions[:1]
    with pytest.raises(ResetNeededError, match=rf"^step 0: environments \[{rows[0]}"):
        guide.unroll(guide_actions)


@pytest.mark.parametrize("mode", [NEXT_STEP, SAME_STEP])
@pytest.mark.parametrize("case", ARRAYS)
def test_an_invalid_action_moves_nothing(case, mode):
    env, twin = make_pair(case, autoreset_mode=mode)
    plan = draw_actions(env, T)
    # Past the first ends, at a step that resets nothing.
    results = play_out(copy.deepcopy(twin), plan)
    ended = [result[2] | result[3] for result in results]
    step = next(t for t in range(15, T) if not ended[t - 1].any())
    plan[step, 2] = 77
    with pytest.raises(InvalidActionError, match=rf"^step {step}: .*77.*\[2\]"):
        env.unroll(plan)
    assert_undisturbed(env, twin)


def test_an_invalid_action_that_is_ignored_is_no_error():
    env, twin = make_pair("roll_vec/FrozenLake-v1")
    actions = draw_actions(env, T)
    rollout = copy.deepcopy(twin).unroll(actions)
    ended = rollout.terminations | rollout.truncations
    ignored = np.concatenate([np.zeros((1, N), np.bool_), ended[:-1]])
    assert ignored.any()
    assert_same(
        tuple(env.unroll(np.where(ignored, 99, actions))), tuple(twin.unroll(actions))
    )


@pytest.mark.parametrize("mode", [NEXT_STEP, SAME_STEP])
@pytest.mark.parametrize(
    "case", ["roll_vec/Sokoban-v0", "roll_vec/RandomFrozenLake-v0"]
)
def test_a_level_that_cannot_be_had_moves_nothing(case, mode):
    env, twin = make_pair(case, autoreset_mode=mode)
    source = env.unwrapped.engine.source
    generate, calls = source.generate, []

    def fail(seeds):
        calls.append(seeds)
        if len(calls) < 2:
            return generate(seeds)
        message = "no level"
        raise LevelGenerationError(message)

    source.generate = fail
    with pytest.raises(LevelGenerationError, match="no level"):
        env.unroll(draw_actions(env, 3 * LIMIT))
    source.generate = generate
    assert len(calls) == 2
    assert_undisturbed(env, twin)


@pytest.mark.parametrize("copies", [True, False])
@pytest.mark.parametrize("case", ["roll_vec/FrozenLake-v1", "roll_vec/Sokoban-v0 text"])
def test_a_policy_that_raises_moves_nothing(case, copies):
    env, twin = make_pair(case, copy=copies)
    kept = env.reset(seed=5)[0]
    twin.reset(seed=5)
    before = copy.deepcopy(kept)
    plan = iter(draw_actions(env, 20))
    with pytest.raises(StopIteration):
        env.unroll(lambda observations: next(plan), 30)
    assert_same(kept, before)
    assert_undisturbed(env, twin)


@pytest.mark.parametrize(
    ("actions", "num_steps", "error", "told"),
    [
        (np.zeros((0, N), int), None, InvalidActionError, "actions: expected those of"),
        (3, None, InvalidActionError, r"a \(T, num_envs\) array .* got 3"),
        ("up", None, InvalidActionError, "got 'up'"),
        (np.zeros(N, int), None, InvalidActionError, r"^step 0: .*shape \(\)"),
        (np.zeros((2, N + 1), int), None, InvalidActionError, r"^step 0: .*\(5,\)"),
        (np.zeros((2, N)), None, InvalidActionError, "^step 0: .*integer dtype.*float"),
        ([[0] * N, [0]], None, InvalidActionError, "^step 1: "),
        (np.zeros((2, N), int), 3, InvalidOptionError, "num_steps: expected None or 2"),
        (lambda seen: seen, None, InvalidOptionError, "num_steps: .*positive.*None"),
        (lambda seen: seen, 0, InvalidOptionError, "num_steps: .*positive.*0"),
    ],
)
def test_what_is_no_plan_is_refused_and_nothing_moves(actions, num_steps, error, told):
    env, twin = make_pair("roll_vec/FrozenLake-v1")
    with pytest.raises(error, match=told):
        env.unroll(actions, num_steps)
    assert_undisturbed(env, twin)


def test_it_has_to_be_reset_and_open():
    env = make_batch("roll_vec/FrozenLake-v1", N)
    with pytest.raises(ResetNeededError, match="before the first step"):
        env.unroll(np.zeros((2, N), int))


def test_a_pool_refuses_while_results_are_outstanding():
    env = make_batch("tests_vector/Guess-v0", N)
    env.reset(seed=0)
    env.send(["1"], [2])
    with pytest.raises(PendingResultsError, match="unroll"):
        env.unroll(lambda observations: ["1"] * N, 2)
    env.recv()


def test_integers_of_any_kind_are_actions():
    env, twin = make_pair("roll_vec/Sokoban-v0")
    actions = draw_actions(env, T)
    frozen = actions.copy()
    frozen.flags.writeable = False
    kinds = (frozen, actions.tolist(), actions.astype(">i2"), actions[:, ::-1][:, ::-1])
    for given in kinds:
        assert_same(tuple(env.unroll(given)), tuple(twin.unroll(actions)))


def test_infos_that_differ_from_step_to_step_lose_nothing():
    from roll_vec.stacking import stack_infos_in_time

    yes, no = np.array([True, True]), np.array([True, False])
    steps = [
        {"a": np.array([1, 2]), "_a": yes, "b": np.array([1, 0]), "_b": no},
        {"a": np.array([0.5, 0]), "_a": no, "b": np.array(["x", None]), "_b": no},
        {"c": {"d": np.array([[1, 2], [0, 0]]), "_d": no}, "_c": no},
        {"c": np.array(["x", None]), "_c": no, "b": np.array([2**60, 3]), "_b": yes},
        {"b": np.array([0.5, 0.0]), "_b": no},
    ]
    stacked = stack_infos_in_time(steps, 2)
    assert_same(stacked["a"], np.array([[1, 2], [0.5, 0], [0, 0], [0, 0], [0, 0]]))
    assert_same(stacked["_a"][:3], np.array([[1, 1], [1, 0], [0, 0]], np.bool_))
    rows = [[1, None], ["x", None], [None, None], [2**60, 3], [0.5, None]]
    assert stacked["b"].tolist() == rows
    (d,) = stacked["c"][2, 0].values()
    assert d.tolist() == [1, 2]
    assert stacked["c"][3].tolist() == ["x", None]
