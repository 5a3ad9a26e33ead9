"""The conformance checker: sound environments pass, and every bug is found.

`walk` has a sound environment; the modules ``bugs_of_*`` have broken ones with the
codes of their findings.
"""

from __future__ import annotations

import random
import re
import threading
from typing import ClassVar

import gymnasium
import numpy as np
import pytest
from gymnasium.vector import AutoresetMode

import roll_vec.testing
from roll_vec.testing import check_vector_env
from roll_vec.testing.registry import GENERAL, GROUPS
from tests.testing import (
    bugs_of_episodes,
    bugs_of_results,
    bugs_of_texts,
    bugs_of_use,
)
from tests.testing.bug_table import STEPS, codes
from tests.testing.walk import Walk

BUGS = {
    **bugs_of_results.BUGS,
    **bugs_of_episodes.BUGS,
    **bugs_of_use.BUGS,
    **bugs_of_texts.BUGS,
}


def message(subject, **kwargs):
    """Check an environment with a bug; return the message of the error."""
    with pytest.raises(AssertionError) as error:
        check_vector_env(subject, steps=STEPS, **kwargs)
    return str(error.value)


def test_sound_factory_passes():
    assert check_vector_env(Walk, steps=60) is None


@pytest.mark.parametrize("seed", [1, 12345])
def test_sound_factory_passes_with_any_seed(seed):
    assert check_vector_env(Walk, seed=seed, steps=STEPS) is None


@pytest.mark.parametrize("seed", [0, 1])
def test_sound_environment_of_texts_passes(seed):
    assert check_vector_env(bugs_of_texts.Talk, seed=seed, steps=40) is None


def test_attributes_that_are_not_available_are_left_out():
    class Excused(Walk):
        @property
        def np_random_seed(self):
            raise NotImplementedError

        def render(self):
            raise gymnasium.error.DependencyNotInstalled("a painter")

    assert check_vector_env(Excused, steps=STEPS) is None


@pytest.fixture
def register():
    """Register vector entry points for one test."""
    ids = set(gymnasium.registry)

    def make(entry_point, name="Walk-v0"):
        gymnasium.register(f"roll_vec_tests/{name}", vector_entry_point=entry_point)
        return f"roll_vec_tests/{name}"

    yield make
    for name in set(gymnasium.registry) - ids:
        del gymnasium.registry[name]


def test_sound_id_passes(register):
    assert check_vector_env(register(Walk), steps=STEPS) is None


@pytest.mark.parametrize(
    "broken",
    [
        # A third of a second each: all but every third are among the slow tests.
        pytest.param(bug, marks=[pytest.mark.slow] if i % 3 else [])
        for i, bug in enumerate(BUGS)
    ],
    ids=lambda broken: broken.__name__,
)
def test_bug_is_found_and_nothing_else(broken):
    limit = 0.5 if "call-limit" in BUGS[broken] else 30.0
    assert codes(broken, call_limit=limit) == set(BUGS[broken])


def test_mode_refused_as_string_is_found(register):
    def entry_point(num_envs, autoreset_mode=AutoresetMode.NEXT_STEP, **kwargs):
        assert isinstance(autoreset_mode, AutoresetMode)
        return Walk(num_envs, autoreset_mode, **kwargs)

    assert codes(register(entry_point)) == {"autoreset-string"}


def test_mode_ignored_as_string_is_found(register):
    def entry_point(num_envs, autoreset_mode=AutoresetMode.NEXT_STEP, **kwargs):
        if isinstance(autoreset_mode, str):
            autoreset_mode = AutoresetMode.NEXT_STEP
        return Walk(num_envs, autoreset_mode, **kwargs)

    assert codes(register(entry_point)) == {"autoreset-string"}


def test_id_without_modes_is_checked_in_its_own(register):
    factory = lambda num_envs: Walk(num_envs, AutoresetMode.SAME_STEP)  # noqa: E731
    text = message(register(factory))
    assert text.count("[autoreset-keyword]") == 1
    assert "[next-step-reset] there is no mode NEXT_STEP" in text
    assert "[autoreset-string] autoreset_mode is refused" in text


def test_spec_that_makes_nothing_is_found(register):
    class NoSpec(Walk):
        spec = None

        def __setattr__(self, name, value):
            if name != "spec":
                super().__setattr__(name, value)

    assert codes(register(NoSpec)) == {"spec-rebuild", "spec-settable"}


