"""Trajectories of ``openenv collect``: ``results.jsonl`` (OpenEnv 0.10).

Each line is an ``EpisodeRecord``.  The seed is that of the server's state, or of the
task; the id and the keywords are those of the task, if it is an object that has them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace

from roll_vec.recordings.readers import kinds
from roll_vec.recordings.readers.chats import answer_of
from roll_vec.recordings.readers.rows import Row
from roll_vec.recordings.readers.task import Task
from roll_vec.recordings.recorded_episodes import RecordedEpisode

NAMES = ({"episode_id", "tool_trace"},)


def read(rows: Iterable[Row], task: Task) -> Iterator[RecordedEpisode]:
    """Yield the episodes of OpenEnv's records."""
    for row in rows:
        answers, rewards, done, state = [], [], False, row.enter("none")
        for call in row.rows("tool_trace"):
            result = call.enter("result")
            if result.find("error", kinds.TEXT):
                continue
            answers.append(answer_of(call, "tool_name"))
            metadata = result.enter("metadata")
            rewards.append(metadata.find("reward", kinds.NUMBER))
            done, state = result.get("done", kinds.BOOL), metadata.enter("state")
        final = row.enter("artifacts").enter("final_state")
        # A task may be a text, or anything else.
        is_object = kinds.OBJECT.accepts(row.content.get("task"))
        facts = row.enter("task") if is_object else replace(row, content={})
        seeds = [each.find("seed", kinds.COUNT) for each in (final, state, facts)]
        seed = next((each for each in seeds if each is not None), None)
        yield task.make_episode(
            row,
            answers,
            facts.get("seed", kinds.COUNT) if seed is None else seed,
            id=facts.find("id", kinds.TEXT),
            keywords=facts.find("keywords", kinds.OBJECT),
            rewards=None if None in rewards else rewards,
            fault=None if done else "the agent stopped",
        )
