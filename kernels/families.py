"""Kernels of a family of environments, derived from the rules of one environment.

A family is a state, options and rules.  The state of a batch is a tuple of arrays, one
for each variable, whose first axis is the environment; the options are a tuple of
numbers and arrays.  The rules see one environment, see `.rows`, and a generator, see
`.rng.generator`::

    begin(env, rng)                  begins an episode; all variables are 0 before, but
                                     for those of its level, where there are levels
    begin(env, rng, seed)            the same, with the seed of the episode
    step(env, action, rng)           takes one action; returns reward, terminated, or
                                     reward, terminated, truncated
    observe(env, out)                writes the observation
    legal(env, mask)                 writes 1 for each action that is possible

`make_family` makes the kernels of a batch from these, each with one loop over rows.  An
episode begins within the kernel, so that an unroll of many steps stops nowhere but
where a level has to be drawn.  With the JIT off the same loops run as Python: they are
the oracle of their compiled form.

All kernels take one state::

    state = variables, options, rng_states, elapsed_steps

- ``variables``: a tuple of arrays whose first axis is the row;
- ``options``: a tuple of numbers and arrays that all rows share;
- ``rng_states``: (6, n) uint64 of generators, see `.rng.pcg64`; (6, 0) without any;
- ``elapsed_steps``: (n,) int32.

Arrays of results have the row ``at + i`` for row i of a step: ``at`` is 0 for the step
of a batch, and ``t * num_envs`` for step t of an unroll.
"""

import functools
from collections import namedtuple
from typing import Any, NamedTuple

import numpy as np

from ._jit import IS_COMPILED, kernel
from .bound import make_play, make_step, make_step_and_reset
from .calls import BEGIN, LEGAL, OBSERVE, STEP, call_rule, complete
from .outcomes import reaches_limit
from .rng.pcg64 import fold_in, pcg_seed
from .unroll import make_unroll
from .views import flat

if not IS_COMPILED:
    from .rng.generator import generator_of
    from .rows import action_at, clear_rows, copy_row, items_of, row_of, view_of
else:
    from ._compiled_rows import (
        action_at,
        clear_rows,
        copy_row,
        items_of,
        row_of,
        view_of,
    )
    from .rng._compiled_generator import generator_of

_1 = np.uint64(1)
_FEW_ROWS = 4


class Declaration(NamedTuple):
    """The parts of a family beside its rules; its `repr` tells two apart.

    Most are names, which are those that rules use.
    """

    variables: tuple[str, ...]
    options: tuple[str, ...]
    infos: tuple[str, ...]
    """Variables that are infos of each step: first those that are flags, a bool each;
    last those that are infos of resets as well."""
    outputs: tuple[str, ...]
    """The parts of an observation; ``("",)``: the rule ``observe`` writes one array.
    Without this rule the variable that is the observation."""
    texts: tuple[str, ...]
    """Variables that are copied behind the outputs, for texts of an observation."""
    level: tuple[str, ...]
    """The first variables, which a level gives a value; empty: there are no levels."""
    reset_infos: tuple[str, ...]
    lengths: tuple[Any, ...]
    """Of the axes of each variable: see `._compiled_rows.RowType`."""
    output_lengths: tuple[Any, ...]
    """Of the array that the rule ``observe`` writes; else empty."""
    num_flags: int
    is_discrete: bool
    """Whether an action is an integer; else it is a row of an array."""
    draws: bool
    """Whether rules draw random numbers."""
    is_stream: bool
    """Whether generators go on from episode to episode, as in Gymnasium."""
    copies_variable: bool
    """Whether the observation is a variable of the same dtype."""


class GameKernels(NamedTuple):
    """The kernels of a family over all rows; see `make_family`."""

    begin_levels: Any  # None: there are no levels
    unroll: Any
    unroll_rows: Any
    make_step: Any
    """``make_step(fixed_type, observes)``: see `.bound.make_step`; without ``observes``
    the first two of its kernels observe nothing."""
    make_step_and_reset: Any
    """The same of `.bound.make_step_and_reset`."""
    make_play: Any
    write_masks: Any  # None: there is no rule ``legal``


