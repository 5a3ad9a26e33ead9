"""`StateAttribute`: an attribute of environments that is made of their variables."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple


class StateAttribute(NamedTuple):
    """An attribute of an environment that differs from its variables in form.

    It is a value of ``attributes`` of a class, as the ``state`` of Gymnasium's CartPole
    is, which is an array of four variables.
    """

    read: Callable[[Any], Any]
    """Return the value of one environment, which has variables: numbers, arrays."""
    write: Callable[[Any], Mapping[str, Any]] | None = None
    """Return the variables of a value, or raise an error; None: it is only read."""
