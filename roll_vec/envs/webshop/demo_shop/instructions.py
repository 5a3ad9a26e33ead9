"""What shoppers of the embedded shop ask for, in words.

Synthetic requests have the form of WebShop's (commit 64fa2a5), which are made from
attributes: those before the query, then those with "with", then those with "for".
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from roll_vec.envs.webshop.demo_shop.vocabulary import Phrase

__all__ = ["human_request", "synthetic_request"]

_OPENINGS = (
    "Find me",
    "Find me",
    "I need",
    "I am looking for",
    "Show me",
    "Looking for",
    "I want to buy",
    "Please find",
    "I would like to order",
)

# {} is what is wanted, with or without "that is so and so".
_SENTENCES = (
    "i am looking for {}.",
    "i am looking for {}.",
    "i'm looking for {}.",
    "i need {}.",
    "i need {}.",
    "i want {}.",
    "i would like to buy {}.",
    "find me {}.",
    "can you find me {}",
    "do you have {}",
    "please show me {}.",
    "hello, i am shopping for {}.",
    "my sister asked me for {}.",
    "looking for {}.",
    "help me find {}.",
)

# First what is wanted, then what has to be true of it.
_PAIRS = (
    "i am looking for {}. it has to be one that {}.",
    "i want to buy {}, and i would like one that {}.",
    "i need {}. make sure you pick something that {}.",
    "my old one is worn out, so i need {}. i want one that {}.",
    "can you get me {}? i'd like something that {}.",
)

# Other words with a u in front, such as usb, begin with a consonant when spoken.
_VOWELS = ("a", "e", "i", "o", "ultra", "under")

_OPTIONS = {
    "Color": "in {}",
    "Size": "in the {} size",
    "Style": "in the {} style",
    "Scent": "with the {} scent",
    "Flavor Name": "in the {} flavor",
    "Pattern Name": "with the {} pattern",
}


def synthetic_request(
    draw: Callable[[], float], query: str, asked: Sequence[Phrase]
) -> str:
    """Return the instruction of a product, without options and price.

    Parameters
    ----------
    draw : function
        Gives numbers from 0 to 1, 1 not among them.
    query : str
        What the product is found by.
    asked : sequence of Phrase
        At least one.
    """
    text = f"{_OPENINGS[int(draw() * len(_OPENINGS))]} "
    before = ", ".join(phrase.name for phrase in asked if phrase.place == "before")
    text += f"{before} {query}" if before else query
    for place in ("with", "for"):
        names = ", ".join(phrase.name for phrase in asked if phrase.place == place)
        if names:
            text += f" {place} {names}"
    return text


def human_request(
    draw: Callable[[], float],
    one: str,
    asked: Sequence[Phrase],
    chosen: Mapping[str, str],
) -> str:
    """Return a sentence as a person writes it, without a price.

    Parameters
    ----------
    draw : function
        Gives numbers from 0 to 1, 1 not among them.
    one : str
        ``ProductType.one``.
    asked : sequence of Phrase
        At least one.
    chosen : mapping from str to str
        Values by the name of their group.
    """
    asked = list(asked)
    leading = ""
    if asked[0].place == "before" and draw() < 0.5:
        leading = asked.pop(0).name
    wanted = _with_adjective(one, leading)
    predicates = [phrase.said for phrase in asked]
    options = [_OPTIONS[name].format(value) for name, value in chosen.items()]
    if options and draw() < 0.5:
        wanted += " " + " and ".join(options)
    elif options:
        predicates.append("comes " + " and ".join(options))
    told = _joined(predicates)
    if told and draw() < 0.3:
        return _PAIRS[int(draw() * len(_PAIRS))].format(wanted, told)
    if told:
        wanted += f" that {told}"
    return _SENTENCES[int(draw() * len(_SENTENCES))].format(wanted)


def _with_adjective(one: str, adjective: str) -> str:
    """Return "an easy assemble table" for "a *table" and "easy assemble"."""
    if not adjective:
        return one.replace("*", "")
    article, _, noun = one.partition("*")
    if article in ("a ", "an "):
        article = "an " if adjective.startswith(_VOWELS) else "a "
    return f"{article}{adjective} {noun}"


def _joined(predicates: Sequence[str]) -> str:
    """Return "is this, has that and comes in blue"."""
    if len(predicates) < 3:
        return " and ".join(predicates)
    return ", ".join(predicates[:-1]) + " and " + predicates[-1]
