"""The evaluation splits: fixed, named sets of episodes for each id.

A split has the keywords of its environments and a list of seeds.  Its episode i is the
one that ``reset(seed=split.seeds[i])`` begins.  For levels and tasks that are generated
the seed is the number of the level.  Test levels begin at 1,000,000; levels below are
free for training (``num_levels=1_000_000``).
"""

from __future__ import annotations

import hashlib
import json
import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any

import numpy as np

from roll_vec.errors import InvalidOptionError
from roll_vec.registration import ENVIRONMENTS

if TYPE_CHECKING:
    from roll_vec.pool import PoolVectorEnv
    from roll_vec.vector.env import RollVectorEnv

__all__ = ["SPLITS", "Split", "find_split"]

TEST_START = 1_000_000
# Keywords that change how a task is shown, read or computed, and not the task.
FREE_KEYWORDS = frozenset(
    {
        *("obs_mode", "observation_mode", "observation_format", "show_attrs", "copy"),
        *("action_mode", "action_pattern", "action_start", "action_lookup", "match"),
        *("action_separator", "max_actions_per_turn", "special_token_list"),
        *("max_answer_chars", "env_instruction", "grid_lookup", "grid_vocab"),
        *("action_mask", "deadlock", "seed_info", "level_info", "difficulty_info"),
        *("oracle_return_info", "render_mode", "render_scale", "num_threads"),
        *("workers", "executor", "context", "step_timeout", "reset_timeout"),
        *("on_error", "memory_map"),
    }
)
# Environments of a batch that computes a digest: thousands of objects take memory.
_DIGEST_ENVS = 500


@dataclass(frozen=True)
class Split:
    """A fixed set of episodes.

    Parameters
    ----------
    id : str
        Of the environment.
    name : str
    title : str
        One line about the episodes.
    keywords : dict
        Of `roll_vec.make_vec`: they choose the task.
    make_seeds : callable
        Returns the seeds of the episodes.
    digest : str
        What `compute_digest` returns; the tests compare them.
    """

    id: str
    name: str
    title: str
    make_seeds: Callable[[], Sequence[int]]
    digest: str
    keywords: Mapping[str, Any] = field(default_factory=dict)

    @cached_property
    def seeds(self) -> Sequence[int]:
        """The seed of each episode."""
        return self.make_seeds()

    def __len__(self) -> int:
        return len(self.seeds)

    def make_vec(self, num_envs: int, **keywords: Any) -> RollVectorEnv | PoolVectorEnv:
        """Make a batch that plays these episodes, in ``Disabled`` mode.

        Parameters
        ----------
        num_envs : int
        **keywords
            Others that leave the task as it is: observations, the form of actions,
            infos, threads and workers.

        Raises
        ------
        InvalidOptionError
            If a keyword would change the task.
        """
        from roll_vec.factories import make_vec

        for name in keywords:
            if name not in FREE_KEYWORDS:
                accepted = f"one of {', '.join(sorted(FREE_KEYWORDS))}"
                raise InvalidOptionError.expected(
                    "keywords", accepted, name, f"; it would change {self.name}"
                )
        return make_vec(
            self.id,
            num_envs,
            autoreset_mode="Disabled",
            **{**self.keywords, **keywords},
        )

    def compute_digest(self) -> str:
        """Return the SHA-256 of the keywords, the seeds and the first observations.

        Grids are hashed as codes, uint8 in C order, texts as UTF-8 with a zero byte
        after each.
        """
        mode = {}
        if "obs_mode" in ENVIRONMENTS[self.id].defaults():
            mode = {"obs_mode": "grid"}
        seeds = list(self.seeds)
        envs = self.make_vec(min(len(seeds), _DIGEST_ENVS), **mode)
        head = [self.id, sorted(self.keywords.items()), seeds]
        digest = hashlib.sha256(json.dumps(head).encode())
        for start in range(0, len(seeds), envs.num_envs):
            part = seeds[start : start + envs.num_envs]
            padding = [part[-1]] * (envs.num_envs - len(part))
            observations, _ = envs.reset(seed=part + padding)
            for observation in observations[: len(part)]:
                if isinstance(observation, str):
                    digest.update(observation.encode() + b"\0")
                else:
                    digest.update(np.asarray(observation, np.uint8).tobytes())
        envs.close()
        return digest.hexdigest()


def find_split(id: str, name: str) -> Split:
    """Return a split of an id.

    Raises
    ------
    InvalidOptionError
        If there is no such id or split.
    """
    if id not in SPLITS:
        raise InvalidOptionError.expected("id", f"one of {', '.join(SPLITS)}", id)
    if name not in SPLITS[id]:
        accepted = f"a split of {id}: {', '.join(SPLITS[id])}"
        raise InvalidOptionError.expected("name", accepted, name)
    return SPLITS[id][name]


def _levels(count: int) -> Callable[[], Sequence[int]]:
    """Return a function that returns the first test levels."""
    return partial(range, TEST_START, TEST_START + count)


