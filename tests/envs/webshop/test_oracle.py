"""The oracle: it reaches the best purchase from every state, by the shortest way."""

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from roll_vec.envs.webshop.catalogue.catalogue import Catalogue
from roll_vec.envs.webshop.oracle import next_action
from roll_vec.envs.webshop.pages import page_of
from roll_vec.envs.webshop.products import Purchase
from roll_vec.envs.webshop.solver import Solution, Solver
from roll_vec.envs.webshop.state import (
    State,
    choose_option,
    open_product,
    press_button,
    show_results,
)
from tests.envs.webshop.shops import original
from tests.envs.webshop.small_shop import (
    SmallShop,
    make_goal,
    make_product,
    random_shop,
)

# Seeds are faster than hypothesis' own generators, which draw number by number.
rngs = st.integers(0, 1 << 32).map(random.Random)

QUERIES = ("lamp", "oil tea", "shirt", "zzz", "<r> a", "<q> lamps", "<c> fashion")


def solve(shop, number):
    """Return the solution of a goal."""
    return Solver(shop.products, shop.search_results).solve(shop.goals[number])


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
    product = shop.products[shop.products.number_of(state.asin)]
    return choose_option(state, name, product)


def random_actions(shop, state, rng, steps):
    """Return the state after random actions without a purchase."""
    for _ in range(steps):
        if state.page == "index" or rng.random() < 0.05:
            state = show_results(state, rng.choice(QUERIES))
            continue
        choices = [c for c in page_of(shop, state).clickables if c != "buy now"]
        state = follow(shop, state, f"click[{rng.choice(choices)}]")
    return state


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
    solution = solve(shop, number)
    _, straight = shop_to_the_end(shop, solution, State(number))
    start = random_actions(shop, State(number), rng, steps)
    state, steps = shop_to_the_end(shop, solution, start)
    assert state.page == "done"
    assert Purchase(state.asin, state.options) == solution.purchase
    # At most one step more than a new search.
    assert steps <= straight + 1
    num_choices = len(solution.purchase.options)
    assert straight == 1 + (solution.page - 1) + 1 + num_choices + 1


OPTIONS = {"size": ("small", "large"), "color": ("red", "tan"), "fit": ("slim",)}
SHOP = SmallShop(
    [make_product(f"B{n}", options=OPTIONS) for n in range(100, 145)],
    [make_goal(make_product("B124"))],
    hits=lambda query: list(range(45)) if query == "shirts" else [3, 24],
)
SOLUTION = Solution(
    Purchase("B124", {"size": "large", "color": "red"}),
    solve(SHOP, 0).terms,
    query="plain shirt",
    page=1,
    obstacle=None,
)


@pytest.mark.parametrize(
    ("page", "fields", "action"),
    [
        ("index", {}, "search[plain shirt]"),
        ("results", {"keywords": "plain shirt"}, "click[b124]"),
        ("results", {"keywords": "plain shirt", "page_no": 2}, "click[< prev]"),
        ("results", {"keywords": "shirts"}, "click[next >]"),
        ("results", {"keywords": "shirts", "page_no": 3}, "click[b124]"),
        # A new search is two clicks away from its results.
        ("results", {"keywords": "shirts", "page_no": 5}, "click[< prev]"),
        ("results", {"keywords": "shirts", "page_no": 6}, "click[back to search]"),
        ("results", {"keywords": "<q> x"}, "click[back to search]"),
        ("results", {"keywords": "<r>"}, "click[back to search]"),
        ("item", {"asin": "B101", "keywords": "plain shirt"}, "click[< prev]"),
        ("item", {"asin": "B101", "keywords": "shirts"}, "click[back to search]"),
        ("reviews", {"asin": "B103", "keywords": "plain shirt"}, "click[< prev]"),
        (
            "reviews",
            {"asin": "B103", "keywords": "shirts", "page_no": 2},
            "click[back to search]",
        ),
        ("item", {"asin": "B124"}, "click[large]"),
        ("item", {"asin": "B124", "options": {"color": "red"}}, "click[large]"),
        ("item", {"asin": "B124", "options": {"size": "small"}}, "click[large]"),
        ("item", {"asin": "B124", "options": {"size": "large"}}, "click[red]"),
        ("item", {"asin": "B124", "options": {"fit": "slim"}}, "click[< prev]"),
        ("features", {"asin": "B124", "options": {"size": "large"}}, "click[< prev]"),
        (
            "item",
            {"asin": "B124", "options": {"color": "red", "size": "large"}},
            "click[buy now]",
        ),
        ("done", {"asin": "B124"}, None),
    ],
)
def test_the_next_action_is_the_nearest(page, fields, action):
    state = State(0, page, **{"keywords": "plain shirt", **fields})
    assert next_action(SHOP, SOLUTION, state) == action


def test_there_is_no_way_to_a_product_that_no_search_shows():
    nowhere = SOLUTION._replace(query="", page=0)
    assert next_action(SHOP, nowhere, State(0)) is None


def test_the_purchase_is_reached_in_the_original_shop(shared):
    catalogue = Catalogue.load(**original(shared))
    rng = random.Random(11)
    for number in range(0, len(catalogue.goals), 150):
        solution = catalogue.solve(number)
        start = random_actions(catalogue, State(number), rng, rng.randrange(10))
        state, steps = shop_to_the_end(catalogue, solution, start)
        assert Purchase(state.asin, state.options) == solution.purchase
        assert steps <= 5 + solution.page + len(solution.purchase.options)
