"""Files of results: JSON lines, a header and one line for each episode.

::

    {"format": "roll-vec eval", "version": 1, "id": ..., "split": ..., "digest": ...,
     "keywords": {...}, "policy": {...}, "files": {...}, "versions": {...}}
    {"episode": 0, "seed": 1000000, "return": 1.0, "success": true, "length": 6,
     "terminated": true, "truncated": false, "fault": null}

While a run goes on, the lines stand in the order in which the episodes have ended.  In
a complete file they stand in the order of the split, so that its bytes do not depend on
the batch, or on interruptions.  A last line without its end, after a crash, is dropped.
"""

from __future__ import annotations

import json
import math
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NoReturn

from roll_vec.errors import InvalidFileError, InvalidOptionError, shorten
from roll_vec.evaluation.episodes import EpisodeRecord
from roll_vec.evaluation.split import Split
from roll_vec.factories import WORK_KEYWORDS
from roll_vec.storage.files import check_regular, find_target
from roll_vec.storage.journal import Journal, read_lines
from roll_vec.storage.plain_data import encode
from roll_vec.version import __version__

FORMAT = "roll-vec eval"
VERSION = 1
# The names of a line, in their order, the fields of `EpisodeRecord`, and their types.
_FIELDS: dict[str, tuple[str, tuple[type, ...]]] = {
    "episode": ("episode", (int,)),
    "seed": ("seed", (int,)),
    "return": ("total_reward", (float, int)),
    "success": ("success", (bool,)),
    "length": ("length", (int,)),
    "terminated": ("terminated", (bool,)),
    "truncated": ("truncated", (bool,)),
    "fault": ("fault", (str, type(None))),
}


@dataclass(frozen=True)
class ResultHeader:
    """The episodes, the environments and the policy of a file of results.

    Parameters
    ----------
    id, split, digest : str
        Of the split.
    keywords : dict
        Those that were passed to ``split.make_vec``, as plain JSON, without those that
        change no result, such as ``workers``.
    policy : dict
        Everything that the policy depends on, as plain JSON: at least ``name``.
    files : dict
        The name and the SHA-256 of each data file of the split, by keyword.
    versions : dict of str to str
        By package.
    """

    id: str
    split: str
    digest: str
    keywords: dict[str, Any]
    policy: dict[str, Any]
    files: dict[str, dict[str, str]] = field(default_factory=dict)
    versions: dict[str, str] = field(default_factory=dict)

    @classmethod
    def of(
        cls,
        split: Split,
        keywords: Mapping[str, Any],
        policy: Mapping[str, Any],
        versions: Mapping[str, str] | None = None,
    ) -> ResultHeader:
        """Return the header of a run.

        Parameters
        ----------
        split : Split
        keywords : mapping
            Those that are passed to ``split.make_vec``: plain data.
        policy : mapping
        versions : mapping, optional
            By package; None: that of this package.

        Raises
        ------
        InvalidOptionError
            If a keyword is no plain data.
        """
        try:
            plain = json.loads(
                encode(
                    {
                        name: value
                        for name, value in sorted(keywords.items())
                        if name not in WORK_KEYWORDS
                    }
                )
            )
        except TypeError as error:
            accepted = "plain data, which a file of results can store"
            raise InvalidOptionError.expected(
                "keywords", accepted, keywords, f"; {error}"
            ) from error
        return cls(
            id=split.id,
            split=split.name,
            digest=split.digest,
            keywords=plain,
            policy=dict(policy),
            files={name: dict(entry) for name, entry in split.files.items()},
            versions=dict(versions or {"roll-vec": __version__}),
        )

    def to_json(self) -> dict[str, Any]:
        """Return the first line of a file."""
        return {"format": FORMAT, "version": VERSION, **vars(self)}

    def check_same(self, other: ResultHeader, path: Path) -> None:
        """Check that the results of another header may stand beside those of this one.

        Raises
        ------
        InvalidOptionError
            With the first difference.
        """
        pairs = {
            name: (getattr(self, name), getattr(other, name))
            for name in ("id", "split", "digest", "keywords", "policy")
        }
        package = "roll-vec"
        pairs["version of roll-vec"] = (
            self.versions.get(package),
            other.versions.get(package),
        )
        for name, (expected, value) in pairs.items():
            if expected != value:
                message = (
                    f"{str(path)!r} has results of another run, its {name}: "
                    f"{_words(value)}; this run: {_words(expected)}; choose another "
                    "file, or remove it"
                )
                raise InvalidOptionError(message)


def _words(value: Any) -> str:
    """Return a value of a header for a message: a mapping without its braces."""
    if not isinstance(value, dict):
        return repr(value)
    pairs = (f"{name}={part!r}" for name, part in value.items() if part is not None)
    return ", ".join(pairs) or "none"


@dataclass(frozen=True)
class ResultFile:
    """The content of a file of results.

    Parameters
    ----------
    header : ResultHeader
    records : dict of int to EpisodeRecord
        By the number of the episode, ascending.
    """

    header: ResultHeader
    records: dict[int, EpisodeRecord]


