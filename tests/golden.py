"""Golden files, the output of a writer, compared whole; and digests of results.

``ROLL_VEC_WRITE_GOLDEN=1 python -m pytest ...`` writes the files anew.
"""

import os
from pathlib import Path
from typing import Any

import numpy as np


def assert_golden(path: Path, content: bytes) -> None:
    """Fail unless a golden file has this content."""
    if os.environ.get("ROLL_VEC_WRITE_GOLDEN"):
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(content)
    assert content == path.read_bytes(), f"see {path}"


def update_digest(digest: Any, value: Any) -> None:
    """Add a value's type, shape and bytes; dicts by sorted keys."""
    if isinstance(value, np.ndarray) and value.dtype != object:
        digest.update(f"{value.dtype.str}{value.shape}".encode())
        digest.update(value.tobytes())
    elif isinstance(value, dict):
        for key in sorted(value):
            digest.update(f"{key!r}:".encode())
            update_digest(digest, value[key])
    elif isinstance(value, (np.ndarray, tuple, list)):
        digest.update(f"{len(value)}[".encode())
        for item in value:
            update_digest(digest, item)
    elif isinstance(value, np.generic):
        update_digest(digest, np.asarray(value))  # its repr has changed with numpy 2
    else:
        assert value is None or isinstance(value, (str, bool, int, float)), value
        digest.update(f"{value!r};".encode())
