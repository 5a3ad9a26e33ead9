"""Requests for products of the demo shop, as sentences.

Synthetic requests have the form of WebShop's (commit 64fa2a5): attributes in front of
the query, then attributes after "with", then attributes after "for".
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from roll_vec.envs.webshop.demo_shop.vocabulary import Attribute

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

# {} is the noun phrase, with or without "that" and predicates.
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

# The first {} is the noun phrase, the second one the predicates.
_DOUBLE_SENTENCES = (
    "i am looking for {}. it has to be one that {}.",
    "i want to buy {}, and i would like one that {}.",
    "i need {}. make sure you pick something that {}.",
    "my old one is worn out, so i need {}. i want one that {}.",
    "can you get me {}? i'd like something that {}.",
)

# Other words in u, such as usb, begin with a consonant when spoken.
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
    draw: Callable[[], float], query: str, attributes: Sequence[Attribute]
) -> str:
    """Return the instruction of a product, without options and price.

    Parameters
    ----------
    draw : function
        Returns a random float in [0, 1).
    query : str
        Of the product.
    attributes : sequence of Attribute
        At least one.
    """
    text = f"{_OPENINGS[int(draw() * len(_OPENINGS))]} "
    before = ", ".join(one.name for one in attributes if one.place == "before")
    text += f"{before} {query}" if before else query
    for place in ("with", "for"):
        names = ", ".join(one.name for one in attributes if one.place == place)
        if names:
            text += f" {place} {names}"
    return text


def human_request(
    draw: Callable[[], float],
    noun_phrase: str,
    attributes: Sequence[Attribute],
    options: Mapping[str, str],
) -> str:
    """Return a sentence as a person writes it, without a price.

    Parameters
    ----------
    draw : function
        Returns a random float in [0, 1).
    noun_phrase : str
        See `ProductType`.
    attributes : sequence of Attribute
        At least one.
    options : mapping from str to str
        Values by the name of their group.
    """
    adjective = ""
    if attributes[0].place == "before" and draw() < 0.5:
        adjective, attributes = attributes[0].name, attributes[1:]
    product = _with_adjective(noun_phrase, adjective)
    predicates = [attribute.predicate for attribute in attributes]
    phrases = [_OPTIONS[name].format(value) for name, value in options.items()]
    if phrases and draw() < 0.5:
        product += " " + " and ".join(phrases)
    elif phrases:
        predicates.append("comes " + " and ".join(phrases))
    conditions = " and ".join(predicates)
    if len(predicates) > 2:
        conditions = ", ".join(predicates[:-1]) + " and " + predicates[-1]
    if conditions and draw() < 0.3:
        sentence = _DOUBLE_SENTENCES[int(draw() * len(_DOUBLE_SENTENCES))]
        return sentence.format(product, conditions)
    if conditions:
        product += f" that {conditions}"
    return _SENTENCES[int(draw() * len(_SENTENCES))].format(product)


def _with_adjective(noun_phrase: str, adjective: str) -> str:
    """Return "an easy assemble table" for "a *table" and "easy assemble"."""
    if not adjective:
        return noun_phrase.replace("*", "")
    article, _, noun = noun_phrase.partition("*")
    if article in ("a ", "an "):
        article = "an " if adjective.startswith(_VOWELS) else "a "
    return f"{article}{adjective} {noun}"
