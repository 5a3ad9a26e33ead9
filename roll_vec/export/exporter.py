"""Write the episodes of a source to a file, in several calls if one is interrupted."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from math import nan
from pathlib import Path

from roll_vec.errors import InvalidOptionError, RollVecError
from roll_vec.export.formats import Format, find_format
from roll_vec.export.journal import ExportJournal, Totals
from roll_vec.export.source import MAX_SEED, Source, encode_keywords
from roll_vec.options import check_bool, check_int
from roll_vec.storage.files import find_target, keep_mode
from roll_vec.trajectories import Trajectory
from roll_vec.version import __version__

# Of the journal: one of another version is refused.
_VERSION = 2
# Unless max_episodes says otherwise.
_EPISODES_PER_ROW = 100
_MOST_IN_VAIN = 1024
_ALL = 1 << 62


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
    journal = ExportJournal(
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
    journal: ExportJournal,
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


def _finish(path: Path, source: Source, writer: Format, journal: ExportJournal) -> None:
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
