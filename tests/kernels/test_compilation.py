"""Compilation of kernels: when, how often, with which notice; signals that wait."""

import io
import json
import os
import signal
import subprocess
import sys
from types import SimpleNamespace

import numba
import pytest
from numba.core import event
from numba.core.codegen import JITCodeLibrary

from roll_vec.kernels import _cache, _jit, _notice
from roll_vec.kernels.signals import CriticalSection, signal_delay
from tests.conftest import JIT_OFF, ROOT

needs_jit = pytest.mark.skipif(JIT_OFF, reason="nothing is compiled with the JIT off")
independent_of_bounds = pytest.mark.skipif(
    os.environ.get("NUMBA_BOUNDSCHECK") == "1",
    reason="what is compiled, and when, does not depend on the checks of indices",
)
FIRST_USE = "roll_vec: compiling kernels for their first use on this machine: "

# ------------------------------------------------------------------------ the notice


def compile_kernels(*modules):
    """Send the events of numba for kernels of some modules to a notice."""
    notice = _notice.CompileNotice()
    for module in modules:
        names = {"__module__": module, "__qualname__": "make.<locals>.move.0a1b"}
        dispatcher = SimpleNamespace(py_func=SimpleNamespace(**names))
        event = SimpleNamespace(data={"dispatcher": dispatcher})
        notice.on_start(event)
        notice.on_end(event)


SEEDS = "roll_vec.kernels.rng.pcg64"
ROOMS = "roll_vec.kernels.sokoban.rooms"
MAPS = "roll_vec.kernels.frozen_lake.random_maps"


def test_a_line_for_the_first_game_of_a_process(capsys):
    # Kernels of others, and of all games: silence.
    compile_kernels("numpy.linalg", "__main__", SEEDS)
    assert capsys.readouterr().err == ""
    compile_kernels(SEEDS, "numba.np.arrayobj", ROOMS, MAPS, ROOMS)
    assert capsys.readouterr().err == FIRST_USE + "Sokoban, ...\n"


def test_a_terminal_shows_each_function_and_is_clean_at_the_end(monkeypatch):
    screen = io.StringIO()
    screen.isatty = lambda: True
    monkeypatch.setattr("sys.stderr", screen)
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "100")
    compile_kernels(ROOMS, "numba.np.arrayobj", MAPS)
    clear, use = "\r\x1b[K", "for its first use"
    lines = [
        f"compiling Sokoban {use}: 1 of about 1, move",
        f"compiling FrozenLake {use}: 2 of about 2, move",
    ]
    shown = [each for line in lines for each in (f"roll_vec: {line}", "")]
    shown.insert(2, "")
    assert screen.getvalue().split(clear) == ["", *shown]


@needs_jit
def test_the_functions_of_a_kernel_are_counted_before_it_is_compiled():
    from roll_vec.kernels.sokoban.rooms import generate_rooms

    assert 20 < len(_notice._functions_below(generate_rooms.py_func)) < 40


class Broken:
    """An object of a user, such as a module that cannot be imported."""

    def __getattr__(self, name):
        raise ImportError(name)


BROKEN = Broken()


def use():
    """Name an object that raises."""
    return BROKEN


@pytest.mark.parametrize("stream", [None, "closed", "full"])
def test_a_notice_is_no_reason_to_fail(monkeypatch, stream):
    class Full(io.StringIO):
        def write(self, text):
            raise OSError(28, "No space left on device")

    replacement = None if stream is None else Full()
    if stream == "closed":
        replacement.close()
    monkeypatch.setattr("sys.stderr", replacement)
    compile_kernels(ROOMS)
    data = {"dispatcher": SimpleNamespace(py_func=use)}
    _notice.CompileNotice().on_start(SimpleNamespace(data=data))


# ------------------------------------------------------ in processes of their own


