"""Measure contenders in turns, round by round, each in a process of its own.

All processes of a case are alive at once, and idle except the one that is measured.
Other load on the machine therefore slows all contenders alike.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from typing import Any

from benchmarks.machine import usable_cores
from benchmarks.peers import PEERS
from benchmarks.processes import Worker
from benchmarks.tasks import Unavailable

# To compile all kernels takes some 20 s on an idle core; a round takes seconds.
START_SECONDS, ROUND_SECONDS = 300.0, 180.0


@dataclass(frozen=True)
class Contender:
    """Something to measure.

    Parameters
    ----------
    name : str
        Unique in its case.
    module, task : str
        See `benchmarks.worker`.
    options : dict
    engine : str
        The package and the way to run it: a line of the plot.
    peer : str
        Key of `benchmarks.peers.PEERS`, or empty for roll_vec.
    cores : int or None
        1: on one core.  None: on all.
    each_core : bool
        Run once on each core; the rates are summed.
    patience : float
        Factor on the length of its rounds.
    """

    name: str
    module: str
    task: str
    options: dict[str, Any] = field(default_factory=dict)
    engine: str = "roll_vec"
    peer: str = ""
    cores: int | None = None
    each_core: bool = False
    patience: float = 1.0


def _kind(contender: Contender) -> tuple[str, str, Any]:
    """Return a key that contenders with the same compiled code share."""
    return contender.module, contender.task, contender.options.get("id")


class RunningContender:
    """A contender and its processes, which start when it is made.

    Raises
    ------
    Unavailable
        If the interpreter cannot be run.
    """

    def __init__(self, contender: Contender, python: str) -> None:
        self.contender = contender
        copies = usable_cores() if contender.each_core else 1
        pinned = contender.each_core or contender.cores == 1
        peer = contender.peer
        with ExitStack() as stack:
            self.workers: list[Worker] = []
            for core in range(copies):
                spec = {
                    "module": contender.module,
                    "task": contender.task,
                    "options": contender.options,
                    "package": PEERS[peer].package if peer else None,
                    "core": core if pinned else None,
                }
                worker = Worker(spec, python)
                stack.callback(worker.close)
                self.workers.append(worker)
            self._stack = stack.pop_all()

    def get_ready(self) -> None:
        """Wait until it can be measured.

        Raises
        ------
        Unavailable
            If it cannot be measured.
        """
        answers = [worker.wait(START_SECONDS) for worker in self.workers]
        self.unit = answers[0]["unit"]
        self.settings = answers[0]["facts"]
        self.version = answers[0]["version"]

    def measure(self, seconds: float) -> float:
        """Measure for about that time; the processes of several cores together."""
        for worker in self.workers:
            worker.ask(seconds * self.contender.patience)
        answers = [worker.wait(ROUND_SECONDS) for worker in self.workers]
        return float(sum(answer["value"] for answer in answers))

    def record(self) -> dict[str, Any]:
        """Return its description for the result, ready for JSON."""
        contender = self.contender
        return {
            "name": contender.name,
            "engine": contender.engine,
            "peer": contender.peer,
            "version": self.version,
            "cores": 1 if contender.cores == 1 else usable_cores(),
            "processes": len(self.workers),
            "unit": self.unit,
            "facts": self.settings,
        }

    def close(self) -> None:
        """End the processes."""
        self._stack.close()


class ContenderPool:
    """Contenders whose processes are alive together; a context manager.

    Parameters
    ----------
    contenders : sequence of Contender
    seconds : float
        Length of a round of each contender.
    python_of : callable
        Returns the interpreter of a peer, or of roll_vec for the empty name.
    report_progress : callable
        Called when a contender has started or failed to, and before it is measured.

    Attributes
    ----------
    entries : dict of RunningContender
        By name.
    skipped : dict of str
        Reasons by name; for a peer that is not installed, how to install it.
    """

    def __init__(
        self,
        contenders: Sequence[Contender],
        seconds: float,
        python_of: Callable[[str], str],
        report_progress: Callable[[], Any] = lambda: None,
    ) -> None:
        self.seconds, self.python_of = seconds, python_of
        self.report_progress = report_progress
        self.entries: dict[str, RunningContender] = {}
        self.skipped: dict[str, str] = {}
        self._contenders = contenders
        self._stack = ExitStack()

    def __enter__(self) -> ContenderPool:
        with self._stack:
            starting: deque[RunningContender] = deque()
            compiled: set[Any] = set()
            for contender in self._contenders:
                # One on each core at a time.  The first of a kind starts before the
                # others: they find its compiled kernels in the cache.
                while starting and (
                    len(starting) == usable_cores()
                    or _kind(contender)
                    in {_kind(e.contender) for e in starting} - compiled
                ):
                    entry = starting.popleft()
                    self._finish(entry)
                    compiled.add(_kind(entry.contender))
                try:
                    entry = RunningContender(contender, self.python_of(contender.peer))
                except Unavailable as reason:
                    self._skip(contender, reason)
                    self.report_progress()
                else:
                    self._stack.callback(entry.close)
                    starting.append(entry)
            for entry in starting:
                self._finish(entry)
            self._stack = self._stack.pop_all()
        return self

    def _finish(self, entry: RunningContender) -> None:
        """Wait until a contender can be measured, or skip it."""
        try:
            entry.get_ready()
            self.entries[entry.contender.name] = entry
        except Unavailable as reason:
            self._skip(entry.contender, reason)
            entry.close()
        self.report_progress()

    def _skip(self, contender: Contender, error: Unavailable) -> None:
        reason = str(error)
        if contender.peer and reason.startswith("No module named"):
            reason += f": {PEERS[contender.peer].install}"
        self.skipped[contender.name] = reason

    def __exit__(self, *error: object) -> None:
        self._stack.close()

    def measure_interleaved(
        self, names: Sequence[str], rounds: int
    ) -> dict[str, list[float]]:
        """Measure some contenders once a round, one right after the other.

        Returns
        -------
        dict
            By name, one value a round, without the contenders that failed.
        """
        values: dict[str, list[float]] = {name: [] for name in names}
        for _ in range(rounds):
            for name in names:
                self.report_progress()
                if name not in self.entries:
                    continue
                try:
                    values[name].append(self.entries[name].measure(self.seconds))
                except Unavailable as reason:
                    entry = self.entries.pop(name)
                    self._skip(entry.contender, reason)
                    entry.close()
        return {name: values[name] for name in names if name in self.entries}
