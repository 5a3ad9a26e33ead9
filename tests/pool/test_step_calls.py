"""Python calls of a step of cheap environments: they grow, and nobody notices."""

import sys

import pytest

import roll_vec
from tests.conftest import JIT_OFF

NUM_TEXTS = 64


def count_calls(function):
    """Return the number of Python functions that are called in this thread."""
    count = 0

    def profile(_frame, event, _argument):
        nonlocal count
        count += event == "call"

    sys.setprofile(profile)
    try:
        function()
    finally:
        sys.setprofile(None)
    return count - 1


@pytest.mark.skipif(JIT_OFF, reason="kernels call Python functions then")
def test_python_calls_of_a_step_of_texts():
    """The wrapper, the game, the grader and its kernel; and 45 for all together.

    These 45 are of the batch (3), its actions (3), tasks (7), results (9), one for each
    of seven infos, observations (4) and faults (3): 36, and a quarter more.
    """
    answers = ("1 + 2",) * NUM_TEXTS
    envs = roll_vec.make_vec("roll_vec/Countdown-v0", NUM_TEXTS)
    envs.reset(seed=0)
    # The first two load what the others have.
    for _ in range(2):
        envs.step(answers)
    assert count_calls(lambda: envs.step(answers)) <= 4 * NUM_TEXTS + 45
    envs.close()
