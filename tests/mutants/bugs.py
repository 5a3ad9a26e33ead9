"""The bugs that `make test-mutants` plants."""

from typing import NamedTuple

__all__ = ["BUGS", "Bug"]


class Bug(NamedTuple):
    """A change of one place of the code that a test must notice.

    Attributes
    ----------
    name : str
    path : str
        The file, from the root of the checkout.
    text, replacement : str
        The text stands in the file exactly once.
    tests : tuple of str
        Arguments of pytest: the tests that are tried first.
    """

    name: str
    path: str
    text: str
    replacement: str
    tests: tuple[str, ...]


BUGS = [
    Bug(
        "an autoreset seeds the stream anew",
        "roll_vec/stacked/levels.py",
        "        self.episodes.numbers[rows] += np.uint64(1)\n",
        "        self.episodes.first_seeds[rows] += np.uint64(1)\n",
        ("tests/contract/test_lockstep.py",),
    ),
    Bug(
        "the step count of an episode survives its reset",
        "roll_vec/stacked/levels.py",
        "        self.elapsed_steps[rows] = 0\n",
        "        self.elapsed_steps[rows] += 0\n",
        ("tests/contract/test_lockstep.py",),
    ),
    Bug(
        "final_obs is taken after the reset",
        "roll_vec/vector/autoreset.py",
        (
            "        last = self.engine.observe_envs(env_ids)\n"
            "        for env_id, observation in zip(env_ids, last, strict=True):\n"
            "            observations[env_id] = observation\n"
            "        final_info = cut_final_infos(infos, self.has_ended)\n"
            "        self.engine.advance(env_ids)\n"
        ),
        (
            "        final_info = cut_final_infos(infos, self.has_ended)\n"
            "        self.engine.advance(env_ids)\n"
            "        last = self.engine.observe_envs(env_ids)\n"
            "        for env_id, observation in zip(env_ids, last, strict=True):\n"
            "            observations[env_id] = observation\n"
        ),
        ("tests/contract/test_lockstep.py",),
    ),
    Bug(
        "with copy=False the observations of the step before are returned",
        "roll_vec/vector/env.py",
        (
            "        self._observations = self.engine.observe(self._observations)\n"
            "        return self._observations\n"
        ),
        (
            "        previous = self._observations\n"
            "        self._observations = self.engine.observe()\n"
            "        return self._observations if previous is None else previous\n"
        ),
        ("tests/contract/test_lockstep.py",),
    ),
    Bug(
        "a partial reset does not clear a pending autoreset",
        "roll_vec/vector/autoreset.py",
        "        has_ended[env_ids] = False\n",
        "        has_ended[env_ids] &= True\n",
        ("tests/contract/test_lockstep.py",),
    ),
    Bug(
        "a partial reset takes its seeds from the front of the list",
        "roll_vec/vector/env.py",
        "            seeds = [seeds[env_id] for env_id in env_ids]\n",
        "            seeds = seeds[: len(env_ids)]\n",
        ("tests/contract/test_lockstep.py",),
    ),
    Bug(
        "a level of a finite set is taken from the episode's number",
        "roll_vec/stacked/levels.py",
        "        levels, level_indices = self.level_provider.get(seeds)\n",
        "        levels, level_indices = self.level_provider.get(self.episodes.numbers[rows])\n",
        ("tests/contract/test_lockstep.py",),
    ),
    Bug(
        "the environments of a group are seeded as if there were no groups",
        "roll_vec/seeding.py",
        "        return [first + i // group_size for i in range(num_envs)]\n",
        "        return [first + i for i in range(num_envs)]\n",
        ("tests/contract/test_seeding.py",),
    ),
    Bug(
        "the ignored action of a NEXT_STEP reset is checked",
        "roll_vec/vector/autoreset.py",
        "        actions = engine.check_actions(actions, resetting)\n",
        "        actions = engine.check_actions(actions, self._none)\n",
        ("tests/contract/test_lockstep.py",),
    ),
    Bug(
        "environments that ended are stepped on in DISABLED mode",
        "roll_vec/vector/autoreset.py",
        "        if resetting is not self.has_ended and np.count_nonzero(self.has_ended):\n",
        "        if resetting is not self.has_ended and self.has_ended.all():\n",
        ("tests/contract/test_autoreset_mode.py",),
    ),
    Bug(
        "a mask of final observations is shared with the environment",
        "roll_vec/vector/autoreset.py",
        '        infos["final_obs"], infos["_final_obs"] = observations, self.has_ended.copy()\n',
        '        infos["final_obs"], infos["_final_obs"] = observations, self.has_ended\n',
        ("tests/contract/test_copies.py",),
    ),
    Bug(
        "the user's dict of options loses its mask",
        "roll_vec/vector/env.py",
        '            options = {k: v for k, v in (options or {}).items() if k != "reset_mask"}\n',
        (
            "            options = options or {}\n"
            '            del options["reset_mask"]\n'
        ),
        ("tests/contract/test_reset_mask.py",),
    ),
    Bug(
        "group ids count environments",
        "roll_vec/vector/autoreset.py",
        "        group_ids = env_ids // self.group_size\n",
        "        group_ids = env_ids % self.group_size\n",
        ("tests/contract/test_seeding.py",),
    ),
    Bug(
        "an interrupted reset is not undone",
        "roll_vec/vector/env.py",
        ("            if restore is not None:\n                restore()\n"),
        ("            if restore is None:\n                pass\n"),
        ("tests/contract", "tests/stacked"),
    ),
    Bug(
        "a first reset without seeds gives all environments one seed",
        "roll_vec/seeding.py",
        "        group = env_id // group_size\n",
        "        group = 0\n",
        ("tests/contract/test_seeding.py",),
    ),
    Bug(
        "large seeds lose their high bits",
        "roll_vec/seeding.py",
        (
            "        folded = _fold_in(folded, seed & ((1 << SEED_BITS) - 1))\n"
            "        seed >>= SEED_BITS\n"
        ),
        (
            "        folded = _fold_in(folded, seed & ((1 << SEED_BITS) - 1))\n"
            "        seed = 0\n"
        ),
        ("tests/test_seeding.py",),
    ),
    Bug(
        "kept levels ignore start_level",
        "roll_vec/stacked/levels.py",
        "            drawn = self.generate(missing + np.uint64(self.start_level))\n",
        "            drawn = self.generate(missing)\n",
        ("tests/stacked/test_levels.py",),
    ),
    Bug(
        "actions after the end of an episode are taken",
        "roll_vec/text/turn.py",
        ("        if terminated or truncated:\n            break\n"),
        ("        if truncated:\n            break\n"),
        ("tests/text",),
    ),
    Bug(
        "the penalty of a batch also falls on environments that are reset",
        "roll_vec/text/turn.py",
        "    rewards[~(batch.is_valid | skip_mask)] += parser.options.format_penalty\n",
        "    rewards[~batch.is_valid] += parser.options.format_penalty\n",
        ("tests/stacked/test_text_actions.py", "tests/contract/test_lockstep.py"),
    ),
    Bug(
        "the reward of a turn is that of its last action",
        "roll_vec/text/turn.py",
        "        reward = total + reward\n",
        "        reward = reward + 0 * total\n",
        ("tests/text",),
    ),
    Bug(
        "a batch takes later actions after an end",
        "roll_vec/text/turn.py",
        "        active = (number < batch.counts) & ~(terminations | truncations | skip_mask)\n",
        "        active = (number < batch.counts) & ~(truncations | skip_mask)\n",
        ("tests/stacked/test_text_actions.py",),
    ),
    Bug(
        "a fault is counted for the wrong environment",
        "roll_vec/pool/fault_handling.py",
        "        self.counts[env_id] += 1\n",
        "        self.counts[env_id - 1] += 1\n",
        ("tests/pool",),
    ),
    Bug(
        "an environment whose reset fails is tried without end",
        "roll_vec/pool/fault_handling.py",
        "        if num_retries < MAX_RETRIES:\n",
        "        if num_retries <= MAX_RETRIES:\n",
        ("tests/pool",),
    ),
    Bug(
        "a replaced environment starts its stream anew",
        "roll_vec/pool/episodes.py",
        "            seed = first_seed if number == 0 else episode_seed(first_seed, number)\n",
        "            seed = first_seed\n",
        ("tests/pool",),
    ),
    Bug(
        "recv resets with NEXT_STEP at once",
        "roll_vec/pool/pending_steps.py",
        "        if self._mode is AutoresetMode.SAME_STEP and (terminated or truncated):\n",
        "        if self._mode is not AutoresetMode.DISABLED and (terminated or truncated):\n",
        ("tests/pool",),
    ),
    Bug(
        "recv returns environments in the order of their ends",
        "roll_vec/pool/pending_steps.py",
        "        env_ids = sorted(self._ready)\n",
        "        env_ids = list(self._ready)\n",
        ("tests/pool",),
    ),
    Bug(
        "an environment may be sent two actions",
        "roll_vec/pool/pending_steps.py",
        "        busy = [i for i in checked.tolist() if i in self._active or i in self._ready]\n",
        "        busy = [i for i in checked.tolist() if i in self._active]\n",
        ("tests/pool",),
    ),
    Bug(
        "sent actions stay the caller's arrays",
        "roll_vec/pool/pending_steps.py",
        "        return [copy_data(action) for action in checked]\n",
        "        return list(checked)\n",
        ("tests/pool",),
    ),
    Bug(
        "the price limit is no part of the reward",
        "roll_vec/envs/webshop/reward.py",
        "        product.price <= goal.price_upper,\n",
        "        True,\n",
        ("tests/envs/webshop",),
    ),
    Bug(
        "one chosen value counts for several options",
        "roll_vec/envs/webshop/reward.py",
        ("                num_options += 1\n                break\n"),
        "                num_options += 1\n",
        ("tests/envs/webshop",),
    ),
    Bug(
        "a title without common nouns earns half",
        "roll_vec/envs/webshop/reward.py",
        ("    if title_score == 0.0:\n        r_type = 0.0\n    elif"),
        ("    if title_score < 0.0:\n        r_type = 0.0\n    elif"),
        ("tests/envs/webshop",),
    ),
    Bug(
        "the last goal is never drawn by weight",
        "roll_vec/envs/webshop/goals.py",
        "        return min(position, len(self) - 1)\n",
        "        return min(position, len(self) - 2)\n",
        ("tests/envs/webshop",),
    ),
    Bug(
        "goals of sessions depend on hash()",
        "roll_vec/envs/webshop/goals.py",
        'self[self.draw_position(random.Random(int.from_bytes(digest, "big")))]',
        "self[self.draw_position(random.Random(hash(digest)))]",
        ("tests/envs/webshop", "tests/contract/test_determinism.py"),
    ),
    Bug(
        "numbers too large for the kernel are never correct",
        "roll_vec/envs/countdown/grading.py",
        (
            "            elif numerator == int(self.work[kernels.TARGET]) * denominator:\n"
            "                code = kernels.CORRECT\n"
        ),
        (
            "            elif numerator > int(self.work[kernels.TARGET]) * denominator:\n"
            "                code = kernels.WRONG_VALUE\n"
        ),
        ("tests/envs/countdown", "tests/kernels/countdown"),
    ),
    Bug(
        "an answer may end with another target",
        "roll_vec/envs/countdown/grading.py",
        '            if equals and right.strip(" \\t\\n\\r") == str(self.work[kernels.TARGET]):\n',
        "            if equals:\n",
        ("tests/envs/countdown",),
    ),
    Bug(
        "large quotients lose their sign",
        "roll_vec/envs/countdown/grading.py",
        "            sign = 1 if y > 0 else -1\n",
        "            sign = 1\n",
        ("tests/envs/countdown", "tests/kernels/countdown"),
    ),
]
