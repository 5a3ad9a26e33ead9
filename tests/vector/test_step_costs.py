"""A step has no loop over environments in Python: its bytecodes are counted."""

import inspect
import sys
from contextlib import closing

import pytest

from benchmarks import batches
from tests.conftest import JIT_OFF

LAKE, SOKOBAN = "roll_vec/FrozenLake-v1", "roll_vec/Sokoban-v0"


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


@pytest.mark.skipif(JIT_OFF, reason="kernels are Python then")
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
