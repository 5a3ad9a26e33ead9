"""Traces of verifiers: ``traces.jsonl`` of ``vf-eval`` (verifiers 0.4).

Each line is an episode, whose task has ``game`` (or ``id``), ``keywords`` and ``seed``,
as in the taskset of docs/frameworks/others.md.  Lines of ``results.jsonl``, as older
versions write them, are read if their ``info`` has these.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from roll_vec.recordings.readers.rows import (
    BOOL,
    COUNT,
    GROUP,
    NUMBER,
    OBJECT,
    OBJECTS,
    TEXT,
    Row,
    Task,
    split_chat,
    text_of,
)
from roll_vec.recordings.recorded_episodes import RecordedEpisode

# The program of the environment, or the agent, ended the conversation.
_GOOD_ENDS = ("user_closed", "agent_completed")
# The names of the return, in the taskset of the page.
_RETURN, _SUCCESS = "return", "success"


def read(rows: Iterable[Row], task: Task) -> Iterator[RecordedEpisode]:
    """Yield the episodes of verifiers."""
    for row in rows:
        is_trace = "traces" in row.content or "nodes" in row.content
        yield (_read_trace if is_trace else _read_result)(row, task)


def _read_trace(row: Row, task: Task) -> RecordedEpisode:
    # A line is an episode with a trace, or a bare trace.
    traces = row.list("traces") or [row]
    if len(traces) != 1:
        message = f"expected one, of the player, got {len(traces)}"
        raise row.error("traces", message)
    (trace,) = traces
    nodes, place = trace.list("nodes"), _last_sampled(trace)
    path: list[int] = []
    while place is not None:
        if place >= len(nodes) or (path and place >= path[-1]):
            raise trace.error("nodes", "expected parents that stand before a node")
        path.append(place)
        place = nodes[place].find("parent", COUNT)
    path.reverse()
    messages = []
    for number in path:
        message = nodes[number].enter("message").content
        # A prompt may have answers of examples.
        role = "assistant" if nodes[number].find("sampled", BOOL, False) else "user"
        messages.append({"content": text_of(message.get("content")), "role": role})
    answers, prompts = split_chat(messages)
    calls = {call.find("node", COUNT): call for call in trace.list("calls")}
    reasons = [
        calls[number].find("finish_reason", TEXT) if number in calls else None
        for number in path
        if nodes[number].find("sampled", BOOL, False)
    ]
    errors = [each.find("message", TEXT, "") for each in trace.list("errors")]
    stop = trace.find("stop_condition", TEXT)
    rewards, metrics = trace.enter("rewards"), trace.enter("metrics")
    name = _RETURN if _RETURN in rewards.content else next(iter(rewards.content), "")
    success = metrics.find(_SUCCESS, NUMBER)
    group = row.enter("group").find("id", GROUP)
    data = (row if "task" in row.content else trace).enter("task").enter("data")
    if not errors and stop is not None and stop not in _GOOD_ENDS:
        errors = [stop]
    return _make(
        row,
        data,
        task,
        [answer.strip() for answer in answers],  # as `last_reply` has them
        total_reward=rewards.enter(name).find("score", NUMBER),
        success=None if success is None else success > 0,
        prompts=prompts,
        was_cut=[reason == "length" for reason in reasons] if calls else None,
        group=group,
        fault=errors[-1] if errors else None,
    )


def _last_sampled(trace: Row) -> int | None:
    """Return the number of the last answer of a trace."""
    nodes = trace.list("nodes")
    places = [i for i, node in enumerate(nodes) if node.find("sampled", BOOL, False)]
    return places[-1] if places else None


def _read_result(row: Row, task: Task) -> RecordedEpisode:
    chat = [*row.get("prompt", OBJECTS), *row.get("completion", OBJECTS)]
    answers, prompts = split_chat(chat)
    # Answers of examples stand in the prompt.
    count = len(split_chat(row.content["completion"])[0])
    first = len(answers) - count
    return _make(
        row,
        row.enter("info"),
        task,
        [answer.strip() for answer in answers[first:]],
        total_reward=row.find("reward", NUMBER),
        prompts=prompts[first:],
        group=row.find("example_id", GROUP),
    )


def _make(
    row: Row, data: Row, task: Task, answers: list[str], **fields: Any
) -> RecordedEpisode:
    id = data.find("game", TEXT) or data.find("id", TEXT)
    keywords, seed = data.find("keywords", OBJECT), data.get("seed", COUNT)
    return task.make_episode(row, answers, seed, id=id, keywords=keywords, **fields)
