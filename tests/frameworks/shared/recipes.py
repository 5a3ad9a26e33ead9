"""The recipe of a page as a module: its first block of Python.

Checks import it as ``from recipes import load_recipe``.  It needs Python alone.
"""

from __future__ import annotations

import importlib
import re
import sys
from pathlib import Path
from types import ModuleType

PAGES = Path(__file__).resolve().parents[3] / "docs" / "frameworks"
MAX_LINES = 60


def load_recipe(page: str, folder: str | Path, name: str) -> ModuleType:
    """Return the first block of Python of a page as a module.

    Parameters
    ----------
    page : str
        The name of the page, without its suffix.
    folder : str or Path
        The module is written into it, and imported from there.
    name : str
        Of the module.

    Raises
    ------
    ValueError
        If the recipe has more than `MAX_LINES` lines.
    """
    text = (PAGES / f"{page}.md").read_text("utf-8")
    [code] = re.findall(r"^```python\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)[:1]
    lines = len(code.splitlines())
    if lines > MAX_LINES:
        message = f"the recipe of {page} has {lines} lines, more than {MAX_LINES}"
        raise ValueError(message)
    (Path(folder) / f"{name}.py").write_text(code, "utf-8")
    sys.path.insert(0, str(folder))
    return importlib.import_module(name)
