"""Episodes of the objects of a file, with what the caller says of all of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

from roll_vec.errors import shorten
from roll_vec.recordings.readers import kinds
from roll_vec.recordings.readers.rows import Row
from roll_vec.recordings.recorded_episodes import RecordedEpisode
from roll_vec.registration import ENVIRONMENTS
from roll_vec.registration.factories import WORK_KEYWORDS

TEXT_MODES = {"obs_mode": "text", "action_mode": "text"}
"""Keywords of a game on a grid whose observations and answers are texts."""
# Values that stand there for each answer.
_BY_TURN = ("rewards", "prompts", "was_cut")


@dataclass(frozen=True)
class Task:
    """What the caller says of all episodes of a file, which may not say it itself.

    Parameters
    ----------
    id : str or None
    keywords : mapping
        They replace those of the file.
    """

    id: str | None = None
    keywords: Mapping[str, Any] = field(default_factory=dict)

    def make_episode(
        self,
        row: Row,
        answers: Sequence[Any],
        seed: int,
        *,
        id: str | None,
        keywords: Mapping[str, Any] | None,
        texts: Mapping[str, Any] = TEXT_MODES,
        **fields: Any,
    ) -> RecordedEpisode:
        """Return the episode of an object.

        Parameters
        ----------
        row : Row
        answers, seed
            Of the episode.
        id, keywords
            What the file says; None: nothing.
        texts : mapping, optional
            Keywords of a game on a grid whose answers are texts, unless the file or the
            caller has others.
        **fields
            Of `RecordedEpisode`.

        Raises
        ------
        InvalidFileError
            If nothing says the id, there is none like it, or lists differ in length.
        """
        row.check("answers", kinds.ANSWERS, answers)
        for name in _BY_TURN:
            values = fields.get(name)
            if values is not None and len(values) != len(answers):
                message = f"expected {len(answers)}, one for each answer"
                raise row.error(name, f"{message}, got {len(values)}")
        if self.id is not None:
            id = self.id
        elif id is None:
            accepted = "expected the environment's, but there is none"
            raise row.error("id", f"{accepted}; pass id=, or --id to a command")
        else:
            id = id.removeprefix("roll_vec:")
            # A file must not choose a module that is imported.
            if id not in ENVIRONMENTS:
                accepted = "expected a registered id"
                raise row.error("id", f"{accepted}, got {shorten(id)}")
        defaults: Mapping[str, Any] = {}
        if _has_text_mode(id) and kinds.TEXTS.accepts(answers):
            defaults = texts
        # A file of a stranger does not say how many processes to start.
        of_file = {k: v for k, v in (keywords or {}).items() if k not in WORK_KEYWORDS}
        keywords = {**defaults, **of_file, **self.keywords}
        fields = {"keywords": keywords, "place": row.place, **fields}
        return RecordedEpisode(id=id, answers=answers, seed=seed, **fields)


@lru_cache(maxsize=64)
def _has_text_mode(id: str) -> bool:
    """Whether answers of an environment are texts only by a keyword."""
    known = ENVIRONMENTS.get(id.rpartition(":")[2])
    return known is not None and "action_mode" in known.defaults()
