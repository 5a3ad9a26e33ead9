"""The vector environment: N environments behind `gymnasium.vector.VectorEnv`.

One class serves every environment, because the environments themselves are behind an
interface, the engine::

    RollVectorEnv.reset, step      seeds, errors, observations   (env.py)
        Autoreset.reset, step      ended environments, infos     (autoreset.py)
            Engine.reset, step, observe                          (engine.py)

`RollVectorEnv.reset` checks the mask and the seeds, draws missing seeds, and passes the
ids and seeds of the environments on to the engine.

`RollVectorEnv.step` passes the actions to `Autoreset.step`.  In NEXT_STEP mode that
begins new episodes in environments that have ended, and steps the others.  In SAME_STEP
mode it steps all, and then begins new episodes (`Engine.reset`).  It merges the infos
of steps and resets into Gymnasium's layout.  At the end the engine returns the
observations of the whole batch.

Files, in reading order:

- ``engine.py``: `Engine`, all that a batch asks of its environments
- ``env.py``: `RollVectorEnv`: reset, step, unroll; and `BatchOptions`, the keywords of
  every batch
- its bases, each on the one before: ``batch.py``, the checks of calls;
  ``attributes.py``, `call`, `get_attr`, frames, `solve`, `set_level_options`,
  `sample_actions` (its numbers are in ``action_sampling.py``); ``batch_snapshots.py``,
  `get_state` and `set_state`
- ``autoreset.py``: the three autoreset modes, reset masks, ``final_obs``
- ``infos.py``: Gymnasium's layout of infos: built, joined, split
- ``known_infos.py``: the two infos that roll_vec reads: faults, and success
- ``steps.py``: steps of single environments, begun now and received later
- ``vector_state.py``: `VectorState`, a snapshot as data
- ``values.py``: its arrays of bytes: seeds of any size, states of environments that are
  objects
- ``masks.py``: the arguments ``mask``, ``rows`` and ``env_ids``
- ``unroll.py``: many steps in one call
- ``rollout.py``: `Rollout`, the results of such a call
- ``space_batches.py``: batches of any space: joined, stacked, cut

The engines are those of `roll_vec.arrays` and `roll_vec.pool`.  `roll_vec.joined` makes
one vector environment of several.
"""
