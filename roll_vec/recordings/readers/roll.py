"""Rollout dumps of ROLL: ``rollout_dump_data.step_N.jsonl`` in ``rollout_dump_dir``.

``dump_rollout_trajectories`` (roll/pipeline/agentic/utils.py, commit 8eb27cc2) writes
one object for each training step, whose values are columns.  The columns are filled by
`AgentNativeStepEnvManager`, with ``roll_vec/sokoban_native_env`` for example.  The seed
of a reset is the sum of the group's and the number of the episode.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import Any

from roll_vec.recordings.readers.rows import (
    ANY,
    COUNT,
    NUMBER,
    NUMBERS,
    OBJECT,
    TEXT,
    TEXT_MODES,
    TEXTS,
    Row,
    Task,
    parse,
    split_chat,
)
from roll_vec.recordings.recorded_episodes import RecordedEpisode

FACTS = "roll_vec"
"""The name, in ROLL's ``env_info``, of the id, the keywords and the seed."""
# With ROLL's pattern of answers.
_TEXTS = {**TEXT_MODES, "action_pattern": "<answer>(.*?)</answer>"}
# Of ROLL's `EpisodeStopReason`: nothing failed, and nothing was cut.
_GOOD_ENDS = ("FINISH", "MAX_STEPS", "")


def read(rows: Iterable[Row], task: Task) -> Iterator[RecordedEpisode]:
    """Yield the episodes of a dump of ROLL."""
    for row in rows:
        trajectories = row.get("trajectory_data", TEXTS)
        chats = row.get("messages", TEXTS)
        if len(chats) != len(trajectories):
            message = f"expected {len(trajectories)}, one for each of trajectory_data"
            raise row.error("messages", f"{message}, got {len(chats)}")
        for number, texts in enumerate(zip(trajectories, chats, strict=True)):
            place = f"{row.place}, trajectory {number}"
            yield _read_trajectory(replace(row, place=place), *texts, task)


def _read_trajectory(row: Row, data: str, chat: str, task: Task) -> RecordedEpisode:
    trajectory = replace(row, content=_parse(row, "trajectory_data", data))
    info, rewards = trajectory.enter("env_info"), trajectory.enter("reward_info")
    # The chat of each context; the last one is the whole.
    contexts = _parse(row, "messages", f'{{"messages": {chat}}}')["messages"]
    last = contexts[-1] if isinstance(contexts, list) and contexts else None
    messages = replace(row, content={"messages": last}).list("messages")
    for message in messages:
        if message.find("tool_calls", ANY):
            accepted = "expected answers as texts, not the calls of sokoban_tool_call"
            raise message.error("tool_calls", accepted)
    answers, prompts = split_chat([message.content for message in messages])
    facts, episode_id = info.enter(FACTS), info.get("episode_id", COUNT)
    seed = info.get("seed", COUNT) + episode_id
    # A stop earns another reward, without an answer.
    step_rewards = rewards.get("step_rewards", NUMBERS)[: len(answers)]
    tag, group = info.find("tag", TEXT, ""), info.find("group_id", COUNT, 0)
    success = trajectory.enter("metrics").find(f"env/{tag}/success", ANY)
    reason = trajectory.enter("failure_info").find("stop_reason", TEXT, "")
    return task.make_episode(
        trajectory,
        answers,
        facts.find("seed", COUNT, seed),
        id=facts.find("id", TEXT),
        keywords=facts.find("keywords", OBJECT),
        texts=_TEXTS,
        rewards=step_rewards,
        total_reward=rewards.find("episode_reward", NUMBER),
        success=None if success is None else bool(success),
        prompts=prompts,
        group=f"{tag}_{group}_{episode_id}",
        fault=None if reason in _GOOD_ENDS else reason,
    )


def _parse(row: Row, name: str, text: str) -> dict[str, Any]:
    try:
        value = parse(text)
    except ValueError as error:
        message = f"expected JSON, got a text with: {error}"
        raise row.error(name, message) from None
    if type(value) is not dict:
        raise row.error(name, "expected an object in the text")
    return value
