"""The first difference between a recorded frame and the same frame of a replay."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from roll_vec.recordings.files import RecordedFrame
from roll_vec.recordings.flat_results import (
    FIELDS,
    FlatResults,
    Leaf,
    LeafPath,
    digest_frame,
    with_digests,
)
from roll_vec.storage.plain_data import decode

_ABSENT = "nothing"
# Characters of a value in the report, and of a text before the first difference.
_WIDTH, _CONTEXT = 120, 20


@dataclass(frozen=True)
class Difference:
    """The first difference in a frame: of its first environment, the first field.

    Attributes
    ----------
    step : int
        Of the batch: 0 is the first reset.
    env_id : int or None
        None: it cannot be said.
    field : str
        Such as ``rewards``, ``observations[2, 3]`` or ``infos['success']``.
    recorded, present : str
        Both values, for people.
    num_envs : int
        Environments in which this frame differs.
    """

    step: int
    env_id: int | None
    field: str
    recorded: str
    present: str
    num_envs: int = 0


def find_difference(
    step: int, recorded: RecordedFrame, present: FlatResults, num_envs: int
) -> Difference | None:
    """Return the first difference in a frame of a step; None if all bits are equal."""
    full = present
    present = with_digests(full, recorded.digest_fields, num_envs)
    unequal = {
        path: rows
        for path in {**recorded.values, **present}
        if (rows := _compare(recorded.values.get(path), present.get(path), num_envs))
        is not None
    }
    if not unequal:
        digest = digest_frame(present)
        if digest == recorded.digest:
            return None
        digests = f"{recorded.digest:08x}", f"{digest:08x}"
        return Difference(step, None, "digest", *digests)
    differs = np.logical_or.reduce([*unequal.values()])
    env_id = int(differs.argmax())
    path = min(
        (path for path, rows in unequal.items() if rows[env_id]),
        key=lambda path: (FIELDS.index(path[0]), path[-1].startswith("_")),
    )
    if path[0] in recorded.digest_fields:
        texts = _describe_digests(recorded.values, present, full, path, env_id)
    else:
        texts = _describe(recorded.values, present, path, env_id)
    return Difference(step, env_id, *texts, int(np.count_nonzero(differs)))


def _compare(
    recorded: Leaf | None, present: Leaf | None, num_envs: int
) -> NDArray[np.bool_] | None:
    """Return the (num_envs,) mask of rows that differ; None if there are none."""
    if isinstance(recorded, list) and isinstance(present, list):
        if recorded == present:
            return None
        pairs = zip(recorded, present, strict=True)
        return np.fromiter((a != b for a, b in pairs), np.bool_, num_envs)
    if (
        isinstance(recorded, np.ndarray)
        and isinstance(present, np.ndarray)
        and recorded.dtype == present.dtype
        and recorded.shape == present.shape
    ):
        # Bits: a nan equals itself, and 0.0 differs from -0.0.
        a, b = (_bytes_of(leaf, num_envs) for leaf in (recorded, present))
        return None if np.array_equal(a, b) else (a != b).any(axis=1)
    return np.ones(num_envs, np.bool_)


def _bytes_of(leaf: NDArray[Any], num_envs: int) -> NDArray[np.uint8]:
    size = leaf.nbytes // num_envs
    return leaf.reshape(-1).view(np.uint8).reshape(num_envs, size)


def _describe(
    recorded: FlatResults, present: FlatResults, path: LeafPath, env_id: int
) -> tuple[str, str, str]:
    """Return the name of the field and both values of one environment."""
    owner = (*path[:-1], path[-1][1:])
    if path[-1].startswith("_") and (owner in recorded or owner in present):
        path = owner
    name, (old, new) = _name(path), (each.get(path) for each in (recorded, present))
    # The mask of an info says whether the environment has it.
    mask_path = (*path[:-1], f"_{path[-1]}")
    if not _is_present(recorded, mask_path, env_id):
        old = None
    if not _is_present(present, mask_path, env_id):
        new = None
    if isinstance(old, np.ndarray) and isinstance(new, np.ndarray):
        if old.dtype != new.dtype or old.shape != new.shape:
            texts = [
                f"{_show(leaf, env_id)} ({leaf.dtype} {leaf.shape[1:]})"
                for leaf in (old, new)
            ]
            return name, texts[0], texts[1]
        a, b = old[env_id], new[env_id]
        if a.ndim:
            places = (_bytes_of(a, a.size) != _bytes_of(b, b.size)).any(axis=1)
            index = np.unravel_index(int(places.argmax()), a.shape)
            name += f"[{', '.join(str(int(i)) for i in index)}]"
            return name, repr(a[index].item()), repr(b[index].item())
    if isinstance(old, list) and isinstance(new, list):
        a, b = decode(old[env_id]), decode(new[env_id])
        if isinstance(a, str) and isinstance(b, str):
            return name, *_show_texts(a, b)
    return name, _show(old, env_id), _show(new, env_id)


def _is_present(frame: FlatResults, mask_path: LeafPath, env_id: int) -> bool:
    mask = frame.get(mask_path)
    return not isinstance(mask, np.ndarray) or bool(mask[env_id])


def _describe_digests(
    recorded: FlatResults,
    present: FlatResults,
    full: FlatResults,
    path: LeafPath,
    env_id: int,
) -> tuple[str, str, str]:
    """Return the field, its recorded digest, and the present one with the values."""
    old, new = (
        f"digest {int(frame[path][env_id]):08x}" if path in frame else _ABSENT
        for frame in (recorded, present)
    )
    values = "; ".join(
        f"{_name(part) if len(part) > 1 else ''} {_show(leaf, env_id)}".lstrip()
        for part, leaf in full.items()
        if part[0] == path[0] and not part[-1].startswith("_")
    )
    return path[0], f"{old}, without values", f"{new}: {values}"


def _name(path: LeafPath) -> str:
    return path[0] + "".join(f"[{key!r}]" for key in path[1:])


def _show(leaf: Leaf | None, env_id: int) -> str:
    """Return an environment's row of a leaf on one line."""
    if leaf is None:
        return _ABSENT
    row = leaf[env_id]
    value = row.tolist() if isinstance(row, (np.ndarray, np.generic)) else decode(row)
    text = " ".join(repr(value).split())
    return text if len(text) <= _WIDTH else f"{text[: _WIDTH - 3]}..."


def _show_texts(a: str, b: str) -> tuple[str, str]:
    """Return two texts as literals, from shortly before their first difference on."""
    pairs = zip(a, b, strict=False)
    first = next((i for i, (x, y) in enumerate(pairs) if x != y), min(len(a), len(b)))
    start = max(0, first - _CONTEXT)
    parts = []
    for text in (a, b):
        part = repr(text[start : start + _WIDTH])
        before = f"from character {start}: " if start else ""
        after = "..." if len(text) > start + _WIDTH else ""
        parts.append(before + part + after)
    return parts[0], parts[1]
