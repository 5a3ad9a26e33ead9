"""TRL's environments: tools, tasks of groups, rewards, transcripts of its trainer."""

import inspect
import itertools
import json
import pickle
from typing import ClassVar

import gymnasium
import pytest

import roll_vec
from roll_vec.adapters.trl import EPISODE_OVER, AnswerEnv, GridEnv, environment_factory
from roll_vec.errors import InvalidOptionError, InvalidSeedError, UnknownOptionError
from tests.conftest import ROOT

SOKOBAN, COUNTDOWN = "roll_vec/Sokoban-v0", "roll_vec/Countdown-v0"
# Those of tests/frameworks/trl/check.py.
TASKS = {
    "Sokoban": (SOKOBAN, {"num_boxes": 1, "max_episode_steps": 4}),
    "RandomFrozenLake": ("roll_vec/RandomFrozenLake-v0", {"max_episode_steps": 4}),
    "Countdown": (COUNTDOWN, {"max_steps": 2}),
    "WebShop": ("roll_vec/WebShop-v0", {"num_products": 100}),
}
TOOLS = {
    "Sokoban": {"move"},
    "RandomFrozenLake": {"move"},
    "Countdown": {"answer"},
    "WebShop": {"search", "click"},
}
TRANSCRIPTS = json.loads((ROOT / "tests/adapters/data/trl.json").read_text("utf-8"))


def tools_of(instance):
    """Return the tools, by TRL's rule: functions of the class with a public name."""
    functions = dict(inspect.getmembers(type(instance), inspect.isfunction))
    assert functions.keys() >= {"reset", "get_reward"}
    names = {name for name in functions if not name.startswith("_")}
    return names - {"reset", "get_reward"}


@pytest.mark.parametrize("name", TASKS)
def test_transcript_of_trl(name):
    """TRL's trainer made these calls on one instance, and got these results."""
    id, keywords = TASKS[name]
    instance = environment_factory(id, **keywords)()
    for method, arguments, result in TRANSCRIPTS[name]:
        assert getattr(instance, method)(**arguments) == result
        instance = pickle.loads(pickle.dumps(instance))


@pytest.mark.parametrize("name", TASKS)
def test_tools_have_types_and_googles_docstrings(name):
    id, keywords = TASKS[name]
    instance = environment_factory(id, **keywords)()
    assert tools_of(instance) == TOOLS[name]
    for tool in TOOLS[name]:
        method = getattr(instance, tool)
        text, arguments = inspect.getdoc(method).split("\n\nArgs:\n")
        assert text.endswith(".")
        [argument] = inspect.signature(method).parameters.values()
        assert argument.annotation == "str"
        assert arguments.startswith(f"    {argument.name}: ")
        assert "\n\nReturns:\n    " in arguments


def test_a_long_episode_ends_with_a_text():
    instance = environment_factory(SOKOBAN, max_episode_steps=2)()
    assert instance.move("Up") == EPISODE_OVER, "before the first reset"
    text = instance.reset(prompt=[])
    env = gymnasium.make(SOKOBAN, obs_mode="text", action_mode="text")
    env.reset(seed=0)
    assert text.startswith(env.get_wrapper_attr("get_instructions")())
    assert EPISODE_OVER not in instance.move("no such direction")
    assert instance.move(3).endswith(EPISODE_OVER)
    assert instance.get_reward() == -0.1 + -0.1
    assert instance.move("Up") == EPISODE_OVER
    assert instance.get_reward() == -0.1 + -0.1
    instance.reset(prompt=[])
    assert instance.get_reward() == 0


def reset_all(rows, **keywords):
    """Return the tasks of rows, in the order in which one trainer resets them."""
    factory = environment_factory(COUNTDOWN, **keywords)
    pool = [factory() for _ in range(3)]
    return [each.reset(**row) for each, row in zip(itertools.cycle(pool), rows)]


def test_equal_rows_are_tasks_of_groups():
    tasks = reset_all(
        [{"prompt": [{"role": "user", "content": ""}]}] * 12, group_size=4
    )
    assert [len(set(tasks[i : i + 4])) for i in (0, 4, 8)] == [1, 1, 1]
    assert len(set(tasks)) == 3


