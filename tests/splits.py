"""Batches of any size on any number of threads, for tests."""

from roll_vec import row_threads

# The options of the package that say how many rows are left to another thread.
_OPTIONS = (
    "arrays.array_env.ArrayEnv",
    "envs.acrobot.Acrobot",
    "envs.frozen_lake.FrozenLake",
    "envs.game_2048.Game2048",
    "envs.pendulum.Pendulum",
)


def split_all(monkeypatch, num_threads):
    """Run all kernels of two rows or more on so many threads, whatever it costs.

    Environments that are made from now on do so; with the JIT off none.
    """
    for options in _OPTIONS:
        monkeypatch.setattr(f"roll_vec.{options}.ROWS_PER_THREAD", 1)
    monkeypatch.setattr("roll_vec.arrays.grid_observations.BYTES_PER_THREAD", 1)
    monkeypatch.setattr(row_threads, "count_cores", lambda: num_threads)


def count_runs(monkeypatch):
    """Return a list that grows by one with each kernel on several threads."""
    runs, call = [], row_threads._Helpers.call

    def counted(self, run, number):
        # Work of seconds is in slices.
        if number and run._slices is None:
            runs.append(number)
        call(self, run, number)

    monkeypatch.setattr(row_threads._Helpers, "call", counted)
    return runs
