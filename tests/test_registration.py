"""Registering an environment of one's own, and what it gets by that."""

from __future__ import annotations

import gymnasium
import numpy as np
import pytest
from gymnasium.envs.registration import EnvSpec

import roll_vec
from roll_vec.errors import InvalidOptionError, UnknownOptionError, UnsupportedError
from roll_vec.registration import ENVIRONMENTS
from tests.vector.cases import assert_same


class Echo(roll_vec.BaseLanguageBasedEnv):
    def __init__(self, prefix="you said ", render_mode=None):
        super().__init__()
        self.prefix, self.render_mode = prefix, render_mode

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        return f"number {self.np_random.integers(1000)}", {}

    def step(self, action):
        return self.prefix + action, float(len(action)), False, False, {}


class Switch(roll_vec.BaseDiscreteActionEnv):
    def __init__(self):
        self.ACTION_LOOKUP = {0: "Off", 1: "On"}
        self.observation_space = gymnasium.spaces.Discrete(2)
        self.action_space = gymnasium.spaces.Discrete(2)

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        return 0, {}

    def step(self, action):
        return int(action), float(action), False, False, {}


class Plain(gymnasium.Env):
    observation_space = action_space = gymnasium.spaces.Discrete(3)

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        return 0, {}

    def step(self, action):
        return int(action), 1.0, False, False, {}


@pytest.fixture
def registered():
    """Return a function that registers ids, which are forgotten afterwards."""
    ids = []

    def register(id, *args, **more):
        roll_vec.register(id, *args, **more)
        ids.append(id)
        return id

    yield register
    for id in ids:
        del gymnasium.registry[id], ENVIRONMENTS[id]


def test_one_line_gives_both_forms(registered):
    id = registered("test/Echo-v0", Echo, max_episode_steps=2, prefix="> ")
    single = gymnasium.make(id)
    batch = gymnasium.make_vec(id, num_envs=3)
    observations, _ = batch.reset(seed=4)
    assert observations[1] == single.reset(seed=5)[0]
    for expected in (False, True):
        observation, reward, _, truncated, _ = single.step("a")
        results = batch.step(["a"] * 3)
        assert results[0][1] == observation == "> a"
        assert results[1][1] == reward
        assert results[3][1] == truncated == expected
    batch.close()


def test_names_of_a_module_are_loaded_on_use(registered):
    id = registered("test/Named-v0", f"{__name__}:Echo", prefix="! ")
    env = gymnasium.make(id)
    env.reset(seed=0)
    assert env.step("a")[0] == "! a"
    assert isinstance(env.unwrapped, Echo)


def test_the_specification_can_be_stored_and_made_again(registered):
    id = registered("test/Stored-v0", Echo, max_episode_steps=3)
    env = gymnasium.make_vec(id, num_envs=2, prefix="a ", action_pattern="x(.)")
    spec = EnvSpec.from_json(env.spec.to_json())
    again = gymnasium.make_vec(spec)
    for batch in (env, again):
        batch.reset(seed=1)
    assert_same(env.step(["xyz", "no"]), again.step(["xyz", "no"]))
    assert gymnasium.make(id).spec.id == id


def test_text_acts_by_the_names_of_a_lookup(registered):
    id = registered("test/Switch-v0", Switch)
    codes = gymnasium.make_vec(id, num_envs=2)
    codes.reset(seed=0)
    assert codes.step(np.array([1, 0]))[1].tolist() == [1.0, 0.0]
    texts = gymnasium.make_vec(id, num_envs=2, action_mode="text", format_penalty=-1)
    texts.reset(seed=0)
    _, rewards, _, _, infos = texts.step(["on", "neither"])
    assert rewards.tolist() == [1.0, -1.0]
    assert infos["action_is_valid"].tolist() == [True, False]


def test_any_gymnasium_environment_is_pooled(registered):
    id = registered("test/Plain-v0", Plain)
    batch = gymnasium.make_vec(id, num_envs=2, workers=2)
    batch.reset(seed=0)
    assert batch.step(np.array([1, 2]))[0].tolist() == [1, 2]
    batch.close()


