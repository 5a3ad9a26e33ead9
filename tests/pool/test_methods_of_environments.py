"""Solutions of a user's environments."""

from functools import partial

import pytest

import roll_vec
from roll_vec.envs.countdown import Countdown
from roll_vec.errors import InvalidOptionError, ResetNeededError, UnsupportedError
from roll_vec.pool.factories import build
from tests.pool import cases
from tests.pool.envs import Counter, Talker

pytestmark = cases.FAULTS_ON_PURPOSE

COUNTDOWN = "roll_vec/Countdown-v0"
TAGS = "<think>(.*?)</think>\\s*<answer>(.*?)</answer>"


class Tutor(Talker):
    """A user's environment with a solution."""

    def solve(self):
        return None if self.turn else ["go"] * self.goal


def countdowns(num_envs=6, **keywords):
    """Return a pool of Countdown that was reset, and its single environments."""
    envs = roll_vec.make_vec(COUNTDOWN, num_envs, **keywords)
    envs.reset(seed=10)
    singles = [Countdown() for _ in range(num_envs)]
    for seed, single in enumerate(singles, 10):
        single.reset(seed=seed)
    return envs, singles


@cases.EACH_EXECUTOR
def test_environments_without_the_methods(workers):
    with cases.pool([Talker] * 3, **workers) as env:
        env.reset(seed=1)
        with pytest.raises(
            UnsupportedError, match=r"set_level_options: .* make a new one"
        ):
            env.set_level_options(length=3)
        with pytest.raises(UnsupportedError, match=r"solve: Talker has no method"):
            env.solve()
    with pytest.raises(UnsupportedError, match=r"solve: Talker has no method"):
        build(Talker, {"action_pattern": TAGS}).solve()


@cases.EACH_EXECUTOR
def test_countdown_is_solved_in_the_form_of_its_texts(workers):
    envs, singles = countdowns(action_pattern=TAGS, **workers)
    texts = [one[0] for one in envs.solve()]
    texts[4] = "no answer"
    assert texts[0] == f"<think>...</think><answer>{singles[0].solve()[0]}</answer>"
    assert envs.step(texts)[1].tolist() == [1.0, 1.0, 1.0, 1.0, 0.0, 1.0]
    assert envs.solve() == (None,) * 6
    with pytest.raises(InvalidOptionError, match="objective: expected 'moves', the"):
        envs.solve("pushes")
    envs.close()
    new = roll_vec.make_vec(COUNTDOWN, 2, **workers)
    with pytest.raises(ResetNeededError):
        new.solve()
    new.close()


def test_a_solution_that_no_text_is_known_for():
    envs = roll_vec.make_vec(COUNTDOWN, 2, action_pattern=r"[Aa]nswer: (\S)")
    envs.reset(seed=0)
    with pytest.raises(UnsupportedError, match="no text is known that action_pattern="):
        envs.solve()


@cases.EACH_EXECUTOR
def test_an_environment_that_failed_has_no_solution(workers):
    with cases.pool([Tutor] * 3, **workers) as env:
        env.reset(seed=5)
        env.step(cases.with_fault(["go"] * 3, 1, "raise"))
        assert env.solve() == (None,) * 3
        env.set_attr("fail_resets", [False, True, False])
        env.reset()
        solutions = env.solve()
        assert [solution is None for solution in solutions] == [False, True, False]


class Lift(Counter):
    """Integer actions with a solution."""

    def solve(self):
        return [1] * (10 - self.count)


def test_a_users_environment_of_integers_solves_itself_in_words():
    for keywords in ({}, {"action_mode": "text", "action_pattern": "<a>(.*?)</a>"}):
        with cases.pool([partial(build, Lift, keywords)] * 2) as env:
            env.reset(seed=3)
            (solution, _), (count, _) = env.solve(), env.get_attr("count")
            assert solution == (["<a>Up</a>"] if keywords else [1]) * (10 - count)
            for action in solution:
                terminations = env.step([action] * 2)[2]
            assert terminations[0]
