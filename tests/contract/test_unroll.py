"""Many steps in one call: equal to as many calls of `step`.

What cannot be done is told, and nothing has moved then.
"""

import copy

import numpy as np
import pytest

from roll_vec import Rollout
from roll_vec.errors import (
    InvalidActionError,
    InvalidOptionError,
    LevelGenerationError,
    ResetNeededError,
)
from tests.conftest import JIT_OFF
from tests.contract import cases
from tests.thinning import one_in

# More than the 16 steps after which environments wait for levels.
N, T = 4, 20
SOKOBAN, LAKE, LAKES, LAMPS = (
    "roll_vec/Sokoban-v0",
    "roll_vec/FrozenLake-v1",
    "roll_vec/RandomFrozenLake-v0",
    "tests_vector/Lamps-v0",
)
PLAYED = {
    **{case: (case, {}) for case in cases.ALL_CASES},
    **{f"variant {number}": variant for number, variant in enumerate(cases.VARIANTS)},
    "masks of a lake": (LAKE, {"action_mask": True}),
    # After a step of `make_pair` they end in step 16, and then wait for levels.
    "rooms that end before a wait": (SOKOBAN, {"max_episode_steps": 17}),
    "few rooms": (SOKOBAN, {"num_levels": 3, "start_level": 5}),
    "maps that are drawn now and then": (LAKES, {"size": 3, "num_levels": 90}),
    # As plain Python the rooms take two minutes.
    "episodes of one step": (LAKES if JIT_OFF else SOKOBAN, {"max_episode_steps": 1}),
}
PLAYED |= {
    f"{id} {obs_mode}": (id, {"obs_mode": obs_mode, "group_size": 2, "copy": False})
    for id, obs_mode in cases.VIEWS
    if not JIT_OFF or obs_mode in cases.OBS_MODES[:2]
}


def make_pair(case, **more):
    """Return two batches at the same point in the middle of episodes."""
    pair = [cases.make_batch(case, N, **more) for _ in range(2)]
    for env in pair:
        env.reset(seed=2)
        *_, terminations, truncations, _ = env.step([cases.lowest_action(env)] * N)
        if env.autoreset_mode is cases.DISABLED and (terminations | truncations).any():
            env.reset()
        env.reset(options={"reset_mask": np.arange(N) == 1})
    return pair


def play_out(env, actions):
    """Return results of steps until the first that ends something, if that matters."""
    results = []
    for batch in actions:
        results.append(copy.deepcopy(env.step(batch)))
        if (
            env.autoreset_mode is cases.DISABLED
            and (results[-1][2] | results[-1][3]).any()
        ):
            break
    return results


def check_equal(env, twin, actions, ignores_garbage=False):
    """Compare a rollout with steps of a twin, and how both go on."""
    results = play_out(twin, actions)
    actions = actions[: len(results)].copy()
    if ignores_garbage and actions.dtype != object:
        # Actions of steps that reset are ignored, whatever they are.  An array with
        # such actions is left to steps one by one.
        for result, batch in zip(results[:-1], actions[1:], strict=True):
            batch[result[2] | result[3]] = 99
    rollout = env.unroll(actions)
    assert type(rollout) is Rollout
    cases.assert_equal_steps(env, rollout, results)
    cases.assert_same(env.successes, twin.successes)
    assert env.get_attr("num_env_steps") == twin.get_attr("num_env_steps")
    if env.autoreset_mode is cases.DISABLED:
        finished = results[-1][2] | results[-1][3]
        for batch in (env, twin):
            batch.reset(options={"reset_mask": finished} if finished.any() else None)
    return rollout


def check_rounds(env, twin):
    """Compare rollouts that begin where episodes have just ended, or go on."""
    # In DISABLED mode a rollout ends at the first end, such as the limit.
    ends, actions = 0, cases.draw_actions(env, 2 * T)
    for start in (0, T):
        is_last = env.autoreset_mode is cases.NEXT_STEP and start > 0
        rollout = check_equal(env, twin, actions[start : start + T], is_last)
        ends += (rollout.terminations | rollout.truncations).sum()
        # Nothing is shared with the environment.
        cases.scribble(tuple(rollout))
    assert ends > (0 if env.autoreset_mode is cases.DISABLED else 3)
    cases.assert_undisturbed(env, twin)


@one_in(3, "mode, variant", cases.MODES, PLAYED)
def test_unroll_equals_as_many_steps(variant, mode, monkeypatch):
    case, more = variant
    if JIT_OFF and case.startswith(SOKOBAN):
        pytest.skip("as plain Python the rooms take minutes")
    # Where levels have to be drawn, environments wait for each other every 16 steps.
    monkeypatch.setattr("roll_vec.arrays.engine.STEPS_AT_ONCE", 1)
    check_rounds(*make_pair(case, autoreset_mode=mode, **more))


