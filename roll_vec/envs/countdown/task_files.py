"""Files of tasks: rows of ``nums`` and ``target``, loaded once in a process."""

from __future__ import annotations

import gzip
import importlib
import json
import zlib
from collections.abc import Iterator
from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray

from roll_vec.data_files import fingerprint, refuse_change, refuse_unreadable
from roll_vec.envs.countdown.options import CountdownOptions
from roll_vec.errors import InvalidOptionError, MissingExtraError, shorten
from roll_vec.process_cache import ProcessCache

__all__ = ["TaskFile", "load_tasks"]

_MAX_DIGITS = 18
_INT64 = 1 << 63

# The lengths of the rows, all numbers, all targets.
Columns = tuple[Any, Any, Any]


class TaskFile:
    """The tasks of one file, not to be written.

    Parameters
    ----------
    path : str
        Absolute.
    digest : str
        Of the file's content, which a pickle names beside the path.
    lengths : (n,) int64
        How many numbers each row has, at least 1.
    numbers : (sum of lengths,) int64
        From 0 to 10**18 - 1.
    targets : (n,) int64

    Attributes
    ----------
    most_numbers : int
        Of any row.
    """

    def __init__(
        self,
        path: str,
        digest: str,
        lengths: NDArray[np.int64],
        numbers: NDArray[np.int64],
        targets: NDArray[np.int64],
    ) -> None:
        self.path, self.digest = path, digest
        self._starts = np.concatenate([np.zeros(1, np.int64), np.cumsum(lengths)])
        self._numbers, self._targets = numbers, targets
        for array in (self._starts, self._numbers, self._targets):
            array.flags.writeable = False
        powers = 10 ** np.arange(1, _MAX_DIGITS + 1, dtype=np.int64)
        digits = np.searchsorted(powers, numbers, side="right") + 1
        per_row = np.maximum.reduceat(digits, self._starts[:-1])
        chars = np.add.reduceat(digits, self._starts[:-1]) + lengths - 1
        self.most_numbers = int(lengths.max())
        # Of each limit: the row that needs most of it, how much, and of what it has
        # too much where that is more than the limit.
        self._needs = {
            "max_digits": _greatest(per_row, "a number of {} digits"),
            "max_tokens": _greatest(2 * lengths - 1, "numbers for {} tokens"),
            "max_chars": _greatest(chars, "numbers for {} characters"),
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
        """Refuse rows that no answer within the limits could solve.

        Raises
        ------
        InvalidOptionError
            Names the row and the keyword that raises the limit.
        """
        for name, (row, needed, what) in self._needs.items():
            if name != "max_digits" and options.numbers_rule == "any":
                continue
            limit = getattr(options, name)
            if needed > limit:
                message = (
                    f"data: {self.path}, row {row}, nums: {what.format(needed)}, which "
                    f"no answer may have; give {name}={needed} instead of {limit}"
                )
                raise InvalidOptionError(message)


def _greatest(needs: NDArray[np.int64], what: str) -> tuple[int, int, str]:
    row = int(needs.argmax())
    return row, int(needs[row]), what


_loaded: ProcessCache[TaskFile] = ProcessCache()


def load_tasks(path: str, digest: str | None = None) -> TaskFile:
    """Return the tasks of a file; the same object until its content changes.

    Parameters
    ----------
    path : str
        The absolute path of a ``.parquet``, ``.jsonl`` or ``.jsonl.gz`` file.
    digest : str or None
        Of the content that it must have; None: any.

    Raises
    ------
    InvalidOptionError
        If it has another content or cannot be read, or a row is malformed: names row
        and field.
    MissingExtraError
        For a parquet file without pyarrow.
    """
    current = fingerprint("data", path)
    if digest not in (None, current):
        refuse_change("data", path, "the environment was pickled")
    return _loaded.get((path, current), lambda: _read(path, current))


def _read(path: str, digest: str) -> TaskFile:
    read = _read_parquet if path.endswith(".parquet") else _read_jsonl
    try:
        columns = read(path)
    except OSError as error:
        refuse_unreadable("data", path, error)
    if fingerprint("data", path) != digest:
        refuse_change("data", path, "reading it began")
    return _make(path, digest, *columns)


def _refuse(path: str, row: int, field: str, problem: str) -> NoReturn:
    message = f"data: {path}, row {row}, {field}: {problem}"
    raise InvalidOptionError(message)


def _make(path: str, digest: str, lengths: Any, numbers: Any, targets: Any) -> TaskFile:
    """Return the tasks after the checks that both kinds of file need."""
    lengths, numbers, targets = (
        np.array(values, np.int64) for values in (lengths, numbers, targets)
    )
    if not len(targets):
        message = f"data: {path} has no rows"
        raise InvalidOptionError(message)
    if not lengths.all():
        row = int(np.argmin(lengths))
        _refuse(path, row, "nums", "expected at least one number, got []")
    outside = np.flatnonzero((numbers < 0) | (numbers >= 10**_MAX_DIGITS))
    if len(outside):
        row = int(np.searchsorted(np.cumsum(lengths), outside[0], side="right"))
        problem = (
            f"expected numbers from 0 on of at most {_MAX_DIGITS} digits, as answers "
            f"have them, got {numbers[outside[0]]}"
        )
        _refuse(path, row, "nums", problem)
    return TaskFile(path, digest, lengths, numbers, targets)


def _lines(path: str) -> Iterator[str]:
    opened: Any = gzip.open if path.endswith(".gz") else open
    with opened(path, "rt", encoding="utf-8") as file:
        yield from file


def _read_jsonl(path: str) -> Columns:
    """Return the columns of a file with a JSON object in each line."""
    lengths: list[int] = []
    numbers: list[int] = []
    targets: list[int] = []
    try:
        for line in _lines(path):
            if not line.strip():
                continue
            nums, target = _parse_line(path, len(targets), line)
            lengths.append(len(nums))
            numbers += nums
            targets.append(target)
    except (UnicodeDecodeError, EOFError, zlib.error) as error:
        message = f"data: {path}, after row {len(targets) - 1}: {error}"
        raise InvalidOptionError(message) from error
    return lengths, numbers, targets


def _parse_line(path: str, row: int, line: str) -> tuple[list[int], int]:
    try:
        entry = json.loads(line)
    except (ValueError, RecursionError) as error:
        _refuse(path, row, "nums and target", f"not a JSON object: {error}")
    if not isinstance(entry, dict):
        _refuse(path, row, "nums and target", "expected a JSON object")
    for field in ("nums", "target"):
        if field not in entry:
            _refuse(path, row, field, "missing")
    nums, target = entry["nums"], entry["target"]
    if not isinstance(nums, list) or not all(map(_is_int64, nums)):
        problem = f"expected a list of integers, got {shorten(nums)}"
        _refuse(path, row, "nums", problem)
    if not _is_int64(target):
        problem = f"expected an integer, got {shorten(target)}"
        _refuse(path, row, "target", problem)
    return nums, target


def _is_int64(value: Any) -> bool:
    return type(value) is int and -_INT64 <= value < _INT64


def _read_parquet(path: str) -> Columns:
    """Return the columns of a parquet file with the columns ``nums`` and ``target``."""
    try:
        arrow = importlib.import_module("pyarrow")
        parquet = importlib.import_module("pyarrow.parquet")
    except ImportError:
        feature = f"data={path!r}"
        raise MissingExtraError(feature, extra="parquet", package="pyarrow") from None
    try:
        with parquet.ParquetFile(path) as file:
            for field in ("nums", "target"):
                count = file.schema_arrow.names.count(field)
                if count != 1:
                    number = (
                        f"are {count} such columns" if count else "is no such column"
                    )
                    _refuse(path, 0, field, f"there {number}")
            columns = file.read(columns=["nums", "target"])
            nums = columns["nums"].combine_chunks()
            target = columns["target"].combine_chunks()
            types = arrow.types
            is_list = (
                types.is_list(nums.type)
                or types.is_large_list(nums.type)
                or types.is_fixed_size_list(nums.type)
            )
            if not is_list or not types.is_integer(nums.type.value_type):
                problem = f"expected lists of integers, got {nums.type}"
                _refuse(path, 0, "nums", problem)
            if not types.is_integer(target.type):
                _refuse(path, 0, "target", f"expected integers, got {target.type}")
            for field, column in (("nums", nums), ("target", target)):
                if column.null_count:
                    row = column.is_null().index(arrow.scalar(True)).as_py()
                    _refuse(path, row, field, "missing")
            lengths = nums.value_lengths().to_numpy(zero_copy_only=False)
            numbers = nums.flatten()
            if numbers.null_count:
                at = numbers.is_null().index(arrow.scalar(True)).as_py()
                row = int(np.searchsorted(np.cumsum(lengths), at, side="right"))
                _refuse(path, row, "nums", "expected integers, got null")
            int64 = arrow.int64()
            numbers = numbers.cast(int64).to_numpy(zero_copy_only=False)
            target = target.cast(int64).to_numpy(zero_copy_only=False)
    except InvalidOptionError:
        raise
    except Exception as error:
        # Damage makes pyarrow raise many things, names that are no UTF-8 among them.
        problem = f"{type(error).__name__}: {error}"
        message = f"data: {path} is no parquet file of tasks: {problem}"
        raise InvalidOptionError(message) from error
    return lengths, numbers, target
