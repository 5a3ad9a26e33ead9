"""Findings about the answers and the moves of a policy."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import Any

import numpy as np

from roll_vec.evaluation.diagnosis.faulty_answers import find_fault
from roll_vec.evaluation.diagnosis.findings import (
    Evidence,
    Hits,
    kind,
    percent,
    quote_counts,
)
from roll_vec.evaluation.diagnosis.played import Bools

# Invalid texts whose faults are looked for, spread over all.
_MOST_TEXTS = 20_000
# Characters of an answer that may be cut, and the share of invalid ones of one length.
_SHORTEST_CUT, _MANY = 24, 0.8
# The share of an answer among all turns that is the same answer to every board.
_CONSTANT = 0.8


@kind(least=0.15)
def cut(evidence: Evidence) -> Hits | None:
    """Answers or prompts cut by length.

    Turns whose answer was cut, by the file or by equal lengths of invalid answers, or
    whose prompt lacks half of the observation.

    Change
    ------
    Allow more tokens for an answer (`max_tokens`, `max_completion_length`) or a prompt
    (`max_prompt_length`); shorten the prompt by `env_instruction` or less `history`.
    """
    played = evidence.played
    answers = (played.is_cut | _have_one_length(evidence)) & played.is_played
    is_hit = answers | (played.is_prompt_cut & played.is_played)
    details = [f"answers: {answers.sum():,}, prompts: {played.is_prompt_cut.sum():,}"]
    lengths = [
        len(str(_answer(evidence, at))) for at in np.flatnonzero(answers).tolist()
    ]
    if lengths:
        details.append(f"median length of these answers: {np.median(lengths):,.0f}")
    return Hits.of_turns(evidence, is_hit, evidence.share(is_hit), details)


def _have_one_length(evidence: Evidence) -> Bools:
    """(N,) bool: invalid answers of the greatest length, if most of them have it."""
    played = evidence.played
    result = np.zeros(len(played.episode), np.bool_)
    places = np.flatnonzero(played.is_played & ~played.is_valid)
    texts = [str(_answer(evidence, place)) for place in places.tolist()]
    lengths = np.array([*map(len, texts)])
    if len({*texts[:_MOST_TEXTS]}) > 1 and lengths.max() >= _SHORTEST_CUT:
        longest = lengths == lengths.max()
        result[places[longest]] = longest.mean() >= _MANY
    return result


@kind(least=0.2)
def invalid(evidence: Evidence) -> Hits | None:
    """Answers that are no valid action.

    Turns whose answer the environment cannot read, or rejects.

    Change
    ------
    Mend the form of an answer: make the prompt and `action_pattern` agree, name the
    actions as `infos["env_instruction"]` does, and set `format_penalty` below 0.
    """
    played = evidence.played
    is_hit = played.is_played & ~played.is_valid
    places = np.flatnonzero(is_hit).tolist()
    stride = max(len(places) // _MOST_TEXTS, 1)
    starts: dict[str, list[int]] = {}
    for place in places[::stride]:
        parser = played.tasks[played.task[played.episode[place]]].parser
        answer = _answer(evidence, place)
        if parser is None or not isinstance(answer, str):
            reason, start = f"the action {answer}, which stands for none", 0
        else:
            reason, start, _ = find_fault(parser, answer, played.reasons.get(place, ""))
        starts.setdefault(reason, []).append(start)
    counts = {
        f"{reason}, at character {np.median(where):,.0f} (median)": stride * len(where)
        for reason, where in starts.items()
    }
    refused = int(played.is_refused.sum())
    if refused:
        counts["an answer that the environment refuses, which ends the replay"] = (
            refused
        )
    hits = np.maximum(evidence.share(is_hit), played.is_refused)
    result = Hits.of_turns(evidence, is_hit, hits, quote_counts(counts))
    stops = (played.starts + played.lengths)[played.is_refused & (played.counts > 0)]
    turns = np.concatenate([result.turns, stops])
    return replace(
        result,
        number=result.number + refused,
        total=result.total + refused,
        turns=turns,
    )


@kind()
def constant(evidence: Evidence) -> Hits | None:
    """The same answer to every board.

    Turns with the most frequent action, if it is four fifths of all.

    Change
    ------
    The policy has collapsed: go back to an earlier checkpoint, raise the entropy or the
    temperature, lower the learning rate; check that prompts show the board
    (`obs_mode="text"`).
    """
    played = evidence.played
    is_hit = np.zeros(len(played.episode), np.bool_)
    details = []
    for number, task in enumerate(played.tasks):
        of_task = (played.task[played.episode] == number) & (played.answers >= 0)
        answers = played.answers[of_task & (evidence.stakes[played.episode] > 0)]
        if len(answers) < 2 or len(np.unique(played.boards[of_task])) < 2:
            continue
        numbers, counts = np.unique(answers, return_counts=True)
        same = of_task & (played.answers == numbers[counts.argmax()])
        if counts.max() >= _CONSTANT * len(answers):
            is_hit |= same
            answer = _answer(evidence, int(same.argmax()))
            share = percent(same.sum(), of_task.sum())
            details.append(f"{share} of the turns of {task.group.id}: {answer!r:.80}")
    return Hits.of_turns(evidence, is_hit, evidence.share(is_hit), details)


@kind()
def limit(evidence: Evidence) -> Hits | None:
    """Ends by the limit of steps.

    Episodes that a limit, or the last answer, stopped; wholly if the best play is
    longer, else by their share of valid turns to new boards.

    Change
    ------
    Allow more steps: `max_episode_steps` or `max_steps` of the environment, or the
    trainer's limit of turns; several actions in an answer: `action_separator`.
    """
    played = evidence.played
    stops = ~(played.terminated | played.truncated | played.is_refused)
    is_hit = (played.truncated & ~played.terminated) | stops
    is_hit &= np.isfinite(played.best_length) & (evidence.stakes > 0)
    if not is_hit.any():
        return None
    idle = evidence.is_wasted | evidence.is_return | ~played.is_valid
    is_short = is_hit & (played.best_length > played.lengths)
    parts = np.where(is_short, 1.0, 1.0 - evidence.share(idle))
    hits = np.where(is_hit, parts, 0.0)
    hits[played.sum_by_episode(played.is_dead_end) > 0] = 0.0
    steps = np.median(played.lengths[is_hit])
    best = np.median(played.best_length[is_hit])
    details = [f"after {steps:.0f} steps; the best play has {best:.0f} (medians)"]
    if is_short.any():
        details.append(f"{is_short.sum():,} ended before the best play would")
    stops &= is_hit
    if stops.any():
        text = "stopped with the last answer of the file, before an end"
        details.append(f"{stops.sum():,} {text}")
    faults = [played.recorded[at].fault for at in np.flatnonzero(stops).tolist()]
    details += quote_counts(Counter(f"{fault:.100}" for fault in faults if fault))
    turns = (played.starts + played.lengths - 1)[(hits > 0) & (played.lengths > 0)]
    number, total = int(is_hit.sum()), len(is_hit)
    return Hits(number, total, "episodes", hits, turns, details)


@kind()
def dead_ends(evidence: Evidence) -> Hits | None:
    """Dead ends.

    Actions after which the best play cannot succeed, or which end the episode without
    success.

    Change
    ------
    End the episode there: `terminate_on_deadlock=True` in Sokoban; reward each turn by
    its exact credit: `advantage_info=True`; begin with easier tasks: `draw_levels`,
    fewer `num_boxes`.
    """
    played = evidence.played
    is_hit = played.is_dead_end
    details = []
    if is_hit.any():
        low, middle, high = np.quantile(played.turn[is_hit] + 1, [0.1, 0.5, 0.9])
        details = [
            f"at turn {middle:.0f} (median); {low:.0f} to {high:.0f} in four fifths"
        ]
    hits = Hits.of_episodes(evidence, played.sum_by_episode(is_hit) > 0, details)
    return replace(hits, turns=np.flatnonzero(is_hit))


@kind()
def ineffective(evidence: Evidence) -> Hits | None:
    """Actions without effect.

    Valid actions that change nothing and are not the best; by their share of regret.

    Change
    ------
    Say in the prompt that the board has not changed, or which actions can change it
    (`action_mask=True`); add a penalty for each step.
    """
    return _of_regret(evidence, evidence.is_wasted)


@kind()
def loops(evidence: Evidence) -> Hits | None:
    """The same board again and again.

    Actions back to an earlier board that are not the best; by their share of regret.

    Change
    ------
    Give a memory: more turns of `history` in the prompt; add a penalty for each step;
    use `advantage_info=True` for the credit of each turn; raise the temperature.
    """
    return _of_regret(evidence, evidence.is_return)


@kind()
def regret(evidence: Evidence) -> Hits | None:
    """Moves that are worse than the best.

    Other actions that lower the exact value; by their share of regret.

    Change
    ------
    Reward each turn by its exact credit: `advantage_info=True`; begin with episodes of
    the solver (`roll-vec export ID --policy oracle`).
    """
    played = evidence.played
    other = evidence.is_wasted | evidence.is_return | played.is_dead_end
    is_worse = played.is_valid & (played.advantages < 0)
    return _of_regret(evidence, is_worse & ~other)


def _of_regret(evidence: Evidence, is_hit: Bools) -> Hits:
    """Return hits of turns with regret, with their regret and reasons."""
    played, regret = evidence.played, evidence.regret
    is_hit = is_hit & (regret > 0)
    details = []
    if (played.advantages[is_hit] < 0).any():
        for name, low, high in (
            ("1", 0, 1),
            ("2 to 5", 1, 5),
            ("6 or later", 5, np.inf),
        ):
            some = regret[is_hit & (played.turn >= low) & (played.turn < high)]
            if len(some):
                details.append(
                    f"turn {name}: {len(some):,}, mean regret {some.mean():.3g}"
                )
    places = np.flatnonzero(is_hit).tolist() if played.reasons else []
    reasons = Counter(played.reasons[at] for at in places if at in played.reasons)
    details += quote_counts(reasons)
    return Hits.of_turns(evidence, is_hit, evidence.share(is_hit, regret), details)


def _answer(evidence: Evidence, place: int) -> Any:
    """Return the answer of a turn, as it was recorded."""
    played = evidence.played
    recorded = played.recorded[int(played.episode[place])]
    return recorded.answers[int(played.turn[place])]
