"""Bytecodes and Python calls of a step are counted: they grow, and nobody notices."""

import inspect
import sys
from contextlib import closing

import pytest

import roll_vec
from benchmarks import batches
from tests.conftest import JIT_OFF

LAKE, SOKOBAN = "roll_vec/FrozenLake-v1", "roll_vec/Sokoban-v0"
needs_jit = pytest.mark.skipif(JIT_OFF, reason="kernels are Python then")


def count_bytecodes(env, actions):
    """Return how many bytecodes of Python a step runs."""
    count = 0

    def trace(frame, event, _):
        nonlocal count
        frame.f_trace_opcodes = True
        count += event == "opcode"
        return trace

    # Python 3.12 asks for this where tracing begins.
    inspect.currentframe().f_trace_opcodes = True
    previous = sys.gettrace()
    sys.settrace(trace)
    try:
        env.step(actions)
    finally:
        sys.settrace(previous)
    return count


@needs_jit
@pytest.mark.parametrize(
    ("id", "keywords", "most"),
    [
        (LAKE, {}, 5),
        (SOKOBAN, {"num_levels": 256}, 5),
        (SOKOBAN, {}, 5),
        # A text is an object of Python.
        (SOKOBAN, {"num_levels": 256, "obs_mode": "text"}, 30),
    ],
)
def test_a_step_has_no_loop_over_environments_in_python(id, keywords, most):
    counts = []
    for num_envs in (64, 320):
        with closing(batches.make(id, num_envs, **keywords)) as env:
            actions = batches.actions_of(env, 9)
            for batch in actions:
                env.step(batch)
            # Where an episode begins, its level may not be there yet.
            counts.append(min(count_bytecodes(env, batch) for batch in actions))
    assert counts[0] > 0
    # A call of a function takes more than that.
    assert counts[1] - counts[0] <= most * (320 - 64)


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


@needs_jit
def test_python_calls_of_a_step_of_texts():
    """The wrapper, the game, the grader and its kernel; and 45 for all together.

    These 45 are of the batch (3), its actions (3), tasks (7), results (9), one for each
    of seven infos, observations (4) and faults (3): 36, and a quarter more.
    """
    num_texts = 64
    answers = ("1 + 2",) * num_texts
    envs = roll_vec.make_vec("roll_vec/Countdown-v0", num_texts)
    envs.reset(seed=0)
    # The first two load what the others have.
    for _ in range(2):
        envs.step(answers)
    assert count_calls(lambda: envs.step(answers)) <= 4 * num_texts + 45
    envs.close()
