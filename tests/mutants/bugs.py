"""The bugs that `make test-mutants` plants."""

from pathlib import Path
from typing import NamedTuple

from tests.mutants.changes import Change, change, drop, negate, swap


class Bug(NamedTuple):
    """A change of one function that a test must notice.

    The module is named by its path from the root of the checkout, with dots, and the
    function by its dotted name in it: ``"Class.method"``.  The code that the change
    names stands there exactly once.  `tests` is the file or folder that is tried first.
    """

    name: str
    module: str
    function: str
    change: Change
    tests: str

    def path(self, checkout: Path) -> Path:
        """Return the file of the module in a checkout."""
        return checkout.joinpath(*self.module.split(".")).with_suffix(".py")


_LOCKSTEP = "tests/contract/test_lockstep.py"
_SEEDS = "tests/contract/test_determinism.py"
_SOKOBAN = "tests/kernels/sokoban"
_LAKES = "tests/kernels/test_frozen_lake.py"
_COUNTDOWN = "tests/envs/countdown"
_WEBSHOP = "tests/envs/webshop"

BUGS = [
    # kernels
    Bug(
        "an episode is one step too long",
        "kernels.outcomes",
        "reaches_limit",
        change("elapsed_steps >= max_steps", "elapsed_steps > max_steps"),
        _LAKES,
    ),
    Bug(
        "skipped rooms count a step",
        "kernels.outcomes",
        "count_steps",
        change("elapsed_steps[i] += plays", "elapsed_steps[i] += 1"),
        _SOKOBAN,
    ),
    Bug(
        "a box on a target earns nothing",
        "kernels.sokoban.moves",
        "step_rooms",
        change("REWARD_BOX_ON_TARGET * target_delta", "REWARD_BOX_ON_TARGET * 0.0"),
        _SOKOBAN,
    ),
    Bug(
        "a failed room is drawn again with the same seed",
        "kernels.sokoban.rooms",
        "generate_rooms",
        negate("attempt > 0"),
        _SOKOBAN,
    ),
    Bug(
        "a bitboard wraps around its right edge",
        "kernels.sokoban.bitboards",
        "shift",
        change("(cells << _1) & board.not_first", "cells << _1"),
        _SOKOBAN,
    ),
    Bug(
        "slips turn another way",
        "kernels.frozen_lake.moves",
        "turn",
        swap("direction + slip_index - 1"),
        _LAKES,
    ),
    Bug(
        "a terminal tile pays again",
        "kernels.frozen_lake.moves",
        "step_lakes",
        change("code <= GOAL", "code <= PLAYER_ON_GOAL"),
        _LAKES,
    ),
    Bug(
        "a room that is skipped forgets that it was solved",
        "kernels.outcomes",
        "store_flags",
        change("flags[at + i] | skip_mask[i] & variable[i]", "flags[at + i]"),
        _SOKOBAN,
    ),
    Bug(
        "a lake that is skipped has the probability of another step",
        "kernels.frozen_lake.moves",
        "step_lakes",
        change("prob[i] if skips else chance", "chance"),
        _LAKES,
    ),
    Bug(
        "a terminal tile of a random lake lets the player go",
        "kernels.frozen_lake.moves",
        "_move_players",
        change("codes[at + i] | (code != PLAYER) * STAY", "codes[at + i]"),
        _LAKES,
    ),
    Bug(
        "a set plays the level after the one of its seed",
        "kernels.families",
        "_make_begin.begin_next",
        change(
            "index = seed % np.uint64(num_levels)",
            "index = (seed + _1) % np.uint64(num_levels)",
        ),
        "tests/arrays/test_level_infos.py",
    ),
    Bug(
        "a policy of a lake is not better where it waits for a rare slip",
        "kernels.frozen_lake.solver",
        "_look_ahead",
        change("there != cell", "there >= 0"),
        _LAKES,
    ),
    Bug(
        "the carry of PCG64 is lost",
        "kernels.rng.pcg64",
        "_pcg_advance",
        change(
            "product_high + increment_high + carry", "product_high + increment_high"
        ),
        "tests/kernels",
    ),
    Bug(
        "planes of the last rows lack a code",
        "kernels.grids",
        "write_planes",
        change("_U(out.shape[1])", "_U(out.shape[1] - 1)"),
        "tests/kernels/test_small_kernels.py",
    ),
    Bug(
        "unrolls forget the environments that ended in the last step of a block",
        "kernels.unroll",
        "store_progress",
        swap("NEEDS_RESET if skip_mask[i] else PLAYING"),
        "tests/contract/test_unroll.py",
    ),
    # autoreset
    Bug(
        "environments that ended are stepped on in DISABLED mode",
        "roll_vec.vector.autoreset",
        "Autoreset.step",
        change("np.count_nonzero(has_ended)", "has_ended.all()"),
        "tests/contract/test_bad_input.py",
    ),
    Bug(
        "a partial reset does not clear a pending autoreset",
        "roll_vec.vector.autoreset",
        "Autoreset.reset",
        drop("has_ended[env_ids] = False"),
        _LOCKSTEP,
    ),
    Bug(
        "final_obs is taken after the reset",
        "roll_vec.vector.autoreset",
        "Autoreset._reset_ended",
        change(
            "last = self.engine.observe(env_ids)",
            "self.engine.reset(env_ids); last = self.engine.observe(env_ids)",
        ),
        _LOCKSTEP,
    ),
    Bug(
        "a step that was interrupted leaves its batch as if it had ended",
        "roll_vec.vector.autoreset",
        "Autoreset.step",
        drop("self.unfinished_call = 'step'"),
        "tests/contract/test_interrupts.py",
    ),
    # infos
    Bug(
        "group ids count environments",
        "roll_vec.vector.env",
        "RollVectorEnv._set_up",
        change(
            "np.arange(self.num_envs) // options.group_size",
            "np.arange(self.num_envs) % options.group_size",
        ),
        "tests/contract/test_lockstep.py",
    ),
    Bug(
        "in the step that resets an environment, the infos say that it stepped",
        "kernels.bound",
        "make_step.step",
        change("flags[mask, i] = not skip_mask[i]", "flags[mask, i] = True"),
        _LOCKSTEP,
    ),
    Bug(
        "the infos of a step keep what went to final_info",
        "roll_vec.vector.infos",
        "cut_final_infos",
        drop("mask[rows] = False"),
        _LOCKSTEP,
    ),
    # seeds
    Bug(
        "the environments of two groups are seeded as those of one",
        "roll_vec.seeding",
        "expand_seeds",
        change("i // group_size", "i // (2 * group_size)"),
        "tests/contract/test_lockstep.py",
    ),
    Bug(
        "a first reset without seeds gives all environments one seed",
        "roll_vec.seeding",
        "draw_missing_seeds",
        change(
            "zip(seeds, group_ids, strict=True)",
            "zip(seeds, [0] * len(seeds), strict=True)",
        ),
        "tests/contract/test_determinism.py",
    ),
    Bug(
        "large seeds lose their high bits",
        "roll_vec.seeding",
        "fold_seed",
        change("seed >>= SEED_BITS", "seed = 0"),
        "tests/test_base_envs.py",
    ),
    Bug(
        "an autoreset plays the level of the episode before",
        "roll_vec.arrays.episodes",
        "EpisodeEngine.advance",
        change("self.episode_numbers[env_ids] + _1", "self.episode_numbers[env_ids]"),
        _LOCKSTEP,
    ),
    Bug(
        "sample_actions takes actions outside the mask",
        "roll_vec.vector.action_sampling",
        "ActionStream.choose",
        change("ranks > target_ranks[:, None]", "ranks >= target_ranks[:, None]"),
        "tests/vector/test_action_sampling.py",
    ),
    # snapshots
    Bug(
        "a clone of another row than the one that rows names",
        "roll_vec.arrays.episodes",
        "EpisodeEngine.set_state",
        change(
            "np.take(values, rows, 0, array, mode='clip')",
            "np.take(values, np.sort(rows), 0, array, mode='clip')",
        ),
        "tests/contract/test_scenarios.py",
    ),
    Bug(
        "a snapshot that is set leaves ended environments as they were",
        "roll_vec.vector.batch_snapshots",
        "BatchSnapshots.set_state",
        drop("autoreset.set_state(state.arrays, indices, env_ids)"),
        "tests/contract/test_scenarios.py",
    ),
    # faults of pools
    Bug(
        "a fault is counted for the wrong environment",
        "roll_vec.pool.faults",
        "Faults.count",
        change("self.counts[env_id] += 1", "self.counts[env_id - 1] += 1"),
        "tests/pool/test_faults.py",
    ),
    Bug(
        "an environment whose reset fails is tried once more",
        "roll_vec.pool.pool_envs",
        "PoolEnvs._fail_reset",
        change("record.num_retries < MAX_RETRIES", "record.num_retries <= MAX_RETRIES"),
        "tests/pool/test_faults.py",
    ),
    Bug(
        "a reset that a dead worker has not begun counts as an attempt",
        "roll_vec.pool.pool_envs",
        "PoolEnvs._save_resets",
        change("value.has_begun", "True"),
        "tests/pool/test_worker_deaths.py",
    ),
    Bug(
        "recv resets with NEXT_STEP at once",
        "roll_vec.pool.exchange",
        "Exchange._note",
        change(
            "self._autoreset.mode is SAME_STEP",
            "self._autoreset.mode is not AutoresetMode.DISABLED",
        ),
        "tests/pool/test_lockstep.py",
    ),
    # text
    Bug(
        "actions after the end of an episode are taken",
        "roll_vec.text.turn",
        "step_text",
        change("terminated or truncated", "truncated"),
        "tests/text/test_wrapper.py",
    ),
    Bug(
        "the penalty of a batch also falls on environments that are reset",
        "roll_vec.text.turn",
        "step_texts",
        change("~(batch.is_valid | skip_mask)", "~batch.is_valid"),
        "tests/arrays/test_text_actions.py",
    ),
    # WebShop
    Bug(
        "the price limit is no part of the reward",
        "roll_vec.envs.webshop.reward",
        "combine_terms",
        negate("product.price <= goal.price_upper"),
        _WEBSHOP,
    ),
    Bug(
        "a title without common nouns earns half",
        "roll_vec.envs.webshop.reward",
        "compute_type_terms",
        negate("title_score == 0.0"),
        _WEBSHOP,
    ),
    Bug(
        "equal scores in descending order",
        "kernels.webshop.bm25",
        "_is_worse",
        negate("documents[i] > document"),
        "tests/envs/webshop/test_rankings.py",
    ),
    # Countdown
    Bug(
        "numbers beyond int64 are rounded",
        "roll_vec.envs.countdown.grading",
        "_evaluate",
        change("Fraction(code)", "Fraction(float(code))"),
        "tests/envs/test_countdown_answers.py",
    ),
    Bug(
        "a target at the edge of the range is left out",
        "kernels.countdown.targets",
        "_mark",
        change("np.float64(high) + 1.0", "np.float64(high)"),
        "tests/envs/countdown",
    ),
    Bug(
        "answers with fewer operations are not searched for",
        "roll_vec.envs.countdown.solver",
        "solve",
        change("mask or (1 << count) - 1", "(1 << count) - 1"),
        _COUNTDOWN,
    ),
    # shards, files
    Bug(
        "environments of a shard without a key seem to have it",
        "roll_vec.vector.infos",
        "_join_layouts",
        change("blank_array((n, *shape), dtype)", "np.ones((n, *shape), np.bool_)"),
        "tests/joined/test_games.py",
    ),
    Bug(
        "a restored shard forgets the calls since its snapshot",
        "roll_vec.joined.actors",
        "ActorPart._commit",
        drop("self._journal.append((name, self._packed))"),
        "tests/joined/test_restarts.py",
    ),
    Bug(
        "a pipe is replaced by a file",
        "roll_vec.storage.files",
        "replace_file",
        drop("check_regular(path, 'written')"),
        "tests/test_files.py",
    ),
]
