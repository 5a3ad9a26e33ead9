"""Parquet files: one row an episode, with lists of steps."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from itertools import islice
from typing import Any, BinaryIO, ClassVar

import numpy as np
from gymnasium.spaces import Box, Discrete, MultiBinary, MultiDiscrete, Space, Text

from roll_vec.errors import InvalidOptionError, MissingExtraError, shorten
from roll_vec.export.formats import Format
from roll_vec.trajectories import Trajectory
from roll_vec.version import __version__

_METADATA = b"roll_vec"


class ParquetFormat(Format):
    """A Parquet file, compressed by Zstandard; see docs/data.md for its columns.

    The metadata of the schema have the key ``roll_vec``: the id, the keywords, the
    policy and the version of roll_vec, as JSON.
    """

    name: ClassVar[str] = "parquet"
    suffix: ClassVar[str] = ".parquet"
    summary: ClassVar[str] = "Parquet: an episode a row, steps in lists (extra parquet)"
    needs: ClassVar[str] = (
        "spaces that are Box, Discrete, MultiBinary, MultiDiscrete or Text"
    )
    group_rows: ClassVar[int] = 512

    def __init__(self, envs: Any, policy: str) -> None:
        super().__init__(envs, policy)
        MissingExtraError.import_module(
            "pyarrow", f"the format {self.name}", extra="parquet"
        )
        self.schema = self._make_schema()

    def write(self, file: BinaryIO, episodes: Iterable[Trajectory]) -> None:
        """Write the rows in groups of one size."""
        from pyarrow import parquet

        rows = iter(episodes)
        with parquet.ParquetWriter(file, self.schema, compression="zstd") as writer:
            while group := [*islice(rows, self.group_rows)]:
                writer.write_table(self._to_table(group))

    def _make_schema(self) -> Any:
        """Return the pyarrow schema of the rows."""
        import pyarrow as pa

        content = {
            "id": self.id,
            "keywords": self.env_keywords,
            "policy": self.policy,
            "roll_vec": __version__,
        }
        return pa.schema(
            [
                pa.field("id", pa.string(), nullable=False),
                pa.field("keywords", pa.string(), nullable=False),
                pa.field("seed", pa.int64()),
                *self.step_fields(),
                pa.field("rewards", pa.list_(pa.float64())),
                pa.field("return", pa.float64(), nullable=False),
                pa.field("success", pa.bool_()),
                pa.field("num_steps", pa.int64(), nullable=False),
                pa.field("terminated", pa.bool_(), nullable=False),
                pa.field("truncated", pa.bool_(), nullable=False),
            ],
            metadata={_METADATA: json.dumps(content, sort_keys=True).encode()},
        )

    def step_fields(self) -> list[Any]:
        """Return the pyarrow fields of instructions, observations and actions."""
        import pyarrow as pa

        return [
            pa.field("instruction", pa.string()),
            pa.field("observations", pa.list_(self._type(self.observation_space))),
            pa.field("actions", pa.list_(self._type(self.action_space))),
        ]

    def _type(self, space: Space[Any]) -> Any:
        """Return the pyarrow type of one observation or action."""
        import pyarrow as pa

        if isinstance(space, Text):
            return pa.string()
        if isinstance(space, Discrete):
            return pa.int64()
        if isinstance(space, (Box, MultiBinary, MultiDiscrete)):
            type = pa.from_numpy_dtype(space.dtype)
            for size in reversed(space.shape):
                type = pa.list_(type, size)
            return type
        raise self.refuse()

    def step_columns(self, episode: Trajectory) -> dict[str, Any]:
        """Return the columns of `step_fields` of an episode."""
        return {
            "instruction": episode.instruction,
            "observations": episode.observations,
            "actions": episode.actions,
        }

    def _to_table(self, episodes: Sequence[Trajectory]) -> Any:
        """Return the pyarrow table of some rows."""
        import pyarrow as pa

        for episode in episodes:
            self._check_texts(episode)
        rows = [
            {**self.to_columns(episode), **self.step_columns(episode)}
            for episode in episodes
        ]
        dtypes = {
            "observations": self.observation_space.dtype,
            "actions": self.action_space.dtype,
            "rewards": np.float64,
        }
        arrays = []
        for field in self.schema:
            column = [row[field.name] for row in rows]
            if field.name in dtypes:
                arrays.append(_list_array(column, field.type, dtypes[field.name]))
            else:
                arrays.append(pa.array(column, field.type))
        return pa.Table.from_arrays(arrays, schema=self.schema)

    def _check_texts(self, episode: Trajectory) -> None:
        """Refuse half a surrogate pair, which a model may write and UTF-8 lacks."""
        for value in (*episode.observations, *episode.actions):
            try:
                if isinstance(value, str):
                    value.encode()
            except UnicodeEncodeError:
                message = (
                    f"format: {self.name} needs texts of whole characters; the episode "
                    f"with seed {episode.seed} has half a surrogate pair in "
                    f"{shorten(value)} (the format messages can write it)"
                )
                raise InvalidOptionError(message) from None


def _list_array(lists: Sequence[Sequence[Any]], type: Any, dtype: Any) -> Any:
    """Return a column of lists: observations, actions or rewards of episodes."""
    import pyarrow as pa

    item = type.value_type
    offsets = np.zeros(len(lists) + 1, np.int32)
    np.cumsum([len(each) for each in lists], out=offsets[1:])
    if pa.types.is_string(item):
        values = pa.array([text for texts in lists for text in texts], item)
    else:
        sizes, scalar = [], item
        while pa.types.is_fixed_size_list(scalar):
            sizes.append(scalar.list_size)
            scalar = scalar.value_type
        flat = np.array([each for steps in lists for each in steps], dtype)
        values = pa.array(flat.ravel(), scalar)
        for size in reversed(sizes):
            values = pa.FixedSizeListArray.from_arrays(values, size)
    return pa.ListArray.from_arrays(pa.array(offsets), values)
