"""Many steps in one call: what cannot be done is told, and nothing has moved then."""

import copy
from types import SimpleNamespace

import numpy as np
import pytest

from roll_vec.errors import (
    InvalidActionError,
    InvalidOptionError,
    LevelGenerationError,
    ResetNeededError,
)
from roll_vec.stacked import rollout_buffer
from tests.contract.cases import (
    ARRAY_CASES,
    CASES,
    DISABLED,
    LIMIT,
    MODES,
    NEXT_STEP,
    SAME_STEP,
    assert_same,
    assert_undisturbed,
    draw_actions,
    is_pooled,
    make_batch,
)
from tests.contract.test_unroll import N, T, make_pair, play_out


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
@pytest.mark.parametrize("case", ARRAY_CASES)
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
    # Levels that were drawn ahead of time would be played without an error.
    env, twin = make_pair(case, autoreset_mode=mode, prefetch=False)
    source = env.unwrapped.engine.level_provider
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
        (lambda seen: seen, 2**63, InvalidOptionError, "positive.* 2147483647 .*5808"),
        (lambda seen: seen, -1, InvalidOptionError, "positive.*got -1"),
        (lambda seen: seen, 1.5, InvalidOptionError, "positive.*got 1.5"),
        (lambda seen: seen, True, InvalidOptionError, "positive.*got True"),
        (np.zeros((2, N), int), 2.0, InvalidOptionError, "None or 2, .*got 2.0"),
        ({(0,) * N}, None, InvalidActionError, r"actions: .*got {\(0, 0"),
        ({0: [0] * N}.values(), None, InvalidActionError, "actions: .*dict_values"),
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
    for infos in (None, [], "final_obs"):
        with pytest.raises(InvalidOptionError, match=r"out\.infos: expected a dict"):
            env.unroll(actions, out=out._replace(infos=infos))
    assert_undisturbed(env, twin)


@pytest.mark.parametrize("mode", MODES)
def test_out_that_shares_memory_is_refused_and_nothing_moves(mode):
    env, twin = make_pair("roll_vec/FrozenLake-v1", autoreset_mode=mode)
    actions = draw_actions(env, 1)
    out = copy.deepcopy(twin).unroll(actions)
    shared = {
        "truncations": out._replace(truncations=out.terminations),
        r"infos\['final_obs'\]": out._replace(infos={"final_obs": out.observations}),
    }
    for name, given in shared.items():
        with pytest.raises(InvalidOptionError, match=rf"out\.{name}: shares its mem"):
            env.unroll(actions, out=given)
    assert_undisturbed(env, twin)


@pytest.mark.parametrize("obs_mode", ["planes", "tiny_rgb", "text"])
def test_steps_that_are_not_made_are_not_looked_up(obs_mode, monkeypatch):
    # What is in new memory could be codes behind the end of a table.
    def dirty(shape, dtype=np.float64):
        return np.full(shape, 255, dtype)

    keywords = {"obs_mode": obs_mode, "autoreset_mode": DISABLED}
    env, twin = make_pair("roll_vec/Sokoban-v0", **keywords)
    observer, highest = env.unwrapped.engine.observer, []
    num_codes = observer.family.num_codes
    original = observer.observe

    def observe(grids, out=None):
        highest.append(grids.max())
        return original(np.minimum(grids, num_codes - 1), out)

    monkeypatch.setattr(observer, "observe", observe)
    monkeypatch.setattr(
        rollout_buffer, "np", SimpleNamespace(**{**vars(np), "empty": dirty})
    )
    with pytest.raises(ResetNeededError):
        env.unroll(draw_actions(env, 2 * LIMIT))
    assert max(highest) < num_codes
    assert_undisturbed(env, twin)
