"""Many steps of many rows in one call, of any game.

Steps are the outer loop and rows the inner one: the results of a step lie side by side
as those of a step of the batch, and the same kernel writes them::

                 row 0   1   2  ...
        step 0    ------------------->
        step 1    ---------->  x----->     x: an episode ends, the next one begins
          :                    o           o: its level is not in memory: the row stops
        step T-1  ---------->     --->

A row that has stopped waits until the caller has begun its next episode; `unroll_rows`
then plays it from its own time on.  `make_unroll` makes the kernels of a game from its
own, which take one state::

    state = variables, options, rng_states, elapsed_steps

- ``variables``: a tuple of arrays whose first axis is the row;
- ``options``: a tuple of numbers and arrays that all rows share;
- ``rng_states``: (6, n) uint64 of generators, see `.rng.pcg64`; (6, 0) without any;
- ``elapsed_steps``: (n,) int32.

Arrays of results have the row ``at + i`` for row i of a step: ``at`` is 0 for the step
of a batch, and ``t * num_envs`` for step t of an unroll.
"""

import functools
from typing import Any, NamedTuple

import numpy as np

from ._jit import kernel
from .bound import keep_infos, make_play, make_step
from .outcomes import JUST_RESET, NEEDS_RESET, PLAYING
from .rng.pcg64 import fold_in

_1 = np.uint64(1)
# Rows that take all their steps together, so that their state stays in the cache: its
# 48 bytes a Sokoban room are 0.2 MB a block.  Each step of a block costs 0.4 us more
# than its rows: 256 rows take 8.0 ns a row and step, 1024 7.0 and 4096 6.5.
BLOCK = 4096
DISABLED, NEXT_STEP, SAME_STEP = range(3)


class LevelTable(NamedTuple):
    """The levels that episodes can begin with at once.

    An episode of seed e plays the level ``e mod num_levels``.
    """

    num_levels: int  # 0: none
    is_present: np.ndarray  # (num_levels,) bool: which there are; (0,): all


class LevelEpisodes(NamedTuple):
    """The episodes of rows that play levels."""

    levels: Any  # tuple of arrays: a level has one row in each
    table: LevelTable  # a plain tuple of its items
    first_seeds: np.ndarray  # (n,) uint64, see `roll_vec.arrays.episodes.EpisodeSeeds`
    numbers: np.ndarray  # (n,) uint64, updated where an episode begins


class GameKernels(NamedTuple):
    """The kernels of a game over all rows; see `make_unroll`."""

    advance_rows: Any
    unroll: Any
    unroll_rows: Any
    make_step: Any  # of the type of the fixed arguments, see `.bound`
    make_blind_step: Any  # the same, but nothing is observed
    make_play: Any
    write_masks: Any
    place_rows: Any  # of games with levels, see `make_level_kernels`


@kernel
def copy_range(values, out, start, stop, at):
    """Copy ``values[start:stop]`` to ``out[at + start:at + stop]``, one-dimensional.

    Grids of many rows are copied as one range: row by row a copy of 36 bytes takes
    10 ns a row, as one range 1.
    """
    for i in range(np.uint64(start), np.uint64(stop)):
        out[np.uint64(at) + i] = values[i]


@kernel
def next_level(i, table, first_seeds, numbers):
    """Return the seed of the next episode of row i, and the index of its level or -1.

    The parameters are items of `LevelEpisodes`, read.  After episode -1, modulo 2**64,
    comes episode 0.
    """
    num_levels, is_present = table
    seed, episode = first_seeds[i], numbers[i] + _1
    if episode > 0:
        seed = fold_in(seed, episode)
    if num_levels == 0:
        return seed, np.int64(-1)
    number = np.int64(seed % np.uint64(num_levels))
    if is_present.shape[0] > 0 and not is_present[number]:
        return seed, np.int64(-1)
    return seed, number


