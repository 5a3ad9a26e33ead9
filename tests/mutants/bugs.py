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
            "        # Not from the list itself: numpy would unpack observations of equal shape.\n"
            "        observations[env_ids] = np.fromiter(last, object, len(last))\n"
            "        final_info = cut_finals(infos, ends)\n"
            "        self.engine.advance(env_ids)\n"
        ),
        (
            "        final_info = cut_finals(infos, ends)\n"
            "        self.engine.advance(env_ids)\n"
            "        last = self.engine.observe_envs(env_ids)\n"
            "        observations[env_ids] = np.fromiter(last, object, len(last))\n"
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
        "the first level after that of the seed is not tried for a band",
        "roll_vec/stacked/bands.py",
        "    attempt = 1\n",
        "    attempt = 2\n",
        ("tests/stacked/test_bands.py",),
    ),
    Bug(
        "of several levels that were drawn for a band the last one inside is played",
        "roll_vec/stacked/bands.py",
        "is_inside.any(1), is_inside.argmax(1)\n",
        "is_inside.any(1), number - 1 - is_inside[:, ::-1].argmax(1)\n",
        ("tests/stacked/test_bands.py",),
    ),
    Bug(
        "one attempt without a level ends the search of a band, needed or not",
        "roll_vec/stacked/bands.py",
        "            if number == 1:\n",
        "            if number >= 1:\n",
        ("tests/stacked/test_bands.py",),
    ),
    Bug(
        "the number of the level that is played is never noted",
        "roll_vec/stacked/levels.py",
        "            self.level_numbers[rows] = numbers\n",
        "            self.level_numbers[rows] = 0\n",
        ("tests/stacked/test_level_options.py",),
    ),
    Bug(
        "level options of a mask go to the first environments",
        "roll_vec/stacked/option_sets.py",
        "        indices[env_ids] = len(self.options) + positions\n",
        "        indices[: len(env_ids)] = len(self.options) + positions\n",
        ("tests/stacked/test_level_options.py",),
    ),
    Bug(
        "the number of a user's level is counted from the first one that is played",
        "roll_vec/stacked/level_providers.py",
        "        return level_indices\n",
        "        return level_indices - self.start_level\n",
        ("tests/stacked/test_level_infos.py",),
    ),
    Bug(
        "a dead end of Sokoban does not end the episodes of a batch",
        "roll_vec/envs/sokoban/engine.py",
        "                result[1][deadlocks] = True\n",
        "                pass\n",
        ("tests/envs/sokoban/test_dead_ends.py",),
    ),
    Bug(
        "a level of a finite set is taken from the episode's number",
        "roll_vec/stacked/levels.py",
        "            yield 0, rows, seeds\n",
        "            yield 0, rows, self.episodes.numbers[rows]\n",
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
        "        actions = engine.check_actions(actions, skip_mask)\n",
        "        actions = engine.check_actions(actions, self._none)\n",
        ("tests/contract/test_lockstep.py",),
    ),
    Bug(
        "environments that ended are stepped on in DISABLED mode",
        "roll_vec/vector/autoreset.py",
        "        elif np.count_nonzero(has_ended):\n",
        "        elif has_ended.all():\n",
        ("tests/contract/test_autoreset_mode.py",),
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
        "            if point is not None:\n                point.go_back()\n",
        "",
        ("tests/envs/frozen_lake", "tests/stacked/test_levels.py"),
    ),
    Bug(
        "a step that was interrupted leaves its batch as if it had ended",
        "roll_vec/vector/autoreset.py",
        "        self.is_ready = False\n        try:\n",
        "        try:\n",
        ("tests/contract/test_interrupts.py",),
    ),
    Bug(
        "two threads step one batch",
        "roll_vec/vector/env.py",
        "        elif outer != caller:\n            check_caller(self, outer)\n",
        "",
        ("tests/contract/test_interrupts.py",),
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
        "a level drawn ahead is played whatever its seed is",
        "roll_vec/stacked/prefetch.py",
        "        is_ready = background.ready[rows] == keys\n",
        "        is_ready = background.ready[rows] != 0\n",
        ("tests/stacked/test_prefetch.py",),
    ),
    Bug(
        "levels drawn ahead are kept for other environments",
        "roll_vec/stacked/prefetch.py",
        "            array[others] = slot[rows[others]]\n",
        "            array[others] = slot[others]\n",
        ("tests/stacked/test_prefetch.py",),
    ),
    Bug(
        "kept levels ignore start_level",
        "roll_vec/stacked/level_providers.py",
        "            level_seeds = numbers_new + np.uint64(self.start_level)\n",
        "            level_seeds = numbers_new\n",
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
        "        busy_ids = {*self._active, *self._ready}\n",
        "        busy_ids = {*self._ready}\n",
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
        "a worker that dies restores an environment from before its snapshot",
        "roll_vec/pool/replay.py",
        '        elif operation == "set_state":\n            self._clear()\n',
        '        elif operation == "set_state":\n',
        ("tests/pool/test_snapshots.py",),
    ),
    Bug(
        "states of a user's environment have no stream of seeds",
        "roll_vec/base_envs.py",
        '            if is_own and not hasattr(method, "keeps_stream"):\n',
        '            if not is_own and not hasattr(method, "keeps_stream"):\n',
        ("tests/pool/test_streams_in_states.py",),
    ),
    Bug(
        "draws in a user's set_state move its stream of seeds",
        "roll_vec/base_envs.py",
        "            raise\n        self.set_stream(position)\n",
        "            raise\n",
        ("tests/pool/test_streams_in_states.py",),
    ),
    Bug(
        "a user's set_state that fails has moved its stream of seeds",
        "roll_vec/base_envs.py",
        "            self.set_stream(before)\n            raise\n",
        "            raise\n",
        ("tests/pool/test_streams_in_states.py",),
    ),
    Bug(
        "clones share a copy of an environment",
        "roll_vec/pool/env_runner.py",
        "            env = copy.deepcopy(content) if is_copy else pickle.loads(content)\n",
        "            env = content if is_copy else pickle.loads(content)\n",
        ("tests/pool/test_snapshots.py",),
    ),
    Bug(
        "a state goes into an object that failed",
        "roll_vec/pool/env_runner.py",
        "            if request.replace_env or env_id not in self.envs:\n",
        "            if env_id not in self.envs:\n",
        ("tests/pool/test_snapshots.py",),
    ),
    Bug(
        "two lone surrogates become one character",
        "roll_vec/plain_data.py",
        "    ensure_ascii=False, check_circular",
        "    ensure_ascii=True, check_circular",
        ("tests/test_plain_data.py",),
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
    Bug(
        "slips are drawn from the generator of the neighbour",
        "kernels/frozen_lake/rules.py",
        "        slip_index = sample_slip(uniforms[i], first, second, third)\n",
        (
            "        j = i + np.uint64(1) if i + np.uint64(1) < np.uint64(stop) else np.uint64(start)\n"
            "        slip_index = sample_slip(uniforms[j], first, second, third)\n"
        ),
        ("tests/contract/test_lockstep.py",),
    ),
    Bug(
        "in the step that resets an environment, the infos say that it stepped",
        "roll_vec/stacked/engine.py",
        "        infos = masked_infos(values, ~skip_mask, self._info_keys)\n",
        "        infos = masked_infos(values, skip_mask | True, self._info_keys)\n",
        ("tests/contract/test_lockstep.py",),
    ),
    Bug(
        "rooms that begin in compiled code forget the first level of a set",
        "kernels/sokoban/rules.py",
        "            level_numbers[i] = first_number + level_index - first_index\n",
        "            level_numbers[i] = first_number + level_index\n",
        ("tests/stacked/test_levels_in_memory.py",),
    ),
    Bug(
        "a box that is pushed off its target costs nothing",
        "kernels/sokoban/rules.py",
        "    reward = PENALTY_STEP + REWARD_BOX_ON_TARGET * target_delta\n",
        "    reward = PENALTY_STEP + REWARD_BOX_ON_TARGET * max(target_delta, 0)\n",
        ("tests/kernels/sokoban",),
    ),
    Bug(
        "a box that leaves its target becomes a box on a target",
        "kernels/sokoban/rules.py",
        "IS_FREE = _mark(BOX, BOX_ON_TARGET), _mark(FLOOR, TARGET)\n",
        "IS_FREE = _mark(BOX, BOX_ON_TARGET, TARGET), _mark(FLOOR, TARGET)\n",
        ("tests/kernels/sokoban",),
    ),
    Bug(
        "skipped rooms count a step",
        "kernels/sokoban/rules.py",
        "        elapsed_steps[i] += plays\n",
        "        elapsed_steps[i] += 1\n",
        ("tests/kernels/sokoban",),
    ),
    Bug(
        "an episode is one step too long",
        "kernels/outcomes.py",
        "    return (elapsed_steps >= max_steps) & (max_steps > 0)\n",
        "    return (elapsed_steps > max_steps) & (max_steps > 0)\n",
        ("tests/kernels/frozen_lake",),
    ),
    Bug(
        "slips turn the other way",
        "kernels/frozen_lake/rules.py",
        "    return (direction + slip_index - 1) & 3\n",
        "    return (direction - slip_index + 1) & 3\n",
        ("tests/kernels/frozen_lake",),
    ),
    Bug(
        "a terminal tile pays again",
        "kernels/frozen_lake/rules.py",
        "    entered = valid & (code <= GOAL)\n",
        "    entered = valid & (code <= PLAYER_ON_GOAL)\n",
        ("tests/kernels/frozen_lake", "tests/contract/test_gymnasium_parity.py"),
    ),
    Bug(
        "an action without a chance to move is in the mask",
        "kernels/frozen_lake/rules.py",
        "                if slip[0, outcome] > 0.0 and",
        "                if slip[0, outcome] >= 0.0 and",
        ("tests/kernels/frozen_lake/test_rules.py",),
    ),
    Bug(
        "the best policy of a lake waits without need",
        "kernels/frozen_lake/solver.py",
        "        if saves_steps:\n            _shorten_policy(\n",
        "        if False:\n            _shorten_policy(\n",
        ("tests/kernels/frozen_lake/test_solver.py",),
    ),
    Bug(
        "a policy of a lake is not better where it waits for a rare slip",
        "kernels/frozen_lake/solver.py",
        "        if there != cell:\n",
        "        if there >= 0:\n",
        ("tests/kernels/frozen_lake/test_solver.py",),
    ),
    Bug(
        "ways through a cell that was eliminated are lost",
        "kernels/frozen_lake/solver.py",
        "                    links[k, band + j - k] += chance * links[i, band + j - i]\n",
        "                    links[k, band + j - k] += 0.0\n",
        ("tests/kernels/frozen_lake/test_solver.py",),
    ),
    Bug(
        "a lake is measured from another cell than its start",
        "roll_vec/envs/frozen_lake/solver.py",
        "solutions.values[np.arange(len(maps)), starts]\n",
        "solutions.values.max(axis=1)\n",
        ("tests/envs/frozen_lake/test_solver.py",),
    ),
    Bug(
        "a map of users has two starts",
        "roll_vec/envs/frozen_lake/level_files.py",
        "        faulty = (counts != 1) |",
        "        faulty = (counts < 1) |",
        ("tests/envs/frozen_lake/test_level_files.py",),
    ),
    Bug(
        "the carry of PCG64 is lost",
        "kernels/rng/pcg64.py",
        "    return product_high + increment_high + carry, new_low\n",
        "    return product_high + increment_high, new_low\n",
        ("tests/kernels/rng",),
    ),
    Bug(
        "the Mersenne Twister takes a word too early",
        "kernels/rng/mersenne_twister.py",
        "    k = i + _U(397) if i < _U(227) else i - _U(227)\n",
        "    k = i + _U(396) if i < _U(227) else i - _U(227)\n",
        ("tests/kernels/rng",),
    ),
    Bug(
        "a draw below n does not reject",
        "kernels/rng/mersenne_twister.py",
        "    while value >= n:\n",
        "    while value > n:\n",
        ("tests/kernels/rng",),
    ),
    Bug(
        "a failed room is drawn again with the same seed",
        "kernels/sokoban/rooms.py",
        "                seed = fold_in(seed, RETRY + _U(attempt))\n",
        "                seed = fold_in(seed, RETRY)\n",
        ("tests/kernels/sokoban",),
    ),
    Bug(
        "the player may start on the border of a carved floor",
        "kernels/sokoban/carving.py",
        "        row = max(min(row + _WALK_ROWS[direction], height - 2), 1)\n",
        "        row = max(min(row + _WALK_ROWS[direction], height - 1), 1)\n",
        ("tests/kernels/sokoban",),
    ),
    Bug(
        "the player of a room may step back",
        "kernels/sokoban/carving.py",
        ("            second = player\n        else:\n"),
        ("            third = player\n        else:\n"),
        ("tests/kernels/sokoban",),
    ),
    Bug(
        'unrolled rooms count "no valid action" as valid',
        "kernels/sokoban/unroll.py",
        "                valid[t, i] = action != NO_ACTION\n",
        "                valid[t, i] = True\n",
        ("tests/kernels/sokoban", "tests/contract/test_unroll.py"),
    ),
    Bug(
        "unrolled rooms take a step while their next episode begins",
        "kernels/sokoban/unroll.py",
        "            skip_mask[i] = not same_step\n",
        "            skip_mask[i] = False\n",
        ("tests/stacked/test_unroll_levels.py",),
    ),
    Bug(
        "unrolls forget the environments that ended in the last step of a block",
        "kernels/lockstep.py",
        "            states[i] = NEEDS_RESET if skip_mask[i] else PLAYING\n",
        "            states[i] = PLAYING\n",
        ("tests/stacked/test_unroll_levels.py",),
    ),
    Bug(
        "environments have the level numbers that they had before an unroll",
        "roll_vec/stacked/levels.py",
        "            rows = np.flatnonzero(self.episodes.numbers != before)\n",
        "            rows = np.arange(0)\n",
        ("tests/stacked/test_unroll_levels.py",),
    ),
    Bug(
        "tasks leave out quotients of differences",
        "kernels/countdown/targets.py",
        (
            "                if first < 0:\n"
            "                    first, second = -first, -second\n"
            "                size = np.float64(first)\n"
        ),
        (
            "                if first < 0:\n"
            "                    continue\n"
            "                size = np.float64(first)\n"
        ),
        ("tests/kernels/countdown", "tests/envs/countdown"),
    ),
    Bug(
        "the first subset that reaches a target counts, not the smallest",
        "kernels/countdown/targets.py",
        "        if smallest and size >= smallest:\n",
        "        if smallest:\n",
        ("tests/envs/countdown",),
    ),
    Bug(
        "a band never tries the task of the level itself",
        "roll_vec/envs/countdown/tasks.py",
        "self._tasks.get(band_seed(level, attempt))",
        "self._tasks.get(band_seed(level, attempt + 1))",
        ("tests/envs/countdown",),
    ),
    Bug(
        "the objects of a pool do not check states",
        "roll_vec/pool/env_handles.py",
        '        self.run("check_states", list(parts.values()), able_ids)\n',
        "",
        ("tests/pool/test_state_checks.py",),
    ),
    Bug(
        "a new object gets the last level options alone",
        "roll_vec/pool/env_handles.py",
        "            value = {**attributes.get(name, {}), **value}\n",
        "            value = dict(value)\n",
        ("tests/pool/test_level_options.py",),
    ),
    Bug(
        "a target at the edge of the range is left out",
        "kernels/countdown/targets.py",
        "    below, above = np.float64(low) - 1.0, np.float64(high) + 1.0\n",
        "    below, above = np.float64(low) - 1.0, np.float64(high)\n",
        ("tests/kernels/countdown",),
    ),
    Bug(
        "rows of texts are joined by nothing",
        "kernels/grids.py",
        "            first = r * (width * length + _1)\n",
        "            first = r * (width * length)\n",
        ("tests/kernels/test_grids.py",),
    ),
    Bug(
        "planes of the last rows lack a code",
        "kernels/grids.py",
        (
            "    for i in range(_U(last_rows), _U(stop)):\n"
            "        for number in range(num_codes):\n"
        ),
        (
            "    for i in range(_U(last_rows), _U(stop)):\n"
            "        for number in range(num_codes - _1):\n"
        ),
        ("tests/kernels/test_grids.py",),
    ),
    Bug(
        "a stored record is not checked",
        "roll_vec/envs/webshop/records.py",
        "if self._checks is not None and zlib.crc32(line) != self._checks[number]:",
        "if self._checks is None:",
        ("tests/envs/webshop/catalogue",),
    ),
    Bug(
        "< prev keeps the options",
        "roll_vec/envs/webshop/state.py",
        'return state._replace(page="results", asin=None, options={})',
        'return state._replace(page="results", asin=None)',
        ("tests/envs/webshop/test_state.py",),
    ),
    Bug(
        "equal scores in descending order",
        "kernels/webshop/bm25.py",
        "documents[i] > document)",
        "documents[i] < document)",
        ("tests/kernels/webshop", "tests/envs/webshop/search/test_lucene_ranking.py"),
    ),
    Bug(
        "an invalid click is effective",
        "roll_vec/envs/webshop/env.py",
        "effective = after is not None and (",
        "effective = (",
        ("tests/envs/webshop/test_env.py",),
    ),
    Bug(
        "buy now needs no reset after it",
        "roll_vec/envs/webshop/env.py",
        'if before is None or before.page == "done":',
        "if before is None:",
        ("tests/envs/webshop/test_env.py",),
    ),
    Bug(
        "the oracle counts pages from 0",
        "roll_vec/envs/webshop/oracle.py",
        "numbers.index(number) // PAGE_SIZE + 1",
        "numbers.index(number) // PAGE_SIZE",
        ("tests/envs/webshop/test_oracle.py",),
    ),
    Bug(
        "word lists: departments in another order",
        "roll_vec/envs/webshop/demo_shop/vocabulary.py",
        '("beauty", "electronics", "garden", "fashion", "grocery")',
        '("beauty", "electronics", "fashion", "garden", "grocery")',
        ("tests/envs/webshop/demo_shop",),
    ),
    Bug(
        "the changed file of a pickle is accepted",
        "roll_vec/envs/webshop/catalogue/catalogue.py",
        "        if old_digest != digest:",
        "        if old_digest is None and digest:",
        ("tests/test_data_files.py", "tests/envs/webshop/catalogue"),
    ),
    Bug(
        "a shared catalogue does not depend on its files",
        "roll_vec/envs/webshop/catalogue/sharing.py",
        "list(digests), versions",
        "versions",
        ("tests/envs/webshop/catalogue/test_sharing.py",),
    ),
    Bug(
        "what a killed builder left of a shared folder stays",
        "roll_vec/shared_folders.py",
        "            _clear(folder, keep=(_GATE, _USERS))\n",
        "",
        ("tests/test_shared_folders.py",),
    ),
    Bug(
        "a forked child releases a shared folder for its parent",
        "roll_vec/shared_folders.py",
        " or os.getpid() != self._process",
        "",
        ("tests/test_shared_folders.py",),
    ),
    Bug(
        "a node takes other data files than the head",
        "roll_vec/distributed/recipe.py",
        "return cls(source, pin_files(keywords, files))",
        "return cls(source, dict(keywords))",
        ("tests/distributed/test_node_errors.py",),
    ),
    Bug(
        "the keywords of shards are saved as those of environments",
        "roll_vec/cli/rollout.py",
        "        options = without_shard_options(options)\n",
        "        options = dict(options)\n",
        ("tests/cli/test_rollout_shards.py",),
    ),
    Bug(
        "random players: later episodes count as well",
        "roll_vec/cli/_level_stats.py",
        "        success |= is_playing & env.unwrapped.successes\n",
        "        success |= env.unwrapped.successes\n",
        ("tests/cli/test_levels.py",),
    ),
    Bug(
        "random players: those of a level all slip alike",
        "roll_vec/cli/_level_stats.py",
        "np.arange(episodes) * count)",
        "np.arange(episodes) * 0)",
        ("tests/cli/test_levels.py",),
    ),
    Bug(
        "a pipe is replaced by a file",
        "roll_vec/files.py",
        '    check_regular(path, "written")\n',
        "",
        ("tests/test_files.py",),
    ),
    Bug(
        "a link is replaced by a file",
        "roll_vec/files.py",
        "if path.is_symlink() else path",
        "if path is None else path",
        ("tests/test_files.py",),
    ),
    Bug(
        "an interrupted command leaves half a file",
        "roll_vec/files.py",
        "    finally:\n        with suppress(OSError):\n            partial.unlink()\n",
        "    finally:\n        pass\n",
        ("tests/test_files.py",),
    ),
    Bug(
        "--levels takes the first levels of a file",
        "roll_vec/cli/_level_sources.py",
        "levels = game.load(levels.grids[numbers])",
        "levels = game.load(levels.grids[: len(numbers)])",
        ("tests/cli/test_levels.py",),
    ),
    Bug(
        "the oracle plays on with the solution of the episode before",
        "roll_vec/cli/_oracles.py",
        "        if env_ids.size:\n",
        "        if env_ids.size == num_envs:\n",
        ("tests/cli/test_oracles.py",),
    ),
    Bug(
        "levels of another game are read from an array file",
        "roll_vec/stacked/level_archives.py",
        "    if None not in (env_id, file_id) and file_id != env_id:\n",
        "    if None not in (env_id, file_id) and file_id == '':\n",
        ("tests/envs/sokoban/test_level_files.py",),
    ),
    Bug(
        "entries of a run are differences of each other in one block alone",
        "roll_vec/cli/_columns.py",
        "np.bitwise_xor(before, entry, out=entry)",
        "np.bitwise_xor(block[0], entry, out=entry)",
        ("tests/cli/test_frames.py",),
    ),
    Bug(
        "a digest of a row leaves out the bytes after its last word",
        "roll_vec/cli/_frames.py",
        "    num_words = -(-size // 4)\n",
        "    num_words = max(1, size // 4)\n    data, size = data[:, : 4 * num_words], min(size, 4 * num_words)\n",
        ("tests/cli/test_frames.py",),
    ),
    Bug(
        "a replay compares values, and -0.0 with 0.0 as equal",
        "roll_vec/cli/_differences.py",
        "        return None if np.array_equal(a, b) else (a != b).any(axis=1)",
        "        return None if np.array_equal(recorded, present) else (a != b).any(axis=1)",
        ("tests/cli/test_replay.py",),
    ),
    Bug(
        "a replay names the last environment that differs",
        "roll_vec/cli/_differences.py",
        "    env_id = int(differs.argmax())\n",
        "    env_id = int(np.flatnonzero(differs)[-1])\n",
        ("tests/cli/test_replay.py",),
    ),
    Bug(
        "a replay accepts a data file with other content",
        "roll_vec/cli/_run_setup.py",
        "    if digest != file.digest:",
        "    if len(digest) != len(file.digest):",
        ("tests/cli/test_replay_files.py",),
    ),
    Bug(
        "a replay takes the defaults of this version",
        "roll_vec/cli/_run_setup.py",
        "            if name in present and present[name] != recorded",
        "            if name in present and present[name] == recorded",
        ("tests/cli/test_replay_files.py",),
    ),
    Bug(
        "Ctrl-C splits a step of a rollout",
        "kernels/signals.py",
        "        if self._is_inside:\n",
        "        if self._waiting:\n",
        ("tests/cli/test_replay.py",),
    ),
    Bug(
        "a reset between steps is not recorded",
        "roll_vec/cli/_episodes.py",
        "                        recorder.add_reset(observations, infos)",
        "                        recorder.add_reset(previous, infos)",
        ("tests/cli/test_replay.py",),
    ),
    Bug(
        "boxes that can move hold others in the Sokoban solver",
        "kernels/sokoban/bitboards.py",
        "        passable = floor & ~frozen\n",
        "        passable = floor & ~boxes\n",
        ("tests/kernels/sokoban/test_solver.py",),
    ),
    Bug(
        "a bitboard wraps around its right edge",
        "kernels/sokoban/bitboards.py",
        "    return (cells << _1) & board.not_first\n",
        "    return cells << _1\n",
        ("tests/kernels/sokoban/test_solver.py",),
    ),
    Bug(
        "the Sokoban solver forgets where the player has been",
        "kernels/sokoban/bitboard_solver.py",
        (
            "            entry_cells[entry] = cells\n"
            "            visited[number] |= cells\n"
        ),
        (
            "            entry_cells[entry] = cells\n"
            "            visited[number] = cells\n"
        ),
        ("tests/kernels/sokoban/test_solver.py",),
    ),
    Bug(
        "in large rooms all cells of a walk count as the player's",
        "kernels/sokoban/solver.py",
        "num_reached if objective == PUSHES else 1",
        "num_reached",
        ("tests/kernels/sokoban/test_solver.py",),
    ),
    Bug(
        "a room is dead although its stuck box is on a target",
        "kernels/sokoban/deadlocks.py",
        "        if stuck & ~targets != 0:\n",
        "        if stuck != 0:\n",
        ("tests/kernels/sokoban/test_deadlocks.py",),
    ),
    Bug(
        "the directions of a room begin at those of the room before",
        "roll_vec/envs/sokoban/solver.py",
        "parts = map(slice, [0, *stops[:-1]], stops)",
        "parts = map(slice, [0, 0, *stops[:-2]], stops)",
        ("tests/envs/sokoban/test_solver.py",),
    ),
    Bug(
        "a clone of another row than the one that rows names",
        "roll_vec/stacked/engine.py",
        'np.take(values, rows, 0, array, mode="clip")',
        'np.take(values, np.sort(rows), 0, array, mode="clip")',
        ("tests/contract/test_snapshot_points.py",),
    ),
    Bug(
        "a snapshot that is set leaves ended environments as they were",
        "roll_vec/vector/snapshots.py",
        "        autoreset.set_state(state.arrays, indices, env_ids)\n",
        "",
        ("tests/contract/test_snapshot_mixtures.py",),
    ),
    Bug(
        "the random words of a policy depend on the environment, not on the episode",
        "roll_vec/trajectories/turn.py",
        "        for counters in (self.episodes, self.steps):\n",
        "        for counters in (np.arange(len(self.steps)), self.steps):\n",
        ("tests/evaluation/test_episodes.py",),
    ),
    Bug(
        "an environment without an episode is counted",
        "roll_vec/trajectories/play.py",
        "        playing &= ~(terminations | truncations)\n",
        "        playing &= ~terminations\n",
        ("tests/evaluation/test_episodes.py",),
    ),
    Bug(
        "episodes of a part of a split have numbers of the part",
        "roll_vec/evaluation/episodes.py",
        "        return policy(replace(turn, episodes=numbers[turn.episodes]))\n",
        "        return policy(turn)\n",
        ("tests/evaluation/test_runs.py",),
    ),
    Bug(
        "a run that goes on plays all its episodes again",
        "roll_vec/evaluation/runs.py",
        "    missing = [number for number in range(count) if number not in records]\n",
        "    missing = list(range(count))\n",
        ("tests/evaluation/test_runs.py",),
    ),
    Bug(
        "lines of a complete file stand in the order of the ends",
        "roll_vec/evaluation/result_files.py",
        "    for record in sorted(records, key=lambda record: record.episode):\n",
        "    for record in records:\n",
        ("tests/evaluation/test_result_files.py",),
    ),
    Bug(
        "results of another policy go into a file",
        "roll_vec/evaluation/result_files.py",
        'for name in ("id", "split", "digest", "keywords", "policy")',
        'for name in ("id", "split", "digest", "keywords")',
        ("tests/evaluation/test_result_files.py",),
    ),
    Bug(
        "the digest of a shop has the place of its files, not their content",
        "roll_vec/evaluation/split.py",
        "sorted({**self.keywords, **files}.items())",
        "sorted(self.keywords.items())",
        ("tests/evaluation/test_shop_splits.py",),
    ),
    Bug(
        "conversations go on while nobody takes their episodes",
        "roll_vec/evaluation/chat_episodes.py",
        "                await self._slots.acquire()\n",
        "",
        ("tests/evaluation/test_chat.py",),
    ),
    Bug(
        "faults have the key of the endpoint",
        "roll_vec/evaluation/chat_endpoint.py",
        '            text = text.replace(self._key, "***")\n',
        "            pass\n",
        ("tests/evaluation/test_chat.py",),
    ),
    Bug(
        "a failed request counts as the success of the step before",
        "roll_vec/evaluation/chat_episodes.py",
        "            success=success if fault is None else False,\n",
        "            success=success,\n",
        ("tests/evaluation/test_chat.py",),
    ),
    Bug(
        "the correlation of paired rates has no continuity correction",
        "roll_vec/evaluation/paired.py",
        "        excess = max(excess - n / 2, 0.0)\n",
        "        excess = max(excess, 0.0)\n",
        ("tests/evaluation/test_paired.py",),
    ),
    Bug(
        "a split plays levels that are free for training",
        "roll_vec/evaluation/splits.py",
        "TEST_START = 1_000_000\n",
        "TEST_START = 0\n",
        ("tests/evaluation/test_splits.py",),
    ),
    Bug(
        "an interval of a rate has the centre of the rate",
        "roll_vec/evaluation/intervals.py",
        "    centre = (rate + square / (2 * n)) / (1 + square / n)\n",
        "    centre = rate\n",
        ("tests/evaluation/test_intervals.py",),
    ),
    Bug(
        "baselines of other code are kept",
        "benchmarks/baselines/results.py",
        "    return all(row.get(name) == value for name, value in parsed.items())\n",
        "    return True\n",
        ("tests/benchmarks/test_baselines.py",),
    ),
    Bug(
        "a goal of a cost is reached by greater figures",
        "benchmarks/goals/page.py",
        '        return bool(median <= row["target"])\n',
        '        return bool(median >= row["target"])\n',
        ("tests/benchmarks/test_goals.py",),
    ),
    Bug(
        "each environment of ROLL's pipeline has a batch of its own",
        "roll_vec/adapters/roll/shared_batch.py",
        "                max(len(self._members) - num_rows, num_rows, 1),\n",
        "                1,\n",
        ("tests/adapters/test_roll_pipeline.py",),
    ),
    Bug(
        "ROLL's step limit truncates a solved room",
        "roll_vec/adapters/roll/gem_sokoban.py",
        "        return observation, reward, has_ended, has_ended and not success, info\n",
        "        return observation, reward, has_ended, has_ended, info\n",
        ("tests/adapters/test_roll_pipeline.py",),
    ),
    Bug(
        "the class that mentions a keyword describes it, not the one that defines it",
        "roll_vec/descriptions/keywords.py",
        "                if kind:\n",
        "                if text:\n",
        ("tests/descriptions/test_keywords.py",),
    ),
    Bug(
        "the description of rewards ignores the keywords",
        "roll_vec/envs/frozen_lake/description.py",
        '        rewards=_rewards(options.reward_schedule),\n        terminated=_TERMINATED,\n        infos=(\n            Info("prob"',
        '        rewards=_rewards((1, 0, 0)),\n        terminated=_TERMINATED,\n        infos=(\n            Info("prob"',
        ("tests/descriptions/test_environments.py",),
    ),
    Bug(
        "a wrong keyword of a description is hidden",
        "roll_vec/descriptions/environments.py",
        "        if keywords:\n            raise\n",
        "",
        ("tests/descriptions/test_environments.py",),
    ),
    Bug(
        "an export goes on with the number of its rows, not of its episodes",
        "roll_vec/export/exporter.py",
        "self.source.episodes(self.totals.episodes, most)",
        "self.source.episodes(self.totals.rows, most)",
        ("tests/export",),
    ),
    Bug(
        "a random policy counts the episodes of each call anew",
        "roll_vec/export/source.py",
        "episodes=turn.episodes + first",
        "episodes=turn.episodes",
        ("tests/export",),
    ),
    Bug(
        "a part of an export is trusted without its checksum",
        "roll_vec/export/journal.py",
        '        if [len(content), zlib.crc32(content)] != [line["size"], line["crc"]]:\n',
        '        if len(content) > line["size"]:\n',
        ("tests/export",),
    ),
    Bug(
        "Parquet's groups are those of the parts",
        "roll_vec/export/parquet.py",
        "                while len(pending) >= _GROUP_ROWS:\n",
        "                while len(pending):\n",
        ("tests/export",),
    ),
    Bug(
        "an export of successes has all episodes",
        "roll_vec/export/exporter.py",
        "episode.success is True or not self.only_success",
        "True or not self.only_success",
        ("tests/export",),
    ),
    Bug(
        "the verification takes the stated return as it is",
        "roll_vec/export/verification.py",
        "float(row.total_reward), episode.total_reward)",
        "float(row.total_reward), float(row.total_reward))",
        ("tests/export",),
    ),
    Bug(
        "a new export deletes any folder",
        "roll_vec/export/exporter.py",
        "    if path.exists() and not writer.is_output(path):\n",
        "    if False:\n",
        ("tests/export",),
    ),
    Bug(
        "an episode in the place of one whose reset failed counts",
        "roll_vec/trajectories/play.py",
        "            skipped[env_ids] = (fault_counts(envs) > old_counts)[env_ids]\n",
        "            skipped[env_ids] = False\n",
        ("tests/trajectories",),
    ),
    Bug(
        "rows of a run have seeds after a reset that failed",
        "roll_vec/cli/_run_trajectories.py",
        "            if count == sum(episode.fault is not None for episode in episodes)\n",
        "            if True\n",
        ("tests/cli/test_run_trajectories.py",),
    ),
    Bug(
        "another command goes on with an export",
        "roll_vec/export/journal.py",
        "        if before != now:\n",
        '        if before != now and name != "keywords":\n',
        ("tests/export",),
    ),
    Bug(
        "in SAME_STEP mode an episode ends with the board of the next one",
        "roll_vec/watch/recorder.py",
        "                final_views.get(row, views[row]),\n",
        "                views[row],\n",
        ("tests/watch/test_recorder.py",),
    ),
    Bug(
        "a page does not escape its title",
        "roll_vec/watch/page.py",
        'html.escape(f"{recording.id} - roll-vec watch")',
        'f"{recording.id} - roll-vec watch"',
        ("tests/watch/test_page.py",),
    ),
    Bug(
        "the environment that differs is not on the page",
        "roll_vec/cli/_watch_sources.py",
        "sorted([*env_ids, difference.env_id])",
        "sorted(env_ids)",
        ("tests/cli/test_watch.py",),
    ),
    Bug(
        "a video shows the board of an environment at the place of another",
        "roll_vec/watch/pictures.py",
        "            for index, frames in enumerate(self._recording.frames):\n",
        "            for index, frames in enumerate(self._recording.frames[:1] * 3):\n",
        ("tests/watch/test_video.py",),
    ),
    Bug(
        "a GIF has other colours than the tiles",
        "roll_vec/watch/video.py",
        "np.array([1 << 16, 1 << 8, 1], np.uint32)",
        "np.array([1 << 8, 1 << 16, 1], np.uint32)",
        ("tests/watch/test_video.py",),
    ),
    Bug(
        "texts of models reach the terminal with their escape sequences",
        "roll_vec/watch/terminal.py",
        '"[\\x00-\\x09\\x0b-\\x1f\\x7f-\\x9f',
        '"[\\x00-\\x09\\x0b-\\x1a\\x7f-\\x9f',
        ("tests/watch/test_terminal.py",),
    ),
    Bug(
        "the terminal stays in the player's screen after Ctrl-C",
        "roll_vec/cli/_watch_player.py",
        '_END = "\\x1b[?7h\\x1b[?25h\\x1b[?1049l"',
        '_END = "\\x1b[?7h\\x1b[?25h"',
        ("tests/cli/test_watch_terminal.py",),
    ),
    Bug(
        "an answer in ATIF has the observation before it",
        "roll_vec/trajectories/atif.py",
        "trajectory.observations[number + 1]",
        "trajectory.observations[number]",
        ("tests/trajectories/test_transcripts.py",),
    ),
    Bug(
        "infos of transcripts are in the order of the batch",
        "roll_vec/trajectories/json_values.py",
        "for key in sorted(items)}",
        "for key in items}",
        ("tests/export/test_transcripts.py",),
    ),
    Bug(
        "a box on a target is told by its colour alone",
        "roll_vec/render/tiles.py",
        "_home = _paint(_TICK, _PAINTED, under=_paint(_BOX, _PAINTED, under=_target))",
        "_home = _paint(_BOX, _PAINTED, under=_target)",
        ("tests/render/test_colour_vision.py",),
    ),
    Bug(
        "sample_actions takes actions outside the mask",
        "roll_vec/vector/action_sampling.py",
        "(ranks > target_ranks[:, None])",
        "(ranks >= target_ranks[:, None])",
        ("tests/vector/test_action_sampling.py",),
    ),
    Bug(
        "sample_actions repeats its first actions",
        "roll_vec/vector/action_sampling.py",
        "        self._counters += np.uint64(1)\n",
        "        self._counters += np.uint64(0)\n",
        ("tests/vector/test_action_sampling.py",),
    ),
    Bug(
        "a caller returns before its workers are done",
        "kernels/thread_team.py",
        ("    pauses = 0\n    while atomic_load(control, FINISHED) < num_chunks:\n"),
        (
            "    pauses = 0\n"
            "    while atomic_load(control, FINISHED) < num_chunks - num_seats:\n"
        ),
        ("tests/kernels/test_thread_team.py",),
    ),
    Bug(
        "more workers than seats",
        "kernels/thread_team.py",
        "            if compare_and_swap(control, SEATS, seats, seats - 1):\n",
        "            if compare_and_swap(control, SEATS, seats, seats):\n",
        ("tests/kernels/test_thread_team.py",),
    ),
    Bug(
        "a forked child waits for threads that it does not have",
        "roll_vec/stacked/thread_team.py",
        "    _Process.team, _Process.lock = None, threading.RLock()\n",
        "    _Process.lock = threading.Lock()\n",
        ("tests/contract/test_processes.py",),
    ),
    Bug(
        "a forked child finds numba's lock taken by a thread of its parent",
        "kernels/_jit.py",
        "        before=global_compiler_lock.acquire,\n",
        "        before=lambda: global_compiler_lock._lock.acquire(blocking=False),\n",
        ("tests/contract/test_processes.py",),
    ),
    Bug(
        "levels that are no longer ordered go into a cache",
        "roll_vec/stacked/prefetch.py",
        "        is_ready = (background.ready == keys) & ((keys ^ source.tag) <= _SEED_MASK)\n",
        "        is_ready = (background.ready > 1) & ((keys ^ source.tag) <= _SEED_MASK)\n",
        ("tests/stacked/test_prefetch.py",),
    ),
    Bug(
        "a step takes the cores of threads that draw levels",
        "roll_vec/stacked/kernel_threads.py",
        "        num_threads = self._usable - len(background_threads)\n",
        "        num_threads = self._usable\n",
        ("tests/stacked/test_kernel_threads.py",),
    ),
]
