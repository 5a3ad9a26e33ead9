"""Sokoban levels of users: reading files, texts and arrays, and checking the levels.

The text format is the common one, as Boxoban's files have it::

    # wall   @ player   + player on target   $ box   * box on target   . target

and floor is a space, ``-`` or ``_``.  A level ends at a blank line or at one that
begins with ``;``.
"""

from __future__ import annotations

import os
import zlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray

from roll_vec.data_files import fingerprint
from roll_vec.errors import InvalidOptionError, shorten
from roll_vec.kernels.sokoban import rules as kernels
from roll_vec.options import describe_value
from roll_vec.process_cache import ProcessCache
from roll_vec.stacked.level_archives import SUFFIX, read_archive

__all__ = ["LevelSet", "format_levels", "load_levels"]

Grids = NDArray[np.uint8]

_LETTERS = {
    "#": kernels.WALL,
    " ": kernels.FLOOR,
    "-": kernels.FLOOR,
    "_": kernels.FLOOR,
    ".": kernels.TARGET,
    "*": kernels.BOX_ON_TARGET,
    "$": kernels.BOX,
    "@": kernels.PLAYER,
    "+": kernels.PLAYER_ON_TARGET,
}
# By code, the letter that is written.
_LETTER_BYTES = np.frombuffer(b"# .*$@+", np.uint8)
_CODES = bytes(_LETTERS.get(chr(byte), 0) for byte in range(256))
# Of the array files that these levels are in.
_ID = "roll_vec/Sokoban-v0"
_SUFFIXES = (".txt", ".xsb", ".sok")
_ACCEPTED = (
    "an array (L, H, W) or (H, W) of integer codes from 0 to 6, a path of a text file, "
    "of a folder of them or of a .npz file, or a list of texts"
)


