"""Shards on Ray beside one local batch, ``python -m benchmarks.shards``.

::

    __main__.py     the command: steps a second of a local batch and of 1, 2 and 4
                    shards, in turns; the file
    workloads.py    the batches that are measured
    costs.py        processor time of a level, a step, a snapshot, a message; bytes
    tables.py       the figures of docs/cluster.md, from the file alone

`costs` counts processor time, which other load on the machine hardly changes.  The
rates are of time on the clock, so that their sides are measured in turns.
"""
