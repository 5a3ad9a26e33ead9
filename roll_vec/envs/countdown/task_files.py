"""Files of tasks: a reader for each kind of file, one rule for a row, loaded once.

A row has numbers and a target.  The names are those of files that people have::

    {"nums": [3, 8, 1], "target": 24}                       TinyZero
    {"reward_model": {"ground_truth": {"numbers": [3, 8, 1], "target": 24}}}   verl
    {"input": "3,8,1", "output": "24"}                      d1
    Rank,Puzzles                                            the 24 game, target 24
    1,3 8 1 1
"""

from __future__ import annotations

import csv
import json
import re
import zlib
from collections.abc import Callable, Iterator
from contextlib import suppress
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from roll_vec.errors import InvalidOptionError
from roll_vec.kernels.countdown.expressions import MAX_DIGITS, MAX_OPERANDS
from roll_vec.storage.data_files import (
    fingerprint,
    open_text,
    refuse_change,
    refuse_unreadable,
)
from roll_vec.storage.process_cache import ProcessCache

MAX_NUMBER = 10**MAX_DIGITS - 1
"""The greatest number of a task: answers have no greater ones."""
_INT64 = 1 << 63

# In the order in which they are searched for.
_NUMS = ("nums", "numbers", "input", "puzzles")
_TARGETS = ("target", "output")
# Dicts in a row without the first two of the names, or their JSON.
_TRUTHS, _PLAIN = ("reward_model", "ground_truth"), {"nums", "numbers"}
_INTEGER = re.compile(r"\s*([+-]?[0-9]{1,20})(?:\.0*)?\s*")
# Around the numbers of a text, and between them.
_BRACKETS, _SEPARATORS = "[](){} \t\r\n", re.compile(r"[\s,;]+")


def read_tasks(path: str) -> Iterator[tuple[list[int], int]]:
    """Yield the numbers and the target of each row of a file.

    Parameters
    ----------
    path : str
        With one of the `ENDINGS`.

    Raises
    ------
    InvalidOptionError
        If the file cannot be read, or a row is malformed: names row and field.
    """
    row, ending = -1, Path(path.lower().removesuffix(".gz")).suffix
    try:
        for row, entry in enumerate(_READERS[ending](path)):
            yield _read_task(entry, f"data: {path}, row {row}")
    except InvalidOptionError:
        raise
    except OSError as error:
        refuse_unreadable("data", path, error)
    except (UnicodeDecodeError, EOFError, zlib.error) as error:
        message = f"data: {path}, after row {row}: {error}"
        raise InvalidOptionError(message) from error
    except (ValueError, RecursionError, csv.Error) as error:
        kind = "a row of CSV" if ending == ".csv" else "a JSON object"
        place = f"data: {path}, row {row + 1}, nums and target"
        message = f"{place}: not {kind}: {error}"
        raise InvalidOptionError(message) from None


# ------------------------------------------------------------------------ the rule


def _read_task(entry: Any, place: str) -> tuple[list[int], int]:
    """Return the numbers and the target of a row."""
    for name in _TRUTHS:
        if isinstance(entry, dict) and name in entry and not _PLAIN & entry.keys():
            entry = entry[name]
            with suppress(ValueError, RecursionError):
                entry = json.loads(entry) if isinstance(entry, str) else entry
    if not isinstance(entry, dict):
        place += ", nums and target"
        raise InvalidOptionError.expected(place, "a JSON object", entry)
    nums = _find(entry, _NUMS, f"{place}, nums")
    default = 24 if "puzzles" in entry else None
    value = _find(entry, _TARGETS, f"{place}, target", default)
    target = _read_integer(value)
    if target is None or not -_INT64 <= target < _INT64:
        place += ", target"
        raise InvalidOptionError.expected(place, "an integer", value)
    return _read_nums(nums, f"{place}, nums"), target


def _find(
    entry: dict[str, Any], names: tuple[str, ...], place: str, default: Any = None
) -> Any:
    """Return the first value that an entry has."""
    for name in names:
        value = entry.get(name)
        if value is not None:
            return value
    if default is None:
        message = f"{place}: missing"
        raise InvalidOptionError(message)
    return default


def _read_nums(value: Any, place: str) -> list[int]:
    parts = value
    if isinstance(value, str):
        text = value.strip(_BRACKETS)
        parts = _SEPARATORS.split(text) if text else []
    numbers: list[int] = []
    for part in parts if isinstance(parts, list) else [None]:
        number = _read_integer(part)
        if number is None:
            raise InvalidOptionError.expected(place, "a list of integers", value)
        if not 0 <= number <= MAX_NUMBER:
            accepted = f"numbers from 0 to {MAX_NUMBER}, as answers have them"
            raise InvalidOptionError.expected(place, accepted, number)
        numbers.append(number)
    if not 1 <= len(numbers) <= MAX_OPERANDS:
        accepted = f"1 to {MAX_OPERANDS} numbers, as answers have them"
        raise InvalidOptionError.expected(place, accepted, value)
    return numbers


