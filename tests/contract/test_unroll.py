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
    ALL_CASES,
    ARRAY_CASES,
    ARRAY_IDS,
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
from tests.thinning import one_in

N, T = 4, 40
SOKOBAN, LAKE, LAKES, LAMPS = (
    "roll_vec/Sokoban-v0",
    "roll_vec/FrozenLake-v1",
    "roll_vec/RandomFrozenLake-v0",
    "tests_vector/Lamps-v0",
)
ROOMS = ["#####\n#@$.#\n#####", "#####\n#.$@#\n#####", "#####\n#+$ #\n#####"]
MAPS = ["SFF\nFHG", "SHF\nFFG", "FSF\nHFG"]
ALL_INFOS = {
    "action_mask": True,
    "seed_info": True,
    "level_info": True,
    "difficulty_info": True,
    "oracle_return_info": True,
    "episode_info": True,
}
DEAD_ENDS = {"deadlock": True, "terminate_on_deadlock": True}
VARIANTS = {
    **{case: (case, {}) for case in ALL_CASES},
    "episodes of objects": ("tests_vector/Guess-v0", {"episode_info": True}),
    "rooms with all infos": (SOKOBAN, ALL_INFOS),
    "lakes with all infos": (LAKES, ALL_INFOS),
    "masks of a lake": (LAKE, {"action_mask": True, "episode_info": True}),
    "masks and turns": (
        f"{SOKOBAN} text",
        {"action_mask": True, "action_separator": "|", **DEAD_ENDS},
    ),
    "dead ends": (SOKOBAN, DEAD_ENDS),
    "rooms of a user": (
        SOKOBAN,
        {"levels": ROOMS, "dim_room": (3, 5), "num_boxes": 3},
    ),
    "maps of a user": (LAKES, {"levels": MAPS, "start_level": 1}),
    "few rooms": (SOKOBAN, {"num_levels": 3, "start_level": 5}),
    "few maps": (LAKES, {"size": 3, "num_levels": 3}),
    "maps that are drawn now and then": (LAKES, {"size": 3, "num_levels": 90}),
    "rooms that are not drawn ahead": (SOKOBAN, {"prefetch": False}),
    "maps that are not drawn ahead": (LAKES, {"prefetch": False}),
    "no limit but that of the rooms": (
        SOKOBAN,
        {"max_steps": 7, "max_episode_steps": -1},
    ),
    "no limit but that of the lakes": (
        LAKES,
        {"max_steps": 4, "max_episode_steps": -1, "is_slippery": False},
    ),
    "episodes of one step": (SOKOBAN, {"max_episode_steps": 1}),
    "rewards and chances": (
        LAKE,
        {"success_rate": 0.9, "reward_schedule": (5, -1, 0.1)},
    ),
}
OTHER_VIEWS = ("grid", "position") if JIT_OFF else ("position", *OBS_MODES)
VIEWS = {
    f"{id} {obs_mode}": (id, obs_mode)
    for id in ARRAY_IDS
    for obs_mode in OTHER_VIEWS
    if obs_mode != "position" or single_keywords(id)["obs_mode"] == "position"
}


def make_pair(case, **more):
    """Return two batches at the same point in the middle of episodes."""
    pair = [make_batch(case, N, **more) for _ in range(2)]
    for env in pair:
        env.reset(seed=2)
        env.step([lowest_action(env)] * N)
        if env.autoreset_mode is DISABLED and more.get("max_episode_steps") == 1:
            env.reset()
        env.reset(options={"reset_mask": np.arange(N) == 1})
    return pair


def play_out(env, actions):
    """Return results of steps until the first that ends something, if that matters."""
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
    is_pool = hasattr(env.unwrapped, "fault_counts")
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
        if not is_pool:
            assert_same(own, expected, f"infos of step {t}")
    assert len(observations) == len(numbers[0]) == len(results)


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


def check_rounds(env, twin):
    """Compare rollouts that begin where episodes have just ended, or go on."""
    # In DISABLED mode a rollout ends at the first end.
    is_disabled = env.autoreset_mode is DISABLED
    size = T // 4 if is_disabled else T // 2
    actions = draw_actions(env, 2 * T)
    ends = 0
    for start in range(0, len(actions), size):
        rollout = check_equal(env, twin, actions[start : start + size])
        ends += (rollout.terminations | rollout.truncations).sum()
    assert ends > (0 if is_disabled else 3)
    assert_undisturbed(env, twin)


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("variant", VARIANTS)
def test_unroll_equals_as_many_steps(variant, mode, monkeypatch):
    # Where levels have to be drawn, environments wait for each other every 16 steps.
    monkeypatch.setattr(stacked_engine, "STEPS_AT_ONCE", 1)
    case, more = VARIANTS[variant]
    check_rounds(*make_pair(case, autoreset_mode=mode, **more))


