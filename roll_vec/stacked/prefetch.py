"""Levels ahead of time: background threads draw the levels of the next episodes.

The seed of an environment's next level is known as soon as an episode begins.  The
engine then orders this level, and background threads draw it while the caller's policy
works.  Each environment has one slot for a level.  When its episode ends, the engine
takes the level from the slot, or draws it at once if it is not there.

A level is a function of its key alone: the seed of the level and the options that it is
drawn with.  A level of a slot is used only if its key is the one asked for, so
that resets, snapshots and interrupts need no care.  Slots are no state: copies, pickles
and forked processes begin with empty ones.

Every array below has one entry per environment::

    orders    key of the last order      written by the caller
    claims    key that a background thread draws now, `TAKEN` for the caller, 0 for none
    ready     key of the level in the slot, 0 for none

The caller never waits for a lock, so that Ctrl-C leaves none locked.  Background
threads write slots and ``claims`` within a lock of their own.  A slot is written only
while its key is wanted, and an order with another key empties it.  So no slot is
written while the caller reads it.
"""

from __future__ import annotations

import atexit
import os
import threading
import weakref
from collections import deque
from collections.abc import Callable, Sequence
from queue import Empty, SimpleQueue
from time import perf_counter
from typing import Any

import numpy as np
from numpy.typing import NDArray

from roll_vec.progress import report
from roll_vec.stacked import row_threads
from roll_vec.stacked.row_threads import SliceSizer, count_cores, start_thread

__all__ = ["LevelSource", "Prefetcher", "make_prefetcher"]

Seeds = NDArray[np.uint64]
Levels = tuple[NDArray[Any], ...]
Rows = NDArray[np.int64]

# The bits of a key that hold the seed of the level; the others hold the source.
_SEED_BITS = 32
_SEED_MASK = np.uint64((1 << _SEED_BITS) - 1)
_NONE = np.uint64(0)
TAKEN = np.uint64(1)
# A thread notices within this time that others need it, or that it has to end.  It
# needs the interpreter's lock for some 50 us each time.
CHUNK_SECONDS = 0.001
# Levels that are needed now are drawn in chunks of at least this share of one: each
# chunk costs some 20 us, and rooms are seeded 32 at once.
_SMALLEST_SHARE = 3
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
# A waiting caller looks around after this time, even if nothing was reported.
_WAIT_SECONDS = 0.05
# A thread is woken once this share of all environments has begun episodes, or enough of
# them for a quarter of a chunk.
_CHUNKS_PER_ROUND = 8


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


