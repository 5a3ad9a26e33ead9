"""The episodes to export, and the environment that they come from."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field, fields, replace
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
from gymnasium.spaces import Space, Text
from gymnasium.vector import AutoresetMode

from roll_vec.errors import InvalidOptionError
from roll_vec.options import check_int
from roll_vec.registration.factories import WORK_KEYWORDS, make_vec
from roll_vec.storage.data_files import hash_file
from roll_vec.trajectories import Policy, Trajectory, Turn, play_seeds
from roll_vec.vector.env import BatchOptions

# A column of larger seeds becomes float64 in readers of JSON, which loses digits.
MAX_SEED = (1 << 63) - 1
NUM_ENVS = 256
"""The environments that are stepped at once, unless a caller says otherwise."""
# Keywords of batches that an export sets itself, or that an episode has no part in.
_OF_BATCHES = frozenset(each.name for each in fields(BatchOptions))


@dataclass(frozen=True)
class Source:
    """Episodes in a fixed order, and the environment that they come from.

    Attributes
    ----------
    id : str
        ``gymnasium.make(id, **keywords)`` makes the environment.
    keywords : dict of str
        Values that JSON can write.  The workers of a pool are none of them.
    observation_space, action_space : gymnasium.spaces.Space
        Of a single environment.
    episodes : callable
        From ``(first, count)`` to an iterator over the episodes from number ``first``
        on, at most ``count``.  An episode does not depend on where the call begins.
        Fewer than ``count``: there are no more.
    description : dict of str
        All else that decides the episodes, as values that JSON can write: an
        unfinished export goes on only if this is equal.
    """

    id: str
    keywords: dict[str, Any]
    observation_space: Space[Any]
    action_space: Space[Any]
    episodes: Callable[[int, int], Iterator[Trajectory]]
    description: dict[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        encode_keywords(self.keywords)

    @property
    def facts(self) -> dict[str, Any]:
        """All that decides the episodes, for the metadata of a file."""
        return {"id": self.id, "keywords": self.keywords, **self.description}


def encode_keywords(keywords: Mapping[str, Any]) -> str:
    """Return keywords as JSON, in one form.

    Raises
    ------
    InvalidOptionError
        If JSON cannot write a value.
    """
    for name, value in keywords.items():
        try:
            json.dumps(value)
        except (TypeError, ValueError):
            option = f"keywords[{name!r}]"
            accepted = "a value that JSON can write, such as the path of a file"
            raise InvalidOptionError.expected(option, accepted, value) from None
    return json.dumps(dict(keywords), sort_keys=True)


def make_batch(id: str, num_envs: int, keywords: Mapping[str, Any]) -> Any:
    """Return a batch in ``Disabled`` mode.

    Raises
    ------
    InvalidOptionError, UnknownOptionError
        As `roll_vec.make_vec`.
    """
    return make_vec(id, num_envs, autoreset_mode=AutoresetMode.DISABLED, **keywords)


def policy_source(
    id: str,
    make_policy: Callable[[Any], Policy],
    name: str,
    *,
    keywords: Mapping[str, Any] | None = None,
    start_seed: int = 0,
    num_envs: int = NUM_ENVS,
) -> Source:
    """Return the episodes of a policy: episode k has the seed ``start_seed + k``.

    Parameters
    ----------
    id : str
        An id of this package or of `roll_vec.register`.
    make_policy : callable
        From a batch to a policy: a function from a `roll_vec.trajectories.Turn` to
        actions.  It has to treat environments independently, and to depend on nothing
        but its `Turn`, the batch and constants.
    name : str
        Of the policy, in the description.
    keywords : mapping, optional
        Of the environment, and those that change how a batch works, such as
        ``workers``, which no row has.
    start_seed : int
    num_envs : int
        Environments stepped at once.  No episode depends on it.

    Raises
    ------
    InvalidOptionError, UnknownOptionError
    """

    def play(envs: Any, seeds: Sequence[int], first: int) -> Iterator[Trajectory]:
        policy = make_policy(envs)

        def numbered(turn: Turn) -> Any:
            return policy(replace(turn, episodes=turn.episodes + first))

        return play_seeds(envs, seeds, numbered)

    facts = {"policy": name}
    return player_source(
        id, play, facts, keywords=keywords, start_seed=start_seed, num_envs=num_envs
    )


def player_source(
    id: str,
    play: Callable[[Any, Sequence[int], int], Iterator[Trajectory]],
    description: Mapping[str, Any],
    *,
    keywords: Mapping[str, Any] | None = None,
    start_seed: int = 0,
    num_envs: int = NUM_ENVS,
) -> Source:
    """Return the episodes of a function that plays seeds.

    Parameters
    ----------
    id, keywords, start_seed, num_envs
        As for `policy_source`.
    play : callable
        From a batch in ``Disabled`` mode, a sequence of seeds and the number of the
        first of their episodes to an iterator over the episodes, in order.
    description : mapping
        See `Source`; ``policy`` is the name of the player.

    Raises
    ------
    InvalidOptionError, UnknownOptionError
    """
    keywords = dict(keywords or {})
    for keyword in _OF_BATCHES & {*keywords}:
        accepted = f"keywords of an environment, without {keyword}"
        raise InvalidOptionError.expected("keywords", accepted, keywords)
    check_int("start_seed", start_seed, 0, MAX_SEED)
    check_int("num_envs", num_envs, 1)
    with closing(make_batch(id, 1, keywords)) as envs:
        spaces = envs.single_observation_space, envs.single_action_space

    def episodes(first: int, count: int) -> Iterator[Trajectory]:
        seeds = range(start_seed + first, start_seed + first + count)
        if seeds and seeds[-1] > MAX_SEED:
            accepted = f"seeds up to {MAX_SEED}"
            raise InvalidOptionError.expected("start_seed", accepted, start_seed)
        with closing(make_batch(id, min(num_envs, count), keywords)) as envs:
            yield from play(envs, seeds, first)

    facts = {**description, "start_seed": start_seed}
    return Source(id, _of_one(keywords), *spaces, episodes, facts)


def _of_one(keywords: Mapping[str, Any]) -> dict[str, Any]:
    """Return the keywords that a single environment has, too."""
    others = _OF_BATCHES | WORK_KEYWORDS
    return {name: value for name, value in keywords.items() if name not in others}


def recorded_source(
    id: str,
    keywords: Mapping[str, Any],
    observation_space: Space[Any],
    action_space: Space[Any],
    read: Callable[[], Iterator[Trajectory]],
    path: Path,
) -> Source:
    """Return the episodes of a recorded run.

    Parameters
    ----------
    id : str
    keywords : mapping
        Of the batch.  Those that change no episode are left out.
    observation_space, action_space : gymnasium.spaces.Space
        Of a single environment.
    read : callable
        Returns an iterator over all episodes.
    path : Path
        Of the run.  Its content, not its name, is in the description.

    Raises
    ------
    OSError
    """
    digest = hash_file(path)

    def episodes(first: int, count: int) -> Iterator[Trajectory]:
        return islice(read(), first, first + count)

    spaces = observation_space, action_space
    return Source(id, _of_one(keywords), *spaces, episodes, {"run": digest})


def stack(space: Space[Any], values: list[Any]) -> Any:
    """Return observations or actions as one array; texts and others as a list."""
    if isinstance(space, Text) or space.dtype is None:
        return values
    return np.array(values, space.dtype)
