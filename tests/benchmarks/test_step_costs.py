"""The figures of `benchmarks.step_costs`."""

import pytest

from benchmarks import step_costs
from tests.conftest import JIT_OFF


@pytest.mark.skipif(JIT_OFF, reason="nothing is compiled")
def test_kernels_are_a_part_of_a_step(monkeypatch):
    monkeypatch.setattr(step_costs, "ENV_STEPS", 1)
    for id, keywords in step_costs.CASES.values():
        keywords = (
            {**keywords, "num_levels": 3} if "num_levels" in keywords else keywords
        )
        cost, share = step_costs.measure(id, keywords, 2)
        assert cost > 0.0
        assert share > 0.0
