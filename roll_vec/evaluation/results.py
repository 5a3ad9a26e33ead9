"""Files of results, which interrupted evaluations go on with; two of them compared.

A file has JSON lines: a header, and one line for each episode.

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
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, nullcontext
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any, BinaryIO, TypeAlias

import numpy as np

from roll_vec.errors import InvalidFileError, InvalidOptionError
from roll_vec.evaluation.episodes import EpisodeRecord, EpisodeResults
from roll_vec.evaluation.splits import Split
from roll_vec.evaluation.statistics import (
    Interval,
    mcnemar_p_value,
    paired_mean_interval,
    paired_rate_interval,
)
from roll_vec.registration.factories import WORK_KEYWORDS
from roll_vec.storage.files import check_regular, find_target, replace_file
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
        task = {name: keywords[name] for name in sorted({*keywords} - WORK_KEYWORDS)}
        try:
            plain = json.loads(encode(task))
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
        expected = self._facts()
        for name, value in other._facts().items():
            if value != expected[name]:
                message = (
                    f"{str(path)!r} has results of another run, its {name}: "
                    f"{_words(value)}; this run: {_words(expected[name])}; choose "
                    "another file, or remove it"
                )
                raise InvalidOptionError(message)

    def _facts(self) -> dict[str, Any]:
        """Return all that decides the results, by name."""
        names = ("id", "split", "digest", "keywords", "policy")
        facts = {name: getattr(self, name) for name in names}
        return {**facts, "version of roll-vec": self.versions.get("roll-vec")}


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
        # A line counts when it has its end: a program that is killed at any point loses
        # no more than the line that it was writing.
        lines = path.read_bytes().split(b"\n")[:-1]
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
        If the path has the results of another run.
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
        self._file: BinaryIO | None = None
        self._is_open = True
        if self._path.exists():
            self._take_over(read_results(self._path), retry_faults)
        self._sort()

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
        """Write the whole file, in the order of the split, or leave the old one."""
        records = sorted(self.records.values(), key=lambda record: record.episode)
        lines = [self._header.to_json(), *map(_to_plain, records)]
        with self._write_errors():
            old_file, self._file = self._file, None
            if old_file is not None:
                old_file.close()
            with replace_file(self._path) as file:
                file.writelines(map(_to_line, lines))

    def add(self, record: EpisodeRecord) -> None:
        """Write the record of an episode; it is in the file when this returns."""
        self.records[record.episode] = record
        with self._write_errors():
            if self._file is None:
                self._file = self._path.open("ab")
            self._file.write(_to_line(_to_plain(record)))
            self._file.flush()

    def close(self) -> None:
        """Close the file; its lines get the order of the split."""
        if not self._is_open:
            return
        self._is_open = False
        self._sort()

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
    return json.dumps(content, allow_nan=False).encode() + b"\n"


def _to_plain(record: EpisodeRecord) -> dict[str, Any]:
    return {name: getattr(record, field) for name, (field, _) in _FIELDS.items()}


def _parse(line: bytes) -> dict[str, Any]:
    try:
        content = json.loads(line)
    except (ValueError, RecursionError):
        message = "it is not JSON"
        raise ValueError(message) from None
    if not isinstance(content, dict):
        message = "it is no JSON object"
        raise TypeError(message)
    return content


def _parse_header(content: dict[str, Any]) -> ResultHeader:
    for name, value in (("format", FORMAT), ("version", VERSION)):
        if content.get(name) != value:
            message = f"its {name} is {content.get(name)!r} and not {value!r}"
            raise ValueError(message)
    names = [field.name for field in fields(ResultHeader)]
    for name in names:
        kind = str if name in ("id", "split", "digest") else dict
        if not isinstance(content[name], kind):
            message = f"{name} is no {kind.__name__}"
            raise TypeError(message)
    return ResultHeader(**{name: content[name] for name in names})


def _parse_record(content: dict[str, Any]) -> EpisodeRecord:
    for name, (_, types) in _FIELDS.items():
        # A bool is an int to isinstance.
        if type(content[name]) not in types:
            message = f"{name} is {content[name]!r}"
            raise TypeError(message)
    values = {field: content[name] for name, (field, _) in _FIELDS.items()}
    values["total_reward"] = total_reward = float(content["return"])
    if not math.isfinite(total_reward):
        message = f"return is {total_reward}"
        raise ValueError(message)
    return EpisodeRecord(**values)


# ------------------------------------------------------------------------ evaluations

Play: TypeAlias = Callable[[Sequence[int]], Iterator[EpisodeRecord]]
"""Plays some episodes of a split, by their numbers, and yields each at its end."""


def evaluate(
    split: Split,
    play: Play,
    *,
    num: int | None = None,
    header: ResultHeader | None = None,
    path: str | os.PathLike[str] | None = None,
    retry_faults: bool = False,
    on_progress: Callable[[int, int], None] | None = None,
) -> list[EpisodeRecord]:
    """Play the first episodes of a split and return their records, in their order.

    With a path, each record is written when its episode has ended, and episodes that
    the file has already are not played again.  So after Ctrl-C, or a crash, the same
    call goes on.

    Parameters
    ----------
    split : Split
    play : callable
        Such as ``partial(play_episodes, split, envs, policy)``.
    num : int, optional
        How many episodes, from the first on; None: all.
    header : ResultHeader, optional
        Needed with a path.
    path : path, optional
        The file of results.
    retry_faults : bool
        True: episodes that ended by a fault in the file are played again.
    on_progress : callable, optional
        Called with the number of episodes that are done and the number that this call
        has played, after each episode and once before the first.

    Raises
    ------
    InvalidFileError
        If the path has a file of another kind.
    InvalidOptionError
        If it has the results of another run, or ``num`` is out of range.
    """
    count = len(split) if num is None else num
    if not 1 <= count <= len(split):
        accepted = f"1 to {len(split)}, the episodes of {split.id} {split.name}"
        raise InvalidOptionError.expected("num", accepted, num)
    log: Any = nullcontext()
    if path is not None:
        if header is None:
            accepted = "a ResultHeader with a path"
            raise InvalidOptionError.expected("header", accepted, None)
        log = ResultLog(path, header, retry_faults=retry_faults)
    with log:
        records = {} if path is None else log.records
        for number, record in records.items():
            is_known = 0 <= number < len(split) and split.seeds[number] == record.seed
            if not is_known:
                message = (
                    f"{os.fspath(path or '')!r}: episode {number} of seed "
                    f"{record.seed} is not of {split.id} {split.name}"
                )
                raise InvalidFileError(message)
        missing = [number for number in range(count) if number not in records]
        num_before = count - len(missing)
        if on_progress is not None:
            on_progress(num_before, 0)
        if missing:
            with closing(play(missing)) as episodes:  # type: ignore[type-var]
                for num_played, record in enumerate(episodes, 1):
                    records[record.episode] = record
                    if path is not None:
                        log.add(record)
                    if on_progress is not None:
                        on_progress(num_before + num_played, num_played)
        return [records[number] for number in range(count)]


# ----------------------------------------------------------------------- comparisons


@dataclass(frozen=True)
class Comparison:
    """Two policies on the same episodes.

    Parameters
    ----------
    headers : pair of ResultHeader
    results : pair of EpisodeResults
        Of the same episodes in the same order.
    """

    headers: tuple[ResultHeader, ResultHeader]
    results: tuple[EpisodeResults, EpisodeResults]

    def __len__(self) -> int:
        return len(self.results[0].returns)

    def success_difference(self) -> Interval:
        """Return the second success rate minus the first, and its 95 % interval."""
        first, second = self.results
        return paired_rate_interval(first.successes, second.successes)

    def return_difference(self) -> Interval:
        """Return the second mean return minus the first, and its 95 % interval."""
        first, second = self.results
        return paired_mean_interval(first.returns, second.returns)

    def discordant(self) -> tuple[int, int]:
        """Return how many episodes only the first solves, and only the second."""
        first, second = (results.successes for results in self.results)
        return (
            int(np.count_nonzero(first & ~second)),
            int(np.count_nonzero(second & ~first)),
        )

    def p_value(self) -> float:
        """Return McNemar's exact two-sided p-value of equal success rates."""
        return mcnemar_p_value(*self.discordant())


