"""Batches of any size on any number of threads, for tests."""

import importlib

_THREADS = "roll_vec.arrays.kernel_threads"


def split_all(monkeypatch, num_threads, min_rows=2):
    """Split all kernels of so many rows or more over threads, whatever it costs.

    Environments that are made from now on do so; with the JIT off none.
    """
    for name, value in {
        "MIN_ROWS": min_rows,
        "PART_SECONDS": 0.0,
        "_BLOCK_ROWS": 1,
        "count_cores": lambda: num_threads,
        "KernelThreads._choose": lambda self, timing, seconds: self._usable,
    }.items():
        monkeypatch.setattr(f"{_THREADS}.{name}", value)


def _process_team():
    return importlib.import_module(_THREADS).process_team()


def count_jobs(monkeypatch):
    """Return a list that grows by one with each job of several threads."""
    jobs, team = [], type(_process_team())
    run = team.run

    def counted(self, *job):
        jobs.append(len(jobs))
        run(self, *job)

    monkeypatch.setattr(team, "run", counted)
    return jobs


def team_threads(wake=0):
    """Return the threads of this process, after so many were woken."""
    if wake:
        _process_team().wake(wake)
    return _process_team().threads
