"""Contenders that take turns, each in a process of its own.

All processes of a case are alive at once and idle but for the one that is measured,
one after the other, round after round, so that what else the machine does falls on all
of them.
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

# Compiling everything takes some 20 s on an idle core; a round takes seconds.
START_SECONDS, ROUND_SECONDS = 300.0, 180.0


@dataclass(frozen=True)
class Contender:
    """Something to measure.

    Parameters
    ----------
    name : str
        One of its own in its case.
    engine : str
        Whose it is and how it is run: a line of the plot.
    module, task : str
        See `benchmarks.worker`.
    options : dict
    peer : str
        Key of `benchmarks.peers.PEERS`, or empty for ours.
    cores : int or None
        1: on one core.  None: all may be used.
    process_per_core : bool
        Run once on each core; the rates are summed.
    patience : float
        So many times as long a round as the others have.
    """

    name: str
    engine: str
    module: str
    task: str
    options: dict[str, Any] = field(default_factory=dict)
    peer: str = ""
    cores: int | None = None
    process_per_core: bool = False
    patience: float = 1.0


def _kind(contender: Contender) -> tuple[str, str, Any]:
    """Return what those have in common that compile the same."""
    return contender.module, contender.task, contender.options.get("id")


class Entry:
    """A contender and its processes, which start at once.

    Raises
    ------
    Unavailable
        If there is no interpreter to run them.
    """

    def __init__(self, contender: Contender, python: str) -> None:
        self.contender = contender
        copies = usable_cores() if contender.process_per_core else 1
        pinned = contender.process_per_core or contender.cores == 1
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
            If it never can.
        """
        answers = [worker.wait(START_SECONDS) for worker in self.workers]
        self.unit = answers[0]["unit"]
        self.facts = answers[0]["facts"]
        self.version = answers[0]["version"]

    def measure(self, seconds: float) -> float:
        """Measure for about so many seconds; processes of several cores together."""
        for worker in self.workers:
            worker.ask(seconds * self.contender.patience)
        answers = [worker.wait(ROUND_SECONDS) for worker in self.workers]
        return float(sum(answer["value"] for answer in answers))

    def record(self) -> dict[str, Any]:
        """Return what is known of it, for JSON."""
        contender = self.contender
        return {
            "name": contender.name,
            "engine": contender.engine,
            "peer": contender.peer,
            "version": self.version,
            "cores": 1 if contender.cores == 1 else usable_cores(),
            "processes": len(self.workers),
            "unit": self.unit,
            "facts": self.facts,
        }

    def close(self) -> None:
        """End the processes."""
        self._stack.close()


class Field:
    """Contenders that are alive together; a context.

    Parameters
    ----------
    contenders : sequence of Contender
    seconds : float
        Of each contender in each round.
    python_of : callable
        The interpreter of a peer, of ours for the empty name.
    tell : callable
        Told when a contender has started, or will not, and before it is measured.

    Attributes
    ----------
    entries : dict of Entry
        By name; of those that run.
    skipped : dict of str
        Names of the others, and why; how to have a peer that is not installed.
    """

    def __init__(
        self,
        contenders: Sequence[Contender],
        seconds: float,
        python_of: Callable[[str], str],
        tell: Callable[[], Any] = lambda: None,
    ) -> None:
        self.seconds, self.python_of, self.tell = seconds, python_of, tell
        self.entries: dict[str, Entry] = {}
        self.skipped: dict[str, str] = {}
        self._contenders = contenders
        self._stack = ExitStack()

    def __enter__(self) -> Field:
        with self._stack:
            starting: deque[Entry] = deque()
            known: set[Any] = set()
            for contender in self._contenders:
                # One on each core, but the first of its kind alone: what it compiles
                # the others find in the cache.
                while starting and (
                    len(starting) == usable_cores()
                    or _kind(contender)
                    in {_kind(e.contender) for e in starting} - known
                ):
                    entry = starting.popleft()
                    self._finish(entry)
                    known.add(_kind(entry.contender))
                try:
                    entry = Entry(contender, self.python_of(contender.peer))
                except Unavailable as reason:
                    self._skip(contender, reason)
                    self.tell()
                else:
                    self._stack.callback(entry.close)
                    starting.append(entry)
            for entry in starting:
                self._finish(entry)
            self._stack = self._stack.pop_all()
        return self

    def _finish(self, entry: Entry) -> None:
        """Wait until a contender can be measured, or turns out not to."""
        try:
            entry.get_ready()
            self.entries[entry.contender.name] = entry
        except Unavailable as reason:
            self._skip(entry.contender, reason)
            entry.close()
        self.tell()

    def _skip(self, contender: Contender, error: Unavailable) -> None:
        reason = str(error)
        if contender.peer and reason.startswith("No module named"):
            reason += f": {PEERS[contender.peer].install}"
        self.skipped[contender.name] = reason

    def __exit__(self, *error: object) -> None:
        self._stack.close()

    def take_turns(self, names: Sequence[str], rounds: int) -> dict[str, list[float]]:
        """Measure some contenders once a round, one right after the other.

        Returns
        -------
        dict
            By name, a value a round; who failed on the way is skipped from then on.
        """
        values: dict[str, list[float]] = {name: [] for name in names}
        for _ in range(rounds):
            for name in names:
                self.tell()
                if name not in self.entries:
                    continue
                try:
                    values[name].append(self.entries[name].measure(self.seconds))
                except Unavailable as reason:
                    entry = self.entries.pop(name)
                    self._skip(entry.contender, reason)
                    entry.close()
        return {name: values[name] for name in names if name in self.entries}
