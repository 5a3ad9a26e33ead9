"""The conformance checker: sound environments pass, and every bug is found."""

import random
import re
import threading

import gymnasium
import numpy as np
import pytest
from gymnasium import spaces
from gymnasium.vector import SyncVectorEnv

from roll_vec import PoolVectorEnv
from roll_vec.testing import ConformanceError, check_vector_env, report, runner
from roll_vec.testing.comparison import difference
from tests.gymnasium_versions import narrow_discrete, needs
from tests.pool.envs import drifters
from tests.testing.bugs_of_walks import BUGS, BUGS_OF_IDS
from tests.testing.walks import DISABLED, SAME_STEP, Talk, Walk, make_broken

# Episodes of walks take at most 8.
STEPS = 10


def codes(subject, *, steps=STEPS, **kwargs):
    """Check an environment; return the codes of all findings."""
    try:
        check_vector_env(subject, steps=steps, **kwargs)
    except ConformanceError as error:
        return {finding.slug for finding in error.findings}
    return set()


def message(subject):
    """Check an environment with a bug; return the message of the error."""
    with pytest.raises(AssertionError) as error:
        check_vector_env(subject, steps=STEPS)
    return str(error.value)


@pytest.fixture
def register(forgets_ids):
    """Return a function that registers a vector entry point; it returns the id."""

    def make(entry_point, name="Walk-v0"):
        gymnasium.register(f"roll_vec_tests/{name}", vector_entry_point=entry_point)
        return f"roll_vec_tests/{name}"

    return make


class Excused(Walk):
    """Lacks what may be lacking, and warns."""

    @property
    def np_random_seed(self):
        raise NotImplementedError

    def render(self):
        gymnasium.logger.warn("rendering")
        raise gymnasium.error.DependencyNotInstalled("a painter")


@pytest.mark.parametrize(
    ("subject", "seed", "steps"),
    [(Walk, 0, 30), (Walk, 12345, STEPS), (Talk, 1, 20), (Excused, 1, STEPS)],
)
def test_sound_environment_passes(subject, seed, steps):
    assert check_vector_env(subject, seed=seed, steps=steps) is None


# Bugs that end the whole check, or wait, are alone.
@pytest.mark.parametrize("group", {bug.group: None for bug in BUGS.values()})
def test_bugs_are_found_and_nothing_else(group):
    bugs = [bug for bug in BUGS.values() if bug.group == group]
    # Each bug has a code that no other bug of the line has.
    for bug in bugs:
        others = {code for other in bugs if other is not bug for code in other.codes}
        assert bug.codes[0] not in others
    expected = {code for bug in bugs for code in bug.codes}
    limit = 0.5 if "call-limit" in expected else 30.0
    assert codes(make_broken(*bugs), call_limit=limit) == expected


def test_sound_id_passes(register):
    assert check_vector_env(register(Walk), steps=STEPS) is None


@pytest.mark.parametrize("name", BUGS_OF_IDS)
def test_bug_of_an_id_is_found(register, name):
    bug = BUGS_OF_IDS[name]
    register(Walk)
    assert codes(register(make_broken(bug), "Broken-v0")) == set(bug.codes)


def test_id_without_modes_is_checked_in_its_own(register):
    id = register(lambda num_envs: Walk(num_envs, SAME_STEP))
    assert message(id).count("[autoreset-keyword]") == 1
    # Ids accept a render mode.
    assert codes(id) == {"autoreset-keyword", "render"}


def test_every_check_has_a_rule_and_is_shown_to_fail():
    bugs = [*BUGS.values(), *BUGS_OF_IDS.values()]
    shown = {code for bug in bugs for code in bug.codes}
    codes = [
        *(code for check in runner.CHECKS for code in check.codes),
        *runner.GENERAL,
    ]
    assert sorted(shown) == sorted(codes) == sorted(report.read_rules())


def test_message_lists_all_findings_and_ends_with_the_count():
    broken = make_broken(BUGS["Float32Rewards"], BUGS["StaysOpen"])
    text = message(broken)
    found = re.findall(r"^ +\d\. \[([a-z-]+)\]", text, re.MULTILINE)
    assert found == ["reward-dtype", "closed-flag"]
    for part in (
        "did:      ",
        "found:    rewards: an array of float32, shape (3,)",
        "modes:    NEXT_STEP, SAME_STEP, DISABLED",
    ):
        assert part in text
    assert re.search(r"^2 findings; ", text, re.MULTILINE)
    assert max(map(len, text.splitlines()[:-1])) <= 100
    assert codes(broken, ignore=["reward-dtype", "closed-flag"]) == set()


def test_errors_are_told_once_with_the_checks_that_met_them():
    class Raises(Walk):
        def render(self):
            raise RuntimeError("broken renderer")

        def observations(self):
            if self.ready and self.mode is DISABLED:
                raise RuntimeError("broken observations")
            return super().observations()

    text = message(Raises)
    error = "RuntimeError: broken observations (test_check_vector_env.py:"
    assert text.count(error) == 1
    assert "met in [environment-error], [observation-space]" in text
    assert "RuntimeError: broken renderer" in text


