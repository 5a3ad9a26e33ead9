"""All checks by subject, in the order in which they run."""

from __future__ import annotations

from roll_vec.testing import checks_autoreset as autoreset
from roll_vec.testing import checks_construction as construction
from roll_vec.testing import checks_infos as infos
from roll_vec.testing import checks_lifecycle as lifecycle
from roll_vec.testing import checks_memory as memory
from roll_vec.testing import checks_misuse as misuse
from roll_vec.testing import checks_partial_reset as partial_reset
from roll_vec.testing import checks_results as results
from roll_vec.testing import checks_seeds as seeds
from roll_vec.testing.check import Check

# Codes and titles of findings that belong to no check.
GENERAL = {
    "raises": "documented uses raise nothing",
    "close-raises": "close() raises nothing",
    "call-limit": "calls return in time",
}

# The order matters: later checks skip features that an earlier one found unsupported.
GROUPS: dict[str, tuple[Check, ...]] = {
    "Construction": (
        construction.construct,
        construction.spaces_exist,
        construction.autoreset_keyword,
        construction.autoreset_string,
        construction.autoreset_metadata,
        construction.metadata_shared,
        construction.batched_spaces,
        construction.attributes,
        construction.spec_settable,
        construction.spec_rebuild,
    ),
    "Results of reset and step": (
        results.reset_result,
        results.step_result,
        results.environment_error,
        results.observation_space,
        results.observation_layout,
        results.reward_dtype,
        results.reward_finite,
        results.flag_dtype,
        results.action_sample,
        results.text_stale,
    ),
    "Infos": (
        infos.info_layout,
        infos.info_mask,
        infos.info_outside_mask,
        infos.info_dtype,
    ),
    "Seeds and streams": (
        seeds.deterministic,
        seeds.reseed,
        seeds.unseeded_first,
        seeds.seed_list,
        seeds.seed_batch,
        seeds.seed_none,
        seeds.seed_length,
        seeds.seed_negative,
        seeds.unseeded_reset,
        seeds.stream_restarts,
        seeds.np_random_seed,
    ),
    "Memory": (
        memory.writable,
        memory.fresh_arrays,
        memory.internal_memory,
        memory.arguments_mutated,
    ),
    "Partial reset": (
        partial_reset.reset_mask,
        partial_reset.reset_mask_masked,
        partial_reset.reset_mask_seeds,
        partial_reset.reset_mask_infos,
        partial_reset.reset_mask_refused,
        partial_reset.options_mutated,
    ),
    "Autoreset": (
        autoreset.next_step_outcome,
        autoreset.next_step_action,
        autoreset.next_step_reset,
        autoreset.next_step_explicit,
        autoreset.final_obs,
        autoreset.final_info,
        autoreset.final_absent,
        autoreset.disabled_raises,
        autoreset.disabled_moves,
        autoreset.modes_agree,
    ),
    "Misuse": (
        misuse.action_count,
        misuse.action_count_moves,
        misuse.action_invalid,
        misuse.action_invalid_moves,
        misuse.step_before_reset,
    ),
    "Lifecycle and rendering": (
        lifecycle.closed_flag,
        lifecycle.close_twice,
        lifecycle.use_after_close,
        lifecycle.vector_methods,
        lifecycle.render_mode_unknown,
        lifecycle.render,
        lifecycle.render_moves,
    ),
}
