"""Benchmarks of roll_vec beside other packages: a suite of pytest-benchmark.

::

    pip install -e ".[bench]"
    pytest benchmarks                            # all, about forty minutes
    pytest benchmarks -k "FrozenLake and modes"  # some
    pytest benchmarks --benchmark-json run.json && python -m benchmarks.tables run.json

All options of pytest-benchmark work.  A group holds the sides of one comparison:
roll_vec, and each peer that is installed.  Times are of one step (of one environment),
room, task or reset; OPS are steps a second.

- `conftest`: the fixture `versus`, which measures the sides of a group in turns
- `batches`, `peers`: the work that is measured, ours and that of other packages
- `user_games`: games as users write them, and the same as loops in numba
- ``test_*``: the groups, one file a subject
- `tables`: tables and the plot from a file of ``--benchmark-json``
- `results`: what the pages of docs/ publish

`baselines` and `rules` measure no speed: they play the evaluation splits, for
docs/baselines.md.
"""
