"""FrozenLake maps of users: reading files, texts, lists and arrays, and checking them.

A map has rows of one length of the letters S start, F ice, H hole and G goal.  In a
text, a map ends at a blank line or at one that begins with ``;``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from roll_vec.arrays.level_sets import (
    Faults,
    Grids,
    LevelSet,
    format_grids,
    name_lines,
    refuse,
    split_text,
)
from roll_vec.envs.frozen_lake.maps import can_reach_goal, parse_letters
from roll_vec.kernels.frozen_lake import rules as kernels

__all__ = ["LakeSet", "format_levels", "load_levels"]

# By code of a grid at the start of an episode: the player stands on S.
_LETTER_BYTES = b"SFHG"
_CODES = np.full(256, len(_LETTER_BYTES), np.uint8)
_CODES[list(_LETTER_BYTES)] = kernels.PLAYER, kernels.ICE, kernels.HOLE, kernels.GOAL
_ROWS_HINT = (
    "; a list of texts is a list of maps: the rows of one map are a list within the "
    "list, or one text with line breaks"
)


class LakeSet(LevelSet):
    """Maps of one size, each with one start; see `LevelSet`.

    A grid has the codes that are observed at the start of the map: 0 the start, 1 ice,
    2 hole, 3 goal.
    """

    ACCEPTED: ClassVar[str] = (
        "a list of maps, each a list of rows of the letters S, F, H and G, or a text; "
        "an array (L, H, W) or (H, W) of these letters or of their codes 0 S, 1 F, 2 H "
        "and 3 G; or a path of a text file, of a folder of them or of a .npz file"
    )
    ID: ClassVar[str] = "roll_vec/RandomFrozenLake-v0"
    LEVEL: ClassVar[str] = "map"
    HIGHEST_CODE: ClassVar[int] = kernels.GOAL
    SUFFIXES: ClassVar[tuple[str, ...]] = (".txt",)

    def __init__(self, cells: Grids, path: str | None = None) -> None:
        super().__init__(cells, path)
        flat = cells.reshape(len(cells), -1)
        # A map itself has ice below the player.
        maps = np.where(flat == kernels.PLAYER, np.uint8(kernels.ICE), flat)
        self._arrays = maps, (flat == kernels.PLAYER).argmax(axis=1)

    @property
    def arrays(self) -> tuple[NDArray[Any], ...]:
        """Maps (l, H * W) uint8 and start cells (l,) int64; not to be written."""
        return self._arrays

    @classmethod
    def load(cls, levels: Any) -> LakeSet:
        """Return maps in any form as a set; see `LevelSet.load`."""
        if isinstance(levels, np.ndarray) and levels.dtype.kind in "SU":
            letters = levels.astype(str)
            # Of texts or rows, not of letters: as lists of them.
            levels = levels if letters.itemsize == 4 else letters.tolist()
        return super().load(levels)

    @classmethod
    def parse(cls, text: str, where: str, _faults: Faults) -> Grids:
        """Return the maps of a text; see `LevelSet.parse`."""
        maps = list(split_text(text))
        if not maps:
            refuse(where, "there are no maps")
        names = [
            f"{where}, {name_lines(line, line + len(rows) - 1)}" for line, rows in maps
        ]
        hint = "" if "\n" in text else _ROWS_HINT
        return cls._parse_maps([rows for _, rows in maps], names, hint)

    @classmethod
    def parse_array(cls, levels: Any, where: str, faults: Faults) -> Grids:
        """Return the maps of an array of letters or codes, or of a list of maps."""
        if isinstance(levels, np.ndarray) and levels.dtype.kind in "SU":
            if levels.ndim not in (2, 3) or not levels.size:
                got = f"{levels.dtype} of shape {levels.shape}"
                refuse(where, f"expected an array (L, H, W) or (H, W), got {got}")
            levels = list(levels.reshape(-1, *levels.shape[-2:]))
        if isinstance(levels, (list, tuple)) and any(map(_has_letters, levels)):
            names = [f"{where}[{j}]" for j in range(len(levels))]
            return cls._parse_maps(levels, names)
        return super().parse_array(levels, where, faults)

    @classmethod
    def _parse_maps(
        cls, maps: Sequence[Any], names: Sequence[str], hint: str = ""
    ) -> Grids:
        """Return maps of rows of letters, checked; ``hint`` ends the messages."""
        parts = {}
        for rows, name in zip(maps, names, strict=True):
            if isinstance(rows, (list, tuple)) and set(map(_text_length, rows)) == {1}:
                # numpy would take a list of single letters for one row.
                rows = [[row] for row in rows]
            letters = parse_letters(f"levels{name}", rows)
            parts[name] = _CODES[letters.view(np.uint8)][np.newaxis]
        return cls.check(cls.stack(parts), lambda j: names[j], [], hint)

    @classmethod
    def check(
        cls, grids: Grids, name: Callable[[int], str], _faults: Faults, hint: str = ""
    ) -> Grids:
        """Refuse maps without exactly one start, and without a way to a goal."""
        starts = grids == kernels.PLAYER
        counts = starts.sum(axis=(1, 2))
        faulty = (counts != 1) | ~can_reach_goal(starts, grids)
        if faulty.any():
            j = int(faulty.argmax())
            problem = "expected a way from S to G without holes"
            if counts[j] != 1:
                problem = f"expected exactly one start S, got {counts[j]}"
            refuse(name(j), f"{problem}{hint}")
        return grids


def _text_length(row: Any) -> int:
    return len(row) if isinstance(row, str) else 0


def _has_letters(rows: Any) -> bool:
    """Return whether the rows of a map are texts, or lists of letters."""
    try:
        return np.asarray(rows).dtype.kind in "SU"
    except ValueError:
        # Rows of different lengths.
        return True


def load_levels(levels: Any) -> LakeSet:
    """Return maps in any form as a set; see `LevelSet.load`.

    Raises
    ------
    InvalidOptionError
    """
    return LakeSet.load(levels)


def format_levels(grids: Grids, numbers: Iterable[int] | None = None) -> str:
    """Return maps in the text format of `load_levels`; see `format_grids`."""
    return format_grids(_LETTER_BYTES, grids, numbers)
