"""Rollout dumps of verl-agent: ``STEP.jsonl`` in ``trainer.rollout_data_dir``.

``_dump_generations`` (verl/trainer/ppo/ray_trainer.py, commit d0b97244) writes a line
for each turn, in any order, with the prompt and the answer, but without the episode,
the turn and the seed.  Two lines of docs/trainers_files.md add them, as the
columns ``traj_uid``, ``uid``, ``rewards`` and `FACTS`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from roll_vec.errors import shorten
from roll_vec.recordings.readers import kinds
from roll_vec.recordings.readers.rows import Row
from roll_vec.recordings.readers.task import TEXT_MODES, Task
from roll_vec.recordings.recorded_episodes import RecordedEpisode

NAMES = ({"input", "output", "score"},)
FACTS = "roll_vec"
"""The column with the id, the keywords, the seed, and the number of the turn."""
TEXTS = {**TEXT_MODES, "action_pattern": "<action>(.*?)</action>"}
"""Keywords of a game on a grid for verl-agent's answers."""
_SOKOBAN = "roll_vec/Sokoban-v0"
# In the order in which `sokoban_projection` looks for them; "still" is no action here.
_ACTIONS = ("up", "down", "left", "right", "still")


def read(rows: Iterable[Row], task: Task) -> Iterator[RecordedEpisode]:
    """Yield the episodes of a dump of verl-agent."""
    episodes: dict[str, dict[int, Row]] = {}
    for row in rows:
        turns = episodes.setdefault(row.get("traj_uid", kinds.TEXT), {})
        # Some rows stand there twice, so that a batch can be divided.
        turns.setdefault(row.enter(FACTS).get("turn", kinds.COUNT), row)
    for name, turns in episodes.items():
        numbers = sorted(turns)
        row, facts = turns[numbers[0]], turns[numbers[0]].enter(FACTS)
        if numbers != [*range(len(numbers))]:
            accepted = f"expected the turns 0 to {numbers[-1]} of {shorten(name)}"
            raise row.error(FACTS, f"{accepted}, got {len(turns)} of them")
        parts = [turns[number] for number in numbers]
        id = facts.find("id", kinds.TEXT)
        answers = [part.get("output", kinds.TEXT) for part in parts]
        if _SOKOBAN in (id, task.id):
            answers = [*map(_project, answers)]
        rewards = [part.find("rewards", kinds.NUMBER) for part in parts]
        yield task.make_episode(
            row,
            answers,
            facts.get("seed", kinds.COUNT),
            id=id,
            keywords=facts.find("keywords", kinds.OBJECT),
            texts=TEXTS,
            rewards=None if None in rewards else rewards,
            prompts=[part.find("input", kinds.TEXT, "") for part in parts],
            group=row.find("uid", kinds.TEXT),
        )


def _project(answer: str) -> str:
    """Return an answer that our pattern reads as `sokoban_projection` reads this one.

    verl-agent searches for the name of an action within the tag, in all letters.
    """
    text = answer.lower()
    start, end = text.find("<action>"), text.find("</action>")
    content = text[start + len("<action>") : end] if min(start, end) >= 0 else ""
    theirs = next((name for name in _ACTIONS if name in content), "")
    match = re.search(TEXTS["action_pattern"], answer, re.DOTALL)
    ours = match[1].strip().lower() if match else ""
    if theirs == ours or (theirs == "" and ours not in _ACTIONS):
        return answer
    return f"<action>{theirs}</action>"