def make_level_kernels(place, key):
    """Return the kernels that begin levels, ``begin_next`` and ``place_rows``.

    Parameters
    ----------
    place : kernel
        ``place(i, levels, index, seed, state)`` sets row i to a level; the seed is that
        of the episode.
    key : str
        The name of the game, for the cache on disk.
    """
    compiled = functools.partial(kernel, key=key)

    @compiled
    def begin_next(i, episodes, state):
        """Begin the next episode of row i; False: its level is not in memory."""
        levels, table, first_seeds, numbers = episodes
        seed, index = next_level(i, table, first_seeds, numbers)
        if index < 0:
            return False
        place(i, levels, np.uint64(index), seed, state)
        state[3][i] = 0
        numbers[i] += _1
        return True

    @compiled
    def place_rows(start, stop, rows, levels, level_indices, seeds, state):
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
            i = np.uint64(rows[j])
            place(i, levels, np.uint64(level_indices[j]), seeds[j], state)
            state[3][i] = 0

    return begin_next, place_rows


@kernel
def list_ends(results, at, scratch, start, stop):
    """Find the rows whose episode a step has ended.

    Parameters
    ----------
    results : tuple, read
        Rewards, terminations and truncations, (T * n,) each.
    at : uint64
        Where those of the step begin.
    scratch : tuple of arrays
        ``has_stopped`` (n,) bool, read; ``skip_mask`` (n,) bool, written: rows that
        have stopped, and those that end now; ``ends`` (n,) int64, written from
        ``start``: the rows that end now.
    start, stop : int
        The rows to work on.

    Returns
    -------
    last : uint64
        The end of these rows in ``ends``.
    """
    _, terminations, truncations = results
    has_stopped, skip_mask, ends = scratch
    for i in range(np.uint64(start), np.uint64(stop)):
        has_ended = terminations[at + i] | truncations[at + i]
        skip_mask[i] = has_ended | has_stopped[i]
    # Branch-free: in lakes one row in ten ends, and is mispredicted.  1.0 ns a row with
    # a branch, 0.3 without.
    last = np.uint64(start)
    for i in range(np.uint64(start), np.uint64(stop)):
        ends[last] = np.int64(i)
        last += np.uint64(terminations[at + i] | truncations[at + i])
    return last


@kernel
def prepare_block(states, scratch, start, stop):
    """Prepare the masks of a block, and list its rows that need a reset.

    Parameters
    ----------
    states : (n,) int64, read
        `PLAYING` or `NEEDS_RESET`.
    scratch : tuple of arrays, written
        See `list_ends`: no row has stopped; those that need a reset are skipped.
    start, stop : int
        The block.

    Returns
    -------
    last : uint64
        The end of the rows in ``ends``.
    """
    has_stopped, skip_mask, ends = scratch
    last = np.uint64(start)
    for i in range(np.uint64(start), np.uint64(stop)):
        has_stopped[i], skip_mask[i] = False, states[i] == NEEDS_RESET
        ends[last] = np.int64(i)
        last += np.uint64(states[i] == NEEDS_RESET)
    return last


@kernel
def store_progress(until, progress, scratch, start, stop):
    """Write the progress of the rows of a block that have not stopped.

    Parameters
    ----------
    until : int
    progress : tuple of arrays, written
        See `make_unroll`: times and states.
    scratch : tuple of arrays, read
        As `list_ends` has left them after the last step.
    start, stop : int
        The block.
    """
    (times, states), (has_stopped, skip_mask, _) = progress, scratch
    for i in range(start, stop):
        if not has_stopped[i]:
            times[i] = until
            states[i] = NEEDS_RESET if skip_mask[i] else PLAYING


@kernel
def observe_nothing(start, stop, at, state, out):
    """Observe nothing: users see arrays of the state."""