@one_in(
    3,
    "mode, case, copies",
    cases.MODES,
    [LAKE, f"{SOKOBAN} text", LAMPS],
    [True, False],
)
def test_a_policy_sees_what_the_step_before_returned_and_may_overwrite_it(
    case, mode, copies
):
    env, twin = make_pair(case, autoreset_mode=mode, copy=copies)
    steps = 3 if mode is cases.DISABLED else T
    actions = list(cases.draw_actions(env, steps))
    if mode is cases.DISABLED:
        actions = [[cases.lowest_action(env)] * N] * steps
    current = copy.deepcopy(env.step([cases.lowest_action(env)] * N)[0])
    twin.step([cases.lowest_action(env)] * N)
    heard = []

    def policy(observations):
        heard.append(copy.deepcopy(observations))
        cases.scribble(observations)
        return actions[len(heard) - 1]

    rollout = env.unroll(policy, steps)
    cases.assert_same(tuple(rollout), tuple(twin.unroll(actions)))
    cases.assert_same(heard, [current, *rollout.observations[:-1]])
    cases.assert_undisturbed(env, twin)


@one_in(
    2,
    "mode, case",
    [cases.NEXT_STEP, cases.SAME_STEP],
    [*cases.ARRAY_IDS, f"{SOKOBAN} text", LAMPS],
)
def test_out_is_written_into_and_equal(case, mode):
    env, twin = make_pair(case, autoreset_mode=mode)
    actions = cases.draw_actions(env, 2 * T)
    first = env.unroll(actions[:T])
    again = env.unroll(actions[T:], out=first)
    twin.unroll(actions[:T])
    cases.assert_same(tuple(again), tuple(twin.unroll(actions[T:])))
    for given, written in zip(first[:4], again[:4], strict=True):
        assert (
            written is given or np.shares_memory(written, given) or case[-4:] == "text"
        )
    if mode is cases.SAME_STEP and isinstance(again.observations, np.ndarray):
        assert np.shares_memory(again.infos["final_obs"], first.infos["final_obs"])
    cases.assert_undisturbed(env, twin)


PLAN, POLICY = np.ones((3, N), int), lambda observations: PLAN[0]
NO_PLANS = [
    *((plan, None, "expected those of one step or more") for plan in (3, "up", {})),
    *((np.ones(shape, int), None, "actions: expected") for shape in ((0, N), (N,))),
    (PLAN[:, 1:], None, r"^step 0: actions: expected shape \(4,\)"),
    (PLAN / 1, None, "^step 0: actions: expected an integer dtype"),
    ([PLAN[0], [0]], None, "^step 1: actions: expected shape"),
    *((PLAN, steps, "^num_steps: expected None or 3") for steps in (4, 3.0)),
    *(
        (POLICY, steps, "^num_steps: expected a positive integer")
        for steps in (None, 0, -1, 1.5, True, 2**63)
    ),
]


def test_what_is_no_plan_is_refused_and_nothing_moves():
    env, twin = make_pair(LAKE)
    for plan, num_steps, told in NO_PLANS:
        with pytest.raises((InvalidActionError, InvalidOptionError), match=told):
            env.unroll(plan, num_steps)
    cases.assert_undisturbed(env, twin)


# By field of a rollout: what it does not write into, with its words.
NO_OUTS = [
    ("rewards", lambda out: out.rewards.astype(np.float32), "got 'float32 of shape"),
    ("terminations", lambda out: out.terminations[1:], r"got 'bool of shape \(2, 4"),
    ("truncations", lambda out: out.truncations[:, ::-1], "writable array in C order"),
    ("observations", lambda _: None, r"uint8 of shape \(3, 4, 5, 5\), got None"),
    ("observations", lambda out: out.observations[1:], r"got 'uint8 of shape \(2"),
    *(("infos", lambda _, each=each: each, "a dict") for each in (None, [], "seed")),
]


def test_an_output_that_does_not_fit_is_refused_and_nothing_moves():
    env, twin = make_pair(SOKOBAN, autoreset_mode=cases.SAME_STEP)
    out = copy.deepcopy(env).unroll(PLAN)
    for name, change, told in NO_OUTS:
        with pytest.raises(InvalidOptionError, match=rf"^out\.{name}.*{told}"):
            env.unroll(PLAN, out=out._replace(**{name: change(out)}))
    with pytest.raises(InvalidOptionError, match="out: expected a Rollout"):
        env.unroll(PLAN, out=3)
    cases.assert_undisturbed(env, twin)


