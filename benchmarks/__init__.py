"""Benchmarks of roll_vec, beside other packages and beside bare memory copies.

::

    python -m benchmarks --quick    # compare with other packages, within a minute
    python -m benchmarks --out benchmarks/results/NAME.json    # all cases, ten minutes
    python -m benchmarks.report benchmarks/results/NAME.json    # the published figures
    python -m benchmarks.custom_env module:id    # your environment's batch
    python -m benchmarks.goals    # goals of latency and threads: two runs
    python -m benchmarks.floors    # kernels beside a copy of their bytes
    python -m benchmarks.unroll_scale    # unrolls beside steps that are stored
    python -m benchmarks.baselines    # success of simple policies: docs/baselines.md
    python -m benchmarks.shards    # shards on Ray: docs/cluster.md
    python -m pytest benchmarks --benchmark-enable    # start-up, resets, memory

docs/performance.md says how to read the figures, what bounds the kernels, and which
figures are behind past decisions.

A *contender* is one way to do a task, in a process of its own.  Its modules:

- `tasks`: the work that is measured, as a rate or as the time of a call
- `actions`, `batches`, `countdown`, `snapshots`, `texts`, `webshop`: tasks of roll_vec
- `peers`: tasks of other packages, one adapter each
- `levels`: the 10x10 levels that all contenders of Sokoban play
- `worker`: the main program of a contender's process
- `processes`: starts, asks and ends such a process
- `interleave`: measures contenders in turns

A *case* compares contenders; a *run* of several cases makes one result:

- `comparisons`, `cases`: rows of two sides; all cases
- `suite`, `machine`, `progress`: one run, its machine, its progress bars
- `result`: the JSON file of a run
- `table`, `plot`, `report`: a result in the terminal, as a plot, in pages

`custom_env`, `goals`, `floors`, `baselines` and `shards` are commands of their own.
"""
