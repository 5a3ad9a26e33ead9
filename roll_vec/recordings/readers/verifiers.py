"""Traces of verifiers: ``traces.jsonl`` of ``vf-eval`` (verifiers 0.4).

Each line is an episode, whose task has ``game`` (or ``id``), ``keywords`` and ``seed``,
as in the taskset of docs/frameworks/others.md.  Lines of ``results.jsonl``, as older
versions write them, are read if their ``info`` has these.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from roll_vec.recordings.readers import kinds
from roll_vec.recordings.readers.chats import prompt_of, split_chat
from roll_vec.recordings.readers.rows import Row
from roll_vec.recordings.readers.task import Task
from roll_vec.recordings.recorded_episodes import RecordedEpisode

NAMES = ({"task", "traces"}, {"task", "nodes"}, {"completion", "info"})
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
    traces = row.rows("traces") or [row]
    if len(traces) != 1:
        message = f"expected one, of the player, got {len(traces)}"
        raise row.error("traces", message)
    (trace,) = traces
    messages, numbers = [], []
    for number, node in enumerate(trace.rows("nodes")):
        content = node.enter("message").content.get("content")
        # A prompt may have answers of examples.
        is_answer = node.find("sampled", kinds.BOOL, False)
        messages.append({"role": "user", "content": content})
        if is_answer:
            messages[-1]["role"] = "assistant"
            numbers.append(number)
    answers, prompts = split_chat(messages)
    reasons = {
        call.find("node", kinds.COUNT): call.find("finish_reason", kinds.TEXT)
        for call in trace.rows("calls")
    }
    errors = [each.find("message", kinds.TEXT, "") for each in trace.rows("errors")]
    stop = trace.find("stop_condition", kinds.TEXT)
    rewards, metrics = trace.enter("rewards"), trace.enter("metrics")
    name = _RETURN if _RETURN in rewards.content else next(iter(rewards.content), "")
    success = metrics.find(_SUCCESS, kinds.NUMBER)
    group = row.enter("group").find("id", kinds.GROUP)
    data = (row if "task" in row.content else trace).enter("task").enter("data")
    if not errors and stop is not None and stop not in _GOOD_ENDS:
        errors = [stop]
    return _make(
        row,
        data,
        task,
        [answer.strip() for answer in answers],  # as `last_reply` has them
        total_reward=rewards.enter(name).find("score", kinds.NUMBER),
        success=None if success is None else success > 0,
        prompts=prompts,
        was_cut=[reasons.get(number) == "length" for number in numbers],
        group=group,
        fault=errors[-1] if errors else None,
    )


def _read_result(row: Row, task: Task) -> RecordedEpisode:
    prompt = prompt_of(row.get("prompt", kinds.CHAT_OR_TEXT))
    answers, prompts = split_chat(row.get("completion", kinds.OBJECTS), prompt)
    return _make(
        row,
        row.enter("info"),
        task,
        [answer.strip() for answer in answers],
        total_reward=row.find("reward", kinds.NUMBER),
        prompts=prompts,
        group=row.find("example_id", kinds.GROUP),
    )


def _make(
    row: Row, data: Row, task: Task, answers: list[str], **fields: Any
) -> RecordedEpisode:
    id = data.find("game", kinds.TEXT) or data.find("id", kinds.TEXT)
    keywords, seed = data.find("keywords", kinds.OBJECT), data.get("seed", kinds.COUNT)
    return task.make_episode(row, answers, seed, id=id, keywords=keywords, **fields)
