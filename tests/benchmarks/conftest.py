"""Contenders that do what a test wants, and their records."""

import pytest

from benchmarks.interleave import Contender

FAKE = """
import fcntl, os, sys, tempfile, time
from benchmarks.tasks import Rate, Unavailable

def count(log, name, rate):
    class Counted(Rate):
        def measure(self, seconds):
            if seconds:
                with open(log, "a") as file:
                    file.write(name)
            return rate * seconds
    return Counted(lambda: 1, "things/s", {"batch": 3})

def missing():
    import no_such_peer

def unwilling():
    raise Unavailable("not on\\nSundays")

def dies_at_once():
    sys.exit("broken")

def dies_in_rows(log, name, rate):
    calls = []
    class Dying(Rate):
        def measure(self, seconds):
            calls.append(seconds)
            if len(calls) > 2:
                os._exit(3)
            return rate * seconds
    return Dying(lambda: 1, "things/s", {"batch": 3})

def hangs(lock):
    # A child that outlives it, as those of AsyncVectorEnv would.
    file = open(lock, "w")
    fcntl.flock(file, fcntl.LOCK_EX)
    if os.fork() == 0:
        for number in {*range(50)} - {file.fileno()}:
            try:
                os.close(number)
            except OSError:
                pass
    time.sleep(120)

def litters(log, name, rate):
    with open(log, "a") as file:
        file.write(tempfile.mkdtemp())
    return Rate(lambda: 1, "things/s")
"""


@pytest.fixture
def fake(tmp_path, monkeypatch):
    """Write a module of tasks that workers find; return what makes contenders."""
    (tmp_path / "fake_tasks.py").write_text(FAKE)
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    log = tmp_path / "log"

    def fake(name, task, rate=None, options=None, **more):
        if rate is not None:
            options = {"log": str(log), "name": name, "rate": rate}
        return Contender(name, "fake", "fake_tasks", task, options or {}, **more)

    fake.log = log
    return fake
