"""`StateAttribute`: an attribute of environments that is made of their variables."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from roll_vec.kernels.rows import Row


class StateAttribute(NamedTuple):
    """An attribute of an environment that differs from its variables in form.

    It is a value of ``attributes`` of a class, as the ``state`` of Gymnasium's CartPole
    is, which is an array of four variables.
    """

    read: Callable[[Row], Any]
    """Return the value in one environment, which is read as in rules."""
    write: Callable[[Any], Mapping[str, Any]]
    """Return the variables of a value, or raise an error."""