class LevelSource:
    """Draws the levels of one set of options, on one thread a call.

    Parameters
    ----------
    generate : callable
        From (m,) uint64 level seeds, ascending, to a tuple of arrays of m rows.
    number : int
        Different for each source of an engine, at least 1.
    unit : str
        The levels' name in the plural, for reports of progress.

    Attributes
    ----------
    tag : uint64
        The key of a level is the sum of this and its seed.
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
        self, generate: Callable[[Seeds], Levels], number: int, unit: str = "levels"
    ) -> None:
        self._generate = generate
        self.tag = np.uint64(number << _SEED_BITS)
        self.sizer = SliceSizer(unit, CHUNK_SECONDS)
        self.is_open = True
        self.seconds, self.num_chunks = 0.0, 0
        self.slots: Levels = ()

    def draw(self, seeds: Seeds) -> tuple[Levels, NDArray[np.int64] | slice]:
        """Return levels, and the level of each seed as an index into their rows."""
        indices: NDArray[np.int64] | slice = slice(None)
        # Members of a group have the same seeds.
        if len(seeds) > 1 and not (seeds[1:] > seeds[:-1]).all():
            seeds, indices = np.unique(seeds, return_inverse=True)
        begin = perf_counter()
        levels = self._generate(seeds)
        seconds = perf_counter() - begin
        self.sizer.add(len(seeds), seconds)
        self.num_chunks += 1
        share = 1.0 / min(self.num_chunks, _CHUNKS_TO_MEASURE)
        self.seconds += share * (seconds / len(seeds) - self.seconds)
        return levels, indices

    def is_cheap(self, num_envs: int) -> bool:
        """Return whether drawing levels ahead costs more time than it saves."""
        rows = max(1, num_envs // _CHUNKS_PER_ROUND)
        return self.num_chunks >= _CHUNKS_TO_MEASURE and (
            self.seconds < _CHEAP_LEVEL or self.seconds * rows < _CHEAP_CHUNK
        )


# The rows of a chunk, their levels, and the level of each row; None after an error.
_Chunk = tuple[int, int, Levels | None, Any]


class _Job:
    """Levels that the caller needs now, in chunks that all threads draw.

    Attributes
    ----------
    chunks : deque of (start, stop)
        Not yet begun; `deque.popleft` gives each to one thread.
    results : SimpleQueue of (start, stop, levels, indices)
        Of background threads; ``levels`` is None where an error was raised.
    """

    def __init__(self, source: LevelSource, seeds: Seeds, num_threads: int) -> None:
        self.source, self.seeds = source, seeds
        # Two chunks or more for each thread, so that all end at about the same time.
        size = min(source.sizer.rows, -(-len(seeds) // (2 * num_threads)))
        size = max(size, -(-source.sizer.rows // _SMALLEST_SHARE))
        starts = range(0, len(seeds), size)
        self.chunks = deque((i, min(i + size, len(seeds))) for i in starts)
        self.num_chunks = len(self.chunks)
        self.results: SimpleQueue[_Chunk] = SimpleQueue()

    def draw_chunk(self, errors: type[BaseException] = Exception) -> _Chunk | None:
        """Draw a chunk that nobody has begun; return None if there is none."""
        try:
            start, stop = self.chunks.popleft()
        except IndexError:
            return None
        try:
            return start, stop, *self.source.draw(self.seeds[start:stop])
        except errors:
            # The caller draws all of them again, which raises it.
            return start, stop, None, None


class _Background:
    """The slots and the queue of orders of one engine, which its threads share.

    It refers to no engine: an engine that nobody uses is collected, and its threads
    end.
    """

    def __init__(self, num_envs: int, num_threads: int) -> None:
        self.process_id = os.getpid()
        self.num_envs, self.num_threads = num_envs, num_threads
        self.orders = np.zeros(num_envs, np.uint64)
        self.claims = np.zeros(num_envs, np.uint64)
        self.ready = np.zeros(num_envs, np.uint64)
        self.sources: dict[int, LevelSource] = {}
        self.job: _Job | None = None
        self.is_held = False
        # Whether the last levels that were needed were not all there.
        self.is_behind = False
        self.is_stopped = False
        # Put into by a caller, which then knows of each chunk that was drawn ahead.
        self.waiter: SimpleQueue[None] | None = None
        # Rows that were ordered, or None to wake a thread.
        self.inbox: SimpleQueue[Rows | None] = SimpleQueue()
        self.threads: list[threading.Thread] = []
        self._lock = threading.Lock()
        self._columns: dict[Any, NDArray[Any]] = {}
        # Ordered rows from `_head` to `_tail`; those whose position is another one
        # were ordered again.
        self._queue = np.zeros(2 * num_envs, np.int64)
        self._positions = np.full(num_envs, -1, np.int64)
        self._head = self._tail = 0
        # The identifiers of threads that wait for work.
        self.idle: set[int] = set()

    # ---------------------------------------------------------------- threads

    def start(self) -> None:
        """Start the threads."""
        for _ in range(0 if _is_exiting else self.num_threads):
            thread = start_thread("roll_vec levels", self._run)
            if thread is None:
                break
            self.threads.append(thread)
        self.is_stopped = not self.threads

    def stop(self) -> None:
        """Tell all threads to end; each first ends the chunk that it draws."""
        self.is_stopped = True
        self.wake(self.num_threads)

    def join(self) -> None:
        """Wait until all threads have ended."""
        for thread in self.threads:
            if thread is not threading.current_thread():
                thread.join()

    def wake(self, count: int) -> None:
        """Wake so many idle threads."""
        for _ in range(count):
            self.inbox.put(None)

    def _run(self) -> None:
        number = threading.get_ident()
        # Kernels that run as Python functions warn about integers that wrap around.
        with np.errstate(over="ignore"):
            while not self.is_stopped:
                self.idle.add(number)
                rows = self.inbox.get()
                self.idle.discard(number)
                if rows is not None:
                    with self._lock:
                        self._append(rows)
                while not self.is_stopped and self._work():
                    pass
        # A thread that works may have taken what `stop` put there for others.
        self.wake(1)

    def _work(self) -> bool:
        """Draw a chunk; return False if there is none."""
        row_threads.background_threads.add(threading.get_ident())
        try:
            job = self.job
            chunk = None if job is None else job.draw_chunk(BaseException)
            if job is None or chunk is None:
                return self._draw_ahead()
            job.results.put(chunk)
            return True
        finally:
            row_threads.background_threads.discard(threading.get_ident())

    # ---------------------------------------------------------------- orders

    def _append(self, rows: Rows) -> None:
        """Put ordered rows at the end of the queue, within the lock."""
        if self._tail + len(rows) > len(self._queue):
            rows_left = self._queue[self._head : self._tail]
            mask = self._positions[rows_left] == np.arange(self._head, self._tail)
            rows_left = rows_left[mask]
            self._head, self._tail = 0, len(rows_left)
            self._queue[: self._tail] = rows_left
            self._positions[rows_left] = np.arange(self._tail)
        stop = self._tail + len(rows)
        self._queue[self._tail : stop] = rows
        self._positions[rows] = np.arange(self._tail, stop)
        self._tail = stop

    def _claim(self) -> tuple[LevelSource, Rows, Seeds] | None:
        """Return the next chunk of the queue, and mark its rows as claimed."""
        with self._lock:
            while True:
                try:
                    rows = self.inbox.get_nowait()
                except Empty:
                    break
                if rows is not None:
                    self._append(rows)
            while not self.is_held and self._head < self._tail:
                rows = self._queue[self._head : self._tail]
                # The oldest order first, as it is probably needed first.  Where levels
                # come too late, the caller draws the oldest ones: take the newest, or
                # it would wait for them.
                is_behind = self.is_behind
                last = rows[-1 if is_behind else 0]
                source = self.sources.get(int(self.orders[last]) >> _SEED_BITS)
                size = min(1 if source is None else source.sizer.rows, len(rows))
                start = self._tail - size if is_behind else self._head
                if is_behind:
                    self._tail = start
                else:
                    self._head += size
                if source is None:
                    continue
                rows = self._queue[start : start + size].copy()
                keys = self.orders[rows]
                mask = self._positions[rows] == np.arange(start, start + size)
                mask &= (self.ready[rows] != keys) & (self.claims[rows] == _NONE)
                if len(self.sources) > 1:
                    others = mask & ((keys ^ source.tag) > _SEED_MASK)
                    if others.any():
                        self._append(rows[others])
                        mask &= ~others
                rows, keys = rows[mask], keys[mask]
                if len(rows) and source.is_open:
                    self.claims[rows] = keys
                    if self.idle and self._head < self._tail:
                        self.wake(1)
                    return source, rows, keys
        return None

    def _draw_ahead(self) -> bool:
        """Draw a chunk of the queue into its slots; return False if there is none."""
        claim = self._claim()
        if claim is None:
            return False
        source, rows, keys = claim
        result = None
        try:
            result = source.draw(keys & _SEED_MASK)
        except BaseException:
            # A configuration that hardly has levels would keep a core busy for ever.
            source.is_open = False
        finally:
            self._publish(source, rows, keys, result)
        return True

    def _publish(
        self, source: LevelSource, rows: Rows, keys: Seeds, result: Any
    ) -> None:
        """Write the levels of a claim into their slots, and give the claim back."""
        with self._lock:
            try:
                if result is not None:
                    self._fill(source, rows, keys, *result)
            except MemoryError:
                source.is_open = False
            finally:
                mine = rows[self.claims[rows] == keys]
                self.claims[mine] = _NONE
        waiter = self.waiter
        if waiter is not None:
            waiter.put(None)

    def _fill(
        self,
        source: LevelSource,
        rows: Rows,
        keys: Seeds,
        levels: Levels,
        indices: NDArray[np.int64] | slice,
    ) -> None:
        """Write levels into the slots where they are still wanted."""
        if not source.slots:
            slots = []
            for number, array in enumerate(levels):
                name = (number, array.dtype.str, array.shape[1:])
                if name not in self._columns:
                    shape = (self.num_envs, *array.shape[1:])
                    self._columns[name] = np.zeros(shape, array.dtype)
                slots.append(self._columns[name])
            source.slots = tuple(slots)
        mask = self.orders[rows] == keys
        if not mask.all():
            if isinstance(indices, slice):
                indices = np.arange(len(rows))
            rows, keys, indices = rows[mask], keys[mask], indices[mask]
        for slot, array in zip(source.slots, levels, strict=True):
            slot[rows] = array[indices]
        self.ready[rows] = keys


class Prefetcher:
    """Draws levels ahead of time for the environments of one engine.

    The engine's thread alone calls its methods.

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
        self._background: _Background | None = None
        self._sources: list[tuple[Any, LevelSource]] = []
        self._num_sources = 0
        # Rows that no thread knows of yet: it is not worth to wake one for a few.
        self._pending: list[Rows] = []
        self._num_pending = 0

    def __getstate__(self) -> dict[str, Any]:
        # Levels can be drawn again: they are no state.
        names = ("num_envs", "num_threads", "is_forced")
        return {name: getattr(self, name) for name in names}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__init__(**state)  # type: ignore[misc]

    def source_of(
        self, owner: Any, make_generate: Callable[[], Callable[[Seeds], Levels]]
    ) -> LevelSource:
        """Return the source of an object; a new one if it has none.

        Parameters
        ----------
        owner : object
        make_generate : callable
            Returns ``generate`` of a new `LevelSource`.
        """
        for other, source in self._sources:
            if other is owner:
                return source
        self._num_sources += 1
        source = LevelSource(make_generate(), self._num_sources)
        self._sources.append((owner, source))
        return source

    @property
    def is_running(self) -> bool:
        """Whether levels were ordered already."""
        return self._background is not None

    @property
    def num_sources(self) -> int:
        """Number of sources that are in use."""
        return len(self._sources)

    def forget_others(self, owners: Sequence[Any]) -> None:
        """Draw nothing more from the sources of other objects."""
        sources, background = [], self._background
        for owner, source in self._sources:
            if any(owner is each for each in owners):
                sources.append((owner, source))
                continue
            source.is_open = False
            if background is not None:
                background.sources.pop(int(source.tag) >> _SEED_BITS, None)
        self._sources = sources

    def pop_ready(self, source: LevelSource) -> tuple[Seeds, Levels]:
        """Empty all slots of a source; return the seeds and their levels."""
        background = self._get_background()
        if background is None or not source.slots:
            return np.zeros(0, np.uint64), ()
        # A slot whose order is another one may be written meanwhile.
        keys = background.orders
        is_ready = (background.ready == keys) & ((keys ^ source.tag) <= _SEED_MASK)
        rows = np.flatnonzero(is_ready)
        levels = tuple(slot[rows] for slot in source.slots)
        background.ready[rows] = _NONE
        return keys[rows] & _SEED_MASK, levels

    def _get_background(self) -> _Background | None:
        """Return the slots and threads of this process, if threads can run."""
        background = self._background
        if background is None or background.process_id != os.getpid():
            # No thread of the parent exists in a forked child.
            most = -(-self.num_envs // _ROWS_PER_THREAD)
            count = min(max(1, self.num_threads - 1), most)
            background = self._background = _Background(self.num_envs, count)
            self._pending, self._num_pending = [], 0
            finalizer = weakref.finalize(self, background.stop)
            # `_stop_all` also waits for the threads.
            finalizer.atexit = False
            _running.add(background)
            background.start()
        return None if background.is_stopped else background

    # ---------------------------------------------------------------- orders

    def order(self, source: LevelSource, rows: Rows, seeds: Seeds) -> None:
        """Have levels drawn for the next episodes of some environments.

        Parameters
        ----------
        source : LevelSource
        rows : (m,) int64
            Environments, each at most once; not written to later.
        seeds : (m,) uint64
            Of their next levels, below 2**32.
        """
        background = self._get_background()
        if source.is_open and not self.is_forced and source.is_cheap(self.num_envs):
            source.is_open = False
        if not source.is_open:
            return
        if background is None:
            return
        keys = seeds + source.tag
        changed = background.orders[rows] != keys
        if not changed.all():
            rows, keys = rows[changed], keys[changed]
        if not len(rows):
            return
        background.sources[int(source.tag) >> _SEED_BITS] = source
        # In this order, see the note at the top.
        background.ready[rows] = _NONE
        background.orders[rows] = keys
        background.claims[rows] = _NONE
        self._pending.append(rows)
        self._num_pending += len(rows)
        # A thread that is woken for each environment draws its level three times as
        # slowly, and each time the caller loses some 5 us.
        enough = min(source.sizer.rows // 4, self.num_envs // _CHUNKS_PER_ROUND)
        if self._num_pending >= enough:
            pending, self._pending, self._num_pending = self._pending, [], 0
            for rows in pending:
                background.inbox.put(rows)

    # ---------------------------------------------------------------- levels

    def get(
        self,
        source: LevelSource,
        rows: Rows,
        seeds: Seeds,
        generate: Callable[[Seeds], tuple[Levels, NDArray[np.int64]]],
    ) -> tuple[Levels, NDArray[np.int64]]:
        """Return the levels of some seeds, drawn ahead or now.

        Parameters
        ----------
        source : LevelSource
        rows : (m,) int64
            Environments that begin these levels.
        seeds : (m,) uint64
        generate : callable
            Draws levels without this class, and raises the errors of those that cannot
            be drawn.

        Returns
        -------
        levels : tuple of arrays
            Not to be written, and valid until the next `order` of these environments.
        level_indices : (m,) int64
            The row of each level in these arrays.
        """
        background = self._get_background()
        if (
            background is None
            or background.is_held
            or not source.slots
            or not source.is_open
        ):
            return generate(seeds)
        keys = seeds + source.tag
        is_ready = background.ready[rows] == keys
        background.is_behind = int(np.count_nonzero(is_ready)) < len(rows)
        if not background.is_behind:
            return source.slots, rows
        missing = np.flatnonzero(~is_ready)
        out: Levels | None = None
        while len(missing):
            missing_rows, missing_keys = rows[missing], keys[missing]
            # `claims` first: a claim ends after its level is ready.
            in_flight = background.claims[missing_rows] == missing_keys
            is_open = background.ready[missing_rows] != missing_keys
            missing, in_flight = missing[is_open], in_flight[is_open]
            own = missing[~in_flight]
            if len(own):
                # Background threads do not begin them any more.
                background.claims[rows[own]] = TAKEN
                levels = self._draw(background, source, seeds[own])
                if levels is None:
                    return generate(seeds)
                if out is None:
                    out = tuple(
                        np.empty((len(rows), *array.shape[1:]), array.dtype)
                        for array in levels
                    )
                for array, values in zip(out, levels, strict=True):
                    array[own] = values
                missing = missing[in_flight]
            elif len(missing):
                self._wait(background, rows[missing], keys[missing])
        if out is None:
            return source.slots, rows
        others = np.flatnonzero(background.ready[rows] == keys)
        for array, slot in zip(out, source.slots, strict=True):
            array[others] = slot[rows[others]]
        return out, np.arange(len(rows))

    def _wait(self, background: _Background, rows: Rows, keys: Seeds) -> None:
        """Wait until a background thread has drawn a chunk."""
        waiter: SimpleQueue[None] = SimpleQueue()
        background.waiter = waiter
        try:
            if (background.claims[rows] == keys).all():
                waiter.get(timeout=_WAIT_SECONDS)
        except Empty:
            pass
        finally:
            background.waiter = None

    def _draw(
        self, background: _Background, source: LevelSource, seeds: Seeds
    ) -> Levels | None:
        """Draw levels now, on all threads; return None if one raised an error."""
        job = _Job(source, seeds, background.num_threads + 1)
        background.job = job
        if job.num_chunks > 1:
            background.wake(min(job.num_chunks - 1, len(background.idle)))
        out: Levels | None = None
        count, due = 0, perf_counter() + _WAIT_SECONDS
        try:
            while count < len(seeds):
                result = job.draw_chunk()
                if result is None:
                    try:
                        result = job.results.get(timeout=_WAIT_SECONDS)
                    except Empty:
                        continue
                start, stop, levels, indices = result
                if levels is None:
                    return None
                if out is None:
                    out = tuple(
                        np.empty((len(seeds), *array.shape[1:]), array.dtype)
                        for array in levels
                    )
                for array, values in zip(out, levels, strict=True):
                    array[start:stop] = values[indices]
                count += stop - start
                if perf_counter() > due:
                    due += _WAIT_SECONDS
                    report(source.sizer.unit, count, len(seeds))
        finally:
            background.job = None
            job.chunks.clear()
        return out

    # ---------------------------------------------------------------- lifetime

    def hold(self) -> None:
        """Have nothing drawn ahead until `release`."""
        if self._background is not None:
            self._background.is_held = True

    def release(self) -> None:
        """End `hold`."""
        background = self._background
        if background is not None and background.is_held:
            background.is_held = False
            background.wake(len(background.idle))

    def close(self) -> None:
        """Stop the threads, and wait for the chunks that they draw."""
        background = self._background
        if background is not None and background.process_id == os.getpid():
            background.stop()
            background.join()


_running: weakref.WeakSet[_Background] = weakref.WeakSet()
_is_exiting = False


def _stop_all() -> None:
    """Stop all threads: compiled code must not run while the interpreter exits."""
    global _is_exiting
    _is_exiting = True
    backgrounds = [each for each in _running if each.process_id == os.getpid()]
    for background in backgrounds:
        background.stop()
    for background in backgrounds:
        background.join()


atexit.register(_stop_all)