@pytest.mark.parametrize("make", [gymnasium.make, gymnasium.make_vec])
@pytest.mark.parametrize(
    ("cls", "more", "error", "match"),
    [
        (Echo, {"postfix": "!"}, UnknownOptionError, "postfix; those that.*prefix"),
        (Echo, {"action_mode": "text"}, UnknownOptionError, "action_mode; those"),
        (Echo, {"match": "best"}, InvalidOptionError, "match: expected one of 'first'"),
        (Echo, {"action_separator": "|"}, InvalidOptionError, "action_separator: '|'"),
        (Switch, {"action_mode": "words"}, InvalidOptionError, "'discrete', 'text'"),
        (Switch, {"format_penalty": -1}, InvalidOptionError, "action_mode='text'"),
        (Plain, {"action_pattern": "(a)"}, UnknownOptionError, "action_pattern; those"),
    ],
)
def test_keywords_that_make_no_sense_are_named(
    registered, make, cls, more, error, match
):
    id = registered("test/Bad-v0", cls)
    with pytest.raises(error, match=match):
        make(id, **more)


def test_a_render_mode_that_a_class_lacks_is_named(registered):
    id = registered("test/Drawn-v0", Echo)
    with pytest.raises(InvalidOptionError, match="render_mode: expected one of None"):
        gymnasium.make_vec(id, render_mode="rgb_array")


@pytest.mark.parametrize(
    ("arguments", "more", "match"),
    [
        (("test/Bad-v0", 3), {}, "cls: expected a class"),
        (("test/Bad-v0", int), {}, "cls: expected a class"),
        (("test/Bad-v0", "module.Name"), {}, "'module:name'"),
        (("test/Bad-v0", Echo, 0), {}, "max_episode_steps: expected at least 1"),
        (("roll_vec/Sokoban-v0", Echo), {}, "is registered already"),
        (("CartPole-v1", Echo), {}, "is registered already"),
        (("test/Bad-v0", Echo), {"what": 1}, "unknown keyword what"),
    ],
)
def test_what_cannot_be_registered_is_refused(arguments, more, match):
    with pytest.raises((InvalidOptionError, UnknownOptionError), match=match):
        roll_vec.register(*arguments, **more)
    assert "test/Bad-v0" not in gymnasium.registry
    assert "test/Bad-v0" not in ENVIRONMENTS


def test_array_environments_refuse_to_send_and_receive():
    env = gymnasium.make_vec("roll_vec/FrozenLake-v1", num_envs=2).unwrapped
    env.reset(seed=0)
    for call in (lambda: env.send([1], [0]), env.recv):
        with pytest.raises(UnsupportedError, match="in one call: use step"):
            call()


@pytest.mark.parametrize(
    ("name", "keywords", "message"),
    [
        ("Sokoban", {"dim_room": (65536, 65536)}, "dim_room: .* at most 1048576 cells"),
        ("Sokoban", {"dim_x": 65536, "dim_y": 65536}, "at most 1048576 cells, got 65"),
        (
            "Sokoban",
            {"num_boxes": 10**6},
            "num_boxes: .* at most 14 boxes, got 1000000",
        ),
        (
            "Sokoban",
            {"dim_room": (900, 900), "num_boxes": 10**5},
            "num_boxes: .* takes at most 332 boxes, got 100000",
        ),
        ("Sokoban", {"num_gen_steps": 10**9}, "num_gen_steps: .* at most 1048576, got"),
        ("Sokoban", {"search_depth": 10**12}, "search_depth: expected at most"),
        ("Sokoban", {"num_levels": 10**12}, "num_levels: expected at most"),
        ("Sokoban", {"num_envs": 10**12}, "num_envs: expected at most 134217728, got"),
        ("RandomFrozenLake", {"size": 10**6}, "size: .* at most 1048576 cells"),
        ("FrozenLake", {"num_envs": 10**9}, "num_envs: expected at most 134217728"),
        ("Countdown", {"num_envs": 10**8}, "num_envs: expected at most 1048576, got"),
        ("Countdown", {"num_numbers": 10**9}, "num_numbers: expected at most 6, got"),
        ("WebShop", {"num_products": 10**9}, "num_products: .* at most 1048576 prod"),
    ],
)
def test_sizes_beyond_use_are_refused_before_anything_is_made(name, keywords, message):
    version = "v1" if name == "FrozenLake" else "v0"
    with pytest.raises(InvalidOptionError, match=message):
        gymnasium.make_vec(f"roll_vec/{name}-{version}", **keywords)


def test_a_batch_beyond_the_memory_is_refused_by_name(monkeypatch):
    def allocate(*_):
        message = "Unable to allocate 7 EiB"
        raise MemoryError(message)

    monkeypatch.setattr("roll_vec.array_envs.sokoban.SokobanEngine.__init__", allocate)
    with pytest.raises(InvalidOptionError, match=r"num_envs: 7 environments .* 7 EiB"):
        gymnasium.make_vec("roll_vec/Sokoban-v0", num_envs=7)
