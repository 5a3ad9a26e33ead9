"""The simulation of threads: its limits, and the page that has its figures."""

import json

import pytest

from benchmarks.thread_simulation import PAGE, Machine, kernel_seconds, render
from roll_vec.stacked.kernel_threads import HAND_OVERS, PART_SECONDS
from roll_vec.stacked.thread_team import SPIN_SECONDS


@pytest.mark.parametrize("cores", [1, 2, 8, 128])
@pytest.mark.parametrize("alone", [1e-6, 1e-5, 1e-4, 1e-2])
@pytest.mark.parametrize("hand_over", [1e-7, 1e-5])
def test_gain_is_between_one_and_the_cores(cores, alone, hand_over):
    machine = Machine(cores, hand_over, float(cores))
    seconds = kernel_seconds(machine, alone, 1e11, 0.0)
    assert alone / cores < seconds or seconds == alone
    assert seconds <= alone
    if alone < max(2 * PART_SECONDS, HAND_OVERS * hand_over):
        assert seconds == alone


def test_memory_is_a_limit():
    seconds = [
        kernel_seconds(Machine(8, 1e-6, cores), 1e-3, 1e10, 1e7)
        for cores in (8.0, 4.0, 1.0)
    ]
    assert seconds == sorted(seconds)
    # A kernel that takes all the bandwidth of the memory alone gains nothing.
    assert seconds[-1] == pytest.approx(1e-3, rel=0.05)


def test_the_page_has_the_figures_of_its_file():
    content = json.loads(PAGE.with_suffix(".json").read_text())
    assert "\n".join(render(content)) in PAGE.read_text("utf-8")


def test_the_page_has_the_constants_of_the_code():
    words = " ".join(PAGE.read_text("utf-8").split())
    assert f"at least {1e6 * PART_SECONDS:.0f} µs of work" in words
    assert f"at least {HAND_OVERS} times as long as a hand-over" in words
    assert f"waits for {1e6 * SPIN_SECONDS:.0f} µs and then sleeps" in words
