"""Registration: an id cannot be made; ``data/registration_calls.txt`` has errors."""

import inspect
import pickle
from functools import partial

import gymnasium
import numpy as np
import pytest
from gymnasium.envs.registration import EnvSpec

import roll_vec
from roll_vec import errors
from roll_vec.adapters import roll
from roll_vec.envs.countdown import Countdown
from roll_vec.registration import ENVIRONMENTS, find_registered
from tests.contract.cases import EACH_ID


class Echo(roll_vec.BaseLanguageBasedEnv):
    """Repeats the action."""

    def __init__(self, prefix="you said ", render_mode=None):
        super().__init__()
        self.prefix, self.render_mode = prefix, render_mode

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        return f"number {self.np_random.integers(1000)}", {}

    def step(self, action):
        return self.prefix + action, float(len(action)), False, False, {}


class Plain(gymnasium.Env):
    """Extends no class of roll_vec."""

    observation_space = action_space = gymnasium.spaces.Discrete(3)

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        return 0, {}

    def step(self, action):
        return int(action), float(action), False, False, {}


class Switch(Plain, roll_vec.BaseDiscreteActionEnv):
    """Has the actions Off and On."""

    ACTION_LOOKUP = {0: "Off", 1: "On"}  # noqa: RUF012
    action_space = gymnasium.spaces.Discrete(2)


@pytest.fixture
def registered(forgets_ids):
    """Return a function that registers an id and returns it."""
    return lambda id, *args, **more: roll_vec.register(id, *args, **more) or id


def test_a_subclass_shows_its_own_keywords(registered):
    class Bonus(Countdown):
        def __init__(self, bonus=1.0):
            super().__init__(num_numbers=3)
            self.bonus = bonus

    assert list(inspect.signature(Bonus).parameters) == ["bonus"]
    id = registered("test/Bonus-v0", Bonus, bonus=2.0)
    assert gymnasium.make(id).unwrapped.bonus == 2.0
    with pytest.raises(errors.UnknownOptionError, match="num_numbers"):
        gymnasium.make(id, num_numbers=4)


def test_make_vec_makes_what_gymnasium_makes_with_its_type(registered):
    id = registered("test/Typed-v0", Echo, max_episode_steps=3)
    env, twin = roll_vec.make_vec(id, 2, prefix="> "), gymnasium.make_vec(id, 2)
    assert type(env) is roll_vec.PoolVectorEnv
    assert (env.spec.id, env.spec.kwargs["prefix"]) == (id, "> ")
    assert roll_vec.make_vec(EnvSpec.from_json(env.spec.to_json())).spec == env.spec
    assert gymnasium.make(id).spec.id == id
    assert roll_vec.make_vec(f"{__name__}:{id}", 2).spec == twin.spec
    stacked = roll_vec.make_vec("roll_vec/FrozenLake-v1", num_envs=3)
    assert type(stacked) is roll_vec.RollVectorEnv
    assert stacked.num_envs == 3
    with pytest.raises(errors.InvalidOptionError, match="CartPole-v1 makes a CartPole"):
        roll_vec.make_vec("CartPole-v1")


def test_text_acts_by_the_names_of_a_lookup(registered):
    id = registered("test/Switch-v0", Switch)
    codes = gymnasium.make_vec(id, num_envs=2)
    codes.reset(seed=0)
    assert codes.step(np.array([1, 0]))[1].tolist() == [1.0, 0.0]
    for wrong in (["on", "off"], ["on"]):
        with pytest.raises(errors.InvalidActionError, match="actions: expected"):
            codes.step(wrong)
    texts = gymnasium.make_vec(id, num_envs=2, action_mode="text", format_penalty=-1)
    texts.reset(seed=0)
    _, rewards, _, _, infos = texts.step(["on", "neither"])
    assert rewards.tolist() == [1.0, -1.0]
    assert infos["action_is_valid"].tolist() == [True, False]


SOKOBAN, COUNTDOWN = "roll_vec/Sokoban-v0", "roll_vec/Countdown-v0"


class EchoAgain(Echo):
    """A new class of the same name, as a notebook cell that is run again makes it."""

    __qualname__ = "Echo"

    def step(self, action):
        return f"{action}!", 0.0, False, False, {}


def test_the_same_class_again_replaces_the_old_one(registered):
    """No warning either: tests run with warnings as errors."""
    id = registered("test/Twice-v0", Echo, max_episode_steps=5, prefix="a ")
    before = gymnasium.make_vec(id, num_envs=2)
    registered(id, EchoAgain, max_episode_steps=1)
    after = gymnasium.make_vec(id, num_envs=2)
    for batch in (before, after):
        batch.reset(seed=0)
    assert before.step(["b"] * 2)[0] == ("a b", "a b")
    observations, _, _, truncations, _ = after.step(["b"] * 2)
    assert (observations, truncations.all()) == (("b!", "b!"), True)
    assert gymnasium.spec(id).kwargs == {}


@pytest.mark.parametrize("cls", [Echo, Switch])
def test_a_closed_environment_of_users_names_itself(registered, cls):
    """The base class refuses resets, the layer of texts steps and frames as well."""
    id = registered("test/Closed-v0", cls)
    env = gymnasium.make(id, **({"action_mode": "text"} if cls is Switch else {}))
    env.reset(seed=0)
    layer = env
    while type(layer).__name__ != "TextWrapper":
        layer = layer.env
    for _ in range(2):
        env.close()
    step = partial(layer.step, "on")
    for use in (env.unwrapped.reset, layer.reset, layer.render, step):
        with pytest.raises(errors.ClosedError, match=f"^{cls.__name__} is closed"):
            use()


@pytest.mark.parametrize("id", [*EACH_ID, "SokobanEnv", "FrozenLakeEnv"])
def test_a_closed_single_environment_names_itself(id):
    env = gymnasium.make(id).unwrapped if "/" in id else getattr(roll, id)()
    env.reset(seed=0)
    restored = pickle.loads(pickle.dumps(env))
    env.close()
    env.close()
    action, name = getattr(env.action_space, "high", 1), type(env).__name__
    if hasattr(env, "level_variables") or name == "SingleEnv":
        name = type(env.options).__name__
    if isinstance(env, roll_vec.BaseLanguageBasedEnv):
        action = "1 + 1"
    for use in (env.reset, partial(env.reset, seed=1), partial(env.step, action)):
        with pytest.raises(errors.ClosedError, match=f"^{name} is closed"):
            use()
    with pytest.raises(errors.ClosedError):
        env.render()
    restored.step(action)


def test_a_pool_of_processes_warns_the_caller_of_a_slow_pattern():
    keywords = {"workers": 1, "executor": "process", "action_pattern": r"(a+)\1"}
    with pytest.warns(errors.SlowPatternWarning, match="action_pattern") as warned:
        gymnasium.make_vec(COUNTDOWN, num_envs=1, **keywords).close()
    assert [warning.filename for warning in warned] == [__file__]


def test_an_entry_is_found_by_the_forms_of_an_id():
    for form in (SOKOBAN, f"roll_vec:{SOKOBAN}", "roll_vec/Sokoban"):
        assert find_registered(form) is ENVIRONMENTS[SOKOBAN]
    assert ENVIRONMENTS[SOKOBAN].load() is roll_vec.SokobanEnv
    with pytest.raises(
        errors.InvalidOptionError, match="id: expected an id of roll_vec"
    ):
        find_registered("CartPole-v1")
    with pytest.raises(gymnasium.error.Error, match="Sokoban"):
        find_registered("roll_vec/Sokban-v0")
