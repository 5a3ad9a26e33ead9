"""Files of results, which interrupted evaluations go on with.

A file has JSON lines: a header, one line for each episode, and a last line.

::

    {"format": "roll-vec eval", "version": 2, "id": ..., "split": ..., "digest": ...,
     "keywords": {...}, "policy": {...}, "files": {...}, "versions": {...}}
    {"episode":0,"return":1.0,"success":true,"length":6}
    {"episodes":1,"packed":"..."}

An episode that ended by a fault has the text ``fault``.  The last line has the number
of episodes that the run was asked for, and the seeds, ends and turns of all episodes:
base 85 of bz2 of a JSON object of lists, with an item for each episode, see `_pack`.

While a run goes on, there is no last line: each episode has its turns itself, and the
episodes stand in the order in which they have ended.  In a complete file they stand in
the order of the split, so that its bytes do not depend on the batch, or on
interruptions.  A last line without its end, after a crash, is dropped.

Files of version 1 have no turns.
"""

from __future__ import annotations

import base64
import bz2
import json
import math
import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, fields, replace
from itertools import accumulate, pairwise
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from roll_vec.errors import InvalidFileError, InvalidOptionError
from roll_vec.evaluation.episodes import EpisodeRecord
from roll_vec.evaluation.splits import Split
from roll_vec.evaluation.turns import EpisodeTurns, read_marks
from roll_vec.registration.factories import WORK_KEYWORDS
from roll_vec.storage.files import check_regular, find_target, replace_file
from roll_vec.storage.plain_data import decode, encode
from roll_vec.version import __version__

FORMAT = "roll-vec eval"
VERSION = 2
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
# Of a complete file, these are in the last line: the lines of episodes are short.
_ENDS = "terminated", "truncated"
_PACKED = ("seed", *_ENDS)
# More bytes are not packed, and not unpacked: a few kilobytes could fill any memory.
MAX_UNPACKED = 1 << 28


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
    version : int
        Of the format: 1 or 2.
    num_episodes : int or None
        The first so many episodes of the split were asked for.  None: version 1, or a
        run that goes on or was interrupted.
    repeated_episodes : list of int
        Episodes of which there is more than one line; `read_results` refuses them.
    torn_episodes : list of int
        Episodes of a complete file whose last line is missing: their ends are unknown.
    """

    header: ResultHeader
    records: dict[int, EpisodeRecord]
    version: int = VERSION
    num_episodes: int | None = None
    repeated_episodes: list[int] = field(default_factory=list)
    torn_episodes: list[int] = field(default_factory=list)

    @property
    def is_complete(self) -> bool:
        """Whether it has all episodes that the run was asked for."""
        return self.num_episodes == len(self.records)


def read_results(path: str | os.PathLike[str], *, repeats: bool = False) -> ResultFile:
    """Read a file of results; a last line without its end is dropped.

    Parameters
    ----------
    path : path
    repeats : bool
        True: several lines of an episode are no error, and the first one counts.

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
        *lines, rest = path.read_bytes().split(b"\n")
    except OSError as error:
        message = f"{str(path)!r} cannot be read: {error.strerror}"
        raise InvalidFileError(message) from error
    number = 0
    records: dict[int, EpisodeRecord] = {}
    repeated_episodes: list[int] = []
    torn_episodes: list[int] = []
    try:
        header, version = _parse_header(_parse(lines[0] if lines else b""))
        num_episodes: int | None = None
        turns: dict[int, dict[str, Any]] = {}
        # Editors remove the end of the last line.
        with suppress(ValueError, TypeError):
            if "episodes" in _parse(rest):
                lines.append(rest)
        number = len(lines) - 1
        if number and "episodes" in (last := _parse(lines[-1])):
            num_episodes, turns = _parse_last(last)
            lines.pop()
        for number, line in enumerate(lines[1:], 1):
            content = _parse(line)
            _check_types(content, ("episode",))
            episode = content["episode"]
            if episode in records:
                if not repeats:
                    message = f"episode {episode} stands there twice"
                    raise ValueError(message)
                repeated_episodes.append(episode)
                continue
            content = {**turns.get(episode, {}), **content}
            if "terminated" not in content:
                content = {"seed": -1, **dict.fromkeys(_ENDS, False), **content}
                if num_episodes is None:
                    torn_episodes.append(episode)
            record = _parse_record(content)
            if episode in turns:
                number = len(lines)  # noqa: PLW2901
            records[episode] = replace(record, turns=_parse_turns(content))
    except (ValueError, KeyError, TypeError, OverflowError, RecursionError) as error:
        reason = f"no {error}" if isinstance(error, KeyError) else error
        message = (
            f"{str(path)!r} is no file of roll-vec eval: line {number + 1}: {reason}"
        )
        raise InvalidFileError(message) from error
    return ResultFile(
        header,
        dict(sorted(records.items())),
        version,
        num_episodes,
        repeated_episodes,
        torn_episodes,
    )