class LevelSet:
    """Levels of one size that were checked; environments share one set.

    Parameters
    ----------
    cells : (l, H, W) uint8, C order
        Codes of `roll_vec.kernels.sokoban.rules`, the border all wall.
    path : str or None
        The absolute path that they were read from.  A pickle has the path instead of
        the levels; to unpickle it, the path must still have the same levels.

    Attributes
    ----------
    grids : (l, H, W) uint8
        A read-only view.
    """

    def __init__(self, cells: Grids, path: str | None = None) -> None:
        # Kernels are compiled anew for a read-only array: they read this writable one.
        self._cells, self.path = cells, path
        self.grids = cells.view()
        self.grids.flags.writeable = False

    def __len__(self) -> int:
        return len(self.grids)

    @property
    def arrays(self) -> tuple[Grids]:
        """The levels for `roll_vec.stacked.levels.FixedLevels`; not to be written."""
        return (self._cells,)

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and columns."""
        _, height, width = self.grids.shape
        return height, width

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, LevelSet):
            return NotImplemented
        return self is other or np.array_equal(self.grids, other.grids)

    def __hash__(self) -> int:
        return hash(self.grids.shape)

    def __repr__(self) -> str:
        source = "" if self.path is None else f" of {self.path}"
        return f"<{len(self)} levels{source}>"

    def __reduce__(self) -> tuple[Any, ...]:
        if self.path is not None:
            return _reload, (self.path, self._fingerprint())
        return LevelSet, (self._cells,)

    def describe_content(self) -> Any:
        """Return shape and digest of the levels, for `describe_value`."""
        return describe_value(self.grids)

    def _fingerprint(self) -> tuple[tuple[int, ...], int]:
        return self.grids.shape, zlib.crc32(self._cells.data)

    def __deepcopy__(self, memo: dict[int, Any]) -> LevelSet:
        return self


_level_sets: ProcessCache[LevelSet] = ProcessCache()


def load_levels(levels: Any) -> LevelSet:
    """Return levels in any form as a set.

    A path is read once a process, and again when its files change.

    Parameters
    ----------
    levels : array, str, PathLike, list of str, or LevelSet
        Codes (L, H, W) or (H, W); a text file, or a folder whose ``.txt``, ``.xsb`` and
        ``.sok`` files are read in the order of their names; a ``.npz`` file with an
        array ``levels`` of codes; texts.

    Returns
    -------
    LevelSet
        Levels of different sizes are padded with wall below and on the right.

    Raises
    ------
    InvalidOptionError
        The message has the file, the level's number in it from 0, its line and the
        problem.
    """
    if isinstance(levels, LevelSet):
        return levels
    if isinstance(levels, str) and (not levels or "\n" in levels):
        raise InvalidOptionError.expected("levels", _ACCEPTED, levels)
    if isinstance(levels, (str, os.PathLike)):
        return _load_path(str(Path(os.fsdecode(levels)).absolute()))
    if isinstance(levels, (list, tuple)) and any(isinstance(t, str) for t in levels):
        return LevelSet(_stack([_parse(t, f"[{j}]") for j, t in enumerate(levels)]))
    return LevelSet(_stack([_check_array(levels)]))


def _refuse(where: str, problem: str) -> NoReturn:
    message = f"levels{where}: {problem}"
    raise InvalidOptionError(message)


def _load_path(path: str) -> LevelSet:
    try:
        files = [Path(path)]
        if files[0].is_dir():
            in_folder = files[0].iterdir()
            files = sorted(
                f for f in in_folder if f.suffix in _SUFFIXES and f.is_file()
            )
        key = tuple((str(file), fingerprint("levels", str(file))) for file in files)
    except InvalidOptionError:
        raise
    except (OSError, ValueError) as error:
        _refuse(f": {path}", f"cannot be read: {error}")
    if not files:
        _refuse(f": {path}", f"has no files {', '.join(_SUFFIXES)}")
    return _level_sets.get(
        (path, key),
        lambda: LevelSet(_stack([_read_file(file) for file in files]), path),
    )


def _reload(path: str, fingerprint: tuple[tuple[int, ...], int]) -> LevelSet:
    """Return the levels of a pickle; its episodes go on with the same ones."""
    levels = _load_path(path)
    if levels._fingerprint() != fingerprint:
        _refuse(f": {path}", "expected the levels that were pickled, got others")
    return levels


def _read_file(file: Path) -> Grids:
    if file.suffix == SUFFIX:
        codes, _ = read_archive(file, _ID)
        return _check_array(codes, f": {file}")
    try:
        text = file.read_text("utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        _refuse(f": {file}", f"cannot be read: {error}")
    return _parse(text, f": {file}")


def _split(text: str) -> Iterator[tuple[int, list[str]]]:
    """Yield each level: the number of its first line, from 1, and its rows."""
    rows: list[str] = []
    for number, line in enumerate([*text.split("\n"), ""], 1):
        row = line.rstrip()
        if row and not row.startswith(";"):
            rows.append(row)
        elif rows:
            yield number - len(rows), rows
            rows = []


def _parse(text: Any, where: str) -> Grids:
    """Return the levels of a text, checked."""
    if not isinstance(text, str):
        _refuse(where, f"expected a text beside texts, got {shorten(text)}")
    levels = list(_split(text))
    if not levels:
        _refuse(where, "there are no levels")
    height = max(len(rows) for _, rows in levels)
    width = max(len(row) for _, rows in levels for row in rows)
    # Short rows are filled with spaces, not walls: a gap in the walls stays a gap.
    blank = " " * width
    letters = "".join(
        row.ljust(width)
        for _, rows in levels
        for row in rows + [blank] * (height - len(rows))
    )
    if not _LETTERS.keys() >= set(letters):
        for number, (line, rows) in enumerate(levels):
            for j, row in enumerate(rows):
                if unknown := sorted(set(row) - _LETTERS.keys()):
                    _refuse(
                        f"{where}, level {number} (line {line + j})",
                        f"expected only {' '.join(_LETTERS).replace('   ', ' ')} and "
                        f"spaces, got {''.join(unknown)!r}",
                    )
    codes = np.frombuffer(letters.encode("ascii").translate(_CODES), np.uint8)
    grids = codes.reshape(len(levels), height, width)
    return _check(grids, lambda j: f"{where}, level {j} (line {levels[j][0]})")


def _check_array(levels: Any, where: str = "") -> Grids:
    """Return the levels of an array, checked; ``where`` names the file, if any."""
    try:
        codes = np.asarray(levels)
    except (TypeError, ValueError):
        codes = np.empty(0, object)
    if codes.dtype.kind not in "iu" or codes.ndim not in (2, 3) or not codes.size:
        if not isinstance(levels, np.ndarray):
            raise InvalidOptionError.expected("levels", _ACCEPTED, levels)
        accepted = _ACCEPTED if not where else "an array (L, H, W) of integer codes"
        _refuse(where, f"expected {accepted}, got {codes.dtype} of shape {codes.shape}")
    codes = codes.reshape(-1, *codes.shape[-2:])
    unknown = (codes < 0) | (codes >= kernels.NUM_CODES)
    if unknown.any():
        level, row, column = np.argwhere(unknown)[0].tolist()
        code = codes[level, row, column]
        _refuse(
            f"{where}[{level}]",
            f"expected codes from 0 to 6, got {code} at row {row}, column {column}",
        )
    grids = codes.astype(np.uint8, copy=False)
    return _check(grids, lambda j: f"{where}[{j}]")


def _check(grids: Grids, name: Callable[[int], str]) -> Grids:
    """Refuse levels with faults; return them with wall in place of the outside."""

    def count(*codes: int) -> NDArray[np.int64]:
        counts: NDArray[np.int64] = np.isin(grids, codes).sum(axis=(1, 2))
        return counts

    players = count(kernels.PLAYER, kernels.PLAYER_ON_TARGET)
    boxes_left = count(kernels.BOX)
    boxes = boxes_left + count(kernels.BOX_ON_TARGET)
    targets = count(kernels.TARGET, kernels.BOX_ON_TARGET, kernels.PLAYER_ON_TARGET)
    outside = _find_outside(grids)
    outside_cells = np.where(outside, grids, kernels.WALL)
    faults = {
        "expected exactly one player, got {players}": players != 1,
        "expected at least one box, got none": boxes == 0,
        "expected as many targets as boxes, got {targets} and {boxes}": (
            targets != boxes
        ),
        "all boxes are on targets at the start": boxes_left == 0,
        "the player can leave it: the walls have a gap": (
            (outside_cells >= kernels.PLAYER).any(axis=(1, 2))
        ),
        "there is a box or a target outside the walls": (
            (outside_cells > kernels.FLOOR).any(axis=(1, 2))
        ),
    }
    faulty = np.any(list(faults.values()), axis=0)
    if faulty.any():
        j = int(faulty.argmax())
        problem = next(problem for problem, has_it in faults.items() if has_it[j])
        _refuse(
            name(j),
            problem.format(players=players[j], targets=targets[j], boxes=boxes[j]),
        )
    return np.where(outside, np.uint8(kernels.WALL), grids)


def _find_outside(grids: Grids) -> NDArray[np.bool_]:
    """Return the cells with a way to the edge that no wall blocks, (l, H, W) bool."""
    outside: NDArray[np.bool_] = grids != kernels.WALL
    outside[:, 1:-1, 1:-1] = False
    # Levels with wall all around, as in most files, have none.
    rows = np.flatnonzero(outside.any(axis=(1, 2)))
    is_open, region = grids[rows] != kernels.WALL, outside[rows]
    while True:
        larger = region.copy()
        larger[:, 1:] |= region[:, :-1]
        larger[:, :-1] |= region[:, 1:]
        larger[:, :, 1:] |= region[:, :, :-1]
        larger[:, :, :-1] |= region[:, :, 1:]
        larger &= is_open
        if np.array_equal(larger, region):
            outside[rows] = region
            return outside
        region = larger


def _stack(arrays: Sequence[Grids]) -> Grids:
    """Return all levels in one array in C order, padded with wall to the largest."""
    height = max(grids.shape[1] for grids in arrays)
    width = max(grids.shape[2] for grids in arrays)
    cells = np.zeros((sum(map(len, arrays)), height, width), np.uint8)
    start = 0
    for grids in arrays:
        stop = start + len(grids)
        cells[start:stop, : grids.shape[1], : grids.shape[2]] = grids
        start = stop
    return cells


def format_levels(grids: Grids, numbers: Iterable[int] | None = None) -> str:
    """Return levels in the common text format, as `load_levels` reads it.

    Each level has a line ``; n`` before it, as in Boxoban's files.

    Parameters
    ----------
    grids : (l, H, W) uint8
        Levels as `load_levels` returns them.
    numbers : (l,) iterable of int, or None
        None: from 0 on.
    """
    numbers = range(len(grids)) if numbers is None else numbers
    newlines = np.full((*grids.shape[:2], 1), ord("\n"), np.uint8)
    letters = np.concatenate((_LETTER_BYTES[grids], newlines), axis=2)
    texts = (level.tobytes().decode("ascii") for level in letters)
    return "\n".join(
        f"; {number}\n{text}" for number, text in zip(numbers, texts, strict=True)
    )