def make_unroll(
    play_rows,
    observe_rows,
    begin_next,
    key,
    write_masks,
    write_reset_infos=keep_infos,
    step_rows=None,
    place_rows=None,
    play_row=None,
    num_flags=3,
):
    """Return the `GameKernels` of a game.

    Parameters
    ----------
    play_rows : kernel
        ``play_rows(start, stop, at, actions, skip_mask, rules, state, results, infos)``
        takes one step a row, of the action ``actions[at + i]``.  It writes results and
        infos, those of rows to skip as zeros: these rows stay as they are.  ``results``
        are rewards (float64), terminations and truncations (bool).
    observe_rows : kernel
        ``observe_rows(start, stop, at, state, out)`` writes the observation of row i to
        row ``at + i``, modulo 2**64: ``at`` may be a negative number as uint64.
    begin_next : kernel
        ``begin_next(i, episodes, state)`` begins the next episode of row i, or returns
        False: the caller has to.
    key : str
        The name of the game, for the cache on disk.
    write_masks : kernel or None
        ``write_masks(start, stop, rows, variables, options, masks)`` writes 1 for the
        actions of rows ``rows[j]`` that can change something, else 0, to ``masks[j]``,
        (m, A) int8.
    write_reset_infos : kernel
        ``write_reset_infos(k, infos)`` writes the infos of a reset in the place of the
        zeros of a step that begins an episode; without it these stay zeros.  Resets
        have all infos of a step then.
    step_rows : kernel or None
        ``play_rows`` with one more argument, the observations that it writes as well.
        None: ``play_rows`` and ``observe_rows``.
    place_rows : kernel or None
        Of `make_level_kernels`.
    play_row : kernel or None
        ``play_row(i, at, ...)`` does what ``play_rows(i, i + 1, at, ...)`` does, which
        is called where there is none, for a row that is not to skip.
    num_flags : int
        The first infos that are bool, a number a row; see `.bound.make_step`.
    """
    compiled = functools.partial(kernel, key=key)
    begins = begin_next, write_reset_infos

    if play_row is None:

        @compiled
        def play_row(i, at, actions, skip_mask, rules, state, results, infos):
            begin = np.int64(i)
            play_rows(
                begin, begin + 1, at, actions, skip_mask, rules, state, results, infos
            )

    if step_rows is None:

        @functools.partial(kernel, key=key, inline=True)
        def step_rows(
            start, stop, at, actions, skip_mask, rules, state, results, infos, out
        ):
            play_rows(start, stop, at, actions, skip_mask, rules, state, results, infos)
            observe_rows(start, stop, at, state, out)

    @functools.partial(kernel, key=key, inline=True)
    def play_blind(
        start, stop, at, actions, skip_mask, rules, state, results, infos, out
    ):
        play_rows(start, stop, at, actions, skip_mask, rules, state, results, infos)

    @compiled
    def advance_rows(start, stop, rows, episodes, state):
        """Begin the next episodes of ``rows[start:stop]``, which are all in memory."""
        for j in range(np.uint64(start), np.uint64(stop)):
            begin_next(np.uint64(rows[j]), episodes, state)

    @compiled
    def begin_ends(t, at, mode, first, last, batch):
        """Begin the next episodes of rows ``ends[first:last]``, or stop the rows."""
        episodes, state, infos, (times, states), scratch = batch
        has_stopped, skip_mask, ends = scratch
        for j in range(first, last):
            i = np.uint64(ends[j])
            if mode == NEXT_STEP:
                write_reset_infos(at + i, infos)
            if mode != DISABLED and begin_next(i, episodes, state):
                skip_mask[i] = False
            else:
                has_stopped[i], times[i], states[i] = True, t, NEEDS_RESET

    @compiled
    def unroll(start, stop, until, buffer, fixed, episodes):
        """Take the same steps in a range of rows; a row without a next episode stops.

        Parameters
        ----------
        start, stop : int
            The rows to work on.
        until : int
            The step before which to stop, at most T.
        buffer : tuple
            ``plan, progress, scratch, results, infos, observations,
            next_observations``, see below.
        fixed : tuple
            The rules, what ``play_rows`` asks for, read; and the state, updated.
        episodes : tuple, updated
            What ``begin_next`` asks for.

        Notes
        -----
        The items of ``buffer``:

        plan : (int, int, (T * n, ...) array), read
            The number of rows of the batch, n; the mode; the actions of step 0, then of
            step 1, ..., ignored in a step that begins an episode.  `DISABLED`: a row
            stops where its episode ends.  `NEXT_STEP`: an episode begins in a step of
            its own, whose results are zeros.  `SAME_STEP`: it begins in the step in
            which the one before it ends.
        progress : tuple of (n,) int64, updated
            The step that each row takes next, T after the last, and its state, see
            `.outcomes`.  Before, the time of all rows is the same, and none has just
            been reset.
        scratch : tuple of arrays
            (n,) bool, (n,) bool and (n,) int64.
        results, infos : tuples of (T * n, ...) arrays, written
        observations : tuple of (T * n, ...) arrays, written
            In SAME_STEP mode: after each step; the first one of an episode where it
            began in that step.
        next_observations : tuple of (T * n, ...) arrays, written
            After each step, before an episode began in it.

        Results of a row after it has stopped are meaningless: `unroll_rows` writes them
        again.
        """
        plan, progress, scratch, results, infos, observations, next_observations = (
            buffer
        )
        (num_envs, mode, actions), (rules, state) = plan, fixed
        skip_mask, batch = scratch[1], (episodes, state, infos, progress, scratch)
        for begin in range(start, stop, BLOCK):
            end = min(begin + BLOCK, stop)
            first = np.uint64(begin)
            first_step = progress[0][first]
            last = prepare_block(progress[1], scratch, begin, end)
            for t in range(first_step, until):
                at = np.uint64(t) * np.uint64(num_envs)
                play_rows(
                    begin, end, at, actions, skip_mask, rules, state, results, infos
                )
                if mode != SAME_STEP:
                    begin_ends(t, at, mode, first, last, batch)
                observe_rows(begin, end, at, state, next_observations)
                last = list_ends(results, at, scratch, begin, end)
                if mode == SAME_STEP:
                    begin_ends(t, at, mode, first, last, batch)
                    observe_rows(begin, end, at, state, observations)
            store_progress(until, progress, scratch, begin, end)

    @compiled
    def unroll_rows(start, stop, until, buffer, fixed, rows):
        """Take the steps of some rows, each from its own time on, until its end.

        Parameters
        ----------
        start, stop : int
            The range of ``rows`` to work on.
        until, buffer, fixed
            See `unroll`.
        rows : (m,) int64, read
            The rows, each at most once; they have just been reset.
        """
        plan, progress, scratch, results, infos, observations, next_observations = (
            buffer
        )
        (num_envs, mode, actions), (rules, state) = plan, fixed
        (times, states), skip_mask = progress, scratch[1]
        _, terminations, truncations = results
        first_step = until
        for j in range(start, stop):
            first_step = min(first_step, times[rows[j]])
        for t in range(first_step, until):
            at = np.uint64(t) * np.uint64(num_envs)
            # Two loops: a copy of a grid reads many cells at once, and would have to
            # wait for single cells that were written just before.
            for j in range(np.uint64(start), np.uint64(stop)):
                i = np.uint64(rows[j])
                skip_mask[i] = states[i] == JUST_RESET
                if times[i] == t and states[i] == PLAYING:
                    play_row(i, at, actions, skip_mask, rules, state, results, infos)
                elif times[i] == t and skip_mask[i] and mode != SAME_STEP:
                    begin, end = rows[j], rows[j] + 1
                    play_rows(
                        begin, end, at, actions, skip_mask, rules, state, results, infos
                    )
            for j in range(np.uint64(start), np.uint64(stop)):
                i = np.uint64(rows[j])
                if times[i] == t and states[i] != NEEDS_RESET:
                    k = at + i
                    is_new = states[i] == JUST_RESET and mode == SAME_STEP
                    ends = not is_new and (terminations[k] or truncations[k])
                    if not is_new:
                        observe_rows(rows[j], rows[j] + 1, at, state, next_observations)
                    if mode == SAME_STEP and not ends:
                        observe_rows(rows[j], rows[j] + 1, at, state, observations)
                    states[i] = NEEDS_RESET if ends else PLAYING
                    times[i] = t if ends and mode == SAME_STEP else t + 1

    blind_key = f"{key}-blind"
    return GameKernels(
        advance_rows,
        unroll,
        unroll_rows,
        functools.partial(make_step, step_rows, *begins, observe_rows, num_flags, key),
        functools.partial(
            make_step, play_blind, *begins, observe_nothing, num_flags, blind_key
        ),
        functools.partial(make_play, play_row, observe_rows, key),
        write_masks,
        place_rows,
    )
