"""The reward: its terms equal the original's and those of a plain statement."""

import random
import sys

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from roll_vec.envs.webshop import reward
from roll_vec.envs.webshop.catalogue.catalogue import Catalogue
from roll_vec.envs.webshop.reward import compute_reward, find_color, fuzzy_match
from roll_vec.errors import MissingExtraError
from tests.envs.webshop.shops import original
from tests.envs.webshop.small_shop import (
    VALUES,
    make_goal,
    make_product,
    random_goal,
    random_product,
)
from tests.oracles import webshop_reward as oracle

# Seeds are faster than hypothesis' own generators, which draw number by number.
rngs = st.integers(0, 1 << 32).map(random.Random)


def test_terms_equal_the_oracles_on_the_original_shop(shared):
    catalogue = Catalogue.load(**original(shared))
    rng = random.Random(4)
    for _ in range(400):
        goal = catalogue.goals[rng.randrange(len(catalogue.goals))]
        goal_product = catalogue.products[catalogue.products.number_of(goal.asin)]
        near = catalogue.search_results(f"<q> {goal.query}")
        number = rng.choice([rng.randrange(1000), *near[:5]])
        product = rng.choice([goal_product, catalogue.products[number]])
        options = {n: rng.choice(v) for n, v in product.options.items() if v}
        nouns = goal_product.title_nouns
        expected = oracle.reward(goal, nouns, product, options)
        assert compute_reward(goal, nouns, product, options)._asdict() == expected


@given(rngs)
def test_terms_equal_the_oracles_on_random_purchases(rng):
    goal_product, product = (random_product(rng, asin) for asin in ("B1", "B2"))
    goal = random_goal(rng, goal_product)
    options = {n: rng.choice(v) for n, v in product.options.items() if v}
    terms = compute_reward(goal, goal_product.title_nouns, product, options)
    expected = oracle.reward(goal, goal_product.title_nouns, product, options)
    assert terms._asdict() == expected
    assert [type(v) for v in terms] == [type(v) for v in expected.values()]
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
@given(texts, texts)
def test_texts_match_as_in_the_original(a, b):
    assert fuzzy_match(a, b) == oracle.similar(a, b)


@given(texts)
@example("navy blue")
@example("tank top")
@example("credit")
@example("Red")
def test_the_first_color_of_the_list_counts(text):
    assert find_color(text) == oracle.first_color(text)


def r_option(goal_options, values):
    """Return the term of the options for a goal and some chosen values."""
    product = make_product()
    goal = make_goal(product, goal_options=goal_options)
    return compute_reward(goal, (), product, dict(enumerate(values))).r_option


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
    assert r_option(goal_options, values) == expected


@pytest.mark.parametrize(
    ("goal_nouns", "nouns", "related", "r_type", "title_score"),
    [
        ("a b c d", "a", True, 1.0, 0.25),
        ("a b c d", "a", False, 1.0, 0.25),
        ("a b c d e", "a", False, 0.5, 0.2),
        ("a b c d e", "a", True, 1.0, 0.2),
        # Query and category are overruled.
        ("a b c d e f g h i j k", "a", True, 0.1, 1 / 11),
        ("a b c d e f g h i j", "a", True, 1.0, 0.1),
        ("a b", "c", True, 0.0, 0.0),
        # Repetitions count in the goal's title alone.
        ("a a a b", "a a b b", True, 1.0, 0.5),
        ("", "a", True, 1.0, 0.2),
        ("", "a", False, 0.5, 0.2),
        ("a", "", True, 0.0, 0.0),
    ],
)
def test_type_depends_on_titles_before_query_and_category(
    goal_nouns, nouns, related, r_type, title_score
):
    place = {} if related else {"query": "other", "product_category": "Other"}
    goal = make_goal(make_product())
    product = make_product("B2", title_nouns=tuple(nouns.split()), **place)
    terms = compute_reward(goal, goal_nouns.split(), product, {})
    assert (terms.r_type, terms.title_score) == (r_type, title_score)


@pytest.mark.parametrize(
    ("path", "match"),
    [
        ("Shirts \u203a Clothing", True),
        ("Men \u203a Men", False),
        ("Men \u203a Hats", False),
        # An empty piece is a piece.
        ("Men \u203a ", False),
        ("Men\u203aShirts\u203a", True),
    ],
)
def test_categories_match_in_two_pieces(path, match):
    goal = make_goal(make_product())
    terms = compute_reward(goal, (), make_product(product_category=path), {})
    assert terms.category_match is match


@pytest.mark.parametrize(
    ("fields", "name", "r_att"),
    [
        ({}, "machine wash", 0.0),
        ({"attributes": ("hand or machine wash",)}, "machine wash", 1.0),
        ({"title": "To MACHINE WASH"}, "machine wash", 1.0),
        ({"bullets": ("soft machine", "wash")}, "machine wash", 1.0),
        ({"description": "machine washable"}, "machine wash", 1.0),
        # Texts are in lower case, attributes are not.
        ({"description": "Soft", "attributes": ("x",)}, "Soft", 0.0),
    ],
)
def test_attributes_are_found_in_the_list_and_in_texts(fields, name, r_att):
    goal = make_goal(make_product(), attributes=(name,), price_upper=20.0)
    for price in (20.0, 20.01):
        product = make_product(**{"attributes": ("soft",), "price": price, **fields})
        terms = compute_reward(goal, (), product, {})
        assert (terms.r_att, terms.r_price) == (r_att, price == 20.0)


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
