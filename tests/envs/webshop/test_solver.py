"""The solver: its purchases are the best; the oracle: the nearest way to them."""

import random

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from roll_vec.envs.webshop import Catalogue, Purchase
from roll_vec.envs.webshop.actions import parse_action
from roll_vec.envs.webshop.oracle import next_action
from roll_vec.envs.webshop.pages import page_of
from roll_vec.envs.webshop.reward import compute_reward
from roll_vec.envs.webshop.solver import Solution, Solver, best_options, is_clickable
from roll_vec.envs.webshop.state import (
    PAGE_SIZE,
    State,
    choose_option,
    open_product,
    press_button,
    show_results,
)
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
