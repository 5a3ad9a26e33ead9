"""Levels of users: sets of one size from arrays, texts and files of text.

A game extends `LevelSet`: it says how a text and an array of codes become levels, and
which levels it refuses.
"""

from __future__ import annotations

import codecs
import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar, NoReturn, TypeVar

import numpy as np
from numpy.typing import NDArray

from roll_vec.errors import (
    InvalidOptionError,
    RollVecWarning,
    shorten,
    warn_caller,
)
from roll_vec.options import changed_keywords, describe_value
from roll_vec.storage.process_cache import ProcessCache

Grids = NDArray[np.uint8]
# The levels that are left out: the name of each, as `refuse` takes it, and its fault.
Faults = list[tuple[str, str]]
Set = TypeVar("Set", bound="LevelSet")

# A warning names this many of the levels that are left out.
_MAX_NAMES = 10


def refuse(where: str, problem: str) -> NoReturn:
    """Raise the error about levels; ``where`` follows the word "levels".

    Raises
    ------
    InvalidOptionError
    """
    message = f"levels{where}: {problem}"
    raise InvalidOptionError(message)


class LevelSet:
    """Levels of one size that were checked; environments share one set.

    A subclass gives the class attributes, `parse` and `check`.

    Parameters
    ----------
    cells : (l, H, W) uint8, C order
        Cell codes of the game, as it observes the start of the level.

    Attributes
    ----------
    grids : (l, H, W) uint8
        A read-only view.
    ACCEPTED : str, of the class
        The forms of the keyword ``levels``, for messages.
    LEVEL : str, of the class
        The noun for a level, for messages.
    HIGHEST_CODE : int, of the class
        Codes of cells in arrays are from 0 to this one.
    SUFFIXES : tuple of str, of the class
        The files that are read of a folder.
    """

    ACCEPTED: ClassVar[str]
    LEVEL: ClassVar[str] = "level"
    HIGHEST_CODE: ClassVar[int]
    SUFFIXES: ClassVar[tuple[str, ...]]

    def __init__(self, cells: Grids) -> None:
        # Kernels are compiled anew for a read-only array: they read this writable one.
        self._cells = cells
        self.grids = cells.view()
        self.grids.flags.writeable = False

    # -------------------------------------------------------------------- reading

    @classmethod
    def load(cls: type[Set], levels: Any) -> Set:
        """Return levels in any form as a set.

        A path is read once a process, and again when its files change.

        Parameters
        ----------
        levels : array, str, PathLike, list, or a set of this class
            Codes (L, H, W) or (H, W); a text file, or a folder whose files with one of
            the `SUFFIXES` are read in the order of their names; or a text or texts.

        Raises
        ------
        InvalidOptionError
            The message has the file, the level's lines in it, or its index in an array,
            and the problem.

        Warns
        -----
        RollVecWarning
            A game may leave out levels that cannot be played, if others can.  They have
            no number.
        """
        if isinstance(levels, cls):
            return levels
        if isinstance(levels, str) and not levels:
            raise InvalidOptionError.expected("levels", cls.ACCEPTED, levels)
        if isinstance(levels, str) and cls.is_text(levels):
            levels = [levels]
        if isinstance(levels, (str, os.PathLike)):
            return cls._load_path(str(Path(os.fsdecode(levels)).absolute()))
        faults: Faults = []
        if isinstance(levels, (list, tuple)) and any(
            isinstance(text, (str, os.PathLike)) for text in levels
        ):
            texts = {f"[{j}]": text for j, text in enumerate(levels)}
            parts = {n: cls._parse_item(t, n, faults) for n, t in texts.items()}
        else:
            parts = {"": cls.parse_array(levels, "", faults)}
        return cls._join(parts, faults)

    @classmethod
    def is_text(cls, levels: str) -> bool:
        """Return whether a str is a text of levels, not a path: if it has lines."""
        return "\n" in levels or "\r" in levels

    @classmethod
    def _join(cls: type[Set], parts: dict[str, Grids], faults: Faults) -> Set:
        """Return the set of all parts; warn of the levels that are left out."""
        parts = {name: grids for name, grids in parts.items() if len(grids)}
        if not parts:
            refuse(*faults[0])
        levels = cls(cls.stack(parts))
        if faults:
            names = [f"{name.lstrip(': ')}: {fault}" for name, fault in faults]
            more = ["..."] * (len(names) > _MAX_NAMES)
            message = (
                f"levels: {len(levels)} are played, {len(names)} left out: "
                f"{'; '.join(names[:_MAX_NAMES] + more)}"
            )
            warn_caller(message, RollVecWarning)
        return levels

    @classmethod
    def parse(cls, text: str, where: str, faults: Faults) -> Grids:
        """Return the levels of a text, checked.

        Parameters
        ----------
        text : str
        where : str
            The name of the text in messages, see `refuse`.
        faults : list of (str, str)
            Updated, see `check`.

        Returns
        -------
        (l, H, W) uint8

        Raises
        ------
        InvalidOptionError
        """
        raise NotImplementedError

    @classmethod
    def check(cls, grids: Grids, name: Callable[[int], str], faults: Faults) -> Grids:
        """Refuse or leave out levels with faults; return the others as they are played.

        Parameters
        ----------
        grids : (l, H, W) uint8
            Codes up to `HIGHEST_CODE`.
        name : callable
            From the index of a level to its name in messages, see `refuse`.
        faults : list of (str, str)
            Updated: the names of the levels that are left out, with their faults.

        Raises
        ------
        InvalidOptionError
        """
        raise NotImplementedError

    @staticmethod
    def leave_out(
        problems: Mapping[str, NDArray[np.bool_]],
        name: Callable[[int], str],
        faults: Faults,
        **numbers: NDArray[Any],
    ) -> NDArray[np.int64]:
        """Return the indices of the levels without a fault; see `check`.

        Parameters
        ----------
        problems : mapping from str to (l,) bool
            The levels that have each fault, the first of which is named.
        name, faults
            See `check`.
        **numbers : (l,) array
            What stands in the braces of a fault.
        """
        faulty = np.any(list(problems.values()), axis=0)
        for j in np.flatnonzero(faulty).tolist():
            problem = next(problem for problem, has_it in problems.items() if has_it[j])
            values = {key: array[j] for key, array in numbers.items()}
            faults.append((name(j), problem.format(**values)))
        return np.flatnonzero(~faulty)

    @classmethod
    def stack(cls, parts: Mapping[str, Grids]) -> Grids:
        """Return the levels of several texts or files in one array in C order.

        Parameters
        ----------
        parts : mapping from str to (l, H, W) uint8
            Levels by the name of their text or file in messages.

        Raises
        ------
        InvalidOptionError
            If the game cannot play levels of these sizes in one set.
        """
        first = next(iter(parts.values())).shape[1:]
        for name, grids in parts.items():
            if grids.shape[1:] != first:
                size = "{} rows and {} columns"
                refuse(
                    name,
                    f"expected {size.format(*first)}, the size of the first "
                    f"{cls.LEVEL}, got {size.format(*grids.shape[1:])}: the "
                    f"{cls.LEVEL}s of a set have one size",
                )
        return np.ascontiguousarray(np.concatenate(list(parts.values())))

    @classmethod
    def parse_array(cls, levels: Any, where: str, faults: Faults) -> Grids:
        """Return the levels of an array or of nested lists of codes, checked.

        Parameters
        ----------
        levels : array (L, H, W) or (H, W), or nested lists
        where : str
            The name of the array in messages, if it is from a file.
        faults : list of (str, str)
            Updated, see `check`.

        Returns
        -------
        (l, H, W) uint8

        Raises
        ------
        InvalidOptionError
        """
        try:
            codes = np.asarray(levels)
        except (TypeError, ValueError):
            codes = np.empty(0, object)
        if codes.dtype.kind not in "iu" or codes.ndim not in (2, 3) or not codes.size:
            if not isinstance(levels, np.ndarray):
                raise InvalidOptionError.expected("levels", cls.ACCEPTED, levels)
            accepted = "an array (L, H, W) of integer codes" if where else cls.ACCEPTED
            problem = f"got {codes.dtype} of shape {codes.shape}"
            refuse(where, f"expected {accepted}, {problem}")
        codes = codes.reshape(-1, *codes.shape[-2:])
        unknown = (codes < 0) | (codes > cls.HIGHEST_CODE)
        if unknown.any():
            level, row, column = np.argwhere(unknown)[0].tolist()
            code = codes[level, row, column]
            refuse(
                f"{where}[{level}]",
                f"expected codes from 0 to {cls.HIGHEST_CODE}, got {code} at row "
                f"{row}, column {column}",
            )
        grids = codes.astype(np.uint8, copy=False)
        return cls.check(grids, lambda j: f"{where}[{j}]", faults)

    @classmethod
    def _parse_item(cls, text: Any, where: str, faults: Faults) -> Grids:
        is_line = isinstance(text, str) and not cls.is_text(text)
        if isinstance(text, os.PathLike) or (
            is_line and Path(text).suffix.lower() in cls.SUFFIXES
        ):
            path = shorten(os.fspath(text))
            refuse(
                where, f"expected a text, got {path}: a path stands alone, in no list"
            )
        if not isinstance(text, str):
            refuse(where, f"expected a text beside texts, got {shorten(text)}")
        return cls.parse(text, where, faults)

    @classmethod
    def _load_path(cls: type[Set], path: str) -> Set:
        try:
            files = [Path(path)]
            if files[0].is_dir():
                numbers = ((_number(f), f) for f in files[0].iterdir() if f.is_file())
                files = [
                    f
                    for number, f in sorted(numbers)
                    if number or f.suffix.lower() in cls.SUFFIXES
                ]
            states = [(str(file), file.stat()) for file in files]
        except (OSError, ValueError) as error:
            refuse(f": {path}", f"cannot be read: {error}")
        if not files:
            refuse(f": {path}", f"has no files {', '.join(cls.SUFFIXES)}")
        key = tuple((name, s.st_mtime_ns, s.st_size, s.st_ino) for name, s in states)

        def build() -> LevelSet:
            faults: Faults = []
            parts = {f": {file}": cls._read_file(file, faults) for file in files}
            return cls._join(parts, faults)

        levels = _level_sets.get((cls, path, key), build)
        assert isinstance(levels, cls)
        return levels

    @classmethod
    def _read_file(cls, file: Path, faults: Faults) -> Grids:
        if not file.is_file():
            refuse(f": {file}", "cannot be read: expected a file")
        try:
            text = decode_text(file.read_bytes())
        except (OSError, UnicodeDecodeError) as error:
            refuse(f": {file}", f"cannot be read: {error}")
        return cls.parse(text, f": {file}", faults)

    # -------------------------------------------------------------------- the set

    def __len__(self) -> int:
        return len(self.grids)

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and columns."""
        _, height, width = self.grids.shape
        return height, width

    def __eq__(self, other: object) -> bool:
        if type(other) is not type(self):
            return NotImplemented
        return self is other or np.array_equal(self.grids, other.grids)

    def __hash__(self) -> int:
        return hash(self.grids.shape)

    def __repr__(self) -> str:
        return f"<{len(self)} levels>"

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self._cells,)

    def __deepcopy__(self: Set, memo: dict[int, Any]) -> Set:
        return self

    def describe_content(self) -> Any:
        """Return shape and digest of the levels, for `describe_value`."""
        return describe_value(self.grids)


_level_sets: ProcessCache[LevelSet] = ProcessCache()


def flood_fill(region: NDArray[np.bool_], is_open: NDArray[np.bool_]) -> None:
    """Grow regions over all open cells that they reach by steps to neighbours.

    Parameters
    ----------
    region : (l, H, W) bool
        Open cells; updated.
    is_open : (l, H, W) bool
    """
    width = region.shape[2]
    padding = (0, 0), (1, 1), (1, 1)
    border = np.flatnonzero(np.pad(region, padding))
    is_left = np.pad(is_open & ~region, padding)
    flat = is_left.reshape(-1)
    while len(border):
        new = []
        # No cell is the neighbour of two in one direction.
        for step in (-width - 2, -1, 1, width + 2):
            cells = border + step
            cells = cells[flat[cells]]
            flat[cells] = False
            new.append(cells)
        border = np.concatenate(new)
    region |= is_open & ~is_left[:, 1:-1, 1:-1]


def _number(file: Path) -> int:
    """Return the number that a file has as its suffix, as XSokoban's screen.1; else 0.

    These files have the order of the numbers.
    """
    digits = file.suffix[1:]
    return int(digits) if digits.isascii() and digits.isdecimal() else 0


def decode_text(data: bytes) -> str:
    """Return the text of a file: UTF-8, UTF-16 with its mark, or else Latin-1.

    Collections from before 2010 have names in Latin-1; any bytes are a text in it.
    """
    if data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return data.decode("utf-16")
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError:
        return data.decode("latin-1")


def split_lines(text: str) -> list[str]:
    """Return the lines of a text, also of Windows and of old Macs, without a mark."""
    text = text.removeprefix("\ufeff").replace("\r\n", "\n")
    return text.replace("\r", "\n").split("\n")


def name_lines(first: int, last: int) -> str:
    """Return the name of lines of a text in messages."""
    return f"line {first}" if first == last else f"lines {first} to {last}"


def refuse_beside_levels(
    options: Any, names: Sequence[str], size_name: str, size: Any
) -> None:
    """Refuse keywords of generated levels beside levels.

    Parameters
    ----------
    options : ArrayEnv
    names : sequence of str
        Keywords that must have their defaults.
    size_name : str
        The keyword of the size: the default and ``size``, that of the levels, are
        accepted, because options are also made from options.
    size : object

    Raises
    ------
    InvalidOptionError
    """
    wrong = changed_keywords(options, names)
    if changed_keywords(options, [size_name]) and getattr(options, size_name) != size:
        wrong.insert(0, size_name)
    if wrong:
        values = ", ".join(f"{name}={getattr(options, name)}" for name in wrong)
        message = (
            f"{', '.join(wrong)}: cannot be given beside levels, which are there "
            f"already and have {size_name}={size}; got {values}"
        )
        raise InvalidOptionError(message)
