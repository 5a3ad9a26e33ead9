"""Recorded episodes, played again, as columns: an array each of turns and episodes."""

from __future__ import annotations

import re
import zlib
from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import closing, suppress
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from gymnasium.spaces import Text
from numpy.typing import NDArray

from roll_vec.errors import InvalidOptionError
from roll_vec.evaluation.replaying import AnswerPlan, EpisodeGroup, group_episodes
from roll_vec.evaluation.verification.replays import has_other_board
from roll_vec.progress import report
from roll_vec.recordings.digests import digest_rows
from roll_vec.recordings.events import BatchEvent
from roll_vec.recordings.recorded_episodes import RecordedEpisode
from roll_vec.registration import ENVIRONMENTS
from roll_vec.registration.any_id import action_names
from roll_vec.vector.known_infos import (
    DEAD_END_LOSS,
    UNKNOWN,
    episode_successes,
)

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]
# Halves of a shorter observation are in any prompt.
_SHORTEST = 16


@dataclass
class Task:
    """An id and keywords, and what is the same in all of their episodes.

    Attributes
    ----------
    group : EpisodeGroup
    parser : ActionParser or None
        Of texts.
    action_names : dict of int to str
    measure : str
        The name of the exact difficulty; empty: there is none.
    has_best : bool
        The best return is known, and not that of the best episode.
    missing_pattern : str
        The `action_pattern` that the keywords lack, if no answer can be read.
    """

    group: EpisodeGroup
    parser: Any = None
    action_names: Mapping[int, str] = field(default_factory=dict)
    measure: str = ""
    has_best: bool = False
    missing_pattern: str = ""


@dataclass
class Played:
    """E episodes of N answers in all; the turns of an episode are neighbours.

    Attributes
    ----------
    recorded : sequence of E RecordedEpisode
    files : (E,) int64
        The number of the file of each episode.
    tasks : list of Task
    task, starts, counts, lengths : (E,) int64
        The number of the task; the place of the first turn; the answers; those of them
        that the environment played.
    returns, best, difficulty, best_length : (E,) float64
        Of the replay; `best` is the return of the best play, see `best_play`.  NaN:
        unknown.
    terminated, truncated, is_refused, has_other_prompt : (E,) bool
        Neither end: the answers ran out.  The last one: see `has_other_board`.
    success : (E,) int8
        1 or 0 at the end of the episode, -1: the environment does not say.
    episode, turn : (N,) int64
    rewards, recorded_rewards, advantages : (N,) float64
        NaN: unknown, or not played.
    is_played, is_valid, is_effective, is_cut, is_prompt_cut, is_dead_end : (N,) bool
        A dead end: the action made success impossible.
    boards, next_boards : (N,) uint32
        Digests of the observations before and after.
    answers : (N,) int64
        Equal numbers stand for equal answers.
    reasons : dict of int to str
        By turn: why the environment rejects an answer, if it says so.
    """

    recorded: Sequence[RecordedEpisode]
    files: Ints
    tasks: list[Task] = field(default_factory=list)

    def __post_init__(self) -> None:
        num = len(self.recorded)
        counts = [len(episode.answers) for episode in self.recorded]
        self.counts = np.array(counts, np.int64)
        self.starts = np.cumsum(self.counts) - self.counts
        self.task, self.lengths = np.zeros((2, num), np.int64)
        self.returns, self.recorded_returns = np.zeros((2, num))
        self.best, self.best_length, self.difficulty = np.full((3, num), np.nan)
        self.terminated, self.truncated, self.is_refused = np.zeros((3, num), np.bool_)
        self.has_other_prompt = np.zeros(num, np.bool_)
        self.success = np.full(num, UNKNOWN, np.int8)
        self.episode = np.repeat(np.arange(num), self.counts)
        self.turn = np.arange(len(self.episode)) - self.starts[self.episode]
        size = len(self.episode)
        self.rewards, self.advantages = np.full((2, size), np.nan)
        self.is_played, self.is_dead_end, self.is_prompt_cut = np.zeros(
            (3, size), np.bool_
        )
        self.is_valid, self.is_effective = np.ones((2, size), np.bool_)
        self.boards, self.next_boards = np.zeros((2, size), np.uint32)
        self.answers = np.full(size, -1, np.int64)
        self.reasons: dict[int, str] = {}
        self.recorded_rewards = self._flatten("rewards", np.nan)
        self.is_cut = self._flatten("was_cut", 0.0) == 1
        for place, episode in enumerate(self.recorded):
            total = episode.total_reward
            if total is None and episode.rewards is not None:
                total = float(np.sum(np.asarray(episode.rewards, float)))
            self.recorded_returns[place] = np.nan if total is None else total

    def __len__(self) -> int:
        return len(self.recorded)

    def _flatten(self, name: str, default: float) -> Floats:
        """Return (N,) values of a field of the episodes that has one for each turn."""
        result = np.full(len(self.episode), default)
        for place, episode in enumerate(self.recorded):
            values = getattr(episode, name)
            if values is not None:
                start, count = self.starts[place], min(len(values), self.counts[place])
                result[start : start + count] = np.asarray(values[:count], float)
        return result

    def sum_by_episode(self, values: NDArray[Any]) -> Floats:
        """Return (E,) the sums of (N,) values of turns."""
        sums = np.bincount(self.episode, values, minlength=len(self))
        return sums.astype(np.float64)

    @property
    def is_after_dead_end(self) -> Bools:
        """(N,) bool: nothing could be gained any more before the action."""
        before: Ints = np.cumsum(self.is_dead_end) - self.is_dead_end
        # Of the dead ends before a turn, those of its episode count.
        starts = before[self.starts[self.episode]]
        return np.array(before > starts)

    def seeds(self) -> Ints:
        """(E,) int64: equal numbers stand for equal tasks and seeds."""
        numbers = _Numbers()
        seeds = (episode.seed for episode in self.recorded)
        pairs = zip(self.task.tolist(), seeds, strict=True)
        return np.array([numbers[pair] for pair in pairs], np.int64)


