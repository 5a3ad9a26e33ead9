"""Settings for the whole suite; read before anything of roll_vec is imported."""

import hashlib
import os
import tempfile
from pathlib import Path

import numpy as np
import pytest

ROOT = Path(__file__).resolve().parent.parent


def _numba_cache_dir() -> Path:
    """Return a cache directory for exactly these kernels in exactly this mode.

    Neither the bounds checks nor the files that a kernel calls into are part of
    numba's cache key, so each combination gets a directory of its own.
    """
    digest = hashlib.sha256()
    for path in sorted((ROOT / "kernels").glob("*.py")):
        digest.update(path.read_bytes())
    digest.update(os.environ.get("NUMBA_BOUNDSCHECK", "").encode())
    # Of one user, so that nobody else can leave machine code there.
    return Path(tempfile.gettempdir()) / (
        f"roll_vec-numba-{os.getuid() if hasattr(os, 'getuid') else 0}-"
        f"{digest.hexdigest()[:16]}"
    )


os.environ["NUMBA_CACHE_DIR"] = str(_numba_cache_dir())
os.environ.setdefault("SDL_VIDEODRIVER", "dummy")
os.environ.setdefault("PYGAME_HIDE_SUPPORT_PROMPT", "1")

JIT_OFF = os.environ.get("NUMBA_DISABLE_JIT") == "1"
if JIT_OFF:
    if np.lib.NumpyVersion(np.__version__) < "2.0.0":
        # A uint64 and an int make a float64 there; compiled kernels do not care.
        pytest.exit("kernels as plain Python need numpy 2", returncode=2)
    # numpy's error state, see below, is one thread's.
    os.environ["ROLL_VEC_NUM_THREADS"] = "1"


@pytest.fixture(autouse=True)
def _integers_wrap_around():
    """Let uint64 arithmetic wrap silently with the JIT off, as it does compiled."""
    with np.errstate(over="ignore"):
        yield


@pytest.fixture(scope="session")
def shared() -> Path:
    """Return the folder of golden tables and data beside the checkout, or skip."""
    path = ROOT.parent / "shared"
    if not path.is_dir():
        pytest.skip("the folder ../shared with the golden tables is not here")
    return path
