"""A batch of any family whose kernels play as its rules do, called as Python."""

import numpy as np

from roll_vec.arrays.declarations import make_kernels, sort_infos
from roll_vec.kernels._jit import allow_overflow
from roll_vec.kernels.bound import pack, type_of
from roll_vec.kernels.rng.pcg64 import seed_rows
from roll_vec.seeding import generator_at, generator_words

NOBODY = np.zeros(0, np.int64)


class Batch:
    """Rows of one environment, whose kernels are called for two ranges of rows.

    The second range comes first.  All arrays have ones before, so that nothing of an
    earlier step or episode shines through.

    Attributes
    ----------
    variables : dict of str to (n, ...) arrays
    """

    def __init__(self, options, num_rows, max_steps=0):
        self.options, self.num_rows, self.max_steps = options, num_rows, max_steps
        # With the tuned step also with the JIT off, where batches play the rule.
        tuned_step = type(options).tuned_step
        self.kernels = make_kernels(options.code, options.declaration, tuned_step)
        arrays = options.allocate(num_rows)
        for array in arrays:
            array[...] = 1
        self.variables = options.named(arrays)
        self.rng_states = np.zeros(
            (6, num_rows if options.has_generator else 0), np.uint64
        )
        self.elapsed_steps = np.full(num_rows, 99, np.int32)
        constants = tuple(options.kernel_constants.values())
        self.state = arrays, constants, self.rng_states, self.elapsed_steps
        self.ranges = (num_rows // 3, num_rows), (0, num_rows // 3)

    @allow_overflow
    def begin(self, seeds, levels=None):
        """Begin an episode of each row, from its seed or with its level.

        Parameters
        ----------
        seeds : (n,) uint64
        levels : tuple of (n, ...) arrays or None
        """
        # A kernel begins those without a level in the order of rows.
        rows = np.argsort(seeds) if levels is not None else np.arange(self.num_rows)
        numbers = np.full(self.num_rows, 2**64 - 1, np.uint64)
        is_present = np.ones(0, np.bool_)
        if levels is None:
            self.episodes = 0, 0, seeds, numbers
            seed_rows(rows, seeds[rows], self.rng_states)
        else:
            self.episodes = levels, is_present, seeds, numbers
        rules = self.options.rules_of(self.max_steps)
        self._fixed = rules, self.state, self.episodes
        self._words = pack(self._fixed)
        make_step = self.kernels.make_step
        self._step, begin, _ = make_step(type_of(self._fixed), observes=True)
        self.observations = self.options.allocate_observations(self.num_rows)
        for start, stop in self.ranges:
            before = {name: each.copy() for name, each in self.variables.items()}
            if levels is None:
                begin(start, stop, self._words, rows, self.observations, False)
            else:
                arguments = rows, levels, rows, seeds[rows], self.state
                self.kernels.begin_levels(start, stop, *arguments)
            others = np.delete(rows, slice(start, stop))
            for name, values in self.variables.items():
                assert (values[others] == before[name][others]).all()
        assert not self.elapsed_steps.any()

    @allow_overflow
    def step(self, actions, skip_mask):
        """Take a step; compare it with the rule; return the results by name."""
        n, options = self.num_rows, self.options
        before = [array.copy() for array in self.state[0]]
        steps, states = self.elapsed_steps.copy(), self.rng_states.copy()
        names, num_flags = sort_infos(options)
        rewards, flags = np.ones(n), np.ones((3 + num_flags + len(names), n), np.bool_)
        infos, self.observations = [], options.allocate_observations(n)
        for name in names[num_flags:]:
            dtype, shape = options.info_array(name)
            infos.append(np.ones((n, *shape), dtype))
        for array in self.observations:
            array[...] = 1
        arguments = actions, skip_mask, rewards, flags, tuple(infos), self.observations
        for start, stop in self.ranges:
            has_ends = self._step(start, stop, self._words, NOBODY, *arguments)
            assert has_ends == flags[2, start:stop].any()
            assert (rewards[:start] == 1).all()
        ends = dict(zip(("terminations", "truncations", "dones"), flags, strict=False))
        results = {"rewards": rewards, **ends}
        results |= dict(zip(names, [*flags[3 : 3 + num_flags], *infos], strict=True))
        assert (flags[3 + num_flags :] == ~skip_mask).all()
        np.testing.assert_array_equal(ends["dones"], flags[0] | flags[1])
        np.testing.assert_array_equal(self.elapsed_steps, steps + ~skip_mask)
        at_limit = (self.elapsed_steps >= self.max_steps) & (self.max_steps > 0)
        np.testing.assert_array_equal(ends["truncations"], at_limit & ~skip_mask)
        for i in range(n):
            if skip_mask[i]:
                assert not any(values[i] for values in results.values())
            else:
                action = int(actions[i]) - options.first_action
                self._play_rule(i, action, before, states)
                assert rewards[i] == self._outcome[0]
                assert ends["terminations"][i] == self._outcome[1]
                for name in names:
                    assert results[name][i] == self.variables[name][i]
            for values, expected in zip(self.state[0], before, strict=True):
                np.testing.assert_array_equal(values[i], expected[i])
        np.testing.assert_array_equal(self.rng_states, states)
        return results

    def _play_rule(self, i, action, variables, states):
        """Play a row of these variables by the rule, as Python."""
        row = self.options.row_of(tuple(array[i : i + 1] for array in variables))
        generator = (
            generator_at(states[:, i].tolist()) if self.options.has_generator else None
        )
        self._outcome = self.options.rules()[1](row, action, generator)
        if generator is not None:
            states[:, i] = generator_words(generator)

    def masks(self, rng):
        """Return some rows in any order, and the masks of these."""
        rows = rng.permutation(self.num_rows)[:-1]
        masks = np.zeros((len(rows), len(self.options.action_names)), np.int8)
        masks[[0, -1]] = 7
        stop = len(rows) - 1
        self.kernels.write_masks(1, stop, rows, *self.state[:2], masks)
        assert (masks[[0, -1]] == 7).all()
        return rows[1:stop], masks[1:stop]
