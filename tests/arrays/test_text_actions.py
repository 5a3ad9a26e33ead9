"""Stacked environments played by text, beside the same ones played by integers."""

import numpy as np
import pytest

from tests.conftest import JIT_OFF
from tests.contract.cases import assert_same, make_single

pytestmark = pytest.mark.skipif(JIT_OFF, reason="texts have no kernel of their own")

SOKOBAN, LAKE = "roll_vec/Sokoban-v0", "roll_vec/FrozenLake-v1"
RANDOM_LAKE = "roll_vec/RandomFrozenLake-v0"
NAMES = ("Up", "Down", "Left", "Right")
TURNS = {
    "action_mode": "text",
    "action_pattern": "<answer>(.*?)</answer>",
    "action_separator": "||",
    "max_actions_per_turn": 3,
    "format_penalty": -0.1,
}


@pytest.mark.parametrize("env_id", [SOKOBAN, LAKE, RANDOM_LAKE])
def test_turns_play_their_actions_one_by_one(env_id):
    more = {"max_episode_steps": -1, "disable_env_checker": True}
    text_env = make_single(env_id, **TURNS, **more)
    integer_env = make_single(env_id, **more)
    codes = {name: code for code, name in integer_env.unwrapped.action_lookup.items()}
    rng = np.random.default_rng(5)
    for episode in range(60):
        text_env.reset(seed=episode)
        integer_env.reset(seed=episode)
        terminated = False
        for _ in range(8):
            if terminated:
                break
            names = rng.choice([*NAMES, "jump"], rng.integers(1, 5)).tolist()
            valid_names = [name for name in names[:3] if name in codes]
            if not valid_names and env_id == LAKE:
                continue
            total, effective, prob = None, False, 1.0
            for name in valid_names or [None]:
                result = integer_env.step(codes.get(name, 0))
                observation, reward, terminated, _, info = result
                total = reward if total is None else total + reward
                effective |= info.get("action_is_effective", False)
                prob *= info.get("prob", 1.0)
                if terminated:
                    break
            if len(valid_names) < len(names[:3]):
                total += -0.1
            result = text_env.step(f"<answer>{'||'.join(names)}</answer>")
            assert_same(result[:4], (observation, total, terminated, False))
            assert result[4]["action_is_valid"] == (len(valid_names) == len(names[:3]))
            if "prob" in result[4]:
                assert result[4]["prob"] == prob
            else:
                assert result[4]["action_is_effective"] == effective
                assert result[4]["success"] == info["success"]
