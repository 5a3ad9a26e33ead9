"""How fast roll_vec is, and how fast what it is compared with is.

Everything goes through Gymnasium's API, as users do::

    python -m pytest benchmarks --benchmark-enable    # every figure, some minutes
    python -m benchmarks.ratios                       # ours beside theirs, in one run

Without ``--benchmark-enable`` pytest runs each benchmark once at a tiny size, as a
test that it still works.

What the figures mean:

- *env-steps/s*: calls of `step` times ``num_envs`` over wall time.  Autoreset is on
  (NEXT_STEP, so that a step that resets an environment counts as a step, as in
  Gymnasium's own vector environments), actions are drawn beforehand, and every result
  is built.  Environments are in different steps of their episodes, as in a long run:
  started together, all rooms would end together, and most short windows would see no
  reset at all.  Fresh rooms: each episode's room is generated within the time.
  ``num_levels=4096``: all of them have been generated before.
- *rooms/s*: successful rooms over wall time, failed attempts included, one thread.
- *first step*: from the start of the process to the return of the first `step`.
- Ratios are of two figures of one run on one machine, taken in turns.  Figures of
  different runs or machines say little about each other.

The modules: `workloads` (what is run, at which size), `gym_sokoban` (the generator
that ours is compared with), ``test_*`` (pytest-benchmark), `ratios`, `machine`.
"""
