"""Processes of contenders: measured in turns, ended or skipped with a reason."""

import sys
import time
from pathlib import Path

import pytest

from benchmarks import interleave, peers, processes
from benchmarks.interleave import ContenderPool
from benchmarks.peers import PEERS
from benchmarks.tasks import Latency, Rate


def compete(*contenders, rounds=2, python=sys.executable, report_progress=lambda: None):
    """Measure contenders; return values, records and reasons of those skipped."""
    with ContenderPool(contenders, 2.0, lambda peer: python, report_progress) as pool:
        values = pool.measure_interleaved([*pool.entries], rounds)
        records = {name: entry.record() for name, entry in pool.entries.items()}
        return values, records, pool.skipped


def test_contenders_take_turns_round_by_round(fake):
    values, records, skipped = compete(
        fake("a", "count", 10.0), fake("b", "noisy", 1.0, patience=3.0), rounds=3
    )
    assert fake.log.read_text() == "ababab"
    assert values == {"a": [20.0] * 3, "b": [6.0] * 3}
    assert records["a"]["unit"] == "things/s"
    assert records["a"]["facts"] == {"batch": 3}
    assert skipped == {}


def test_processes_of_all_cores_are_summed(fake):
    values, records, _ = compete(fake("a", "count", 10.0, process_per_core=True))
    assert values["a"] == [20.0 * interleave.usable_cores()] * 2
    assert (
        records["a"]["processes"] == records["a"]["cores"] == interleave.usable_cores()
    )


def test_contender_that_cannot_run_is_skipped_with_the_reason(fake):
    reports = []
    values, _, skipped = compete(
        fake("missing", "missing"),
        fake("unwilling", "unwilling"),
        fake("dead", "dies_at_once"),
        fake("fine", "count", 1.0),
        fake("later", "dies_later"),
        report_progress=lambda: reports.append(1),
    )
    assert values == {"fine": [2.0, 2.0]}
    assert skipped == {
        "missing": "No module named 'no_such_peer'",
        "unwilling": "not on Sundays",
        "dead": "ended with code 1: broken",
        "later": "ended with code 3: without a word",
    }
    assert len(reports) == 5 + 2 * 2


def test_contender_that_hangs_is_skipped_and_its_children_end(
    fake, monkeypatch, tmp_path
):
    fcntl = pytest.importorskip("fcntl")
    monkeypatch.setattr(interleave, "START_SECONDS", 1.0)
    lock = tmp_path / "lock"
    _, _, skipped = compete(fake("slow", "hangs", options={"lock": str(lock)}))
    assert skipped == {"slow": "no answer within 1 s"}
    with lock.open() as file:
        for _ in range(100):
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                time.sleep(0.1)  # killed, but not yet gone
            else:
                return
    pytest.fail("a child of the process is left")


def test_temporary_files_of_a_process_go_with_it(fake):
    values, _, _ = compete(fake("a", "litters", 1.0, patience=0.01))
    assert values["a"]
    folder = Path(fake.log.read_text())
    assert "roll-vec-bench-" in str(folder)
    assert not folder.parent.exists()


def test_interruption_ends_all_processes(fake):
    workers = []

    class RecordedWorker(processes.Worker):
        def __init__(self, *arguments):
            super().__init__(*arguments)
            workers.append(self)

    def interrupt():
        raise KeyboardInterrupt

    contenders = [fake(name, "count", 1.0) for name in "abc"]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(interleave, "Worker", RecordedWorker)
        with pytest.raises(KeyboardInterrupt):
            compete(*contenders, report_progress=interrupt)
    assert workers
    assert all(worker._process.returncode is not None for worker in workers)


def test_missing_interpreter_is_a_reason_to_skip(fake):
    _, _, skipped = compete(fake("a", "count", 1.0), python="/no/such/python")
    assert skipped["a"].startswith("/no/such/python: ")


def test_missing_peer_comes_with_how_to_install_it(fake, monkeypatch):
    monkeypatch.setitem(PEERS, "x", peers.Peer("X", "x", "pip install x==1"))
    _, _, skipped = compete(
        fake("a", "missing", peer="x"), fake("b", "unwilling", peer="x")
    )
    assert skipped["a"] == "No module named 'no_such_peer': pip install x==1"
    assert skipped["b"] == "not on Sundays"


def test_errors_of_interpreters(tmp_path, monkeypatch):
    monkeypatch.setitem(PEERS, "x", peers.Peer("X", "no-such-peer", "pip install x"))
    assert peers.interpreter_error("gymnasium", sys.executable) is None
    assert (
        peers.interpreter_error("x", sys.executable)
        == "has no no-such-peer: pip install x"
    )
    assert peers.interpreter_error("x", "/no/such").startswith("cannot be run: ")
    assert peers.interpreter_error("x", str(tmp_path)).startswith("cannot be run: ")
    if sys.platform != "win32":
        other = tmp_path / "other"
        other.write_text("#!/bin/sh\necho hello\n")
        other.chmod(0o755)
        assert peers.interpreter_error("x", str(other)).startswith("is no Python")


def test_rates_and_times():
    assert Rate(lambda: time.sleep(0.001) or 5, "x/s").measure(0.0) < 5000
    assert Latency(lambda: time.sleep(0.002), "ms").measure(0.01) >= 2.0
