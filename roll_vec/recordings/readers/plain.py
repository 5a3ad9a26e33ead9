"""The plain form: JSON lines that a person writes from anything.

::

    {"id": "roll_vec/Sokoban-v0", "keywords": {"num_boxes": 1}, "seed": 7,
     "answers": [3, 1, 1], "rewards": [-0.1, -0.1, 10.9], "success": true}

``id`` (or ``tag``), ``seed`` and ``answers`` are needed.  Other names are ``keywords``,
``rewards``, ``return``, ``success``, ``terminated``, ``truncated``, ``length``,
``prompts``, ``was_cut``, ``group`` and ``fault``, as in
`roll_vec.recordings.recorded_episodes.RecordedEpisode`, and ``notes``, which may be
anything.  A line with a tag and an id, but without a seed, says what the tag stands for
in the lines after it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from roll_vec.errors import shorten
from roll_vec.options import close_match
from roll_vec.recordings.readers import kinds
from roll_vec.recordings.readers.rows import Row
from roll_vec.recordings.readers.task import Task
from roll_vec.recordings.recorded_episodes import RecordedEpisode

NAMES = ({"seed", "answers"}, {"tag", "id"})
# By name in the file: the field of an episode, and the kind of its value.
_FIELDS: dict[str, tuple[str, kinds.Kind]] = {
    "rewards": ("rewards", kinds.NUMBERS),
    "return": ("total_reward", kinds.NUMBER),
    "success": ("success", kinds.BOOL),
    "terminated": ("terminated", kinds.BOOL),
    "truncated": ("truncated", kinds.BOOL),
    "prompts": ("prompts", kinds.TEXTS),
    "was_cut": ("was_cut", kinds.BOOLS),
    "group": ("group", kinds.GROUP),
    "fault": ("fault", kinds.TEXT),
}
_OTHERS = ("id", "tag", "keywords", "seed", "answers", "length", "notes")


def read(rows: Iterable[Row], task: Task) -> Iterator[RecordedEpisode]:
    """Yield the episodes of lines in the plain form."""
    tags: dict[str, tuple[str, Any]] = {}
    for row in rows:
        for name in row.content:
            if name not in _FIELDS and name not in _OTHERS:
                names = [*_OTHERS, *_FIELDS]
                match = close_match(name, names)
                advice = "" if match is None else f"; did you mean {match}?"
                text = f"expected one of {', '.join(names)}{advice}"
                raise row.error(shorten(name), text)
        tag = row.find("tag", kinds.TEXT)
        id, keywords = row.find("id", kinds.TEXT), row.find("keywords", kinds.OBJECT)
        if tag is not None and id is not None and "seed" not in row.content:
            tags[tag] = id, keywords
            continue
        if id is None and tag in tags:
            id, common = tags[tag]
            keywords = {**(common or {}), **(keywords or {})}
        elif id is None and tag is not None and task.id is None:
            accepted = "expected a tag of a line before this one that says its id"
            raise row.error("tag", f"{accepted}, got {shorten(tag)}")
        answers = row.get("answers", kinds.ANSWERS)
        if row.find("length", kinds.COUNT, len(answers)) != len(answers):
            message = f"expected {len(answers)}, the number of answers"
            raise row.error("length", f"{message}, got {row.get('length', kinds.ANY)}")
        fields = {
            field: row.find(name, kind) for name, (field, kind) in _FIELDS.items()
        }
        seed = row.get("seed", kinds.COUNT)
        yield task.make_episode(row, answers, seed, id=id, keywords=keywords, **fields)