@pytest.mark.parametrize("case", cases.CASES)
def test_disabled_names_the_row_and_the_step(case):
    env, twin, guide = (
        cases.make_batch(case, N, autoreset_mode=cases.DISABLED) for _ in range(3)
    )
    for batch in (env, twin, guide):
        batch.reset(seed=2)
    actions = cases.draw_actions(env, T)
    results = play_out(guide, actions)
    row = np.flatnonzero(results[-1][2] | results[-1][3])[0]
    told = rf"^step {len(results)}: environments \[{row}.*reset_mask"
    with pytest.raises(ResetNeededError, match=told):
        env.unroll(actions)
    with pytest.raises(ResetNeededError, match="must be reset: unroll raised"):
        env.unroll(actions[:1])
    for batch in (env, twin):
        batch.reset(seed=2)
    cases.assert_same(tuple(env.unroll(actions[:1])), tuple(twin.unroll(actions[:1])))
    # And what has ended before the call.
    with pytest.raises(ResetNeededError, match=rf"^step 0: environments \[{row}"):
        guide.unroll(actions[:1])


@one_in(2, "mode, case", [cases.NEXT_STEP, cases.SAME_STEP], cases.ARRAY_CASES)
def test_an_invalid_action_after_the_first_demands_a_reset(case, mode):
    env, twin = make_pair(case, autoreset_mode=mode)
    plan = cases.draw_actions(env, T)
    # Past the first ends, at a step that resets nothing.
    results = play_out(copy.deepcopy(twin), plan)
    ended = [result[2] | result[3] for result in results]
    step = next(t for t in range(15, T) if not ended[t - 1].any())
    plan[step, 2] = 77
    with pytest.raises(InvalidActionError, match=rf"^step {step}: .*77.*\[2\]"):
        env.unroll(plan)
    if mode is cases.NEXT_STEP:
        # Where no step ignores an action, all are checked first.
        cases.assert_needs_reset(env, twin)
    plan[0, 2] = 77
    with pytest.raises(InvalidActionError, match=r"^step 0: "):
        env.unroll(plan)
    cases.assert_undisturbed(env, twin)


@one_in(2, "mode, case", [cases.NEXT_STEP, cases.SAME_STEP], [SOKOBAN, LAKES])
def test_a_level_that_cannot_be_drawn_demands_a_reset(case, mode):
    env, twin = make_pair(case, autoreset_mode=mode)
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
        env.unroll(cases.draw_actions(env, 3 * cases.LIMIT))
    source.generate = generate
    assert len(calls) == 2
    cases.assert_needs_reset(env, twin)


@pytest.mark.parametrize("copies", [True, False])
@pytest.mark.parametrize("case", [LAKE, f"{SOKOBAN} text"])
def test_a_policy_that_raises_demands_a_reset_after_a_step(case, copies):
    env, twin = make_pair(case, copy=copies)
    for batch in (env, twin):
        batch.reset(seed=5)
    plan = iter(cases.draw_actions(env, 20))
    with pytest.raises(StopIteration):
        env.unroll(lambda observations: next(plan), 30)
    cases.assert_needs_reset(env, twin)
    with pytest.raises(StopIteration):
        env.unroll(lambda observations: next(plan), 30)
    cases.assert_undisturbed(env, twin)


@pytest.mark.skipif(JIT_OFF, reason="kernels make arrays as well")
@pytest.mark.parametrize("obs_mode", ["planes", "text"])
def test_steps_that_are_not_made_are_not_looked_up(obs_mode, monkeypatch):
    # What is in new memory could be codes behind the end of a table.
    def dirty(shape, dtype=np.float64):
        return np.full(shape, 255, dtype)

    keywords = {"obs_mode": obs_mode, "autoreset_mode": cases.DISABLED}
    env, twin = make_pair(SOKOBAN, **keywords)
    actions = cases.draw_actions(env, 2 * cases.LIMIT)
    with pytest.raises(ResetNeededError):
        copy.deepcopy(twin).unroll(actions)  # compiles
    observer, highest = env.unwrapped.engine.observer, []
    original = observer.observe

    def observe(codes, shape, out=None):
        highest.append(codes.max())
        return original(
            np.minimum(codes, observer.options.FAMILY.num_codes - 1), shape, out
        )

    with monkeypatch.context() as patch:
        patch.setattr(observer, "observe", observe)
        patch.setattr(np, "empty", dirty)
        with pytest.raises(ResetNeededError):
            env.unroll(actions)
    assert max(highest) < observer.options.FAMILY.num_codes
    cases.assert_needs_reset(env, twin)