@kernel
def episode_seed(i, first_seeds, number):
    """Return the seed of an episode of row i."""
    seed = first_seeds[i]
    return fold_in(seed, number) if number > 0 else seed


@kernel
def copy_range(values, out, start, stop, at):
    """Copy ``values[start:stop]`` to ``out[at + start:at + stop]``, one-dimensional.

    Grids and positions of rows are copied as one range: row by row a copy of 36 bytes
    takes 10 ns a row, as one range 1.
    """
    for i in range(np.uint64(start), np.uint64(stop)):
        out[np.uint64(at) + i] = values[i]


def takes_seed(begin):
    """Return whether a rule ``begin`` takes the seed of the episode as well."""
    return begin.py_func.__code__.co_argcount == 3


def _make_type(names, lengths=()):
    """Return a class of named tuples, with the lengths that kernels know."""
    make: Any = namedtuple
    result = make("Row", names)
    result.lengths = dict(zip(names, lengths, strict=False))
    return result


@kernel
def _no_generator(rng_states, i):
    """Return None in the place of the generator of row i."""


@kernel
def _no_seed(rng_states, i, seed):
    """Do not seed the generator of row i."""


def _make_begin(begin, declaration, variables_type, options_type, key):
    """Return ``begin_next(i, episodes, state)``, and ``begin_levels`` or None.

    The first one returns False where the level of an episode is not in memory.

    Parameters
    ----------
    begin : rule
    declaration : Declaration
    variables_type, options_type : type
        See `_make_type`.
    key : str

    Notes
    -----
    ``episodes`` of a family without levels is ``num_levels, start_level, first_seeds,
    numbers``: two integers and two arrays, (n,) uint64.  Episode k of a row, its item
    of ``numbers``, has the seed ``fold_in(first_seeds[i], k)``, or with a set of levels
    (``num_levels`` > 0) the number of its level: ``start_level + seed mod num_levels``.
    The seed of a stream has no meaning.

    With levels it is ``levels, is_present, first_seeds, numbers``: a tuple of (l, ...)
    arrays, in which each level has a row, and (l,) bool, the levels that are in memory;
    l may be 0.  An episode of seed e plays level ``e mod l``.
    """
    compiled = functools.partial(kernel, key=key)
    generator_at, seed_generator = _no_generator, _no_seed
    if declaration.draws:
        generator_at, seed_generator = generator_of, pcg_seed

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
    def begin_row(i, seed, state):
        """Begin an episode of row i; its generator has been seeded."""
        variables, options, rng_states, elapsed_steps = state
        rng = generator_at(rng_states, i)
        env = row_of(variables_type(*variables), options_type(*options), i)
        call_rule(BEGIN, elapsed_steps, i, begin_episode, (env, rng, seed))
        elapsed_steps[i] = 0

    if declaration.is_stream:

        @compiled
        def begin_stream(i, episodes, state):
            """Begin the next episode of row i; its generator goes on."""
            _, _, first_seeds, numbers = episodes
            numbers[i] += _1
            clear_rows(variables_type(*state[0]), i, i + _1)
            begin_row(i, first_seeds[i], state)
            return True

        return begin_stream, None

    if not declaration.level:

        @compiled
        def begin_seeded(i, episodes, state):
            """Begin the next episode of row i; see `_make_begin`."""
            num_levels, start_level, first_seeds, numbers = episodes
            numbers[i] += _1
            seed = episode_seed(i, first_seeds, numbers[i])
            if num_levels > 0:
                seed = np.uint64(start_level) + seed % np.uint64(num_levels)
            seed_generator(state[2], i, seed)
            clear_rows(variables_type(*state[0]), i, i + _1)
            begin_row(i, seed, state)
            return True

        return begin_seeded, None

    level_type, num_arrays = _make_type(declaration.level), len(declaration.level)

    @compiled
    def begin_level(i, levels, index, seed, state):
        """Begin an episode of row i with a level; the seed is that of the episode."""
        variables = state[0]
        clear_rows(variables[num_arrays:], i, i + _1)
        target = level_type(*variables[:num_arrays])
        copy_row(level_type(*levels), index, target, i)
        seed_generator(state[2], i, seed)
        begin_row(i, seed, state)

    @compiled
    def begin_next(i, episodes, state):
        """Begin the next episode of row i, if its level is there."""
        levels, is_present, first_seeds, numbers = episodes
        # After episode -1, modulo 2**64, comes episode 0.
        number = numbers[i] + _1
        seed, num_levels = episode_seed(i, first_seeds, number), is_present.shape[0]
        if num_levels == 0:
            return False
        index = seed % np.uint64(num_levels)
        if not is_present[index]:
            return False
        numbers[i] = number
        begin_level(i, levels, index, seed, state)
        return True

    @compiled
    def begin_levels(start, stop, rows, levels, level_indices, seeds, state):
        """Begin episodes of some rows with levels of the caller's choice.

        Parameters
        ----------
        start, stop : int
            The range of ``rows`` to work on.
        rows : (m,) int64, read
            The rows, each at most once.
        levels : tuple of (l, ...) arrays, read
        level_indices : (m,) int64, read
            Row ``rows[j]`` gets the level ``level_indices[j]``.
        seeds : (m,) uint64, read
            Seeds of the episodes.
        state : tuple, updated
        """
        for j in range(np.uint64(start), np.uint64(stop)):
            index = np.uint64(level_indices[j])
            begin_level(np.uint64(rows[j]), levels, index, seeds[j], state)

    return begin_next, begin_levels


