"""The keywords of text actions: pattern, special tokens, penalty, separator."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from roll_vec.errors import InvalidOptionError, SlowPatternWarning, warn_caller
from roll_vec.options import (
    check_choice,
    check_fields,
    check_int,
    check_number,
    check_optional,
    option,
    refuse_unused,
)
from roll_vec.text.patterns import MAX_REGEX_CHARS, may_be_slow

# Values of `action_mode` of an environment with integer actions.
ACTION_MODES = ("discrete", "text")
_MAX = sys.float_info.max


def _check_pattern(_: str, pattern: object) -> str:
    """Return an ``action_pattern``, which `re` can compile."""
    try:
        if not isinstance(pattern, str):
            raise TypeError
        re.compile(pattern, re.DOTALL)
    except (re.error, TypeError, OverflowError, RecursionError) as error:
        reason = f": {error}" if str(error) else ""
        message = (
            f"action_pattern: expected a regular expression or None, got {pattern!r}"
        )
        raise InvalidOptionError(message + reason) from None
    return pattern


def _check_tokens(name: str, value: object) -> tuple[str, ...]:
    """Return special tokens as a tuple of non-empty strings."""
    tokens = () if value is None else value
    if isinstance(tokens, Iterable) and not isinstance(tokens, str):
        tokens = tuple(tokens)
        if all(isinstance(token, str) and token for token in tokens):
            return tokens
    accepted = "None or a sequence of non-empty strings"
    raise InvalidOptionError.expected(name, accepted, tokens)


def _check_separator(name: str, value: object) -> str:
    if isinstance(value, str) and value.strip():
        return value
    accepted = "None or a str with more than white space"
    raise InvalidOptionError.expected(name, accepted, value)


@dataclass(frozen=True, kw_only=True)
class TextOptions:
    r"""Options of the action parser.

    Parameters
    ----------
    action_pattern : str or None
        A regular expression with a group for the action, as ``<answer>(.*?)</answer>``.
        With two groups the first is the thinking, the second the action.  None: the
        whole text is the action, unchanged.
    special_token_list : sequence of str, or None
        With a pattern: strings that are removed from a text first.
    format_penalty : float
        Added to the reward of a step whose text is no valid action.
    match : str
        With a pattern: the match that counts, ``first`` or ``last``.  Matches do not
        overlap, and are searched from the left.
    action_separator : str or None
        Separates several actions in one text, as ``||`` in ``Up || Left``.
    max_actions_per_turn : int
        With a separator: the actions of a text that are played; later ones are ignored.

    Infos
    -----
    action_is_valid : bool; step; action_mode='text'
        The text had an action.
    env_instruction : str; reset; action_mode='text'
        The prompt of an agent.
    action_content : str; step; action_mode='text'
        The action's part of the text.
    think_content : str; step; action_mode='text'
        The thinking's part of the text.

    Raises
    ------
    InvalidOptionError

    Warns
    -----
    SlowPatternWarning
        For a pattern that is searched for in texts of up to 16,384 characters only:
        one with ``*``, ``+`` or ``{`` that is no literal tags around ``(.*?)``.
    """

    action_pattern: str | None = option(None, check_optional, _check_pattern)
    special_token_list: Sequence[str] | None = option(
        ("<|im_start|>", "<|im_end|>"), _check_tokens
    )
    format_penalty: float = option(0.0, check_number, -_MAX, _MAX)
    match: str = option("first", check_choice, ("first", "last"))
    action_separator: str | None = option(None, check_optional, _check_separator)
    max_actions_per_turn: int = option(5, check_int, 1)

    def __post_init__(self) -> None:
        check_fields(self)
        pattern = self.action_pattern
        if pattern is None:
            names = "special_token_list", "match"
            refuse_unused(self, names, "needs an action_pattern")
        elif may_be_slow(pattern):
            warn_caller(
                f"action_pattern: {pattern!r} is not literal text around '(.*?)', so "
                "Python's re searches for it, which takes hours for some patterns and "
                f"texts; texts of more than {MAX_REGEX_CHARS} characters have no valid "
                "action",
                SlowPatternWarning,
            )
        if self.action_separator is None:
            refuse_unused(self, ["max_actions_per_turn"], "needs an action_separator")