@pytest.mark.parametrize(
    ("arguments", "part"),
    [
        ({"ignore": ["no-such-code"]}, "no-such-code"),
        ({"ignore": ["construct"]}, "construct"),
        ({"seed": -1}, "got seed"),
        ({"steps": 0}, "got seed"),
    ],
)
def test_bad_arguments_are_refused(arguments, part):
    with pytest.raises(ValueError, match=part):
        check_vector_env(Walk, **arguments)


def test_warns_when_no_episode_ended():
    with pytest.warns(UserWarning, match="no episode ended within 1 steps"):
        check_vector_env(Walk, steps=1)


@pytest.mark.parametrize("is_broken", [False, True])
def test_every_environment_made_is_closed(is_broken):
    instances = []

    class Recorded(Walk):
        def __init__(self, *args, **kwargs):
            super().__init__(*args, **kwargs)
            instances.append(self)

        def observations(self):
            if is_broken and self.state[0, 1] > 2:
                raise RuntimeError
            return super().observations()

    assert codes(Recorded) == ({"raises"} if is_broken else set())
    assert len(instances) > 20
    assert all(env.closed for env in instances)


def test_works_in_a_thread_and_leaves_global_generators_alone():
    results, before = [], (random.getstate(), np.random.get_state())
    thread = threading.Thread(target=lambda: results.append(codes(Walk)))
    thread.start()
    thread.join(timeout=30)
    assert results == [set()]
    np.testing.assert_equal((random.getstate(), np.random.get_state()), before)


class Box:
    def __init__(self, value):
        self.value = value


@pytest.mark.parametrize(
    ("left", "right", "parts"),
    [
        (np.array([1.0, np.nan]), np.array([1.0, np.nan]), None),
        (np.zeros(2, np.int8), np.zeros(2, np.int64), ["int8", "against", "int64"]),
        (np.array([1, 2, 3]), np.array([1, 0, 0]), ["[1]: 2 against 0 (2 of 3"]),
        ({"a": ("x", [1])}, {"a": ("x", [2])}, ["a[1][0]: 1 against 2"]),
        ({"a": 1}, {"b": 1}, ["keys ['a'] against keys ['b']"]),
        ((1, 2), [1, 2], ["a tuple of 2 against a list of 2"]),
        (float("nan"), np.float64("nan"), None),
        (np.array([None, "x"]), np.array([None, "y"]), ["[1]: 'x' against 'y'"]),
        (True, np.True_, None),
        # Objects without an equality are compared by their attributes.
        (Box([1]), Box([1]), None),
        (Box([1]), Box([2]), ["against"]),
    ],
)
def test_differences_name_the_place_and_both_values(left, right, parts):
    found = difference(left, right)
    assert found is None if parts is None else all(part in found for part in parts)


def test_nested_spaces_pass():
    check_vector_env(
        lambda num_envs, autoreset_mode: PoolVectorEnv(
            drifters("dict", num_envs), autoreset_mode=autoreset_mode
        ),
        steps=STEPS,
    )


class Anything(gymnasium.Env):
    """Accepts every action."""

    observation_space = spaces.Discrete(5)

    def __init__(self, action_space):
        self.action_space = action_space

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.steps = 0
        return self.steps, {}

    def step(self, action):
        self.steps += 1
        return self.steps, 0.0, self.steps == 4, False, {}


@pytest.mark.parametrize(
    ("space", "misuses"),
    [
        (
            spaces.Discrete(3, start=-1),
            ["actions with 2 in the last place", "actions with -2 in the last place"],
        ),
        (narrow_discrete(255, start=1), ["actions of shape (3, 1)"]),
        pytest.param(
            narrow_discrete(255, start=1),
            ["actions + 0.5"],
            marks=needs("Discrete takes a dtype"),
        ),
        (
            spaces.MultiDiscrete([2, 3], start=[1, 1]),
            ["actions with array([3, 4]) in the last place"],
        ),
        (spaces.MultiBinary(2), ["actions with 2 in the last place"]),
        (
            spaces.Text(4),
            [f"with {it} in the last place" for it in ("7", "None", "b'a'")],
        ),
    ],
)
def test_actions_that_are_accepted_are_found(space, misuses):
    def make(num_envs, autoreset_mode):
        env_fns = [lambda: Anything(space)] * num_envs
        return SyncVectorEnv(env_fns, autoreset_mode=autoreset_mode)

    with pytest.raises(ConformanceError) as error:
        check_vector_env(make, steps=STEPS)
    findings = {finding.slug: finding for finding in error.value.findings}
    done = " ".join(one.did for one in findings["action-invalid"].problems)
    assert all(misuse in done for misuse in misuses), done
