"""The three autoreset modes: what each returns, and that they play the same games."""

import gymnasium
import numpy as np
import pytest
from gymnasium.vector import AutoresetMode

from roll_vec.errors import (
    InvalidOptionError,
    LevelGenerationError,
    ResetNeededError,
)
from tests.conftest import JIT_OFF
from tests.contract.cases import (
    ARRAY_IDS,
    CASES,
    DISABLED,
    LIMIT,
    MODES,
    NEXT_STEP,
    SAME_STEP,
    assert_same,
    draw_actions,
    limit_of,
    make_batch,
    rows_at,
    single_info,
)

NUM_ENVS = 5


def plain(observation):
    """Return an observation that can be compared by ``==``."""
    return observation if isinstance(observation, str) else observation.tolist()


def episodes_of(case, mode, steps, **more):
    """Return each environment's episodes as lists of what a step gave.

    The action is a function of the environment, its episode and the step in it.
    """
    env = make_batch(case, NUM_ENVS, autoreset_mode=mode, **more)
    table = draw_actions(env, 64, seed=4)
    observations, _ = env.reset(seed=9)
    clock = np.zeros((2, NUM_ENVS), np.int64)  # episode, step
    open_episodes = [[plain(observations[i])] for i in range(NUM_ENVS)]
    closed = [[] for _ in range(NUM_ENVS)]
    pending = np.zeros(NUM_ENVS, np.bool_)
    for _ in range(steps):
        if mode is DISABLED and pending.any():
            observations, _ = env.reset(options={"reset_mask": pending})
            for i in np.flatnonzero(pending):
                open_episodes[i] = [plain(observations[i])]
            pending[:] = False
        row = table[(clock[0] * 7 + clock[1]) % 64, np.arange(NUM_ENVS)]
        observations, rewards, terminations, truncations, infos = env.step(row)
        finished = terminations | truncations
        finals = env.final_obs(observations, infos)
        for i in range(NUM_ENVS):
            if mode is NEXT_STEP and pending[i]:
                open_episodes[i] = [plain(observations[i])]
                continue
            facts = (rewards[i], terminations[i], truncations[i])
            open_episodes[i].append((plain(finals[i]), *map(float, facts)))
            clock[1, i] += 1
            if finished[i]:
                closed[i].append(open_episodes[i])
                open_episodes[i] = [plain(observations[i])]
                clock[:, i] = clock[0, i] + 1, 0
        pending = finished
    env.close()
    return closed


@pytest.mark.parametrize("case", CASES)
def test_modes_live_the_same_episodes(case):
    first, *others = (
        episodes_of(case, mode, 100 if JIT_OFF else 400) for mode in MODES
    )
    for other in others:
        for one, two in zip(first, other, strict=True):
            common = min(len(one), len(two))
            assert common > 1
            assert one[:common] == two[:common]


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("case", CASES)
def test_every_episode_ends_by_the_limit_and_not_before(case, mode):
    ends = set()
    for episodes in episodes_of(case, mode, 100 if JIT_OFF else 400):
        for _, *steps in episodes:
            assert len(steps) <= limit_of(case)
            *_, terminated, truncated = steps[-1]
            assert truncated == (len(steps) == limit_of(case))
            assert not any(step[2] or step[3] for step in steps[:-1])
            ends.add((terminated, truncated))
    assert len(ends) > 1


def test_end_by_the_rules_on_the_limits_step_has_both_flags():
    # Down, down, right, right, down, right: the goal of the 4 x 4 map in six steps.
    way = [1, 1, 2, 2, 1, 2]
    for mode in MODES:
        env = gymnasium.make_vec(
            "roll_vec/FrozenLake-v1",
            num_envs=2,
            is_slippery=False,
            max_episode_steps=6,
            autoreset_mode=mode,
        )
        env.reset(seed=0)
        for action in way:
            # The other one walks against the wall.
            _, rewards, terminations, truncations, _ = env.step([action, 0])
        assert rewards.tolist() == [1.0, 0.0]
        assert terminations.tolist() == [True, False]
        assert truncations.tolist() == [True, True]
        assert env.successes.tolist() == [True, False]


def step_until_some_end(env, seed=0):
    """Return the actions and the result of the first step that ends some, not all."""
    for row in draw_actions(env, 200, seed):
        result = env.step(row)
        finished = result[2] | result[3]
        if finished.any() and not finished.all():
            return result
        if finished.all() and env.autoreset_mode is DISABLED:
            env.reset(options={"reset_mask": finished})
    pytest.fail("no such step within 200")


@pytest.mark.parametrize("case", CASES)
def test_next_step_resets_at_the_next_step_and_ignores_its_action(case):
    env, twin = (make_batch(case, NUM_ENVS) for _ in range(2))
    for batch in (env, twin):
        batch.reset(seed=1)
    result = step_until_some_end(env)
    finished = result[2] | result[3]
    assert_same(step_until_some_end(twin), result)
    row = draw_actions(env, 1, seed=77)[0]
    # Ignored even where it is no action at all.
    other = row.copy()
    other[finished] = -5
    result = env.step(row)
    assert_same(twin.step(other), result)
    assert not result[1][finished].any()
    assert not (result[2] | result[3])[finished].any()
    # One step on, the environments that were reset are one step old.
    assert (np.array(env.get_attr("num_env_steps"))[finished] == 0).all()


