"""Episodes that begin in compiled code begin as others, in steps and in unrolls.

That unrolls equal as many steps is said for all kinds of batches by the contract; here
are levels in memory, blocks of environments, and families without a compiled unroll.
"""

import numpy as np
import pytest
from gymnasium.vector import AutoresetMode

import roll_vec
from roll_vec.errors import ResetNeededError
from roll_vec.stacked import engine as stacked_engine
from roll_vec.stacked.engine import StackedEngine
from roll_vec.stacked.levels import LevelEngine
from tests.conftest import JIT_OFF
from tests.contract.cases import DISABLED, MODES, NEXT_STEP, SAME_STEP, assert_same

SOKOBAN, LAKES = "roll_vec/Sokoban-v0", "roll_vec/RandomFrozenLake-v0"
ROOMS = ["#####\n#@$.#\n#####", "#####\n#.$@#\n#####", "#####\n#+$ #\n#####"]
MAPS = ["SFF\nFHG", "SHF\nFFG", "FSF\nHFG"]
FEW = {"size": 3, "num_levels": 3, "start_level": 2**32 - 5}
CASES = {
    "rooms of a user": (SOKOBAN, {"levels": ROOMS, "start_level": 1}),
    "maps of a user": (LAKES, {"levels": MAPS, "start_level": 1}),
    "few maps": (LAKES, FEW),
    "maps that are drawn now and then": (LAKES, {"size": 3, "num_levels": 90}),
    "rooms that are drawn now and then": (
        SOKOBAN,
        {"dim_room": (4, 5), "num_boxes": 1, "search_depth": 9, "num_levels": 20},
    ),
    "one lake": ("roll_vec/FrozenLake-v1", {"desc": MAPS[0].split(), "first": 0}),
}


def make_pair(case, num_envs, mode, **more):
    """Return two equal batches of short episodes that end at different times."""
    id, keywords = CASES[case]
    more = {"max_episode_steps": 7, "autoreset_mode": mode, **keywords, **more}
    if more.pop("first", 1):
        more["action_start"] = 1
    pair = [roll_vec.make_vec(id, num_envs, **more) for _ in range(2)]
    for env in pair:
        env.reset(seed=3)
        for part in range(3):
            _, _, terminations, truncations, _ = env.step(np.ones(num_envs, int))
            mask = terminations | truncations | (np.arange(num_envs) % 3 == part)
            env.reset(options={"reset_mask": mask})
    return pair


def draw_actions(env, num_steps):
    """Return random actions, "no valid action" among them."""
    first = env.single_action_space.start
    rng = np.random.default_rng(int(env.engine.elapsed_steps.sum()))
    return rng.integers(max(first - 1, 0), first + 4, (num_steps, env.num_envs))


def check_equal(env, twin, num_steps):
    """Compare an unroll with as many steps of a twin, and their states afterwards."""
    actions = draw_actions(env, num_steps)
    rollout = env.unroll(actions)
    for t, batch in enumerate(actions):
        *results, infos = twin.step(batch)
        for values, expected in zip(rollout[:4], results, strict=True):
            assert_same(values[t], expected, f"step {t}")
        for key in ("action_is_effective", "action_is_valid", "success", "prob"):
            if key in infos and "final_info" not in infos:
                assert_same(rollout.infos[key][t], infos[key], f"step {t}")
        if "final_obs" in rollout.infos:
            finals = twin.final_obs(results[0], infos)
            assert_same(rollout.infos["final_obs"][t], finals, f"step {t}")
    assert_same(env.engine.get_state().arrays, twin.engine.get_state().arrays)
    return rollout


@pytest.mark.parametrize("mode", [NEXT_STEP, SAME_STEP])
@pytest.mark.parametrize("case", CASES)
def test_unrolls_begin_the_levels_that_steps_begin(case, mode, monkeypatch):
    if JIT_OFF and case.startswith("rooms that"):
        pytest.skip("each room takes a second uncompiled")
    # Where levels have to be drawn, environments wait for each other every 16 steps.
    monkeypatch.setattr(stacked_engine, "STEPS_AT_ONCE", 1)
    env, twin = make_pair(case, 12, mode)
    for _ in range(2):
        rollout = check_equal(env, twin, 20 if JIT_OFF else 30)
        assert rollout.truncations.any()
        assert rollout.terminations.any()