def test_tasks_do_not_depend_on_the_order_of_rows():
    rows = [{"prompt": f"game {i % 4}", "image": object()} for i in range(24)]
    by_row = reset_all(rows, group_size=3)
    sets = [[by_row[i + 4 * j] for j in range(6)] for i in range(4)]
    assert all(len({*tasks[:3]}) == len({*tasks[3:]}) == 1 for tasks in sets)
    assert len({task for tasks in sets for task in tasks}) == 8
    order = sorted(range(24), key=lambda i: (-(i % 4), i))
    tasks = reset_all([rows[i] for i in order], group_size=3)
    assert [sets[i % 4][j % 6] for j, i in enumerate(order)] == tasks
    assert reset_all(rows, group_size=3, seed=1) != by_row


def test_a_column_of_seeds_decides():
    rows = [{"prompt": f"{i}", "seed": i % 3} for i in range(9)]
    tasks = reset_all(rows, group_size=1, seed=5)
    for seed in range(3):
        env = gymnasium.make(COUNTDOWN)
        assert all(task.endswith(env.reset(seed=seed)[0]) for task in tasks[seed::3])
    assert reset_all([{"seed": None}] * 2, group_size=2) == (
        reset_all([{"seed": None}], group_size=2) * 2
    )
    for seed in (-1, 0.5, "x"):
        with pytest.raises(InvalidSeedError, match="seed: expected"):
            reset_all([{"seed": seed}])


def test_several_processes_need_seeds(monkeypatch):
    monkeypatch.setenv("WORLD_SIZE", "2")
    assert reset_all([{"seed": 3}])
    with pytest.raises(InvalidSeedError, match="a column of the data set"):
        reset_all([{"prompt": ""}])


def test_the_factory_can_be_pickled():
    factory = environment_factory(COUNTDOWN, group_size=2)
    first = factory().reset(prompt="")
    copy = pickle.loads(pickle.dumps(factory))
    assert copy().reset(prompt="") == first
    assert copy().reset(prompt="") != first


def test_ids_are_read_as_by_gymnasium():
    text = environment_factory(SOKOBAN)().reset(seed=1)
    assert environment_factory(f"roll_vec:{SOKOBAN}")().reset(seed=1) == text


def test_bad_keywords_are_errors_at_once():
    for keywords in (
        {"obs_mode": "rgb"},
        {"action_mode": "discrete"},
        {"action_pattern": "<answer>(.*?)</answer>"},
        {"group_size": 0},
    ):
        [name] = keywords
        with pytest.raises(InvalidOptionError, match=f"{name}: expected"):
            environment_factory(SOKOBAN, **keywords)
    for id in ("CartPole-v1", None):
        with pytest.raises(InvalidOptionError, match="id: expected an id of roll_vec"):
            environment_factory(id)
    with pytest.raises(InvalidSeedError):
        environment_factory(SOKOBAN, seed=-1)
    with pytest.raises(UnknownOptionError):
        environment_factory(SOKOBAN, boxes=1)


class Corridor(roll_vec.BaseDiscreteActionEnv):
    """An environment of a user whose actions have names."""

    ACTION_LOOKUP: ClassVar = {1: "Back", 2: "Forth"}
    observation_space = gymnasium.spaces.Discrete(3)
    action_space = gymnasium.spaces.Discrete(2, start=1)

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        return 1, {}

    def step(self, action):
        return int(action), float(action), action == 2, False, {}


class Echo(roll_vec.BaseLanguageBasedEnv):
    """One that a text answers."""

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        return "Say something.", {}

    def step(self, action):
        return action, 1.0, True, False, {}


@pytest.fixture
def ids():
    """Register the two classes."""
    ids = {cls: f"trl_tests/{cls.__name__}-v0" for cls in (Corridor, Echo)}
    for cls, id in ids.items():
        roll_vec.register(id, cls)
    return ids


def test_environments_of_users(ids):
    corridor = environment_factory(ids[Corridor])()
    assert isinstance(corridor, GridEnv)
    corridor.reset()
    assert corridor.move("back") == "1"
    assert corridor.move("Forth") == f"2\n\n{EPISODE_OVER}"
    assert corridor.get_reward() == 3
    echo = environment_factory(ids[Echo])()
    assert isinstance(echo, AnswerEnv)
    echo.reset()
    assert echo.answer("yes") == f"yes\n\n{EPISODE_OVER}"