def compare_results(
    first: str | os.PathLike[str],
    second: str | os.PathLike[str],
    *,
    only_common: bool = False,
) -> Comparison:
    """Read two files of results and pair their episodes.

    Parameters
    ----------
    first, second : path
        Of the same split.  Their keywords may differ: those of a split leave the task
        as it is.
    only_common : bool
        True: episodes that only one file has are left out.  False: they are an error.

    Raises
    ------
    InvalidFileError
        If one is no file of results.
    InvalidOptionError
        If the files have other splits or episodes, or no episode in common.
    """
    paths = Path(first), Path(second)
    files = read_results(first), read_results(second)
    for name in ("id", "split", "digest"):
        values = [getattr(file.header, name) for file in files]
        if values[0] != values[1]:
            message = (
                f"compare: the {name} of {str(paths[0])!r} is {values[0]!r}, and that "
                f"of {str(paths[1])!r} is {values[1]!r}: a paired comparison needs the "
                "same episodes"
            )
            raise InvalidOptionError(message)
    common = files[0].records.keys() & files[1].records.keys()
    for path, file in zip(paths, files, strict=True):
        others = file.records.keys() - common
        if others and not only_common:
            count = "1 episode" if len(others) == 1 else f"{len(others):,} episodes"
            message = (
                f"compare: {str(path)!r} has {count} that the other file lacks, the "
                f"first is episode {min(others)}; --common compares those of both"
            )
            raise InvalidOptionError(message)
    if not common:
        message = "compare: the files have no episode in common"
        raise InvalidOptionError(message)
    results = tuple(
        EpisodeResults.of(file.records[number] for number in common) for file in files
    )
    return Comparison((files[0].header, files[1].header), (results[0], results[1]))
