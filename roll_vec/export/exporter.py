"""Write the episodes of a source to a file, in several calls if one is interrupted.

The rows of an unfinished export stand in a folder beside its output::

    train.jsonl.partial/
        journal          the plan, then a line for each episode
        complete         the output, until it is moved to its place

A line is the CRC-32 of its content, and the content as `roll_vec.storage.plain_data`
writes it: a row, or why an episode is none.  An export that was interrupted at any
point, even by a power failure, goes on after the last line before the first one that
is damaged.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from math import nan
from pathlib import Path
from typing import Any

import numpy as np

from roll_vec.errors import InvalidOptionError, RollVecError, shorten
from roll_vec.export.formats import Format, find_format
from roll_vec.export.source import MAX_SEED, Source, encode_keywords, stack
from roll_vec.options import check_bool, check_int
from roll_vec.storage.files import find_target, keep_mode
from roll_vec.storage.journal import Journal
from roll_vec.storage.plain_data import decode, encode
from roll_vec.trajectories import Trajectory
from roll_vec.version import __version__

_JOURNAL = "journal"
# With those of older versions.
_OWN_NAMES = re.compile(
    r"\.?journal(\.lock|(\.[0-9a-f]{8})?\.part)?|lock|incomplete|complete|\d{5,}"
)
_IN_ROWS = ("seed", "terminated", "truncated", "success", "instruction")
# Of the journal: one of another version is refused.
_VERSION = 2
# Unless max_episodes says otherwise.
_EPISODES_PER_ROW = 100
_MOST_IN_VAIN = 1024
_ALL = 1 << 62


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

    def add(self, row: Trajectory | None, is_fault: bool) -> Totals:
        """Return the totals with one more episode; None: it is no row."""
        totals = replace(
            self, episodes=self.episodes + 1, faults=self.faults + is_fault
        )
        if row is None:
            return totals
        return replace(
            totals,
            rows=self.rows + 1,
            successes=self.successes + (row.success is True),
            steps=self.steps + row.num_steps,
            total_return=self.total_return + row.total_reward,
        )


class TooFewSuccessesError(RollVecError, RuntimeError):
    """Raised when too few episodes succeed for the rows that were asked for."""


@dataclass(frozen=True)
class ExportResult:
    """The totals of an export, with those of interrupted calls before."""

    totals: Totals
    rows_before: int
    """Rows that interrupted calls had written."""

    @property
    def mean_return(self) -> float:
        """Of the rows; nan without any."""
        return self.totals.total_return / self.totals.rows if self.totals.rows else nan


def partial_folder(out: str | os.PathLike[str]) -> Path:
    """Return the folder of an unfinished export."""
    out = find_target(out)
    return out.with_name(f"{out.name}.partial")


def export(
    out: str | os.PathLike[str],
    source: Source,
    *,
    format: str = "messages",
    num: int | None = None,
    only_success: bool = False,
    max_episodes: int | None = None,
    overwrite: bool = False,
    on_progress: Callable[[Totals], None] | None = None,
) -> ExportResult:
    """Write one row an episode; the same arguments write the same bytes.

    The rows so far stand in a folder beside the output, ``NAME.partial``.  If the call
    is interrupted, by Ctrl-C, an error or a power failure, the same call goes on from
    there, and the output is the same.

    Parameters
    ----------
    out : path
        The file or folder; it appears when it is complete.
    source : Source
    format : str
        A name in `FORMATS`.
    num : int, optional
        The number of rows.  None: all episodes of the source, which then has an end.
    only_success : bool
        True: other episodes are left out.
    max_episodes : int, optional
        Play no more than these for the rows, with those of interrupted calls.  None:
        100 for each row.  Another number goes on with an interrupted call.
    overwrite : bool
        True: an older output is replaced.  A folder that has anything else is refused.
    on_progress : callable
        Called with the totals at the beginning, and after each episode.

    Returns
    -------
    ExportResult

    Raises
    ------
    InvalidOptionError
        For a bad argument, an output that exists, and an unfinished export of other
        arguments.
    TooFewSuccessesError
        After ``max_episodes``.
    MissingExtraError
    OSError
    """
    path, writer = Path(out), find_format(format)
    if num is not None:
        check_int("num", num, 1)
    if max_episodes is not None:
        check_int("max_episodes", max_episodes, 1)
    check_bool("only_success", only_success)
    _check_out(path, writer, overwrite)
    writer.check(source, path)
    journal = _ExportJournal(
        partial_folder(path),
        {
            "version": _VERSION,
            "roll_vec": __version__,
            "format": format,
            "id": source.id,
            "keywords": encode_keywords(source.keywords),
            **source.description,
            "num": num,
            "only_success": only_success,
        },
        source,
    )
    rows_before = journal.totals.rows
    try:
        if on_progress is not None:
            on_progress(journal.totals)
        for row, is_fault in _episodes(
            source, journal, num, max_episodes, only_success
        ):
            if row is not None:
                writer.check_episode(row)
            journal.add(row, is_fault)
            if on_progress is not None:
                on_progress(journal.totals)
        # Hours may have gone by.
        _check_out(path, writer, overwrite)
        _finish(path, source, writer, journal)
    except BaseException:
        if not journal.totals.episodes:
            journal.remove()
        raise
    finally:
        journal.close()
    return ExportResult(journal.totals, rows_before)


def _episodes(
    source: Source,
    journal: _ExportJournal,
    num: int | None,
    max_episodes: int | None,
    only_success: bool,
) -> Iterator[tuple[Trajectory | None, bool]]:
    """Yield episodes that the journal lacks, until there are enough rows.

    Yields
    ------
    row : Trajectory or None
        None: the episode is left out.
    is_fault : bool
    """
    while num is None or journal.totals.rows < num:
        most = _ALL if num is None else _estimate(journal.totals, num, max_episodes)
        count = 0
        for episode in source.episodes(journal.totals.episodes, most):
            count += 1
            if episode.seed is not None and episode.seed > MAX_SEED:
                accepted = f"episodes with seeds up to {MAX_SEED}"
                raise InvalidOptionError.expected("source", accepted, episode.seed)
            is_fault = episode.fault is not None
            is_row = not is_fault and (episode.success is True or not only_success)
            yield (episode if is_row else None), is_fault
            if journal.totals.rows == num:
                break
        if count < most:
            return


def _estimate(totals: Totals, num: int, max_episodes: int | None) -> int:
    """Return the episodes that the other rows will probably take."""
    episodes, rows = totals.episodes, totals.rows
    most = _EPISODES_PER_ROW * num if max_episodes is None else max_episodes
    if episodes >= most:
        message = (
            f"only {rows:,} of {episodes:,} episodes are rows, and {num:,} rows were "
            "asked for; a larger max_episodes (--max-episodes) goes on"
        )
        raise TooFewSuccessesError(message)
    # An episode costs a policy much time; one too many is played in vain.
    return min(
        (num - rows) * max(episodes, 1) // max(rows, 1) or 1,
        num - rows + _MOST_IN_VAIN,
        most - episodes,
    )


def _check_out(path: Path, writer: Format, overwrite: bool) -> None:
    """Raise an error for an output that cannot be written."""
    name, end = str(path), path.name.lower()
    if end == "..":
        raise InvalidOptionError.expected("out", "the name of a file or folder", name)
    if not end.endswith(writer.suffix) or end == writer.suffix:
        accepted = f"a name that ends with {writer.suffix}"
        raise InvalidOptionError.expected("out", accepted, name)
    if not path.absolute().parent.is_dir():
        raise InvalidOptionError.expected("out", "a path in a folder that exists", name)
    if path.exists() and not overwrite:
        accepted = "a path where nothing is yet"
        hint = "; overwrite=True (--overwrite) replaces it"
        raise InvalidOptionError.expected("out", accepted, name, hint)
    if path.exists() and not writer.is_output(path):
        accepted = f"an older output of the format {writer.name}, and nothing else"
        raise InvalidOptionError.expected("out", accepted, name)


def _finish(
    path: Path, source: Source, writer: Format, journal: _ExportJournal
) -> None:
    """Write the output beside its place, put it there, and delete the journal."""
    complete = journal.folder / "complete"
    _delete(complete)
    writer.finish(journal.rows(), complete, source, path)
    target = find_target(path)
    keep_mode(target, complete)
    if target.is_dir() or complete.is_dir():
        _delete(target)
    complete.replace(target)
    journal.remove()


def _delete(path: Path) -> None:
    if path.is_dir():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)


# ------------------------------------------------------------ an unfinished export


class _ExportJournal:
    """The folder of an unfinished export.

    Parameters
    ----------
    folder : Path
        Made if it does not exist.
    plan : dict
        Decides the output, as values that JSON can write.
    source : Source

    Attributes
    ----------
    totals : Totals

    Raises
    ------
    InvalidOptionError
        If the folder is of another plan, of something else, or of another process.
    OSError
    """

    def __init__(self, folder: Path, plan: dict[str, Any], source: Source) -> None:
        self.folder = folder
        self.totals = Totals()
        self._source = source
        if folder.exists() and self._has_others():
            message = f"out: {folder} exists, and is no unfinished export"
            raise InvalidOptionError(message)
        folder.mkdir(exist_ok=True)
        self._journal = Journal(folder / _JOURNAL, folder)
        try:
            # In the form that it has when it is read.
            self._journal.replace(self._take_over(json.loads(json.dumps(plan))))
        except BaseException:
            self.close()
            raise

    def _has_others(self) -> bool:
        """Return whether something else is in the folder."""
        return not self.folder.is_dir() or any(
            not _OWN_NAMES.fullmatch(path.name) for path in self.folder.iterdir()
        )

    def _take_over(self, plan: dict[str, Any]) -> Iterator[bytes]:
        """Yield the plan and the lines of an interrupted export; count its episodes."""
        contents = self._read()
        old = next(contents, None)
        if old is not None:
            _check_plan(self.folder, old, plan)
        yield _to_line(plan)
        for content in contents:
            self.totals = self.totals.add(*self._from_plain(content))
            yield _to_line(content)

    def _read(self) -> Iterator[dict[str, Any]]:
        """Yield the contents of the lines, up to the first damaged one."""
        for line in self._journal.read():
            checksum, _, data = line.partition(b" ")
            if checksum != _checksum(data):
                return
            yield decode(data)

    def add(self, row: Trajectory | None, is_fault: bool) -> None:
        """Add an episode; None: it is no row.

        Raises
        ------
        InvalidOptionError
            If an observation or an action is no plain data.
        OSError
        """
        content = {"fault": is_fault} if row is None else self._to_plain(row)
        try:
            line = _to_line(content)
        except TypeError as error:
            accepted = "episodes of plain data"
            hint = f"; {error}"
            raise InvalidOptionError.expected(
                "source", accepted, self._source.id, hint
            ) from None
        self._journal.add(line)
        self.totals = self.totals.add(row, is_fault)

    def rows(self) -> Iterator[Trajectory]:
        """Yield the rows in their order; of their infos only the instruction."""
        contents = self._read()
        next(contents)
        for content in contents:
            row, _ = self._from_plain(content)
            if row is not None:
                yield row

    def _to_plain(self, row: Trajectory) -> dict[str, Any]:
        source = self._source
        return {
            **{name: getattr(row, name) for name in _IN_ROWS},
            "observations": stack(source.observation_space, row.observations),
            "actions": stack(source.action_space, row.actions),
            "rewards": row.rewards.tolist(),
        }

    def _from_plain(self, content: dict[str, Any]) -> tuple[Trajectory | None, bool]:
        """Return the arguments of `add`."""
        if "fault" in content:
            return None, content["fault"]
        values = {**content, "rewards": np.array(content["rewards"], np.float64)}
        for name in ("observations", "actions"):
            if isinstance(array := values[name], np.ndarray):
                values[name] = array.tolist() if array.ndim == 1 else list(array)
        infos = [{"env_instruction": values.pop("instruction")}]
        return Trajectory(id=self._source.id, infos=infos, **values), False

    def close(self) -> None:
        """Let other processes go on with the export."""
        self._journal.close()

    def remove(self) -> None:
        """Delete the folder."""
        self.close()
        shutil.rmtree(self.folder)


def _check_plan(folder: Path, old: dict[str, Any], new: dict[str, Any]) -> None:
    """Raise an error if an unfinished export is of another plan."""
    name = "roll_vec"
    if old.get("version") != new["version"] or old.get(name) != new[name]:
        message = (
            f"out: {folder} has an unfinished export of version {old.get(name)} of "
            f"roll_vec, and this is {new[name]}; finish it with that version, or "
            "delete the folder"
        )
        raise InvalidOptionError(message)
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
    data = encode(content)
    return _checksum(data) + b" " + data


def _checksum(data: bytes) -> bytes:
    return b"%08x" % zlib.crc32(data)
