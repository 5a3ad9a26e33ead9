"""The evaluation splits: fixed, named sets of episodes for each id, with digests.

A split has the keywords of its environments and a list of seeds.  Its episode i is the
one that ``reset(seed=split.seeds[i])`` begins.  For levels and tasks that are generated
the seed is the number of the level.  Test levels begin at 1,000,000; levels below are
free for training (``num_levels=1_000_000``).  WebShop has splits of its demo shop, and
of a shop in files of the user.
"""

from __future__ import annotations

import dataclasses
import hashlib
import json
import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from gymnasium.spaces import Dict, Tuple
from gymnasium.vector.utils import iterate

from roll_vec.errors import InvalidOptionError
from roll_vec.factories import POOL_KEYWORDS, WORK_KEYWORDS, make_vec
from roll_vec.registration import ENVIRONMENTS, resolve
from roll_vec.storage.data_files import check_path, fingerprint

if TYPE_CHECKING:
    from roll_vec.pool import PoolVectorEnv
    from roll_vec.vector.env import RollVectorEnv

WEBSHOP = "roll_vec/WebShop-v0"
TEST_START = 1_000_000
# Of the split of an environment that a user has registered.
OWN_EPISODES = 500
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
        keywords = {**self.keywords, **keywords}
        return make_vec(self.id, num_envs, autoreset_mode="Disabled", **keywords)

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


def find_split(id: str, name: str, **shop: Any) -> Split:
    """Return a split of an id.

    Parameters
    ----------
    id, name : str
        An id of yours has the split ``test``.
    **shop
        WebShop's ``products``, for a shop in files of your own, and other keywords of
        its catalogue (`shop_keywords`).  The episodes are the goals of this shop, and
        the digest is computed: from the SHA-256 of each file, the other keywords, the
        seeds and the first observations.

    Raises
    ------
    InvalidOptionError
        If there is no such id or split, or the shop cannot be read, or has no goals in
        this split.
    """
    splits = splits_of(id)
    if not splits:
        accepted = f"one of {', '.join(SPLITS)}, or an id of `roll_vec.register`"
        raise InvalidOptionError.expected("id", accepted, id)
    if name not in splits:
        accepted = f"a split of {id}: {', '.join(splits)}"
        raise InvalidOptionError.expected("name", accepted, name)
    split = splits[name]
    if shop:
        if id != WEBSHOP:
            accepted = f"no keywords; those of a shop are for {WEBSHOP}"
            raise InvalidOptionError.expected("shop", accepted, shop)
        split = _shop_split(name, shop)
    return split if split.digest else replace(split, digest=split.compute_digest())


def splits_of(id: str) -> dict[str, Split]:
    """Return the splits of an id by name; none of one that is not roll_vec's.

    An id of `roll_vec.register` has the split ``test``, whose digest `find_split`
    computes.
    """
    if id in SPLITS or id not in ENVIRONMENTS:
        return SPLITS.get(id, {})
    title = f"episodes of the seeds from {TEST_START:,}"
    return {"test": Split(id, "test", title, _levels(OWN_EPISODES), digest="")}


def _levels(count: int) -> Callable[[], Sequence[int]]:
    """Return a function that returns the first test levels."""
    return partial(range, TEST_START, TEST_START + count)


# ------------------------------------------------------------- shops of the user


def shop_keywords() -> list[str]:
    """Return the keywords of WebShop that choose a shop and its goals."""
    from roll_vec.envs.webshop.options import CatalogueOptions

    names = [field.name for field in dataclasses.fields(CatalogueOptions)]
    # The place of the catalogue is no part of the task.
    return [name for name in names if name != "memory_map"]


def _shop_split(name: str, keywords: dict[str, Any]) -> Split:
    """Return a split of a shop in files of the user, without its digest."""
    from roll_vec.envs.webshop.catalogue import load_catalogue
    from roll_vec.envs.webshop.options import DATA_FILES, CatalogueOptions

    names = shop_keywords()
    for keyword in keywords:
        if keyword not in names:
            accepted = f"keywords of a shop: {', '.join(names)}"
            raise InvalidOptionError.expected("keywords", accepted, keyword)
    if keywords.get("products") is None:
        accepted = "products, the file of a shop, beside other keywords of a shop"
        raise InvalidOptionError.expected("keywords", accepted, keywords)
    files = {}
    for keyword, manifest in DATA_FILES.items():
        path = check_path(keyword, keywords.get(keyword))
        if path is not None:
            keywords[keyword] = path
            sha256 = fingerprint(keyword, path, manifest)
            files[keyword] = {"name": Path(path).name, "sha256": sha256}
    goals = load_catalogue(CatalogueOptions(**keywords)).goals
    count = len(goals.select(None, None, name))
    return _goals(name, count, "", files["products"]["name"], keywords, files)


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


