"""Parameters of tests whose combinations are many: some of them fast, all of them slow.

With three columns of values and every third combination each two values of different
columns still meet in the fast tests: a Latin square.
"""

import enum
import itertools
from collections.abc import Mapping, Sequence
from typing import Any

import pytest


def one_in(number: int, names: str, *columns: Sequence[Any] | Mapping[str, Any]) -> Any:
    """Parametrize by all combinations of the columns' values; all but some are slow.

    A combination of the i-th, j-th, ... values is fast where ``i + j + ...`` is a
    multiple of the number.  A column that is a mapping has ids as keys.
    """
    parameters = []
    for places in itertools.product(*(enumerate(_items(column)) for column in columns)):
        is_slow = sum(index for index, _ in places) % number
        parameters.append(
            pytest.param(
                *(value for _, (_, value) in places),
                marks=[pytest.mark.slow] if is_slow else [],
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
