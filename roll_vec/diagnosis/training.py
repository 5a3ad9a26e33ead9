"""Findings about rewards, groups and tasks: what a policy can learn from at all."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any

import numpy as np

from roll_vec.diagnosis.best_play import CHANCE, usual_play
from roll_vec.diagnosis.findings import Evidence, Hits, kind, percent, quote_counts
from roll_vec.diagnosis.played import Bools, Floats, Ints, Played, Task
from roll_vec.registration import ENVIRONMENTS
from roll_vec.vector.known_infos import UNKNOWN

# Recorded and replayed rewards are equal up to the rounding of float32 and of JSON.
_TOLERANCE = 1e-4
# The lost return, as a part of the best, of episodes that fail, and that play best.
_FAILED, _BEST = 0.5, 0.05
# Below it groups without variance are those of a good policy.
_SOME_LOSS = 0.2
# Neighbours with one task, without any group in the file, are one group up to this size.
_MOST_NEIGHBOURS = 64
# Shares of episodes that fail: of easy tasks, and of tasks that are too hard.
_SOMETIMES, _NEARLY_ALWAYS = 0.5, 0.9
# So much harder, or easier, than with the default keywords of the id.
_MUCH_HARDER, _MUCH_EASIER = 1.5, 0.25


@kind(
    "reward",
    "Rewards that disagree with the world's",
    "episodes whose recorded rewards are not those of the replay: shifted by a turn, "
    "scaled, only the last, or others",
    "the adapter or the scorer: record the reward that `step` returned for this turn, "
    "without scaling, with the `id`, keywords and seed of the episode",
    least=0.05,
    explains=False,
)
def reward(evidence: Evidence) -> Hits | None:
    """Count episodes with other rewards, by the way in which they differ."""
    played = evidence.played
    known = np.isfinite(played.recorded_returns) & (played.counts > 0)
    recorded = np.where(played.is_played, played.recorded_rewards, 0.0)
    has_turns = np.isfinite(played.sum_by_episode(recorded))
    rewards = np.where(played.is_played, played.rewards, 0.0)
    differs = ~np.isclose(
        np.nan_to_num(recorded), rewards, rtol=_TOLERANCE, atol=_TOLERANCE
    )
    by_turn = played.sum_by_episode(differs) > 0
    totals = ~np.isclose(
        played.recorded_returns, played.returns, rtol=_TOLERANCE, atol=_TOLERANCE
    )
    is_longer = (played.lengths < played.counts) & ~played.is_refused
    success = np.array(
        [UNKNOWN if each.success is None else each.success for each in played.recorded]
    )
    both = (success != UNKNOWN) & (played.success != UNKNOWN)
    is_other_end = both & (success != played.success)
    has_other_rewards = np.where(has_turns, by_turn, False) | totals
    is_hit = (known & has_other_rewards) | is_longer | is_other_end
    forms: Counter[str] = Counter()
    for place in np.flatnonzero(is_hit).tolist():
        rows = slice(played.starts[place], played.starts[place] + played.lengths[place])
        if is_longer[place]:
            form = "the world ends the episode before its last answer"
        elif is_other_end[place] and not has_other_rewards[place]:
            form = "the recorded success is not that of the world"
        elif has_turns[place]:
            form = _form(recorded[rows], rewards[rows])
        else:
            form = "the recorded return is not that of the world"
        forms[form] += 1
    first = played.starts + np.zeros(len(played), int)
    at = np.flatnonzero(differs)
    _, firsts = np.unique(played.episode[at], return_index=True)
    first[played.episode[at[firsts]]] = at[firsts]
    hits = is_hit.astype(np.float64)
    details = quote_counts(forms)
    return Hits(
        int(is_hit.sum()), len(played), "episodes", hits, first[is_hit], details
    )


def _form(recorded: Floats, rewards: Floats) -> str:
    """Return how recorded rewards differ from those of the world."""

    def equal(first: Any, second: Any) -> bool:
        return np.allclose(first, second, rtol=_TOLERANCE, atol=_TOLERANCE)

    if not recorded.any():
        return "all rewards are 0"
    if not recorded[:-1].any() and equal(recorded[-1], rewards.sum()):
        return "the return stands at the last turn, other turns have 0"
    if len(rewards) > 1 and equal(recorded[1:], rewards[:-1]):
        return "shifted: each turn has the reward of the turn before"
    if len(rewards) > 1 and equal(recorded[:-1], rewards[1:]):
        return "shifted: each turn has the reward of the turn after"
    if not recorded[:-1].any() and equal(recorded[-1], rewards[-1]):
        return "only the last turn has its reward"
    if equal(recorded, np.cumsum(rewards)):
        return "summed: each turn has the return so far"
    if equal(recorded, np.cumsum(rewards[::-1])[::-1]):
        return "summed: each turn has the return to go"
    factor = recorded @ rewards / max(rewards @ rewards, 1e-12)
    if factor and equal(recorded, factor * rewards):
        return f"scaled by {factor:.3g}"
    if equal(recorded - rewards, (recorded - rewards)[0]):
        return f"{(recorded - rewards)[0]:+.3g} at each turn"
    if equal(recorded[:-1], rewards[:-1]):
        return "other rewards at the last turn"
    return "other rewards"


def groups_of(played: Played) -> tuple[Ints, Ints]:
    """Return (E,) the number of each episode's group, -1 without, and the sizes."""
    numbers: dict[Any, int] = {}
    groups = np.full(len(played), -1)
    for place, file in enumerate(played.files.tolist()):
        group = played.recorded[place].group
        if group is not None:
            groups[place] = numbers.setdefault((file, group), len(numbers))
    return groups, np.bincount(groups[groups >= 0], minlength=len(numbers))


