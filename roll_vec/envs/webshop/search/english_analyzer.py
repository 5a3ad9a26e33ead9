"""English analyser of Lucene: the words of a text for search, and their stems.

Words are those of Unicode's text segmentation (UAX #29) as Lucene's StandardTokenizer
implements it (9.5, ``StandardTokenizerImpl.jflex``): the longest match counts, emoji
are words too, Han and Hiragana are cut into single characters, Thai, Lao, Khmer and
Burmese are not cut at all, and a word has at most 255 UTF-16 units.  A trailing 's and
stop words are removed, letters become lower case.  Stems follow Porter's rules with
Martin's two departures, as in PorterStemFilter.

Lucene has the properties of Unicode 12.1, `regex` newer ones.  The classes here restore
the old properties of characters that have changed.  Characters that are new since 12.1
may be words here and are no words in Lucene.
"""

from __future__ import annotations

import functools
import re
from importlib import resources
from typing import Any

from roll_vec.errors import MissingExtraError

_STOPS = (
    "a an and are as at be but by for if in into is it no not of on or such that the "
    "their then there these they this to was will with"
)
STOP_WORDS = frozenset(_STOPS.split())

_MAX_UNITS = 255

# Most texts are ASCII and need few of the rules.  No match begins behind an underscore
# that another match left: a run of underscores would take quadratic time.
_BODY = r"(?:[a-z]+(?:[:.'][a-z]+)*|[0-9]+(?:[.,;'][0-9]+)*)+"
_ASCII = re.compile(rf"(?:(?<!_)_+)?{_BODY}(?:_+{_BODY})*_*")

# Extended_Pictographic of Unicode 12.1, all emoji among it; version 17 has fewer.
_EMOJI_FILE = resources.files(__package__) / "emoji.txt"
_EMOJI = f"[{''.join(_EMOJI_FILE.read_text('ascii').split())}]"
# Emoji that are letters too: the rule with the longer match decides.
_LETTER_EMOJI = frozenset("\u2139\u24c2\U0001f170\U0001f171\U0001f17e\U0001f17f")

_FORMAT = r"\u0600-\u0605\u06DD\u070F\u08E2\U000110BD\U000110CD"
_EXTENDERS = rf"\p{{WB=Extend}}\p{{WB=Format}}\p{{WB=ZWJ}}{_FORMAT}"


def _grammar() -> dict[str, str]:
    """Return the patterns of the rules by name; all quantifiers are possessive."""
    # x: characters that extend the one before them.  y: the same in an emoji, without
    # presentation selectors.  base: the same in a key, without the enclosing keycap.
    x, y = rf"[{_EXTENDERS}]*+", rf"[[{_EXTENDERS}]--[\uFE0E\uFE0F]]*+"
    base = rf"[[{_EXTENDERS}]--[\uFE0E\uFE0F\u20E3]]*+"
    letters = (
        r"(?:[\p{WB=ALetter}--[\xB8\u02E5-\u02EB\u055A\u058A\u070F\uA708-\uA716]]++"
        r"|\p{WB=Hebrew_Letter})"
    )
    hebrew = rf"\p{{WB=Hebrew_Letter}}{x}"
    digits = rf"[[\p{{WB=Numeric}}\uFF10-\uFF19]--[{_FORMAT}\u19DA]]++"
    lines = rf"(?:[_\u202F\u203F\u2040\u2054\uFE33\uFE34\uFE4D-\uFE4F\uFF3F]{x})"
    dots = r".'\u2018\u2019\u2024\uFE52\uFF07\uFF0E"
    in_letters = rf"[:\xB7\u0387\u05F4\u2027\uFE13\uFE55\uFF1A{dots}]"
    in_digits = (
        r"[,;\u037E\u0589\u060C\u060D\u066C\u07F8\u2044\uFE10\uFE14\uFE50\uFE54\uFF0C"
        rf"\uFF1B{dots}]"
    )
    unit = (
        rf"(?:{hebrew}(?:'{x}|\"{x}{hebrew})"
        rf"|{letters}{x}(?:{in_letters}{x}{letters}{x})*+"
        rf"|{digits}{x}(?:{in_digits}{x}{digits}{x})*+)"
    )
    body = rf"(?:(?:\p{{WB=Katakana}}{x})++|{unit}++)"
    tone = r"[\U0001F3FB-\U0001F3FF]"
    next_emoji = (
        rf"(?:(?:(?<=\u200D)|\u200D++){_EMOJI}{y}\uFE0F?+|\u200D{tone}{y})++"
        r"|[\U000E0020-\U000E007E]++\U000E007F"
    )
    return {
        "word": rf"{lines}*+{body}(?:{lines}++{body})*+{lines}*+",
        "emoji": rf"(?:\u200D*+{_EMOJI}{y}\uFE0F?+|{tone}{y})(?:{next_emoji})?+",
        "key": rf"[\#*](?:{y}\uFE0F\u20E3{y}|{base}\u20E3{y})",
        "flag": rf"(?:\p{{WB=Regional_Indicator}}{x}){{2}}",
        "uncut": rf"(?:[\p{{LB=Complex_Context}}\u19DA]{x})++",
        "single": rf"[[\p{{Script=Han}}\p{{Script=Hiragana}}]--[\U00016FE2]]{x}",
        # No word, but consumed as a whole: a search for a word at each of its
        # characters would take quadratic time.
        "void": rf"{lines}++|\u200D++",
        # A superset of the first characters of these rules.
        "begin": (
            r"[\p{WB=ALetter}\p{WB=Hebrew_Letter}\p{WB=Numeric}\p{WB=Katakana}"
            r"\p{WB=ExtendNumLet}\p{WB=Regional_Indicator}\p{LB=Complex_Context}"
            r"\p{Script=Han}\p{Script=Hiragana}\u200D\u19DA\uFF10-\uFF19\#*"
            rf"\U0001F3FB-\U0001F3FF{_EMOJI}]"
        ),
    }


