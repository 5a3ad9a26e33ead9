"""Stacked environments played by text, beside the same ones played by integers."""

import numpy as np
import pytest

from tests.arrays.ids import IDS
from tests.conftest import JIT_OFF
from tests.contract.cases import (
    MODES,
    assert_same,
    make_batch,
    make_single,
    make_sync,
    play,
)
from tests.thinning import one_in

pytestmark = pytest.mark.skipif(JIT_OFF, reason="texts have no kernel of their own")

SOKOBAN, LAKE = "roll_vec/Sokoban-v0", "roll_vec/FrozenLake-v1"
RANDOM_LAKE = "roll_vec/RandomFrozenLake-v0"
NAMES = ("Up", "Down", "Left", "Right")
ANSWER = "<answer>(.*?)</answer>"
THINK = rf"<think>(.*?)</think>\s*{ANSWER}"
# By form of an answer: its options, and a template for names of actions.
FORMS = {
    "raw": ({"format_penalty": -0.3}, "{}"),
    "thinking": (
        {"action_pattern": THINK, "match": "last", "format_penalty": 0.7},
        "<think>so</think> <answer>{}</answer>",
    ),
    "turns": (
        {
            "action_pattern": ANSWER,
            "action_separator": "||",
            "max_actions_per_turn": 3,
            "format_penalty": -0.1,
        },
        "<answer>{}</answer>",
    ),
}


def text_keywords(form, **more):
    """Return the keywords of an environment with a form of answers."""
    return {"action_mode": "text", **FORMS[form][0], **more}


def draw_texts(form, steps, num_envs, seed=0):
    """Return ``steps`` lists of texts: mostly names, some of them no actions."""
    rng = np.random.default_rng(seed)
    others = ["", "1", "jump", "Up and away", "<answer>", "<|im_end|>", "||", "√"]

    def draw():
        text = [*NAMES, "  dOWN\n"][rng.integers(5)]
        if form == "turns":
            names = rng.choice([*NAMES, "jump", " "], rng.integers(0, 6))
            text = "||".join(names.tolist())
        if rng.random() < 0.25:
            text = others[rng.integers(len(others))]
        return FORMS[form][1].format(text) if rng.random() < 0.9 else text

    return [[draw() for _ in range(num_envs)] for _ in range(steps)]


@one_in(3, "mode, form, env_id", MODES, list(FORMS), IDS)
def test_batches_equal_sync_vector_env(env_id, form, mode):
    more = text_keywords(form, obs_mode="text")
    batch = make_batch(env_id, 5, autoreset_mode=mode, **more)
    sync = make_sync(env_id, 5, mode, **more)
    texts = [tuple(row) for row in draw_texts(form, 40, 5)]
    assert_same(batch.reset(seed=7), sync.reset(seed=7))
    assert_same(play(batch, texts), play(sync, texts))


@pytest.mark.parametrize("env_id", [SOKOBAN, LAKE, RANDOM_LAKE])
def test_turns_play_their_actions_one_by_one(env_id):
    more = {"max_episode_steps": -1, "disable_env_checker": True}
    text_env = make_single(env_id, **text_keywords("turns"), **more)
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