def _goal_seeds(num_goals: int) -> list[int]:
    """Return for each of WebShop's goals the least seed that plays it.

    A seed s plays goal ``random.Random(s).randint(0, num_goals - 1)``.
    """
    seeds: dict[int, int] = {}
    seed = 0
    while len(seeds) < num_goals:
        seeds.setdefault(random.Random(seed).randint(0, num_goals - 1), seed)
        seed += 1
    return [seeds[goal] for goal in range(num_goals)]


_ROOMS = {"dim_room": (6, 6), "num_boxes": 3}
_ALL = (
    Split(
        "roll_vec/Sokoban-v0",
        "test",
        "rooms of 6x6 with 3 boxes, the default",
        _levels(1000),
        "7a3f4fa81fcd2565e676ef97ee8e7bc1424ea5cdef95f44d93fcf438bccdad0b",
        _ROOMS,
    ),
    Split(
        "roll_vec/Sokoban-v0",
        "test-1-box",
        "rooms of 6x6 with 1 box",
        _levels(1000),
        "aabac1752e1a9e7aa46aa7318081e873ba76a0dc8e770b9197d127a0ef2b5ebf",
        {"dim_room": (6, 6), "num_boxes": 1},
    ),
    Split(
        "roll_vec/Sokoban-v0",
        "test-easy",
        "3 boxes, solved in at most 8 moves",
        _levels(1000),
        "843d66470dac595d0a7de4a6569d1059be6fb1e14c9170b1b248776142d00acc",
        {**_ROOMS, "solution_steps": (None, 8)},
    ),
    Split(
        "roll_vec/Sokoban-v0",
        "test-medium",
        "3 boxes, solved in 9 to 14 moves",
        _levels(1000),
        "32183b26faacd80746d184b649ce93d155c42e7b8369d2517355b3b84cb7f171",
        {**_ROOMS, "solution_steps": (9, 14)},
    ),
    Split(
        "roll_vec/Sokoban-v0",
        "test-hard",
        "3 boxes, solved in 15 moves or more",
        _levels(1000),
        "0ec9ba2735983afa0d47751a373c89698c0ac32a7838627540f111e2dc594370",
        {**_ROOMS, "solution_steps": (15, None)},
    ),
    Split(
        "roll_vec/FrozenLake-v1",
        "test",
        "Gymnasium's map of 4x4, slippery",
        _levels(10_000),
        "3501c4800dd069279968017297f37bec56e7046ff722a4d32857b55e13fe6432",
    ),
    Split(
        "roll_vec/FrozenLake8x8-v1",
        "test",
        "Gymnasium's map of 8x8, slippery",
        _levels(10_000),
        "5287f270f8323040a562b4b242f6c8b1f22859bea7822bc5c1c525c93a8a337f",
    ),
    Split(
        "roll_vec/RandomFrozenLake-v0",
        "test",
        "random maps of 4x4, slippery, the default",
        _levels(1000),
        "89def820d12defe8898242b8dcff6914ea6cb14180cede75a520bb998f02bf6f",
        {"size": 4, "p": 0.8, "is_slippery": True},
    ),
    Split(
        "roll_vec/RandomFrozenLake-v0",
        "test-no-slip",
        "random maps of 4x4 without slips",
        _levels(1000),
        "43491f064dac48e436e549efa2f56c9fc57c026a07be7bebdc5f612095511e75",
        {"size": 4, "p": 0.8, "is_slippery": False},
    ),
    Split(
        "roll_vec/RandomFrozenLake-v0",
        "test-easy",
        "slippery maps on which the best player never falls",
        _levels(1000),
        "e78bf557de7aeb33a8dfc4fa7529a6cad673190c7e93205231dab1374aab401e",
        {"size": 4, "p": 0.8, "is_slippery": True, "success_probability": (1.0, None)},
    ),
    Split(
        "roll_vec/RandomFrozenLake-v0",
        "test-hard",
        "slippery maps on which the best player reaches the goal with chance 0.75 "
        "or less",
        _levels(1000),
        "0743472e3da91339f3ffcf73f768b5e4632bbe5579e6f936919d749b899d5a99",
        {"size": 4, "p": 0.8, "is_slippery": True, "success_probability": (None, 0.75)},
    ),
    Split(
        "roll_vec/Countdown-v0",
        "test",
        "three or four numbers from 1 to 99, one answer",
        _levels(1000),
        "7ea15641e4ae2d37636645e395137cfd4a3a5c4929f7e7affd3ff5c7b00fa6c7",
    ),
    Split(
        "roll_vec/WebShop-v0",
        "test",
        "WebShop's first 500 goals; here those of the demo shop",
        partial(_goal_seeds, 500),
        "207beeb99956636071280be705900cc64545c45689b78ac035be5979dffcad3b",
        {"split": "test"},
    ),
    Split(
        "roll_vec/WebShop-v0",
        "eval",
        "WebShop's next 1000 goals; here those of the demo shop",
        partial(_goal_seeds, 1000),
        "923ef4976164a96aee46249ebfb4ae139d18c6428411b4de439b60385169cbd6",
        {"split": "eval"},
    ),
)
SPLITS: dict[str, dict[str, Split]] = {}
"""By id and name."""
for _split in _ALL:
    SPLITS.setdefault(_split.id, {})[_split.name] = _split
