"""From what a model writes to actions: the text layer's options and its parser.

The rules are those of ROLL's ``default_parser_action_func``
(`roll/pipeline/agentic/env/parse_action_utils.py`):

- every special token is deleted wherever it stands, one after the other, and the text
  stripped;
- the pattern is searched for with ``.`` standing for newlines too.  Its one group is
  the action; of two or more the first is the thinking and the second the action.  Both
  are stripped.  A pattern without groups, or whose groups took no part in the match,
  finds nothing;
- an action is a name of the lookup in any case of letters; numbers, several names and
  everything else are not.  Without a lookup the action is the text that was found.

Here ``action_pattern=None`` takes the string as it came, special tokens included, and
three options go beyond ROLL: ``match="last"``, several actions a turn, a limit to them.

Patterns take time linear in the length of the text, whatever it says, and find what
Python's `re` finds.  A few need `re` itself, which can be made to backtrack without
end: those with look-around or back references, and what else
`roll_vec.text.regex_compiler` lists.  For them a warning is given, and texts are
limited to `MAX_RE_CHARS` characters unless ``max_answer_chars`` sets another limit.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from roll_vec.errors import InvalidOptionError, SlowPatternWarning, warn_caller
from roll_vec.options import check_choice, check_int, check_number
from roll_vec.spaces import MAX_TEXT
from roll_vec.text.patterns import (
    Found,
    LimitedSearch,
    PatternSearch,
    ProgramSearch,
    Search,
    Tagged,
    TakeAll,
    TwiceTagged,
    literal_tags,
)

__all__ = [
    "ACTION_MODES",
    "ParsedAction",
    "ParsedBatch",
    "TextActions",
    "TextOptions",
]

# How an environment with integer actions is acted in.
ACTION_MODES = ("discrete", "text")
# Longest text that is left to Python's `re`.
MAX_RE_CHARS = 1 << 14


@dataclass(frozen=True, kw_only=True)
class TextOptions:
    r"""How an action is found in a text.

    Parameters
    ----------
    action_pattern : str or None
        A regular expression with a group for the action, or one for the thinking and
        one for the action, such as ``<answer>(.*?)</answer>``.  None: the whole text,
        as it came.
    special_token_list : sequence of str
        Deleted before the pattern is searched for; None: none.
    format_penalty : float
        Added to the reward of a step whose text is no valid action.
    match : "first" or "last"
        Which of several places where the pattern is found, without overlap from the
        left, counts.
    action_separator : str or None
        For several actions a turn, such as ``||``.
    max_actions_per_turn : int
        With a separator: how many actions of a turn are kept; those behind them are
        ignored.
    max_answer_chars : int or None
        With a pattern: the longest text, in characters and without special tokens, that
        is searched; a longer one has no valid action.  None: no limit for literal tags
        around ``(.*?)``; 16,384 for a pattern that only Python's `re` can search for;
        2**20 for any other.

    Raises
    ------
    InvalidOptionError
    """

    action_pattern: str | None = None
    special_token_list: Sequence[str] | None = ("<|im_start|>", "<|im_end|>")
    format_penalty: float = 0.0
    match: str = "first"
    action_separator: str | None = None
    max_actions_per_turn: int = 5
    max_answer_chars: int | None = None

    def __post_init__(self) -> None:
        self._check_text_options()

    def _check_text_options(self) -> None:
        pattern, tokens = self.action_pattern, self.special_token_list
        if pattern is not None:
            _compile(pattern)
        if tokens is None:
            tokens = ()
        if isinstance(tokens, str) or not all(
            isinstance(token, str) and token for token in _listed(tokens)
        ):
            message = (
                "special_token_list: expected a sequence of non-empty strings, "
                f"got {tokens!r}"
            )
            raise InvalidOptionError(message)
        penalty = check_number(
            "format_penalty", self.format_penalty, -math.inf, math.inf
        )
        if not math.isfinite(penalty):
            message = f"format_penalty: expected a finite number, got {penalty}"
            raise InvalidOptionError(message)
        check_choice("match", self.match, ("first", "last"))
        separator = self.action_separator
        if separator is not None and not (
            isinstance(separator, str) and separator.strip()
        ):
            message = (
                "action_separator: expected a string of more than white space, "
                f"got {separator!r}"
            )
            raise InvalidOptionError(message)
        most = self.max_answer_chars
        if most is not None:
            if pattern is None:
                message = f"max_answer_chars: {most!r} has no meaning without a pattern"
                raise InvalidOptionError(message)
            most = check_int("max_answer_chars", most, 1)
        checked = {
            "max_answer_chars": most,
            "special_token_list": tuple(tokens),
            "format_penalty": penalty,
            "max_actions_per_turn": check_int(
                "max_actions_per_turn", self.max_actions_per_turn, 1
            ),
        }
        for name, value in checked.items():
            object.__setattr__(self, name, value)
        if pattern is not None and most is None and not literal_tags(pattern):
            _warn_of_time(_compile(pattern))


def _warn_of_time(pattern: re.Pattern[str]) -> None:
    """Warn of a pattern that a text may make `re` search for without end."""
    # The program needs numba, which texts of tags do without.
    from roll_vec.text.regex_compiler import program_of, repeats

    if program_of(pattern) is None and repeats(pattern):
        warn_caller(
            f"action_pattern: {pattern.pattern!r} needs Python's re, which some texts "
            f"keep busy for hours, so that texts of more than {MAX_RE_CHARS} "
            "characters have no valid action; a pattern without look-around, back "
            "references and repetitions of what may be empty is searched for in linear "
            "time, or set max_answer_chars",
            SlowPatternWarning,
        )


def _listed(value: Any) -> list[Any]:
    """Return the members of a value, or one that is no string where it has none."""
    try:
        return list(value)
    except TypeError:
        return [None]


def _compile(pattern: Any) -> re.Pattern[str]:
    try:
        if not isinstance(pattern, str):
            raise TypeError
        return re.compile(pattern, re.DOTALL)
    except (re.error, TypeError, OverflowError, RecursionError) as error:
        reason = f": {error}" if str(error) else ""
        message = (
            f"action_pattern: expected a regular expression or None, got {pattern!r}"
        )
        raise InvalidOptionError(message + reason) from None


class ParsedAction(NamedTuple):
    """What a text says.

    Attributes
    ----------
    action : int, str, tuple of int, or None
        The code of the name; without a lookup the content; with a separator the codes
        of all valid names in their order, maybe none.  None: no valid action.
    action_content : str
        What stands where an action should; empty where the pattern is not found.
    think_content : str
        Empty where the pattern has no group for it.
    is_valid : bool
        Whether an action was found, with a separator at least one and nothing else.
    """

    action: Any
    action_content: str
    think_content: str
    is_valid: bool


class ParsedBatch(NamedTuple):
    """What n texts say, as `ParsedAction`, in fresh arrays.

    Attributes
    ----------
    codes : (k, n) int64
        Row j has the j-th action of each turn; k is 1 without a separator.  What a
        turn lacks, and a first action that is not there, is "no valid action".
    counts : (n,) int64 or None
        How many rows of ``codes`` a turn has, at least 1; None without a separator.
    is_valid : (n,) bool
    action_contents, think_contents : (n,) object
        str; None in rows that were skipped, which are not valid either.
    """

    codes: NDArray[np.int64]
    counts: NDArray[np.int64] | None
    is_valid: NDArray[np.bool_]
    action_contents: NDArray[np.object_]
    think_contents: NDArray[np.object_]


class TextActions:
    """The parser of one environment.

    Parameters
    ----------
    options : TextOptions
    lookup : mapping from int to str, or None
        Names of the actions; of two names that are equal the last one counts.  None
        or empty: any text is an action.
    no_action : int
        The code that stands for "no valid action" in batches.

    Raises
    ------
    InvalidOptionError
        If a separator is given and no lookup.
    """

    def __init__(
        self,
        options: TextOptions,
        lookup: Mapping[int, str] | None = None,
        no_action: int = 0,
    ) -> None:
        self.options, self.no_action = options, no_action
        self.names: dict[str, int] | None = None
        if lookup:
            self.names = {
                name.strip().lower(): int(code) for code, name in lookup.items()
            }
        elif options.action_separator is not None:
            message = (
                f"action_separator: {options.action_separator!r} has no meaning for an "
                "environment whose actions have no names"
            )
            raise InvalidOptionError(message)
        self._tags = literal_tags(options.action_pattern)
        self._tokens: tuple[str, ...] = tuple(options.special_token_list or ())
        if options.action_pattern is None:
            self._tokens = ()
        self._token_mark = _common_character(self._tokens, self._tags)
        self._search, most = self._choose_search()
        if most is not None:
            self._search = LimitedSearch(self._search, most)

    def _choose_search(self) -> tuple[Search, int | None]:
        """Return a search and the longest text for it, in characters; None: any."""
        pattern, last = self.options.action_pattern, self.options.match == "last"
        most = self.options.max_answer_chars
        if pattern is None:
            return TakeAll(), None
        # Literal tags begin and end with no white space, so around them none matters.
        if len(self._tags) == 2:
            return Tagged(*self._tags, last=last), most
        if self._tags:
            return TwiceTagged(*self._tags, last=last), most
        compiled, strips = _compile(pattern), bool(self._tokens)
        from roll_vec.text.regex_compiler import program_of

        program = program_of(compiled)
        if program is not None:
            groups = compiled.groups
            search = ProgramSearch(program, groups, strips=strips, last=last)
            # The work takes memory.
            return search, most or MAX_TEXT
        return PatternSearch(compiled, strips=strips, last=last), most or MAX_RE_CHARS

    def _clean(self, text: str) -> str:
        """Return a text without special tokens."""
        # In turn and each with a strip, as in ROLL: what is left of one deletion may be
        # the next token.
        for token in self._tokens:
            text = text.replace(token, "").strip()
        return text

    def find(self, text: str) -> Found:
        """Return content and thinking, or None where the pattern is not found."""
        if self._tokens and self._token_mark in text:
            text = self._clean(text)
        return self._search.find(text)

    def parse(self, text: str) -> ParsedAction:
        """Return what a text says; whatever it is, nothing is raised."""
        found = self.find(text)
        split = self.options.action_separator is not None
        if found is None:
            return ParsedAction(() if split else None, "", "", False)
        content, think = found
        if split:
            codes, is_valid = self._split(content)
            return ParsedAction(tuple(codes), content, think, is_valid)
        if self.names is None:
            return ParsedAction(content, content, think, True)
        code = self.names.get(content.strip().lower())
        return ParsedAction(code, content, think, code is not None)

    def _split(self, content: str) -> tuple[list[int], bool]:
        """Return the codes of the names in a turn, and whether it is all names."""
        assert self.names is not None
        parts = [part.strip() for part in content.split(self.options.action_separator)]
        kept = [part for part in parts if part][: self.options.max_actions_per_turn]
        codes = [self.names.get(part.lower()) for part in kept]
        valid = [code for code in codes if code is not None]
        return valid, 0 < len(valid) == len(kept)

    def parse_batch(
        self, texts: Sequence[Any], skip_mask: NDArray[np.bool_] | None = None
    ) -> ParsedBatch:
        """Return what n texts say; needs a lookup.

        Parameters
        ----------
        texts : sequence of n str
        skip_mask : (n,) bool or None
            Entries that are not read and may be anything.
        """
        assert self.names is not None
        n = len(texts)
        rows: Any = slice(None)
        if skip_mask is not None and np.count_nonzero(skip_mask):
            rows = np.flatnonzero(~skip_mask)
            texts = [texts[row] for row in rows.tolist()]
        if self._tokens:
            mark, clean = self._token_mark, self._clean
            texts = [clean(text) if mark in text else text for text in texts]
        said, thought = self._search.find_all(texts)
        contents, thinks = np.full((2, n), None, object)
        contents[rows], thinks[rows] = said, thought
        is_valid = np.zeros(n, np.bool_)
        if self.options.action_separator is None:
            lookup, none = self.names.get, self.no_action
            codes = np.full((1, n), none, np.int64)
            codes[0, rows] = [lookup(content.strip().lower(), none) for content in said]
            is_valid[:] = codes[0] != none
            return ParsedBatch(codes, None, is_valid, contents, thinks)
        turns = [self._split(content) for content in said]
        lengths = [max(len(turn), 1) for turn, _ in turns]
        codes = np.full((max(lengths, default=1), n), self.no_action, np.int64)
        for row, (turn, _) in zip(np.arange(n)[rows].tolist(), turns, strict=True):
            codes[: len(turn), row] = turn
        counts = np.ones(n, np.int64)
        counts[rows] = lengths
        is_valid[rows] = [whole for _, whole in turns]
        return ParsedBatch(codes, counts, is_valid, contents, thinks)

    def example(self, action: str) -> str | None:
        """Return a text that says an action, None where the pattern is not of tags."""
        if self.options.action_pattern is None:
            return action
        if not self._tags:
            return None
        opening, *middle, closing = self._tags
        thinking = "..." if middle else ""
        return "".join((opening, thinking, *middle, action, closing))


def _common_character(tokens: Sequence[str], tags: Sequence[str]) -> str:
    """Return a character of all tokens, if there is one of no tag; or nothing.

    A text without it has no special token: one look for a character is faster than
    several for strings.
    """
    common = set.intersection(*map(set, tokens)) if tokens else set()
    return min(common.difference(*tags), default="")