def _make_observe(observe, declaration, variables_type, options_type, key):
    """Return the kernels that write the observation of one row, and of a range."""
    compiled, names = functools.partial(kernel, key=key), declaration.outputs
    if names == ("",):
        single_type = _make_type(["out"], [declaration.output_lengths])
    else:
        output_type = _make_type(names)

    if observe is None:

        @compiled
        def observe_row(i, k, state, out):
            copy_row(variables_type(*state[0]), i, output_type(*out), k)

    elif names == ("",):

        @compiled
        def observe_row(i, k, state, out):
            clear_rows(out, k, k + _1)
            options = options_type(*state[1])
            env = view_of(variables_type(*state[0]), options, i)
            array = row_of(single_type(*out), options, k).out
            call_rule(OBSERVE, state[3], i, observe, (env, array))

    else:

        @compiled
        def observe_row(i, k, state, out):
            clear_rows(out, k, k + _1)
            env = view_of(variables_type(*state[0]), options_type(*state[1]), i)
            parts = row_of(output_type(*out), (), k)
            call_rule(OBSERVE, state[3], i, observe, (env, parts))

    if declaration.texts:
        num_outputs, write_parts = len(names), observe_row
        text_type = _make_type(declaration.texts)

        @compiled
        def observe_row(i, k, state, out):
            write_parts(i, k, state, out[:num_outputs])
            copy_row(variables_type(*state[0]), i, text_type(*out[num_outputs:]), k)

    if declaration.copies_variable:
        number = declaration.variables.index(names[0])

        @compiled
        def observe_range(start, stop, at, state, out):
            values, target = flat(state[0][number]), flat(out[0])
            size = values.shape[0] // state[3].shape[0]
            at = np.uint64(at) * np.uint64(size)
            copy_range(values, target, start * size, stop * size, at)

    else:

        @compiled
        def observe_range(start, stop, at, state, out):
            """Write the observations of rows to the rows ``at + i`` of ``out``.

            ``out`` is a tuple of (T * n, ...) arrays; ``at`` counts modulo 2**64.
            """
            for i in range(np.uint64(start), np.uint64(stop)):
                observe_row(i, np.uint64(at) + i, state, out)

    return observe_row, observe_range


@kernel
def _observe_nothing(start, stop, at, state, out):
    """Observe nothing: users see arrays of the state."""


