"""The reward, its best purchases by the solver, and the nearest way to them.

The terms of the reward equal the original's and those of a plain statement; the oracle
goes the way.
"""

import random
import sys

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from roll_vec.envs.webshop import Catalogue, reward
from roll_vec.envs.webshop.pages import page_of
from roll_vec.envs.webshop.products import Purchase
from roll_vec.envs.webshop.reward import compute_reward, find_color, fuzzy_match
from roll_vec.envs.webshop.solver import best_options
from roll_vec.envs.webshop.state import (
    PAGE_SIZE,
    State,
    choose_option,
    open_product,
    parse_action,
    press_button,
    show_results,
)
from roll_vec.errors import MissingExtraError
from tests.envs.webshop import shops
from tests.oracles import webshop_reward as oracle

# Seeds are faster than hypothesis' own generators, which draw number by number.
rngs = st.integers(0, 1 << 32).map(random.Random)


def test_terms_equal_the_oracles_on_the_original_shop(shared):
    catalogue = Catalogue.load(**shops.original(shared))
    rng = random.Random(4)
    for _ in range(400):
        goal = catalogue.goals[rng.randrange(len(catalogue.goals))]
        goal_product = catalogue.products.by_asin(goal.asin)
        near = catalogue.search_results(f"<q> {goal.query}")
        number = rng.choice([rng.randrange(1000), *near[:5]])
        product = rng.choice([goal_product, catalogue.products[number]])
        options = {n: rng.choice(v) for n, v in product.options.items() if v}
        shops.terms_of(goal, goal_product.title_nouns, product, options)


@given(rngs)
def test_terms_equal_the_oracles_on_random_purchases(rng):
    for _ in range(5):
        goal_product, product = (
            shops.random_product(rng, asin) for asin in ("B1", "B2")
        )
        goal = shops.random_goal(rng, goal_product)
        options = {n: rng.choice(v) for n, v in product.options.items() if v}
        terms = shops.terms_of(goal, goal_product.title_nouns, product, options)
        weights = terms.w_att + (terms.w_option or 0.0) + terms.w_price
        assert weights == pytest.approx(1.0)
        assert 0.0 <= terms.reward <= 1.0


words = st.sampled_from(
    [*shops.VALUES, "xx large", "l", "\xa0", "\u0130\xdf", "2-pack", "__"]
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


def test_missing_rapidfuzz_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "rapidfuzz", None)
    reward._import_rapidfuzz.cache_clear()
    reward.fuzzy_match.cache_clear()
    try:
        with pytest.raises(MissingExtraError, match=r"rapidfuzz.*roll-vec\[webshop\]"):
            fuzzy_match("a", "b")
    finally:
        reward._import_rapidfuzz.cache_clear()


def clickable_values(product):
    """Return the clickable values by group, each tried on the page itself."""
    state = State(0, "item", asin=product.asin)
    shop = shops.SmallShop([product], [shops.make_goal(product)])
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
    goal_product, product = (shops.random_product(rng, asin) for asin in ("B1", "B2"))
    goal, nouns = shops.random_goal(rng, goal_product), goal_product.title_nouns
    options, terms = best_options(goal, nouns, product)
    assert (options, terms._asdict()) == best_by_the_oracle(goal, nouns, product)
    assert terms == compute_reward(goal, nouns, product, options)


@given(rngs)
def test_a_purchase_is_the_best_of_all_products(rng):
    shop = shops.random_shop(rng, 6)
    for goal in shop.goals:
        solution = shops.solve(shop, goal)
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
        if rewards[shop.products.number_of(goal.asin)] == max(rewards):
            assert best_product is goal_product


def test_many_values_do_not_take_long():
    values = tuple(f"number {i} of {j}" for i in range(20) for j in range(20))
    groups = {f"group {i}": values[i::8] for i in range(8)}
    product = shops.make_product(options=groups)
    goal = shops.make_goal(product, goal_options=dict.fromkeys(groups, values[0]))
    options, terms = best_options(goal, ("shirt",), product)
    assert terms.reward == 1.0
    assert 1 <= len(options) <= 8


@pytest.mark.parametrize(
    ("human", "step", "reachable"), [(False, 35, 183), (True, 1, 13)]
)
def test_solutions_of_the_original_shop(shared, human, step, reachable):
    catalogue = Catalogue.load(**shops.original(shared, human))
    earned = 0
    for number in range(0, len(catalogue.goals), step):
        goal = catalogue.goals[number]
        solution = catalogue.solve(number)
        asin, options = solution.purchase
        assert catalogue.reward(number, solution.purchase) == solution.terms
        earned += solution.terms.reward == 1.0
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
    while (action := shops.next_action(shop, solution, state)) is not None:
        state = follow(shop, state, action)
        steps += 1
        assert steps < 60
    return state, steps


@given(rngs, st.integers(0, 12))
def test_the_purchase_is_reached_from_every_state(rng, steps):
    shop = shops.random_shop(rng, 25)
    number = rng.randrange(len(shop.goals))
    solution = shops.solve(shop, shop.goals[number])
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