def run(code, **variables):
    """Run code in a new interpreter; return what it wrote to stdout and stderr."""
    imports = {"PYTHONPATH": str(ROOT), "PYTHONDONTWRITEBYTECODE": "1"}
    environment = {**os.environ, **imports, **variables}
    process = subprocess.run(
        [sys.executable, "-W", "error", "-c", code],
        env={key: value for key, value in environment.items() if value is not None},
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert process.returncode == 0, process.stderr
    return process.stdout, process.stderr


IMPORTS = """
import sys
import gymnasium, roll_vec
print([m for m in sys.modules if m.split(".")[0] in ("numba", "llvmlite")])
print([m for m in sys.modules if m.startswith("roll_vec.kernels")])
print("roll_vec/Sokoban-v0" in gymnasium.registry)
import importlib, pkgutil
import roll_vec.vector.env, roll_vec.envs.countdown
import roll_vec.kernels as layer
names = [m.name for m in pkgutil.walk_packages(layer.__path__, "roll_vec.kernels.")]
modules = [importlib.import_module(name) for name in names]
kernels = [k for m in modules for k in vars(m).values() if hasattr(k, "py_func")]
kernels += [k.callee for k in kernels]
print(len(kernels) > 60, sum(len(k.overloads) for k in kernels))
"""


@needs_jit
@independent_of_bounds
def test_imports_of_the_package_need_no_numba_and_those_of_kernels_compile_nothing(
    tmp_path,
):
    out, err = run(IMPORTS, NUMBA_CACHE_DIR=str(tmp_path))
    assert out.split("\n") == ["[]", "[]", "True", "True 0", ""]
    assert err == ""
    assert not list(tmp_path.iterdir())


EPISODES = """
import gc, inspect, json
import gymnasium, numpy as np
import roll_vec
from roll_vec.arrays.grid_observations import ARRAY_MODES
from roll_vec.kernels.rng.pcg64 import fold_in_rows
from roll_vec.kernels.countdown.targets import draw_task
from roll_vec.kernels.countdown.expressions import grade_answer

def play(env, seeds):
    env.reset(seed=seeds)
    for _ in range(9):
        env.step(env.action_space.sample())
    env.render()
    env.unwrapped.solve()

def play_with_any_array(env):
    actions = env.action_space.sample()
    frozen = actions.copy()
    frozen.flags.writeable = False
    for array in (
        frozen, actions.tolist(), actions.astype(np.int8), actions.astype(">i8"),
        actions.astype(np.uint64), np.repeat(actions, 2)[::2], np.flip(actions),
    ):
        env.step(array)

sizes = {
    "roll_vec/Sokoban-v0": [
        {"max_steps": 4},
        {"levels": ["#####\\n#@$.#\\n#####"] * 3},
        {
            "dim_room": (7, 5), "num_boxes": 1, "num_levels": 5, "action_start": 0,
            "action_mask": True, "deadlock": True,
        },
    ],
    "roll_vec/FrozenLake-v1": [
        {"action_mask": True},
        {},
        {"desc": ["SFF", "FFG"], "is_slippery": False},
    ],
    "roll_vec/FrozenLake8x8-v1": [{"reward_schedule": (1, -1.0, 0)}],
    "roll_vec/RandomFrozenLake-v0": [
        {"max_steps": 4, "is_slippery": False},
        {"size": 5, "num_levels": 3, "action_start": np.int64(0)},
        {"action_mask": True},
    ],
}
for id in sizes:
    for i, config in enumerate(sizes.get(id, [{}])):
        for obs_mode in (*ARRAY_MODES, "text"):
            single = {**config, "obs_mode": obs_mode, "render_mode": "rgb_array"}
            play(gymnasium.make(id, max_episode_steps=9, **single), 1)
        for mode, copy in (("NextStep", True), ("SameStep", False)):
            env = gymnasium.make_vec(
                id, num_envs=5, max_episode_steps=3, autoreset_mode=mode,
                copy=copy, render_mode="text", num_threads=1 + i, **config,
            )
            play(env, [3, 1, 2**40, 2**70, 2])
            env.reset(options={"reset_mask": np.arange(5) == 1})
            play(env, np.arange(5, dtype=np.uint32))
            play_with_any_array(env)
            plan = np.stack([env.action_space.sample() for _ in range(7)])
            env.unroll(plan.tolist(), out=env.unroll(plan))

for num_numbers in (1, (2, 5)):
    env = gymnasium.make_vec("roll_vec/Countdown-v0", 3, num_numbers=num_numbers)
    env.reset(seed=[2**32 - 1, 2**70, 0])
    for answers in (["1 + 1"] * 3, ("", "((1", "é"), env.call("oracle_action")):
        env.step(answers)

num_signatures = {"fold_in_rows": len(fold_in_rows.signatures)}
num_signatures |= {k.__name__: len(k.signatures) for k in (grade_answer, draw_task)}
for kernel in gc.get_objects():
    if isinstance(kernel, type(fold_in_rows)) and ".rng" not in kernel.__module__:
        first = next(iter(inspect.signature(kernel.py_func).parameters), "")
        if first in ("start", "rows") and not kernel.__name__.startswith("_"):
            # Some have a game each, or types of fixed arguments.
            name = kernel.__module__ + "." + kernel.__name__
            counts = len(kernel.signatures), num_signatures.get(name, 0)
            if any(counts):
                num_signatures[name] = max(counts)
print(json.dumps(num_signatures))
"""


@needs_jit
@independent_of_bounds
def test_every_batch_kernel_is_compiled_for_one_signature():
    out, _ = run(EPISODES)
    signatures = json.loads(out)
    assert {name.rpartition(".")[2] for name in signatures} >= {
        "fold_in_rows",
        "grade_answer",
        "draw_task",
        "step",
        "begin_levels",
        "unroll_rows",
        "write_planes",
    }
    assert signatures == dict.fromkeys(signatures, 1)


FOLD_IN = """
import numpy as np
from roll_vec.kernels.rng import pcg64
for counter in range(3):
    pcg64.fold_in(np.uint64(1), np.uint64(counter))
seeds = np.zeros(3, np.uint64)
pcg64.fold_in_rows(seeds, seeds, np.zeros(3, np.uint64))
print(int(pcg64.fold_in(np.uint64(1), np.uint64(1))))
"""
FOLD_OF_ONE = f"{0x5E41AB08}\n"
PLANES = """
import numpy as np
from roll_vec.kernels.grids import write_planes
write_planes(0, 1, np.zeros((1, 3, 3), np.uint8), np.zeros((1, 2, 3, 3), np.uint8))
"""


@needs_jit
@independent_of_bounds
def test_without_a_place_for_the_cache_kernels_work_after_one_warning(tmp_path):
    """And after the notice that kernels are compiled."""
    # A file where a directory should be cannot be written into, not even by root.
    blocker = tmp_path / "file"
    blocker.write_text("")
    everywhere = "HOME", "XDG_CACHE_HOME", "LOCALAPPDATA", "USERPROFILE"
    out, err = run(
        "import warnings\nwarnings.simplefilter('always')\n" + FOLD_IN + PLANES,
        NUMBA_CACHE_DIR=None,
        **{name: str(blocker / name) for name in everywhere},
    )
    assert out == FOLD_OF_ONE
    assert err.endswith(FIRST_USE + "Grids, ...\n")
    assert err.count("RuntimeWarning") == 1
    assert err.count("no folder for compiled kernels") == 1
    assert str(blocker) in err
    assert err.count("NUMBA_CACHE_DIR") == 1
    assert list(tmp_path.iterdir()) == [blocker]


# -------------------------------------------------------------------------- signals

OTHER = signal.SIGTERM  # the one signal besides Ctrl-C that all systems have


class Interruption(event.Listener):
    """Ctrl-C when the compilation of a kernel begins, and again when it ends."""

    def on_start(self, event):
        signal.raise_signal(signal.SIGINT)

    on_end = on_start


@needs_jit
def test_ctrl_c_waits_until_a_kernel_is_compiled(monkeypatch, tmp_path):
    monkeypatch.setattr(_jit, "FOLDER", _cache.CacheFolder(tmp_path))
    handler = signal.getsignal(signal.SIGINT)

    @_jit.kernel
    def double(number):
        return 2 * number

    with event.install_listener("numba:compile", Interruption()):
        with pytest.raises(KeyboardInterrupt):
            double(4)
        assert len(double.signatures) == 1
        assert double(4) == 8
    assert signal.getsignal(signal.SIGINT) is handler


def test_each_signal_of_a_section_is_handled_once_at_its_end():
    numbers = []

    def handle(number, frame):
        numbers.append(number)
        raise KeyboardInterrupt

    def run():
        with section:
            for number in (OTHER, signal.SIGINT, OTHER):
                signal.raise_signal(number)
            assert numbers == []

    handlers = {n: signal.signal(n, handle) for n in (signal.SIGINT, OTHER)}
    section = CriticalSection()
    try:
        section.open()
        with pytest.raises(KeyboardInterrupt):
            run()
        assert numbers == [OTHER, signal.SIGINT]
        with section:
            pass
        with pytest.raises(KeyboardInterrupt):
            signal.raise_signal(OTHER)
        section.close()
        assert signal.getsignal(OTHER) is handle
    finally:
        for number, handler in handlers.items():
            signal.signal(number, handler)
    assert numbers == [OTHER, signal.SIGINT, OTHER]


def test_an_interrupt_while_handlers_are_replaced_leaves_none_behind(monkeypatch):
    def handle(number, frame):
        pass

    set_handler = signal.signal
    before = {n: set_handler(n, handle) for n in (signal.SIGINT, OTHER)}
    places = 0

    def interrupt(number, handler):
        nonlocal places
        result = set_handler(number, handler)
        places -= 1
        if places == 0:
            raise KeyboardInterrupt
        return result

    def run():
        with signal_delay():
            pass

    try:
        for place in range(1, 5):
            places = place
            with monkeypatch.context() as patch:
                patch.setattr(signal, "signal", interrupt)
                with pytest.raises(KeyboardInterrupt):
                    run()
            assert signal.getsignal(signal.SIGINT) is handle, place
            assert signal.getsignal(OTHER) is handle, place
    finally:
        for number, handler in before.items():
            set_handler(number, handler)


# --------------------------------------------------------------------- the compiler

UNKNOWN = """
import numba
numba.version_info = (99, 0, 0)
import numpy as np
from numba.core.compiler import Compiler
from roll_vec.kernels import _jit
@_jit.kernel
def add(values): return values[0] + one(values)
@_jit.kernel
def one(values): return values[1]
print(_jit.CalleeCompiler is Compiler, add(np.array([2, 3])))
"""


@needs_jit
def test_numbas_compiler_does_all_where_its_version_was_not_tried(tmp_path):
    out, err = run(UNKNOWN, NUMBA_CACHE_DIR=str(tmp_path))
    assert (out, err) == ("True 5\n", "")


@needs_jit
def test_functions_that_only_kernels_call_have_no_machine_code():
    @_jit.kernel
    def half(x):
        return x // 2

    @_jit.kernel
    def quarter(x):
        return half(half(x))

    @numba.njit
    def of_others(x):
        return x + half(x)

    assert (quarter(9), of_others(9)) == (2, 13)
    (callee,), (plain,) = half.callee.overloads.values(), of_others.overloads.values()
    assert not callee.library.is_emitted
    assert not half.overloads
    # The functions of others are compiled as ever.
    assert type(plain.library) is JITCodeLibrary
