"""The episodes of an unfinished export, in a folder beside its output.

::

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
import re
import shutil
import zlib
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from roll_vec.errors import InvalidOptionError, shorten
from roll_vec.export.source import Source, stack
from roll_vec.storage.journal import Journal
from roll_vec.storage.plain_data import decode, encode
from roll_vec.trajectories import Trajectory

_JOURNAL = "journal"
# With those of older versions.
_OWN_NAMES = re.compile(r"\.?journal(\.lock|\.part)?|lock|incomplete|complete|\d{5,}")
_IN_ROWS = ("seed", "terminated", "truncated", "success", "instruction")


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


class ExportJournal:
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
