"""What a purchase earns, with all its terms.

The rules are WebShop's (commit 64fa2a5, ``web_agent_site/engine/goal.py``) with the
fuzzy ratios of thefuzz 0.22.1.  Texts repeat from purchase to purchase, so whatever is
derived from one is remembered, within bounds.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from roll_vec.envs.webshop.catalogue.products import Goal, Product
from roll_vec.errors import MissingExtraError

__all__ = [
    "RewardTerms",
    "TypeTerms",
    "combine",
    "count_attributes",
    "find_color",
    "has_attribute",
    "is_alike",
    "judge_type",
    "score",
    "wanted_options",
]

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
# Of two colours in a text the earlier one here counts.
COLORS = tuple(_COLORS.split())
# Least ratio that counts: scores are rounded, and those above 85 count.
_LEAST_RATIO = 85.5
# thefuzz deletes these code points, not all that are outside ASCII.
_DELETED = dict.fromkeys(range(128, 256))


class RewardTerms(NamedTuple):
    """A reward and what it is made of.

    Parameters
    ----------
    reward : float
        From 0 to 1.
    r_type : float
        0, 0.1, 0.5 or 1, by which the rest is multiplied: how much the product is of
        the wanted kind.
    r_att : float
        Share of the wanted attributes that the product has.
    w_att : float
        Weight of the attributes in the reward; those of attributes, options and price
        add up to 1.
    query_match : bool
        Whether both products were found by the same query.
    category_match : bool
        Whether their paths in the shop have two pieces in common.
    title_score : float
        Share of the nouns of the wanted title that the bought one has.
    r_option : float or None
        Share of the wanted options that were chosen; None where none are wanted.
    w_option : float or None
    r_price : bool
        Whether the price is within the limit.
    w_price : float
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
    """How much a product is of the wanted kind; see `RewardTerms`."""

    r_type: float
    query_match: bool
    category_match: bool
    title_score: float


def score(
    goal: Goal,
    goal_nouns: Sequence[str],
    product: Product,
    options: Mapping[str, str],
) -> RewardTerms:
    """Return what a purchase earns.

    Parameters
    ----------
    goal : Goal
    goal_nouns : sequence of str
        Title nouns of the product that the goal was made from.
    product : Product
        The bought one.
    options : mapping from str to str
        The chosen value by group.

    Raises
    ------
    MissingExtraError
        Without rapidfuzz.
    """
    chosen = [find_color(value) for value in options.values()]
    num_options = 0
    for wanted in wanted_options(goal):
        for value in chosen:
            if is_alike(value, wanted):
                num_options += 1
                break
    return combine(
        goal,
        judge_type(goal, goal_nouns, product),
        count_attributes(goal, product),
        num_options,
        product.price <= goal.price_upper,
    )


def combine(
    goal: Goal,
    type_terms: TypeTerms,
    num_attributes: int,
    num_options: int,
    r_price: bool,
) -> RewardTerms:
    """Return the terms of a purchase that has so much of what a goal wants."""
    attributes, options = len(goal.attributes), len(goal.goal_options)
    total = attributes + options + 1
    r_type, query_match, category_match, title_score = type_terms
    return RewardTerms(
        reward=(num_attributes + num_options + r_price) / total * r_type,
        r_type=r_type,
        r_att=num_attributes / attributes,
        w_att=attributes / total,
        query_match=query_match,
        category_match=category_match,
        title_score=title_score,
        r_option=num_options / options if options else None,
        w_option=options / total if options else None,
        r_price=r_price,
        w_price=1 / total,
    )