def test_spec_that_makes_another_is_found(register):
    other = register(Walk, "Other-v0")

    class OtherSpec(Walk):
        @property
        def spec(self):
            return gymnasium.spec(other) if self.is_set else None

        @spec.setter
        def spec(self, spec):
            self.is_set = True

        is_set = False

    assert codes(register(OtherSpec)) == {"spec-rebuild", "spec-settable"}


def test_every_check_is_shown_to_fail():
    codes_of_bugs = {code for bug in BUGS.values() for code in bug}
    # These need an id, or text: see the tests above and in test_gymnasium.py.
    codes_of_bugs |= {"autoreset-string", "spec-rebuild", "text-stale"}
    all_codes = {check.slug for group in GROUPS.values() for check in group}
    assert codes_of_bugs == all_codes | GENERAL.keys()


def test_message_lists_all_findings_and_ends_with_the_count():
    class Two(Walk):
        metadata: ClassVar = {"render_modes": []}

        def results(self, rewards, *others):
            return super().results(rewards.astype(np.float32), *others)

        def close(self):
            pass

    text = message(Two)
    assert re.findall(r"^ +\d\. \[([a-z-]+)\]", text, re.MULTILINE) == [
        "reward-dtype",
        "closed-flag",
    ]
    assert "did:      " in text
    assert "found:    rewards: an array of float32, shape (3,)" in text
    assert "modes:    NEXT_STEP, SAME_STEP, DISABLED" in text
    assert "[render] metadata['render_modes'] names none but human" in text
    assert re.search(
        r"^2 findings; \d\d checks ran, 5 did not apply", text, re.MULTILINE
    )
    assert max(map(len, text.splitlines()[:-1])) <= 100


def test_errors_are_told_once_with_the_checks_that_met_them():
    class Raises(Walk):
        def render(self):
            raise RuntimeError("broken renderer")

        def observations(self):
            if self.ready and self.mode is AutoresetMode.DISABLED:
                raise RuntimeError("broken observations")
            return super().observations()

    text = message(Raises)
    assert (
        text.count("RuntimeError: broken observations (test_check_vector_env.py:") == 1
    )
    assert "met in [environment-error], [observation-space]" in text
    assert "RuntimeError: broken renderer" in text


def test_ignored_codes_are_not_reported():
    class Float32(Walk):
        def results(self, rewards, *others):
            return super().results(rewards.astype(np.float32), *others)

    assert codes(Float32, ignore=["reward-dtype"]) == set()


@pytest.mark.parametrize("ignore", [["no-such-code"], ["construct"]])
def test_codes_that_cannot_be_ignored(ignore):
    with pytest.raises(ValueError, match=ignore[0]):
        check_vector_env(Walk, ignore=ignore)


@pytest.mark.parametrize("wrong", [{"seed": -1}, {"steps": 0}])
def test_arguments_out_of_range(wrong):
    with pytest.raises(ValueError, match="got seed"):
        check_vector_env(Walk, **wrong)


def test_docstring_explains_every_code():
    documented = re.findall(r"``([a-z-]+)``[:,]", roll_vec.testing.__doc__)
    slugs = [check.slug for group in GROUPS.values() for check in group]
    assert sorted(documented) == sorted([*slugs, *GENERAL])


def test_warns_when_no_episode_ended():
    with pytest.warns(UserWarning, match="no episode ended within 1 steps"):
        check_vector_env(Walk, steps=1)


@pytest.mark.parametrize("broken", [False, True])
def test_every_environment_made_is_closed(broken):
    instances = []

    class Recorded(Walk):
        def __init__(self, *args, **kwargs):
            super().__init__(*args, **kwargs)
            instances.append(self)

        def observations(self):
            if broken and self.state[0, 1] > 2:
                raise RuntimeError
            return super().observations()

    assert codes(Recorded) == ({"raises"} if broken else set())
    assert len(instances) > 20
    assert all(env.closed for env in instances)


def test_global_generators_are_left_alone():
    before = random.getstate(), np.random.get_state()
    check_vector_env(Walk, steps=STEPS)
    after = random.getstate(), np.random.get_state()
    assert before[0] == after[0]
    np.testing.assert_equal(before[1], after[1])


def test_warnings_of_the_environment_are_not_shown():
    class Warns(Walk):
        def render(self):
            gymnasium.logger.warn("rendering")
            return super().render()

    check_vector_env(Warns, steps=STEPS)


def test_works_outside_the_main_thread():
    results = []
    thread = threading.Thread(target=lambda: results.append(codes(Walk)))
    thread.start()
    thread.join(timeout=30)
    assert results == [set()]
