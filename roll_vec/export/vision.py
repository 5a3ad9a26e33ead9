"""Chats with pictures as a Parquet file, for models that see: one row an episode."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np
from gymnasium.spaces import Box, Space, Text

from roll_vec.export.parquet import ParquetFormat
from roll_vec.render.png import import_pillow, to_png
from roll_vec.trajectories import Trajectory
from roll_vec.trajectories.trajectory import TEXTS

# datasets then reads the column as pictures, not as bytes.
_FEATURES = {"images": {"feature": {"_type": "Image"}, "_type": "Sequence"}}


class VisionFormat(ParquetFormat):
    """A Parquet file with the columns ``messages`` and ``images``.

    Both are those of TRL's vision data sets: the content of a message is a list of
    parts, text or picture, and the pictures, PNG files, stand in ``images`` in their
    order.  The other columns and the metadata are those of `ParquetFormat`.
    """

    name: ClassVar[str] = "vision"
    summary: ClassVar[str] = "Parquet: chats with pictures (extras parquet and cli)"
    needs: ClassVar[str] = "observations that are pictures and actions that are texts"
    keywords: ClassVar[Mapping[str, str]] = {**TEXTS, "obs_mode": "rgb"}
    # Of pictures: a row has hundreds of kilobytes.
    group_rows: ClassVar[int] = 32

    def __init__(self, envs: Any, policy: str) -> None:
        import_pillow(f"the format {self.name}")
        super().__init__(envs, policy)

    def _make_schema(self) -> Any:
        schema = super()._make_schema()
        info = json.dumps({"info": {"features": _FEATURES}}).encode()
        return schema.with_metadata({**schema.metadata, b"huggingface": info})

    def step_fields(self) -> list[Any]:
        """Return the pyarrow fields of messages and pictures."""
        import pyarrow as pa

        is_text = isinstance(self.action_space, Text)
        if not (is_text and _is_of_pictures(self.observation_space)):
            raise self.refuse()
        part = pa.struct({"type": pa.string(), "text": pa.string()})
        message = pa.struct({"role": pa.string(), "content": pa.list_(part)})
        image = pa.struct({"bytes": pa.binary(), "path": pa.string()})
        return [
            pa.field("messages", pa.list_(message)),
            pa.field("images", pa.list_(image)),
        ]

    def step_columns(self, episode: Trajectory) -> dict[str, Any]:
        """Return the messages and the pictures of an episode."""
        messages = []
        if episode.instruction is not None:
            messages.append(_message("system", episode.instruction))
        for answer in episode.actions:
            messages += [_message("user", None), _message("assistant", answer)]
        pictures = episode.observations[: episode.num_steps]
        images = [{"bytes": to_png(pixels), "path": None} for pixels in pictures]
        return {"messages": messages, "images": images}


def _is_of_pictures(space: Space[Any]) -> bool:
    is_of_bytes = isinstance(space, Box) and space.dtype == np.uint8
    return is_of_bytes and len(space.shape or ()) == 3 and (space.shape or ())[2] == 3


def _message(role: str, text: str | None) -> dict[str, Any]:
    """Return a message of one part; None: a picture."""
    kind = "image" if text is None else "text"
    return {"role": role, "content": [{"type": kind, "text": text}]}
