"""Traces of verifiers: ``traces.jsonl`` of ``vf-eval`` (verifiers 0.4).

Each line is an episode, whose task has ``game`` (or ``id``), ``keywords`` and ``seed``,
as in the taskset of docs/frameworks/others.md.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from roll_vec.recordings.readers import kinds
from roll_vec.recordings.readers.chats import split_chat
from roll_vec.recordings.readers.rows import Row
from roll_vec.recordings.readers.task import Task
from roll_vec.recordings.recorded_episodes import RecordedEpisode

NAMES = ({"task", "traces"}, {"task", "nodes"})
# The program of the environment, or the agent, ended the conversation.
_GOOD_ENDS = ("user_closed", "agent_completed")
# The names of the return, in the taskset of the page.
_RETURN, _SUCCESS = "return", "success"


def read(rows: Iterable[Row], task: Task) -> Iterator[RecordedEpisode]:
    """Yield the episodes of verifiers."""
    for row in rows:
        yield _read_trace(row, task)


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
    id = data.find("game", kinds.TEXT) or data.find("id", kinds.TEXT)
    return task.make_episode(
        row,
        [answer.strip() for answer in answers],  # as `last_reply` has them
        data.get("seed", kinds.COUNT),
        id=id,
        keywords=data.find("keywords", kinds.OBJECT),
        total_reward=rewards.enter(name).find("score", kinds.NUMBER),
        success=None if success is None else success > 0,
        prompts=prompts,
        was_cut=[reasons.get(number) == "length" for number in numbers],
        group=group,
        fault=errors[-1] if errors else None,
    )
