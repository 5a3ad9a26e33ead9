"""Kernels of a family of environments, derived from the rules of one environment.

A family is a state, options and rules.  The state of a batch is a tuple of arrays, one
for each variable, whose first axis is the environment; the options are a tuple of
numbers and arrays.  The rules see one environment, see `.rows`, and a generator, see
`.rng.generator`::

    begin(env, rng)                  begins an episode; all variables are 0 before
    step(env, action, rng)           takes one action; returns reward, terminated
    observe(env, out)                writes the observation
    legal(env, mask)                 writes 1 for each action that is possible

`make_family` makes the kernels of a batch from these, each with one loop over rows.  An
episode begins within the kernel, so that an unroll of many steps stops nowhere.  With
the JIT off the same loops run as Python: they are the oracle of their compiled form.
"""

import functools
from typing import Any, NamedTuple

import numpy as np
from numba.core import config

from ._jit import kernel
from .outcomes import reaches_limit
from .rng.pcg64 import fold_in, pcg_seed

if config.DISABLE_JIT:  # type: ignore[attr-defined, unused-ignore]
    from .rng.generator import generator_of, put_generator
    from .rows import action_at, clear_row, copy_row, items_of, row_of, view_of
else:
    from ._compiled_rows import (
        action_at,
        clear_row,
        copy_row,
        items_of,
        row_of,
        view_of,
    )
    from .rng._compiled_generator import generator_of, put_generator

_1 = np.uint64(1)
# Rows of an unroll that take all their steps together: their state stays in the cache.
BLOCK = 1024
DISABLED, NEXT_STEP, SAME_STEP = range(3)


class Seeding(NamedTuple):
    """The seeds of episodes.

    With ``is_stream`` a generator goes on from episode to episode, as in Gymnasium.
    Else episode k of a row has the seed ``fold_in(first_seeds[i], k)``, or with a set
    of levels the number of its level: ``start_levels[i] + seed mod num_levels[i]``.
    """

    is_stream: bool
    num_levels: np.ndarray  # (n,) uint64; 0: unlimited
    start_levels: np.ndarray  # (n,) uint64
    first_seeds: np.ndarray  # (n,) uint64
    numbers: np.ndarray  # (n,) uint64, updated where an episode begins


class Results(NamedTuple):
    """Results of a step of n rows, all written; of an unroll (T * n,), step by step."""

    rewards: np.ndarray  # float64
    terminations: np.ndarray  # bool
    truncations: np.ndarray  # bool


class Family(NamedTuple):
    """The kernels of a family; see the functions of these names in `make_family`."""

    begin_rows: Any
    step_rows: Any
    observe_rows: Any
    unroll: Any
    write_masks: Any


@kernel
def seed_episode(i, seeding, rng_states):
    """Seed the generator of row i for its present episode, unless it is a stream."""
    is_stream, num_levels, start_levels, first_seeds, numbers = seeding
    if not is_stream:
        seed = first_seeds[i]
        if numbers[i] > 0:
            seed = fold_in(seed, numbers[i])
        if num_levels[i] > 0:
            seed = start_levels[i] + seed % num_levels[i]
        pcg_seed(rng_states, i, seed)


