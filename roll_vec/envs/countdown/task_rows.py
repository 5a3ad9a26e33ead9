"""The rows of task files: a reader for each kind of file, and one rule for a row.

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
from itertools import chain, pairwise
from pathlib import Path
from typing import Any

import numpy as np

from roll_vec.errors import InvalidOptionError, MissingExtraError
from roll_vec.storage.data_files import max_text_size, open_text, refuse_unreadable

MAX_DIGITS = 18
"""The most digits of a number."""
_LIMIT, _INT64 = 10**MAX_DIGITS, 1 << 63

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
    MissingExtraError
        For a parquet file without pyarrow.
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
    numbers = _read_nums(nums, f"{place}, nums")
    if entry.keys() >= _PLAIN and entry["numbers"] not in (None, nums):
        others = _read_nums(entry["numbers"], f"{place}, numbers")
        if others != numbers:
            place += ", numbers"
            accepted = f"the value of nums, {numbers}"
            raise InvalidOptionError.expected(place, accepted, others)
    return numbers, target


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
        if not 0 <= number < _LIMIT:
            accepted = f"numbers from 0 on of at most {MAX_DIGITS} digits"
            accepted += ", as answers have them"
            raise InvalidOptionError.expected(place, accepted, number)
        numbers.append(number)
    if not numbers:
        raise InvalidOptionError.expected(place, "at least one number", value)
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


def _read_parquet(path: str) -> Iterator[dict[str, Any]]:
    """Yield the rows of a parquet file, of the columns that `_read_task` may read."""
    _, parquet = (
        MissingExtraError.import_module(name, f"data={path!r}", extra="parquet")
        for name in ("pyarrow", "pyarrow.parquet")
    )
    try:
        with parquet.ParquetFile(path) as file:
            columns: list[str] = file.schema_arrow.names
            others = () if _PLAIN & {*columns} else _TRUTHS
            names = [name for name in (*_NUMS, *_TARGETS, *others) if name in columns]
            for name in names:
                count = columns.count(name)
                if count > 1:
                    message = f"data: {path}: expected one column {name!r}, got {count}"
                    raise InvalidOptionError(message)
            if not names:
                yield {}
            _check_size(path, file.metadata, names)
            for batch in file.iter_batches(columns=names):
                columns_of_batch = [_to_list(batch.column(name)) for name in names]
                for row in zip(*columns_of_batch, strict=True):
                    yield dict(zip(names, row, strict=True))
    except InvalidOptionError:
        raise
    except Exception as error:
        # pyarrow raises many types for damaged files, also for names without UTF-8.
        problem = f"{type(error).__name__}: {error}"
        message = f"data: {path} is no parquet file of tasks: {problem}"
        raise InvalidOptionError(message) from error


def _to_list(column: Any) -> list[Any]:
    """Return the values of a column; lists of integers in a tenth of the time."""
    numbers = column.flatten() if hasattr(column, "value_lengths") else column
    is_plain = not (column.null_count or numbers.null_count)
    is_integer = str(numbers.type).startswith(("int", "uint"))
    if numbers is column or not (is_plain and is_integer):
        values: list[Any] = column.to_pylist()
        return values
    stops = np.cumsum(column.value_lengths()).tolist()
    numbers = numbers.to_numpy().tolist()
    return [numbers[start:stop] for start, stop in pairwise([0, *stops])]


def _check_size(path: str, metadata: Any, names: list[str]) -> None:
    """Refuse a parquet file that is small and has very many numbers."""
    count = sum(
        group.column(j).num_values
        for group in map(metadata.row_group, range(metadata.num_row_groups))
        for j in range(metadata.num_columns)
        if group.column(j).path_in_schema.partition(".")[0] in names
    )
    if 8 * count > max_text_size(Path(path).stat().st_size):
        message = f"data: {path} has {count} numbers, which a file of its size has not"
        raise InvalidOptionError(message)


_READERS: dict[str, Callable[[str], Iterator[Any]]] = {
    ".parquet": _read_parquet,
    ".jsonl": _read_json,
    ".json": _read_json,
    ".csv": _read_csv,
}
ENDINGS = (*_READERS, ".jsonl.gz", ".json.gz", ".csv.gz")
"""The endings of files of tasks."""
