"""The complete parts of an export, in a folder beside its output.

::

    train.jsonl.partial/
        journal          the plan, then a line for each part
        00000, 00001     the parts
        lock             locked by the process that writes

A part gets its name when it is complete, and then its line.  The line has the size and
the CRC-32 of the part, and the totals so far.  Before each line stands the CRC-32 of
the line itself.  An export that was interrupted at any point, even by a power failure,
goes on after the last part whose line is undamaged and that is as its line says.
"""

from __future__ import annotations

import json
import re
import shutil
import zlib
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from roll_vec.errors import InvalidOptionError, shorten
from roll_vec.file_locks import WriteLock
from roll_vec.files import replace_file

__all__ = ["Journal", "Totals"]

_JOURNAL, _LOCK, _INCOMPLETE = "journal", "lock", "incomplete"
# Also of the parts, and of the output before it gets its place.
_OWN_NAMES = re.compile(rf"{_JOURNAL}|{_LOCK}|{_INCOMPLETE}|complete|\d{{5,}}")


@dataclass(frozen=True)
class Totals:
    """Sums over the episodes so far."""

    episodes: int = 0
    """Also those that were left out."""
    rows: int = 0
    successes: int = 0
    """Of the rows."""
    faults: int = 0
    """Episodes that an environment of a pool ended by an error; they are left out."""
    steps: int = 0
    """Of the rows."""
    total_return: float = 0.0
    """Of the rows, added in their order."""


class Journal:
    """The folder of an export: parts that are complete, and the totals so far.

    Parameters
    ----------
    folder : Path
        Made if it does not exist.
    plan : dict
        Decides the output, as values that JSON can write.

    Attributes
    ----------
    parts : list of Path
    totals : Totals

    Raises
    ------
    InvalidOptionError
        If the folder is of another plan, of something else, or of another process.
    OSError
    """

    def __init__(self, folder: Path, plan: dict[str, Any]) -> None:
        self.folder = folder
        self.parts: list[Path] = []
        self.totals = Totals()
        self._path = folder / _JOURNAL
        if folder.exists() and self._has_others():
            message = f"out: {folder} exists, and is no unfinished export"
            raise InvalidOptionError(message)
        folder.mkdir(exist_ok=True)
        self._lock = WriteLock(folder / _LOCK, folder)
        try:
            self._open(plan)
        except BaseException:
            self.close()
            raise

    def _has_others(self) -> bool:
        """Return whether something else is in the folder."""
        return not self.folder.is_dir() or any(
            not _OWN_NAMES.fullmatch(path.name) for path in self.folder.iterdir()
        )

    def close(self) -> None:
        """Let other processes go on with the export."""
        self._lock.release()

    def _open(self, plan: dict[str, Any]) -> None:
        """Take over the parts of an interrupted export, and begin the journal."""
        # In the form that it has when it is read.
        lines = [json.loads(json.dumps(plan))]
        old = self._read_lines()
        if old:
            _check_plan(self.folder, old[0], lines[0])
        for line in old[1:]:
            if not self._take(line):
                break
            lines.append(line)
        # Without the lines of parts that are damaged or were never complete.
        self._replace(self._path, b"".join(map(_to_line, lines)))

    def _read_lines(self) -> list[dict[str, Any]]:
        """Return the lines of the journal, up to the first damaged one."""
        if not self._path.is_file():
            return []
        lines = []
        for line in self._path.read_bytes().splitlines():
            checksum, _, text = line.partition(b" ")
            if checksum != _checksum(text):
                break
            try:
                content = json.loads(text)
            except (ValueError, RecursionError):
                break
            if not isinstance(content, dict):
                break
            lines.append(content)
        return lines

    def _take(self, line: dict[str, Any]) -> bool:
        """Take over the next part; False if it is not as its line says."""
        path = self._next_part()
        if not path.is_file():
            return False
        content = path.read_bytes()
        try:
            if [len(content), zlib.crc32(content)] != [line["size"], line["crc"]]:
                return False
            totals = Totals(**line["totals"])
        except (LookupError, TypeError):
            return False
        self.parts.append(path)
        self.totals = totals
        return True

    def _next_part(self) -> Path:
        return self.folder / f"{len(self.parts):05}"

    def _replace(self, path: Path, content: bytes) -> None:
        with replace_file(path, self.folder / _INCOMPLETE) as file:
            file.write(content)

    def add(self, content: bytes, totals: Totals) -> None:
        """Add a part, and the totals after it.

        Raises
        ------
        OSError
        """
        path = self._next_part()
        self._replace(path, content)
        line = {
            "size": len(content),
            "crc": zlib.crc32(content),
            "totals": asdict(totals),
        }
        with self._path.open("ab") as file:
            file.write(_to_line(line))
        self.parts.append(path)
        self.totals = totals

    def remove(self) -> None:
        """Delete the folder."""
        self.close()
        shutil.rmtree(self.folder)


def _check_plan(folder: Path, old: dict[str, Any], new: dict[str, Any]) -> None:
    """Raise an error if an unfinished export is of another plan."""
    for name in {**old, **new}:
        before, now = old.get(name), new.get(name)
        if before != now:
            message = (
                f"out: {folder} has an unfinished export of another command: {name} "
                f"was {shorten(before)}, and is now {shorten(now)}; run that command "
                "again, or delete the folder"
            )
            raise InvalidOptionError(message)


def _to_line(content: dict[str, Any]) -> bytes:
    text = json.dumps(content).encode()
    return _checksum(text) + b" " + text + b"\n"


def _checksum(text: bytes) -> bytes:
    return b"%08x" % zlib.crc32(text)
