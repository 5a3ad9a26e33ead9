"""A conformance checker for vector environments, of this package or any other.

::

    from roll_vec.testing import check_vector_env

    check_vector_env("my_package/MyEnv-v0")
    check_vector_env(lambda num_envs, autoreset_mode: MyVectorEnv(num_envs, ...))

`check_vector_env` returns None when there is nothing to report.  Otherwise it raises
one `ConformanceError`, an AssertionError that lists every finding: the calls that were
made, their outcome, the outcome that was expected.  It needs numpy and gymnasium, and
no environment or batch of roll_vec.

The contract is that of `gymnasium.vector.VectorEnv` in Gymnasium 1.4, as its own
`SyncVectorEnv` keeps it, without the defects of `SyncVectorEnv`: options are not
changed, the dtype of an info does not depend on the first environment that has it, and
invalid input is refused before any environment moves.

Not checked, because Gymnasium does not ask for it: pickling and copying of vector
environments, `copy=False`, and refusing values outside of a Box.

To add a check: explain its code below, in one sentence, which becomes the title of its
findings.  Write a function ``name(ctx, mode)`` in the ``checks_*.py`` of its subject,
which yields a `Problem` for each deviation, and decorate it with
``@check("its-code")``.  One function can make several checks.  `context.Context` makes
instances and records runs.  In ``tests/testing/bugs_of_walks.py`` add an environment
with the bug that the check finds.

Every finding has a code, which never changes its meaning:

Construction
------------
- ``construct``: instances with 1, 2 and 3 environments can be made.
- ``spaces``: num_envs and the four spaces are there, and of the right type.
- ``autoreset-keyword``: the keyword autoreset_mode is accepted, in all three modes.
- ``autoreset-metadata``: metadata['autoreset_mode'] is the mode, as the enum.
- ``autoreset-string``: ids also accept the value of a mode, such as "SameStep".
- ``batched-spaces``: batched spaces are those of gymnasium.vector.utils.batch_space.
- ``attributes``: render_mode, closed and unwrapped are as in VectorEnv.
- ``metadata-shared``: instances have metadata of their own.
- ``spec-settable``: unwrapped.spec can be set, as make_vec does.
- ``spec-rebuild``: make_vec(env.spec) makes the same environment (ids only).

Results of reset and step
-------------------------
- ``reset-result``: reset returns a tuple of observations and an infos dict.
- ``step-result``: step returns five values, with an entry for each environment.
- ``environment-error``: no environment of a pool of roll_vec has a fault.  The finding
  has the traceback, if the batch warned of the fault with one.
- ``observation-space``: every batch of observations is in observation_space.
- ``observation-layout``: observations have exactly the containers, dtypes and shapes
  of the space.
- ``reward-dtype``: rewards are a float64 array of shape (num_envs,).
- ``reward-finite``: rewards are neither NaN nor infinite.
- ``flag-dtype``: terminations and truncations are bool arrays of shape (num_envs,).
- ``action-sample``: action_space.sample() is an action for step, in the space, and
  fixed by its seed.
- ``text-stale``: Text observations are those of the environments; in AsyncVectorEnv
  with shared memory they are never updated.

Infos
-----
- ``info-layout``: values are arrays with num_envs rows, or dicts of such.
- ``info-mask``: every key K comes with a bool mask _K, at every depth.
- ``info-outside-mask``: entries outside the mask are zero or None.
- ``info-dtype``: a key has one dtype in all calls.

Seeds and streams
-----------------
- ``deterministic``: the same seed and actions give the same results.
- ``reseed``: after a seeded reset nothing of earlier episodes remains.
- ``unseeded-first``: the first reset needs no seed.
- ``seed-list``: a seed s is the same as a list of s, s + 1 and so on.
- ``seed-batch``: environment i of a batch with seed s is environment 0 of a batch of
  one with seed s + i, to the bit and through all autoresets.
- ``seed-none``: None in a list of seeds lets that environment's stream go on.
- ``seed-length``: a list of seeds of the wrong length is refused.
- ``seed-negative``: a negative seed is refused.
- ``unseeded-reset``: resets without a seed are a function of the last seed.
- ``stream-restarts``: resets without a seed do not begin the first episode again.
- ``np-random-seed``: np_random_seed is the seed of the last reset, or a tuple of seeds.

Partial reset
-------------
- ``reset-mask``: options['reset_mask'] leaves the other environments alone.
- ``reset-mask-masked``: the mask begins the next episodes of those it names.
- ``reset-mask-seeds``: the environments it names begin with their seeds.
- ``reset-mask-infos``: only the environments that the mask names have infos.
- ``reset-mask-refused``: lists, wrong shapes and dtypes, and no True, are refused.
- ``options-mutated``: the options dict stays as the caller passed it.

Autoreset
---------
- ``next-step-outcome``: the step after an end has reward 0 and no flags.
- ``next-step-action``: the step after an end ignores its action.
- ``next-step-reset``: the step after an end returns what reset() would return.
- ``next-step-explicit``: a reset with reset_mask after an end replaces that step.
- ``final-obs``: final_obs has the last observations of ended episodes, and a mask.
- ``final-info``: final_info has the infos of the last steps, with masks.
- ``final-absent``: steps without an end have neither final_obs nor final_info.
- ``disabled-raises``: a step of an environment that ended raises.
- ``disabled-moves``: a step that is refused for it moves no other environment.
- ``modes-agree``: every mode has the same episodes.

Misuse
------
- ``action-count``: too few and too many actions are refused, and one str for all.
- ``action-count-moves``: a step refused for their number moves no environment.
- ``action-invalid``: actions outside of a discrete or Text space are refused.
- ``action-invalid-moves``: a step refused for an action moves no environment.
- ``step-before-reset``: a step before the first reset is refused.

Memory
------
- ``writable``: arrays returned can be written to.
- ``fresh-arrays``: arrays share no memory with each other or with earlier ones.
- ``internal-memory``: overwriting results and arguments has no effect.
- ``arguments-mutated``: actions, seeds and masks stay as the caller passed them.

Lifecycle and rendering
-----------------------
- ``closed-flag``: closed is True after close().
- ``close-twice``: a second close() does nothing.
- ``use-after-close``: after close() a call raises, or returns the same as before.
- ``vector-methods``: call, get_attr and set_attr exist; get_attr returns a tuple.
- ``render-mode-unknown``: an unknown render_mode is refused, or warned of.
- ``render``: render() returns a tuple of num_envs frames, in each mode of
  metadata['render_modes'] but human.
- ``render-moves``: rendering changes nothing.

General
-------
- ``raises``: documented uses raise nothing; the finding names the checks.
- ``close-raises``: close() raises nothing.
- ``call-limit``: calls return in time; the checker stops at the first that does not.
"""

from roll_vec.testing.report import ConformanceError
from roll_vec.testing.runner import check_vector_env

__all__ = ["ConformanceError", "check_vector_env"]
