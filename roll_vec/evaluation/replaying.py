"""Recorded episodes, played again from their seeds and answers, without their policy.

Thousands are played in one batch, and each event is read as columns::

    for group in group_episodes(episodes):
        envs = group.make_vec()
        plan = AnswerPlan(envs, group.episodes)
        for event in plan.play():
            ...  # plan.episodes: the place in group.episodes; plan.turns
        envs.close()
        plan.problems()
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from gymnasium.spaces import Text
from numpy.typing import NDArray

from roll_vec.errors import (
    InvalidActionError,
    InvalidOptionError,
    InvalidSeedError,
    one_line,
)
from roll_vec.evaluation.turns import ARRAY_SPACES
from roll_vec.recordings import BatchEvent
from roll_vec.recordings.driver import play_steps
from roll_vec.recordings.recorded_episodes import RecordedEpisode
from roll_vec.registration import ENVIRONMENTS
from roll_vec.registration.factories import make_vec
from roll_vec.seeding import check_seed
from roll_vec.storage.plain_data import encode
from roll_vec.trajectories.play import SKIPPED, SeedPlan, Turn
from roll_vec.vector.space_batches import batch_items

if TYPE_CHECKING:
    from roll_vec.vector.env import RollVectorEnv

# Environments of a batch: objects take more memory than rows of arrays.
_MOST_ENVS, _MOST_OBJECTS = 1024, 256
# They do not change the episodes, and a replay has its own.
_OF_THE_BATCH = {"id", "num_envs", "autoreset_mode", "vectorization_mode"}


@dataclass(frozen=True)
class EpisodeGroup:
    """Recorded episodes that one batch plays, the longest first.

    Attributes
    ----------
    id : str
    keywords : mapping
    episodes : list of n RecordedEpisode
    places : (n,) int64
        The place of each in the sequence that was grouped.
    """

    id: str
    keywords: dict[str, Any]
    episodes: list[RecordedEpisode]
    places: NDArray[np.int64]

    def make_vec(self, num_envs: int | None = None, **keywords: Any) -> RollVectorEnv:
        """Make a batch in ``Disabled`` mode that plays them.

        Parameters
        ----------
        num_envs : int, optional
            None: as many as episodes, at most 1,024 rows of arrays or 256 objects.
        **keywords
            In addition to those of the episodes.

        Raises
        ------
        InvalidOptionError, UnknownOptionError, gymnasium.error.Error
            If the id or a keyword does not exist, or has a bad value.
        """
        if num_envs is None:
            known = ENVIRONMENTS.get(self.id)
            is_pool = known is None or known.pooled
            most = _MOST_OBJECTS if is_pool else _MOST_ENVS
            num_envs = min(len(self.episodes), most)
        keywords = {**self.keywords, **keywords}
        for name in _OF_THE_BATCH & keywords.keys():
            accepted = f"keywords without {', '.join(sorted(_OF_THE_BATCH))}"
            raise InvalidOptionError.expected("keywords", accepted, name)
        return make_vec(self.id, num_envs, autoreset_mode="Disabled", **keywords)


def group_episodes(episodes: Sequence[RecordedEpisode]) -> list[EpisodeGroup]:
    """Return groups of episodes of the same id and keywords, in their first order."""
    by_task: dict[Any, list[int]] = {}
    # Thousands of episodes share one dict of keywords.
    tasks: dict[tuple[str, int], Any] = {}
    for place, episode in enumerate(episodes):
        key = episode.id, id(episode.keywords)
        if key not in tasks:
            items = sorted(episode.keywords.items())
            try:
                tasks[key] = episode.id, encode(items)
            except TypeError:  # an object, which is equal to itself alone
                tasks[key] = key
        by_task.setdefault(tasks[key], []).append(place)
    groups = []
    for numbers in by_task.values():
        places = np.array(numbers, np.int64)
        lengths = np.array([len(episodes[place].answers) for place in numbers])
        # The longest at last would play in a batch that is nearly empty.
        places = places[np.argsort(-lengths, kind="stable")]
        members = [episodes[place] for place in places.tolist()]
        first = episodes[numbers[0]]
        groups.append(EpisodeGroup(first.id, dict(first.keywords), members, places))
    return groups


class AnswerPlan(SeedPlan):
    """Plays recorded episodes in a batch: the answers of each, from its seed.

    An episode whose answers run out before its end stops there, and so does one before
    an answer that the environment refuses; the others go on.  In its last event
    ``ends`` is True, and neither ``terminations`` nor ``truncations``.  One without any
    answer that can be played begins, and has no such event.

    Parameters
    ----------
    envs : VectorEnv
        In ``Disabled`` mode, such as of `EpisodeGroup.make_vec`.
    episodes : sequence of E RecordedEpisode
        Of this batch's id and keywords.

    Attributes
    ----------
    episodes : (num_envs,) int64
        The episode that each environment plays, or has played, by its place.
    turns : (num_envs,) int64
        With an event of `play`, the turns that were played before it: that of a step
        is turn ``turns[i]``, from 0, of environment i, if ``event.plays[i]``.
    num_played : (E,) int64
        The turns of each episode that were played so far.
    has_ended : (E,) bool
        The environment has ended it.
    refusals : dict of int to str
        By episode: why the environment refuses its seed, or the answer of turn
        ``num_played`` at the end.
    """

    def __init__(self, envs: Any, episodes: Sequence[RecordedEpisode]) -> None:
        self._recorded = episodes
        self._answers = _Answers(envs, [episode.answers for episode in episodes])
        self.refusals = dict(self._answers.refusals)
        self._stops = self._answers.stops
        seeds = [self._check_seed(i, episode) for i, episode in enumerate(episodes)]
        super().__init__(envs, seeds, self._choose)
        self.num_played = np.zeros(len(episodes), np.int64)
        self.has_ended = np.zeros(len(episodes), np.bool_)
        self._skipped_episodes: set[int] = set()

    def _check_seed(self, place: int, episode: RecordedEpisode) -> int:
        try:
            return check_seed(episode.seed)
        except InvalidSeedError as error:
            self.refusals[place] = one_line(error)
            self._stops[place] = 0
            return 0

    @property
    def turns(self) -> NDArray[np.int64]:
        """The turns of each environment's episode before the last event."""
        return self._steps

    @property
    def num_playing(self) -> int:
        """The number of environments whose episode goes on."""
        return int(np.count_nonzero(self._playing))

    def play(self) -> Iterator[BatchEvent]:
        """Play all episodes, and yield each reset and step of the batch.

        Nothing of an event may be changed; it is valid until the next one.
        """
        for event in play_steps(self._envs, self):
            # A reset cuts no episode but one without answers.
            ends = np.zeros_like(event.ends)
            if not event.is_reset:
                ends = event.ends | self._runs_out(event)
            yield event._replace(ends=ends)

    def problems(self) -> dict[int, str]:
        """Return what keeps episodes from being played as they are recorded.

        Returns
        -------
        dict of int to str
            By the place of the episode; after `play`.
        """
        problems = {}
        for place, episode in enumerate(self._recorded):
            played, count = int(self.num_played[place]), len(episode.answers)
            if place in self.refusals:
                reason = self.refusals[place]
                problems[place] = f"turn {played + 1} cannot be played: {reason}"
            elif place in self._skipped_episodes:
                problems[place] = SKIPPED
            elif self.has_ended[place] and played < count:
                problems[place] = f"it ends after turn {played} of {count}"
            elif not self.has_ended[place] and episode.fault is None:
                problems[place] = f"it goes on after its {count} turns"
        return problems

    # ------------------------------------------------------------- as `SeedPlan`

    def _choose(self, turn: Turn) -> Any:
        return self._answers.batch(turn.episodes, turn.steps)

    def _runs_out(self, event: BatchEvent) -> NDArray[np.bool_]:
        """Return the environments whose last answer an event has played."""
        last = self._steps + 1 >= self._stops[self.episodes]
        return event.plays & last & ~event.ends

    def _add(self, event: BatchEvent) -> None:
        if event.is_reset:
            super()._add(event)
            begun = np.flatnonzero(event.starts & self._skipped)
            self._skipped_episodes.update(self.episodes[begun].tolist())
            # Nothing is played of an episode without answers, or of another one.
            self._playing &= self._stops[self.episodes] > 0
            self._playing &= ~self._skipped
            return
        stopped = self._runs_out(event)
        super()._add(event)
        self._playing &= ~stopped
        self.num_played[self.episodes[event.plays]] += 1
        self.has_ended[self.episodes[event.ends]] = True