def _goals(
    name: str,
    num_goals: int,
    digest: str,
    shop: str = "the demo shop",
    keywords: Mapping[str, Any] | None = None,
    files: Mapping[str, Mapping[str, str]] | None = None,
) -> Split:
    title = {
        "test": "WebShop's first 500 goals",
        "eval": "WebShop's next 1000 goals",
        "train": "WebShop's other goals, free for training",
    }[name]
    title, seeds = f"{title}; here those of {shop}", partial(_goal_seeds, num_goals)
    keywords = {**(keywords or {}), "split": name}
    return Split(WEBSHOP, name, title, seeds, digest, keywords, files or {})


# ------------------------------------------------------------------------- the table


def _add(
    id: str,
    count: int,
    task: dict[str, Any],
    name: str,
    title: str,
    digest: str,
    **own: Any,
) -> None:
    """Add a split of the first test levels; ``own`` are keywords beside the task's."""
    split = Split(id, name, title, _levels(count), digest, {**task, **own})
    SPLITS.setdefault(id, {})[name] = split


SPLITS: dict[str, dict[str, Split]] = {}
"""By id and name."""

_rooms = partial(
    _add, "roll_vec/Sokoban-v0", 1000, {"dim_room": (6, 6), "num_boxes": 3}
)
_lakes = {
    size: partial(_add, f"roll_vec/FrozenLake{size}-v1", 10_000, {})
    for size in ("", "8x8")
}
_maps = partial(
    _add,
    "roll_vec/RandomFrozenLake-v0",
    1000,
    {"size": 4, "p": 0.8, "is_slippery": True},
)
_rooms(
    "test",
    "rooms of 6x6 with 3 boxes, the default",
    "7a3f4fa81fcd2565e676ef97ee8e7bc1424ea5cdef95f44d93fcf438bccdad0b",
)
_rooms(
    "test-1-box",
    "rooms of 6x6 with 1 box",
    "aabac1752e1a9e7aa46aa7318081e873ba76a0dc8e770b9197d127a0ef2b5ebf",
    num_boxes=1,
)
_rooms(
    "test-easy",
    "3 boxes, solved in at most 8 moves",
    "843d66470dac595d0a7de4a6569d1059be6fb1e14c9170b1b248776142d00acc",
    solution_steps=(None, 8),
)
_rooms(
    "test-medium",
    "3 boxes, solved in 9 to 14 moves",
    "32183b26faacd80746d184b649ce93d155c42e7b8369d2517355b3b84cb7f171",
    solution_steps=(9, 14),
)
_rooms(
    "test-hard",
    "3 boxes, solved in 15 moves or more",
    "0ec9ba2735983afa0d47751a373c89698c0ac32a7838627540f111e2dc594370",
    solution_steps=(15, None),
)
_lakes[""](
    "test",
    "Gymnasium's map of 4x4, slippery",
    "3501c4800dd069279968017297f37bec56e7046ff722a4d32857b55e13fe6432",
)
_lakes["8x8"](
    "test",
    "Gymnasium's map of 8x8, slippery",
    "5287f270f8323040a562b4b242f6c8b1f22859bea7822bc5c1c525c93a8a337f",
)
_maps(
    "test",
    "random maps of 4x4, slippery, the default",
    "89def820d12defe8898242b8dcff6914ea6cb14180cede75a520bb998f02bf6f",
)
_maps(
    "test-no-slip",
    "random maps of 4x4 without slips",
    "43491f064dac48e436e549efa2f56c9fc57c026a07be7bebdc5f612095511e75",
    is_slippery=False,
)
_maps(
    "test-easy",
    "slippery maps on which the best player never falls",
    "e78bf557de7aeb33a8dfc4fa7529a6cad673190c7e93205231dab1374aab401e",
    success_probability=(1.0, None),
)
_maps(
    "test-hard",
    "slippery maps on which the best player reaches the goal with chance 0.75 or less",
    "0743472e3da91339f3ffcf73f768b5e4632bbe5579e6f936919d749b899d5a99",
    success_probability=(None, 0.75),
)
_add(
    "roll_vec/Countdown-v0",
    1000,
    {},
    "test",
    "three or four numbers from 1 to 99, one answer",
    "7ea15641e4ae2d37636645e395137cfd4a3a5c4929f7e7affd3ff5c7b00fa6c7",
)
_DEMO_GOALS = {
    "test": (500, "207beeb99956636071280be705900cc64545c45689b78ac035be5979dffcad3b"),
    "eval": (1000, "923ef4976164a96aee46249ebfb4ae139d18c6428411b4de439b60385169cbd6"),
    "train": (3837, "35345d445d0b1f468f3da0d83d4dd9288b4b65ee9b34474e3cf24074dc3aed0e"),
}
SPLITS[WEBSHOP] = {name: _goals(name, *each) for name, each in _DEMO_GOALS.items()}
