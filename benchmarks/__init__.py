"""Benchmarks of roll_vec, beside other packages and beside itself.

::

    python -m benchmarks --quick    # compare with other packages, within a minute
    python -m benchmarks --out benchmarks/results/suite.json    # all, twenty minutes
    python -m benchmarks --cases goals --out ...    # latency
    python -m benchmarks --env module:id    # your environment's batch
    python -m benchmarks --cases baselines --out ...    # success of simple policies
    python -m benchmarks --cases shards    # shards on Ray
    python -m benchmarks.step_calls    # Python calls of a step

docs/performance.md says how to read the figures; ``python -m docs.build`` writes them
into pages from benchmarks/results.

A *contender* is one way to do a task, in a process of its own.  Its modules:

- `tasks`: the work that is measured, as a rate, the time of a call, or a figure
- `baselines`, `batches`, `calls`, `countdown`, `custom`, `exports`, `kernels`,
  `shards`, `solver`, `startup`, `texts`, `unrolls`, `webshop`: tasks of roll_vec
- `rules`: the simple rules of `baselines`
- `peers`: tasks of other packages, one adapter each
- `spaces`: actions drawn from the space of any package
- `levels`: the 10x10 levels that all contenders of Sokoban play
- `examples`: the programs of docs/examples, as modules
- `worker`: the main program of a contender's process
- `processes`: starts, asks and ends such a process
- `interleave`: measures contenders in turns

A *case* compares contenders; a *run* of several cases makes one result:

- `comparisons`, `cases`, `own_cases`, `games`: rows of two sides; all cases
- `suite`, `machine`: one run, and its machine
- `result`: the JSON file of a run
- `table`, `plot`: a result in the terminal, in Markdown, as a plot
"""
