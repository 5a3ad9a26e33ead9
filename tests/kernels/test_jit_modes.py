"""Compilation of kernels: not at import, once a kernel, with a notice or a warning.

Each test starts a process of its own, because the suite's has compiled already.
"""

import json
import os
import subprocess
import sys

import pytest

import roll_vec
from tests.conftest import JIT_OFF, ROOT

needs_jit = pytest.mark.skipif(JIT_OFF, reason="nothing is compiled with the JIT off")
pytestmark = pytest.mark.skipif(
    os.environ.get("NUMBA_BOUNDSCHECK") == "1",
    reason="what is compiled, and when, does not depend on the checks of indices",
)

SUM = "roll_vec: compiled "


def run(code, **variables):
    """Run code in a new interpreter; return what it wrote to stdout and stderr."""
    environment = {
        **os.environ,
        "PYTHONPATH": str(ROOT),
        "PYTHONDONTWRITEBYTECODE": "1",
    }
    environment.update(variables)
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
print(len(kernels) > 60, sum(len(k.signatures) for k in kernels))
"""


@needs_jit
def test_imports_of_the_package_need_no_numba_and_those_of_kernels_compile_nothing(
    tmp_path,
):
    out, err = run(IMPORTS, NUMBA_CACHE_DIR=str(tmp_path))
    assert out.split("\n") == ["[]", "[]", "True", "True 0", ""]
    assert err == ""
    assert not list(tmp_path.iterdir())


EPISODES = """
import inspect, json
import gymnasium, numpy as np
import roll_vec
import importlib, pkgutil
import roll_vec.kernels as layer
from roll_vec.registration import ENVIRONMENTS
from roll_vec.stacked.grid_observations import ARRAY_MODES
from roll_vec.kernels.rng.pcg64 import fold_in_rows
from roll_vec.kernels.countdown.targets import draw_task
from roll_vec.kernels.countdown.expressions import grade_answer

def play(env, seeds):
    env.reset(seed=seeds)
    env.action_space.seed(0)
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
        {"dim_room": (7, 5), "num_boxes": 1, "num_levels": 5, "action_start": 0},
        # The solver has another form for more than 64 inner cells.
        {
            "dim_room": (10, 11), "num_boxes": 1, "num_levels": 2, "action_mask": True,
            "deadlock": True, "oracle_return_info": True,
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
        {"success_probability": (0.1, 1), "action_mask": True},
    ],
}
array_ids = [id for id, entry in ENVIRONMENTS.items() if not entry.pooled]
for id in array_ids:
    configs = sizes.get(id, [{}])
    for i, config in enumerate(configs):
        for obs_mode in (*ARRAY_MODES, "text"):
            single = {**config, "obs_mode": obs_mode, "render_mode": "rgb_array"}
            play(gymnasium.make(id, max_episode_steps=9, **single), 1)
        for mode, copy in (("NextStep", True), ("SameStep", False)):
            env = gymnasium.make_vec(
                id, num_envs=5, max_episode_steps=3, autoreset_mode=mode,
                copy=copy, render_mode="text", num_threads=1 + i, **config,
            )
            play(env, [3, 1, 2**40, 2**70, 2])
            mask = np.array([False, True, False, False, True])
            env.reset(options={"reset_mask": mask})
            play(env, np.arange(5, dtype=np.uint32))
            play_with_any_array(env)
            plan = np.stack([env.action_space.sample() for _ in range(7)])
            env.unroll(plan.tolist(), out=env.unroll(plan))

for num_numbers in (1, 4, (2, 5)):
    env = gymnasium.make_vec("roll_vec/Countdown-v0", 3, num_numbers=num_numbers)
    env.reset(seed=[2**32 - 1, 2**70, 0])
    for answers in (["1 + 1"] * 3, ("", "((1", "é"), env.call("oracle_action")):
        env.step(answers)

num_signatures = {"fold_in_rows": len(fold_in_rows.signatures)}
num_signatures |= {k.__name__: len(k.signatures) for k in (grade_answer, draw_task)}
names = [m.name for m in pkgutil.walk_packages(layer.__path__, "roll_vec.kernels.")]
modules = [importlib.import_module(name) for name in names if ".rng" not in name]
for module in modules:
    for name, kernel in vars(module).items():
        if hasattr(kernel, "py_func") and kernel.py_func.__module__ == module.__name__:
            first = next(iter(inspect.signature(kernel.py_func).parameters), "")
            if first in ("start", "rows") and not name.startswith("_"):
                name = module.__name__ + "." + name
                num_signatures[name] = len(kernel.signatures)
