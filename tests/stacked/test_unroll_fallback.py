"""A family without a compiled unroll gets the same rollouts, step by step."""

import gymnasium
import numpy as np
import pytest
from gymnasium.vector import AutoresetMode

import roll_vec  # noqa: F401  registers the ids
from roll_vec.errors import ResetNeededError
from roll_vec.stacked import engine as stacked_engine
from roll_vec.stacked.engine import StackedEngine
from tests.conftest import JIT_OFF
from tests.contract.cases import assert_same

pytestmark = pytest.mark.skipif(JIT_OFF, reason="nothing is compiled")

CASES = {
    "rooms": ("roll_vec/Sokoban-v0", {"num_boxes": 1, "action_start": 1}),
    "random lakes": (
        "roll_vec/RandomFrozenLake-v0",
        {"obs_mode": "planes", "action_start": 1},
    ),
    "one lake": ("roll_vec/FrozenLake-v1", {"obs_mode": "text"}),
}
MODES = list(AutoresetMode)


def make_pair(case, monkeypatch, **keywords):
    """Return two equal batches; the second one has no compiled unroll."""
    id, more = CASES[case]
    pair = [
        gymnasium.make_vec(id, num_envs=9, max_episode_steps=7, **more, **keywords)
        for _ in range(2)
    ]
    engine = pair[1].unwrapped.engine
    for name in ("_unroll", "_unroll_rows", "_unroll_range"):
        method = getattr(StackedEngine, name).__get__(engine)
        monkeypatch.setattr(engine, name, method, raising=False)
    for env in pair:
        env.reset(seed=4)
    return pair


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("case", CASES)
def test_rollouts_equal_those_of_compiled_unrolls(case, mode, monkeypatch):
    compiled, fallback = make_pair(case, monkeypatch, autoreset_mode=mode)
    # The next episodes begin every 16 steps.
    monkeypatch.setattr(stacked_engine, "STEPS_AT_ONCE", 1)
    num_steps = 1 if mode is AutoresetMode.DISABLED else 50
    first = compiled.single_action_space.start
    actions = np.random.default_rng(0).integers(0, first + 4, (2 * num_steps, 9))
    for part in (actions[:num_steps], actions[num_steps:]):
        rollout = fallback.unroll(part)
        assert_same(tuple(rollout), tuple(compiled.unroll(part)))
        assert_same(fallback.successes, compiled.successes)
        ended = rollout.terminations | rollout.truncations
        if mode is not AutoresetMode.DISABLED:
            assert ended.any()
        elif ended[-1].any():
            for env in (compiled, fallback):
                env.reset(options={"reset_mask": ended[-1]})


@pytest.mark.parametrize("case", CASES)
def test_ended_environments_are_refused_at_the_same_step(case, monkeypatch):
    pair = make_pair(case, monkeypatch, autoreset_mode=AutoresetMode.DISABLED)
    actions = np.full((9, 9), pair[0].single_action_space.start)
    messages = []
    for env in pair:
        with pytest.raises(ResetNeededError) as error:
            env.unroll(actions)
        messages.append(str(error.value))
    assert messages[0] == messages[1]
