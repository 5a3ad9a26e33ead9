"""Kernels of a family of environments, derived from the rules of one environment.

A family is a state, options and rules.  The state of a batch is a tuple of arrays, one
for each variable, whose first axis is the environment; the options are a tuple of
numbers and arrays.  The rules see one environment, see `.rows`, and a generator, see
`.rng.generator`::

    begin(env, rng)                  begins an episode; all variables are 0 before
    begin(env, rng, seed)            the same, with the seed of the episode
    step(env, action, rng)           takes one action; returns reward, terminated
    observe(env, out)                writes the observation
    legal(env, mask)                 writes 1 for each action that is possible

`make_family` makes the kernels of a batch from these, each with one loop over rows.  An
episode begins within the kernel, so that an unroll of many steps stops nowhere.  With
the JIT off the same loops run as Python: they are the oracle of their compiled form.
"""

import functools
from collections import namedtuple
from typing import NamedTuple

import numpy as np

from ._jit import IS_COMPILED, kernel
from .calls import BEGIN, OBSERVE, STEP, call_rule
from .outcomes import reaches_limit
from .rng.pcg64 import fold_in, pcg_seed
from .unroll import make_unroll

if not IS_COMPILED:
    from .rng.generator import generator_of
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
    from .rng._compiled_generator import generator_of

_1 = np.uint64(1)


class Seeding(NamedTuple):
    """The seeds of episodes.

    With ``is_stream`` a generator goes on from episode to episode, as in Gymnasium.
    Else episode k of a row has the seed ``fold_in(first_seeds[i], k)``, or with a set
    of levels the number of its level: ``start_level + seed mod num_levels``.
    """

    is_stream: bool
    num_levels: int  # 0: unlimited
    start_level: int
    first_seeds: np.ndarray  # (n,) uint64
    numbers: np.ndarray  # (n,) uint64, updated where an episode begins


@kernel
def seed_episode(i, seeding, rng_states):
    """Seed the generator of row i for its present episode, unless it is a stream.

    Returns the seed of the episode, uint64; that of a stream has no meaning.
    """
    is_stream, num_levels, start_level, first_seeds, numbers = seeding
    seed = first_seeds[i]
    if not is_stream:
        if numbers[i] > 0:
            seed = fold_in(seed, numbers[i])
        if num_levels > 0:
            seed = np.uint64(start_level) + seed % np.uint64(num_levels)
        pcg_seed(rng_states, i, seed)
    return seed


def takes_seed(begin):
    """Return whether a rule ``begin`` takes the seed of the episode as well."""
    return begin.py_func.__code__.co_argcount == 3


def _make_output(lengths):
    """Return the class of an observation that is one array, ``out``."""
    output = namedtuple("output", ["out"])
    setattr(output, "lengths", {"out": lengths})  # noqa: B010 - mypy knows no such name
    return output


