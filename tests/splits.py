"""Batches of any size on any number of threads, for tests."""

__all__ = ["split_all"]

_THREADS = "roll_vec.stacked.kernel_threads"


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
