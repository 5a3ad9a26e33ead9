"""Reward of a purchase, with all its terms.

The rules are those of WebShop (commit 64fa2a5, ``web_agent_site/engine/goal.py``) with
the fuzzy ratios of thefuzz 0.22.1.  Texts repeat from purchase to purchase, so
functions of texts have bounded caches.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from roll_vec.envs.webshop.goals import Goal
from roll_vec.envs.webshop.products import Product
from roll_vec.errors import MissingExtraError

_COLORS = """
    alabaster apricot aqua ash asphalt azure banana beige black blue blush bordeaux
    bronze brown burgundy camel camo caramel champagne charcoal cheetah chestnut
    chocolate christmas coffee cognac copper coral cranberry cream crystal dark denim
    eggplant elephant espresso fuchsia gold granite grape graphite grass gray green grey
    heather indigo ivory ivy khaki lavender lemon leopard light lilac lime magenta
    maroon mauve merlot midnight mint mocha multicolor mushroom mustard natural navy
    nude olive orange peach pewter pink plum purple rainbow red rose royal rust sand
    sapphire seashell silver skull slate steel stone stonewash sunflower tan taupe teal
    tiger turquoise violet walnut wheat white wine yellow
"""
# If a text has several colours, the first one of this list counts.
COLORS = tuple(_COLORS.split())
# WebShop rounds ratios and accepts those above 85.
_MIN_RATIO = 85.5
# thefuzz deletes these code points, not all outside ASCII.
_DELETIONS = dict.fromkeys(range(128, 256))


class RewardTerms(NamedTuple):
    """A reward and its terms.

    Parameters
    ----------
    reward : float
        From 0 to 1.
    r_type : float
        Factor of the reward for the kind of product: 0, 0.1, 0.5 or 1.
    r_att : float
        Share of the goal's attributes that the product has.
    w_att : float
        Weight of the attributes in the reward; the weights of attributes, options and
        price add up to 1.
    query_match : bool
        True: the product has the same query as the goal's product.
    category_match : bool
        True: their paths in the shop have two pieces in common.
    title_score : float
        Share of the nouns of the goal's title that the product's title has.
    r_option : float or None
        Share of the goal's options that were chosen; None if the goal has none.
    w_option : float or None
        Weight of the options in the reward; None if the goal has none.
    r_price : bool
        True: the price is within the limit.
    w_price : float
        Weight of the price in the reward.
    """

    reward: float
    r_type: float
    r_att: float
    w_att: float
    query_match: bool
    category_match: bool
    title_score: float
    r_option: float | None
    w_option: float | None
    r_price: bool
    w_price: float


class TypeTerms(NamedTuple):
    """The terms for the kind of product; see `RewardTerms`."""

    r_type: float
    query_match: bool
    category_match: bool
    title_score: float


def compute_reward(
    goal: Goal,
    goal_nouns: Sequence[str],
    product: Product,
    options: Mapping[str, str],
) -> RewardTerms:
    """Return the reward of a purchase.

    Parameters
    ----------
    goal : Goal
    goal_nouns : sequence of str
        Title nouns of the product that the goal was made from.
    product : Product
        The purchased product.
    options : mapping from str to str
        The chosen value by group.

    Raises
    ------
    MissingExtraError
        If rapidfuzz is not installed.
    """
    values = [find_color(value) for value in options.values()]
    num_options = sum(
        any(fuzzy_match(value, target) for value in values)
        for target in option_texts(goal)
    )
    type_terms = compute_type_terms(goal, goal_nouns, product)
    return combine_terms(goal, product, type_terms, num_options)


def combine_terms(
    goal: Goal, product: Product, type_terms: TypeTerms, num_options: int
) -> RewardTerms:
    """Return the terms of a purchase, of which so many options match the goal's."""
    num_attributes = count_attributes(goal, product)
    r_price = product.price <= goal.price_upper
    attributes, options = len(goal.attributes), len(goal.goal_options)
    total = attributes + options + 1
    return RewardTerms(
        (num_attributes + num_options + r_price) / total * type_terms.r_type,
        **type_terms._asdict(),
        r_att=num_attributes / attributes,
        w_att=attributes / total,
        r_option=num_options / options if options else None,
        w_option=options / total if options else None,
        r_price=r_price,
        w_price=1 / total,
    )


