"""Transcripts: of ours in ``data/*.txt``, of other frameworks in ``data/*.json``.

The latter are recorded: each file names the version of the framework.
"""

import hashlib
import inspect
import json
import pickle

import gymnasium
import numpy as np
import pytest

from roll_vec.adapters import roll
from roll_vec.adapters.roll.native import REMINDER
from roll_vec.adapters.trl import environment_factory
from roll_vec.adapters.verl_agent import build_sokoban_envs, build_webshop_envs
from tests.adapters.stand_ins import read_json
from tests.adapters.transcripts import FILES, IMPORTS
from tests.transcripts import empty_folder, replay, sections

SECTIONS = sections(FILES)
GEM_CLASSES = {
    "sokoban": roll.GemSokobanEnv,
    "sokoban_pixels": roll.GemSokobanEnv,
    "frozen_lake": roll.GemFrozenLakeEnv,
    "frozen_lake_pixels": roll.GemFrozenLakeEnv,
    "webshop": roll.GemWebShopEnv,
}
# What draws the pictures of an environment.
DRAWS = {
    "sokoban_pixels": "gym_sokoban.envs.render_utils",
    "frozen_lake_pixels": "pygame",
}
CHAT_CLASSES = {
    "sokoban_native_env": roll.GemSokobanNativeEnv,
    "sokoban_tool_call": roll.GemSokobanToolCallEnv,
}
ROLL, VERL_AGENT, TRL = map(read_json, ("roll", "verl_agent", "trl"))


@pytest.mark.parametrize("lines", SECTIONS.values(), ids=SECTIONS)
def test_results_are_those_of_the_file(lines, stand_ins):
    with empty_folder():
        assert list(replay(lines, IMPORTS)) == lines


def describe_pixels(pixels):
    """Return the text of the file for an array."""
    return f"{pixels.dtype} {pixels.shape} {hashlib.sha256(pixels).hexdigest()[:16]}"


# imageio warns of a function that gym-sokoban calls.
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
@pytest.mark.parametrize("name", GEM_CLASSES)
def test_rolls_classes(name):
    def as_json(value):
        return json.dumps(value, ensure_ascii=False, default=describe_pixels)

    if name in DRAWS:
        pytest.importorskip(DRAWS[name], reason="it draws the pictures")
    if name == "frozen_lake_pixels" and gymnasium.__version__ != ROLL["gymnasium"]:
        pytest.skip(f"the pictures are those of Gymnasium {ROLL['gymnasium']}")
    kinds = set()
    env = GEM_CLASSES[name](**ROLL[name]["keywords"])
    for seed, (first, turns) in ROLL[name]["episodes"].items():
        assert as_json(env.reset(int(seed))) == as_json(first)
        for answer, *expected in turns:
            *result, info = env.step(answer)
            # The file leaves out what is always the same.
            assert list(info)[:2] == ["metrics", "metrics_agg_mode"]
            modes = info.pop("metrics_agg_mode")
            assert as_json([*result, info]) == as_json(expected)
            assert list(modes) == list(info["metrics"])
            assert list(modes.values()) == ["mean", "mean", "last", "mean"]
            assert as_json(env.render()) == as_json(expected[0])
            kinds.add((info["metrics"]["action_is_valid"], result[2]))
    assert kinds >= {(True, False), (False, False)}


@pytest.mark.parametrize("name", CHAT_CLASSES)
def test_rolls_classes_with_messages(name):
    kinds = set()
    env = CHAT_CLASSES[name](**ROLL[name]["keywords"])
    for seed, ((chat, info), turns) in ROLL[name]["episodes"].items():
        assert env.reset(int(seed)) == (chat[:2], info)
        for answer, length, *expected in turns:
            messages, *result, info = env.step(answer)
            is_valid = info["metrics"]["action_is_valid"]
            assert info.pop("metrics_agg_mode").keys() <= info["metrics"].keys()
            as_json = [
                json.dumps(each, sort_keys=True) for each in ([*result, info], expected)
            ]
            assert as_json[0] == as_json[1]
            if name == "sokoban_native_env" and not is_valid:
                # ROLL never shows it.
                chat[length - 1]["content"] = REMINDER + chat[length - 1]["content"]
            assert messages == chat[:length]
            kinds.add((is_valid, info["metrics"]["action_is_effective"]))
        assert len(messages) == len(chat)
    assert kinds == {(True, True), (True, False), (False, False)}


@pytest.mark.parametrize("name", ["sokoban", "webshop"])
def test_verl_agents_environments(name):
    record = VERL_AGENT[name]
    if name == "sokoban":
        envs = build_sokoban_envs(**record["arguments"])
    else:
        # The shop of the record: the same seed draws prices and limits there.
        shop = {"num_products": 100, "catalog_seed": 233}
        envs = build_webshop_envs(**record["arguments"], env_kwargs=shop)
    state = np.random.get_state()[1].copy()
    assert [list(pair) for pair in zip(*envs.reset(), strict=True)] == record["reset"]
    rounds = zip(*record["scripts"], strict=True)
    for step, actions in zip(record["steps"], rounds, strict=True):
        results = [list(one) for one in zip(*envs.step(actions), strict=True)]
        for expected, result in zip(step, results, strict=True):
            if expected is None:
                assert result[1:3] == [0.0, True]
            else:
                assert result == expected
    assert any(one and one[3]["won"] for step in record["steps"] for one in step)
    np.testing.assert_array_equal(np.random.get_state()[1], state)
    envs.close()


# Those of the file.
TRL_TASKS = {
    "Sokoban": ({"num_boxes": 1, "max_episode_steps": 4}, {"move"}),
    "RandomFrozenLake": ({"max_episode_steps": 4}, {"move"}),
    "Countdown": ({"max_steps": 2}, {"answer"}),
    "WebShop": ({"num_products": 100}, {"search", "click"}),
}


@pytest.mark.parametrize("name", TRL_TASKS)
def test_calls_of_trls_trainer(name):
    keywords, tools = TRL_TASKS[name]
    instance = environment_factory(f"roll_vec/{name}-v0", **keywords)()
    for method, arguments, result in TRL[name]:
        assert getattr(instance, method)(**arguments) == result
        instance = pickle.loads(pickle.dumps(instance))
    # TRL's rule for tools: functions of the class with a public name, with types and
    # Google's docstrings.
    functions = dict(inspect.getmembers(type(instance), inspect.isfunction))
    names = {name for name in functions if not name.startswith("_")}
    assert names - {"reset", "get_reward"} == tools
    for tool in tools:
        method = getattr(instance, tool)
        text, arguments = inspect.getdoc(method).split("\n\nArgs:\n")
        assert text.endswith(".")
        [argument] = inspect.signature(method).parameters.values()
        assert argument.annotation == "str"
        assert arguments.startswith(f"    {argument.name}: ")
        assert "\n\nReturns:\n    " in arguments
