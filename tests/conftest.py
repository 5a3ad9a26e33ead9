"""Settings for the whole suite; read before anything of roll_vec is imported."""

import gc
import os
import re
import signal
import tempfile
from pathlib import Path

import gymnasium
import numpy as np
import pytest
from hypothesis import settings

ROOT = Path(__file__).resolve().parent.parent

# Compiling, and to collect tests, makes many objects that stay: the default looks at
# them again and again, a sixth of a cold run.
gc.set_threshold(50_000, 20, 50)

# A shell starts programs in the background with Ctrl-C ignored.  Tests that interrupt
# themselves would then never end.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

# The user's own cache folder may be read-only, and is left alone.
_USER = os.getuid() if hasattr(os, "getuid") else 0
os.environ.setdefault(
    "NUMBA_CACHE_DIR", str(Path(tempfile.gettempdir()) / f"roll_vec-tests-{_USER}")
)
os.environ.setdefault("SDL_VIDEODRIVER", "dummy")
os.environ.setdefault("PYGAME_HIDE_SUPPORT_PROMPT", "1")

JIT_OFF = os.environ.get("NUMBA_DISABLE_JIT") == "1"
if JIT_OFF:
    if np.lib.NumpyVersion(np.__version__) < "2.0.0":
        # A uint64 and an int make a float64 there; compiled kernels do not care.
        pytest.exit("kernels as plain Python need numpy 2", returncode=2)
    # numpy's error state, see below, is one thread's.
    os.environ["ROLL_VEC_NUM_THREADS"] = "1"

# HYPOTHESIS_PROFILE=large searches longer, as `make test-slow` does.  The first call of
# a kernel may compile it, so that there are no deadlines.
settings.register_profile("small", deadline=None, max_examples=12 if JIT_OFF else 40)
settings.register_profile("large", deadline=None, max_examples=200)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "small"))


# The game, or the game of a test file, that a test plays.
GAMES = re.compile(
    "sokoban|frozen_?lake|cart_?pole|cliff_?walking|taxi|blackjack|mountain_?car|acrobot"
    r"|minigrid|babyai|pendulum|2048|sliding_?tiles|sudoku|minesweeper|tests_\w+/\w+",
    re.IGNORECASE,
)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config, log):
    """Give all tests of a game to one worker: two would compile its kernels twice."""
    from xdist.scheduler import LoadScopeScheduling

    class ByGame(LoadScopeScheduling):
        def _split_scope(self, nodeid):
            path, _, name = nodeid.partition("::")
            game = GAMES.search(name) or GAMES.search(path)
            return game[0].lower().replace("_", "") if game else path

    return ByGame(config, log) if config.getoption("dist") == "load" else None


def pytest_collection_finish():
    """Leave modules and their constants out of garbage collection, which they slow."""
    gc.collect()
    gc.freeze()


@pytest.fixture
def no_garbage_collection():
    """Run no finalizer of what an earlier test left, where a test traces all code."""
    gc.collect()
    gc.disable()
    yield
    gc.enable()


@pytest.fixture(autouse=True)
def _integers_wrap_around():
    """Let uint64 arithmetic wrap silently with the JIT off, as it does compiled."""
    with np.errstate(over="ignore"):
        yield


def _forget_ids():
    """Forget the ids that are registered from now on."""
    from roll_vec.registration import ENVIRONMENTS

    tables = [(table, {*table}) for table in (ENVIRONMENTS, gymnasium.registry)]
    yield
    for table, before in tables:
        for id in {*table} - before:
            del table[id]


forgets_ids = pytest.fixture(_forget_ids)
module_forgets_ids = pytest.fixture(_forget_ids, scope="module")


@pytest.fixture(scope="session")
def shared() -> Path:
    """Return the folder of golden tables and data beside the checkout, or skip."""
    path = ROOT.parent / "shared"
    if not path.is_dir():
        pytest.skip("the folder ../shared with the golden tables is not here")
    return path