def read_results(path: str | os.PathLike[str]) -> ResultFile:
    """Read a file of results; a last line without its end is dropped.

    Raises
    ------
    InvalidFileError
        If the file cannot be read, or is no file of results.
    """
    path = Path(path)
    try:
        check_regular(path)
        lines = [*read_lines(path)]
    except OSError as error:
        message = f"{str(path)!r} cannot be read: {error.strerror}"
        raise InvalidFileError(message) from error
    records: dict[int, EpisodeRecord] = {}
    number = 0
    try:
        header = _parse_header(_parse(lines[0] if lines else b""))
        for number, line in enumerate(lines[1:], 1):  # noqa: B007
            record = _parse_record(_parse(line))
            if record.episode in records:
                message = f"episode {record.episode} stands there twice"
                raise ValueError(message)
            records[record.episode] = record
    except (ValueError, KeyError, TypeError, OverflowError) as error:
        reason = f"no {error}" if isinstance(error, KeyError) else error
        message = (
            f"{str(path)!r} is no file of roll-vec eval: line {number + 1}: {reason}"
        )
        raise InvalidFileError(message) from error
    return ResultFile(header, dict(sorted(records.items())))


class ResultLog:
    """A file of results that grows: each episode is written when it has ended.

    Parameters
    ----------
    path : path
    header : ResultHeader
    retry_faults : bool
        True: the faults in the file are dropped, so that they are played again.

    Attributes
    ----------
    records : dict of int to EpisodeRecord
        Those of the file, by the number of the episode.

    Raises
    ------
    InvalidFileError
        If the path has a file that is no file of results, or cannot be written; the
        methods raise it, too.
    InvalidOptionError
        If the path has the results of another run, or another process writes to it.
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        header: ResultHeader,
        *,
        retry_faults: bool = False,
    ) -> None:
        self._path, self._header = Path(path), header
        self.records: dict[int, EpisodeRecord] = {}
        with self._write_errors():
            check_regular(path, "written")
            self._path = find_target(path)
            self._journal = Journal(self._path)
        self._is_open = True
        try:
            if self._path.exists():
                self._take_over(read_results(self._path), retry_faults)
            self._sort()
        except BaseException:
            self._journal.close()
            raise

    def _take_over(self, content: ResultFile, retry_faults: bool) -> None:
        """Take over the records of an interrupted run."""
        if content.records:
            self._header.check_same(content.header, self._path)
            # Files and versions are those of the first run.
            self._header = content.header
        self.records = {
            number: record
            for number, record in content.records.items()
            if not (retry_faults and record.fault is not None)
        }

    def _sort(self) -> None:
        """Write the whole file, in the order of the split."""
        records = sorted(self.records.values(), key=lambda record: record.episode)
        lines = [self._header.to_json(), *map(_to_plain, records)]
        with self._write_errors():
            self._journal.replace(map(_to_line, lines))

    def add(self, record: EpisodeRecord) -> None:
        """Write the record of an episode."""
        self.records[record.episode] = record
        with self._write_errors():
            self._journal.add(_to_line(_to_plain(record)))

    def close(self) -> None:
        """Close the file; its lines get the order of the split."""
        if not self._is_open:
            return
        self._is_open = False
        try:
            self._sort()
        finally:
            self._journal.close()

    def __enter__(self) -> ResultLog:
        return self

    def __exit__(self, *args: object) -> None:
        self.close()

    @contextmanager
    def _write_errors(self) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            message = f"{str(self._path)!r} cannot be written: {error.strerror}"
            raise InvalidFileError(message) from error


def _to_line(content: Mapping[str, Any]) -> bytes:
    return json.dumps(content, allow_nan=False).encode()


def _to_plain(record: EpisodeRecord) -> dict[str, Any]:
    return {name: getattr(record, field) for name, (field, _) in _FIELDS.items()}


def _parse(line: bytes) -> dict[str, Any]:
    try:
        content = json.loads(line, parse_constant=_refuse_constant)
    except (ValueError, RecursionError):
        message = "it is not JSON"
        raise ValueError(message) from None
    if not isinstance(content, dict):
        message = "it is no JSON object"
        raise TypeError(message)
    return content


def _refuse_constant(name: str) -> NoReturn:
    """Refuse NaN and Infinity, which Python's reader accepts."""
    raise ValueError(name)


def _parse_header(content: dict[str, Any]) -> ResultHeader:
    if content.get("format") != FORMAT:
        message = f"its format is {content.get('format')!r} and not {FORMAT!r}"
        raise ValueError(message)
    if content.get("version") != VERSION:
        message = f"its version is {content.get('version')!r} and not {VERSION}"
        raise ValueError(message)
    names = ("id", "split", "digest", "keywords", "policy", "files", "versions")
    for name in names:
        kind = str if name in names[:3] else dict
        if not isinstance(content[name], kind):
            message = f"{name} is no {kind.__name__}"
            raise TypeError(message)
    # 1e999 is JSON, and infinite: no file could be written with this header.
    json.dumps(content, allow_nan=False)
    return ResultHeader(**{name: content[name] for name in names})


def _parse_record(content: dict[str, Any]) -> EpisodeRecord:
    for name, (_, types) in _FIELDS.items():
        # A bool is an int to isinstance.
        if type(content[name]) not in types:
            message = f"{name} is {content[name]!r}"
            raise TypeError(message)
    if not 0 <= content["length"] < 1 << 63:
        message = f"length is {shorten(content['length'])}"
        raise ValueError(message)
    total_reward = float(content["return"])
    if not math.isfinite(total_reward):
        message = f"return is {total_reward}"
        raise ValueError(message)
    values = {field: content[name] for name, (field, _) in _FIELDS.items()}
    return EpisodeRecord(**{**values, "total_reward": total_reward})
