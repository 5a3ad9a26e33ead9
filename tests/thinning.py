"""Parameters of tests whose combinations are many: some of them fast, others slow.

With three columns of values and every third combination each two values of different
columns still meet in the fast tests: a Latin square.  The slow tests have more, until
each two values meet.  ROLL_VEC_ALL_COMBINATIONS=1 makes all others slow tests, too.
"""

import enum
import itertools
import os
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import pytest


def one_in(number: int, names: str, *columns: Sequence[Any] | Mapping[str, Any]) -> Any:
    """Parametrize by combinations of the columns' values; some are slow.

    A combination of the i-th, j-th, ... values is fast where ``i + j + ...`` is a
    multiple of the number, and slow where it is one more, two more, ...: as far as is
    needed until each two values meet.  A column that is a mapping has ids as keys.
    """
    columns_of_items = [_items(column) for column in columns]
    combinations = [*itertools.product(*(range(len(c)) for c in columns_of_items))]
    num_rests = number
    if not os.environ.get("ROLL_VEC_ALL_COMBINATIONS"):
        everything = _pairs(combinations)
        num_rests = next(
            count
            for count in range(2, number + 1)
            if _pairs(c for c in combinations if sum(c) % number < count) == everything
        )
    parameters = []
    for places in combinations:
        rest = sum(places) % number
        if rest >= num_rests:
            continue
        items = [c[i] for c, i in zip(columns_of_items, places, strict=True)]
        parameters.append(
            pytest.param(
                *(value for _, value in items),
                marks=[pytest.mark.slow] if rest else [],
                id="-".join(name for name, _ in items),
            )
        )
    return pytest.mark.parametrize(names, parameters)


def _pairs(combinations: Iterable[tuple[int, ...]]) -> set[Any]:
    """Return the pairs of places of different columns that meet in combinations."""
    pairs = (itertools.combinations(enumerate(places), 2) for places in combinations)
    return {*itertools.chain.from_iterable(pairs)}


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
