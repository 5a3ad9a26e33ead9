"""Pools: any environment objects, stepped together as one vector environment.

A pool is for environments that are Python objects, such as those of language agents.
It steps them in the calling thread, in threads or in processes.  An environment that
raises, hangs or dies is replaced.  The others keep their episodes, but for those in a
process that dies.  (Sokoban and FrozenLake are no pools: they stand in arrays, see
`roll_vec.arrays`.)

Each file needs only the files below it; read from top to bottom::

    vector          PoolVectorEnv: the public class, with all its keywords
    engine          PoolEngine: all environments together, as `RollVectorEnv` asks;
                    PoolSteps: steps of some, begun now and received later
    exchange        `send` and `recv`
    snapshots       the state of all environments as arrays, and back
    pool_envs       all environments: tasks submitted to workers, outcomes saved
    workers         the interface of workers, and the calling thread as one
    threads         ╮ the other kinds of workers, both on `worker_queue`;
    processes       ╯ the last with `worker_process`
    faults          counts, warning, error; the picture of a fault's path
    env_record      EnvRecord: what the pool knows of an environment; its episodes
    env_runner      runs tasks on environment objects, wherever the objects are, and
                    describes them
    observations    the latest observations, and their batch
    actions, options, spaces   checks
    tasks           Task, Fault, Outcomes, ResetRequest: the messages

    factories       the environments of registered ids (Countdown, WebShop, ...)

A step with workers::

    PoolVectorEnv.step(actions)
      PoolEngine.check_actions             nothing has moved if this raises
      PoolEngine.reset ─── ResetRequest ─╮ autoresets
      PoolEngine.step ──── Task "step" ──┤
                                         ▼
                          Workers.submit: a list, or one WorkerQueue for each worker
                                         │ a queue in memory, or a pipe
                                         ▼
                          EnvRunner.run_all: env.step(action) in the worker
                                         │
                          Workers.collect: Outcomes, values or Faults
                                         ▼
      PoolEnvs.end_steps                 value: observation, reward, ...
                                         fault: the episode ends, and the next reset
                                         builds a new environment object
      Observations.build_batch             all observations as one array
    infos are stacked as those of every `RollVectorEnv`

Without workers, `collect` runs the tasks.  `roll_vec.pool.faults` draws the path of a
fault.
"""

from __future__ import annotations

from roll_vec.pool.vector import PoolVectorEnv

__all__ = ["PoolVectorEnv"]
