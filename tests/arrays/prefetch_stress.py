"""Random ends of environments in mid-generation, for as long as the caller asks.

Run ``python -m tests.arrays.prefetch_stress SECONDS [SEED]``.  Each round runs a
process that draws levels ahead and then ends in a way of `ENDS`.  A hang, a crash, or a
thread, process or file that is left behind is an error.
"""

import contextlib
import gc
import os
import random
import signal
import subprocess
import sys
import tempfile
import threading
import time
import warnings
from pathlib import Path
from unittest import mock

import numpy as np

import roll_vec
from roll_vec.arrays import prefetch

# Only a hang takes so long.
SECONDS = 120
ENDS = ("close", "collect", "exit", "fork", "interrupt", "error", "unclosed")
IDS = {
    "roll_vec/Sokoban-v0": {"num_boxes": 3},
    "roll_vec/RandomFrozenLake-v0": {"size": 8},
}


def play(env, random_state, steps):
    """Take steps; reset some environments, and all, from time to time."""
    actions = np.random.default_rng(random_state.randrange(1 << 30))
    for _ in range(steps):
        env.step(actions.integers(1, 5, env.num_envs))
        if random_state.random() < 0.02:
            env.reset(seed=random_state.randrange(1 << 30))
        if random_state.random() < 0.02:
            env.set_state(env.get_state())


def make(random_state):
    """Return a batch that draws levels ahead, and has been reset."""
    id = random_state.choice(list(IDS))
    env = roll_vec.make_vec(
        id,
        random_state.choice((1, 7, 64, 1024)),
        num_threads=random_state.choice((2, 3, 6)),
        max_episode_steps=random_state.choice((2, 9, 40)),
        num_levels=random_state.choice((0, 0, 300)),
        autoreset_mode=random_state.choice(("NextStep", "SameStep")),
        prefetch=True,
        action_start=1,
        **IDS[id],
    )
    env.reset(seed=random_state.randrange(1 << 30))
    return env


def play_interrupted(env, random_state):
    """Take steps and resets for half a second, with Ctrl-C at random times."""
    signal.signal(signal.SIGALRM, signal.default_int_handler)
    until = time.perf_counter() + 0.5
    while time.perf_counter() < until:
        # No timer runs now.  Where a step was interrupted, environments have ended.
        env.reset()
        with contextlib.suppress(KeyboardInterrupt):
            delay = 1e-5 + random_state.random() * 0.01
            signal.setitimer(signal.ITIMER_REAL, delay)
            while True:
                play(env, random_state, 50)


def fork_and_play(env, random_state):
    """Play on in three children, and beside them."""
    children = []
    for _ in range(3):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)
            child = os.fork()
        if not child:
            status = 1
            try:
                play(env, random_state, 20)
                if random_state.random() < 0.5:
                    env.close()
                status = 0
            finally:
                os._exit(status)
        children.append(child)
        play(env, random_state, 5)
    for child in children:
        assert os.waitpid(child, 0)[1] == 0


def end(kind, random_state):
    """Draw levels, and end in one way; the rest is the caller's to check."""
    env, twin = make(random_state), make(random_state)
    play(env, random_state, random_state.randrange(30))
    if kind == "fork" and hasattr(os, "fork"):
        fork_and_play(env, random_state)
    elif kind == "interrupt" and hasattr(signal, "setitimer"):
        play_interrupted(env, random_state)
        env.reset()
        play(env, random_state, 50)
    elif kind == "error":
        generator = "roll_vec.envs.sokoban.rooms.draw_rooms"
        patch = mock.patch(generator, side_effect=MemoryError)
        with patch, contextlib.suppress(MemoryError):
            play(env, random_state, 60)
    elif kind == "exit":
        sys.exit(0)
    if kind == "unclosed":
        return
    if kind != "collect":
        env.close()
        twin.close()
    del env, twin
    gc.collect()
    for thread in threading.enumerate():
        if thread.name == "roll_vec levels":
            thread.join(SECONDS)
            assert not thread.is_alive(), f"{kind}: a thread is left"


def main(seconds, seed):
    """Run rounds in processes of their own until the time is over."""
    until, number = time.monotonic() + seconds, 0
    folder = Path(tempfile.gettempdir())
    while time.monotonic() < until:
        kind = ENDS[number % len(ENDS)]
        files = set(folder.glob("roll_vec*"))
        command = [sys.executable, "-m", "tests.arrays.prefetch_stress", "--round"]
        process = subprocess.Popen([*command, kind, f"{seed}-{number}"])
        try:
            status = process.wait(SECONDS)
        except subprocess.TimeoutExpired:
            process.send_signal(signal.SIGABRT)
            process.wait()
            status = "hang"
        assert status == 0, f"round {kind} {seed}-{number}: {status}"
        left = set(folder.glob("roll_vec*")) - files
        assert not left, f"round {kind} {seed}-{number}: files {left}"
        number += 1
    sys.stdout.write(f"{number} rounds\n")
    return number


if __name__ == "__main__":
    if sys.argv[1] == "--round":
        import faulthandler

        faulthandler.enable()
        # More threads than this machine has cores.
        prefetch.count_cores = lambda: 6
        state = random.Random(sys.argv[3])
        for _ in range(4):
            end(sys.argv[2], state)
    else:
        main(float(sys.argv[1]), sys.argv[2] if len(sys.argv) > 2 else "0")
