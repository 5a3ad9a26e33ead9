import gymnasium
import numpy as np
import pytest
from gymnasium.spaces import Box, Discrete, Text
from gymnasium.vector.utils import batch_space

from roll_vec.cli._errors import UsageError
from roll_vec.cli.policies import POLICIES, make_policy


def vector(space, num_envs=5):
    """A vector environment of which a policy sees the spaces alone."""
    env = gymnasium.vector.VectorEnv()
    env.num_envs = num_envs
    env.single_action_space = space
    env.action_space = batch_space(space, num_envs)
    return env


def test_random_draws_every_action_of_a_discrete_space_and_no_other():
    env = vector(Discrete(4, start=1), num_envs=1000)
    policy = make_policy("random", env, 0)
    first, second = policy(None), policy(None)
    assert env.action_space.contains(first)
    assert set(first.tolist()) == {1, 2, 3, 4}
    assert (first != second).any()


def test_random_goes_on_over_the_end_of_what_is_drawn_at_once():
    env = vector(Discrete(3), num_envs=50_000)
    policy = make_policy("random", env, 0)
    batches = [policy(None) for _ in range(5)]
    assert len({batch.tobytes() for batch in batches}) == 5


@pytest.mark.parametrize("space", [Discrete(4), Box(-1, 1, (2,)), Text(5)])
def test_random_is_a_function_of_the_seed(space):
    def draw(seed):
        policy = make_policy("random", vector(space), seed)
        return [np.asarray(policy(None)).tolist() for _ in range(3)]

    assert draw(1) == draw(1)
    assert draw(1) != draw(2)
    assert draw(2**70) == draw(2**70)


def test_random_does_not_draw_what_an_environment_of_the_same_seed_draws():
    policy = make_policy("random", vector(Discrete(1000)), 7)
    assert (policy(None) != np.random.default_rng(7).integers(0, 1000, 5)).any()


@pytest.mark.parametrize(
    ("space", "argument", "action"),
    [
        (Discrete(4), "3", 3),
        (Box(-1, 1, (2,)), "[0.5, -0.5]", [0.5, -0.5]),
        (Box(-1, 1, (1,)), "(1,)", [1.0]),
        (Text(9), "hello", "hello"),
    ],
)
def test_constant_is_the_same_action_everywhere(space, argument, action):
    env = vector(space)
    actions = make_policy(f"constant:{argument}", env, 0)(None)
    assert env.action_space.contains(actions)
    assert [np.asarray(one).tolist() for one in actions] == [action] * 5


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("best", "expected random, constant:A or module:attribute, got 'best'"),
        (":x", "got ':x'"),
        ("x:", "got 'x:'"),
        ("random:3", "random takes no argument, got '3'"),
        ("constant", r"needs an action of Discrete\(4\), got ''"),
        ("constant:4", "got '4'"),
        ("constant:up", "got 'up'"),
        ("no_such_module:f", "cannot import no_such_module:f: No module named"),
        ("math:no_such", "cannot import math:no_such: .* no attribute 'no_such'"),
        ("math:pi", "math:pi is not callable, it is 3.14"),
    ],
)
def test_a_policy_that_cannot_be_is_an_error_that_says_why(text, message):
    with pytest.raises(UsageError, match=f"argument --policy: .*{message}"):
        make_policy(text, vector(Discrete(4)), 0)


def test_callable_is_found_in_the_working_directory(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "policy_of_mine.py").write_text(
        "class Agent:\n"
        "    @staticmethod\n"
        "    def act(observations):\n"
        "        return observations + 1\n"
    )
    policy = make_policy("policy_of_mine:Agent.act", vector(Discrete(4)), 0)
    assert policy(np.arange(5)).tolist() == [1, 2, 3, 4, 5]


def test_callable_that_raises_is_named_with_the_place():
    policy = make_policy("json:loads", vector(Discrete(4)), 0)
    with pytest.raises(
        UsageError, match=r"--policy: json:loads raised TypeError: .*, line \d+"
    ):
        policy(None)


def test_callable_that_returns_too_few_actions_is_named_before_they_are_used():
    policy = make_policy("builtins:list", vector(Discrete(4)), 0)
    assert policy(range(5)) == [0, 1, 2, 3, 4]
    message = r"builtins:list returned actions of shape \(3,\) for 5 environments"
    with pytest.raises(UsageError, match=message):
        policy(range(3))


def test_a_policy_of_the_registry_gets_the_environment(monkeypatch):
    monkeypatch.setitem(
        POLICIES, "echo", lambda env, argument, seed: lambda _: (env, argument, seed)
    )
    env = vector(Discrete(4))
    assert make_policy("echo:a:b", env, 3)(None) == (env, "a:b", 3)
