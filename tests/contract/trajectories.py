"""Digests of trajectories, as JSON on stdout: what processes of any kind must agree on.

Run as ``python -m tests.contract.trajectories [sizes of batches that make up eight]``.
"""

from __future__ import annotations

import hashlib
import json
import sys
from typing import Any

import gymnasium
import numpy as np
from gymnasium.spaces import Text
from gymnasium.vector import AutoresetMode

from tests.contract.cases import ALL_CASES, ARRAY_IDS, PROCESSES, draw_texts, make_batch

# Rows enough for several threads, for what is split: steps, rooms, maps, pictures.
WIDE: list[tuple[str, int, dict[str, Any]]] = [
    ("roll_vec/FrozenLake-v1", 3000, {}),
    ("roll_vec/Sokoban-v0", 64, {"num_levels": 50}),
    ("roll_vec/Sokoban-v0", 64, {"dim_room": (5, 5), "num_boxes": 1}),
    ("roll_vec/Sokoban-v0", 2000, {"num_levels": 20, "obs_mode": "planes"}),
    ("roll_vec/RandomFrozenLake-v0", 300, {"obs_mode": "text"}),
    ("roll_vec/RandomFrozenLake-v0", 3000, {"num_levels": 200}),
]


class Digest:
    """A digest of everything that resets and steps of one batch or of several give."""

    def __init__(self) -> None:
        self.hash = hashlib.sha256()

    def add(self, parts: list[tuple[Any, ...]]) -> None:
        """Add what batches gave that lie side by side."""
        sizes = [len(part[0]) for part in parts]
        *columns, infos = zip(*parts, strict=True)
        for column in columns:
            joined = [np.asarray(batch) for batch in column]
            self._array(np.concatenate(joined))
        self._infos(infos, sizes)

    def _array(self, array: np.ndarray) -> None:
        if array.dtype == object:
            # Final observations, texts or lists, with None elsewhere.
            there = [value is not None for value in array.tolist()]
            self._array(np.array(there))
            values = array[there].tolist()
            if not all(isinstance(value, np.ndarray) for value in values):
                self.hash.update(repr(values).encode())
                return
            array = np.array(values)
        self.hash.update(str(array.shape).encode())
        self.hash.update(array.tobytes())

    def _infos(self, infos: Any, sizes: list[int]) -> None:
        for key in sorted({key for part in infos for key in part}):
            self.hash.update(key.encode())
            values = [part.get(key) for part in infos]
            if any(isinstance(value, dict) for value in values):
                self._infos([value or {} for value in values], sizes)
                continue
            blank = next(value for value in values if value is not None)
            fill = None if blank.dtype == object else 0
            filled = [
                np.full(size, fill, blank.dtype) if value is None else value
                for value, size in zip(values, sizes, strict=True)
            ]
            self._array(np.concatenate(filled))


def digest_of(
    case: str, sizes: list[int], steps: int, mode: AutoresetMode, **more: Any
) -> str:
    """Return the digest of some batches side by side, seeded as one would be."""
    more = {"max_episode_steps": 7, "autoreset_mode": mode, **more}
    # Those of an id are not small.
    make = gymnasium.make_vec if case in ARRAY_IDS else make_batch
    envs = [make(case, num_envs=size, **more) for size in sizes]
    starts = np.cumsum([0, *sizes]).tolist()
    space = envs[0].single_action_space
    shape = (steps, sum(sizes))
    rng = np.random.default_rng(5)
    if isinstance(space, Text):
        actions = draw_texts(space, shape, rng)
    else:
        actions = rng.integers(space.start, space.start + space.n, shape)
    digest = Digest()
    digest.add([env.reset(seed=9 + at) for env, at in zip(envs, starts, strict=False)])
    for row in actions:
        digest.add(
            [
                env.step(row[at : at + env.num_envs])
                for env, at in zip(envs, starts, strict=False)
            ]
        )
    for env in envs:
        env.close()
    return digest.hash.hexdigest()[:16]


def all_digests(sizes: list[int], wide_steps: int = 8) -> dict[str, str]:
    """Return named digests of eight environments of each case and of wide batches."""
    modes = (AutoresetMode.NEXT_STEP, AutoresetMode.SAME_STEP)
    digests = {
        f"{case} {mode.value}": digest_of(case, sizes, 24, mode)
        for case in (*ALL_CASES, PROCESSES[0])
        for mode in modes
    }
    for env_id, rows, more in WIDE if wide_steps else ():
        # Split as unevenly as the eight.
        parts = [rows * size // 8 for size in sizes]
        parts[-1] += rows - sum(parts)
        name = f"{env_id} {rows} {more}"
        digests[name] = digest_of(env_id, parts, wide_steps, modes[1], **more)
    return digests


def main() -> None:
    """Print the digests."""
    sizes = [int(size) for size in sys.argv[1:]] or [8]
    sys.stdout.write(json.dumps(all_digests(sizes)))


if __name__ == "__main__":
    main()
