"""Files of tasks: rows of ``nums`` and ``target``, loaded once a process."""

from __future__ import annotations

import json
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray

from roll_vec.envs.countdown.options import CountdownOptions
from roll_vec.errors import InvalidOptionError, MissingExtraError
from roll_vec.storage.data_files import (
    fingerprint,
    max_text_size,
    open_text,
    refuse_change,
    refuse_unreadable,
)
from roll_vec.storage.process_cache import ProcessCache

_MAX_DIGITS = 18
_INT64 = 1 << 63

_NEEDS = {
    "max_digits": "a number of {} digits",
    "max_tokens": "numbers for {} tokens",
    "max_chars": "numbers for {} characters",
}

# Counts of the rows' numbers, all numbers, all targets.
Columns = tuple[Any, Any, Any]


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
        The numbers of all rows, from 0 to 10**18 - 1.
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
        powers = 10 ** np.arange(1, _MAX_DIGITS + 1, dtype=np.int64)
        digits = np.searchsorted(powers, numbers, side="right") + 1
        starts = self._starts[:-1]
        self.min_numbers, self.max_numbers = int(counts.min()), int(counts.max())
        needs = {
            "max_digits": np.maximum.reduceat(digits, starts),
            "max_tokens": 2 * counts - 1,
            "max_chars": np.add.reduceat(digits, starts) + counts - 1,
        }
        # By limit of an answer: the row that needs most, and how much it needs.
        self._needs = {
            name: (int(need.argmax()), int(need.max())) for name, need in needs.items()
        }

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

    def check(self, options: CountdownOptions) -> None:
        """Check that answers within the limits can solve every row, and the band.

        Raises
        ------
        InvalidOptionError
            Names the row and the keyword that raises the limit; or ``num_operations``.
        """
        options.check_band(self.min_numbers, self.max_numbers, self.path)
        for name, (row, need) in self._needs.items():
            if name != "max_digits" and options.numbers_rule == "any":
                continue
            limit = getattr(options, name)
            if need > limit:
                message = (
                    f"{_place(self.path, row, 'nums')}: {_NEEDS[name].format(need)}, "
                    "more than an answer may have; "
                    f"give {name}={need} instead of {limit}"
                )
                raise InvalidOptionError(message)


_cache: ProcessCache[TaskFile] = ProcessCache()


def load_tasks(path: str, digest: str | None = None) -> TaskFile:
    """Return the tasks of a file; the same object until its content changes.

    Parameters
    ----------
    path : str
        The absolute path of a ``.parquet``, ``.jsonl`` or ``.jsonl.gz`` file.
    digest : str or None
        Of the content that the file must have; None: any.

    Raises
    ------
    InvalidOptionError
        If the file has another content or cannot be read, or if a row is malformed:
        names row and field.
    MissingExtraError
        For a parquet file without pyarrow.
    """
    current = fingerprint("data", path)
    if digest not in (None, current):
        refuse_change("data", path, "the environment was pickled")
    return _cache.get((path, current), lambda: _read_tasks(path, current))


def _read_tasks(path: str, digest: str) -> TaskFile:
    read_columns = _read_parquet if path.lower().endswith(".parquet") else _read_jsonl
    try:
        columns = read_columns(path)
    except OSError as error:
        refuse_unreadable("data", path, error)
    if fingerprint("data", path) != digest:
        refuse_change("data", path, "reading it began")
    counts, numbers, targets = (np.array(values, np.int64) for values in columns)
    if not len(targets):
        message = f"data: {path} has no rows"
        raise InvalidOptionError(message)
    if not counts.all():
        place = _place(path, int(np.argmin(counts)), "nums")
        raise InvalidOptionError.expected(place, "at least one number", [])
    outside = np.flatnonzero((numbers < 0) | (numbers >= 10**_MAX_DIGITS))
    if len(outside):
        raise InvalidOptionError.expected(
            _place(path, _row_of(outside[0], counts), "nums"),
            f"numbers from 0 on of at most {_MAX_DIGITS} digits, as answers have them",
            int(numbers[outside[0]]),
        )
    return TaskFile(path, digest, counts, numbers, targets)


def _place(path: str, row: int, field: str) -> str:
    """Return the place of a value, as messages name it."""
    return f"data: {path}, row {row}, {field}"


def _row_of(index: int, counts: NDArray[np.int64]) -> int:
    """Return the row of a number among the numbers of all rows."""
    return int(np.searchsorted(np.cumsum(counts), index, side="right"))


def _read_lines(path: str) -> Iterator[str]:
    with open_text(path) as file:
        yield from file


