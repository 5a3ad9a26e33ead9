"""Parameters of tests whose combinations are many: some of them fast, others slow.

With three columns of values and every third combination each two values of different
columns still meet in the fast tests: a Latin square.  They meet once more in the slow
ones.  ROLL_VEC_ALL_COMBINATIONS=1 makes all others slow tests, too.
"""

import enum
import itertools
import os
from collections.abc import Mapping, Sequence
from typing import Any

import pytest


def one_in(number: int, names: str, *columns: Sequence[Any] | Mapping[str, Any]) -> Any:
    """Parametrize by combinations of the columns' values; some are slow.

    A combination of the i-th, j-th, ... values is fast where ``i + j + ...`` is a
    multiple of the number, and slow where it is one more.  A column that is a mapping
    has ids as keys.
    """
    last = number if os.environ.get("ROLL_VEC_ALL_COMBINATIONS") else 2
    parameters = []
    for places in itertools.product(*(enumerate(_items(column)) for column in columns)):
        rest = sum(index for index, _ in places) % number
        if rest >= last:
            continue
        parameters.append(
            pytest.param(
                *(value for _, (_, value) in places),
                marks=[pytest.mark.slow] if rest else [],
                id="-".join(name for _, (name, _) in places),
            )
        )
    return pytest.mark.parametrize(names, parameters)


def _items(column: Sequence[Any] | Mapping[str, Any]) -> list[tuple[str, Any]]:
    """Return ids and values: a mode's value, a function's name, a text or a number."""
    if isinstance(column, Mapping):
        return [*column.items()]
    items = []
    for number, value in enumerate(column):
        name = value.value if isinstance(value, enum.Enum) else value
        name = name if isinstance(name, str | int) else getattr(name, "__name__", "<")
        items.append((str(number if str(name).startswith("<") else name), value))
    return items
