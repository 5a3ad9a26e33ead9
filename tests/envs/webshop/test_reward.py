"""The reward: its terms equal the original's and those of a plain statement."""

import random
import sys

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from roll_vec.envs.webshop import Catalogue, reward
from roll_vec.envs.webshop.reward import compute_reward, find_color, fuzzy_match
from roll_vec.errors import MissingExtraError
from tests.envs.webshop.shops import (
    VALUES,
    make_goal,
    make_product,
    original,
    random_goal,
    random_product,
)
from tests.oracles import webshop_reward as oracle

# Seeds are faster than hypothesis' own generators, which draw number by number.
rngs = st.integers(0, 1 << 32).map(random.Random)


def terms_of(goal, goal_nouns, product, options):
    """Return the terms of a purchase, which are the oracle's."""
    terms = compute_reward(goal, goal_nouns, product, options)
    expected = oracle.reward(goal, goal_nouns, product, options)
    assert terms._asdict() == expected
    assert [type(v) for v in terms] == [type(v) for v in expected.values()]
    return terms


def test_terms_equal_the_oracles_on_the_original_shop(shared):
    catalogue = Catalogue.load(**original(shared))
    rng = random.Random(4)
    for _ in range(400):
        goal = catalogue.goals[rng.randrange(len(catalogue.goals))]
        goal_product = catalogue.products.by_asin(goal.asin)
        near = catalogue.search_results(f"<q> {goal.query}")
        number = rng.choice([rng.randrange(1000), *near[:5]])
        product = rng.choice([goal_product, catalogue.products[number]])
        options = {n: rng.choice(v) for n, v in product.options.items() if v}
        terms_of(goal, goal_product.title_nouns, product, options)


@given(rngs)
def test_terms_equal_the_oracles_on_random_purchases(rng):
    for _ in range(5):
        goal_product, product = (random_product(rng, asin) for asin in ("B1", "B2"))
        goal = random_goal(rng, goal_product)
        options = {n: rng.choice(v) for n, v in product.options.items() if v}
        terms = terms_of(goal, goal_product.title_nouns, product, options)
        weights = terms.w_att + (terms.w_option or 0.0) + terms.w_price
        assert weights == pytest.approx(1.0)
        assert 0.0 <= terms.reward <= 1.0


words = st.sampled_from(
    [*VALUES, "xx large", "l", "\xa0", "\u0130\xdf", "2-pack", "__"]
)
texts = st.lists(words | st.text(max_size=4), max_size=4).map(" ".join)


# 85.7, and 85.0, which is not above 85.
@example("2 cotton", "cotton of")
@example("lasting size cotton x", "cotton cotton lasting skin")
# Deleted letters are not replaced by spaces: 88.9 and not 80.
@example("caf\xe9 cr\xe8me", "cafe creme")
# Above 255 they are letters like any other.
@example("\u0107af\u0107af", "af af")
@example("x-large", "('size', 'large')")
@example("large", "('size', 'x-large')")
@example("navy blue", "tank top")
@example("credit", "Red")
@given(texts, texts)
def test_texts_match_as_in_the_original(a, b):
    assert fuzzy_match(a, b) == oracle.similar(a, b)
    assert find_color(a) == oracle.first_color(a)
    assert find_color(b) == oracle.first_color(b)


@pytest.mark.parametrize(
    ("goal_options", "values", "expected"),
    [
        # A person's: colours are found in both.
        (("navy blue",), ["light blue"], 1.0),
        (("tank top",), ["tan"], 1.0),
        # Of a pair: only a name or a value that is a colour.
        ({"style": "tank top"}, ["tank top"], 0.0),
        ({"color": "blue"}, ["navy blue"], 1.0),
        ({"color": "navy blue"}, ["light blue"], 1.0),
        ({"color": "light navy"}, ["navy blue"], 0.0),
        ({"red": "any"}, ["bloodred"], 1.0),
        # The words of the pair, the name too.
        ({"size": "large"}, ["size"], 1.0),
        # A pair is compared as Python prints it.
        ({"size": "8\xa0x"}, ["8\xa0x"], 0.0),
        ({"size": "8\xa0x"}, ["8 xa0x"], 1.0),
        # Each wanted option counts once, one choice may serve several.
        (("large", "size large"), ["large", "large"], 1.0),
        (("large", "small", "red"), ["large"], 1 / 3),
        ((), ["large"], None),
    ],
)
def test_options_are_compared_by_their_colors(goal_options, values, expected):
    product = make_product()
    goal = make_goal(product, goal_options=goal_options)
    terms = terms_of(goal, (), product, dict(enumerate(values)))
    assert terms.r_option == expected


