"""FrozenLake maps of users: reading lists and arrays, and checking the maps.

A map has rows of one length of the letters S start, F ice, H hole and G goal.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from roll_vec.envs.frozen_lake.maps import can_reach_goal, parse_letters
from roll_vec.envs.level_sets import Faults, Grids, LevelSet, refuse
from roll_vec.errors import InvalidOptionError
from roll_vec.kernels.frozen_lake import moves as kernels

# By code of a grid at the start of an episode: the player stands on S.
_LETTER_BYTES = b"SFHG"
_CODES = np.full(256, len(_LETTER_BYTES), np.uint8)
_CODES[list(_LETTER_BYTES)] = kernels.PLAYER, kernels.ICE, kernels.HOLE, kernels.GOAL


class LakeSet(LevelSet):
    """Maps of one size, each with one start; see `LevelSet`.

    A grid has the codes that are observed at the start of the map: 0 the start, 1 ice,
    2 hole, 3 goal.
    """

    ACCEPTED: ClassVar[str] = (
        "a list of maps, each a list of rows of the letters S, F, H and G, or an array "
        "(L, H, W) or (H, W) of these letters or of their codes 0 S, 1 F, 2 H and 3 G"
    )
    LEVEL: ClassVar[str] = "map"
    HIGHEST_CODE: ClassVar[int] = kernels.GOAL

    @cached_property
    def arrays(self) -> tuple[NDArray[Any], ...]:
        """The grids, and their start cells (l,) int64; not to be written."""
        is_start = self._cells.reshape(len(self), -1) == kernels.PLAYER
        return self._cells, is_start.argmax(axis=1)

    @classmethod
    def load(cls, levels: Any) -> LakeSet:
        """Return maps in any form as a set; see `ACCEPTED`.

        Raises
        ------
        InvalidOptionError
        """
        if isinstance(levels, cls):
            return levels
        if isinstance(levels, np.ndarray) and levels.dtype.kind in "SU":
            letters = levels.astype(str)
            if letters.ndim not in (2, 3) or not letters.size:
                raise InvalidOptionError.expected("levels", cls.ACCEPTED, levels)
            # Rows are an array of two dimensions, too.
            is_one = letters.ndim == 2 and letters.itemsize == 4
            levels = [letters] if is_one else list(letters)
        is_list = isinstance(levels, (list, tuple))
        if is_list and any(isinstance(each, (str, bytes)) for each in levels):
            raise InvalidOptionError.expected("levels", cls.ACCEPTED, levels)
        if is_list and any(map(_has_letters, levels)):
            return cls(cls._parse_maps(levels))
        return cls(cls.stack({"": cls.parse_array(levels, "", [])}))

    @classmethod
    def _parse_maps(cls, maps: Sequence[Any]) -> Grids:
        """Return maps of rows of letters, checked."""
        parts = {}
        for number, rows in enumerate(maps):
            name = f"[{number}]"
            if isinstance(rows, (list, tuple)) and set(map(_text_length, rows)) == {1}:
                # numpy would take a list of single letters for one row.
                rows = [[row] for row in rows]
            letters = parse_letters(f"levels{name}", rows)
            parts[name] = _CODES[letters.view(np.uint8)][np.newaxis]
        return cls.check(cls.stack(parts), lambda j: f"[{j}]", [])

    @classmethod
    def check(cls, grids: Grids, name: Callable[[int], str], _faults: Faults) -> Grids:
        """Refuse maps without exactly one start, and without a way to a goal."""
        starts = grids == kernels.PLAYER
        counts = starts.sum(axis=(1, 2))
        faulty = (counts != 1) | ~can_reach_goal(starts, grids)
        if faulty.any():
            j = int(faulty.argmax())
            problem = "expected a way from S to G without holes"
            if counts[j] != 1:
                problem = f"expected exactly one start S, got {counts[j]}"
            refuse(name(j), problem)
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