def _of_groups(
    evidence: Evidence, is_group: Bools, total: int, details: list[str]
) -> Hits:
    """Return hits of groups, with the first turn of their members as examples."""
    groups, _ = groups_of(evidence.played)
    is_hit = (groups >= 0) & np.append(is_group, False)[groups]
    firsts = evidence.played.starts[is_hit & (evidence.played.counts > 0)]
    hits = is_hit.astype(np.float64)
    return Hits(int(is_group.sum()), total, "groups", hits, firsts, details)


@kind(
    "singles",
    "Groups of one episode",
    "groups with one member, whose advantage within the group is always 0",
    "several episodes of each task: `group_size=8` in roll_vec, or the trainer's number "
    "of samples of a prompt (`n`, `num_generations`), and one group id for all of them",
    least=0.3,
    explains=False,
)
def singles(evidence: Evidence) -> Hits | None:
    """Count groups of one."""
    _, sizes = groups_of(evidence.played)
    return _of_groups(evidence, sizes == 1, len(sizes), []) if len(sizes) else None


@kind(
    "seeds",
    "Groups whose members have different tasks",
    "groups in which seeds, ids or keywords differ: their returns cannot be compared",
    "one seed for all members of a group: `group_size` does it in `reset(seed=...)`; in "
    "a trainer, the seed of the data row and not of the worker",
    least=0.1,
    explains=False,
)
def seeds(evidence: Evidence) -> Hits | None:
    """Count groups with several tasks."""
    groups, sizes = groups_of(evidence.played)
    if not len(sizes):
        return None
    tasks = evidence.played.seeds()
    pairs = np.unique(np.stack([groups, tasks])[:, groups >= 0], axis=1)
    kinds = np.bincount(pairs[0], minlength=len(sizes))
    is_group = kinds > 1
    details = []
    if is_group.any():
        sizes, kinds = sizes[is_group], kinds[is_group]
        details = [f"{np.median(kinds):.0f} tasks in {np.median(sizes):.0f} episodes"]
    return _of_groups(evidence, is_group, len(is_group), details)


