"""Findings about the answers and the moves of a policy."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import numpy as np

from roll_vec.diagnosis.faulty_answers import find_fault
from roll_vec.diagnosis.findings import (
    Evidence,
    Hits,
    kind,
    percent,
    quote_counts,
)
from roll_vec.diagnosis.played import Bools, Floats

# Invalid texts whose faults are found, spread over all.
_MOST_TEXTS = 20_000
# The share of an answer among all turns that is the same answer to every board.
_CONSTANT = 0.8


@kind(
    "cut",
    "Answers or prompts cut by length",
    "turns whose answer the longest length cut, or whose prompt lacks a part of the "
    "observation",
    "more tokens for an answer (`max_tokens`, `max_completion_length`) or for a prompt "
    "(`max_prompt_length`); a shorter prompt by `env_instruction` or fewer turns of "
    "history",
    least=0.15,
)
def cut(evidence: Evidence) -> Hits | None:
    """Count turns that were cut."""
    played = evidence.played
    answers = played.is_cut & played.is_played
    prompts = played.is_prompt_cut & played.is_played
    both = answers | prompts
    details = [f"answers: {answers.sum():,}, prompts: {prompts.sum():,}"]
    lengths = [len(str(_answer(evidence, place))) for place in np.flatnonzero(answers)]
    if lengths:
        details.append(f"the median length of these answers: {np.median(lengths):,.0f}")
    hits = evidence.share_of_turns(both)
    return _of_turns(evidence, both, hits, details)


@kind(
    "invalid",
    "Answers that are no valid action",
    "turns whose answer the environment cannot read or rejects, with the place in the "
    "text",
    "the form of an answer: make the prompt and `action_pattern` agree, name the actions "
    "of `infos['env_instruction']`, and set `format_penalty` below 0",
    least=0.2,
)
def invalid(evidence: Evidence) -> Hits | None:
    """Count answers that are no action, by their fault."""
    played = evidence.played
    is_hit = played.is_played & ~played.is_valid
    hits = np.maximum(evidence.share_of_turns(is_hit), played.is_refused)
    places = np.flatnonzero(is_hit)
    stride = max(len(places) // _MOST_TEXTS, 1)
    faults: Counter[str] = Counter()
    starts: dict[str, list[int]] = {}
    for place in places[::stride].tolist():
        task = played.tasks[played.task[played.episode[place]]]
        answer = _answer(evidence, place)
        if task.parser is None or not isinstance(answer, str):
            faults[f"the action {answer}, which stands for none"] += stride
            continue
        fault = find_fault(task.parser, answer, played.reasons.get(place, ""))
        faults[fault.reason] += stride
        starts.setdefault(fault.reason, []).append(fault.start)
    named = {}
    for reason, count in faults.items():
        where = starts.get(reason)
        at = "" if where is None else f", at character {np.median(where):,.0f} (median)"
        named[reason + at] = count
    refused = int(played.is_refused.sum())
    if refused:
        named["an answer that the environment refuses, which ends the replay"] = refused
    result = _of_turns(evidence, is_hit, hits, quote_counts(named))
    stops = played.starts[played.is_refused] + played.lengths[played.is_refused]
    turns = np.concatenate([result.turns, stops])
    return result._replace(count=result.count + refused, turns=turns)


@kind(
    "constant",
    "The same answer to every board",
    "turns with the most frequent answer, where it is four fifths or more of all",
    "a policy that has collapsed: go back to an earlier checkpoint, raise the entropy "
    "or the temperature, lower the learning rate; check that prompts show the board "
    "(`obs_mode='text'`)",
)
def constant(evidence: Evidence) -> Hits | None:
    """Count the most frequent answer."""
    played = evidence.played
    known = played.is_played & (played.answers >= 0)
    is_lost = evidence.stakes[played.episode] > 0
    hits = np.zeros(len(played))
    is_hit = np.zeros(len(played.episode), np.bool_)
    details = []
    for number, task in enumerate(played.tasks):
        of_task = known & (played.task[played.episode] == number)
        answers = played.answers[of_task & is_lost]
        if len(answers) < 2 or not played.boards[of_task].any():
            continue
        counts = np.bincount(answers)
        top = int(counts.argmax())
        num_boards = len(np.unique(played.boards[of_task]))
        if counts[top] >= _CONSTANT * len(answers) and num_boards > 1:
            same = of_task & (played.answers == top)
            is_hit |= same
            first = _answer(evidence, int(np.flatnonzero(same)[0]))
            share = percent(int(same.sum()), int(of_task.sum()))
            details.append(f"{share} of the turns of {task.group.id}: {first!r:.80}")
    hits = evidence.share_of_turns(is_hit)
    return _of_turns(evidence, is_hit, hits, details)


@kind(
    "dead_ends",
    "Dead ends",
    "actions after which the best play cannot succeed any more",
    "episodes that end there: `terminate_on_deadlock=True` in Sokoban; the exact credit "
    "of each turn as reward: `advantage_info=True`; easier levels: `draw_levels`, fewer "
    "`num_boxes`",
)
def dead_ends(evidence: Evidence) -> Hits | None:
    """Count actions into dead ends, by turn."""
    played = evidence.played
    is_hit = played.is_dead_end
    hits = played.sum_by_episode(is_hit) > 0
    details = []
    if is_hit.any():
        turns = played.turn[is_hit] + 1
        low, middle, high = np.quantile(turns, [0.1, 0.5, 0.9]).astype(int)
        details = [f"at turn {middle} (median); {low} to {high} for four fifths"]
    count = int(hits.sum())
    turns = np.flatnonzero(is_hit)
    return Hits(count, len(played), "episodes", hits.astype(float), turns, details)


@kind(
    "ineffective",
    "Actions without effect",
    "valid actions that change nothing, such as a walk into a wall, and are not the "
    "best",
    "`action_mask=True` names the actions that can change something; say in the prompt "
    "that the board has not changed; a penalty for each step",
)
def ineffective(evidence: Evidence) -> Hits | None:
    """Count valid actions without effect."""
    is_hit = evidence.is_wasted & (evidence.regret > 0)
    reasons = _quote_reasons(evidence, is_hit)
    return _of_turns(evidence, is_hit, evidence.share_of_regret(is_hit), reasons)


@kind(
    "loops",
    "The same board again and again",
    "actions that lead back to a board which the episode had before, and are not the "
    "best",
    "a memory: more turns of `history` in the prompt; a penalty for each step; "
    "`advantage_info=True` for the credit of each turn; a higher temperature",
)
def loops(evidence: Evidence) -> Hits | None:
    """Count actions that lead back."""
    is_hit = evidence.is_return & (evidence.regret > 0)
    played = evidence.played
    per_episode = played.sum_by_episode(is_hit)
    details = []
    if is_hit.any():
        details = [f"{np.median(per_episode[per_episode > 0]):.0f} times (median)"]
    return _of_turns(evidence, is_hit, evidence.share_of_regret(is_hit), details)


@kind(
    "regret",
    "Moves that are worse than the best",
    "other actions that lower the value of the episode, by the exact solver",
    "the exact credit of each turn as reward: `advantage_info=True`; begin with "
    "episodes of the solver (`roll-vec export ID --policy oracle`)",
)
def regret(evidence: Evidence) -> Hits | None:
    """Count moves with regret, and their regret by turn."""
    played, regret = evidence.played, evidence.regret
    other = evidence.is_wasted | evidence.is_return | played.is_dead_end
    is_hit = ~other & played.is_valid & (regret > 0) & ~np.isnan(played.advantages)
    details = []
    for name, low, high in (("1", 0, 0), ("2 to 5", 1, 4), ("from 6", 5, np.inf)):
        rows = evidence.counts & (played.turn >= low) & (played.turn <= high)
        if is_hit.any() and rows.any():
            details.append(f"turn {name}: mean regret {regret[rows].mean():.3g}")
    details += _quote_reasons(evidence, is_hit)
    return _of_turns(evidence, is_hit, evidence.share_of_regret(is_hit), details)


@kind(
    "limit",
    "Ends by the limit of steps",
    "episodes that a limit stopped: one of the environment, or the last answer of the "
    "file; wholly where the best play is longer, else as far as turns were not wasted",
    "more steps: `max_episode_steps` or `max_steps` of the environment, or the "
    "trainer's limit of turns; several actions in an answer: `action_separator`",
)
def limit(evidence: Evidence) -> Hits | None:
    """Count episodes that a limit stopped."""
    played = evidence.played
    stops = ~(played.terminated | played.truncated | played.is_refused)
    is_hit = (played.truncated & ~played.terminated) | stops
    is_hit &= np.isfinite(played.best_length) & (evidence.stakes > 0)
    is_hit &= played.lengths > 0
    if not is_hit.any():
        return None
    idle = evidence.is_wasted | evidence.is_return | ~played.is_valid
    is_short = played.best_length > played.lengths
    has_dead_end = played.sum_by_episode(played.is_dead_end) > 0
    use = np.where(is_short, 1.0, 1.0 - evidence.share_of_turns(idle))
    hits = np.where(is_hit & ~has_dead_end, use, 0.0)
    steps = np.median(played.lengths[is_hit])
    best = np.median(played.best_length[is_hit])
    details = [f"after {steps:.0f} steps; the best play has {best:.0f} (medians)"]
    for rows, text in (
        (is_short, "ended before the best play would"),
        (stops, "stopped with the last answer of the file, before an end"),
    ):
        count = int((is_hit & rows).sum())
        details += [f"{count:,} {text}"] if count else []
    faults = [played.recorded[place].fault for place in np.flatnonzero(stops & is_hit)]
    details += quote_counts(Counter(f"{each:.100}" for each in faults if each))
    turns = (played.starts + played.lengths - 1)[is_hit & (hits > 0)]
    return Hits(int(is_hit.sum()), len(played), "episodes", hits, turns, details)


def _answer(evidence: Evidence, place: int) -> object:
    """Return the answer of a turn, as it was recorded."""
    played = evidence.played
    return played.recorded[played.episode[place]].answers[played.turn[place]]


def _quote_reasons(evidence: Evidence, is_hit: Bools) -> list[str]:
    """Return the environment's reasons of some turns, and how often it gave them."""
    reasons = evidence.played.reasons
    places = np.flatnonzero(is_hit).tolist() if reasons else []
    return quote_counts(Counter(reasons[each] for each in places if each in reasons))


def _of_turns(
    evidence: Evidence, is_hit: Bools, hits: Floats, details: Sequence[str]
) -> Hits:
    """Return hits of turns."""
    total, count = int(evidence.played.is_played.sum()), int(is_hit.sum())
    return Hits(count, total, "turns", hits, np.flatnonzero(is_hit), details)
