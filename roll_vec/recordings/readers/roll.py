"""Rollout dumps of ROLL: ``rollout_dump_data.step_N.jsonl`` in ``rollout_dump_dir``.

``dump_rollout_trajectories`` (roll/pipeline/agentic/utils.py, commit 8eb27cc2) writes
one object for each training step, whose values are columns.  The columns are filled by
`AgentNativeStepEnvManager`, with ``roll_vec/sokoban_native_env`` for example.  The seed
of a reset is the sum of the group's and the number of the episode.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace

from roll_vec.recordings.readers import kinds
from roll_vec.recordings.readers.chats import split_chat
from roll_vec.recordings.readers.rows import Row
from roll_vec.recordings.readers.task import TEXT_MODES, Task
from roll_vec.recordings.recorded_episodes import RecordedEpisode

NAMES = ({"trajectory_data", "messages"},)
FACTS = "roll_vec"
"""The name, in ROLL's ``env_info``, of the id, the keywords and the seed."""
# With ROLL's pattern of answers.
_TEXTS = {**TEXT_MODES, "action_pattern": "<answer>(.*?)</answer>"}
# Of ROLL's `EpisodeStopReason`: nothing failed, and nothing was cut.
_GOOD_ENDS = ("FINISH", "MAX_STEPS", "")


def read(rows: Iterable[Row], task: Task) -> Iterator[RecordedEpisode]:
    """Yield the episodes of a dump of ROLL."""
    for row in rows:
        trajectories = row.get("trajectory_data", kinds.TEXTS)
        chats = row.get("messages", kinds.TEXTS)
        if len(chats) != len(trajectories):
            message = f"expected {len(trajectories)}, one for each of trajectory_data"
            raise row.error("messages", f"{message}, got {len(chats)}")
        for number, texts in enumerate(zip(trajectories, chats, strict=True)):
            place = f"{row.place}, trajectory {number}"
            yield _read_trajectory(replace(row, place=place), *texts, task)


def _read_trajectory(row: Row, data: str, chat: str, task: Task) -> RecordedEpisode:
    content = row.parse("trajectory_data", data, kinds.OBJECT)
    trajectory = replace(row, content=content)
    info, rewards = trajectory.enter("env_info"), trajectory.enter("reward_info")
    # The chat of each context; the last one is the whole.
    contexts = row.parse("messages", chat, kinds.ANY)
    last = contexts[-1] if isinstance(contexts, list) and contexts else None
    messages = replace(row, content={"messages": last}).rows("messages")
    for message in messages:
        if message.find("tool_calls", kinds.ANY):
            accepted = "expected answers as texts, not the calls of sokoban_tool_call"
            raise message.error("tool_calls", accepted)
    answers, prompts = split_chat([message.content for message in messages])
    facts, episode_id = info.enter(FACTS), info.get("episode_id", kinds.COUNT)
    seed = info.get("seed", kinds.COUNT) + episode_id
    # A stop earns another reward, without an answer.
    step_rewards = rewards.get("step_rewards", kinds.NUMBERS)[: len(answers)]
    tag, group = info.find("tag", kinds.TEXT, ""), info.find("group_id", kinds.COUNT, 0)
    success = trajectory.enter("metrics").find(f"env/{tag}/success", kinds.ANY)
    reason = trajectory.enter("failure_info").find("stop_reason", kinds.TEXT, "")
    return task.make_episode(
        trajectory,
        answers,
        facts.find("seed", kinds.COUNT, seed),
        id=facts.find("id", kinds.TEXT),
        keywords=facts.find("keywords", kinds.OBJECT),
        texts=_TEXTS,
        rewards=step_rewards,
        total_reward=rewards.find("episode_reward", kinds.NUMBER),
        success=None if success is None else bool(success),
        prompts=prompts,
        group=f"{tag}_{group}_{episode_id}",
        fault=None if reason in _GOOD_ENDS else reason,
    )
