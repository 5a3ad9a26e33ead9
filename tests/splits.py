"""Batches of any size on any number of threads, for tests."""

from roll_vec.stacked import kernel_threads

__all__ = ["count_jobs", "split_all", "team_threads"]


def split_all(monkeypatch, num_threads, min_rows=2):
    """Split all kernels of so many rows or more over threads, whatever it costs.

    Environments that are made from now on do so; with the JIT off none.
    """
    monkeypatch.setattr(kernel_threads, "MIN_ROWS", min_rows)
    monkeypatch.setattr(kernel_threads, "PART_SECONDS", 0.0)
    monkeypatch.setattr(kernel_threads, "_BLOCK_ROWS", 1)
    monkeypatch.setattr(kernel_threads, "count_cores", lambda: num_threads)
    monkeypatch.setattr(
        kernel_threads.KernelThreads,
        "_choose",
        lambda self, timing, seconds: self._usable,
    )


def count_jobs(monkeypatch):
    """Return a list that grows by one with each job of several threads."""
    jobs, team = [], type(kernel_threads.process_team())
    run = team.run

    def counted(self, *job):
        jobs.append(len(jobs))
        run(self, *job)

    monkeypatch.setattr(team, "run", counted)
    return jobs


def team_threads(wake=0):
    """Return the threads of this process, after so many were woken."""
    if wake:
        kernel_threads.process_team().wake(wake)
    return kernel_threads.process_team().threads