def play_again(
    episodes: Sequence[RecordedEpisode], files: Sequence[int] | None = None
) -> Played:
    """Return episodes, played again from their seeds and answers; see `diagnose`.

    Raises
    ------
    InvalidOptionError, UnknownOptionError, gymnasium.error.Error
        If an id or a keyword does not exist.
    """
    numbers = np.zeros(len(episodes)) if files is None else np.array(files)
    played = Played(episodes, numbers.astype(np.int64))
    num_ends = 0
    for number, group in enumerate(group_episodes(episodes)):
        played.tasks.append(Task(group))
        played.task[group.places] = number
        with closing(_make_envs(group)) as envs:
            plan = AnswerPlan(envs, group.episodes)
            columns = _Columns(played, played.tasks[-1], envs, plan)
            names = action_names(lambda name: envs.get_attr(name)[0])
            played.tasks[-1].action_names = names
            for event in plan.play():
                columns.add(event)
                if not event.is_reset:
                    num_ends += int(event.ends.sum())
                    report("episodes", num_ends, len(episodes))
            played.lengths[group.places] = plan.num_played
            played.is_refused[group.places[list(plan.refusals)]] = True
        _find_missing_pattern(played, played.tasks[-1])
    rewards = np.where(played.is_played, played.rewards, 0.0)
    played.returns = played.sum_by_episode(rewards)
    return played


def _find_missing_pattern(played: Played, task: Task) -> None:
    """Write the pattern of the tags in the answers of a task, if none can be read."""
    rows = np.isin(played.episode, task.group.places) & played.is_played
    has_pattern = task.parser is None or task.parser.tags
    if has_pattern or not rows.any() or played.is_valid[rows].any():
        return
    answers = [str(each) for one in task.group.episodes for each in one.answers]
    tags = Counter(re.findall(r".*</(\w+)>", "\n".join(answers)))
    if sum(tags.values()) > len(answers) // 2:
        ((tag, _),) = tags.most_common(1)
        task.missing_pattern = f"<{tag}>(.*?)</{tag}>"
        # The replay is another one: it says nothing about prompts.
        played.is_prompt_cut[rows] = False


def _make_envs(group: EpisodeGroup) -> Any:
    """Make a batch that says all it knows, with the fastest observations."""
    registered = ENVIRONMENTS.get(group.id)
    keywords: dict[str, Any] = {}
    if registered is not None:
        cls = registered.load()
        has_solver = registered.pooled or cls.has_solver()
        if has_solver and "advantage_info" in registered.defaults():
            keywords["advantage_info"] = True
        has_prompts = any(episode.prompts is not None for episode in group.episodes)
        if not has_prompts and "grid" in getattr(cls, "OBS_MODES", ()):
            keywords["obs_mode"] = "grid"
    # Games of users may have no method for it, other keywords need texts.
    for left_out in ((), ("obs_mode",), ("advantage_info",)):
        some = {key: keywords[key] for key in keywords if key not in left_out}
        with suppress(InvalidOptionError):
            return group.make_vec(**some)
    return group.make_vec()


