"""A file of lines, with which an interrupted program goes on.

Evaluations write such files: the first line is the plan, each other line one result. A
line counts when it has its end. So a program that is killed at any point loses no more
than the line that it was writing.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import BinaryIO

from roll_vec.storage.files import replace_file


class Journal:
    """A file of lines; only one process may write it at a time.

    Parameters
    ----------
    path : Path

    Raises
    ------
    OSError
        By the methods.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._file: BinaryIO | None = None

    def replace(self, lines: Iterable[bytes]) -> None:
        """Write the whole file.  An interrupted call leaves the old one.

        Parameters
        ----------
        lines : iterable of bytes
            Without their ends.
        """
        self.close()
        with replace_file(self.path) as file:
            file.writelines(line + b"\n" for line in lines)

    def add(self, line: bytes) -> None:
        """Write a line; it is in the file when this returns."""
        if self._file is None:
            self._file = self.path.open("ab")
        self._file.write(line + b"\n")
        self._file.flush()

    def close(self) -> None:
        """Close the file; a second call does nothing."""
        file, self._file = self._file, None
        if file is not None:
            file.close()


def read_lines(path: Path) -> Iterator[bytes]:
    """Yield the lines of a file that have their end, without it.

    Raises
    ------
    OSError
    """
    with path.open("rb") as file:
        for line in file:
            if line.endswith(b"\n"):
                yield line[:-1]
