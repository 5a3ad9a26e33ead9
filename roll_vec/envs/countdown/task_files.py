"""Files of tasks, loaded once a process; `task_rows` reads them."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from roll_vec.envs.countdown.options import CountdownOptions
from roll_vec.envs.countdown.task_rows import MAX_DIGITS, read_tasks
from roll_vec.errors import InvalidOptionError
from roll_vec.storage.data_files import fingerprint, refuse_change
from roll_vec.storage.process_cache import ProcessCache

_NEEDS = {
    "max_digits": "a number of {} digits",
    "max_tokens": "numbers for {} tokens",
    "max_chars": "numbers for {} characters",
}


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
        powers = 10 ** np.arange(1, MAX_DIGITS + 1, dtype=np.int64)
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
                    f"data: {self.path}, row {row}, nums: {_NEEDS[name].format(need)}, "
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
        Absolute; see `roll_vec.envs.countdown.task_rows`.
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