class _Answers:
    """The answers of episodes, from which a turn's batch of actions is taken.

    Attributes
    ----------
    stops : (E,) int64
        The answers of each episode before the first one that is refused.
    refusals : dict of int to str
    """

    def __init__(self, envs: Any, answers: Sequence[Sequence[Any]]) -> None:
        self._check = envs.engine.check_actions
        self._space = space = envs.single_action_space
        self._is_array = isinstance(space, ARRAY_SPACES)
        self.stops = np.array([len(each) for each in answers], np.int64)
        self._starts = np.cumsum(self.stops) - self.stops
        self.refusals: dict[int, str] = {}
        flat: Any = self._join(answers)
        if flat is None:
            parts = [self._cut(i, each) for i, each in enumerate(answers)]
            self._starts = np.cumsum(self.stops) - self.stops
            flat = self._join(parts)
        self._flat = flat
        # Where an environment waits, any answer stands for its own.
        self._last = max(len(flat) - 1, 0)

    def batch(self, episodes: NDArray[np.int64], turns: NDArray[np.int64]) -> Any:
        """Return the actions of a batch, each the answer of an episode's turn."""
        numbers = np.minimum(self._starts[episodes] + turns, self._last)
        if self._is_array:
            return self._flat[numbers]
        items = [self._flat[number] for number in numbers.tolist()]
        return (
            items if isinstance(self._space, Text) else batch_items(self._space, items)
        )

    def _join(self, answers: Sequence[Sequence[Any]]) -> Any:
        """Return all answers, one after the other; None: the batch refuses one."""
        try:
            if self._is_array:
                # Unsigned and signed integers would become floats.
                parts = [_signed(np.asarray(part)) for part in answers if len(part)]
                empty = np.zeros((0, *(self._space.shape or ())), np.int64)
                flat: Any = np.concatenate(parts or [empty])
            else:
                flat = [answer for part in answers for answer in part]
            self._accept(flat)
        except Exception:  # numpy's and Gymnasium's, of parts of another form
            return None
        return flat

    def _accept(self, answers: Any) -> None:
        """Raise an error if the batch refuses one of some answers."""
        if isinstance(self._space, Text):
            self._check(answers, np.zeros(len(answers), np.bool_))
        elif self._is_array:
            array = np.asarray(answers)
            is_number = array.dtype.kind in "biuf"
            if array.shape[1:] != (self._space.shape or ()) or not is_number:
                form = f"shape {self._space.shape}"
                raise InvalidActionError.expected("answer", form, answers)
            self._check(array, np.zeros(len(array), np.bool_))
        else:
            for answer in answers:
                if not self._space.contains(answer):
                    accepted = f"an action of {self._space}"
                    raise InvalidActionError.expected("answer", accepted, answer)

    def _cut(self, episode: int, answers: Sequence[Any]) -> Sequence[Any]:
        """Return the answers of an episode before the first one that is refused."""
        if self._join([answers]) is not None:
            return answers
        for turn in range(len(answers)):
            try:
                self._accept(answers[turn : turn + 1])
            except Exception as error:
                self.stops[episode] = turn
                self.refusals[episode] = one_line(error)
                return answers[:turn]
        return answers


def _signed(array: NDArray[Any]) -> NDArray[Any]:
    return array.astype(np.int64) if array.dtype.kind == "u" else array
