"""Levels ahead of time: background threads draw the levels of the next episodes.

The seed of an environment's next level is known as soon as an episode begins.  The
engine then orders this level, and background threads draw it while the caller's policy
works.  Each environment has one slot for a level.  When its episode ends, the engine
takes the level from the slot, or draws it at once if it is not there.

A level is a function of its key alone: the seed of the level and the source that draws
it.  A level of a slot is used only if its key is the one asked for, so that resets,
snapshots and interrupts need no care.  Slots are no state: copies, pickles and forked
processes begin with empty ones.

Every array below has one entry per environment::

    orders    key of the last order, 0 once the caller draws it    written by the caller
    claims    key that a background thread draws now, 0 for none   written by threads
    ready     key of the level in the slot, 0 for none             written by both

The caller never waits for a lock, so that Ctrl-C leaves none locked.  Background
threads write slots within a lock of their own, and only while their keys are wanted: an
order with another key empties the slot.  A thread that has just begun to write fills it
once more, and the level of the new order follows.  The caller reads a slot if both the
order and the level that is ready have the key: no other level is written there then.
"""

from __future__ import annotations

import atexit
import os
import threading
import weakref
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from itertools import count
from queue import SimpleQueue
from time import perf_counter, sleep
from typing import Any

import numpy as np
from numpy.typing import NDArray

from roll_vec.arrays.row_threads import (
    SliceSizer,
    background_threads,
    count_cores,
    start_thread,
)

Seeds = NDArray[np.uint64]
Levels = tuple[NDArray[Any], ...]
Rows = NDArray[np.int64]

# The bits of a key that hold the seed of the level; the others hold the source.
_SEED_BITS = 32
_SEED_MASK = np.uint64((1 << _SEED_BITS) - 1)
_NONE = np.uint64(0)
# A thread ends within this time.  It needs the interpreter's lock for some 50 us each
# time.
CHUNK_SECONDS = 0.001
# Levels that are cheaper are not drawn ahead, unless the user asks for it: orders and
# slots cost about as much.  A map of 4x4 takes some 0.2 us, a room of 6x6 14 us.
_CHEAP_LEVEL = 4e-6
# Nor are chunks that are cheaper.  Both threads need the interpreter's lock: each chunk
# keeps the caller waiting for some 100 us if it does nothing but step.
_CHEAP_CHUNK = 1e-4
# Chunks that are measured before that is decided: the first one may be slow.
_CHUNKS_TO_MEASURE = 4
# Fewer environments have fewer threads.
_ROWS_PER_THREAD = 32
# A waiting caller looks around after this time.
_WAIT_SECONDS = 5e-5
# A thread is woken once this share of all environments has begun episodes, or enough of
# them for a chunk.
_CHUNKS_PER_ROUND = 8
# So many orders for each environment are kept, of which one is wanted.
_ROUNDS_KEPT = 2


def make_prefetcher(
    prefetch: bool | None, num_envs: int, num_threads: int
) -> Prefetcher | None:
    """Return a prefetcher, or None if levels are drawn when episodes begin.

    Parameters
    ----------
    prefetch : bool or None
        None: with several threads and cores, and as long as that saves time.
    num_envs, num_threads : int
        No more threads than cores are used.
    """
    # With two cores 4096 rooms take 0.6 ms a step with 2 threads, 1.3 with 8, which
    # also compete for the interpreter's lock.
    num_threads = min(num_threads, count_cores())
    if prefetch is False or (prefetch is None and num_threads == 1):
        return None
    return Prefetcher(num_envs, num_threads, is_forced=prefetch is True)


