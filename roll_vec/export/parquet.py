"""Parquet files: one row an episode, with lists of steps."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
from gymnasium.spaces import Box, Discrete, MultiBinary, MultiDiscrete, Space, Text

from roll_vec.errors import InvalidFileError, InvalidOptionError, MissingExtraError
from roll_vec.export.formats import Format, Row, check_unicode, to_columns
from roll_vec.export.source import Source
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
    group_rows: ClassVar[int] = 512

    def check(self, source: Source, out: Path) -> None:
        """Refuse spaces that have no column type."""
        del out
        MissingExtraError.import_module(
            "pyarrow", f"the format {self.name}", extra="parquet"
        )
        self.schema(source)

    def check_episode(self, episode: Trajectory) -> None:
        """Refuse half a surrogate pair."""
        check_unicode(self.name, episode)

    def finish(
        self, episodes: Iterator[Trajectory], out: Path, source: Source, target: Path
    ) -> None:
        """Write the rows in groups of one size."""
        del target
        from pyarrow import parquet

        schema = self.schema(source)
        with parquet.ParquetWriter(out, schema, compression="zstd") as writer:
            while group := [*islice(episodes, self.group_rows)]:
                writer.write_table(self.to_table(group, source, schema))

    def read(self, path: Path) -> Iterator[Row]:
        """Yield the rows of a file."""
        from pyarrow import parquet

        try:
            with parquet.ParquetFile(path) as file:
                for batch in file.iter_batches(self.group_rows):
                    yield from map(self.to_row, batch.to_pylist())
        except (OSError, LookupError, ValueError, TypeError) as error:
            # Arrow raises an OSError without a number for damage.
            if isinstance(error, OSError) and error.errno is not None:
                raise
            message = f"{path}: no file of the format {self.name}: {error}"
            raise InvalidFileError(message) from error

    def schema(self, source: Source) -> Any:
        """Return the pyarrow schema of the rows of a source."""
        import pyarrow as pa

        content = {**source.facts, "roll_vec": __version__}
        return pa.schema(
            [
                pa.field("id", pa.string(), nullable=False),
                pa.field("keywords", pa.string(), nullable=False),
                pa.field("seed", pa.int64()),
                *self.step_fields(source),
                pa.field("rewards", pa.list_(pa.float64())),
                pa.field("return", pa.float64(), nullable=False),
                pa.field("success", pa.bool_()),
                pa.field("num_steps", pa.int64(), nullable=False),
                pa.field("terminated", pa.bool_(), nullable=False),
                pa.field("truncated", pa.bool_(), nullable=False),
            ],
            metadata={_METADATA: json.dumps(content, sort_keys=True).encode()},
        )

    def step_fields(self, source: Source) -> list[Any]:
        """Return the pyarrow fields of instructions, observations and actions."""
        import pyarrow as pa

        return [
            pa.field("instruction", pa.string()),
            pa.field("observations", pa.list_(_type(source.observation_space))),
            pa.field("actions", pa.list_(_type(source.action_space))),
        ]

    def to_table(
        self, episodes: Sequence[Trajectory], source: Source, schema: Any
    ) -> Any:
        """Return the pyarrow table of some rows."""
        import pyarrow as pa

        rows = [
            {**to_columns(episode, source), **self.step_columns(episode)}
            for episode in episodes
        ]
        dtypes = {
            "observations": source.observation_space.dtype,
            "actions": source.action_space.dtype,
            "rewards": np.float64,
        }
        arrays = []
        for field in schema:
            column = [row[field.name] for row in rows]
            if field.name in dtypes:
                arrays.append(_list_array(column, field.type, dtypes[field.name]))
            else:
                arrays.append(pa.array(column, field.type))
        return pa.Table.from_arrays(arrays, schema=schema)

    def step_columns(self, episode: Trajectory) -> dict[str, Any]:
        """Return the columns of `step_fields` of an episode."""
        return {
            "instruction": episode.instruction,
            "observations": episode.observations,
            "actions": episode.actions,
        }

    def to_row(self, columns: dict[str, Any]) -> Row:
        """Return the parts of a row to play again."""
        return Row.of(columns, columns["actions"], columns["observations"])


def _type(space: Space[Any]) -> Any:
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
    raise InvalidOptionError.expected(
        "format",
        "spaces that are Box, Discrete, MultiBinary, MultiDiscrete or Text",
        space,
    )


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