@pytest.mark.parametrize("case", CASES)
def test_same_step_has_the_last_observation_beside_the_first(case):
    env = make_batch(case, NUM_ENVS, autoreset_mode=SAME_STEP)
    disabled = make_batch(case, NUM_ENVS, autoreset_mode=DISABLED)
    for batch in (env, disabled):
        batch.reset(seed=1)
    observations, rewards, terminations, truncations, infos = step_until_some_end(env)
    last, *flags, last_infos = step_until_some_end(disabled)
    finished = terminations | truncations
    assert_same((rewards, terminations, truncations), tuple(flags))
    assert_same(infos["_final_obs"], finished)
    assert_same(infos["_final_info"], finished)
    assert [final is not None for final in infos["final_obs"]] == finished.tolist()
    final_info = infos["final_info"]
    for i in np.flatnonzero(finished):
        np.testing.assert_array_equal(infos["final_obs"][i], last[i])
        assert_same(single_info(final_info, i), single_info(last_infos, i))
    for key, values in final_info.items():
        if not key.startswith("_"):
            assert_same(final_info["_" + key], finished & last_infos["_" + key])
            if not isinstance(values, dict):
                assert_same(values[finished], last_infos[key][finished])
    first, _ = disabled.reset(options={"reset_mask": finished})
    assert_same(observations, first)


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("mode", MODES)
def test_final_keys_are_there_exactly_in_same_steps_with_an_end(case, mode):
    env = make_batch(case, NUM_ENVS, autoreset_mode=mode)
    env.reset(seed=0)
    keys = {"final_obs", "_final_obs", "final_info", "_final_info"}
    finished = np.zeros(NUM_ENVS, np.bool_)
    for row in draw_actions(env, 60):
        if mode is DISABLED and finished.any():
            env.reset(options={"reset_mask": finished})
        _, _, terminations, truncations, infos = env.step(row)
        finished = terminations | truncations
        expected = keys if mode is SAME_STEP and finished.any() else set()
        assert keys & set(infos) == expected


@pytest.mark.parametrize("case", CASES)
def test_disabled_refuses_to_step_what_has_ended(case):
    env = make_batch(case, NUM_ENVS, autoreset_mode=DISABLED)
    env.reset(seed=1)
    result = step_until_some_end(env)
    finished = result[2] | result[3]
    rows = str(np.flatnonzero(finished)[0])
    for _ in range(2):
        told = rf"environments \[{rows}.*reset_mask"
        with pytest.raises(ResetNeededError, match=told):
            env.step(draw_actions(env, 1)[0])
    # What has not ended was not moved, and what has ended can be looked at.
    observations, _ = env.reset(options={"reset_mask": finished})
    assert_same(rows_at(observations, ~finished), rows_at(result[0], ~finished))
    env.step(draw_actions(env, 1)[0])


@pytest.mark.parametrize("case", CASES)
def test_reset_clears_what_was_pending(case):
    for full in (False, True):
        env = make_batch(case, NUM_ENVS)
        env.reset(seed=1)
        result = step_until_some_end(env)
        finished = result[2] | result[3]
        env.reset(options=None if full else {"reset_mask": finished})
        env.step(draw_actions(env, 1, seed=3)[0])
        # Nothing was reset in this step, so everything is older by one.
        elapsed = np.array(env.get_attr("num_env_steps"))
        assert (elapsed[finished] == 1).all()


@pytest.mark.parametrize("mode", MODES)
def test_mode_is_an_enum_or_its_value(mode):
    for given in (mode, mode.value):
        env = make_batch(ARRAY_IDS[0], 1, autoreset_mode=given)
        assert env.autoreset_mode is mode
        assert env.metadata["autoreset_mode"] is mode


def test_default_mode_is_next_step():
    assert (
        make_batch(ARRAY_IDS[0]).metadata["autoreset_mode"] is AutoresetMode.NEXT_STEP
    )


@pytest.mark.parametrize("given", ["next_step", "", None, 1, "Same_Step"])
def test_unknown_mode_is_refused_with_those_that_exist(given):
    expected = "'NextStep', 'SameStep', 'Disabled'"
    with pytest.raises(InvalidOptionError, match=expected):
        make_batch(ARRAY_IDS[0], autoreset_mode=given)


def test_same_step_without_a_next_level_leaves_the_rows_finished():
    # Levels that were drawn ahead of time would be played without an error.
    env = make_batch("roll_vec/Sokoban-v0", 3, autoreset_mode=SAME_STEP, prefetch=False)
    env.reset(seed=0)
    engine = env.unwrapped.engine
    generate = engine.level_provider.generate

    def fail(seeds):
        message = "no room"
        raise LevelGenerationError(message)

    engine.level_provider.generate = fail
    actions = np.zeros(3, np.int64)
    for _ in range(LIMIT - 1):
        env.step(actions)
    with pytest.raises(LevelGenerationError):
        env.step(actions)
    engine.level_provider.generate = generate
    with pytest.raises(ResetNeededError, match=r"\[0, 1, 2\]"):
        env.step(actions)
    env.reset(options={"reset_mask": np.ones(3, np.bool_)})
    for _ in range(LIMIT):
        _, _, _, truncations, _ = env.step(actions)
    assert truncations.all()
