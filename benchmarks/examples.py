"""The programs of docs/examples as modules."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path
from types import ModuleType

FOLDER = Path(__file__).resolve().parent.parent / "docs" / "examples"


def import_example(name: str) -> ModuleType:
    """Import a module of docs/examples; they import each other by their bare names."""
    if str(FOLDER) not in sys.path:
        sys.path.append(str(FOLDER))
    return importlib.import_module(name)
