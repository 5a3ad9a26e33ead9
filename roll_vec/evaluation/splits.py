"""The evaluation splits: fixed, named sets of episodes for each id, with digests.

A split has the keywords of its environments and a list of seeds.  Its episode i is the
one that ``reset(seed=split.seeds[i])`` begins.  For levels and tasks that are generated
the seed is the number of the level.  Test levels begin at 1,000,000; levels below are
free for training (``num_levels=1_000_000``).  `draw_levels` has drawn the seeds of
splits of a certain difficulty, which are stored.  WebShop has splits of its demo shop,
and of a shop in files of the user.
"""

from __future__ import annotations

import dataclasses
import hashlib
import json
import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from gymnasium.envs.registration import EnvSpec
from gymnasium.spaces import Dict, Tuple
from gymnasium.vector.utils import iterate

from roll_vec.errors import InvalidOptionError
from roll_vec.options import parse_options
from roll_vec.registration import ENVIRONMENTS
from roll_vec.registration.factories import POOL_KEYWORDS, WORK_KEYWORDS, make_vec
from roll_vec.storage.data_files import check_path, fingerprint
from roll_vec.trajectories import to_json

if TYPE_CHECKING:
    from roll_vec.vector.env import RollVectorEnv

WEBSHOP = "roll_vec/WebShop-v0"
TEST_START = 1_000_000
# Of each built-in split: ``python -m tests.evaluation.test_splits`` writes both files.
DIGESTS_FILE = resources.files(__package__) / "digests.json"
DIGESTS: dict[str, str] = json.loads(DIGESTS_FILE.read_text("utf-8"))
# Of each split with bands, the seeds that `draw_levels` returns.
SEEDS_FILE = resources.files(__package__) / "seeds.json"
# Of the split of an environment of a family, or that a user has registered.
OWN_EPISODES = 500
# Keywords that change how a task is shown, read or computed, and not the task.
FREE_KEYWORDS = WORK_KEYWORDS | frozenset(
    {
        *("obs_mode", "observation_mode", "observation_format", "show_attrs"),
        *("action_mode", "action_pattern", "action_start", "action_lookup", "match"),
        *("action_separator", "max_actions_per_turn", "special_token_list"),
        *("env_instruction", "grid_lookup", "grid_vocab"),
        *("action_mask", "deadlock", "seed_info", "level_info", "difficulty_info"),
        *("oracle_return_info", "advantage_info", "render_mode", "render_scale"),
        *("tile_size", "obs_tile_size", "highlight", "agent_pov"),
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
    bands : dict
        The difficulty of the levels, as `draw_levels` accepts it.
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
    bands: Mapping[str, Any] = field(default_factory=dict)

    @cached_property
    def seeds(self) -> Sequence[int]:
        """The seed of each episode."""
        return self.make_seeds()

    @property
    def has_success(self) -> bool:
        """Whether an episode can be a success; some games of rules know none."""
        known = ENVIRONMENTS[self.id]
        if known.pooled:
            return True
        keywords = {**known.keywords, **self.keywords}
        return bool(parse_options(known.load(), keywords).has_success)

    def __len__(self) -> int:
        return len(self.seeds)

    def make_vec(self, num_envs: int, **keywords: Any) -> RollVectorEnv:
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
        of_batch = POOL_KEYWORDS if registered.pooled else {"num_threads"}
        names = {"copy", *of_batch, *registered.defaults()}
        return sorted(FREE_KEYWORDS & names)

    def compute_digest(self) -> str:
        """Return the SHA-256 of the keywords, the seeds and the first observations.

        With bands, the numbers for which levels were drawn stand in the place of seeds.
        Grids are hashed as codes, uint8 in C order, other arrays with their dtype, and
        texts as UTF-8 with a zero byte after each.  Floats are rounded to four
        decimals, as the last bits of a sine are those of the machine.  Data files are
        hashed as their SHA-256 in the place of their paths.
        """
        mode = {}
        registered = ENVIRONMENTS[self.id]
        if not registered.pooled and "grid" in registered.load().OBS_MODES:
            mode = {"obs_mode": "grid"}
        seeds = list(self.seeds)
        envs = self.make_vec(min(len(seeds), _DIGEST_ENVS), **mode)
        files = {name: file["sha256"] for name, file in self.files.items()}
        numbers = list(_levels(len(seeds))()) if self.bands else seeds
        task = {**self.keywords, **self.bands, **files}
        head = [self.id, sorted(task.items()), numbers]
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
        if array.dtype.kind == "f":
            array = np.round(array, 4) + 0.0  # -0.0 becomes 0.0
        digest.update(array.tobytes())


def find_split(id: str, name: str, **shop: Any) -> Split:
    """Return a split of an id.

    Parameters
    ----------
    id, name : str
        An id of yours, of MiniGrid and of BabyAI has the split ``test``.
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
    split = make_split(id, name, **shop)
    return split if split.digest else replace(split, digest=split.compute_digest())


def make_split(id: str, name: str, **shop: Any) -> Split:
    """Return a split, without its digest where that must be computed; `find_split`."""
    splits = splits_of(id)
    if not splits:
        accepted = (
            f"one of {', '.join(SPLITS)}, or an id of MiniGrid, BabyAI or "
            "`roll_vec.register`"
        )
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
    return split


def splits_of(id: str) -> dict[str, Split]:
    """Return the splits of an id by name; none of one that is not roll_vec's.

    An id of MiniGrid, BabyAI or `roll_vec.register` has the split ``test``, whose
    digest `find_split` computes.
    """
    if id in SPLITS or id not in ENVIRONMENTS:
        return SPLITS.get(id, {})
    title = f"episodes of the seeds from {TEST_START:,}"
    return {"test": Split(id, "test", title, _levels(OWN_EPISODES), digest="")}


def tasks_of(spec: EnvSpec | None) -> dict[str, Sequence[int]]:
    """Return the splits that a batch plays, by name: the seed of each of their tasks.

    A batch plays a split of its id if both have equal keywords, except those that do
    not change the task.  If the id has no split ``train``, this is the levels below the
    test levels.

    Parameters
    ----------
    spec : EnvSpec or None
        Of the batch.  The result is empty for None, and for ids of others.
    """
    if spec is None or spec.id not in ENVIRONMENTS:
        return {}
    registered, splits = ENVIRONMENTS[spec.id], splits_of(spec.id)
    defaults = registered.defaults()
    defaults["max_episode_steps"] = registered.max_episode_steps
    names = defaults.keys() - FREE_KEYWORDS

    def task_keywords(keywords: Mapping[str, Any]) -> Any:
        values = {**defaults, **keywords}
        return to_json({name: values[name] for name in names})

    tasks: dict[str, Sequence[int]] = {}
    if "train" not in splits:
        tasks["train"] = range(TEST_START)
    keywords = task_keywords(spec.kwargs)
    for name, split in splits.items():
        if task_keywords(split.keywords) == keywords:
            tasks[name] = split.seeds
    return tasks


def _levels(count: int) -> Callable[[], Sequence[int]]:
    """Return a function that returns the first test levels."""
    return partial(range, TEST_START, TEST_START + count)


# ------------------------------------------------------------- shops of the user


def shop_keywords() -> list[str]:
    """Return the keywords of WebShop that choose a shop and its goals."""
    from roll_vec.envs.webshop.options import CatalogueOptions

    return [field.name for field in dataclasses.fields(CatalogueOptions)]


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
    for keyword in DATA_FILES:
        path = check_path(keyword, keywords.get(keyword))
        if path is not None:
            keywords[keyword] = path
            sha256 = fingerprint(keyword, path)
            files[keyword] = {"name": Path(path).name, "sha256": sha256}
    goals = load_catalogue(CatalogueOptions(**keywords)).goals
    count = len(goals.select(None, None, name))
    return _goals(name, count, files["products"]["name"], keywords, files)


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
    digest = "" if keywords else DIGESTS[f"{WEBSHOP} {name}"]
    keywords = {**(keywords or {}), "split": name}
    return Split(WEBSHOP, name, title, seeds, digest, keywords, files or {})


# ------------------------------------------------------------------------- the table


SPLITS: dict[str, dict[str, Split]] = {
    id: {}
    for id, known in ENVIRONMENTS.items()
    if id.startswith("roll_vec/") and not known.family
}
"""By id and name; `splits_of` has those of families and of a user's ids."""


def _add(
    id: str,
    name: str = "test",
    title: str = "the defaults",
    count: int = 1000,
    bands: Mapping[str, Any] | None = None,
    **keywords: Any,
) -> None:
    """Add a split of the first test levels, or of those that were drawn for them."""
    digest, seeds = DIGESTS.get(f"{id} {name}", ""), _levels(count)
    if bands:
        seeds = partial(_stored_seeds, f"{id} {name}")
    SPLITS[id][name] = Split(
        id, name, title, seeds, digest, keywords, bands=bands or {}
    )


def _stored_seeds(name: str) -> list[int]:
    """Return the seeds of a split with bands."""
    seeds: list[int] = json.loads(SEEDS_FILE.read_text("utf-8"))[name]
    return seeds


_rooms = partial(_add, "roll_vec/Sokoban-v0", dim_room=(6, 6), num_boxes=3)
_rooms("test", "rooms of 6x6 with 3 boxes, the default")
_rooms("test-1-box", "rooms of 6x6 with 1 box", num_boxes=1)
for _name, _title, _band in (
    ("test-easy", "3 boxes, solved in at most 8 moves", (None, 8)),
    ("test-medium", "3 boxes, solved in 9 to 14 moves", (9, 14)),
    ("test-hard", "3 boxes, solved in 15 moves or more", (15, None)),
):
    _rooms(_name, _title, bands={"solution_steps": _band})
for _size, _cells in (("", "4x4"), ("8x8", "8x8")):
    _title = f"Gymnasium's map of {_cells}, slippery"
    _add(f"roll_vec/FrozenLake{_size}-v1", "test", _title, 10_000)
_maps = partial(_add, "roll_vec/RandomFrozenLake-v0", size=4, p=0.8, is_slippery=True)
_maps("test", "random maps of 4x4, slippery, the default")
_maps("test-no-slip", "random maps of 4x4 without slips", is_slippery=False)
_maps(
    "test-easy",
    "slippery maps on which the best player never falls",
    bands={"success_probability": (1.0, None)},
)
_maps(
    "test-medium",
    "slippery maps on which the best player's chance is above 0.75 and below 1",
    bands={"success_probability": (0.750001, 0.999999)},
)
_maps(
    "test-hard",
    "slippery maps on which the best player reaches the goal with chance 0.75 or less",
    bands={"success_probability": (None, 0.75)},
)
_add(
    "roll_vec/Countdown-v0",
    "test",
    "three or four numbers from 1 to 99, one answer",
)
for _count in (2, 3, 4):
    _title = f"{_count} operations: {_count + 1} numbers from 1 to 99, one answer"
    _add(
        "roll_vec/Countdown-v0",
        f"test-{_count}-operations",
        _title,
        num_numbers=_count + 1,
    )
SPLITS[WEBSHOP] = {
    name: _goals(name, count)
    for name, count in {"test": 500, "eval": 1000, "train": 3837}.items()
}
for _id, _by_name in SPLITS.items():
    if not _by_name:
        _add(_id)
_tiles = partial(_add, "roll_vec/SlidingTiles-v0")
_tiles("test-easy", "boards of 3x3 after 10 random moves", num_shuffles=10)
_tiles("test-4x4", "boards of 4x4 after 40 random moves", num_shuffles=40, size=4)
_sudoku = partial(_add, "roll_vec/Sudoku-v0")
_sudoku("test-easy", "45 clues", clues=45)
_sudoku("test-hard", "24 clues, or the fewest with one solution", clues=24)
_add(
    "roll_vec/Minesweeper-v0",
    "test-easy",
    "boards of 5x5 with 5 mines",
    rows=5,
    cols=5,
    num_mines=5,
)