class _Slots:
    """The slots of one engine and the orders to come, which its threads share.

    It refers to no engine: an engine that nobody uses is collected, and its threads
    end.
    """

    def __init__(self, num_envs: int, num_threads: int) -> None:
        self.process_id = os.getpid()
        self.num_envs = num_envs
        self.orders = np.zeros(num_envs, np.uint64)
        self.claims = np.zeros(num_envs, np.uint64)
        self.ready = np.zeros(num_envs, np.uint64)
        # Orders that no thread has begun; one call in the queue for each, or more.
        # Threads take the newest: where they cannot keep up, the caller needs the
        # oldest next, and draws them itself.  It would wait for a chunk that has them.
        self.work: deque[tuple[LevelSource, Rows, Seeds]] = deque()
        self.calls: SimpleQueue[None] = SimpleQueue()
        self.is_stopped = False
        self.threads: list[threading.Thread] = []
        self._lock = threading.Lock()
        for _ in range(num_threads):
            thread = start_thread("roll_vec levels", self._run)
            if thread is not None:
                self.threads.append(thread)
        self.is_stopped = not self.threads

        # Compiled code must not run while the interpreter exits.
        atexit.register(self.end)

    def stop(self) -> None:
        """Tell all threads to end; each first ends the chunk that it draws."""
        atexit.unregister(self.end)
        self.is_stopped = True
        for _ in self.threads:
            self.calls.put(None)

    def end(self) -> None:
        """Stop all threads, and wait until they have ended."""
        self.stop()
        for thread in self.threads:
            if thread is not threading.current_thread():
                thread.join()

    def _run(self) -> None:
        number = threading.get_ident()
        # Kernels that run as Python functions warn about integers that wrap around.
        with np.errstate(over="ignore"):
            while not self.is_stopped:
                self.calls.get()
                background_threads.add(number)
                while not self.is_stopped and self._draw_chunk():
                    pass
                background_threads.discard(number)

    def _draw_chunk(self) -> bool:
        """Draw some of the newest orders into their slots; False: there are none."""
        try:
            source, rows, keys = self.work.pop()
        except IndexError:
            return False
        size = source.sizer.rows
        if len(rows) > size:
            self.work.append((source, rows[size:], keys[size:]))
            self.calls.put(None)
            rows, keys = rows[:size], keys[:size]
        is_wanted = (self.orders[rows] == keys) & (self.ready[rows] != keys)
        rows, keys = rows[is_wanted], keys[is_wanted]
        if not len(rows) or not source.is_open:
            return True
        self.claims[rows] = keys
        try:
            levels, indices = source.draw(keys & _SEED_MASK)
            with self._lock:
                self._fill(source, rows, keys, levels, indices)
        except BaseException:
            # A configuration that hardly has levels would keep a core busy for ever.
            source.is_open = False
        finally:
            self.claims[rows[self.claims[rows] == keys]] = _NONE
        return True

    def _fill(
        self,
        source: LevelSource,
        rows: Rows,
        keys: Seeds,
        levels: Levels,
        indices: NDArray[np.int64],
    ) -> None:
        """Write levels into the slots where they are still wanted."""
        if not source.slots:
            # Rows that are never written take no memory.
            source.slots = tuple(
                np.zeros((self.num_envs, *each.shape[1:]), each.dtype)
                for each in levels
            )
        is_wanted = self.orders[rows] == keys
        rows, keys, indices = rows[is_wanted], keys[is_wanted], indices[is_wanted]
        for slot, array in zip(source.slots, levels, strict=True):
            slot[rows] = array[indices]
        self.ready[rows] = keys