class ResultLog:
    """A file of results that grows: each episode is written when it has ended.

    Parameters
    ----------
    path : path
    header : ResultHeader
    retry_faults : bool
        True: the faults in the file are dropped, so that they are played again.
    num_episodes : int
        The first so many episodes of the split will be played; the file may have more.

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
        num_episodes: int = 0,
    ) -> None:
        self._path, self._header = Path(path), header
        self.records: dict[int, EpisodeRecord] = {}
        with self._write_errors():
            check_regular(path, "written")
            self._path = find_target(path)
        self._file: BinaryIO | None = None
        self._num_episodes = num_episodes
        self._is_open = True
        if self._path.exists():
            self._take_over(read_results(self._path), retry_faults)
        self._rewrite(is_complete=False)

    def _take_over(self, content: ResultFile, retry_faults: bool) -> None:
        """Take over the records of an interrupted run."""
        if content.records and content.version != VERSION:
            message = (
                f"{str(self._path)!r} has version {content.version} of the format, "
                "without answers: choose another file, or remove it"
            )
            raise InvalidOptionError(message)
        if content.records:
            self._header.check_same(content.header, self._path)
            # Files and versions are those of the first run.
            self._header = content.header
        self.records = {
            number: record
            for number, record in content.records.items()
            if not (retry_faults and record.fault is not None)
            and number not in content.torn_episodes
        }

    def _rewrite(self, *, is_complete: bool) -> None:
        """Write the whole file, in the order of the split, or leave the old one."""
        records = sorted(self.records.values(), key=lambda record: record.episode)
        packed = _pack(records) if is_complete else None
        with self._write_errors():
            old_file, self._file = self._file, None
            if old_file is not None:
                old_file.close()
            with replace_file(self._path) as file:
                file.write(_to_header_line(self._header))
                for record in records:
                    turns = {} if packed else _turns_to_plain(record)
                    file.write(_to_line({**_to_plain(record), **turns}))
                if is_complete:
                    last = max([record.episode + 1 for record in records], default=0)
                    count = max(self._num_episodes, last)
                    end = {"packed": packed} if packed else {}
                    file.write(_to_line({"episodes": count, **end}))

    def add(self, record: EpisodeRecord) -> None:
        """Write the record of an episode; it is in the file when this returns."""
        self.records[record.episode] = record
        with self._write_errors():
            if self._file is None:
                self._file = self._path.open("ab")
            self._file.write(_to_line({**_to_plain(record), **_turns_to_plain(record)}))
            self._file.flush()

    def close(self) -> None:
        """Complete the file: its lines get the order of the split, and the last one."""
        if not self._is_open:
            return
        self._is_open = False
        self._rewrite(is_complete=True)

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
    return json.dumps(content, allow_nan=False, separators=(",", ":")).encode() + b"\n"


def _to_header_line(header: ResultHeader) -> bytes:
    return json.dumps(header.to_json(), allow_nan=False).encode() + b"\n"


def _to_plain(record: EpisodeRecord) -> dict[str, Any]:
    """Return the fields of an episode that a complete file has in its line."""
    names = [name for name in _FIELDS if name not in _PACKED]
    if record.fault is None:
        names.remove("fault")
    return {name: getattr(record, _FIELDS[name][0]) for name in names}


def _turns_to_plain(record: EpisodeRecord) -> dict[str, Any]:
    """Return the other fields of an episode, as JSON has them."""
    fields: dict[str, Any] = {name: getattr(record, name) for name in _PACKED}
    if record.turns is not None:
        fields |= vars(record.turns)
        fields["answers"] = json.loads(encode(fields["answers"]))
        if not fields["cut"]:
            del fields["cut"]
    return fields


def _pack(records: Sequence[EpisodeRecord]) -> str | None:
    """Return the fields of episodes that are not in their lines; None: too many.

    The object has the lists ``episodes`` of ranges ``[first, stop]``, ``seed`` of the
    differences from seed to seed, ``terminated`` and ``truncated`` of 0 and 1,
    ``marks``, ``cut``, ``rewards`` and ``answers``.
    """
    names = (*_PACKED, "marks", "cut", "rewards", "answers")
    columns: dict[str, list[Any]] = {name: [] for name in ("episodes", *names)}
    for record in records:
        ranges = columns["episodes"]
        if ranges and ranges[-1][1] == record.episode:
            ranges[-1][1] += 1
        else:
            ranges.append([record.episode, record.episode + 1])
        fields = _turns_to_plain(record)
        for name in names:
            value = fields.get(name)
            columns[name].append(int(bool(value)) if name in _ENDS else value)
    seeds = columns["seed"]
    columns["seed"] = [b - a for a, b in pairwise([0, *seeds])]
    # Not in ASCII: letters of other languages would take six bytes.
    data = json.dumps(columns, ensure_ascii=False, separators=(",", ":"))
    plain = data.encode("utf-8", "surrogatepass")
    if len(plain) > MAX_UNPACKED:
        return None
    return base64.b85encode(bz2.compress(plain)).decode()


def _unpack(text: Any) -> dict[int, dict[str, Any]]:
    """Return the fields of `_pack`, by episode.

    Raises
    ------
    ValueError
        If it is none.
    """
    decompressor = bz2.BZ2Decompressor()
    try:
        plain = decompressor.decompress(base64.b85decode(text), MAX_UNPACKED + 1)
        if len(plain) > MAX_UNPACKED:
            message = f"it has more than {MAX_UNPACKED:,} bytes"
            raise ValueError(message)
        columns = json.loads(plain)
        ranges = [range(*pair) for pair in columns.pop("episodes")]
        if {*map(len, columns.values())} != {sum(map(len, ranges))}:
            message = "its lists differ in length"
            raise ValueError(message)
        columns["seed"] = [*accumulate(columns["seed"])]
        for name in _ENDS:
            columns[name] = [value == 1 for value in columns[name]]
        values = zip(*columns.values(), strict=True)
        rows = [dict(zip(columns, row, strict=True)) for row in values]
    except Exception as error:
        # base64, bz2 and JSON raise many kinds for what `_pack` has not written.
        reason = f": {error}" if type(error) is ValueError else ""
        message = f"packed is damaged{reason}"
        raise ValueError(message) from None
    numbers = (number for part in ranges for number in part)
    return dict(zip(numbers, rows, strict=True))


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


def _parse_header(content: dict[str, Any]) -> tuple[ResultHeader, int]:
    """Return the header and the version of a first line."""
    for name, values in (("format", (FORMAT,)), ("version", (VERSION, 1))):
        if content.get(name) not in values:
            message = f"its {name} is {content.get(name)!r} and not {values[0]!r}"
            raise ValueError(message)
    names = [field.name for field in fields(ResultHeader)]
    for name in names:
        kind = str if name in ("id", "split", "digest") else dict
        if not isinstance(content[name], kind):
            message = f"{name} is no {kind.__name__}"
            raise TypeError(message)
    if not all(isinstance(each, dict) for each in content["files"].values()):
        message = "files is no dict of dicts"
        raise TypeError(message)
    header = ResultHeader(**{name: content[name] for name in names})
    return header, content["version"]


def _check_types(content: Mapping[str, Any], names: Sequence[str]) -> None:
    for name in names:
        # A bool is an int to isinstance.
        if type(content[name]) not in _FIELDS[name][1]:
            message = f"{name} is {content[name]!r}"
            raise TypeError(message)


def _parse_last(
    content: Mapping[str, Any],
) -> tuple[int, dict[int, dict[str, Any]]]:
    """Return the number of episodes, and the packed fields by episode."""
    count = content["episodes"]
    if type(count) is not int or count < 0:
        message = f"episodes is {count!r}"
        raise ValueError(message)
    return count, _unpack(content["packed"]) if "packed" in content else {}


def _parse_record(content: dict[str, Any]) -> EpisodeRecord:
    content.setdefault("fault", None)
    _check_types(content, [*_FIELDS])
    values = {field: content[name] for name, (field, _) in _FIELDS.items()}
    values["total_reward"] = total_reward = float(content["return"])
    if not math.isfinite(total_reward):
        message = f"return is {total_reward}"
        raise ValueError(message)
    return EpisodeRecord(**values)


def _parse_turns(content: Mapping[str, Any]) -> EpisodeTurns | None:
    """Return the turns of an episode; None: the file does not have them."""
    if content.get("answers") is None:
        return None
    answers = content["answers"]
    if not (isinstance(answers, list) and {*map(type, answers)} <= {int, str}):
        answers = decode(json.dumps(answers).encode())
    rewards, cut = content["rewards"], content.get("cut") or []
    is_numbers = isinstance(rewards, list) and {*map(type, rewards)} <= {float, int}
    is_cut = isinstance(cut, list) and {*cut} <= {*range(len(rewards))}
    # Items without bytes would be any number of them.
    is_array = isinstance(answers, np.ndarray) and answers.ndim > 0
    is_array = is_array and (answers.size > 0 or len(answers) == 0)
    if not ((is_array or isinstance(answers, list)) and is_numbers and is_cut):
        message = "answers, rewards or cut are no lists"
        raise TypeError(message)
    try:
        read_marks(content["marks"])
    except (TypeError, ValueError, KeyError):
        message = f"the marks of episode {content['episode']} are missing or damaged"
        raise ValueError(message) from None
    return EpisodeTurns(answers, [*map(float, rewards)], content["marks"], cut)
