"""A split: a fixed, named set of episodes of one id, with a digest."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from gymnasium.spaces import Dict, Tuple
from gymnasium.vector.utils import iterate

from roll_vec.errors import InvalidOptionError
from roll_vec.factories import POOL_KEYWORDS, WORK_KEYWORDS, make_vec
from roll_vec.registration import ENVIRONMENTS, resolve

if TYPE_CHECKING:
    from roll_vec.pool import PoolVectorEnv
    from roll_vec.vector.env import RollVectorEnv

# Keywords that change how a task is shown, read or computed, and not the task.
FREE_KEYWORDS = WORK_KEYWORDS | frozenset(
    {
        *("obs_mode", "observation_mode", "observation_format", "show_attrs"),
        *("action_mode", "action_pattern", "action_start", "action_lookup", "match"),
        *("action_separator", "max_actions_per_turn", "special_token_list"),
        *("max_answer_chars", "env_instruction", "grid_lookup", "grid_vocab"),
        *("action_mask", "deadlock", "seed_info", "level_info", "difficulty_info"),
        *("oracle_return_info", "render_mode", "render_scale"),
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
        The value of `compute_digest`; the tests compare them.
    files : dict
        For each keyword that is a data file, its ``name`` and its ``sha256``.
    """

    id: str
    name: str
    title: str
    make_seeds: Callable[[], Sequence[int]]
    digest: str
    keywords: Mapping[str, Any] = field(default_factory=dict)
    files: Mapping[str, Mapping[str, str]] = field(default_factory=dict)

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
        for name in keywords:
            if name not in FREE_KEYWORDS:
                accepted = f"one of {', '.join(self._free_keywords())}"
                hint = f"; other keywords of {self.id} would change {self.name}"
                raise InvalidOptionError.expected("keywords", accepted, name, hint)
        return make_vec(
            self.id,
            num_envs,
            autoreset_mode="Disabled",
            **{**self.keywords, **keywords},
        )

    def _free_keywords(self) -> list[str]:
        """Return the keywords that `make_vec` takes, of this environment alone."""
        registered = ENVIRONMENTS[self.id]
        of_array = {"num_threads", "prefetch"}
        of_batch = POOL_KEYWORDS if registered.pooled else of_array
        names = {"copy", *of_batch, *registered.defaults()}
        return sorted(FREE_KEYWORDS & names)

    def compute_digest(self) -> str:
        """Return the SHA-256 of the keywords, the seeds and the first observations.

        Grids are hashed as codes, uint8 in C order, other arrays with their dtype, and
        texts as UTF-8 with a zero byte after each.  Data files are hashed as their
        SHA-256 in the place of their paths.
        """
        mode = {}
        registered = resolve(self.id)
        if not registered.pooled and "grid" in registered.load("Options").OBS_MODES:
            mode = {"obs_mode": "grid"}
        seeds = list(self.seeds)
        envs = self.make_vec(min(len(seeds), _DIGEST_ENVS), **mode)
        files = {name: file["sha256"] for name, file in self.files.items()}
        head = [self.id, sorted({**self.keywords, **files}.items()), seeds]
        digest = hashlib.sha256(json.dumps(head).encode())
        for start in range(0, len(seeds), envs.num_envs):
            part = seeds[start : start + envs.num_envs]
            padding = [part[-1]] * (envs.num_envs - len(part))
            observations, _ = envs.reset(seed=part + padding)
            rows = observations
            if isinstance(envs.single_observation_space, (Dict, Tuple)):
                rows = list(iterate(envs.observation_space, observations))
            for observation in rows[: len(part)]:
                _add_to_digest(digest, observation, np.uint8 if mode else None)
        envs.close()
        return digest.hexdigest()


def _add_to_digest(digest: Any, observation: Any, dtype: type | None) -> None:
    """Hash an observation; arrays are converted to a dtype, if there is one."""
    if isinstance(observation, str):
        digest.update(observation.encode() + b"\0")
    elif isinstance(observation, Mapping):
        for name in sorted(observation):
            digest.update(name.encode() + b"\0")
            _add_to_digest(digest, observation[name], dtype)
    elif isinstance(observation, tuple):
        for each in observation:
            _add_to_digest(digest, each, dtype)
    else:
        array = np.asarray(observation, dtype)
        if dtype is None:
            digest.update(f"{array.dtype} {array.shape}\0".encode())
        digest.update(array.tobytes())