class Prefetcher:
    """The threads and slots of one engine, made at the first order.

    Parameters
    ----------
    num_envs : int
    num_threads : int
        Threads that the engine may use, with the caller's.
    is_forced : bool
        Whether also levels are drawn ahead that are cheaper than their orders.
    """

    def __init__(
        self, num_envs: int, num_threads: int, is_forced: bool = False
    ) -> None:
        self.num_envs, self.num_threads = num_envs, num_threads
        self.is_forced = is_forced
        self.source_numbers = count(1)
        self._slots: _Slots | None = None

    def __reduce__(self) -> tuple[Any, ...]:
        # Levels can be drawn again: they are no state.
        return type(self), (self.num_envs, self.num_threads, self.is_forced)

    @property
    def is_running(self) -> bool:
        """Whether levels were ordered already."""
        return self._slots is not None

    def slots(self) -> _Slots | None:
        """Return the slots of this process, if threads can run."""
        slots = self._slots
        if slots is None or slots.process_id != os.getpid():
            # No thread of the parent exists in a forked child.
            most = -(-self.num_envs // _ROWS_PER_THREAD)
            num_threads = min(max(1, self.num_threads - 1), most)
            slots = self._slots = _Slots(self.num_envs, num_threads)
            # It waits for no thread: one may want what the collector has locked.
            weakref.finalize(self, slots.stop).atexit = False
        return None if slots.is_stopped else slots

    def close(self) -> None:
        """Stop the threads, and wait for the chunks that they draw."""
        slots = self._slots
        if slots is not None and slots.process_id == os.getpid():
            slots.end()


class LevelSource:
    """Draws the levels of one set of options, ahead of time or when they are needed.

    The engine's thread alone calls `order` and `get`.

    Parameters
    ----------
    prefetcher : Prefetcher
    generate : callable
        From (m,) uint64 level seeds, ascending, to a tuple of arrays of m rows.

    Attributes
    ----------
    is_open : bool
        False: nothing is drawn ahead.  So it is once a level could not be drawn, whose
        error is raised where the level is needed.
    seconds : float
        Time of a level, an average of the last chunks.
    num_chunks : int
        Number of chunks that were measured.
    slots : tuple of arrays
        (n, ...) each; the levels that are ready.
    """

    def __init__(
        self, prefetcher: Prefetcher, generate: Callable[[Seeds], Levels]
    ) -> None:
        self.prefetcher, self.generate = prefetcher, generate
        # The key of a level is the sum of this and its seed.
        self._tag = np.uint64(next(prefetcher.source_numbers) << _SEED_BITS)
        self.sizer = SliceSizer("levels", CHUNK_SECONDS)
        self.is_open = True
        self.seconds, self.num_chunks = 0.0, 0
        self.slots: Levels = ()
        # Orders that no thread knows of yet: it is not worth to wake one for a few.
        self._pending: list[tuple[Rows, Seeds]] = []
        self._num_pending = 0

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.prefetcher, self.generate)

    def draw(self, seeds: Seeds) -> tuple[Levels, NDArray[np.int64]]:
        """Return levels, and the level of each seed as an index into their rows."""
        # Members of a group have the same seeds.
        unique, indices = np.unique(seeds, return_inverse=True)
        begin = perf_counter()
        levels = self.generate(unique)
        seconds = perf_counter() - begin
        self.sizer.add(len(unique), seconds)
        self.num_chunks += 1
        share = 1.0 / min(self.num_chunks, _CHUNKS_TO_MEASURE)
        self.seconds += share * (seconds / len(unique) - self.seconds)
        return levels, indices

    def _is_cheap(self) -> bool:
        """Return whether drawing levels ahead costs more time than it saves."""
        rows = max(1, self.prefetcher.num_envs // _CHUNKS_PER_ROUND)
        return self.num_chunks >= _CHUNKS_TO_MEASURE and (
            self.seconds < _CHEAP_LEVEL or self.seconds * rows < _CHEAP_CHUNK
        )

    def order(self, rows: Rows, seeds: Seeds) -> None:
        """Have levels drawn for the next episodes of some environments.

        Parameters
        ----------
        rows : (m,) int64
            Environments, each at most once; not written to later.
        seeds : (m,) uint64
            Of their next levels, below 2**32.
        """
        slots = self.prefetcher.slots()
        if self.is_open and not self.prefetcher.is_forced and self._is_cheap():
            self.is_open = False
        if not self.is_open or slots is None:
            return
        keys = seeds + self._tag
        is_new = slots.orders[rows] != keys
        rows, keys = rows[is_new], keys[is_new]
        if not len(rows):
            return
        # In this order: a thread that sees a new order must find the slot empty.
        slots.ready[rows] = _NONE
        slots.orders[rows] = keys
        self._pending.append((rows, keys))
        self._num_pending += len(rows)
        # A thread that is woken for each environment draws its level three times as
        # slowly, and each time the caller loses some 5 us.
        num_envs = self.prefetcher.num_envs
        enough = max(1, min(self.sizer.rows, num_envs // _CHUNKS_PER_ROUND))
        if self._num_pending >= enough:
            rows, keys = map(np.concatenate, zip(*self._pending, strict=True))
            self._pending, self._num_pending = [], 0
            slots.work.append((self, rows, keys))
            slots.calls.put(None)
            # The caller has drawn most of older ones.
            with suppress(IndexError):
                while len(slots.work) > _ROUNDS_KEPT * -(-num_envs // enough):
                    slots.work.popleft()

    def get(
        self,
        rows: Rows,
        seeds: Seeds,
        generate: Callable[[Seeds], tuple[Levels, NDArray[np.int64]]],
    ) -> tuple[Levels, NDArray[np.int64]]:
        """Return the levels of some seeds, drawn ahead or now.

        Parameters
        ----------
        rows : (m,) int64
            Environments that begin these levels.
        seeds : (m,) uint64
        generate : callable
            Draws levels on the calling thread and its helpers, and raises the errors of
            those that cannot be drawn.

        Returns
        -------
        levels : tuple of arrays
            Not to be written, and valid until the next `order` of these environments.
        level_indices : (m,) int64
            The row of each level in these arrays.
        """
        slots = self.prefetcher.slots()
        if slots is None or not self.slots or not self.is_open:
            return generate(seeds)
        keys = seeds + self._tag
        drawn = []
        is_ordered = slots.orders[rows] == keys
        missing = np.flatnonzero((slots.ready[rows] != keys) | ~is_ordered)
        while len(missing):
            missing_rows, missing_keys = rows[missing], keys[missing]
            # `claims` first: a claim ends after its level is ready.
            is_claimed = slots.claims[missing_rows] == missing_keys
            is_claimed &= is_ordered[missing]
            is_ready = slots.ready[missing_rows] == missing_keys
            is_missing = ~(is_ready & is_ordered[missing])
            now = missing[is_missing & ~is_claimed]
            missing = missing[is_missing & is_claimed]
            if len(now):
                # Threads do not begin these any more.
                slots.orders[rows[now]] = _NONE
                drawn.append((now, *generate(seeds[now])))
            elif len(missing):
                sleep(_WAIT_SECONDS)
        if not drawn:
            return self.slots, rows
        levels = tuple(slot[rows] for slot in self.slots)
        for now, arrays, indices in drawn:
            for level, array in zip(levels, arrays, strict=True):
                level[now] = array[indices]
        return levels, np.arange(len(rows))
