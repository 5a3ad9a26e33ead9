"""Shards on Ray beside one local batch, ``python -m benchmarks.shards``.

::

    __main__.py     the command: measures everything and writes file and page
    workloads.py    the batches that are measured
    costs.py        processor time of a level, a step, a snapshot, a message; bytes
    rates.py        steps a second of a local batch and of 1, 2 and 4 shards, in turns
    page.py         the figures of docs/cluster.md, from the file alone

`costs` counts processor time, which other load on the machine hardly changes.  `rates`
counts time on the clock, so that its sides are measured in turns.
"""
