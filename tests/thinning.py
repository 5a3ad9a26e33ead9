"""Parameters of tests whose combinations are many: some of them fast, all of them slow.

With three columns of values and every third combination each two values of different
columns still meet in the fast tests: a Latin square.
"""

from __future__ import annotations

import enum
import itertools
from collections.abc import Mapping, Sequence
from typing import Any

import pytest

__all__ = ["one_in"]


def one_in(number: int, names: str, *columns: Sequence[Any] | Mapping[str, Any]) -> Any:
    """Parametrize by all combinations of the columns' values; all but some are slow.

    Parameters
    ----------
    number : int
        A combination of the i-th, j-th, ... values is fast where ``i + j + ...`` is a
        multiple of this number.
    names : str
        The names of the arguments, with commas.
    columns : sequence or mapping
        The values of each argument; a mapping has their ids as keys.
    """
    items = [
        [*column.items()]
        if isinstance(column, Mapping)
        else [(_id_of(value, str(i)), value) for i, value in enumerate(column)]
        for column in columns
    ]
    parameters = []
    for indices in itertools.product(*(range(len(column)) for column in items)):
        chosen = [column[i] for column, i in zip(items, indices, strict=True)]
        parameters.append(
            pytest.param(
                *(value for _, value in chosen),
                marks=[pytest.mark.slow] if sum(indices) % number else [],
                id="-".join(name for name, _ in chosen),
            )
        )
    return pytest.mark.parametrize(names, parameters)


def _id_of(value: Any, number: str) -> str:
    """Return a mode's value, a function's name or a text; else the number."""
    if isinstance(value, enum.Enum):
        return str(value.value)
    name = value if isinstance(value, str | int) else getattr(value, "__name__", "<")
    return number if str(name).startswith("<") else str(name)
