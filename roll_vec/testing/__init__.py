"""A conformance checker for vector environments, of this package or any other.

::

    from roll_vec.testing import check_vector_env

    check_vector_env("my_package/MyEnv-v0")
    check_vector_env(lambda num_envs, autoreset_mode: MyVectorEnv(num_envs, ...))

`check_vector_env` returns None when there is nothing to report.  Otherwise it raises
one `ConformanceError`, an AssertionError that lists every finding: the calls that were
made, their outcome, the outcome that was expected.  It needs numpy and gymnasium and no
other part of roll_vec.

The contract is that of `gymnasium.vector.VectorEnv` in Gymnasium 1.4, as its own
`SyncVectorEnv` keeps it, without the defects of `SyncVectorEnv`: options are not
changed, the dtype of an info does not depend on the first environment that has it, and
invalid input is refused before any environment moves.

To add a check: write a function ``name(ctx, mode)`` in the ``checks_*.py`` of its
subject; its docstring begins with "Check that".  It yields what was done and what was
found for each deviation.  Decorate it with ``@GROUP.check("its-code", "the rule")``,
or, where two runs have to be equal, with ``same_calls`` or ``same_episodes``, and
explain its code below.  `context.Context` makes instances and records runs.  In
``tests/testing/bugs_of_walks.py`` add an environment with the bug that the check finds.

Every finding has a code, which never changes its meaning.

Construction

- ``construct``: instances with 1, 2 and 3 environments can be made.
- ``spaces``: `num_envs` and the four spaces are there.
- ``autoreset-keyword``: the keyword `autoreset_mode` is taken, in all three modes.
- ``autoreset-string``: ids also take the value of a mode, such as "SameStep".
- ``autoreset-metadata``: ``metadata["autoreset_mode"]`` is the mode, as the enum.
- ``metadata-shared``: instances have metadata of their own.
- ``batched-spaces``: batched spaces equal `gymnasium.vector.utils.batch_space`.
- ``attributes``: `render_mode`, `closed`, `unwrapped`.
- ``spec-settable``: `unwrapped.spec` can be set.
- ``spec-rebuild``: ``make_vec(env.spec)`` makes the same environment (ids only).

Results of reset and step

- ``reset-result``, ``step-result``: two and five values, one entry an environment.
- ``environment-error``: no environment of a pool of roll_vec has a fault.  The finding
  has the traceback, if the batch warned of the fault with one.
- ``observation-space``: every batch of observations is in `observation_space`.
- ``observation-layout``: with exactly the containers, dtypes and shapes of the space.
- ``reward-dtype``, ``reward-finite``: float64 of shape (num_envs,), no NaN or infinity.
- ``flag-dtype``: terminations and truncations are bool of shape (num_envs,).
- ``action-sample``: ``step(action_space.sample())`` works, and samples are in the
  space and fixed by its seed.
- ``text-stale``: Text observations are never updated, as in `AsyncVectorEnv` with
  shared memory.

Infos

- ``info-layout``: values are arrays with num_envs rows, or dicts of such.
- ``info-mask``: key K comes with a bool mask _K, at every depth.
- ``info-outside-mask``: entries outside the mask are zero or None.
- ``info-dtype``: a key has one dtype in all calls.

Seeds and streams

- ``deterministic``: two instances with the same seed and actions give the same results.
- ``reseed``: after a seeded reset nothing of earlier episodes remains.
- ``unseeded-first``: the first reset needs no seed.
- ``seed-list``: an int s is the list s, s + 1, ...
- ``seed-batch``: environment i of a batch seeded s is environment 0 of a batch of one
  seeded s + i, to the bit and through all autoresets.
- ``seed-none``: None in the list lets that environment's stream go on.
- ``seed-length``, ``seed-negative``: such seeds are refused.
- ``unseeded-reset``: resets without a seed are a function of the last seed.
- ``stream-restarts``: and do not begin the same episode again.
- ``np-random-seed``: `np_random_seed` is the seed, or a tuple of seeds.

Memory

- ``writable``: arrays returned can be written to.
- ``fresh-arrays``: they share no memory with each other or with earlier ones.
- ``internal-memory``: nor with the state of the environment.
- ``arguments-mutated``: actions, seeds and masks stay as the caller passed them.

Partial reset

- ``reset-mask``: ``options["reset_mask"]`` leaves the others alone.
- ``reset-mask-masked``: it begins the next episodes of the environments it names.
- ``reset-mask-seeds``: with their seeds, if there are any.
- ``reset-mask-infos``: infos are of these environments alone.
- ``reset-mask-refused``: lists, wrong shapes and dtypes, and no True, are refused.
- ``options-mutated``: the options dict stays as the caller passed it.

Autoreset

- ``next-step-outcome``: the step after an end has reward 0 and no flags.
- ``next-step-action``: that step ignores its action.
- ``next-step-reset``: it returns the observation and info that `reset()` would return.
- ``next-step-explicit``: a reset with reset_mask replaces it.
- ``final-obs``, ``final-info``: last observations and infos, with their masks.
- ``final-absent``: steps without an end have neither.
- ``disabled-raises``: stepping an environment that ended raises.
- ``disabled-moves``: before any other environment has moved.
- ``modes-agree``: the modes differ in bookkeeping only.

Misuse

- ``action-count``: too few and too many actions are refused, and one str for all.
- ``action-invalid``: actions outside of a discrete or Text space are refused.
- ``action-count-moves``, ``action-invalid-moves``: before any environment has moved.
- ``step-before-reset``: is refused.

Lifecycle and rendering

- ``closed-flag``, ``close-twice``: `close()` sets `closed` and can be repeated.
- ``use-after-close``: raises, or still gives the right results.
- ``vector-methods``: `call`, `get_attr`, `set_attr` exist; ``get_attr("render_mode")``
  is a tuple.
- ``render-mode-unknown``: is refused or warned of.
- ``render``: a tuple of num_envs frames, for each mode in ``metadata["render_modes"]``
  but human.
- ``render-moves``: rendering changes nothing.

General

- ``raises``: a documented use raised, in the checks that are named.
- ``close-raises``: `close()` raised after a check.
- ``call-limit``: a check took too long, and the checker stopped there.

Not checked, because Gymnasium does not ask for it: pickling and copying of vector
environments, `copy=False`, and refusing values outside of a Box.
"""

from roll_vec.testing.report import ConformanceError, Finding, Problem, Report
from roll_vec.testing.runner import check_vector_env

__all__ = ["ConformanceError", "Finding", "Problem", "Report", "check_vector_env"]
