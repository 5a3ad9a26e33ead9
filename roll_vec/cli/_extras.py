"""Importing what only an extra brings, at the moment it is needed."""

from __future__ import annotations

import importlib

from roll_vec.errors import MissingExtraError

__all__ = ["require"]


def require(package: str, feature: str, *, module: str | None = None) -> None:
    """Make sure that a package of the extra `cli` can be imported.

    Parameters
    ----------
    package : str
        Its name for pip.
    feature : str
        What needs it, the subject of the message.
    module : str, optional
        Its name for import, where that differs.

    Raises
    ------
    MissingExtraError
    """
    try:
        importlib.import_module(module or package)
    except ImportError as error:
        raise MissingExtraError(feature, extra="cli", package=package) from error
