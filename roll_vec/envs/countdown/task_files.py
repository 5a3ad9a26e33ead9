"""Files of tasks: JSON lines, or a JSON array, of objects with numbers and a target.

``{"nums": [3, 8, 1], "target": 24}`` is a row; ``numbers`` is another name of ``nums``.
"""

from __future__ import annotations

import json
import zlib
from collections.abc import Iterator
from itertools import chain
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
    max_numbers : int
        The greatest count of numbers of a row.
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
        self.max_numbers = int(counts.max())

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
        Absolute; a file with the ending ``.gz`` is compressed.
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
    try:
        for entry in _read_entries(path):
            nums, target = _read_task(entry, f"data: {path}, row {len(counts)}")
            counts.append(len(nums))
            numbers += nums
            targets.append(target)
    except InvalidOptionError:
        raise
    except OSError as error:
        refuse_unreadable("data", path, error)
    except (ValueError, RecursionError, EOFError, zlib.error) as error:
        message = f"data: {path}, row {len(counts)}: not a JSON object: {error}"
        raise InvalidOptionError(message) from None
    if fingerprint("data", path) != digest:
        refuse_change("data", path, "reading it began")
    if not counts:
        message = f"data: {path} has no rows"
        raise InvalidOptionError(message)
    arrays = (np.array(values, np.int64) for values in (counts, numbers, targets))
    return TaskFile(path, digest, *arrays)


def _read_entries(path: str) -> Iterator[Any]:
    """Yield the entries of a JSON array, or the JSON object of each line."""
    with open_text(path) as file:
        first = next(filter(str.strip, file), "")
        if first.lstrip().startswith("["):
            yield from json.loads(first + file.read())
        else:
            lines = chain([first], file)
            yield from map(json.loads, filter(str.strip, lines))


def _read_task(entry: Any, place: str) -> tuple[list[int], int]:
    """Return the numbers and the target of a row."""
    if not isinstance(entry, dict):
        raise InvalidOptionError.expected(place, "a JSON object", entry)
    nums, target = entry.get("nums", entry.get("numbers")), entry.get("target")
    if (
        not isinstance(nums, list)
        or not 1 <= len(nums) <= MAX_OPERANDS
        or not all(type(n) is int and 0 <= n <= MAX_NUMBER for n in nums)
    ):
        # Answers have no more numbers, and no larger ones.
        accepted = f"1 to {MAX_OPERANDS} integers from 0 to {MAX_NUMBER}"
        place += ", nums"
        raise InvalidOptionError.expected(place, accepted, nums)
    if type(target) is not int or not -_INT64 <= target < _INT64:
        place += ", target"
        raise InvalidOptionError.expected(place, "an integer of 64 bits", target)
    return nums, target