def judge_type(goal: Goal, goal_nouns: Sequence[str], product: Product) -> TypeTerms:
    """Return how much a product is of the kind that a goal wants.

    A title's share counts every repetition of a noun in the wanted title, but each noun
    that both have once, so that even the wanted product may score below 1.
    """
    query_match = product.query == goal.query
    pieces = _pieces(product.product_category)
    category_match = len(pieces & _pieces(goal.product_category)) >= 2
    title_score = 0.2
    if goal_nouns:
        common = set(goal_nouns).intersection(product.title_nouns)
        title_score = len(common) / len(goal_nouns)
    # A title without anything in common overrules query and category.
    if title_score == 0.0:
        r_type = 0.0
    elif title_score < 0.1:
        r_type = 0.1
    else:
        r_type = 1.0 if query_match or category_match or title_score > 0.2 else 0.5
    return TypeTerms(r_type, query_match, category_match, title_score)


def count_attributes(goal: Goal, product: Product) -> int:
    """Return how many of the wanted attributes a product has."""
    return sum([has_attribute(product, wanted) for wanted in goal.attributes])


def has_attribute(product: Product, wanted: str) -> bool:
    """Return whether a product has an attribute, or one of its texts names it."""
    if _has_alike(product.attributes, wanted):
        return True
    title, bullets, description = _texts(
        product.title, product.bullets, product.description
    )
    return wanted in title or wanted in bullets or wanted in description


def wanted_options(goal: Goal) -> list[str]:
    """Return what chosen values are compared with, one text for each wanted option."""
    options = goal.goal_options
    if isinstance(options, Mapping):
        return [_wanted_pair(name, value) for name, value in options.items()]
    return [find_color(value) for value in options]


@functools.lru_cache(maxsize=1 << 14)
def find_color(text: str) -> str:
    """Return the first colour that occurs anywhere in a text, else the text."""
    return next((color for color in COLORS if color in text), text)


@functools.lru_cache(maxsize=1 << 14)
def _wanted_pair(name: str, value: str) -> str:
    """Return what the values for an option of a synthetic goal are compared with.

    WebShop looks for colours in the pair of name and value, where only one that equals
    either is found; any other pair is compared in the form that Python prints it in.
    """
    pair = (name, value)
    return next((color for color in COLORS if color in pair), str(pair))


@functools.lru_cache(maxsize=1 << 14)
def _has_alike(attributes: tuple[str, ...], wanted: str) -> bool:
    """Return whether one of some attributes is like a wanted one."""
    return any(is_alike(attribute, wanted) for attribute in attributes)


@functools.lru_cache(maxsize=1 << 15)
def is_alike(text: str, wanted: str) -> bool:
    """Return whether thefuzz's token set ratio of two texts is above 85."""
    ratio, _ = _fuzzy()
    # A float of its own, as the package has no complete types.
    found: float = ratio(_prepare(text), _prepare(wanted))
    return found >= _LEAST_RATIO


@functools.lru_cache(maxsize=1 << 14)
def _prepare(text: str) -> str:
    """Return a text as thefuzz compares it."""
    _, process = _fuzzy()
    prepared: str = process(text if text.isascii() else text.translate(_DELETED))
    return prepared


@functools.lru_cache(maxsize=1)
def _fuzzy() -> tuple[Callable[..., Any], Callable[..., Any]]:
    """Return rapidfuzz's token set ratio and its processor of texts."""
    try:
        from rapidfuzz import fuzz, utils
    except ImportError:
        feature = "the reward of WebShop"
        raise MissingExtraError(feature, extra="webshop", package="rapidfuzz") from None
    return fuzz.token_set_ratio, utils.default_process


@functools.lru_cache(maxsize=1 << 13)
def _pieces(product_category: str) -> frozenset[str]:
    """Return the pieces of a path in the shop, the empty one after a last ``›`` too."""
    return frozenset(piece.strip() for piece in product_category.split("\u203a"))


@functools.lru_cache(maxsize=1 << 11)
def _texts(
    title: str, bullets: tuple[str, ...], description: str
) -> tuple[str, str, str]:
    """Return the texts of a product in which wanted attributes are looked for."""
    return title.lower(), " ".join(bullets).lower(), description.lower()
