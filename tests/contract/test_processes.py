"""Fork and spawn: batches in child processes, and Gymnasium's workers over ours."""

import functools
import multiprocessing
import threading
import time

import gymnasium
import numpy as np
import pytest
from numba.core.compiler_lock import global_compiler_lock

from tests.conftest import JIT_OFF
from tests.contract import cases
from tests.splits import count_runs, split_all

SECONDS = 120  # only a hang takes so long

pytestmark = [
    pytest.mark.skipif(JIT_OFF, reason="children do not silence integers that wrap"),
    # Python 3.12 and newer warn about a fork beside threads; that it is safe with
    # ours is what is tested.
    pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning"),
]

METHODS = [
    method
    for method in ("fork", "spawn")
    if method in multiprocessing.get_all_start_methods()
]
NEEDS_FORK = pytest.mark.skipif("fork" not in METHODS, reason="there is no fork")
POOLED = (
    "roll_vec/Countdown-v0",
    "roll_vec/Countdown-v0 in threads",
    "tests_vector/Guess-v0 in processes",
)


def answer(work, pipe):
    """In the child: send what the work gives, or its error."""
    with pipe:
        try:
            pipe.send(work())
        except BaseException as error:
            pipe.send(error)
            raise


def run_in_child(method, work):
    """Return what the work gives in a child process; a hang is a failure."""
    context = multiprocessing.get_context(method)
    ours, theirs = context.Pipe(duplex=False)
    process = context.Process(target=answer, args=(work, theirs))
    process.start()
    theirs.close()
    try:
        with ours:
            assert ours.poll(SECONDS), f"a {method}ed process gives no answer"
            result = ours.recv()
        process.join(SECONDS)
        assert process.exitcode == 0
    finally:
        if process.is_alive():
            process.kill()
            process.join()
        process.close()
    assert not isinstance(result, BaseException), result
    return result


@pytest.mark.parametrize(
    ("case", "more"),
    [
        ("roll_vec/FrozenLake-v1", {"num_threads": 2}),
        ("roll_vec/Sokoban-v0", {"num_threads": 2, "num_levels": 50}),
    ],
)
def test_child_goes_on_where_the_parent_used_threads(case, more, monkeypatch):
    split_all(monkeypatch, 2)
    env = cases.make_batch(case, 1000, **more)
    env.reset(seed=0)
    actions = cases.draw_actions(env, 4)
    runs = count_runs(monkeypatch)
    cases.play(env, actions[:2])
    assert runs
    work = functools.partial(cases.play, env, actions[2:])
    results = run_in_child(METHODS[0], work)
    # The parent's own is untouched, and its threads still work.
    cases.assert_same(cases.play(env, actions[2:]), results)


def take_compiler_lock():
    """Return whether this process can compile; a hang would take two minutes."""
    return global_compiler_lock._lock.acquire(timeout=2)


@NEEDS_FORK
def test_child_can_compile_where_a_thread_of_the_parent_was_compiling():
    has_begun = threading.Event()

    def compile_slowly():
        with global_compiler_lock:
            has_begun.set()
            time.sleep(0.2)

    thread = threading.Thread(target=compile_slowly)
    thread.start()
    has_begun.wait()
    assert run_in_child("fork", take_compiler_lock)
    thread.join()
    assert take_compiler_lock()
    global_compiler_lock._lock.release()


def first_observations(first, size):
    """Return the first observations of a part of a batch."""
    env = cases.make_batch("roll_vec/Sokoban-v0", size)
    return env.reset(seed=20 + first)[0]


def test_a_process_that_never_imported_the_package():
    # As RLlib's workers and those of other frameworks.
    id = "roll_vec:roll_vec/Sokoban-v0"
    context = multiprocessing.get_context("spawn")
    with context.Pool(1) as pool:
        known = "'roll_vec' in __import__('sys').modules"
        assert not pool.apply(eval, (known,))
        single = pool.apply_async(gymnasium.make, (id,)).get(SECONDS)
        batch = pool.apply_async(gymnasium.make_vec, (id, 2)).get(SECONDS)
        # As data loaders do: parts of a batch that is whole elsewhere.
        parts = pool.starmap_async(first_observations, [(0, 3), (3, 5)]).get(SECONDS)
        # And a batch of objects goes on there.
        env = cases.make_batch(POOLED[0], 4)
        env.reset(seed=0)
        actions = cases.draw_actions(env, 24)
        cases.play(env, actions[:4])
        results = pool.apply_async(cases.play, (env, actions[4:])).get(SECONDS)
    cases.assert_same(cases.play(env, actions[4:]), results)
    expected = gymnasium.make("roll_vec/Sokoban-v0").reset(seed=3)[0]
    cases.assert_same(single.reset(seed=3)[0], expected)
    cases.assert_same(batch.reset(seed=2)[0][1], expected)
    cases.assert_same(np.concatenate(parts), first_observations(0, 8))