print(json.dumps(num_signatures))
"""


@needs_jit
def test_every_batch_kernel_is_compiled_for_one_signature():
    out, _ = run(EPISODES)
    signatures = json.loads(out)
    # Large rooms have a workspace more.
    assert signatures.pop("roll_vec.kernels.sokoban.rooms.generate_rooms") == 2
    assert {name.rpartition(".")[2] for name in signatures} >= {
        "fold_in_rows",
        "grade_answer",
        "draw_task",
        "step_rows",
        "place_rows",
        "unroll_rows",
        "write_planes",
    }
    assert signatures == dict.fromkeys(signatures, 1)


FIRST_CALLS = """
import collections, json
import gymnasium
from numba.core import event
import roll_vec

class Recorder(event.Listener):
    def __init__(self):
        self.names = collections.Counter()

    def on_start(self, event):
        function = event.data["dispatcher"].py_func
        self.names[f"{function.__module__}.{function.__name__}"] += 1

    def on_end(self, event):
        pass

recorder = Recorder()
event.register("numba:compile", recorder)
env = gymnasium.make_vec("roll_vec/%s", num_envs=4, max_episode_steps=5)
env.reset(seed=0)
for _ in range(20):
    env.step(env.action_space.sample())
print(json.dumps(recorder.names))
"""


@pytest.mark.slow
@needs_jit
@pytest.mark.parametrize(
    ("env_id", "num_kernels"), [("RandomFrozenLake-v0", 35), ("Sokoban-v0", 30)]
)
def test_first_calls_compile_each_kernel_once(env_id, num_kernels, tmp_path):
    # The first call takes as long as the kernels that it compiles.
    out, _ = run(FIRST_CALLS % env_id, NUMBA_CACHE_DIR=str(tmp_path))
    counts = json.loads(out)
    names = {name for name in counts if name.startswith("roll_vec.kernels.")}
    assert {name: counts[name] for name in names} == dict.fromkeys(names, 1)
    assert len(names) <= num_kernels
    # What small rooms do not need is not compiled.
    assert "roll_vec.kernels.sokoban.search.search" not in names


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


@pytest.mark.slow
@needs_jit
def test_the_first_compilation_has_a_notice_and_a_warm_start_none(tmp_path):
    beside = set((ROOT / "kernels").rglob("*.nb*"))
    cold = run(FOLD_IN, NUMBA_CACHE_DIR=str(tmp_path))
    # Kernels of others are compiled in silence.
    others = "import numba\nnumba.njit(lambda x: x + 1)(1)\n"
    warm = run(FOLD_IN + others, NUMBA_CACHE_DIR=str(tmp_path))
    assert cold[0] == warm[0] == FOLD_OF_ONE
    assert cold[1].startswith(SUM + "3 kernels in ")
    assert len(cold[1].splitlines()) == 1
    assert warm[1] == ""
    # The notice names the folder; nothing stands anywhere else.
    (folder,) = (tmp_path / "roll_vec").iterdir()
    assert cold[1].endswith(f", cached in {folder}\n")
    assert folder.name.startswith(f"kernels-{roll_vec.__version__}-")
    assert list(tmp_path.iterdir()) == [folder.parent]
    assert set((ROOT / "kernels").rglob("*.nb*")) == beside


@needs_jit
def test_without_a_place_for_the_cache_kernels_work_after_one_warning(tmp_path):
    # A file where a directory should be cannot be written into, not even by root.
    blocker = tmp_path / "file"
    blocker.write_text("")
    everywhere = "HOME", "XDG_CACHE_HOME", "LOCALAPPDATA", "USERPROFILE"
    out, err = run(
        "import warnings\nwarnings.simplefilter('always')\n" + FOLD_IN,
        NUMBA_CACHE_DIR=None,
        **{name: str(blocker / name) for name in everywhere},
    )
    assert out == FOLD_OF_ONE
    assert err.count("RuntimeWarning") == 1
    assert err.count("no folder for compiled kernels") == 1
    assert str(blocker) in err
    assert err.count("NUMBA_CACHE_DIR") == 1
    assert err.count(SUM) == 1
    assert err.endswith(", not cached\n")
    assert list(tmp_path.iterdir()) == [blocker]


def test_with_the_jit_off_kernels_are_plain_functions():
    out, err = run(
        "import numpy as np, types\n"
        "from roll_vec.kernels.rng import pcg64\n"
        "from roll_vec.kernels.sokoban import rules as sokoban\n"
        "print(type(sokoban.step_rows) is types.FunctionType)\n"
        "with np.errstate(over='ignore'):\n"
        "    print(int(pcg64.fold_in(np.uint64(1), np.uint64(1))))",
        NUMBA_DISABLE_JIT="1",
    )
    assert out == "True\n" + FOLD_OF_ONE
    assert err == ""
