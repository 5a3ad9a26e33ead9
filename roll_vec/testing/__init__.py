"""A conformance checker for vector environments, ours or anyone's.

::

    from roll_vec.testing import check_vector_env

    check_vector_env("my_package/MyEnv-v0")
    check_vector_env(lambda num_envs, autoreset_mode: MyVectorEnv(num_envs, ...))

`check_vector_env` returns None when all is well.  Otherwise it raises one
`ConformanceError`, an AssertionError that lists every finding: what was done, what was
found, what was expected.  It needs numpy and gymnasium and nothing of roll_vec.

The contract is that of `gymnasium.vector.VectorEnv` in Gymnasium 1.4, as its own
`SyncVectorEnv` keeps it, with the defects of that one left out: options are left alone,
info dtypes do not depend on who comes first, and what is refused is refused before
anything has moved.

Every finding has a code, which never changes its meaning.

Construction

- ``construct``: an instance can be made, for batches of 1, 2 and 3.
- ``spaces``: `num_envs` and the four spaces are there.
- ``autoreset-keyword``: the keyword `autoreset_mode` is taken, in all three modes.
- ``autoreset-string``: ids also take the value of a mode, such as "SameStep".
- ``autoreset-metadata``: ``metadata["autoreset_mode"]`` is the mode, as the enum.
- ``metadata-shared``: instances have metadata of their own.
- ``batched-spaces``: batched spaces equal `gymnasium.vector.utils.batch_space`.
- ``attributes``: `render_mode`, `closed`, `unwrapped`.
- ``spec-settable``: `unwrapped.spec` can be set.
- ``spec-rebuild``: ``make_vec(env.spec)`` makes the same again (ids only).

Results of reset and step

- ``reset-result``, ``step-result``: two and five values, one entry an environment.
- ``environment-error``: no reset and no truncated episode has a text in
  ``infos["error"]``, which is how pools tell that an environment failed; with the
  traceback, where the batch warned of it with one.
- ``observation-space``: every batch of observations is in `observation_space`.
- ``observation-layout``: and has its containers, dtypes and shapes to the letter.
- ``reward-dtype``, ``reward-finite``: float64 of shape (num_envs,), no NaN or infinity.
- ``flag-dtype``: terminations and truncations are bool of shape (num_envs,).
- ``action-sample``: ``step(action_space.sample())`` works, and samples are in the
  space and a function of its seed.
- ``text-stale``: Text observations are never updated, as in `AsyncVectorEnv` with
  shared memory.

Infos

- ``info-layout``: values are arrays with num_envs rows, or dicts of such.
- ``info-mask``: key K comes with a bool mask _K, at every depth.
- ``info-outside-mask``: entries outside the mask are zero or None.
- ``info-dtype``: a key has one dtype in all calls.

Seeds and streams

- ``deterministic``: two instances, same seed, same actions, same everything.
- ``reseed``: a seeded reset leaves nothing of what was before.
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
- ``fresh-arrays``: and share no memory with each other or with earlier ones.
- ``internal-memory``: and not with the state of the environment either.
- ``arguments-mutated``: actions, seeds and masks stay as the caller passed them.

Partial reset

- ``reset-mask``: ``options["reset_mask"]`` leaves the others alone.
- ``reset-mask-masked``: and begins the next episodes of those it names.
- ``reset-mask-seeds``: with seeds for them, if given.
- ``reset-mask-infos``: infos are of those alone.
- ``reset-mask-refused``: lists, wrong shapes and dtypes, and no True, are refused.
- ``options-mutated``: the options dict stays as the caller passed it.

Autoreset

- ``next-step-outcome``: the step after an end has reward 0 and no flags.
- ``next-step-action``: and ignores its action.
- ``next-step-reset``: and gives what `reset()` would have given.
- ``next-step-explicit``: a reset with reset_mask takes its place.
- ``final-obs``, ``final-info``: last observations and infos, with their masks.
- ``final-absent``: neither is there in steps without an end.
- ``disabled-raises``: stepping an environment that ended raises.
- ``disabled-moves``: before any other one has moved.
- ``modes-agree``: the modes differ in bookkeeping only.

Misuse

- ``action-count``: too few and too many actions are refused, and one str for all.
- ``action-invalid``: and actions outside of a discrete or Text space.
- ``action-count-moves``, ``action-invalid-moves``: before anything has moved.
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

- ``raises``: a documented use raised; says in which checks.
- ``close-raises``: `close()` raised after a check.
- ``call-limit``: a check took too long, and the checker stopped there.

Not checked, because Gymnasium asks for neither: pickling and copying of vector
environments, `copy=False`, and refusing values outside of a Box.
"""

from roll_vec.testing.findings import ConformanceError, Finding, Problem, Report
from roll_vec.testing.runner import check_vector_env

__all__ = ["ConformanceError", "Finding", "Problem", "Report", "check_vector_env"]
