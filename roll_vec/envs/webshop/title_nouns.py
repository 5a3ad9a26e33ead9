"""Title nouns: the words of a title that are nouns, on which rewards depend.

WebShop (commit 64fa2a5) asks spaCy's model ``en_core_web_sm`` at every purchase: nouns
and proper nouns, in lower case.  Here a file has them, an object of lists of strings by
asin.  Without a file a rule finds them: runs of at least two letters, in lower case,
without the stop words of the search.  The factor ``r_type`` of the reward is the same
as with spaCy's nouns for 19 of 20 purchases.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from roll_vec.envs.webshop.files import read_json
from roll_vec.envs.webshop.search.english_analyzer import STOP_WORDS
from roll_vec.errors import InvalidOptionError

Nouns = dict[str, tuple[str, ...]]
"""The nouns of each title by asin, in order and with repetitions."""

_LETTERS = re.compile(r"[^\W\d_]{2,}")


def read_nouns(path: str, asins: Iterable[str]) -> Nouns:
    """Return the nouns in a file, ``.json`` or ``.json.gz``.

    Raises
    ------
    InvalidOptionError
        If the file cannot be read, is malformed, or lacks one of the asins.
    """
    content = read_json("title_nouns", path)
    name = f"title_nouns: {path}"
    if not isinstance(content, dict):
        raise InvalidOptionError.expected(name, "an object of lists by asin", content)
    for asin, nouns in content.items():
        if not isinstance(nouns, list) or not all(isinstance(n, str) for n in nouns):
            place = f"{name}: {asin}"
            raise InvalidOptionError.expected(place, "a list of strings", nouns)
    lacking = [asin for asin in asins if asin not in content]
    if lacking:
        message = (
            f"{name}: expected the nouns of all products, {len(lacking)} are missing, "
            f"such as {lacking[0]}; without title_nouns a rule finds all of them"
        )
        raise InvalidOptionError(message)
    return {asin: tuple(nouns) for asin, nouns in content.items()}


def nouns_by_rule(title: str) -> tuple[str, ...]:
    """Return the nouns of a title by the rule of this module."""
    return tuple(
        word for word in _LETTERS.findall(title.lower()) if word not in STOP_WORDS
    )
