"""Objects of a file, whose values are checked when they are read.

Each error is an `InvalidFileError` with the file, the place in it, and what is
accepted there.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from roll_vec.errors import InvalidFileError, shorten
from roll_vec.recordings.readers import kinds

# ROLL writes all episodes of a training step in one line.
MAX_LINE_BYTES = 1 << 28


@dataclass(frozen=True)
class Row:
    """An object of a file.

    Parameters
    ----------
    content : mapping
    path : Path
    place : str
        Such as ``line 3``.
    name : str
        Where the object stands in that of the line, such as ``env_info.``.
    """

    content: Mapping[str, Any]
    path: Path
    place: str
    name: str = ""

    def error(self, name: str, message: str) -> InvalidFileError:
        """Return the error about a value."""
        where = f"{str(self.path)!r}: {self.place}"
        return InvalidFileError(f"{where}: {self.name}{name}: {message}")

    def check(self, name: str, kind: kinds.Kind, value: Any) -> Any:
        """Return a value; if it is of another kind, it is an error."""
        if not kind.accepts(value):
            raise self.error(name, f"expected {kind.accepted}, got {shorten(value)}")
        return value

    def get(self, name: str, kind: kinds.Kind) -> Any:
        """Return a value; without it, or if it is of another kind, it is an error."""
        if self.content.get(name) is None:
            raise self.error(name, f"expected {kind.accepted}, but there is none")
        return self.find(name, kind)

    def find(self, name: str, kind: kinds.Kind, default: Any = None) -> Any:
        """Return a value, or the default if there is none, or null."""
        value = self.content.get(name)
        return default if value is None else self.check(name, kind, value)

    def parse(self, name: str, text: str | bytes, kind: kinds.Kind) -> Any:
        """Return the value of a text of JSON."""
        try:
            value = json.loads(text)
        except (ValueError, RecursionError) as error:
            message = f"expected {kind.accepted}, but it is broken: {error}"
            raise self.error(name, message) from None
        return self.check(name, kind, value)

    def enter(self, name: str) -> Row:
        """Return an object within this one; without it, one without values."""
        inner = self.find(name, kinds.OBJECT, {})
        return replace(self, content=inner, name=f"{self.name}{name}.")

    def rows(self, name: str) -> list[Row]:
        """Return the objects of a list; without it none."""
        return [
            replace(self, content=part, name=f"{self.name}{name}[{number}].")
            for number, part in enumerate(self.find(name, kinds.OBJECTS, []))
        ]


def read_rows(path: Path) -> Iterator[Row]:
    """Yield the objects of a file: of each line, or of the one list of a file.

    Raises
    ------
    InvalidFileError
        At the line that is no JSON object; empty lines are left out.
    OSError
    """
    with path.open("rb") as file:
        number = 0
        while line := file.readline(MAX_LINE_BYTES + 1):
            number += 1
            row = Row({}, path, f"line {number}")
            if len(line) > MAX_LINE_BYTES:
                message = f"expected at most {MAX_LINE_BYTES:,} bytes in a line"
                raise row.error("JSON", message)
            if number == 1 and line.lstrip().startswith(b"["):
                line += file.read(MAX_LINE_BYTES - len(line))
                for place, part in enumerate(row.parse("JSON", line, kinds.OBJECTS), 1):
                    yield Row(part, path, f"row {place}")
            elif line.strip():
                content = row.parse("JSON", line, kinds.OBJECT)
                yield replace(row, content=content)