def make_family(rules, types, is_discrete, key):
    """Return the `.unroll.GameKernels` of rules.

    Parameters
    ----------
    rules : tuple of four `Rule`
        ``begin, step, observe, legal``: the last may be None, and ``observe``, if a
        variable is observed.
    types : tuple of four named tuple classes
        The fields of those of variables and options are the names that rules use.  The
        first may have ``lengths`` and ``output_lengths``: see
        `._compiled_rows.RowType`.  The fields of the third are the variables that are
        infos of each step, those of the last the parts of an observation; None: it is
        one array.  Without ``observe`` its field is the variable.
    is_discrete : bool
        Whether an action is an integer; else it is a row of an array.
    key : str
        Digest of the rules.
    """
    begin, step, observe, legal = rules
    variables_type, options_type, infos_type, output_type = types
    compiled = functools.partial(kernel, key=key)

    if takes_seed(begin):

        @compiled
        def begin_episode(env, rng, seed):
            # With the JIT off a number of Python, not of numpy.
            begin(env, rng, int(np.int64(seed)))

    else:

        @compiled
        def begin_episode(env, rng, seed):
            begin(env, rng)

    @compiled
    def begin_next(i, seeding, state):
        """Begin the next episode of row i."""
        variables, options, rng_states, elapsed_steps = state
        seeding[4][i] += _1
        seed = seed_episode(i, seeding, rng_states)
        named = variables_type(*variables)
        clear_row(named, i)
        rng = generator_of(rng_states, i)
        env = row_of(named, options_type(*options), i)
        call_rule(BEGIN, elapsed_steps, i, begin_episode, (env, rng, seed))
        elapsed_steps[i] = 0
        return True

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
        def observe_row(i, k, state, out):
            copy_row(variables_type(*state[0]), i, output_type(*out), k)

    elif output_type is None:
        single_type = _make_output(getattr(variables_type, "output_lengths", ()))

        @compiled
        def observe_row(i, k, state, out):
            clear_row(out, k)
            options = options_type(*state[1])
            env = view_of(variables_type(*state[0]), options, i)
            array = row_of(single_type(*out), options, k).out
            call_rule(OBSERVE, state[3], i, observe, (env, array))

    else:

        @compiled
        def observe_row(i, k, state, out):
            clear_row(out, k)
            env = view_of(variables_type(*state[0]), options_type(*state[1]), i)
            parts = row_of(output_type(*out), (), k)
            call_rule(OBSERVE, state[3], i, observe, (env, parts))

    @compiled
    def play_row(i, at, actions, skip_mask, rules, state, results, infos):
        """Take one step in row i, or write its zeros; see `play_rows`."""
        variables, options, rng_states, elapsed_steps = state
        rewards, terminations, truncations = results
        k = np.uint64(at) + i
        if skip_mask[i]:
            rewards[k], terminations[k], truncations[k] = 0.0, False, False
            clear_row(infos, k)
        else:
            named = variables_type(*variables)
            rng = generator_of(rng_states, i)
            env = row_of(named, options_type(*options), i)
            arguments = env, actions, k, rules, rng
            outcome = call_rule(STEP, elapsed_steps, i, take_action, arguments)
            elapsed_steps[i] += 1
            rewards[k], terminations[k] = outcome
            truncations[k] = reaches_limit(elapsed_steps[i], rules[1])
            copy_row(named, i, infos_type(*infos), k)

    @compiled
    def play_rows(start, stop, at, actions, skip_mask, rules, state, results, infos):
        """Take one step a row; rows to skip stay and give zeros.

        Parameters
        ----------
        start, stop : int
            The rows to work on.
        at : int
            See `.unroll`.
        actions : (T * n,) int64, or (T * n, ...) array, read
        skip_mask : (n,) bool, read
        rules : (int, int, float, bool)
            The first action; the steps after which an episode is truncated, 0: never;
            the reward of an action below the first, "no valid action", by which
            nothing moves; whether the rule takes such an action, as -1.
        state : tuple, updated
            Of `.unroll`.
        results : tuple of (T * n,) arrays, written
            Rewards (float64), terminations and truncations (bool).
        infos : tuple of (T * n, ...) arrays, written
            The variables after the step; zeros of rows to skip.
        """
        for i in range(np.uint64(start), np.uint64(stop)):
            play_row(i, at, actions, skip_mask, rules, state, results, infos)

    @compiled
    def observe_range(start, stop, at, state, out):
        """Write the observations of a range of rows to the rows ``at + i`` of ``out``.

        ``out`` is a tuple of (T * n, ...) arrays.
        """
        for i in range(np.uint64(start), np.uint64(stop)):
            observe_row(i, np.uint64(at) + i, state, out)

    @compiled
    def step_rows(
        start, stop, at, actions, skip_mask, rules, state, results, infos, observations
    ):
        """Take one step a row, see `play_rows`, and observe all rows.

        ``observations`` is a tuple of (n, ...) arrays, written.
        """
        # One loop: what a row has written is still in registers or the nearest cache.
        for i in range(np.uint64(start), np.uint64(stop)):
            play_row(i, at, actions, skip_mask, rules, state, results, infos)
            observe_row(i, np.uint64(at) + i, state, observations)

    write_masks = None
    if legal is not None:

        @compiled
        def write_masks(start, stop, rows, variables, options, masks):
            """Write the masks of rows ``rows[j]`` to ``masks[j]``, (m, A) int8."""
            state, settings = variables_type(*variables), options_type(*options)
            for j in range(np.uint64(start), np.uint64(stop)):
                legal(view_of(state, settings, rows[j]), items_of(masks, j))

    return make_unroll(
        play_rows,
        observe_range,
        begin_next,
        key,
        write_masks,
        step_rows=step_rows,
        play_row=play_row,
        num_flags=0,
    )