@functools.cache
def _patterns() -> dict[str, Any]:
    """Return the compiled rules; group 1 of ``all`` matches only for words."""
    feature = "search in texts that are not ASCII"
    regex = MissingExtraError.import_module("regex", feature, extra="webshop")
    rules = _grammar()
    words_and_void = "({word}|{emoji}|{key}|{flag}|{uncut}|{single})|{void}"
    rules["all"] = words_and_void.format_map(rules)
    return {
        name: regex.compile(rules[name], regex.VERSION1)
        for name in ("all", "emoji", "void", "begin")
    }


def words(text: str) -> list[str]:
    """Return the words of a text for search, before stemming.

    Parameters
    ----------
    text : str
        Any text; takes time in proportion to its length.

    Returns
    -------
    list of str
        In order, in lower case, without a possessive 's and without `STOP_WORDS`.

    Raises
    ------
    MissingExtraError
        If the text is not ASCII and `regex` is not installed.
    """
    if text.isascii():
        matches = _ASCII.findall(text.lower())
        if max(map(len, matches), default=0) > _MAX_UNITS:
            matches = _cut_words(text.lower())
        return [
            word
            for word in (w[:-2] if w.endswith("'s") else w for w in matches)
            if word not in STOP_WORDS
        ]
    matches = _patterns()["all"].findall(text)
    # A character has at most two units.
    longest = max(map(len, matches), default=0)
    if longest > _MAX_UNITS // 2 or not _LETTER_EMOJI.isdisjoint(text):
        matches = _cut_words(text)
    normal = map(_normalise, filter(None, matches))
    return [word for word in normal if word not in STOP_WORDS]


def _normalise(word: str) -> str:
    """Return a word in lower case without a possessive's ending."""
    if not word.isascii():
        # One character for one, as in Java.  In Python a dotted capital I becomes two
        # characters, and a final sigma depends on its place.
        word = "".join([character.lower()[0] for character in word])
    else:
        word = word.lower()
    if word.endswith(("'s", "\u2019s", "\uff07s")):
        return word[:-2]
    return word


def _cut_words(text: str) -> list[str]:
    """Return the longest match within the limit at each position of a text.

    Slower than `findall`, which has no limit and matches by the first rule.
    """
    rules = _patterns()
    matches = []
    start = 0
    while begin := rules["begin"].search(text, start):
        start = begin.start()
        match = _match_within(rules["all"], text, start)
        end = start + 1
        if match and match[1]:
            end = match.end()
            if text[start] in _LETTER_EMOJI:
                end = max(end, _match_within(rules["emoji"], text, start).end())
            matches.append(text[start:end])
        elif match:
            end = match.end()
            if end - start > _MAX_UNITS // 2:
                # Only the last characters of a run can belong to the next match.
                run = rules["void"].match(text, start).end()
                end = max(start + 1, run - _MAX_UNITS + 1)
        start = end
    return matches


def _match_within(rule: Any, text: str, start: int) -> Any:
    """Return the match of a rule at a position within the limit, or None."""
    match = rule.match(text, start, start + _MAX_UNITS)
    if match and _num_units(match[0]) > _MAX_UNITS:
        match = rule.match(text, start, _limit_within(text, start))
    return match


def _num_units(text: str) -> int:
    """Return how many UTF-16 units a text has."""
    return len(text) + sum(map("\uffff".__lt__, text))


def _limit_within(text: str, start: int) -> int:
    """Return the end of the longest word that may begin at a position."""
    stop, units = start, 0
    while units <= _MAX_UNITS:
        units += 1 + (text[stop] > "\uffff")
        stop += 1
    return stop - 1


# Last letters of the suffixes that the stemmer removes.
_SUFFIX_ENDS = frozenset("cdegilmnrstuy")


@functools.lru_cache(maxsize=1 << 16)
def stem(word: str) -> str:
    """Return the stem of a word in lower case.

    Raises
    ------
    MissingExtraError
        If nltk is not installed.  It is imported (half a second) for the first word
        that may have a suffix.
    """
    if len(word) <= 2 or word[-1] not in _SUFFIX_ENDS:
        return word
    stemmed: str = _stemmer().stem(word, to_lowercase=False)
    return stemmed


@functools.cache
def _stemmer() -> Any:
    feature = "the search of WebShop"
    name = "nltk.stem.porter"
    module = MissingExtraError.import_module(name, feature, extra="webshop")
    porter = module.PorterStemmer
    return porter(mode=porter.MARTIN_EXTENSIONS)
