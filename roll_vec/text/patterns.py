"""Matchers: find the action and the thinking in a text.

For every opening tag that is not closed, `re` scans the rest of the text once, so that
a megabyte of such tags takes hours.  The matchers of literal tags never go back.  All
other patterns are left to `re`.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

MAX_REGEX_CHARS = 1 << 14
"""Longest text that is searched for a pattern that `may_be_slow`."""

# Content and thinking, stripped; None where the pattern does not match.
AnswerMatch = tuple[str, str] | None

_GROUP = "(.*?)"
_GAP = r"\s*"
# Characters that stand for themselves.  A brace begins a repetition only before digits.
_LITERAL_TEXT = re.compile(r"(?:[^.^$*+?{\[\\|()]|\{(?![\d,])|\\\W)+")


def literal_tags(pattern: str | None) -> tuple[str, ...]:
    """Return the tags of a pattern that is literal text around groups, else ().

    Returns
    -------
    tuple of str
        The opening and the closing tag of the action.  With thinking, both tags of the
        thinking and then those of the action; three where no white space is allowed
        between them, so that the closing and the opening tag in the middle are one.
    """
    # White space at the ends of a group is stripped anyway.
    pattern = (pattern or "").replace(_GAP + _GROUP, _GROUP)
    tags = pattern.replace(_GROUP + _GAP, _GROUP).split(_GROUP)
    if len(tags) == 3:
        tags[1:2] = tags[1].split(_GAP)
    if len(tags) not in (2, 3, 4) or not all(map(_LITERAL_TEXT.fullmatch, tags)):
        return ()
    tags = [re.sub(r"(?s)\\(.)", r"\1", tag) for tag in tags]
    return tuple(tags) if all(tag == tag.strip() for tag in tags) else ()


def may_be_slow(pattern: str) -> bool:
    """Return whether a search may take more than linear time.

    Such a pattern is no literal text around groups, and has a character that repeats.
    """
    return not literal_tags(pattern) and not set("*+{").isdisjoint(pattern)


def make_matcher(pattern: str | None, *, last: bool, strips: bool) -> Matcher:
    """Return the fastest matcher of a pattern.

    Parameters
    ----------
    pattern : str or None
        None: the whole text is the content.
    last : bool
        Whether the last match counts instead of the first one.
    strips : bool
        Whether white space around the text is removed before a search.
    """
    if pattern is None:
        return IdentityMatcher()
    tags = literal_tags(pattern)
    # Tags begin and end without white space, so they need no stripped text.
    if len(tags) == 2:
        return TagMatcher(*tags, last=last)
    if tags:
        return ThinkAnswerMatcher(*tags, last=last)
    return RegexMatcher(pattern, last=last, strips=strips)


class Matcher:
    """Finds content and thinking in texts without special tokens.

    Parameters
    ----------
    last : bool
        Whether the last match counts instead of the first one.
    """

    def __init__(self, *, last: bool = False) -> None:
        self.last = last

    def find(self, text: str) -> AnswerMatch:
        """Return content and thinking, or None."""
        match = self._find_from(text, 0)
        while match is not None and self.last:
            later = self._find_from(text, match[2])
            if later is None:
                break
            match = later
        return None if match is None else match[:2]

    def _find_from(self, text: str, begin: int) -> tuple[str, str, int] | None:
        """Return content, thinking and the end of the first match from ``begin`` on."""
        raise NotImplementedError

    def find_all(self, texts: Sequence[str]) -> tuple[list[str], list[str]]:
        """Return contents and thinkings, empty where the pattern does not match."""
        matches = [self.find(text) or ("", "") for text in texts]
        return [content for content, _ in matches], [think for _, think in matches]


class IdentityMatcher(Matcher):
    """Returns the whole text, unchanged, as the content."""

    def find(self, text: str) -> AnswerMatch:
        """Return content and thinking; see `Matcher.find`."""
        return text, ""


class TagMatcher(Matcher):
    """Finds ``opening(.*?)closing`` in one pass."""

    def __init__(self, opening: str, closing: str, *, last: bool = False) -> None:
        super().__init__(last=last)
        self.opening, self.closing = opening, closing

    def _find_from(self, text: str, begin: int) -> tuple[str, str, int] | None:
        start = text.find(self.opening, begin)
        if start < 0:
            return None
        start += len(self.opening)
        # Without a closing tag here, no later opening tag has one either.
        end = text.find(self.closing, start)
        if end < 0:
            return None
        return text[start:end].strip(), "", end + len(self.closing)

    def find_all(self, texts: Sequence[str]) -> tuple[list[str], list[str]]:
        """Return contents and thinkings; see `Matcher.find_all`."""
        if self.last:
            return super().find_all(texts)
        # `find` written out: saves a call and a tuple for each text.
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


class ThinkAnswerMatcher(Matcher):
    r"""Finds ``opening(.*?)closing\s*opening(.*?)closing`` in one pass."""

    def __init__(self, *tags: str, last: bool = False) -> None:
        super().__init__(last=last)
        self.opening, self.closing, *second, self.last_closing = tags
        self.gap = re.compile(_GAP + re.escape(second[0]) if second else "")

    def _find_from(self, text: str, begin: int) -> tuple[str, str, int] | None:
        opening, closing, last_closing = self.opening, self.closing, self.last_closing
        start = text.find(opening, begin)
        if start < 0:
            return None
        start += len(opening)
        # The thinking ends at its first closing tag with an action behind it.
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


class RegexMatcher(Matcher):
    """Finds the groups of any pattern: one is the content, two thinking and content.

    Parameters
    ----------
    pattern : str
        Without a group it matches no text.  ``.`` matches newlines too.
    strips : bool
        Whether white space around the text is removed before a search.
    """

    def __init__(self, pattern: str, *, strips: bool, last: bool = False) -> None:
        super().__init__(last=last)
        self.pattern, self.strips = re.compile(pattern, re.DOTALL), strips
        self.is_limited = may_be_slow(pattern)

    def find(self, text: str) -> AnswerMatch:
        """Return content and thinking; see `Matcher.find`."""
        if self.is_limited and len(text) > MAX_REGEX_CHARS:
            return None
        match = None
        text = text.strip() if self.strips else text
        for match in self.pattern.finditer(text):  # noqa: B007
            if not self.last:
                break
        groups = () if match is None else match.groups()[:2]
        if not groups or None in groups:
            return None
        content = groups[-1].strip()
        return content, groups[0].strip() if len(groups) > 1 else ""