@kind(
    "duplicates",
    "The same tasks many times",
    "episodes of a task that an earlier episode, of no group or of another one, has",
    "more tasks: another seed for each episode or group, a larger `num_levels` (0: no "
    "limit), a shuffled data set without repetitions",
    least=0.5,
    explains=False,
)
def duplicates(evidence: Evidence) -> Hits | None:
    """Count episodes whose task another group has had."""
    played = evidence.played
    tasks = played.seeds()
    groups, _ = groups_of(played)
    if (groups < 0).all():
        starts = np.append(True, np.diff(tasks) != 0)
        groups = np.cumsum(starts)
        groups[np.bincount(groups)[groups] > _MOST_NEIGHBOURS] = -1
    shows_task = np.array([_shows_task(task) for task in played.tasks], np.bool_)
    has_levels = shows_task[played.task] & (played.counts > 0)
    first = played.starts[has_levels]
    boards = played.boards[first].astype(np.int64)
    # Equal first boards are equal levels, whatever their seeds are.
    _, levels = np.unique(
        np.stack([played.task[has_levels], boards]), axis=1, return_inverse=True
    )
    tasks[has_levels] = tasks.max(initial=0) + 1 + levels.reshape(-1)
    # Files of several steps, or policies, may have the same tasks.
    tasks += played.files * (tasks.max(initial=0) + 1)
    owner: dict[int, int] = {}
    is_hit = np.zeros(len(played), np.bool_)
    for place, (task, group) in enumerate(
        zip(tasks.tolist(), groups.tolist(), strict=True)
    ):
        key = group if group >= 0 else -2 - place
        is_hit[place] = owner.setdefault(task, key) != key
    _, counts = np.unique(tasks, return_counts=True)
    details = [
        f"{len(counts):,} tasks; the most frequent one has {counts.max():,} episodes"
    ]
    hits = is_hit.astype(np.float64)
    places = played.starts[is_hit & (played.counts > 0)]
    return Hits(int(is_hit.sum()), len(played), "episodes", hits, places, details)


def _shows_task(task: Task) -> bool:
    """Return whether the first observation of an episode is its whole task."""
    registered = ENVIRONMENTS.get(task.group.id)
    names = {} if registered is None else registered.defaults()
    if "levels" in names or task.group.keywords.get("num_levels"):
        return True
    return registered is not None and registered.pooled and "num_levels" in names


@kind(
    "easy",
    "Tasks that are too easy",
    "episodes of groups in which all members play best, of tasks much easier than the "
    "defaults of the id",
    "harder tasks: `draw_levels` with a band such as `solution_steps=(9, None)`, more "
    "`num_boxes`, a larger `dim_room` or `size`, more numbers",
    least=0.5,
    explains=False,
)
def easy(evidence: Evidence) -> Hits | None:
    """Count episodes of groups that play easy tasks best."""
    played = evidence.played
    groups, sizes = groups_of(played)
    if not len(sizes):
        return None
    is_easy = np.zeros(len(played), np.bool_)
    details = []
    worst = np.where(sizes > 1, 0.0, 1.0)
    np.maximum.at(worst, groups[groups >= 0], evidence.stakes[groups >= 0])
    is_best = np.append(worst, 1.0)[groups] < _BEST
    for number, rows, hardness in _by_task(played):
        if not is_best[rows].any():
            continue
        usual = _usual_hardness(played.tasks[number])
        if np.median(hardness[rows]) <= _MUCH_EASIER * usual:
            is_easy |= rows
            details.append(_compare(played, number, rows))
    is_hit = is_easy & is_best
    hits = is_hit.astype(np.float64)
    places = played.starts[is_hit]
    return Hits(int(is_hit.sum()), len(played), "episodes", hits, places, details)


