"""Contenders take turns, each in a process that is gone afterwards."""

import sys
import time
from pathlib import Path

import pytest

from benchmarks import peers, processes, turns
from benchmarks.peers import PEERS
from benchmarks.tasks import Latency, Rate
from benchmarks.turns import Field


def compete(*contenders, rounds=2, python=sys.executable, tell=lambda: None):
    with Field(contenders, 2.0, lambda peer: python, tell) as field:
        values = field.take_turns([*field.entries], rounds)
        records = {name: entry.record() for name, entry in field.entries.items()}
        return values, records, field.skipped


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
    assert values["a"] == [20.0 * turns.usable_cores()] * 2
    assert records["a"]["processes"] == records["a"]["cores"] == turns.usable_cores()


def test_who_cannot_run_is_skipped_with_the_reason(fake):
    told = []
    values, _, skipped = compete(
        fake("missing", "missing"),
        fake("unwilling", "unwilling"),
        fake("dead", "dies_at_once"),
        fake("fine", "count", 1.0),
        fake("later", "dies_later"),
        tell=lambda: told.append(1),
    )
    assert values == {"fine": [2.0, 2.0]}
    assert skipped == {
        "missing": "No module named 'no_such_peer'",
        "unwilling": "not on Sundays",
        "dead": "ended with code 1: broken",
        "later": "ended with code 3: without a word",
    }
    assert len(told) == 5 + 2 * 2


def test_who_does_not_answer_is_skipped_with_what_it_started(
    fake, monkeypatch, tmp_path
):
    fcntl = pytest.importorskip("fcntl")
    monkeypatch.setattr(turns, "START_SECONDS", 2.5)
    lock = tmp_path / "lock"
    _, _, skipped = compete(fake("slow", "hangs", options={"lock": str(lock)}))
    assert skipped == {"slow": "no answer within 2.5 s"}
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
    started = []

    class Seen(processes.Worker):
        def __init__(self, *arguments):
            super().__init__(*arguments)
            started.append(self)

    def interrupt():
        raise KeyboardInterrupt

    contenders = [fake(name, "count", 1.0) for name in "abc"]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(turns, "Worker", Seen)
        with pytest.raises(KeyboardInterrupt):
            compete(*contenders, tell=interrupt)
    assert started
    assert all(worker._process.returncode is not None for worker in started)


def test_interpreter_that_is_not_there_is_a_reason(fake):
    _, _, skipped = compete(fake("a", "count", 1.0), python="/no/such/python")
    assert skipped["a"].startswith("/no/such/python: ")


def test_missing_peer_comes_with_how_to_install_it(fake, monkeypatch):
    monkeypatch.setitem(PEERS, "x", peers.Peer("X", "x", "pip install x==1"))
    _, _, skipped = compete(
        fake("a", "missing", peer="x"), fake("b", "unwilling", peer="x")
    )
    assert skipped["a"] == "No module named 'no_such_peer': pip install x==1"
    assert skipped["b"] == "not on Sundays"


def test_what_is_wrong_with_an_interpreter(tmp_path, monkeypatch):
    monkeypatch.setitem(PEERS, "x", peers.Peer("X", "no-such-peer", "pip install x"))
    assert peers.find_fault("gymnasium", sys.executable) is None
    assert peers.find_fault("x", sys.executable) == "has no no-such-peer: pip install x"
    assert peers.find_fault("x", "/no/such").startswith("cannot be run: ")
    assert peers.find_fault("x", str(tmp_path)).startswith("cannot be run: ")
    if sys.platform != "win32":
        other = tmp_path / "other"
        other.write_text("#!/bin/sh\necho hello\n")
        other.chmod(0o755)
        assert peers.find_fault("x", str(other)).startswith("is no Python")


def test_rates_and_times():
    assert Rate(lambda: time.sleep(0.001) or 5, "x/s").measure(0.0) < 5000
    assert Latency(lambda: time.sleep(0.002), "ms").measure(0.01) >= 2.0
