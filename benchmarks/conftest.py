"""The fixture `versus`: rounds of the sides of a group in turns.

pytest-benchmark measures one test after the other, so that other load on the machine
slows one side alone.  Here each test registers its work, and after the last test of a
group all are measured round by round.  Ratios of equal rounds then hold on a busy
machine.
"""

from __future__ import annotations

import gc
import importlib.metadata
import importlib.util
import os
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

if importlib.util.find_spec("pytest_benchmark") is None:
    raise pytest.UsageError("pytest-benchmark is missing: pip install -e '.[bench]'")
HERE = Path(__file__).parent
PACKAGES = (
    *("roll-vec", "numpy", "numba", "gymnasium", "ray", "envpool", "gymnax", "jumanji"),
    *("jax", "gym-sokoban", "reasoning-gym", "minigrid", "navix"),
)
OURS = "roll_vec"


@dataclass
class Side:
    """One side of a group, ready to be measured.

    Parameters
    ----------
    benchmark : BenchmarkFixture
        Its options say how many rounds and how long; it has the results.
    measure : callable
        Returns the seconds of so many calls.
    calls, amount : int
        Calls of a round; steps, rooms or tasks of a call.
    close : callable
    """

    benchmark: Any
    measure: Callable[[int], float]
    calls: int
    amount: int
    close: Callable[[], Any]

    def __post_init__(self) -> None:
        # pytest-benchmark divides times by it.
        self.stats = self.benchmark._make_stats(self.calls * self.amount)

    def run_round(self) -> None:
        """Measure once."""
        self.stats.update(self.measure(self.calls))


SIDES = pytest.StashKey[list[Side]]()


class Versus:
    """Registers the work of a test.

    Parameters
    ----------
    benchmark : BenchmarkFixture
    sides : list of Side
        Those of the group until now.
    """

    def __init__(self, benchmark: Any, sides: list[Side]) -> None:
        self.benchmark, self._sides = benchmark, sides

    def __call__(
        self,
        work: Callable[[], Any],
        amount: int = 1,
        unit: str = "step",
        *,
        close: Callable[[], Any] = lambda: None,
        clock: Callable[[], float] = time.perf_counter,
        **facts: Any,
    ) -> None:
        """Register work whose calls are timed.

        Parameters
        ----------
        work : callable
            Compiles, if at all, in its first call.
        amount : int
            Of steps, rooms, tasks in a call.
        unit : str
        close : callable
            Called when the group was measured.
        clock : callable
            Returns seconds; of the processor, all threads, by ``time.process_time``.
        **facts
            For ``extra_info`` in the JSON.
        """

        def measure(calls: int) -> float:
            start = clock()
            for _ in range(calls):
                work()
            return clock() - start

        measure(1)
        self._register(measure, amount, unit, close, facts)

    def by_itself(self, seconds: Callable[[], float], unit: str, **facts: Any) -> None:
        """Register work that returns the seconds of one unit; a round is one call."""
        self._register(lambda _: seconds(), 1, unit, lambda: None, facts, calls=1)

    def _register(
        self,
        measure: Callable[[int], float],
        amount: int,
        unit: str,
        close: Callable[[], Any],
        facts: dict[str, Any],
        calls: int = 0,
    ) -> None:
        benchmark = self.benchmark
        benchmark.extra_info.update(facts, unit=unit)
        # pytest-benchmark warns of fixtures without a mode.
        benchmark._mode = "versus(...)"
        if benchmark.disabled:
            measure(1)
            close()
            return
        if not calls:
            seconds = benchmark._max_time / benchmark._min_rounds
            calls = max(round(seconds / measure(1)), 1)
        self._sides.append(Side(benchmark, measure, calls, amount, close))


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the option for a peer that no package has."""
    parser.addoption(
        "--pufferlib", default="", metavar="PATH", help="a checkout of PufferLib 4"
    )


@pytest.fixture
def versus(benchmark: Any, request: pytest.FixtureRequest) -> Versus:
    """Register a side of the group that the mark ``benchmark(group=...)`` names."""
    benchmark.group = group_of(request.node)
    return Versus(benchmark, request.config.stash.setdefault(SIDES, []))


def group_of(item: pytest.Item | None) -> str:
    """Return the group of a test: the mark's text, with the test's parameters."""
    mark = item and item.get_closest_marker("benchmark")
    if not mark or "group" not in mark.kwargs:
        return ""
    parameters = item.callspec.params if hasattr(item, "callspec") else {}
    return str(mark.kwargs["group"].format(**parameters))


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Put the tests of a group one after the other."""
    ours = [item for item in items if item.path.is_relative_to(HERE)]
    groups = {group_of(item): None for item in ours}
    order = {group: number for number, group in enumerate(groups)}
    ours.sort(key=lambda item: order[group_of(item)])
    items[:] = [item for item in items if not item.path.is_relative_to(HERE)] + ours
    for item in ours:
        # Errors in this project; other packages warn of what is not ours.
        item.add_marker(pytest.mark.filterwarnings("ignore"))


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_teardown(
    item: pytest.Item, nextitem: pytest.Item | None
) -> Iterator[None]:
    """Measure a group after its last test."""
    error = None
    if nextitem is None or group_of(nextitem) != group_of(item):
        error = run_group(item.config.stash.get(SIDES, []))
    yield
    if error:
        raise error


def run_group(sides: list[Side]) -> Exception | None:
    """Measure sides in turns, and close them; return the first error.

    A side that raises is measured no more, and has no results.
    """
    error, running = None, list(sides)
    rounds = max((side.benchmark._min_rounds for side in sides), default=0)
    with ExitStack() as stack:
        for side in sides:
            stack.callback(side.close)
        sides.clear()
        # Collections meanwhile do not look at what other libraries have loaded.
        gc.collect()
        gc.freeze()
        stack.callback(gc.unfreeze)
        for number in range(rounds):
            # Each is first in some of the rounds.
            shift = number % max(len(running), 1)
            for side in running[shift:] + running[:shift]:
                try:
                    side.run_round()
                except Exception as raised:
                    error = error or raised
                    side.benchmark.has_error = True
                    running.remove(side)
    return error


def pytest_benchmark_update_machine_info(machine_info: dict[str, Any]) -> None:
    """Add the cores that this process may use, and the versions of packages."""
    machine_info["cores"] = len(os.sched_getaffinity(0))
    every = importlib.metadata.distributions()
    versions = {x.name.lower().replace("_", "-"): x.version for x in every}
    installed = [name for name in PACKAGES if name in versions]
    machine_info["packages"] = {name: versions[name] for name in installed}