@pytest.mark.parametrize("is_related", [True, False])
def test_type_depends_on_titles_before_query_and_category(is_related):
    place = {} if is_related else {"query": "other", "product_category": "Other"}
    # With and without a related query and category, which some titles overrule.
    for goal_nouns, nouns, related, unrelated, title_score in (
        ("a b c d", "a", 1.0, 1.0, 0.25),
        ("a b c d e", "a", 1.0, 0.5, 0.2),
        ("a b c d e f g h i j", "a", 1.0, 0.5, 0.1),
        ("a b c d e f g h i j k", "a", 0.1, 0.1, 1 / 11),
        ("a b", "c", 0.0, 0.0, 0.0),
        # Repetitions count in the goal's title alone.
        ("a a a b", "a a b b", 1.0, 1.0, 0.5),
        ("", "a", 1.0, 0.5, 0.2),
        ("a", "", 0.0, 0.0, 0.0),
    ):
        product = make_product("B2", title_nouns=tuple(nouns.split()), **place)
        terms = terms_of(make_goal(make_product()), goal_nouns.split(), product, {})
        r_type = related if is_related else unrelated
        assert (terms.r_type, terms.title_score) == (r_type, title_score)


MACHINE_WASH = {"attributes": ("machine wash",)}


@pytest.mark.parametrize(
    ("goal_fields", "fields", "expected"),
    [
        # Two pieces match, an empty one is one.
        ({}, {"product_category": "Shirts \u203a Clothing"}, {"category_match": True}),
        ({}, {"product_category": "Men \u203a Men"}, {"category_match": False}),
        ({}, {"product_category": "Men \u203a Hats"}, {"category_match": False}),
        ({}, {"product_category": "Men \u203a "}, {"category_match": False}),
        ({}, {"product_category": "Men\u203aShirts\u203a"}, {"category_match": True}),
        # In the list, and in texts.
        (MACHINE_WASH, {}, {"r_att": 0.0}),
        (MACHINE_WASH, {"attributes": ("hand or machine wash",)}, {"r_att": 1.0}),
        (MACHINE_WASH, {"title": "To MACHINE WASH"}, {"r_att": 1.0}),
        (MACHINE_WASH, {"bullets": ("soft machine", "wash")}, {"r_att": 1.0}),
        (MACHINE_WASH, {"description": "machine washable"}, {"r_att": 1.0}),
        # Texts are in lower case, attributes are not.
        ({"attributes": ("Soft",)}, {"description": "Soft"}, {"r_att": 0.0}),
        ({"price_upper": 20.0}, {"price": 20.0}, {"r_price": True}),
        ({"price_upper": 20.0}, {"price": 20.01}, {"r_price": False}),
    ],
    ids=str,
)
def test_terms_of_categories_attributes_and_prices(goal_fields, fields, expected):
    goal = make_goal(make_product(), **goal_fields)
    product = make_product(**{"attributes": ("x",), **fields})
    terms = terms_of(goal, (), product, {})
    assert terms._asdict().items() >= expected.items()


def test_missing_rapidfuzz_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "rapidfuzz", None)
    reward._import_rapidfuzz.cache_clear()
    reward.fuzzy_match.cache_clear()
    try:
        with pytest.raises(MissingExtraError, match=r"rapidfuzz.*\.\[webshop\]"):
            fuzzy_match("a", "b")
    finally:
        reward._import_rapidfuzz.cache_clear()


def test_caches_are_bounded():
    caches = [v for v in vars(reward).values() if hasattr(v, "cache_info")]
    assert caches
    assert all(cache.cache_info().maxsize is not None for cache in caches)
