"""Findings about groups of episodes that are compared, and about repeated tasks."""

from __future__ import annotations

import numpy as np

from roll_vec.evaluation.diagnosis.findings import Evidence, Hits, kind
from roll_vec.evaluation.diagnosis.played import Ints, Played, Task
from roll_vec.registration import ENVIRONMENTS

# The lost return up to which an episode counts as played best.
BEST = 0.05
# Below it groups without variance are those of a good policy.
_SOME_LOSS = 0.2
# Neighbours of one task, without groups in the file, are a group up to this size.
_MOST_NEIGHBOURS = 16


@kind(least=0.3, explains=False)
def singles(evidence: Evidence) -> Hits | None:
    """Groups of one episode.

    Their advantage within the group is always 0.

    Change
    ------
    Play several episodes of each task: `group_size=8` in roll_vec, or the trainer's
    number of samples of a prompt (`n`, `num_generations`), with one group id for all of
    them.
    """
    return Hits.of_groups(evidence, evidence.sizes == 1)


@kind(least=0.1, explains=False)
def seeds(evidence: Evidence) -> Hits | None:
    """Groups whose members have different tasks.

    Groups in which levels, seeds, ids or keywords differ.

    Change
    ------
    Use one seed for all members of a group: `group_size` does it in `reset(seed=...)`;
    in a trainer, the seed of the data row, and not of the worker.
    """
    pairs = np.stack([evidence.groups, _number_tasks(evidence.played)])
    pairs = np.unique(pairs[:, evidence.groups >= 0], axis=1)
    numbers = np.bincount(pairs[0], minlength=len(evidence.sizes))
    is_group = numbers > 1
    if not is_group.any():
        return None
    tasks, episodes = np.median([numbers[is_group], evidence.sizes[is_group]], axis=1)
    details = [f"{tasks:.0f} tasks in {episodes:.0f} episodes of a group (medians)"]
    return Hits.of_groups(evidence, is_group, details)


@kind(least=0.5, explains=False)
def duplicates(evidence: Evidence) -> Hits | None:
    """The same tasks many times.

    Episodes of a task that the file has before, outside their group.

    Change
    ------
    Play more tasks: another seed for each episode or group, a larger `num_levels` (0:
    no limit), a shuffled data set without repetitions.
    """
    played = evidence.played
    tasks, groups = _number_tasks(played), evidence.groups
    if (groups < 0).all():
        groups = np.cumsum(np.diff(tasks, prepend=-1) != 0)
        groups[np.bincount(groups)[groups] > _MOST_NEIGHBOURS] = -1
        counts = np.unique(tasks, return_counts=True)[1]
        if 1 < counts.max() == counts.min() <= _MOST_NEIGHBOURS:
            # Each task as often as the others: passes over one set of tasks.
            groups = tasks.copy()
    # Files of several steps, or of several policies, may have the same tasks.
    tasks += played.files * (tasks.max() + 1)
    alone = -2 - np.arange(len(tasks))
    owners = np.where(groups < 0, alone, groups)
    _, firsts, inverse = np.unique(tasks, return_index=True, return_inverse=True)
    is_hit = owners != owners[firsts][inverse]
    most = np.bincount(inverse).max()
    details = [f"{len(firsts):,} tasks; the most frequent one has {most:,} episodes"]
    return Hits.of_episodes(evidence, is_hit, details)


def _number_tasks(played: Played) -> Ints:
    """Return (E,) numbers of tasks: of seeds, or of first boards that show levels."""
    tasks = played.seeds()
    is_shown = np.array([_shows_task(task) for task in played.tasks])
    rows = is_shown[played.task] & (played.lengths > 0)
    boards = played.boards[played.starts[rows]]
    levels = np.stack([played.task[rows], boards.astype(np.int64)])
    _, numbers = np.unique(levels, axis=1, return_inverse=True)
    tasks[rows] = tasks.max() + 1 + numbers.reshape(-1)
    return tasks


def _shows_task(task: Task) -> bool:
    """Return whether the first observation of an episode is its whole task."""
    registered = ENVIRONMENTS.get(task.group.id)
    names = {} if registered is None else registered.defaults()
    is_pool = registered is not None and registered.pooled and "num_levels" in names
    return "levels" in names or is_pool or bool(task.group.keywords.get("num_levels"))


@kind(least=0.5, explains=False)
def variance(evidence: Evidence) -> Hits | None:
    """Groups without variance.

    Groups of two or more whose returns are all equal, unless the policy is good.

    Change
    ------
    Raise the temperature, or use larger groups (`group_size`), tasks of middle
    difficulty (`draw_levels`), or `advantage_info=True` as dense reward; leave such
    groups out.
    """
    played = evidence.played
    if evidence.lost < _SOME_LOSS or not len(evidence.sizes):
        return None
    recorded = played.recorded_returns
    returns = np.where(np.isfinite(recorded), recorded, played.returns)
    members: list[list[int]] = [[] for _ in evidence.sizes]
    for place in np.flatnonzero(evidence.groups >= 0).tolist():
        members[evidence.groups[place]].append(place)
    is_group = [len(rows) > 1 and np.ptp(returns[rows]) < 1e-6 for rows in members]
    best = same = 0
    for number in np.flatnonzero(is_group).tolist():
        rows = members[number]
        best += bool((evidence.stakes[rows] < BEST).all())
        answers = [list(played.recorded[row].answers) for row in rows]
        same += all(each == answers[0] for each in answers)
    details = [
        f"{best:,} with the best return, {sum(is_group) - best:,} below it",
        f"{same:,} with the same answers in all episodes: sampled without randomness",
    ]
    return Hits.of_groups(evidence, np.array(is_group), details)
