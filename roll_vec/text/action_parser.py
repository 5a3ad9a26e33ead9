"""The parser: turns a model's text into an action, as ROLL does.

The rules are those of ROLL's ``default_parser_action_func``
(`roll/pipeline/agentic/env/parse_action_utils.py`):

- All occurrences of the special tokens are deleted, one token after the other, and the
  text is stripped each time.
- The pattern is searched for with ``.`` matching newlines too.  A pattern with one
  group captures the action; with two or more, the first captures the thinking and the
  second the action.  Both are stripped.  The pattern does not match where it has no
  group, or where one of these groups is no part of the match.
- An action is the name of an action in any case of letters.  Numbers, several names and
  all other texts are no actions.  Where actions have no names, any text is an action.

Here ``action_pattern=None`` leaves the text unchanged, special tokens included.  Three
options go beyond ROLL: ``match="last"``, several actions in one text, and their limit.

A search for literal tags takes time linear in the length of the text, for any text.
Every other pattern is searched for by Python's `re`, which some patterns and texts make
backtrack for hours.  If the pattern repeats anything, this gives a warning, and texts
of more than `roll_vec.text.patterns.MAX_REGEX_CHARS` characters have no valid action.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from roll_vec.errors import InvalidOptionError
from roll_vec.spaces import MAX_TEXT, UnicodeText
from roll_vec.text.options import TextOptions
from roll_vec.text.patterns import AnswerMatch, literal_tags, make_matcher


class ParsedBatch(NamedTuple):
    """Parsed texts of n environments, in new arrays.

    Attributes
    ----------
    codes : (k, n) int64
        Row j has the j-th action of each text; k is 1 without a separator.  The codes
        of missing actions, the first one included, are "no valid action".
    counts : (n,) int64
        Number of actions of each text, at least 1.
    is_valid : (n,) bool
    action_contents, think_contents : (n,) object
        str; None in environments that were skipped, which are not valid either.
    """

    codes: NDArray[np.int64]
    counts: NDArray[np.int64]
    is_valid: NDArray[np.bool_]
    action_contents: NDArray[np.object_]
    think_contents: NDArray[np.object_]


class ActionParser:
    """Parses the texts of one environment or batch.

    Parameters
    ----------
    options : TextOptions
    lookup : mapping from int to str, or None
        Names of the actions; of two equal names the last one counts.  None or empty:
        any text is an action.
    no_action : int, str or None
        The action for a text without a valid one: a code, or without a lookup a text.
        Batches need an int.
    empty_action : str
        Without a lookup: the action where the pattern matches an empty content.

    Attributes
    ----------
    accepts_any_text : bool
        Whether every text is the action, unchanged.
    tags : tuple of str
        See `roll_vec.text.patterns.literal_tags`.

    Raises
    ------
    InvalidOptionError
        For a separator without a lookup.
    """

    def __init__(
        self,
        options: TextOptions,
        lookup: Mapping[int, str] | None = None,
        no_action: Any = 0,
        empty_action: str = "",
    ) -> None:
        self.options, self.no_action = options, no_action
        self._empty_action = empty_action
        self.codes: dict[str, int] | None = None
        if lookup:
            self.codes = {
                name.strip().lower(): int(code) for code, name in lookup.items()
            }
        elif options.action_separator is not None:
            message = (
                f"action_separator: {options.action_separator!r} has no meaning for an "
                "environment whose actions have no names"
            )
            raise InvalidOptionError(message)
        self.accepts_any_text = options.action_pattern is None and self.codes is None
        self.tags = literal_tags(options.action_pattern)
        self._tokens: tuple[str, ...] = ()
        if options.action_pattern is not None:
            self._tokens = tuple(options.special_token_list or ())
        # A character of all tokens and of no tag, where there is one.  A text without
        # it has no token: one search for a character beats several for strings.
        common = set.intersection(*map(set, self._tokens)) if self._tokens else set()
        self._token_mark = min(common.difference(*self.tags), default="")
        self._matcher = make_matcher(
            options.action_pattern,
            last=options.match == "last",
            strips=bool(self._tokens),
        )

    def _delete_tokens(self, text: str) -> str:
        # One after the other, stripped each time, as ROLL does: a deletion may put
        # the parts of the next token together.
        for token in self._tokens:
            text = text.replace(token, "").strip()
        return text

    def find(self, text: str) -> AnswerMatch:
        """Return content and thinking, or None where the pattern does not match."""
        if self._tokens and self._token_mark in text:
            text = self._delete_tokens(text)
        return self._matcher.find(text)

    def parse(self, text: str) -> tuple[tuple[Any, ...], str, str, bool]:
        """Return a parsed text; no text raises an error.

        Returns
        -------
        actions : tuple of int, or of one str
            The codes of the valid names in their order, maybe none.  Without a lookup
            the content.
        content : str
            The text of the action; empty where the pattern does not match.
        think : str
            The text of the thinking; empty where the pattern has no group for it.
        is_valid : bool
            Whether the text is an action; with a separator, at least one action and
            nothing else.
        """
        match = self.find(text)
        if match is None:
            return (), "", "", False
        content, think = match
        if self.codes is None:
            return (content or self._empty_action,), content, think, True
        if self.options.action_separator is not None:
            actions, is_valid = self._split(content)
            return tuple(actions), content, think, is_valid
        code = self.codes.get(content.strip().lower())
        return (() if code is None else (code,)), content, think, code is not None

    def _split(self, content: str) -> tuple[list[int], bool]:
        """Return the codes of the names, and whether all parts are names."""
        assert self.codes is not None
        names = [name.strip() for name in content.split(self.options.action_separator)]
        names = [name for name in names if name][: self.options.max_actions_per_turn]
        codes = [
            self.codes[key] for name in names if (key := name.lower()) in self.codes
        ]
        return codes, 0 < len(codes) == len(names)

    def parse_batch(
        self, texts: Sequence[Any], skip_mask: NDArray[np.bool_] | None = None
    ) -> ParsedBatch:
        """Return the parsed texts of n environments; needs a lookup.

        Parameters
        ----------
        texts : sequence of n str
        skip_mask : (n,) bool or None
            Environments whose texts are ignored and may be anything.
        """
        assert self.codes is not None
        n = len(texts)
        env_ids: Any = slice(None)
        if skip_mask is not None and np.count_nonzero(skip_mask):
            env_ids = np.flatnonzero(~skip_mask)
            texts = [texts[env_id] for env_id in env_ids.tolist()]
        if self._tokens:
            mark, clean = self._token_mark, self._delete_tokens
            texts = [clean(text) if mark in text else text for text in texts]
        matches = self._matcher.find_all(texts)
        contents, thinks = np.full((2, n), None, object)
        contents[env_ids], thinks[env_ids] = matches
        is_valid, counts = np.zeros(n, np.bool_), np.ones(n, np.int64)
        if self.options.action_separator is None:
            get, none = self.codes.get, self.no_action
            codes = np.full((1, n), none, np.int64)
            codes[0, env_ids] = [get(text.strip().lower(), none) for text in matches[0]]
            is_valid[:] = codes[0] != none
            return ParsedBatch(codes, counts, is_valid, contents, thinks)
        turns = [self._split(content) for content in matches[0]]
        lengths = [max(len(turn), 1) for turn, _ in turns]
        codes = np.full((max(lengths, default=1), n), self.no_action, np.int64)
        for env_id, (turn, _) in zip(
            np.arange(n)[env_ids].tolist(), turns, strict=True
        ):
            codes[: len(turn), env_id] = turn
        counts[env_ids] = lengths
        is_valid[env_ids] = [is_whole for _, is_whole in turns]
        return ParsedBatch(codes, counts, is_valid, contents, thinks)

    def example(self, action: str) -> str | None:
        """Return a text of an action; None where the pattern is not made of tags."""
        if self.options.action_pattern is None:
            return action
        if not self.tags:
            return None
        opening, *middle, closing = self.tags
        thinking = "..." if middle else ""
        return "".join((opening, thinking, *middle, action, closing))

    def describe_answer(self, names: Sequence[str]) -> str:
        """Return the line of instructions about the form of an answer.

        Parameters
        ----------
        names : sequence of str
            Of the actions.
        """
        separator = self.options.action_separator
        actions, content = "one action", names[0]
        if separator is not None:
            most = self.options.max_actions_per_turn
            actions = f"one to {most} actions, separated by {separator}"
            content = f" {separator} ".join((*names, *names)[:2])
        pattern, example = self.options.action_pattern, self.example(content)
        if pattern is None:
            return f"Answer with {actions} and nothing else, for example: {example}"
        if example is None:
            return f"Answer with {actions}, in a form that matches {pattern}"
        return f"Answer with {actions}, in this form: {example}"

    def text_space(self, actions: Iterable[str]) -> UnicodeText:
        """Return the space of texts; its samples are texts of some actions."""
        examples = [self.example(action) for action in actions]
        return UnicodeText(
            MAX_TEXT, examples=[text for text in examples if text is not None]
        )
