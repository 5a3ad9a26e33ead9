r"""The lenient notation: answers as language models write them, for the parser.

==============================================  ===================================
written                                         read as
==============================================  ===================================
``\times \cdot \ast × ⋅ · ∗ \div ÷ ∕ − –``      ``* / -``
``\frac{3}{8}``, ``\dfrac``, ``\tfrac``         ``((3)/(8))``
``[3 + 8]``, ``{3 + 8}``, ``\left( 3 \right)``  parentheses
``(3)(8)``, ``3(8)``, ``(3)8``                  ``(3)*(8)``, with the rank of ``*``
``1,000``, ``1{,}000``                          ``1000``
``$3$``, ``\(3\)``, ``\[3\]``, ``\,``           white space around ``3``
==============================================  ===================================

A text is read once, from left to right, and no part of it is run.  Everything else
stays as it is, and the parser refuses it: an unknown command, brackets that do not
match, and the mixed number ``2\frac{1}{3}``, which is no product.
"""

from __future__ import annotations

import re

NOTATIONS = ("strict", "lenient")
# Signs that stand for those of the keyboard; the last three have no width.
_SIGNS = {
    ord(sign): character
    for character, signs in {
        "*": "\u00b7\u00d7\u2022\u2217\u2219\u22c5\u2715\u2716\u2a2f\uff0a",
        "/": "\u00f7\u2044\u2215\u2797\uff0f",
        "-": "\u2010\u2011\u2013\u2212\u2796\uff0d",
        "+": "\u2795\uff0b",
        "(": "\uff08",
        ")": "\uff09",
        " ": "\u200b\u2060\ufe0f",
    }.items()
    for sign in signs
}
_FRACTION = r"\frac"
_COMMANDS = {
    **dict.fromkeys((r"\times", r"\cdot", r"\ast"), "*"),
    r"\div": "/",
    **dict.fromkeys((r"\dfrac", r"\tfrac", r"\cfrac"), _FRACTION),
    **dict.fromkeys(("$", "~", r"\(", r"\)", r"\[", r"\]"), " "),
    **dict.fromkeys((r"\,", r"\:", r"\;", r"\!", "\\ ", r"\quad", r"\qquad"), " "),
    **dict.fromkeys((r"\left", r"\right", r"\big", r"\Big", r"\bigl", r"\bigr"), " "),
    **dict.fromkeys((r"\displaystyle", r"\boxed"), " "),
}
_BRACKETS = {"(": ")", "[": "]", "{": "}"}
_CLOSINGS = {*_BRACKETS.values()}
_TOKEN = re.compile(r"\\[A-Za-z]+|\\.|[0-9][0-9,]*|\s+|.", re.DOTALL)
_THOUSANDS = re.compile(r"[0-9]{1,3}(?:,[0-9]{3})+")


def rewrite(text: str) -> str:
    """Return an answer in the parser's notation, in time linear in its length.

    Parameters
    ----------
    text : str

    Returns
    -------
    str
        At most twice as long.
    """
    parts: list[str] = []
    # The bracket that closes each open one, and the text in its place.
    closings: list[tuple[str, str]] = []
    # What stands before: an operand that is a number, or one that a bracket has closed.
    before = ""
    # The text that closes the next part of a fraction; empty outside of fractions.
    closing = ""
    for token in _TOKEN.findall(text.replace("{,}", ",").translate(_SIGNS)):
        word = _COMMANDS.get(token, token)
        if word.isspace():
            parts.append(" ")
            continue
        is_number = word[0] in "0123456789"
        is_product = before == ")" and (is_number or word in ("(", "[", _FRACTION))
        if is_product or (before == "0" and word in ("(", "[")):
            parts.append("*")
        before = ""
        if word in _BRACKETS:
            is_part = closing and word == "{"
            closings.append((_BRACKETS[word], closing if is_part else ")"))
            parts.append("(")
            closing = ""
        elif closings and word == closings[-1][0]:
            _, word = closings.pop()
            parts.append(word)
            closing = "))" if word == ")/" else ""
            before = "" if closing else ")"
        elif word in _CLOSINGS:
            # It closes nothing, but it could close a parenthesis of another bracket or
            # of a fraction.  The parser refuses the text as it is.
            return text
        elif word == _FRACTION:
            parts.append("(")
            closing = ")/"
        else:
            if is_number:
                before = "0"
                word = word.replace(",", "") if _THOUSANDS.fullmatch(word) else word
            parts.append(word)
            closing = ""
    return "".join(parts)