class _Columns:
    """Writes the events of one task into the columns of all."""

    def __init__(self, played: Played, task: Task, envs: Any, plan: AnswerPlan) -> None:
        self._played, self._task, self._plan = played, task, plan
        self._envs = envs
        self._space, self._num_envs = envs.single_observation_space, envs.num_envs
        self._boards = np.zeros(envs.num_envs, np.uint32)
        self._observations: Any = None
        options = getattr(envs.engine, "options", None)
        # Other games that know success end episodes by a limit of their rules, too.
        self._has_risk = getattr(options, "action_advantages", None) is not None
        self._numbers = _Numbers()
        episodes = task.group.episodes
        self._has_prompts = isinstance(self._space, Text) and any(
            episode.prompts is not None for episode in episodes
        )
        self._has_texts = isinstance(envs.single_action_space, Text)
        if self._has_texts:
            task.parser = parser_of(envs)

    def add(self, event: BatchEvent) -> None:
        """Add a reset or a step."""
        boards = self._digest(event.observations)
        if event.is_reset:
            self._boards = np.where(event.starts, boards, self._boards)
        else:
            self._add_step(event, boards)
            self._boards = boards
        self._observations = event.observations

    def _digest(self, observations: Any) -> NDArray[np.uint32]:
        """Return (num_envs,) digests of a batch of observations."""
        if isinstance(self._space, Text):
            codes = (
                zlib.crc32(text.encode("utf-8", "replace")) for text in observations
            )
            return np.fromiter(codes, np.uint32, self._num_envs)
        return digest_rows(self._space, self._num_envs, observations, {})

    def _add_step(self, event: BatchEvent, boards: NDArray[np.uint32]) -> None:
        played = self._played
        rows = np.flatnonzero(event.plays)
        episodes = self._task.group.places[self._plan.episodes[rows]]
        turns = self._plan.turns[rows]
        places = played.starts[episodes] + turns
        played.is_played[places] = True
        played.rewards[places] = event.rewards[rows]
        played.terminated[episodes] = event.terminations[rows]
        played.truncated[episodes] = event.truncations[rows]
        played.boards[places] = self._boards[rows]
        played.next_boards[places] = boards[rows]
        is_end = event.terminations[rows] | event.truncations[rows]
        infos, changes = event.infos, (boards != self._boards)[rows] | is_end
        played.is_effective[places] = _read(infos, "action_is_effective", rows, changes)
        played.is_valid[places] = _read(infos, "action_is_valid", rows, True)
        advantages = _read(infos, "advantage", rows, np.nan)
        played.advantages[places] = advantages
        played.is_dead_end[places] = advantages <= -DEAD_END_LOSS
        if is_end.any():
            last = places[is_end]
            success = episode_successes(self._envs, event.last_infos, rows[is_end])
            played.success[episodes[is_end]] = success
            if self._has_risk:
                # Such as a hole in the ice, by an action that risked it.
                is_lost = event.terminations[rows[is_end]] & (success == 0)
                played.is_dead_end[last] |= is_lost & (played.advantages[last] < 0)
        actions = event.actions
        if self._has_texts or self._has_prompts:
            self._add_texts(event, rows, places)
        elif getattr(actions, "ndim", 0) == 1 and actions.dtype.kind in "iu":
            played.answers[places] = actions[rows]

    def _add_texts(self, event: BatchEvent, rows: Ints, places: Ints) -> None:
        """Write the numbers of answers, and which prompts are cut."""
        played, infos = self._played, event.infos
        episodes, turns = played.episode[places].tolist(), played.turn[places].tolist()
        recorded = played.recorded
        if self._has_texts:
            contents = infos["action_content"][rows].tolist()
            triples = zip(contents, episodes, turns, strict=True)
            played.answers[places] = [
                self._numbers[content or recorded[episode].answers[turn]]
                for content, episode, turn in triples
            ]
        if "reason" in infos:
            reasons = zip(places.tolist(), infos["reason"][rows].tolist(), strict=True)
            played.reasons.update((at, why) for at, why in reasons if why is not None)
        if self._has_prompts:
            texts = [self._observations[row] for row in rows.tolist()]
            played.is_prompt_cut[places] = [
                is_cut_in((recorded[episode].prompts or ())[turn : turn + 1], text)
                for text, episode, turn in zip(texts, episodes, turns, strict=True)
            ]
            for text, episode, turn in zip(texts, episodes, turns, strict=True):
                if turn == 0:
                    prompts = recorded[episode].prompts
                    played.has_other_prompt[episode] = has_other_board(prompts, text)


def _read(infos: Mapping[str, Any], name: str, rows: Ints, default: Any) -> Any:
    """Return an info of some environments, the default where they do not have it."""
    if name not in infos:
        return np.broadcast_to(default, rows.shape)
    mask = infos.get(f"_{name}")
    values = infos[name][rows]
    return values if mask is None else np.where(mask[rows], values, default)


class _Numbers(dict[Any, int]):
    """Numbers of values, from 0 in the order of their first use."""

    def __missing__(self, value: Any) -> int:
        self[value] = number = len(self)
        return number


def is_cut_in(prompts: Sequence[str], observation: str) -> bool:
    """Return whether a prompt, if there is one, has one half of an observation only."""
    if not prompts or observation in prompts[0]:
        return False
    text, prompt = observation.strip(), prompts[0]
    if len(text) < _SHORTEST or text in prompt:
        return False
    half = len(text) // 2
    return (text[:half] in prompt) is not (text[half:] in prompt)


def parser_of(envs: Any) -> Any:
    """Return the parser of a batch of texts; None: it has none."""
    parser = getattr(envs.engine, "action_parser", None)
    with suppress(AttributeError):
        parser = parser or envs.get_attr("action_parser")[0]
    return parser
