"""Stacked environments played by text, beside the same ones played by integers."""

import numpy as np
import pytest

from roll_vec.errors import InvalidActionError, ResetNeededError
from roll_vec.spaces import UnicodeText
from tests.arrays.ids import FAMILIES, IDS
from tests.conftest import JIT_OFF
from tests.contract.cases import (
    LIMIT,
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


@pytest.mark.parametrize("env_id", [LAKE, RANDOM_LAKE])
def test_no_action_moves_and_draws_nothing(env_id):
    more = {"action_mode": "text", "format_penalty": -0.25}
    idle, active = (make_single(env_id, **more) for _ in range(2))
    idle.reset(seed=2)
    active.reset(seed=2)
    assert idle.step("jump")[1:4] == (-0.25, False, False)
    info = idle.step("")[4]
    assert info["action_is_effective"] is info["action_is_valid"] is False
    assert env_id != LAKE or info["prob"] == 1.0
    for name in ("Right", "Down", "Down"):
        assert_same(idle.step(name), active.step(name))


def test_no_action_costs_a_step_of_sokoban():
    env = make_single(SOKOBAN, action_mode="text", format_penalty=-0.25)
    env.reset(seed=2)
    observation, reward, *_ = env.step("jump")
    assert reward == -0.1 + -0.25
    assert_same(observation, env.reset(seed=2)[0])
    ends = [env.step("jump")[2:4] for _ in range(LIMIT)]
    assert ends == [(False, False)] * (LIMIT - 1) + [(False, True)]


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


@pytest.mark.parametrize("limit", ["max_steps", "max_episode_steps"])
def test_a_turn_is_one_step_of_every_limit(limit):
    more = text_keywords("turns", **{"max_episode_steps": -1, limit: 3})
    single, batch = make_single(SOKOBAN, **more), make_batch(SOKOBAN, 2, **more)
    single.reset(seed=0)
    batch.reset(seed=0)
    turn = "<answer>Up||Down||Up</answer>"
    assert [single.step(turn)[3] for _ in range(3)] == [False, False, True]
    truncations = [batch.step([turn, ""])[3].tolist() for _ in range(3)]
    assert truncations == [[False, False], [False, False], [True, True]]
    assert batch.get_attr("num_env_steps") == (3, 3)


@pytest.mark.parametrize("env_id", [SOKOBAN, LAKE])
def test_infos_are_those_of_a_turn_of_text(env_id):
    keys = {"action_is_effective", "action_is_valid", "success"}
    keys |= {"action_content", "think_content", *(["prob"] if env_id == LAKE else [])}
    more = text_keywords("thinking")
    env = make_batch(env_id, 3, **more)
    name = FAMILIES[env_id].action_names[0].lower()
    infos = env.reset(seed=0)[1]
    instruction = make_single(env_id, **more).unwrapped.get_instructions()
    assert infos["env_instruction"].tolist() == [instruction] * 3
    assert infos["_env_instruction"].all()
    texts = [f"<think>hm</think><answer> {name}</answer>", name, "<think>"]
    infos = env.step(texts)[4]
    assert infos.keys() == keys | {"_" + key for key in keys}
    assert infos["action_content"].tolist() == [name, "", ""]
    assert infos["think_content"].tolist() == ["hm", "", ""]
    assert infos["action_is_valid"].tolist() == [True, False, False]
    assert "env_instruction" in make_single(env_id, **more).reset(seed=0)[1]


def test_bad_actions_of_a_single_environment_are_named():
    more = {"action_mode": "text", "action_lookup": {1: "north"}}
    env = make_single(SOKOBAN, disable_env_checker=True, **more).unwrapped
    with pytest.raises(ResetNeededError):
        env.step("Up")
    env.reset(seed=0)
    for action in (1, None, b"Up", ["Up"]):
        with pytest.raises(InvalidActionError, match="expected a str, got"):
            env.step(action)
    assert env.num_env_steps == 0
    # A lookup of one's own replaces the names.
    said = [env.step(text)[4]["action_is_valid"] for text in ("North", "Up")]
    assert said == [True, False]


@pytest.mark.parametrize("form", FORMS)
def test_samples_of_the_action_space_are_actions(form):
    env = make_batch(SOKOBAN, 4, **text_keywords(form, obs_mode="text"))
    assert isinstance(env.single_action_space, UnicodeText)
    observations, _ = env.reset(seed=0)
    assert isinstance(observations, tuple)
    assert observations in env.observation_space
    env.action_space.seed(0)
    for _ in range(5):
        texts = env.action_space.sample()
        assert texts in env.action_space
        infos = env.step(texts)[4]
        assert infos["action_is_valid"][infos["_action_is_valid"]].all()


TAGS = {"action_mode": "text", "action_pattern": ANSWER}
INSTRUCTIONS = [
    (SOKOBAN, TAGS, "√ is box on target", True),
    (SOKOBAN, TAGS, "Up, Down, Left, Right", True),
    (SOKOBAN, TAGS, "<answer>Up</answer>", True),
    (
        RANDOM_LAKE,
        text_keywords("thinking", action_lookup={4: "Up"}),
        "<think>...</think><answer>Up</answer>",
        True,
    ),
    (SOKOBAN, text_keywords("turns"), "3 actions, separated by ||", True),
    (SOKOBAN, text_keywords("turns"), "<answer>Up || Down</answer>", True),
    (SOKOBAN, {"action_mode": "text"}, "answer>", False),
    (SOKOBAN, {**TAGS, "action_pattern": "^(.*)$"}, "matches ^(.*)$", True),
    (SOKOBAN, {}, "Answer", False),
    (SOKOBAN, {}, "1 (Up)", True),
    (SOKOBAN, {"env_instruction": "Do well."}, "Do well.\n", True),
    (SOKOBAN, {"grid_lookup": {4: "B", 0: "W"}}, "B is box, W is wall.", True),
    (LAKE, {}, "slippery", True),
    (LAKE, {"is_slippery": False}, "slippery", False),
    (LAKE, {}, "number of your cell", True),
    (LAKE, {"obs_mode": "text"}, "number of your cell", False),
    (SOKOBAN, {"obs_mode": "text"}, "\nCoordinates", False),
    (SOKOBAN, {"obs_mode": "text", "text_format": "coord"}, "\nCoordinates", True),
    (SOKOBAN, {"obs_mode": "text", "text_format": "coord"}, "\nSymbols", False),
    (SOKOBAN, {"obs_mode": "text", "text_format": "grid_coord"}, "\nSymbols", True),
    (SOKOBAN, {"obs_mode": "text", "text_format": "grid_coord"}, "\nCoord", True),
]


@pytest.mark.parametrize(("env_id", "more", "part", "is_said"), INSTRUCTIONS)
def test_instructions_describe_the_game_and_the_answer(env_id, more, part, is_said):
    text = make_single(env_id, **more).unwrapped.get_instructions()
    assert (part in text) == is_said
    assert make_batch(env_id, 2, **more).call("get_instructions") == (text,) * 2
