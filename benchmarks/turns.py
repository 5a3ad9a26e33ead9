"""Contenders that take turns, each in a process of its own.

All processes of a case are alive at once and idle but for the one that is measured,
one after the other, round after round, so that what else the machine does falls on all
of them.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from benchmarks.peers import PEERS
from benchmarks.tasks import Unavailable

ROOT = Path(__file__).resolve().parent.parent
THIS_PYTHON = sys.executable
# Compiling everything takes some 20 s on an idle core; a round takes seconds.
START_SECONDS, ROUND_SECONDS = 300.0, 180.0


def usable_cores() -> int:
    """Return the number of cores this process may run on."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def child_environment() -> dict[str, str]:
    """Return the environment of a worker: it finds this folder's parent first."""
    inherited = os.environ.get("PYTHONPATH")
    path = os.pathsep.join([str(ROOT), *([inherited] if inherited else [])])
    return {**os.environ, "PYTHONPATH": path, "JAX_PLATFORMS": "cpu"}


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


class Worker:
    """A process that measures one task when asked to.

    Parameters
    ----------
    spec : dict
        See `benchmarks.worker`.
    python : str
        The interpreter.
    """

    def __init__(self, spec: dict[str, Any], python: str) -> None:
        self._errors = tempfile.TemporaryFile(  # noqa: SIM115 - closed by `close`
            "w+", encoding="utf-8", errors="replace"
        )
        try:
            self._process = subprocess.Popen(
                [python, "-m", "benchmarks.worker", json.dumps(spec)],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=self._errors,
                env=child_environment(),
                encoding="utf-8",
            )
        except OSError as error:
            self._errors.close()
            raise Unavailable(f"{python}: {error.strerror}") from None

    def wait(self, seconds: float) -> dict[str, Any]:
        """Return the next answer.

        Raises
        ------
        Unavailable
            If there is a reason not to run, no answer in time, or no process.
        """
        timer = threading.Timer(seconds, self._process.kill)
        timer.start()
        try:
            line = self._process.stdout.readline()  # type: ignore[union-attr]
            late = not timer.is_alive()
        finally:
            timer.cancel()
        if line:
            answer: dict[str, Any] = json.loads(line)
            if "skip" in answer:
                raise Unavailable(answer["skip"])
            return answer
        if late:
            raise Unavailable(f"no answer within {seconds:.0f} s")
        self._process.wait()
        self._errors.seek(0)
        last = self._errors.read().split("\n")
        lines = [text.strip() for text in last if text.strip()]
        said = lines[-1] if lines else "without a word"
        raise Unavailable(f"ended with code {self._process.returncode}: {said}")

    def ask(self, seconds: float) -> None:
        """Let it measure for about so many seconds."""
        try:
            self._process.stdin.write(f"{seconds}\n")  # type: ignore[union-attr]
            self._process.stdin.flush()  # type: ignore[union-attr]
        except OSError:
            return  # it has ended, which `wait` will say

    def close(self) -> None:
        """End the process."""
        self._process.kill()
        self._process.wait()
        for stream in (self._process.stdin, self._process.stdout, self._errors):
            try:
                stream.close()  # type: ignore[union-attr]
            except OSError:
                continue  # something unwritten for a process that is no more


class Entry:
    """A contender whose processes run.

    Raises
    ------
    Unavailable
    """

    def __init__(self, contender: Contender, python: str) -> None:
        self.contender = contender
        copies = usable_cores() if contender.process_per_core else 1
        pinned = contender.process_per_core or contender.cores == 1
        with ExitStack() as stack:
            self.workers: list[Worker] = []
            for core in range(copies):
                spec = {
                    "module": contender.module,
                    "task": contender.task,
                    "options": contender.options,
                    "package": contender.peer and PEERS[contender.peer].package,
                    "core": core if pinned else None,
                }
                worker = Worker(spec, python)
                stack.callback(worker.close)
                self.workers.append(worker)
            answers = [worker.wait(START_SECONDS) for worker in self.workers]
            self._stack = stack.pop_all()
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
        Told when a contender has started or was measured, or will not be.

    Attributes
    ----------
    entries : dict of Entry
        By name; of those that run.
    skipped : dict of str
        Names of the others, and why.
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
        with self._stack, ThreadPoolExecutor(usable_cores()) as pool:
            # The first one alone: what it compiles the others find in the cache.
            found = [self._enter(contender) for contender in self._contenders[:1]]
            found += pool.map(self._enter, self._contenders[1:])
            for entry in filter(None, found):
                self.entries[entry.contender.name] = entry
            self._stack = self._stack.pop_all()
        return self

    def _enter(self, contender: Contender) -> Entry | None:
        try:
            entry = Entry(contender, self.python_of(contender.peer))
        except Unavailable as reason:
            self.skipped[contender.name] = str(reason)
            return None
        finally:
            self.tell()
        self._stack.callback(entry.close)
        return entry

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
                    self.skipped[name] = str(reason)
                    del self.entries[name]
        return {name: values[name] for name in names if name in self.entries}
