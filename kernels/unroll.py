"""Many steps of many rows in one call, of any game.

Steps are the outer loop and rows the inner one: the results of a step lie side by side
as those of a step of the batch, and the same kernel writes them::

                 row 0   1   2  ...
        step 0    ------------------->
        step 1    ---------->  x----->     x: an episode ends, the next one begins
          :                    o           o: its level is not in memory: the row stops
        step T-1  ---------->     --->

A row that has stopped waits until the caller has begun its next episode; `unroll_rows`
then plays it from the time on at which it has stopped.  `make_unroll` makes both
kernels from those of a family, see `.families`.
"""

import functools

import numpy as np

from ._jit import kernel
from .outcomes import JUST_RESET, NEEDS_RESET, PLAYING

# Rows that take all their steps together, so that their state stays in the cache: its
# 48 bytes a Sokoban room are 0.2 MB a block.  Each step of a block costs 0.4 us more
# than its rows: 256 rows take 8.0 ns a row and step, 1024 7.0 and 4096 6.5.
BLOCK = 4096
DISABLED, NEXT_STEP, SAME_STEP = range(3)


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


def make_unroll(play_rows, play_row, observe_rows, begin_next, write_reset_infos, key):
    """Return the kernels ``unroll`` and ``unroll_rows`` of a game.

    Parameters
    ----------
    play_rows : kernel
        ``play_rows(start, stop, at, actions, skip_mask, rules, state, results, infos)``
        takes one step a row, of the action ``actions[at + i]``.  It writes results and
        infos, those of rows to skip as zeros: these rows stay as they are.  ``results``
        are rewards (float64), terminations and truncations (bool).
    play_row : kernel
        ``play_row(i, at, ...)`` does what ``play_rows(i, i + 1, at, ...)`` does.
    observe_rows : kernel
        ``observe_rows(start, stop, at, state, out)`` writes the observation of row i to
        row ``at + i``, modulo 2**64: ``at`` may be a negative number as uint64.
    begin_next : kernel
        ``begin_next(i, episodes, state)`` begins the next episode of row i, or returns
        False: its level is not in memory, and the caller has to.
    write_reset_infos : kernel
        ``write_reset_infos(i, k, state, reset_infos)`` writes the infos of a reset of
        row i to row k of arrays.
    key : str
        Digest of the game, for the cache on disk.
    """
    compiled = functools.partial(kernel, key=key)

    @compiled
    def begin_ends(t, at, mode, first, last, batch):
        """Begin the next episodes of rows ``ends[first:last]``, or stop the rows."""
        episodes, state, reset_infos, (times, states), scratch = batch
        has_stopped, skip_mask, ends = scratch
        for j in range(first, last):
            i = np.uint64(ends[j])
            if mode != DISABLED and begin_next(i, episodes, state):
                skip_mask[i] = False
                write_reset_infos(i, at + i, state, reset_infos)
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
            ``plan, progress, scratch, results, infos, reset_infos, observations,
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
        reset_infos : tuple of (T * n, ...) arrays, written
            Where an episode began.  In NEXT_STEP mode the last arrays of infos, whose
            zeros are overwritten.
        observations : tuple of (T * n, ...) arrays, written
            In SAME_STEP mode: after each step; the first one of an episode where it
            began in that step.
        next_observations : tuple of (T * n, ...) arrays, written
            After each step, before an episode began in it.

        Results of a row after it has stopped are meaningless: `unroll_rows` writes them
        again.
        """
        plan, progress, scratch, results, infos, reset_infos = buffer[:6]
        observations, next_observations = buffer[6:]
        (num_envs, mode, actions), (rules, state) = plan, fixed
        skip_mask = scratch[1]
        batch = episodes, state, reset_infos, progress, scratch
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
                # Where nothing ends no call: it passes a hundred words on the stack,
                # 40 ns, as long as a step of one environment.
                if mode != SAME_STEP and last > first:
                    begin_ends(t, at, mode, first, last, batch)
                observe_rows(begin, end, at, state, next_observations)
                last = list_ends(results, at, scratch, begin, end)
                if mode == SAME_STEP:
                    if last > first:
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
        plan, progress, scratch, results, infos, reset_infos = buffer[:6]
        observations, next_observations = buffer[6:]
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
                is_now, is_new = times[i] == t, skip_mask[i]
                if is_now and (states[i] == PLAYING or (is_new and mode != SAME_STEP)):
                    play_row(i, at, actions, skip_mask, rules, state, results, infos)
                if is_now and is_new:
                    write_reset_infos(i, at + i, state, reset_infos)
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

    return unroll, unroll_rows
