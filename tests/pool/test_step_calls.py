"""Python calls of a step of cheap environments: they grow, and nobody notices."""

import pytest

from benchmarks.step_calls import NUM_TEXTS, count_text_step
from tests.conftest import JIT_OFF


@pytest.mark.skipif(JIT_OFF, reason="kernels call Python functions then")
def test_python_calls_of_a_step_of_texts():
    """The wrapper, the game, the grader and its kernel; and 45 for all together.

    These 45 are of the batch (3), its actions (3), tasks (7), results (9), one for each
    of seven infos, observations (4) and faults (3): 36, and a quarter more.
    """
    assert count_text_step(0) <= 4 * NUM_TEXTS + 45
