"""From a text to an action: a name and its argument.

Rule: WebShop, commit 64fa2a5, `web_agent_site/engine/engine.py`, whose regular
expression can take quadratic time.  This takes linear time on whatever a model writes.
"""

from __future__ import annotations

__all__ = ["EXAMPLES", "INSTRUCTIONS", "MAX_QUERY", "parse"]

MAX_QUERY = 10_000
"""The longest query, in characters; a longer search is no valid action."""

# What an agent that acts at random does; between them they lead to every page.
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


def parse(text: str) -> tuple[str, str | None]:
    r"""Return the name of an action and its argument.

    Parameters
    ----------
    text : str
        Any.  ``name[argument]`` in its first line; text after the last bracket of the
        line, and further lines, mean nothing.

    Returns
    -------
    name : str
        As it was written; the whole text where there is no argument.
    argument : str or None
        Not empty, in lower case.

    Notes
    -----
    The same as a match of ``(.+)\[(.+)\]``.  Both groups take as much as they can:
    the name ends at the last opening bracket that leaves an argument before the last
    closing one.
    """
    newline = text.find("\n")
    end = text.rfind("]", 0, newline if newline >= 0 else len(text))
    # At least one character before the opening bracket, and one in the brackets.
    start = text.rfind("[", 1, end - 1) if end >= 3 else -1
    if start < 0:
        return text, None
    return text[:start], text[start + 1 : end].lower()