def make_family(
    begin,
    step,
    observe,
    legal,
    variables_type,
    options_type,
    infos_type,
    output_type,
    is_discrete,
    key,
):
    """Return the `Family` of rules.

    Parameters
    ----------
    begin, step, observe, legal : kernels
        The rules; ``legal`` may be None, and ``observe``, if a variable is observed.
    variables_type, options_type : named tuple classes
        Their fields are the names that rules use.
    infos_type : named tuple class
        Its fields are the variables that are infos of each step.
    output_type : named tuple class, or None
        Its fields are the parts of an observation; None: it is one array.  Without
        ``observe`` its field is the variable.
    is_discrete : bool
        Whether an action is an integer; else it is a row of an array.
    key : str
        Digest of the rules.
    """
    compiled = functools.partial(kernel, key=key)

    @compiled
    def begin_row(i, variables, options, rng_states, elapsed_steps, seeding):
        seed_episode(i, seeding, rng_states)
        clear_row(variables, i)
        rng = generator_of(rng_states, i)
        begin(row_of(variables, options, i), rng)
        put_generator(rng, rng_states, i)
        elapsed_steps[i] = 0

    @compiled
    def begin_rows(
        start, stop, rows, variables, options, rng_states, elapsed_steps, seeding
    ):
        """Begin the present episodes of some rows.

        Parameters
        ----------
        start, stop : int
            The range of ``rows`` to work on.
        rows : (m,) int64, read
        variables : tuple of (n, ...) arrays, updated
        options : tuple, read
        rng_states : (6, n) uint64, updated
        elapsed_steps : (n,) int32, updated
        seeding : tuple of the items of `Seeding`, read
        """
        state, settings = variables_type(*variables), options_type(*options)
        for j in range(start, stop):
            begin_row(rows[j], state, settings, rng_states, elapsed_steps, seeding)

    if is_discrete:

        @compiled
        def take_action(env, actions, k, rules, rng):
            first_action, _, invalid_reward, takes_invalid = rules
            # With the JIT off a number of Python, not of numpy.
            action = int(actions[k]) - first_action
            if action >= 0 or takes_invalid:
                reward, terminated = step(env, action, rng)
                return np.float64(reward), bool(terminated)
            return invalid_reward, False

    else:

        @compiled
        def take_action(env, actions, k, rules, rng):
            reward, terminated = step(env, action_at(actions, k), rng)
            return np.float64(reward), bool(terminated)

    if observe is None:

        @compiled
        def observe_row(i, state, settings, outputs, j):
            copy_row(state, i, output_type(*outputs), j)

    elif output_type is None:

        @compiled
        def observe_row(i, state, settings, outputs, j):
            observe(view_of(state, settings, i), items_of(outputs[0], j))

    else:

        @compiled
        def observe_row(i, state, settings, outputs, j):
            observe(view_of(state, settings, i), row_of(output_type(*outputs), (), j))

    @compiled
    def step_row(
        i, k, actions, rules, variables, options, rng_states, elapsed_steps, results
    ):
        """Take the action k of ``actions`` in row i; write to row k of the results."""
        rewards, terminations, truncations = results
        rng = generator_of(rng_states, i)
        env = row_of(variables, options, i)
        reward, terminated = take_action(env, actions, k, rules, rng)
        put_generator(rng, rng_states, i)
        elapsed_steps[i] += 1
        rewards[k], terminations[k] = reward, terminated
        truncations[k] = reaches_limit(elapsed_steps[i], rules[1])

    @compiled
    def step_rows(
        start,
        stop,
        actions,
        skip_mask,
        rules,
        variables,
        options,
        rng_states,
        elapsed_steps,
        results,
        infos,
        observations,
    ):
        """Take one step a row and observe it; rows to skip stay and give zeros.

        Parameters
        ----------
        start, stop : int
            The rows to work on.
        actions : (n,) int64, or (n, ...) array, read
        skip_mask : (n,) bool, read
        rules : (int, int, float, bool)
            The first action; the steps after which an episode is truncated, 0: never;
            the reward of an action below the first, "no valid action", by which
            nothing moves; whether the rule takes such an action, as -1.
        variables, options, rng_states, elapsed_steps
            As those of ``begin_rows``.
        results : tuple of the arrays of `Results`, written
        infos : tuple of (n, ...) arrays, written
            The variables after the step; zeros of rows to skip.
        observations : tuple of (n, ...) arrays of zeros, written
            Of all rows.
        """
        state, settings = variables_type(*variables), options_type(*options)
        values = infos_type(*infos)
        rewards, terminations, truncations = results
        for i in range(np.uint64(start), np.uint64(stop)):
            if skip_mask[i]:
                rewards[i], terminations[i], truncations[i] = 0.0, False, False
                clear_row(values, i)
            else:
                step_row(
                    i,
                    i,
                    actions,
                    rules,
                    state,
                    settings,
                    rng_states,
                    elapsed_steps,
                    results,
                )
                copy_row(state, i, values, i)
            observe_row(i, state, settings, observations, i)

    @compiled
    def observe_rows(start, stop, rows, variables, options, out):
        """Write the observations of rows ``rows[j]`` to row j of a tuple of arrays."""
        state, settings = variables_type(*variables), options_type(*options)
        for j in range(np.uint64(start), np.uint64(stop)):
            observe_row(rows[j], state, settings, out, j)

    @compiled
    def unroll(
        start,
        stop,
        num_envs,
        num_steps,
        mode,
        actions,
        rules,
        variables,
        options,
        rng_states,
        elapsed_steps,
        seeding,
        has_ended,
        times,
        results,
        infos,
        observations,
        next_observations,
    ):
        """Take ``num_steps`` steps in a range of rows; episodes begin as the mode says.

        Parameters
        ----------
        start, stop : int
            The rows to work on, of ``num_envs``.
        mode : int
            `DISABLED`, `NEXT_STEP` or `SAME_STEP`.
        actions : (T * n, ...) array, read
            Of step 0, then of step 1, ...
        rules, variables, options, rng_states, elapsed_steps, seeding
            As those of ``step_rows`` and ``begin_rows``.
        has_ended : (n,) bool, updated
            The rows whose episode has ended.
        times : (n,) int64, written
            The steps that a row has taken: less than T if its episode ended before, in
            DISABLED mode.
        results : tuple of the arrays of `Results`, (T * n,), written
        infos : tuple of (T * n, ...) arrays, written
            The variables after each step, before an episode began in it.
        observations : tuple of (T * n, ...) arrays, written
            After each step; where an episode began in it, its first.
        next_observations : tuple of (T * n, ...) arrays, written
            The same before an episode began in it; in SAME_STEP mode alone.
        """
        state, settings = variables_type(*variables), options_type(*options)
        values = infos_type(*infos)
        numbers = seeding[4]
        rewards, terminations, truncations = results
        for i in range(start, stop):
            times[i] = num_steps
        for first in range(start, stop, BLOCK):
            last = min(first + BLOCK, stop)
            for t in range(num_steps):
                for i in range(np.uint64(first), np.uint64(last)):
                    k = np.uint64(t) * np.uint64(num_envs) + i
                    if has_ended[i] and mode == DISABLED:
                        times[i] = min(times[i], t)
                        continue
                    begins = has_ended[i]
                    if begins:
                        rewards[k], terminations[k], truncations[k] = 0.0, False, False
                        has_ended[i] = False
                    else:
                        step_row(
                            i,
                            k,
                            actions,
                            rules,
                            state,
                            settings,
                            rng_states,
                            elapsed_steps,
                            results,
                        )
                        copy_row(state, i, values, k)
                        has_ended[i] = terminations[k] | truncations[k]
                        if mode == SAME_STEP:
                            observe_row(i, state, settings, next_observations, k)
                            begins, has_ended[i] = has_ended[i], False
                    if begins:
                        numbers[i] += _1
                        begin_row(
                            i, state, settings, rng_states, elapsed_steps, seeding
                        )
                    observe_row(i, state, settings, observations, k)

    write_masks = None
    if legal is not None:

        @compiled
        def write_masks(start, stop, rows, variables, options, masks):
            """Write the masks of rows ``rows[j]`` to ``masks[j]``, (m, A) int8."""
            state, settings = variables_type(*variables), options_type(*options)
            for j in range(np.uint64(start), np.uint64(stop)):
                legal(view_of(state, settings, rows[j]), items_of(masks, j))

    return Family(begin_rows, step_rows, observe_rows, unroll, write_masks)
