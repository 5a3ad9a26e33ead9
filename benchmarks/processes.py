"""The processes that measure, seen from the suite: start, ask, wait, kill.

Each process has a session of its own, so that its children are killed with it, and a
folder of its own for temporary files.  The folder is removed from here, because a
killed process cannot tidy up.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import tempfile
import threading
from contextlib import suppress
from pathlib import Path
from typing import Any

from benchmarks.tasks import Unavailable

ROOT = Path(__file__).resolve().parent.parent
THIS_PYTHON = sys.executable


def child_environment(**more: str) -> dict[str, str]:
    """Return environment variables with which a child imports this checkout."""
    inherited = os.environ.get("PYTHONPATH")
    path = os.pathsep.join([str(ROOT), *([inherited] if inherited else [])])
    return {**os.environ, "PYTHONPATH": path, "JAX_PLATFORMS": "cpu", **more}


class Worker:
    """A process that measures one task when asked to.

    Parameters
    ----------
    spec : dict
        See `benchmarks.worker`.
    python : str
        The interpreter.

    Raises
    ------
    Unavailable
        If there is no such interpreter.
    """

    def __init__(self, spec: dict[str, Any], python: str) -> None:
        self._killed = False
        self._folder = tempfile.TemporaryDirectory(
            prefix="roll-vec-bench-", ignore_cleanup_errors=True
        )
        self._errors = Path(self._folder.name, "stderr").open(  # noqa: SIM115 - closed by `close`
            "w+", encoding="utf-8", errors="replace"
        )
        try:
            self._process = subprocess.Popen(
                [python, "-m", "benchmarks.worker", json.dumps(spec)],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=self._errors,
                env=child_environment(TMPDIR=self._folder.name),
                encoding="utf-8",
                start_new_session=True,
            )
        except OSError as error:
            self._errors.close()
            self._folder.cleanup()
            raise Unavailable(f"{python}: {error.strerror}") from None

    def wait(self, seconds: float) -> dict[str, Any]:
        """Return the next answer.

        Raises
        ------
        Unavailable
            If the task refuses, does not answer in time, or its process has ended.
        """
        late = threading.Event()

        def give_up() -> None:
            late.set()
            self._kill()

        timer = threading.Timer(seconds, give_up)
        timer.start()
        try:
            line = self._process.stdout.readline()  # type: ignore[union-attr]
        finally:
            timer.cancel()
        if line.endswith("\n"):
            answer: dict[str, Any] = json.loads(line)
            if "skip" in answer:
                raise Unavailable(answer["skip"])
            return answer
        if late.is_set():
            raise Unavailable(f"no answer within {seconds:g} s")
        with suppress(subprocess.TimeoutExpired):
            self._process.wait(5)  # it is about to end by itself, with its own code
        self._kill()
        self._process.wait()
        self._errors.seek(0)
        lines = [text.strip() for text in self._errors if text.strip()]
        last_line = lines[-1] if lines else "without a word"
        raise Unavailable(f"ended with code {self._process.returncode}: {last_line}")

    def ask(self, seconds: float) -> None:
        """Start a measurement of about `seconds`."""
        with suppress(OSError):  # it has ended: `wait` reports that
            self._process.stdin.write(f"{seconds}\n")  # type: ignore[union-attr]
            self._process.stdin.flush()  # type: ignore[union-attr]

    def close(self) -> None:
        """End the process and its children."""
        self._kill()
        self._process.wait()
        for stream in (self._process.stdin, self._process.stdout, self._errors):
            with suppress(OSError):  # unwritten data for a process that has ended
                stream.close()  # type: ignore[union-attr]
        self._folder.cleanup()

    def _kill(self) -> None:
        """Kill the process and its children; once, because ids are used again."""
        if self._killed:
            return
        self._killed = True
        if hasattr(os, "killpg"):
            with suppress(OSError):
                os.killpg(self._process.pid, signal.SIGKILL)
        self._process.kill()
