"""Packages of extras."""

from __future__ import annotations

import importlib

from roll_vec.errors import MissingExtraError

__all__ = ["require"]


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