def _read_jsonl(path: str) -> Columns:
    """Return the columns of a file with a JSON object in each line."""
    counts: list[int] = []
    numbers: list[int] = []
    targets: list[int] = []
    try:
        for line in _read_lines(path):
            if not line.strip():
                continue
            nums, target = _parse_line(path, len(targets), line)
            counts.append(len(nums))
            numbers += nums
            targets.append(target)
    except (UnicodeDecodeError, EOFError, zlib.error) as error:
        message = f"data: {path}, after row {len(targets) - 1}: {error}"
        raise InvalidOptionError(message) from error
    return counts, numbers, targets


def _parse_line(path: str, row: int, line: str) -> tuple[list[int], int]:
    place = _place(path, row, "nums and target")
    try:
        entry = json.loads(line)
    except (ValueError, RecursionError) as error:
        message = f"{place}: not a JSON object: {error}"
        raise InvalidOptionError(message) from None
    if not isinstance(entry, dict):
        raise InvalidOptionError.expected(place, "a JSON object", entry)
    for field in ("nums", "target"):
        if field not in entry:
            _raise_missing(path, row, field)
    nums, target = entry["nums"], entry["target"]
    if not isinstance(nums, list) or not all(map(_is_int64, nums)):
        place = _place(path, row, "nums")
        raise InvalidOptionError.expected(place, "a list of integers", nums)
    if not _is_int64(target):
        place = _place(path, row, "target")
        raise InvalidOptionError.expected(place, "an integer", target)
    return nums, target


def _raise_missing(path: str, row: int, field: str) -> NoReturn:
    message = f"{_place(path, row, field)}: missing"
    raise InvalidOptionError(message)


def _is_int64(value: Any) -> bool:
    return type(value) is int and -_INT64 <= value < _INT64


def _read_parquet(path: str) -> Columns:
    """Return the columns of a parquet file with the columns ``nums`` and ``target``."""
    arrow, parquet = (
        MissingExtraError.import_module(name, f"data={path!r}", extra="parquet")
        for name in ("pyarrow", "pyarrow.parquet")
    )
    try:
        with parquet.ParquetFile(path) as file:
            for field in ("nums", "target"):
                count = file.schema_arrow.names.count(field)
                if count != 1:
                    message = (
                        f"data: {path}: expected one column {field!r}, got {count}"
                    )
                    raise InvalidOptionError(message)
            _check_size(path, file.metadata)
            columns = file.read(columns=["nums", "target"])
            nums = columns["nums"].combine_chunks()
            target = columns["target"].combine_chunks()
            types = arrow.types
            # A list has a type of values, and lengths; a map has a type of items, too.
            values = getattr(nums.type, "value_type", None)
            if not (values and types.is_integer(values)) or types.is_map(nums.type):
                place, accepted = _place(path, 0, "nums"), "lists of integers"
                raise InvalidOptionError.expected(place, accepted, str(nums.type))
            if not types.is_integer(target.type):
                place = _place(path, 0, "target")
                raise InvalidOptionError.expected(place, "integers", str(target.type))
            for field, column in (("nums", nums), ("target", target)):
                if column.null_count:
                    _raise_missing(path, _first_null(column), field)
            counts = nums.value_lengths().to_numpy(zero_copy_only=False)
            numbers = nums.flatten()
            if numbers.null_count:
                place = _place(path, _row_of(_first_null(numbers), counts), "nums")
                raise InvalidOptionError.expected(place, "integers", None)
            int64 = arrow.int64()
            numbers = numbers.cast(int64).to_numpy(zero_copy_only=False)
            target = target.cast(int64).to_numpy(zero_copy_only=False)
    except InvalidOptionError:
        raise
    except Exception as error:
        # pyarrow raises many types for damaged files, also for names without UTF-8.
        problem = f"{type(error).__name__}: {error}"
        message = f"data: {path} is no parquet file of tasks: {problem}"
        raise InvalidOptionError(message) from error
    return counts, numbers, target


def _first_null(column: Any) -> int:
    index: int = column.is_null().to_numpy(zero_copy_only=False).argmax()
    return index


def _check_size(path: str, metadata: Any) -> None:
    """Refuse a parquet file that is small and has very many numbers."""
    count = sum(
        group.column(j).num_values
        for group in map(metadata.row_group, range(metadata.num_row_groups))
        for j in range(metadata.num_columns)
        if group.column(j).path_in_schema.partition(".")[0] in ("nums", "target")
    )
    if 8 * count > max_text_size(Path(path).stat().st_size):
        message = f"data: {path} has {count} numbers, which a file of its size has not"
        raise InvalidOptionError(message)
