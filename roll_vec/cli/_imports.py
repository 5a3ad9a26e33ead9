"""Import packages of extras, and modules of the user, at run time."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path
from types import ModuleType

from roll_vec.errors import MissingExtraError

__all__ = ["import_from_here", "require", "search_here"]


def require(
    package: str, feature: str, *, module: str | None = None, extra: str = "cli"
) -> None:
    """Check that a package of an extra can be imported.

    Parameters
    ----------
    package : str
        Its name for pip.
    feature : str
        The feature that needs it, subject of the message.
    module : str, optional
        Its name for import, if that is different.
    extra : str

    Raises
    ------
    MissingExtraError
    """
    try:
        importlib.import_module(module or package)
    except ImportError as error:
        raise MissingExtraError(feature, extra=extra, package=package) from error


def import_from_here(name: str) -> ModuleType:
    """Import a module, from the working directory first, as ``python -m`` does.

    The directory stays at the end of the path: worker processes get the path and have
    to find the module, too. All errors of the module are raised.
    """
    sys.path.insert(0, "")
    try:
        module = importlib.import_module(name)
    finally:
        sys.path.remove("")
    search_here()
    return module


def search_here() -> None:
    """Let modules of the working directory be imported, after all others."""
    here = str(Path.cwd())
    if here not in sys.path:
        sys.path.append(here)