@one_in(3, "mode, view", MODES, VIEWS)
def test_unroll_equals_as_many_steps_in_every_view(view, mode):
    case, obs_mode = view
    more = {"group_size": 2, "group_id_info": True, "copy": False}
    check_rounds(*make_pair(case, autoreset_mode=mode, obs_mode=obs_mode, **more))


@pytest.mark.parametrize("mode", [NEXT_STEP, SAME_STEP])
def test_level_options_count_from_the_next_episode_on(mode):
    env, twin = make_pair(LAKES, autoreset_mode=mode, size=3, num_levels=3)
    for options in ({"mask": np.arange(N) > 1, "num_levels": 2}, {"num_levels": 1}):
        for batch in (env, twin):
            batch.set_level_options(**options)
        check_equal(env, twin, draw_actions(env, T // 2))


@pytest.mark.skipif(JIT_OFF, reason="wrap-around is silenced in one thread alone")
@pytest.mark.parametrize("threads", [1, 3])
@pytest.mark.parametrize("mode", [NEXT_STEP, SAME_STEP])
@pytest.mark.parametrize("case", ARRAY_IDS)
def test_threads_blocks_and_levels_make_no_difference(case, mode, threads, monkeypatch):
    more = {"num_levels": 6} if "num_levels" in single_keywords(case) else {}
    env, twin = (
        make_batch(case, 40, autoreset_mode=mode, num_threads=number, **more)
        for number in (threads, 1)
    )
    for batch in (env, twin):
        batch.reset(seed=0)
    actions = draw_actions(env, 300)
    expected = [copy.deepcopy(twin.step(batch)) for batch in actions]
    # Few rows are split, and the next episodes are begun every 16 steps.
    for module in (frozen_lake_engine, sokoban_engine):
        monkeypatch.setattr(module, "STEP_ROWS_PER_THREAD", 300)
    monkeypatch.setattr(stacked_engine, "STEPS_AT_ONCE", 1)
    assert_equal_steps(env, env.unroll(actions), expected)


@pytest.mark.skipif(JIT_OFF, reason="thousands of environments")
@pytest.mark.parametrize("mode", [NEXT_STEP, SAME_STEP])
@pytest.mark.parametrize("variant", ["rooms of a user", "maps of a user"])
def test_blocks_of_environments_make_no_difference(variant, mode):
    case, more = VARIANTS[variant]
    more = {"autoreset_mode": mode, "num_threads": 1, **more}
    env, twin = (make_batch(case, 4100, **more) for _ in range(2))
    for batch in (env, twin):
        batch.reset(seed=3)
    actions = draw_actions(env, 20)
    rollout = env.unroll(actions)
    for t, batch in enumerate(actions):
        for values, expected in zip(rollout[:4], twin.step(batch)[:4], strict=True):
            assert_same(values[t], expected)
    assert env.get_state() == twin.get_state()


# ------------------------------------------------------------- policies, memory


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("case", [LAKE, f"{SOKOBAN} text", LAMPS])
@pytest.mark.parametrize("copies", [True, False])
def test_a_policy_sees_what_the_step_before_returned_and_may_overwrite_it(
    case, mode, copies
):
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
        scribble(observations)
        return actions[len(heard) - 1]

    rollout = env.unroll(policy, steps)
    assert_same(tuple(rollout), tuple(twin.unroll(actions)))
    assert_same(heard, [current, *rollout.observations[:-1]])
    assert_undisturbed(env, twin)


@pytest.mark.parametrize("mode", [NEXT_STEP, SAME_STEP])
@pytest.mark.parametrize("case", [*ARRAY_IDS, f"{SOKOBAN} text", LAMPS])
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
@pytest.mark.parametrize("case", ARRAY_CASES)
def test_nothing_is_shared_with_the_environment(case, mode):
    env, twin = make_pair(case, autoreset_mode=mode)
    for batch in (env, twin):
        rollout = batch.unroll(draw_actions(batch, 1))
        if batch is env:
            scribble(tuple(rollout))
    assert_same(env.successes, twin.successes)
    assert env.get_state() == twin.get_state()


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
    env, twin = make_pair(SOKOBAN)
    actions = draw_actions(env, T)
    frozen = actions.copy()
    frozen.flags.writeable = False
    kinds = (frozen, actions.tolist(), actions.astype(">i2"), actions[:, ::-1][:, ::-1])
    for given in kinds:
        assert_same(tuple(env.unroll(given)), tuple(twin.unroll(actions)))