def _read_integer(value: Any) -> int | None:
    """Return an integer, which may be a whole float or a text; None: it is none."""
    if type(value) is int:
        return value
    if isinstance(value, float) and value.is_integer():
        return int(value)
    match = _INTEGER.fullmatch(value) if isinstance(value, str) else None
    return None if match is None else int(match[1])


# --------------------------------------------------------------------- the readers


def _read_json(path: str) -> Iterator[Any]:
    """Yield the entries of a JSON array, or the JSON object of each line."""
    with open_text(path) as file:
        first = next(filter(str.strip, file), "")
        if first.lstrip().startswith("["):
            yield from json.loads(first + file.read())
        else:
            lines = chain([first], file)
            yield from map(json.loads, filter(str.strip, lines))


def _read_csv(path: str) -> Iterator[dict[str, str]]:
    """Yield the rows of a table with a line of names, in small letters."""
    with open_text(path) as file:
        rows = csv.reader(file, skipinitialspace=True)
        names = [name.strip().lower() for name in next(rows, [])]
        yield from (dict(zip(names, row, strict=False)) for row in rows if row)


_READERS: dict[str, Callable[[str], Iterator[Any]]] = {
    ".jsonl": _read_json,
    ".json": _read_json,
    ".csv": _read_csv,
}
ENDINGS = (*_READERS, ".jsonl.gz", ".json.gz", ".csv.gz")
"""The endings of files of tasks."""


# ----------------------------------------------------------------------- the tasks


class TaskFile:
    """The tasks of one file, read-only.

    Parameters
    ----------
    path : str
        Absolute.
    digest : str
        Of the file's content; a pickle has path and digest.
    counts : (n,) int64
        Count of each row's numbers, at least 1.
    numbers : (sum of counts,) int64
        The numbers of all rows, from 0 to `MAX_NUMBER`.
    targets : (n,) int64

    Attributes
    ----------
    min_numbers, max_numbers : int
        The least and the greatest count of numbers of a row.
    """

    def __init__(
        self,
        path: str,
        digest: str,
        counts: NDArray[np.int64],
        numbers: NDArray[np.int64],
        targets: NDArray[np.int64],
    ) -> None:
        self.path, self.digest = path, digest
        self._starts = np.concatenate([np.zeros(1, np.int64), np.cumsum(counts)])
        self._numbers, self._targets = numbers, targets
        for array in (self._starts, self._numbers, self._targets):
            array.flags.writeable = False
        self.min_numbers, self.max_numbers = int(counts.min()), int(counts.max())

    def __len__(self) -> int:
        return len(self._targets)

    def __reduce__(self) -> tuple[Any, ...]:
        return load_tasks, (self.path, self.digest)

    def __deepcopy__(self, memo: dict[int, Any]) -> TaskFile:
        return self

    def row(self, number: int) -> tuple[list[int], int]:
        """Return numbers and target of a row."""
        start, stop = self._starts[number : number + 2].tolist()
        return self._numbers[start:stop].tolist(), int(self._targets[number])


_cache: ProcessCache[TaskFile] = ProcessCache()


def load_tasks(path: str, digest: str | None = None) -> TaskFile:
    """Return the tasks of a file; the same object until its content changes.

    Parameters
    ----------
    path : str
        Absolute, with one of the `ENDINGS`.
    digest : str or None
        Of the content that the file must have; None: any.

    Raises
    ------
    InvalidOptionError
        If the file has another content or cannot be read, or if a row is malformed:
        names row and field.
    """
    current = fingerprint("data", path)
    if digest not in (None, current):
        refuse_change("data", path, "the environment was pickled")
    return _cache.get((path, current), lambda: _load(path, current))


def _load(path: str, digest: str) -> TaskFile:
    counts: list[int] = []
    numbers: list[int] = []
    targets: list[int] = []
    for nums, target in read_tasks(path):
        counts.append(len(nums))
        numbers += nums
        targets.append(target)
    if fingerprint("data", path) != digest:
        refuse_change("data", path, "reading it began")
    if not counts:
        message = f"data: {path} has no rows"
        raise InvalidOptionError(message)
    arrays = (np.array(values, np.int64) for values in (counts, numbers, targets))
    return TaskFile(path, digest, *arrays)
