"""Time from the start of a process to its import and to its first step."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from benchmarks.batches import FROZEN_LAKE, SOKOBAN

ROOT = Path(__file__).resolve().parent.parent
IMPORT = "import roll_vec"
# End the process at once: the interpreter's shutdown is not part of a start.
LEAVE = "import os; os._exit(0)"
FIRST_STEP = """
import gymnasium, numpy, roll_vec
env = gymnasium.make_vec({id!r}, num_envs=4096)
env.reset(seed=0)
env.step(numpy.full(4096, {action}))
"""


def run(code, cache):
    """Run code in a new interpreter with numba's cache in a folder of its own."""
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(cache)}
    subprocess.run(
        [sys.executable, "-c", f"{code}\n{LEAVE}"],
        env=environment,
        cwd=ROOT,
        check=True,
        capture_output=True,
    )


@pytest.fixture(scope="module")
def warm_cache(tmp_path_factory):
    """Return a cache folder that the first warm-up round fills."""
    return tmp_path_factory.mktemp("warm")


@pytest.mark.benchmark(group="startup")
def test_import(benchmark, warm_cache):
    """Start Python and import the package, which compiles nothing."""
    benchmark.pedantic(run, (IMPORT, warm_cache), rounds=5, warmup_rounds=1)


@pytest.mark.parametrize("id", [FROZEN_LAKE, SOKOBAN])
@pytest.mark.parametrize("cache", ["warm", "cold"])
@pytest.mark.benchmark(group="startup")
def test_first_step(benchmark, measuring, warm_cache, tmp_path, id, cache):
    """Start Python, make 4096 environments, reset and step them once."""
    if not measuring:
        pytest.skip("compiles everything: only with --benchmark-enable")
    code = FIRST_STEP.format(id=id, action=int(id == SOKOBAN))
    if cache == "warm":
        benchmark.pedantic(run, (code, warm_cache), rounds=5, warmup_rounds=1)
    else:
        benchmark.pedantic(run, (code, tmp_path))