@pytest.mark.skipif(JIT_OFF, reason="thousands of environments")
@pytest.mark.parametrize("case", ["rooms of a user", "maps of a user"])
def test_blocks_of_environments_make_no_difference(case):
    env, twin = make_pair(case, 4100, NEXT_STEP, num_threads=1)
    check_equal(env, twin, 20)


@pytest.mark.parametrize("mode", [NEXT_STEP, SAME_STEP])
def test_level_options_count_from_the_next_episode_on(mode):
    env, twin = make_pair("few maps", 6, mode)
    check_equal(env, twin, 5)
    for batch in (env, twin):
        batch.set_level_options(mask=np.arange(6) > 2, num_levels=2)
    check_equal(env, twin, 20)
    for batch in (env, twin):
        batch.set_level_options(num_levels=1)
    check_equal(env, twin, 20)


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("case", list(CASES)[:3])
def test_episodes_begin_in_one_call_as_one_by_one(case, mode, monkeypatch):
    env, other = make_pair(case, 6, mode)
    assert type(other.engine)._begin_rows is not LevelEngine._begin_rows
    monkeypatch.setattr(other.engine, "_begin_rows", lambda *_: False)
    calls = []
    begin_rows = env.engine._begin_rows
    monkeypatch.setattr(
        env.engine, "_begin_rows", lambda *args: calls.append(1) or begin_rows(*args)
    )
    for actions in draw_actions(env, 40):
        result = env.step(actions)
        assert_same(result, other.step(actions))
        ends = result[2] | result[3]
        if mode is DISABLED and ends.any():
            options = {"reset_mask": ends}
            assert_same(env.reset(options=options), other.reset(options=options))
        assert_same(env.engine.get_state().arrays, other.engine.get_state().arrays)
    assert calls or mode is DISABLED


def test_sets_that_are_not_all_in_memory_are_left_to_the_provider():
    env = roll_vec.make_vec(LAKES, 2, size=3, num_levels=40, max_episode_steps=1)
    rows = np.arange(2)
    env.reset(seed=0)
    assert not env.engine._begin_in_memory(rows)
    # Forty seeds, forty levels.
    for seed in range(2, 40, 2):
        env.reset(seed=seed)
    numbers = env.engine.episodes.numbers.copy()
    assert env.engine._begin_in_memory(rows)
    assert (env.engine.episodes.numbers == numbers + 1).all()
    env.set_level_options(mask=np.array([True, False]), num_levels=2)
    assert not env.engine._begin_in_memory(rows)


@pytest.mark.skipif(JIT_OFF, reason="nothing is compiled")
@pytest.mark.parametrize("mode", list(AutoresetMode))
@pytest.mark.parametrize("case", list(CASES)[2:])
def test_families_without_a_compiled_unroll_get_the_same(case, mode, monkeypatch):
    compiled, fallback = make_pair(case, 9, mode, obs_mode="planes")
    engine = fallback.engine
    for name in ("_unroll", "_unroll_rows", "_unroll_range"):
        method = getattr(StackedEngine, name).__get__(engine)
        monkeypatch.setattr(engine, name, method, raising=False)
    monkeypatch.setattr(stacked_engine, "STEPS_AT_ONCE", 1)
    if mode is DISABLED:
        # Ended environments are refused at the same step.
        messages = set()
        for env in (compiled, fallback):
            with pytest.raises(ResetNeededError) as error:
                env.unroll(np.ones((9, 9), np.int64))
            messages.add(str(error.value))
        assert len(messages) == 1
        return
    for _ in range(2):
        actions = draw_actions(compiled, 30)
        rollout = fallback.unroll(actions)
        assert_same(tuple(rollout), tuple(compiled.unroll(actions)))
        assert_same(fallback.successes, compiled.successes)
        assert (rollout.terminations | rollout.truncations).any()
