"""Results of one step or reset as leaves: named arrays and texts, one row each.

A frame is a dict from paths to leaves.  The first part of a path is the field, one of
`FIELDS`; the others are the keys of nested dicts, and the numbers in nested tuples.  A
leaf has one row an environment: it is an array, or a list of `encode`'s bytes for
everything that is no array, such as texts.
"""

from __future__ import annotations

import zlib
from collections.abc import Collection, Mapping
from functools import lru_cache
from typing import Any, TypeAlias

import gymnasium
import numpy as np
from numpy.typing import NDArray

from roll_vec.storage.plain_data import encode

LeafPath: TypeAlias = tuple[str, ...]
Leaf: TypeAlias = NDArray[Any] | list[bytes]
FlatResults: TypeAlias = dict[LeafPath, Leaf]

FIELDS = ("observations", "rewards", "terminations", "truncations", "infos")

# numpy's kinds whose bytes are their value: bool, numbers, bytes, str and times.
ARRAY_KINDS = "biufcSUmM"
_NONE = encode(None)
# Of the weights of a row's words, which are always the same.
_WEIGHTS_SEED = 0x726F77
_BYTES_AT_ONCE = 1 << 21


def flatten(
    space: gymnasium.Space[Any], num_envs: int, results: Mapping[str, Any]
) -> FlatResults:
    """Return the leaves of the results of a step or a reset.

    Parameters
    ----------
    space : Space
        The single observation space.
    num_envs : int
    results : mapping
        By field; the arrays are not copied.
    """
    frame: FlatResults = {}
    for field, value in results.items():
        if field == "observations":
            value = _split_tuples(space, value)
        _add(frame, (field,), value, num_envs, None)
    return frame


def _split_tuples(space: gymnasium.Space[Any], batch: Any) -> Any:
    """Return a batch with dicts in place of the tuples of Tuple spaces.

    The batch of a Text space is a tuple as well, of one text an environment.
    """
    if isinstance(space, gymnasium.spaces.Tuple):
        pairs = zip(space.spaces, batch, strict=True)
        return {
            str(i): _split_tuples(part, each) for i, (part, each) in enumerate(pairs)
        }
    if isinstance(space, gymnasium.spaces.Dict):
        return {key: _split_tuples(part, batch[key]) for key, part in space.items()}
    return batch


def _add(
    frame: FlatResults, path: LeafPath, value: Any, num_envs: int, mask: Any
) -> None:
    """Add the leaves of a value to a frame; the mask says which objects count."""
    if isinstance(value, dict):
        for key, part in value.items():
            _add(frame, (*path, str(key)), part, num_envs, value.get(f"_{key}"))
        return
    if not (isinstance(value, np.ndarray) and value.shape[:1] == (num_envs,)):
        is_batch = isinstance(value, (list, tuple)) and len(value) == num_envs
        # A value that is not one of each environment is one of all.
        frame[path] = (
            [*map(_to_bytes, value)] if is_batch else [_to_bytes(value)] * num_envs
        )
    elif value.dtype.kind in ARRAY_KINDS:
        frame[path] = np.ascontiguousarray(value)
    elif isinstance(mask, np.ndarray) and mask.shape == (num_envs,):
        # Most rows of objects are blank.
        rows = [_NONE] * num_envs
        for env_id in np.flatnonzero(mask).tolist():
            rows[env_id] = _to_bytes(value[env_id])
        frame[path] = rows
    else:
        frame[path] = [*map(_to_bytes, value)]


def _to_bytes(value: Any) -> bytes:
    """Return a value as bytes; of an object that is no plain data, its class's name.

    The text of such an object may have its address, which differs between processes.
    """
    try:
        return encode(value)
    except TypeError:
        kind = type(value)
        return encode(f"<{kind.__module__}.{kind.__qualname__}>")


def digest_frame(frame: FlatResults) -> int:
    """Return the CRC-32 of all leaves, in the order of their paths."""
    digest = 0
    for path in sorted(frame):
        leaf = frame[path]
        if isinstance(leaf, np.ndarray):
            name: Any = (path, leaf.dtype.str, leaf.shape)
            data: Any = leaf.reshape(-1).view(np.uint8)
        else:
            name, data = path, b"\0".join(leaf)
        digest = zlib.crc32(data, zlib.crc32(repr(name).encode(), digest))
    return digest


def with_digests(
    frame: FlatResults, fields: Collection[str], num_envs: int
) -> FlatResults:
    """Return a frame with `digest_rows` in place of the leaves of some fields."""
    if not fields:
        return frame
    short = {path: leaf for path, leaf in frame.items() if path[0] not in fields}
    return short | {(field,): digest_rows(frame, field, num_envs) for field in fields}


def digest_rows(frame: FlatResults, field: str, num_envs: int) -> NDArray[np.uint32]:
    """Return a digest of 32 bits for each environment, of the leaves of one field."""
    digests = np.zeros(num_envs, np.uint64)
    for path in sorted(path for path in frame if path[0] == field):
        leaf = frame[path]
        digests *= np.uint64(0x9E3779B97F4A7C15)
        if isinstance(leaf, np.ndarray):
            name = repr((path, leaf.dtype.str, leaf.shape[1:]))
            digests += _digest_array_rows(leaf.reshape(num_envs, -1))
        else:
            name = repr(path)
            rows = np.fromiter(map(zlib.crc32, leaf), np.uint64, num_envs)
            digests += rows << np.uint64(32)
        digests += np.uint64(zlib.crc32(name.encode()))
    return (digests >> np.uint64(32)).astype(np.uint32)


def _digest_array_rows(rows: NDArray[Any]) -> NDArray[np.uint64]:
    """Return the sums of each row's words of 32 bits, times weights of 64 bits.

    Of two rows that differ, the upper 32 bits are equal by one chance in 2**32.
    """
    num_rows = len(rows)
    size = rows.dtype.itemsize * rows.shape[1]
    if not rows.size:
        return np.zeros(num_rows, np.uint64)
    data = rows.view(np.uint8).reshape(num_rows, size)
    num_words = -(-size // 4)
    weights = _weights(num_words)
    digests = np.empty(num_rows, np.uint64)
    # In parts that fit into the cache: words of 64 bits need twice the memory.
    part = max(1, _BYTES_AT_ONCE // size)
    for start in range(0, num_rows, part):
        chunk = data[start : start + part]
        if size % 4:
            padded = np.zeros((len(chunk), 4 * num_words), np.uint8)
            padded[:, :size] = chunk
            chunk = padded
        words = chunk.view(np.uint32).astype(np.uint64)
        digests[start : start + part] = words @ weights
    return digests


@lru_cache(maxsize=64)
def _weights(count: int) -> NDArray[np.uint64]:
    # The raw numbers are the same in all versions of numpy.
    return np.random.PCG64(_WEIGHTS_SEED).random_raw(count)
