"""Goals of speed and latency: the case `goals` of ``python -m benchmarks``, its page.

::

    python -m benchmarks.goals    # two whole runs, some eight minutes, and the page
    python -m benchmarks.goals A.json B.json    # the page, from runs of the case

The files in reading order:

- `policy`: loops of a policy and a step, times of single steps
- `steps`: costs of steps, threads beside one thread, in one process
- `kernels`: the share of a step in compiled code
- `unrolls`: `unroll` with ``out`` beside steps whose results are stored
- `first_call`: seconds of a first call, with an empty cache
- `case`: the goals, their contenders, the figures before the work
- `chart`: the picture of step times
- `page`: the table of two runs
"""
