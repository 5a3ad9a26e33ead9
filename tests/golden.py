"""Golden files: the output of a writer, compared whole.

``ROLL_VEC_WRITE_GOLDEN=1 python -m pytest ...`` writes them anew.
"""

import os
from pathlib import Path


def assert_golden(path: Path, content: bytes) -> None:
    """Fail unless a golden file has this content."""
    if os.environ.get("ROLL_VEC_WRITE_GOLDEN"):
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(content)
    assert content == path.read_bytes(), f"see {path}"
