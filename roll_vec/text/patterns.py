"""Searches for a pattern's groups in a text, in linear time where possible.

`re` goes through the rest of the text once for every opening tag that is not closed, so
that a megabyte of them takes hours; the searches for literal tags here never go back.
Most other patterns have a program, see `roll_vec.text.regex_compiler`.  `re` searches
for the rest.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from roll_vec.text.regex_compiler import PatternProgram

__all__ = [
    "Found",
    "LimitedSearch",
    "PatternSearch",
    "ProgramSearch",
    "Search",
    "Tagged",
    "TakeAll",
    "TwiceTagged",
    "literal_tags",
]

# Content and thinking, stripped, or None where the pattern is not in the text.
Found = tuple[str, str] | None

_GROUP = "(.*?)"
_GAP = r"\s*"


def literal_tags(pattern: str | None) -> tuple[str, ...]:
    """Return the tags of a pattern that is literals around groups, or nothing.

    Either an opening and a closing tag, or those of the thinking and those of the
    action; three if no white space is allowed between the latter, so that the two in
    the middle are one.
    """
    parts = (pattern or "").split(_GROUP)
    if len(parts) == 3:
        parts[1:2] = parts[1].split(_GAP)
    special = set(".^$*+?{}[]\\|()")
    if len(parts) not in (2, 3, 4) or any(
        not part or part != part.strip() or special.intersection(part) for part in parts
    ):
        return ()
    return tuple(parts)


class Search:
    """How content and thinking are found in texts without special tokens."""

    def find(self, text: str) -> Found:
        """Return content and thinking, or None where there are none."""
        raise NotImplementedError

    def find_all(self, texts: Sequence[str]) -> tuple[list[str], list[str]]:
        """Return contents and thinkings, empty where nothing is found."""
        found = [self.find(text) or ("", "") for text in texts]
        return [content for content, _ in found], [think for _, think in found]


class TakeAll(Search):
    """Take the text as it came."""

    def find(self, text: str) -> Found:
        """Return content and thinking; see `Search.find`."""
        return text, ""


class Tagged(Search):
    """Search for ``opening(.*?)closing`` in one pass."""

    def __init__(self, opening: str, closing: str, *, last: bool) -> None:
        self.opening, self.closing, self.last = opening, closing, last

    def find(self, text: str) -> Found:
        """Return content and thinking; see `Search.find`."""
        start = text.find(self.opening)
        if start < 0:
            return None
        start += len(self.opening)
        # Where no tag closes this one, none closes a later one.
        end = text.find(self.closing, start)
        if end < 0:
            return None
        while self.last:
            later = text.find(self.opening, end + len(self.closing))
            if later < 0:
                break
            later += len(self.opening)
            later_end = text.find(self.closing, later)
            if later_end < 0:
                break
            start, end = later, later_end
        return text[start:end].strip(), ""

    def find_all(self, texts: Sequence[str]) -> tuple[list[str], list[str]]:
        """Return contents and thinkings; see `Search.find_all`."""
        if self.last:
            return super().find_all(texts)
        # As `find`, without a call and a tuple for each text.
        opening, closing, skip = self.opening, self.closing, len(self.opening)
        contents: list[str] = []
        for text in texts:
            start = text.find(opening)
            if start < 0:
                contents.append("")
                continue
            start += skip
            end = text.find(closing, start)
            contents.append("" if end < 0 else text[start:end].strip())
        return contents, [""] * len(texts)


class TwiceTagged(Search):
    r"""Search for ``opening(.*?)closing\s*opening(.*?)closing`` in one pass."""

    def __init__(self, *tags: str, last: bool) -> None:
        self.opening, self.closing, *second, self.last_closing = tags
        self.gap = re.compile(_GAP + re.escape(second[0]) if second else "")
        self.last = last

    def find(self, text: str) -> Found:
        """Return content and thinking; see `Search.find`."""
        found = self._find(text, 0)
        while found is not None and self.last:
            later = self._find(text, found[2])
            if later is None:
                break
            found = later
        return None if found is None else found[:2]

    def _find(self, text: str, begin: int) -> tuple[str, str, int] | None:
        """Return action, thinking and where the match ends, of the first match."""
        opening, closing, last_closing = self.opening, self.closing, self.last_closing
        start = text.find(opening, begin)
        if start < 0:
            return None
        start += len(opening)
        # The thinking goes on to the first of its closing tags that an action follows.
        end = text.find(closing, start)
        while end >= 0:
            gap = self.gap.match(text, end + len(closing))
            if gap is not None:
                action = gap.end()
                action_end = text.find(last_closing, action)
                if action_end < 0:
                    return None
                content, think = text[action:action_end], text[start:end]
                return content.strip(), think.strip(), action_end + len(last_closing)
            end = text.find(closing, end + 1)
        return None


class LimitedSearch(Search):
    """Another search, limited to texts up to a length; longer ones have no match.

    Parameters
    ----------
    search : Search
    max_chars : int
    """

    def __init__(self, search: Search, max_chars: int) -> None:
        self.search, self.max_chars = search, max_chars

    def find(self, text: str) -> Found:
        """Return content and thinking; see `Search.find`."""
        return None if len(text) > self.max_chars else self.search.find(text)


class _GroupSearch(Search):
    """Search for a pattern whose groups 1 and 2 are thinking and content.

    Parameters
    ----------
    groups : int
        How many the pattern has; of one it is the content, of none nothing is found.
    strips : bool
        Whether white space around the text is left out.
    last : bool
        Whether the last match counts instead of the first one.
    """

    def __init__(self, groups: int, *, strips: bool, last: bool) -> None:
        self.groups, self.strips, self.last = groups, strips, last

    def find(self, text: str) -> Found:
        """Return content and thinking; see `Search.find`."""
        if not self.groups:
            return None
        found = self._match(text.strip() if self.strips else text)
        parts = [part.strip() for part in found if part is not None]
        if len(parts) < min(self.groups, 2):
            return None
        return parts[-1], parts[0] if len(parts) > 1 else ""

    def _match(self, text: str) -> Sequence[str | None]:
        """Return groups 1 and 2 of the match, as far as there are; empty: no match."""
        raise NotImplementedError


class ProgramSearch(_GroupSearch):
    """Search for a pattern that has a program, in linear time."""

    def __init__(
        self, program: PatternProgram, groups: int, *, strips: bool, last: bool
    ) -> None:
        super().__init__(groups, strips=strips, last=last)
        self.program = program

    def _match(self, text: str) -> Sequence[str | None]:
        places = self.program.search(text, last=self.last) or ()
        spans = zip(places[::2], places[1::2], strict=True)
        return [text[start:end] if start >= 0 else None for start, end in spans]


class PatternSearch(_GroupSearch):
    """Search for any other pattern by `re`, whose time may have no bound."""

    def __init__(self, pattern: re.Pattern[str], *, strips: bool, last: bool) -> None:
        super().__init__(pattern.groups, strips=strips, last=last)
        self.pattern = pattern

    def _match(self, text: str) -> Sequence[str | None]:
        match = self.pattern.search(text)
        if match is not None and self.last:
            for match in self.pattern.finditer(text):  # noqa: B007
                pass
        return () if match is None else match.groups()[:2]
