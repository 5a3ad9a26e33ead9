"""The reward, its best purchases by the solver, and the nearest way to them.

The terms of the reward equal the original's and those of a plain statement; the oracle
goes the way.
"""

import random
import sys

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from roll_vec.envs.webshop import Catalogue, Purchase, reward
from roll_vec.envs.webshop.actions import parse_action
from roll_vec.envs.webshop.oracle import next_action
from roll_vec.envs.webshop.pages import page_of
from roll_vec.envs.webshop.reward import compute_reward, find_color, fuzzy_match
from roll_vec.envs.webshop.solver import Solution, Solver, best_options, is_clickable
from roll_vec.envs.webshop.state import (
    PAGE_SIZE,
    State,
    choose_option,
    open_product,
    press_button,
    show_results,
)
from roll_vec.errors import MissingExtraError
from tests.envs.webshop.shops import (
    VALUES,
    SmallShop,
    make_goal,
    make_product,
    original,
    random_goal,
    random_product,
    random_shop,
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


# --------------------------------------------------------------------------- the solver


def solve(shop, goal):
    return Solver(shop.products, shop.search_results).solve(goal)


def clickable_values(product):
    """Return the clickable values by group, each tried on the page itself."""
    state = State(0, "item", asin=product.asin)
    shop = SmallShop([product], [make_goal(product)])
    groups = {name: [] for name in product.options}
    for value in page_of(shop, state).clickables:
        is_click = parse_action(f"click[{value}]") == ("click", value)
        is_value = value in product.group_of_value and value != "search"
        if is_click and is_value and not press_button(state, value):
            (group,) = choose_option(state, value, product).options
            groups[group].append(value)
    return groups


def best_by_the_oracle(goal, nouns, product):
    """Return the best options of a product and their terms, by trying all of them."""
    return oracle.best_options(goal, nouns, product, clickable_values(product))


@given(rngs)
@example(random.Random(3_019_437_420))  # two groups share a value that is the best
def test_options_are_the_best_of_all_choices(rng):
    goal_product, product = (random_product(rng, asin) for asin in ("B1", "B2"))
    goal, nouns = random_goal(rng, goal_product), goal_product.title_nouns
    options, terms = best_options(goal, nouns, product)
    assert (options, terms._asdict()) == best_by_the_oracle(goal, nouns, product)
    assert terms == compute_reward(goal, nouns, product, options)


@given(rngs)
def test_a_purchase_is_the_best_of_all_products(rng):
    shop = random_shop(rng, 6)
    for goal in shop.goals:
        solution = solve(shop, goal)
        goal_product = shop.products.by_asin(goal.asin)
        nouns = goal_product.title_nouns
        rewards = [
            best_by_the_oracle(goal, nouns, product)[1]["reward"]
            for product in shop.products
        ]
        best_product = shop.products.by_asin(solution.purchase.asin)
        terms = compute_reward(goal, nouns, best_product, solution.purchase.options)
        assert solution.terms == terms
        assert terms.reward == max(rewards)
        assert (solution.obstacle is None) == (max(rewards) == 1.0)
        assert "\n" not in (solution.obstacle or "")
        if rewards[shop.products.number_of(goal.asin)] == max(rewards):
            assert best_product is goal_product


@pytest.mark.parametrize("value", VALUES)
def test_values_that_the_page_cannot_choose_are_known(value):
    product = make_product(options={"any": (value,)})
    assert is_clickable(value) == bool(clickable_values(product)["any"])


@pytest.mark.parametrize(
    ("groups", "goal_options", "chosen"),
    [
        # Of groups that share a value the last one has it.
        (
            {"top": ("large", "red"), "bottom": ("large",)},
            ("large", "red"),
            {"bottom": "large", "top": "red"},
        ),
        # One value may count twice.
        (
            {"a": ("2 pack", "4 pack"), "b": ("2 pack large", "large")},
            ("2 pack", "large"),
            {"b": "2 pack large"},
        ),
        # Fewest choices, though they count for others than the first ones do.
        (
            {"a": ("large", "2 pack cotton"), "b": ("2 pack",)},
            ("large", "2 pack", "cotton"),
            {"a": "2 pack cotton"},
        ),
        # Of equally many those that come first.
        (
            {"a": ("large", "2 pack"), "b": ("large fit",), "c": ("2 pack set",)},
            ("large", "2 pack"),
            {"a": "large", "c": "2 pack set"},
        ),
    ],
)
def test_few_choices_and_then_the_order_of_the_page_decide(
    groups, goal_options, chosen
):
    product = make_product(options=groups)
    goal = make_goal(product, goal_options=goal_options)
    assert best_options(goal, ("shirt",), product)[0] == chosen
    # None without a reward.
    options, terms = best_options(goal, ("lamp",), product)
    assert (options, terms.reward) == ({}, 0.0)


def test_many_values_do_not_take_long():
    values = tuple(f"number {i} of {j}" for i in range(20) for j in range(20))
    groups = {f"group {i}": values[i::8] for i in range(8)}
    product = make_product(options=groups)
    goal = make_goal(product, goal_options=dict.fromkeys(groups, values[0]))
    options, terms = best_options(goal, ("shirt",), product)
    assert terms.reward == 1.0
    assert 1 <= len(options) <= 8


def test_another_product_is_bought_if_the_goals_own_earns_less():
    goal_product = make_product("B1", options={"style": ("tank top",)})
    other = make_product("B2", options={"style": ("style tan", "tank")})
    best = make_product("B3", options={"fit": ("style k", "k tank top style")})
    attributes = ("machine wash", "soft", "wear", "easy", "wash")
    goal = make_goal(
        goal_product, goal_options={"style": "tank top"}, attributes=attributes
    )
    solution = solve(SmallShop([goal_product, other, best], [goal]), goal)
    assert solution.purchase == ("B1", {})
    obstacle = "r_option is 0, as no choice of B1 counts for 'style: tank top'"
    assert obstacle in solution.obstacle
    enough = make_product("B4", options={"style": ("style top",)})
    solution = solve(SmallShop([other, enough, goal_product], [goal]), goal)
    assert solution.purchase == ("B4", {"style": "style top"})
    assert (solution.terms.reward, solution.obstacle) == (1.0, None)


def test_a_product_that_shares_one_noun_of_many_can_be_the_best():
    names = [3 * f"{a}{b}" for a in "abcdef" for b in "uvwxy"]
    goal_product = make_product(
        "B1", title_nouns=tuple("abcdefghijk"), attributes=tuple(names[:2])
    )
    other = make_product("B2", title_nouns=("a",), attributes=tuple(names))
    goal = make_goal(
        goal_product, attributes=tuple(names), price_upper=goal_product.price - 1
    )
    solution = solve(SmallShop([goal_product, other], [goal]), goal)
    assert solution.purchase.asin == "B2"
    assert solution.terms.reward == pytest.approx(0.1 * 30 / 31)


def test_obstacles_are_named():
    product = make_product(
        title="table a b c d e f g h i j k",
        title_nouns=("table",) * 11,
        price=50.0,
        attributes=("x",),
    )
    goal = make_goal(product, attributes=("soft", "it's gone\nfar"), price_upper=40.0)
    assert solve(SmallShop([product], [goal]), goal).obstacle == (
        "no purchase earns more than 0.0333: r_type is 0.1, as the title has 9% of the "
        'nouns of the wanted title; r_att is 0.5 without "it\'s gone\\nfar"; r_price '
        "is false: $50.0 is above $40.0"
    )


@pytest.mark.parametrize(
    ("fields", "query"),
    [
        ({"title": "Plain [NEW] Shirt\n\x85[B1]"}, "plain new shirt b1"),
        ({"title": "<r> shirt"}, "r shirt"),
        ({"title": "[]", "description": "Oil"}, "oil easy to wash"),
        ({"title": "", "query": "men's shirts"}, "<q> men's shirts"),
        ({"title": "", "query": "a[b]", "category": "tea"}, "<c> tea"),
        ({"title": "", "query": "a[b]", "category": "green tea"}, ""),
    ],
)
def test_a_query_shows_the_product(fields, query):
    product = make_product("B2", **fields)

    def hits(query):
        title = product.title.lower().split()
        is_hit = set(query.split()) & set(title) or query == "oil easy to wash"
        return [0] if is_hit else []

    goal = make_goal(product)
    solution = solve(SmallShop([product], [goal], hits), goal)
    assert (solution.query, solution.page) == (query, int(bool(query)))
    assert solution.obstacle == (None if query else "no search shows B2, which earns 1")
    if query:
        assert parse_action(f"search[{query}]") == ("search", query)


@pytest.mark.parametrize(
    ("human", "step", "reachable"), [(False, 35, 183), (True, 1, 13)]
)
def test_solutions_of_the_original_shop(shared, human, step, reachable):
    catalogue = Catalogue.load(**original(shared, human))
    earned = 0
    for number in range(0, len(catalogue.goals), step):
        goal = catalogue.goals[number]
        solution = catalogue.solve(number)
        asin, options = solution.purchase
        assert catalogue.reward(number, solution.purchase) == solution.terms
        earned += solution.obstacle is None
        numbers = catalogue.search_results(solution.query)
        first = (solution.page - 1) * PAGE_SIZE
        on_page = numbers[first : first + PAGE_SIZE]
        assert catalogue.products.number_of(asin) in on_page
        if number % 70 == 0:
            nouns = catalogue.products.by_asin(goal.asin).title_nouns
            bought = catalogue.products.by_asin(asin)
            expected = oracle.reward(goal, nouns, bought, options)
            assert solution.terms._asdict() == expected
    assert earned == reachable


# ------------------------------------------------------------------------ the oracle

QUERIES = ("lamp", "oil tea", "shirt", "zzz", "<r> a", "<q> lamps", "<c> fashion")


def follow(shop, state, action):
    """Return the state after an action, which the page must offer."""
    page = page_of(shop, state)
    if action.startswith("search["):
        assert state.page == "index"
        return show_results(state, action[len("search[") : -1])
    name = action[len("click[") : -1]
    assert action == f"click[{name}]"
    assert name in page.clickables
    after = press_button(state, name)
    if after is not None:
        return after
    if state.page == "results":
        return open_product(state, name.upper(), track_opened=False)
    return choose_option(state, name, shop.products.by_asin(state.asin))


def shop_to_the_end(shop, solution, state):
    """Return the last state and the number of actions."""
    steps = 0
    while (action := next_action(shop, solution, state)) is not None:
        state = follow(shop, state, action)
        steps += 1
        assert steps < 60
    return state, steps


@given(rngs, st.integers(0, 12))
def test_the_purchase_is_reached_from_every_state(rng, steps):
    shop = random_shop(rng, 25)
    number = rng.randrange(len(shop.goals))
    solution = solve(shop, shop.goals[number])
    _, straight = shop_to_the_end(shop, solution, State(number))
    state = State(number)
    for _ in range(steps):
        # Random actions without a purchase.
        if state.page == "index" or rng.random() < 0.05:
            state = show_results(state, rng.choice(QUERIES))
            continue
        choices = [c for c in page_of(shop, state).clickables if c != "buy now"]
        state = follow(shop, state, f"click[{rng.choice(choices)}]")
    state, steps = shop_to_the_end(shop, solution, state)
    assert state.page == "done"
    assert Purchase(state.asin, state.options) == solution.purchase
    # At most one step more than a new search.
    assert steps <= straight + 1
    num_choices = len(solution.purchase.options)
    assert straight == 1 + (solution.page - 1) + 1 + num_choices + 1


SIZES = {"size": ("small", "large"), "color": ("red", "tan"), "fit": ("slim",)}
SHOP = SmallShop(
    [make_product(f"B{n}", options=SIZES) for n in range(100, 145)],
    [make_goal(make_product("B124"))],
    hits=lambda query: list(range(45)) if query == "shirts" else [3, 24],
)
SOLUTION = Solution(
    Purchase("B124", {"size": "large", "color": "red"}),
    solve(SHOP, SHOP.goals[0]).terms,
    query="plain shirt",
    page=1,
    obstacle=None,
)
# From the page of results, one of its pages, the product on it, its chosen options.
NEAREST = [
    ("index", "", 1, None, {}, "search[plain shirt]"),
    ("results", "plain shirt", 1, None, {}, "click[b124]"),
    ("results", "plain shirt", 2, None, {}, "click[< prev]"),
    ("results", "shirts", 1, None, {}, "click[next >]"),
    ("results", "shirts", 3, None, {}, "click[b124]"),
    # A new search is two clicks away from its results.
    ("results", "shirts", 5, None, {}, "click[< prev]"),
    ("results", "shirts", 6, None, {}, "click[back to search]"),
    ("results", "<q> x", 1, None, {}, "click[back to search]"),
    ("results", "<r>", 1, None, {}, "click[back to search]"),
    ("item", "plain shirt", 1, "B101", {}, "click[< prev]"),
    ("item", "shirts", 1, "B101", {}, "click[back to search]"),
    ("reviews", "plain shirt", 1, "B103", {}, "click[< prev]"),
    ("reviews", "shirts", 2, "B103", {}, "click[back to search]"),
    ("item", "plain shirt", 1, "B124", {}, "click[large]"),
    ("item", "plain shirt", 1, "B124", {"color": "red"}, "click[large]"),
    ("item", "plain shirt", 1, "B124", {"size": "small"}, "click[large]"),
    ("item", "plain shirt", 1, "B124", {"size": "large"}, "click[red]"),
    ("item", "plain shirt", 1, "B124", {"fit": "slim"}, "click[< prev]"),
    ("features", "plain shirt", 1, "B124", {"size": "large"}, "click[< prev]"),
    ("item", "plain shirt", 1, "B124", SOLUTION.purchase.options, "click[buy now]"),
    ("done", "plain shirt", 1, "B124", {}, None),
]


def test_the_next_action_is_the_nearest():
    for *place, action in NEAREST:
        assert next_action(SHOP, SOLUTION, State(0, *place)) == action, place
    # There is no way to a product that no search shows.
    nowhere = SOLUTION._replace(query="", page=0)
    assert next_action(SHOP, nowhere, State(0)) is None