def make_family(rules, declaration, key, tuned_step=None):
    """Return the `GameKernels` of rules.

    Parameters
    ----------
    rules : tuple of four `Rule`
        ``begin, step, observe, legal``: the last may be None, and ``observe``, if a
        variable is observed.
    declaration : Declaration
    key : str
        Digest of the rules and the declaration.
    tuned_step : kernel or None
        It does what ``play_rows`` below does, with the same arguments.  Variables,
        options and infos are named tuples.
    """
    begin, step, observe, legal = rules
    variables_type = _make_type(declaration.variables, declaration.lengths)
    options_type, infos_type = map(_make_type, declaration[1:3])
    reset_type, num_flags = _make_type(declaration.reset_infos), declaration.num_flags
    compiled = functools.partial(kernel, key=key)
    common = declaration, variables_type, options_type, key
    begin_next, begin_levels = _make_begin(begin, *common)
    observe_row, observe_range = _make_observe(observe, *common)
    generator_at = generator_of if declaration.draws else _no_generator

    if declaration.is_discrete:

        @compiled
        def take_action(env, actions, k, rules, rng):
            first_action, _, invalid_reward, takes_invalid = rules
            # With the JIT off a number of Python, not of numpy.
            action = int(actions[k]) - first_action
            if action >= 0 or takes_invalid:
                reward, terminated, truncated = complete(step(env, action, rng))
                return np.float64(reward), bool(terminated), bool(truncated)
            return invalid_reward, False, False

    else:

        @compiled
        def take_action(env, actions, k, rules, rng):
            outcome = step(env, action_at(actions, k), rng)
            reward, terminated, truncated = complete(outcome)
            return np.float64(reward), bool(terminated), bool(truncated)

    @compiled
    def play_row(i, at, actions, skip_mask, rules, state, results, infos):
        """Take one step in row i, or write its zeros; see `play_rows`."""
        variables, options, rng_states, elapsed_steps = state
        rewards, terminations, truncations = results
        k = np.uint64(at) + i
        if skip_mask[i]:
            rewards[k], terminations[k], truncations[k] = 0.0, False, False
            clear_rows(infos, k, k + _1)
        else:
            named = variables_type(*variables)
            rng = generator_at(rng_states, i)
            env = row_of(named, options_type(*options), i)
            arguments = env, actions, k, rules, rng
            outcome = call_rule(STEP, elapsed_steps, i, take_action, arguments)
            elapsed_steps[i] += 1
            rewards[k], terminations[k], truncated = outcome
            truncations[k] = truncated | reaches_limit(elapsed_steps[i], rules[1])
            copy_row(named, i, infos_type(*infos), k)

    if tuned_step is None:

        @compiled
        def play_rows(
            start, stop, at, actions, skip_mask, rules, state, results, infos
        ):
            """Take one step a row; rows to skip stay and give zeros.

            Parameters
            ----------
            start, stop : int
                The rows to work on.
            at : int
            actions : (T * n,) int64, or (T * n, ...) array, read
            skip_mask : (n,) bool, read
            rules : (int, int, float, bool)
                The first action; the steps after which an episode is truncated, 0:
                never; the reward of an action below the first, "no valid action", by
                which nothing moves; whether the rule takes such an action, as a
                negative number.
            state : tuple, updated
            results : tuple of (T * n,) arrays, written
                Rewards (float64), terminations and truncations (bool).
            infos : tuple of (T * n, ...) arrays, written
                The variables after the step; zeros of rows to skip.
            """
            for i in range(np.uint64(start), np.uint64(stop)):
                play_row(i, at, actions, skip_mask, rules, state, results, infos)

        @compiled
        def step_rows(
            start, stop, at, actions, skip_mask, rules, state, results, infos, out
        ):
            """Take one step a row, and observe all rows to ``out``."""
            # One loop: what a row has written is still in registers or the nearest
            # cache.
            for i in range(np.uint64(start), np.uint64(stop)):
                play_row(i, at, actions, skip_mask, rules, state, results, infos)
                observe_row(i, np.uint64(at) + i, state, out)

    else:

        @compiled
        def play_rows(
            start, stop, at, actions, skip_mask, rules, state, results, infos
        ):
            variables, options, rng_states, elapsed_steps = state
            named, settings = variables_type(*variables), options_type(*options)
            with_names = named, settings, rng_states, elapsed_steps
            shown = infos_type(*infos)
            tuned_step(
                start, stop, at, actions, skip_mask, rules, with_names, results, shown
            )

        @functools.partial(kernel, key=key, inline=True)
        def step_rows(
            start, stop, at, actions, skip_mask, rules, state, results, infos, out
        ):
            play_rows(start, stop, at, actions, skip_mask, rules, state, results, infos)
            observe_range(start, stop, at, state, out)

    @functools.partial(kernel, key=key, inline=True)
    def step_blindly(
        start, stop, at, actions, skip_mask, rules, state, results, infos, out
    ):
        play_rows(start, stop, at, actions, skip_mask, rules, state, results, infos)

    num_reset_infos = len(declaration.reset_infos)

    if num_reset_infos == 0:

        @compiled
        def write_reset_infos(i, k, state, reset_infos):
            pass

    else:

        @compiled
        def write_reset_infos(i, k, state, reset_infos):
            """Write the infos of a reset of row i to row k; see `.unroll`."""
            copy_row(variables_type(*state[0]), i, reset_type(*reset_infos), k)

    write_masks = None
    if legal is not None:

        @compiled
        def write_masks(start, stop, rows, state, masks):
            """Write the masks of rows ``rows[j]`` to ``masks[j]``, (m, A) int8."""
            variables, options = variables_type(*state[0]), options_type(*state[1])
            for j in range(np.uint64(start), np.uint64(stop)):
                i = np.uint64(rows[j])
                arguments = view_of(variables, options, i), items_of(masks, j)
                call_rule(LEGAL, state[3], i, legal, arguments)

    play_block = play_rows
    if tuned_step is not None:

        @compiled
        def play_block(
            start, stop, at, actions, skip_mask, rules, state, results, infos
        ):
            # Each pass of a tuned step costs as much as a rule with so few rows.
            if stop - start < _FEW_ROWS:
                for i in range(np.uint64(start), np.uint64(stop)):
                    play_row(i, at, actions, skip_mask, rules, state, results, infos)
            else:
                play_rows(
                    start, stop, at, actions, skip_mask, rules, state, results, infos
                )

    steps = play_block, play_row, observe_range, begin_next, write_reset_infos
    unroll, unroll_rows = make_unroll(*steps, key)
    num_others = len(declaration.infos) - num_flags - num_reset_infos
    counts = num_flags, num_others, num_reset_infos

    @compiled
    def move_infos(i, infos, last_infos):
        named = infos_type(*infos)
        copy_row(named, i, infos_type(*last_infos), i)
        clear_rows(named, i, i + _1)

    def step_parts(observes):
        if observes:
            return (step_rows, observe_range), key
        return (step_blindly, _observe_nothing), f"{key}-blind"

    def make_fixed_step(fixed_type, observes):
        more = begin_next, write_reset_infos, *counts
        kernels = make_step(step_rows, observe_range, *more, key, fixed_type)
        if observes:
            return kernels
        parts, name = step_parts(observes)
        step, begin, _ = make_step(*parts, *more, name, fixed_type)
        return step, begin, kernels[2]

    def make_fixed_step_and_reset(fixed_type, observes):
        parts, name = step_parts(observes)
        more = observe_range, begin_next, move_infos, write_reset_infos, *counts
        flags, row = declaration.infos[:num_flags], 0
        if "success" in flags:
            row = 3 + flags.index("success")
        return make_step_and_reset(*parts, *more, row, name, fixed_type)

    return GameKernels(
        begin_levels,
        unroll,
        unroll_rows,
        make_fixed_step,
        make_fixed_step_and_reset,
        functools.partial(make_play, play_row, observe_range, key),
        write_masks,
    )
