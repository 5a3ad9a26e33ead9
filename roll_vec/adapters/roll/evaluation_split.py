"""Each episode of an evaluation split once, over all environments of a run.

ROLL ends a validation when `reset` of each environment has returned None.  Its
environments live in threads of several processes, and none knows how many there are.
So they ask one counter for their next episode: a Ray actor, where Ray runs, else an
object of this process.  Calls with one seed, those of the members of a group, get the
same episode, as from ROLL's own data sets.
"""

from __future__ import annotations

import hashlib
import json
import sys
import threading
import weakref
from collections.abc import Mapping
from contextlib import suppress
from typing import TYPE_CHECKING, Any, NamedTuple

from roll_vec.errors import InvalidOptionError
from roll_vec.options import check_choice
from roll_vec.registration import ENVIRONMENTS

if TYPE_CHECKING:
    from roll_vec.evaluation.splits import Split

# ROLL's pipeline resets, before each validation, the data sets that this actor knows.
_DATASET_MANAGER = "val_dataset_manager"


def apply_split(
    id: str, name: str, keywords: Mapping[str, Any]
) -> tuple[Split, dict[str, Any]]:
    """Return a split, and keywords of a batch that plays its episodes.

    Parameters
    ----------
    id, name : str
    keywords : mapping
        Of `roll_vec.make_vec`: those that choose the task are left out, or equal to
        those of the split.

    Raises
    ------
    InvalidOptionError
    """
    # Imported here: most environments have no split.
    from roll_vec.evaluation import splits

    check_choice("evaluation_split", name, tuple(splits.splits_of(id)))
    defaults, shop = ENVIRONMENTS[id].defaults(), {}
    if id == splits.WEBSHOP:
        names = splits.shop_keywords()
        values = {each: keywords[each] for each in names if each in keywords}
        shop = {key: value for key, value in values.items() if value != defaults[key]}
    split = splits.make_split(id, name, **shop)
    task = {**defaults, **split.keywords}
    for key, value in keywords.items():
        if key in splits.FREE_KEYWORDS | shop.keys() or key not in task:
            continue
        if _text_of(value) != _text_of(task[key]):
            accepted = f"{task[key]!r}, as in the split {name!r}"
            raise InvalidOptionError.expected(key, accepted, value)
    return split, {**keywords, **split.keywords}


def _text_of(keywords: Any) -> str:
    """Return a text that is the same for a tuple and a list, and in each process."""
    return json.dumps(keywords, default=str, sort_keys=True)


class Place(NamedTuple):
    """Where an environment stands in an `EpisodeCounter`."""

    epoch: int  # counts resets of the counter
    round: int  # counts how often the split was played since


class EpisodeCounter:
    """Gives each episode of a split to one environment, or to all that have one seed.

    Parameters
    ----------
    num_episodes : int
    """

    def __init__(self, num_episodes: int) -> None:
        self._num_episodes = num_episodes
        self._lock = threading.Lock()
        self._epoch = 0
        # For each time that the split is played the numbers of episodes, by seed.
        self._rounds: list[dict[Any, int]] = [{}]

    def join(self) -> Place:
        """Return the place of a new environment: the round that is played now.

        A round whose last episode has begun is over, and a later environment begins the
        next one: else the cell of a notebook that runs again would play nothing, as
        long as the environment of the first run exists.
        """
        with self._lock:
            is_over = len(self._rounds[-1]) >= self._num_episodes
            return Place(self._epoch, len(self._rounds) - 1 + is_over)

    def begin(self, place: Place, seed: int | None) -> tuple[int | None, Place]:
        """Return the number of the next episode, and the new place.

        Parameters
        ----------
        place : Place
        seed : int or None
            A seed gets the same number again; None gets one of its own.

        Returns
        -------
        number : int or None
            None after the last one.
        place : Place
        """
        with self._lock:
            if place.epoch != self._epoch:
                place = Place(self._epoch, 0)
            while place.round >= len(self._rounds):
                self._rounds.append({})
            numbers = self._rounds[place.round]
            key = object() if seed is None else seed
            number = numbers.setdefault(key, len(numbers))
            if number < self._num_episodes:
                return number, place
            return None, Place(self._epoch, place.round + 1)

    def reset(self) -> None:
        """Let all environments begin the split anew, wherever they stand."""
        with self._lock:
            self._epoch += 1
            self._rounds = [{}]


class _RayCounter:
    """An `EpisodeCounter` in a Ray actor, which all processes of a job share."""

    def __init__(self, ray: Any, name: str, num_episodes: int) -> None:
        self._ray = ray
        options = {"name": name, "get_if_exists": True, "num_cpus": 0}
        actor_class = ray.remote(EpisodeCounter).options(**options)
        self._actor = actor_class.remote(num_episodes)
        with suppress(ValueError):  # another program than ROLL's pipeline
            manager = ray.get_actor(_DATASET_MANAGER)
            arguments = {"dataset_name": name, "dataset_ref": self._actor}
            ray.get(manager.register.remote(**arguments))

    def join(self) -> Place:
        place: Place = self._ray.get(self._actor.join.remote())
        return place

    def begin(self, place: Place, seed: int | None) -> tuple[int | None, Place]:
        result: tuple[int | None, Place]
        result = self._ray.get(self._actor.begin.remote(place, seed))
        return result


# An actor ends with the process that has made it, or with its last handle there.
_ray_counters: dict[str, _RayCounter] = {}
_counters: weakref.WeakValueDictionary[str, EpisodeCounter]
_counters = weakref.WeakValueDictionary()
_lock = threading.Lock()


def share_counter(
    id: str, keywords: Mapping[str, Any], num_episodes: int
) -> EpisodeCounter | _RayCounter:
    """Return the counter of all environments with an id and these keywords."""
    digest = hashlib.sha256(_text_of(keywords).encode()).hexdigest()
    name, ray = f"{id} {digest}", sys.modules.get("ray")
    with _lock:
        if ray is not None and ray.is_initialized():
            if name not in _ray_counters:
                _ray_counters[name] = _RayCounter(ray, name, num_episodes)
            return _ray_counters[name]
        counter = _counters.get(name)
        if counter is None:
            counter = _counters[name] = EpisodeCounter(num_episodes)
        return counter
