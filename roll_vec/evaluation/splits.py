"""The evaluation splits: fixed, named sets of episodes for each id.

A split has the keywords of its environments and a list of seeds.  Its episode i is the
one that ``reset(seed=split.seeds[i])`` begins.  For levels and tasks that are generated
the seed is the number of the level.  Test levels begin at 1,000,000; levels below are
free for training (``num_levels=1_000_000``).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

from roll_vec.errors import InvalidOptionError
from roll_vec.evaluation.shop_splits import (
    DEMO_SHOP_SPLITS,
    WEBSHOP,
    make_shop_split,
)
from roll_vec.evaluation.split import Split
from roll_vec.registration import ENVIRONMENTS

TEST_START = 1_000_000
# Of the split of an environment that a user has registered.
OWN_EPISODES = 500


def find_split(id: str, name: str, **shop: Any) -> Split:
    """Return a split of an id.

    Parameters
    ----------
    id, name : str
        An id of yours has the split ``test``.
    **shop
        WebShop's ``products``, for a shop in files of your own, and other keywords of
        its catalogue.  The split has the goals of this shop, and its digest is
        computed.

    Raises
    ------
    InvalidOptionError
        If there is no such id or split, or the shop cannot be read.
    """
    splits = splits_of(id)
    if not splits:
        accepted = f"one of {', '.join(SPLITS)}, or an id of `roll_vec.register`"
        raise InvalidOptionError.expected("id", accepted, id)
    if name not in splits:
        accepted = f"a split of {id}: {', '.join(splits)}"
        raise InvalidOptionError.expected("name", accepted, name)
    if not shop:
        split = splits[name]
        return split if split.digest else replace(split, digest=split.compute_digest())
    if id != WEBSHOP:
        accepted = f"no keywords; those of a shop are for {WEBSHOP}"
        raise InvalidOptionError.expected("shop", accepted, shop)
    return make_shop_split(name, shop)


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
    *DEMO_SHOP_SPLITS,
)
SPLITS: dict[str, dict[str, Split]] = {}
"""By id and name."""
for _split in _ALL:
    SPLITS.setdefault(_split.id, {})[_split.name] = _split
