"""Findings about the exact difficulty of tasks."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from roll_vec.evaluation.diagnosis.best_play import CHANCE, usual_play
from roll_vec.evaluation.diagnosis.findings import Evidence, Hits, kind, percent
from roll_vec.evaluation.diagnosis.groups import BEST
from roll_vec.evaluation.diagnosis.played import Bools, Floats, Played, Task

# The lost return from which an episode has failed.
_FAILED = 0.5
# Shares of episodes that fail: of the easiest tasks, and of those that are too hard.
_SOMETIMES, _NEARLY_ALWAYS = 0.5, 0.9
# So much harder, or easier, than with the default keywords of the id.
_MUCH_HARDER, _MUCH_EASIER = 1.5, 0.25


@kind(least=0.5, explains=False)
def easy(evidence: Evidence) -> Hits | None:
    """Tasks that are too easy.

    Episodes of groups in which all members play best, of tasks at least four times
    easier than the default ones.

    Change
    ------
    Draw harder tasks: `draw_levels` with a band such as `solution_steps=(9, None)`,
    more `num_boxes`, a larger `dim_room` or `size`, more numbers.
    """
    worst = np.where(evidence.sizes > 1, 0.0, 1.0)
    members = evidence.groups >= 0
    np.maximum.at(worst, evidence.groups[members], evidence.stakes[members])
    is_best = evidence.of_groups(worst, 1.0) < BEST
    is_hit = np.zeros(len(is_best), np.bool_)
    details = []
    for task, rows, hardness in _by_task(evidence.played):
        limit = _MUCH_EASIER * _usual_hardness(task) if is_best[rows].any() else np.nan
        if np.median(hardness[rows]) <= limit:
            is_hit |= rows & is_best
            details.append(_compare(evidence.played, task, rows))
    return Hits.of_episodes(evidence, is_hit, details)


@kind()
def hard(evidence: Evidence) -> Hits | None:
    """Tasks that are too hard.

    Failed episodes of difficulties where nine of ten fail, if easier ones succeed, or
    all are much harder than the default ones.

    Change
    ------
    Begin with easier tasks: `draw_levels` with a band such as `solution_steps=(None,
    8)` or `success_probability=(0.9, None)`, fewer `num_boxes`, a smaller `dim_room` or
    `size`, fewer numbers.
    """
    played, failed = evidence.played, evidence.stakes > _FAILED
    is_hit = np.zeros(len(played), np.bool_)
    details = []
    for task, rows, hardness in _by_task(played):
        # Four parts of about equal sizes, by the difficulty.
        edges = np.unique(np.quantile(hardness[rows], [0.25, 0.5, 0.75]))
        places = np.searchsorted(edges, hardness, side="left")
        parts = [rows & (places == part) for part in np.unique(places[rows])]
        rates = [failed[part].mean() for part in parts]
        lost = [
            part
            for part, rate in zip(parts, rates, strict=True)
            if rate >= _NEARLY_ALWAYS
        ]
        if not lost:
            continue
        if rates[0] > _SOMETIMES:
            limit = _MUCH_HARDER * _usual_hardness(task)
            is_much = np.median(hardness[rows]) >= limit
            if not is_much or failed[rows].mean() < _NEARLY_ALWAYS:
                continue
            lost = [rows]
        is_hit |= failed & np.any(lost, axis=0)
        details.append(_compare(played, task, rows))
        for part, rate in zip(parts, rates, strict=True):
            low, high = np.quantile(played.difficulty[part], [0, 1])
            details.append(f"{low:.3g} to {high:.3g}: {percent(rate)} fail")
    return Hits.of_episodes(evidence, is_hit, details)


def _by_task(played: Played) -> Iterator[tuple[Task, Bools, Floats]]:
    """Yield tasks with a difficulty, their (E,) episodes, and their hardness."""
    for number, task in enumerate(played.tasks):
        rows = (played.task == number) & np.isfinite(played.difficulty)
        if rows.any():
            yield task, rows, _hardness(task.measure, played.difficulty)


def _hardness(measure: str, difficulty: Floats) -> Floats:
    """Return a number that is greater for a harder task; 0 where it is unknown."""
    return np.nan_to_num(1 - difficulty if measure == CHANCE else difficulty)


def _usual_hardness(task: Task) -> float:
    """Return the median with the defaults of the id; NaN: it has no such measure."""
    usual = usual_play(task)
    if usual is None:
        return np.nan
    return float(np.median(_hardness(task.measure, usual.difficulty)))


def _compare(played: Played, task: Task, rows: Bools) -> str:
    """Return a line on the difficulty of a task beside that of its id's defaults."""
    usual, median = usual_play(task), np.median(played.difficulty[rows])
    line = f"{task.group.id}: {median:.3g} {task.measure} (median)"
    if usual is None:
        return line
    return f"{line}; with its defaults {np.nanmedian(usual.difficulty):.3g}"
