"""Actions: the parser of texts such as ``search[red shoes]``, examples, instructions.

Rule: WebShop, commit 64fa2a5, `web_agent_site/engine/engine.py`.  Its regular
expression can take quadratic time; this parser takes linear time on every text.
"""

from __future__ import annotations

from collections.abc import Iterable

MAX_QUERY = 10_000
"""Maximum length of a query, in characters; a longer search is an invalid action."""

# A random agent samples these actions.  Together they lead to every page.
EXAMPLES = (
    "search[red shoes]",
    "search[long lasting lipstick, and price lower than 40.00 dollars]",
    "search[<r>]",
    "click[next >]",
    "click[< prev]",
    "click[description]",
    "click[features]",
    "click[reviews]",
    "click[buy now]",
    "click[back to search]",
)

INSTRUCTIONS = """\
You are shopping in a web shop. The instruction says what to buy: what the product \
must be like, which options to choose, and often the most that it may cost.
There are two actions:
search[words] looks for products, from any page;
click[name] clicks something that is on the page: a button such as click[next >], a \
product by its number such as click[b00example], or the value of an option such as \
click[dark blue].
Look at products, choose the options that are asked for, and order with \
click[buy now]. The order ends the session and is judged by how well it fits the \
instruction.
Answer with one action. For example, when blue running shoes are wanted, begin with \
search[blue running shoes]."""


def list_actions(has_search_bar: bool, clickables: Iterable[str]) -> list[str]:
    """Return the actions that a page offers, in the form of ROLL's prompt."""
    clicks = [f"click[{name}]" for name in clickables if name != "search"]
    return ["search[<content>]", *clicks] if has_search_bar else clicks


def parse_action(text: str) -> tuple[str, str | None]:
    r"""Return the name of an action and its argument.

    Parameters
    ----------
    text : str
        Any text; the action is ``name[argument]`` in its first line.  Text after the
        last bracket of this line, and further lines, are ignored.

    Returns
    -------
    name : str
        In its original case; the whole text if there is no argument.
    argument : str or None
        In lower case; never empty.

    Notes
    -----
    Equal to a match of ``(.+)\[(.+)\]``.  Both groups are greedy: the name ends at the
    last opening bracket that leaves an argument before the last closing bracket.
    """
    newline = text.find("\n")
    end = text.rfind("]", 0, newline if newline >= 0 else len(text))
    # At least one character before the opening bracket, and one in the brackets.
    start = text.rfind("[", 1, end - 1) if end >= 3 else -1
    if start < 0:
        return text, None
    return text[:start], text[start + 1 : end].lower()
