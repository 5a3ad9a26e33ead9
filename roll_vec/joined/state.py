"""`JoinedState`: the snapshot of a batch whose parts differ."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import accumulate
from typing import Any

from roll_vec.vector.masks import check_indices
from roll_vec.vector.state import VectorState


@dataclass(frozen=True)
class JoinedState:
    """A snapshot of a `JoinedVectorEnv` whose parts differ in their configuration.

    Parameters
    ----------
    parts : tuple of VectorState
        One a part.  `VectorState.save` writes each to a file.
    """

    parts: tuple[VectorState, ...]

    @property
    def starts(self) -> list[int]:
        """The first row of each part, and the number of all rows."""
        return [0, *accumulate(map(len, self.parts))]

    @property
    def num_envs(self) -> int:
        """Number of environments."""
        return self.starts[-1]

    def __len__(self) -> int:
        return self.num_envs

    def row(self, index: int) -> dict[str, Any]:
        """Return the state of one environment; see `VectorState.row`."""
        (row,) = check_indices("rows", [index], self.num_envs).tolist()
        starts = self.starts
        part = next(k for k in range(len(self.parts)) if row < starts[k + 1])
        return self.parts[part].row(row - starts[part])
