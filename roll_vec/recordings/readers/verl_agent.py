"""Rollout dumps of verl-agent: ``STEP.jsonl`` in ``trainer.rollout_data_dir``.

``_dump_generations`` (verl/trainer/ppo/ray_trainer.py, commit d0b97244) writes a line
for each turn, in any order, with the prompt and the answer, but without the episode,
the turn and the seed.  Two lines of docs/frameworks/verl_agent.md add them, as the
columns ``traj_uid``, ``uid``, ``rewards`` and `FACTS`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from roll_vec.errors import shorten
from roll_vec.recordings.readers.rows import (
    COUNT,
    NUMBER,
    OBJECT,
    TEXT,
    TEXT_MODES,
    Row,
    Task,
)
from roll_vec.recordings.recorded_episodes import RecordedEpisode

FACTS = "roll_vec"
"""The column with the id, the keywords, the seed, and the number of the turn."""
TEXTS = {**TEXT_MODES, "action_pattern": "<action>(.*?)</action>"}
"""Keywords of a game on a grid for verl-agent's answers."""
_SOKOBAN = "roll_vec/Sokoban-v0"
# In the order in which `sokoban_projection` looks for them.
_ACTIONS = ("up", "down", "left", "right", "still")


def read(rows: Iterable[Row], task: Task) -> Iterator[RecordedEpisode]:
    """Yield the episodes of a dump of verl-agent."""
    episodes: dict[str, dict[int, Row]] = {}
    for row in rows:
        turns = episodes.setdefault(row.get("traj_uid", TEXT), {})
        # Some rows stand there twice, so that a batch can be divided.
        turns.setdefault(row.enter(FACTS).get("turn", COUNT), row)
    for name, turns in episodes.items():
        row = turns[min(turns)]
        if max(turns) != len(turns) - 1:
            accepted = f"expected the turns 0 to {max(turns)} of {shorten(name)}"
            raise row.error(FACTS, f"{accepted}, got {len(turns)} of them")
        parts = [turns[number] for number in range(len(turns))]
        facts = row.enter(FACTS)
        id = facts.find("id", TEXT)
        answers = [part.get("output", TEXT) for part in parts]
        if _SOKOBAN in (id, task.id):
            answers = [*map(_project, answers)]
        rewards = [part.find("rewards", NUMBER) for part in parts]
        yield task.make_episode(
            row,
            answers,
            facts.get("seed", COUNT),
            id=id,
            keywords=facts.find("keywords", OBJECT),
            texts=TEXTS,
            rewards=None if None in rewards else rewards,
            prompts=[part.find("input", TEXT, "") for part in parts],
            group=row.find("uid", TEXT),
        )


def _project(answer: str) -> str:
    """Return an answer that our pattern reads as `sokoban_projection` reads this one.

    verl-agent searches for the name of an action within the tag, in all letters.
    """
    text = answer.lower()
    start, end = text.find("<action>"), text.find("</action>")
    content = text[start + len("<action>") : end].strip()
    is_tagged = start >= 0 and end >= 0
    names = [name for name in _ACTIONS if is_tagged and name in content]
    match = re.search(TEXTS["action_pattern"], answer, re.DOTALL)
    ours = match[1].strip().lower() if match else ""
    theirs = names[0] if names and names[0] != "still" else ""
    if theirs == (ours if ours in _ACTIONS[:4] else ""):
        return answer
    return f"<action>{theirs}</action>"