@kind(
    "hard",
    "Tasks that are too hard",
    "episodes that fail, of difficulties at which nearly all fail while easier ones "
    "succeed, or of tasks much harder than the defaults of the id",
    "easier tasks first: `draw_levels` with a band such as `solution_steps=(None, 8)` or "
    "`success_probability=(0.9, None)`, fewer `num_boxes`, a smaller `dim_room` or "
    "`size`, fewer numbers",
)
def hard(evidence: Evidence) -> Hits | None:
    """Count failures of difficult tasks."""
    played = evidence.played
    failed = evidence.stakes > _FAILED
    is_hit = np.zeros(len(played), np.bool_)
    details = []
    for number, rows, hardness in _by_task(played):
        values = hardness[rows]
        # Four parts of about equal sizes, by the difficulty.
        edges = np.unique(np.quantile(values, [0.25, 0.5, 0.75]))
        parts = np.searchsorted(edges, hardness, side="left")
        rates = {
            part: float(failed[rows & (parts == part)].mean())
            for part in np.unique(parts[rows]).tolist()
        }
        easiest, hardest = next(iter(rates.values())), max(rates.values())
        if easiest <= _SOMETIMES and hardest >= _NEARLY_ALWAYS:
            lost = [part for part, rate in rates.items() if rate >= _NEARLY_ALWAYS]
            is_hit |= rows & failed & np.isin(parts, lost)
        elif failed[rows].mean() >= _NEARLY_ALWAYS and np.median(
            values
        ) >= _MUCH_HARDER * _usual_hardness(played.tasks[number]):
            is_hit |= rows & failed
        else:
            continue
        details.append(_compare(played, number, rows))
        for part, rate in rates.items():
            some = played.difficulty[rows & (parts == part)]
            details.append(
                f"{some.min():.3g} to {some.max():.3g}: {percent(rate)} fail"
            )
    hits = is_hit.astype(np.float64)
    places = played.starts[is_hit & (played.counts > 0)]
    return Hits(int(is_hit.sum()), len(played), "episodes", hits, places, details)


def _by_task(played: Played) -> Iterator[tuple[int, Bools, Floats]]:
    """Yield tasks with a difficulty: their number, episodes, and (E,) hardness."""
    for number, task in enumerate(played.tasks):
        rows = (played.task == number) & np.isfinite(played.difficulty)
        if rows.any():
            yield number, rows, _hardness(task.measure, played.difficulty)


def _hardness(measure: str, difficulty: Floats) -> Floats:
    """Return a number that is greater for a harder task; 0 where it is unknown."""
    return np.nan_to_num(1 - difficulty if measure == CHANCE else difficulty)


def _usual_hardness(task: Task) -> float:
    """Return the median with the defaults of the id; NaN: it has no such measure."""
    usual = usual_play(task.group.id)
    if usual is None or usual.measure != task.measure:
        return np.nan
    return float(np.median(_hardness(task.measure, usual.difficulty)))


def _compare(played: Played, number: int, rows: Bools) -> str:
    """Return a line on the difficulty of a task beside that of its id's defaults."""
    task, usual = played.tasks[number], usual_play(played.tasks[number].group.id)
    median = np.median(played.difficulty[rows])
    line = f"{task.group.id}: {median:.3g} {task.measure} (median)"
    if usual is None or usual.measure != task.measure:
        return line
    return f"{line}; with its defaults {np.nanmedian(usual.difficulty):.3g}"


@kind(
    "variance",
    "Groups without variance",
    "groups of two or more whose returns are all equal, so that no episode has an "
    "advantage",
    "a higher temperature, larger groups (`group_size`), tasks of middle difficulty "
    "(`draw_levels`), `advantage_info=True` as dense reward; leave such groups out",
    least=0.5,
    explains=False,
)
def variance(evidence: Evidence) -> Hits | None:
    """Count groups whose returns are equal."""
    played = evidence.played
    groups, sizes = groups_of(played)
    if not (sizes > 1).any() or evidence.lost < _SOME_LOSS:
        return None
    returns = np.where(
        np.isfinite(played.recorded_returns), played.recorded_returns, played.returns
    )
    low, high = np.full((2, len(sizes)), np.inf)
    high *= -1
    inside = groups >= 0
    np.minimum.at(low, groups[inside], returns[inside])
    np.maximum.at(high, groups[inside], returns[inside])
    is_group = (sizes > 1) & (high - low < 1e-6)
    best, answers = 0, 0
    members: dict[int, list[int]] = {}
    for place, group in enumerate(groups.tolist()):
        members.setdefault(group, []).append(place)
    for group in np.flatnonzero(is_group).tolist():
        rows = members[group]
        best += bool((evidence.stakes[rows] < _BEST).all())
        first = played.recorded[rows[0]].answers
        answers += all(played.recorded[row].answers == first for row in rows[1:])
    details = [
        f"{best:,} with the best return, {int(is_group.sum()) - best:,} below it",
        f"{answers:,} with the same answers in all episodes: sampled without randomness",
    ]
    return _of_groups(evidence, is_group, int((sizes > 1).sum()), details)
