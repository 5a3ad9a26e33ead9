"""A digest of 32 bits for the observation and the infos of each environment.

It is the same on all platforms, and with all versions of Python and numpy: numbers are
hashed as their bytes, the lowest first, and all else as `encode` writes it.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import Any

import numpy as np
from gymnasium.spaces import Dict, Space, Tuple
from numpy.typing import NDArray

from roll_vec.storage.plain_data import encode

# numpy's kinds whose bytes are their value: bool, numbers and times.
_ARRAY_KINDS = "biufcmM"
_NONE = encode(None)
# Of the weights of a row's words, which are always the same.
_WEIGHTS_SEED = 0x726F77
_FACTOR = np.uint64(0x9E3779B97F4A7C15)
_HALF = np.uint64(32)
_BYTES_AT_ONCE = 1 << 21


def digest_rows(
    space: Space[Any], num_envs: int, observations: Any, infos: Mapping[str, Any]
) -> NDArray[np.uint32]:
    """Return (num_envs,) uint32 digests of the results of a step or a reset.

    Parameters
    ----------
    space : Space
        The single observation space.
    num_envs : int
    observations, infos
        As the batch returned them.  No object that is no plain data counts, but its
        class does: its text may have its address, which differs between processes.
    """
    results = {"observations": _without_tuples(space, observations), "infos": infos}
    leaves = dict(_leaves("", results, None, num_envs))
    digests = np.zeros(num_envs, np.uint64)
    # The order of the keys of infos depends on the environments.
    for path in sorted(leaves):
        name, rows = leaves[path]
        digests *= _FACTOR
        digests += rows
        digests += np.uint64(zlib.crc32(f"{path} {name}".encode()))
    return (digests >> _HALF).astype(np.uint32)


def _without_tuples(space: Space[Any], batch: Any) -> Any:
    """Return a batch with dicts in place of the tuples of Tuple spaces.

    The batch of a Text space is a tuple as well, of one text an environment.
    """
    if isinstance(space, Tuple):
        parts = zip(space.spaces, batch, strict=True)
        return {str(i): _without_tuples(*part) for i, part in enumerate(parts)}
    if isinstance(space, Dict):
        return {key: _without_tuples(part, batch[key]) for key, part in space.items()}
    return batch


def _leaves(
    path: str, value: Any, mask: Any, num_envs: int
) -> Iterator[tuple[str, tuple[str, NDArray[np.uint64]]]]:
    """Yield each array or list of a value: its path, its form and its rows' digests.

    The mask says which rows of an array of objects count.
    """
    if isinstance(value, dict):
        for key, part in value.items():
            mask = value.get(f"_{key}")
            yield from _leaves(f"{path}/{key}", part, mask, num_envs)
        return
    is_array = isinstance(value, np.ndarray) and value.shape[:1] == (num_envs,)
    if is_array and value.dtype.kind in _ARRAY_KINDS:
        array = np.ascontiguousarray(value, value.dtype.newbyteorder("<"))
        name = f"{array.dtype.str} {array.shape[1:]}"
        yield path, (name, _digest_arrays(array.reshape(num_envs, -1)))
        return
    if not (is_array or (isinstance(value, (list, tuple)) and len(value) == num_envs)):
        # A value that is not one of each environment is one of all.
        texts = [_to_bytes(value)] * num_envs
    elif isinstance(mask, np.ndarray) and mask.shape == (num_envs,):
        # Most rows of objects are blank.
        texts = [_NONE] * num_envs
        for env_id in np.flatnonzero(mask).tolist():
            texts[env_id] = _to_bytes(value[env_id])
    else:
        texts = [*map(_to_bytes, value)]
    yield path, ("", np.fromiter(map(zlib.crc32, texts), np.uint64, num_envs) << _HALF)


def _to_bytes(value: Any) -> bytes:
    """Return a value as bytes; of an object that is no plain data, its class's name."""
    try:
        return encode(value)
    except TypeError:
        kind = type(value)
        return encode(f"<{kind.__module__}.{kind.__qualname__}>")


def _digest_arrays(rows: NDArray[Any]) -> NDArray[np.uint64]:
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
        words = chunk.view("<u4").astype(np.uint64)
        digests[start : start + part] = words @ weights
    return digests


@lru_cache(maxsize=64)
def _weights(count: int) -> NDArray[np.uint64]:
    # The raw numbers are the same in all versions of numpy.
    return np.random.PCG64(_WEIGHTS_SEED).random_raw(count)