def compute_type_terms(
    goal: Goal, goal_nouns: Sequence[str], product: Product
) -> TypeTerms:
    """Return the terms for the kind of a product.

    The denominator of the title's share counts repetitions of a noun, the numerator
    does not: even the goal's own product may score below 1.
    """
    query_match = product.query == goal.query
    pieces = _pieces(product.product_category)
    category_match = len(pieces & _pieces(goal.product_category)) >= 2
    title_score = 0.2
    if goal_nouns:
        common = set(goal_nouns).intersection(product.title_nouns)
        title_score = len(common) / len(goal_nouns)
    # A title without a common noun gives 0 even if query and category match.
    if title_score == 0.0:
        r_type = 0.0
    elif title_score < 0.1:
        r_type = 0.1
    else:
        r_type = 1.0 if query_match or category_match or title_score > 0.2 else 0.5
    return TypeTerms(r_type, query_match, category_match, title_score)


def count_attributes(goal: Goal, product: Product) -> int:
    """Return how many of the goal's attributes a product has."""
    return sum([has_attribute(product, name) for name in goal.attributes])


def has_attribute(product: Product, name: str) -> bool:
    """Return whether a product has an attribute, or one of its texts contains it."""
    if _any_match(product.attributes, name):
        return True
    title, bullets, description = _texts(
        product.title, product.bullets, product.description
    )
    return name in title or name in bullets or name in description


def option_texts(goal: Goal) -> list[str]:
    """Return the texts that chosen values are compared with, one for each option."""
    options = goal.goal_options
    if isinstance(options, Mapping):
        return [_pair_text(name, value) for name, value in options.items()]
    return [find_color(value) for value in options]


@functools.lru_cache(maxsize=1 << 14)
def find_color(text: str) -> str:
    """Return the first colour of the list that a text contains, else the text."""
    return next((color for color in COLORS if color in text), text)


@functools.lru_cache(maxsize=1 << 14)
def _pair_text(name: str, value: str) -> str:
    """Return the text of one option of a synthetic goal.

    WebShop looks for a colour in the pair of name and value, where only an equal
    element is a hit.  Without a hit the text is the pair as Python prints it.
    """
    pair = (name, value)
    return next((color for color in COLORS if color in pair), str(pair))


@functools.lru_cache(maxsize=1 << 14)
def _any_match(attributes: tuple[str, ...], name: str) -> bool:
    return any(fuzzy_match(attribute, name) for attribute in attributes)


@functools.lru_cache(maxsize=1 << 15)
def fuzzy_match(text: str, other: str) -> bool:
    """Return whether thefuzz's token set ratio of two texts is above 85."""
    token_set_ratio, _ = _import_rapidfuzz()
    ratio: float = token_set_ratio(_normalise(text), _normalise(other))
    return ratio >= _MIN_RATIO


@functools.lru_cache(maxsize=1 << 14)
def _normalise(text: str) -> str:
    """Return a text in the form that thefuzz compares."""
    _, process = _import_rapidfuzz()
    normal: str = process(text if text.isascii() else text.translate(_DELETIONS))
    return normal


@functools.lru_cache(maxsize=1)
def _import_rapidfuzz() -> tuple[Callable[..., Any], Callable[..., Any]]:
    """Return rapidfuzz's token set ratio and its text processor."""
    feature = "the reward of WebShop"
    module = MissingExtraError.import_module("rapidfuzz", feature, extra="webshop")
    return module.fuzz.token_set_ratio, module.utils.default_process


@functools.lru_cache(maxsize=1 << 13)
def _pieces(product_category: str) -> frozenset[str]:
    """Return the pieces of a path in the shop; a last ``›`` adds an empty one."""
    return frozenset(piece.strip() for piece in product_category.split("\u203a"))


@functools.lru_cache(maxsize=1 << 11)
def _texts(
    title: str, bullets: tuple[str, ...], description: str
) -> tuple[str, str, str]:
    """Return the texts that `has_attribute` searches, in lower case."""
    return title.lower(), " ".join(bullets).lower(), description.lower()
