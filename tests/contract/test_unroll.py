"""Many steps in one call: equal to as many calls of `step`."""

import copy

import numpy as np
import pytest

from roll_vec.envs.frozen_lake import engine as frozen_lake_engine
from roll_vec.envs.sokoban import engine as sokoban_engine
from roll_vec.stacked import engine as stacked_engine
from roll_vec.stacked.grid_observations import OBS_MODES
from roll_vec.vector.rollout import Rollout
from tests.conftest import JIT_OFF
from tests.contract.cases import (
    ARRAY_IDS,
    CASES,
    DISABLED,
    MODES,
    NEXT_STEP,
    SAME_STEP,
    assert_same,
    assert_undisturbed,
    draw_actions,
    lowest_action,
    make_batch,
    single_info,
    single_keywords,
)
from tests.contract.unrolls import ARRAYS, N, T, make_pair, play_out
from tests.thinning import one_in

# Every mode has tests of its own, and they take minutes here.
VIEWS = ("grid", "position") if JIT_OFF else ("position", *OBS_MODES)


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
            assert_same(
                single_info(own, row), single_info(expected, row), f"info {t}, {row}"
            )
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


@one_in(3, "mode, obs_mode, case", MODES, VIEWS, ARRAY_IDS)
def test_unroll_equals_as_many_steps_in_every_view(case, obs_mode, mode):
    if obs_mode == "position" and "obs_mode" not in single_keywords(case):
        pytest.skip("it has no positions")
    if obs_mode == "position" and single_keywords(case)["obs_mode"] != "position":
        pytest.skip("it has no positions")
    more = {"group_size": 2, "group_id_info": True, "copy": False}
    env, twin = make_pair(case, autoreset_mode=mode, obs_mode=obs_mode, **more)
    check_equal(env, twin, draw_actions(env, T))
    assert_undisturbed(env, twin)


@pytest.mark.skipif(JIT_OFF, reason="wrap-around is silenced in one thread alone")
@pytest.mark.parametrize("threads", [1, 3])
@pytest.mark.parametrize("mode", [NEXT_STEP, SAME_STEP])
@pytest.mark.parametrize("case", ARRAY_IDS)
def test_threads_blocks_and_levels_make_no_difference(case, mode, threads, monkeypatch):
    more = {"num_levels": 6} if "num_levels" in single_keywords(case) else {}
    pair = [
        make_batch(case, 40, autoreset_mode=mode, num_threads=number, **more)
        for number in (threads, 1)
    ]
    for env in pair:
        env.reset(seed=0)
    actions = draw_actions(pair[0], 600)[:, :40]
    env, twin = pair
    expected = tuple(_parts(twin, actions))
    # Few rows are split, and the next episodes are begun every 16 steps.
    for module in (frozen_lake_engine, sokoban_engine):
        monkeypatch.setattr(module, "STEP_ROWS_PER_THREAD", 600)
    monkeypatch.setattr(stacked_engine, "STEPS_AT_ONCE", 1)
    assert_same(tuple(env.unroll(actions)), expected)


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


@pytest.mark.parametrize("copies", [True, False])
@pytest.mark.parametrize("case", ["roll_vec/Sokoban-v0", "tests_vector/Lamps-v0"])
def test_a_policy_may_write_into_what_it_sees(case, copies):
    env, twin = make_pair(case, copy=copies)
    actions = draw_actions(env, T)
    plan = iter(actions)

    def policy(observations):
        scribble(observations)
        return next(plan)

    assert_same(tuple(env.unroll(policy, T)), tuple(twin.unroll(actions)))
    assert_undisturbed(env, twin)


@pytest.mark.parametrize("mode", [NEXT_STEP, SAME_STEP])
@pytest.mark.parametrize(
    "case", [*ARRAY_IDS, "roll_vec/Sokoban-v0 text", "tests_vector/Lamps-v0"]
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


def test_integers_of_any_kind_are_actions():
    env, twin = make_pair("roll_vec/Sokoban-v0")
    actions = draw_actions(env, T)
    frozen = actions.copy()
    frozen.flags.writeable = False
    kinds = (frozen, actions.tolist(), actions.astype(">i2"), actions[:, ::-1][:, ::-1])
    for given in kinds:
        assert_same(tuple(env.unroll(given)), tuple(twin.unroll(actions)))
