"""Goals equal WebShop's; those of the demo shop never change; solutions of episodes."""

import bisect
import gzip
import hashlib
import itertools
import json
import math
import random
import re
from collections import defaultdict

import numpy as np
import pytest

from roll_vec.envs.webshop import Catalogue, Purchase, WebShop
from roll_vec.envs.webshop.catalogue import draw_products
from roll_vec.envs.webshop.demo_shop.products import (
    generate_asin,
    generate_product,
    title_words,
)
from roll_vec.envs.webshop.demo_shop.vocabulary import load_vocabulary
from roll_vec.envs.webshop.files import Shop, read_json, read_listings
from roll_vec.envs.webshop.goals import Goals, GoalSelection, build_goals
from roll_vec.errors import ClosedError, InvalidOptionError
from tests.envs.webshop.shops import ATTRIBUTES, ITEMS, TABLE, original, play


def goals_of(shop, human=False):
    rng = random.Random(0)
    listings = read_listings(shop)
    products = draw_products(listings, defaultdict(tuple), rng)
    goals = Goals.pack(*build_goals(listings, products, human, rng))
    goals.products = products
    return goals, products


@pytest.mark.parametrize("kind", ["synthetic", "human"])
def test_goals_and_prices_equal_the_originals(shared, kind):
    files = original(shared)
    names = ("products", "attributes", "human_instructions")
    shop = Shop(*(read_json(name, files[name]) for name in names))
    goals, products = goals_of(shop, kind == "human")
    path = shared / "golden" / f"webshop_goals_{kind}_seed0.json.gz"
    golden = json.loads(gzip.decompress(path.read_bytes()))
    assert len(goals) == golden["num_goals"]
    assert {p.asin: p.price for p in products} == golden["product_prices"]
    for goal, record in zip(goals, golden["goals"], strict=False):
        fields = {name: getattr(goal, name) for name in record}
        assert json.loads(json.dumps(fields)) == record


# ------------------------------------------------------------------- filter and split

PLACES = {
    "all": slice(None),
    "test": slice(500),
    "eval": slice(500, 1500),
    "train": slice(1500, None),
}


def random_idx(cumulated, rng):
    """Return a position as WebShop's function of this name draws it."""
    position = rng.uniform(0, cumulated[-1])
    return min(bisect.bisect(cumulated, position), len(cumulated) - 2)


def select(goals, keep, limit, split):
    """Return the numbers of goals that remain, by WebShop's rules."""
    numbers = [
        number for number, goal in enumerate(goals) if not keep or keep(number, goal)
    ]
    if limit is not None and limit < len(numbers):
        # From the generator that has shuffled all goals.
        rng = random.Random(233)
        rng.shuffle(list(range(len(goals))))
        cumulated = [0.0, *np.cumsum(goals.weights[numbers]).tolist()]
        drawn = []
        while len(drawn) < limit:
            position = random_idx(cumulated, rng)
            if position not in drawn:
                drawn.append(position)
        numbers = [numbers[position] for position in drawn]
    return numbers[PLACES[split]]


@pytest.fixture(scope="module")
def many_goals():
    """Return 1,600 goals; some attributes, and so their goals, are rarer."""
    items, attributes = [], {}
    for number in range(1600):
        asin = f"A{number:09d}"
        items.append({**ITEMS[1], "asin": asin})
        names = ["solid wood", f"wood {number % 7 * number % 5}"]
        attributes[asin] = {**ATTRIBUTES[TABLE], "instruction_attributes": names}
    return goals_of(Shop(items, attributes, {}))[0]


@pytest.mark.parametrize("split", PLACES)
def test_goals_that_remain_after_filter_limit_and_split(many_goals, split):
    goals = many_goals
    assert len(set(goals.weights)) > 2

    def is_odd(number, goal):
        assert goal is goals[number]
        return number % 2 == 1

    for keep, limit in itertools.product((None, is_odd), (None, 3, 600, 1600, 5000)):
        expected = select(goals, keep, limit, split)
        if expected:
            numbers = goals.select(keep, limit, split).numbers
            assert numbers.tolist() == expected
            continue
        with pytest.raises(
            InvalidOptionError, match=f"split: '{split}' begins at goal"
        ):
            goals.select(keep, limit, split)
    with pytest.raises(InvalidOptionError, match=r"filter_goals: none of the 1600 goa"):
        goals.select(lambda number, goal: False, None, split)
    assert goals.select(split=split) is goals.select(split=split)


def test_goals_are_drawn_one_place_off_as_in_webshop():
    weights = np.array([0.5, 3.0, 0.25, 1.0])
    selection = GoalSelection(np.array([7, 5, 9, 2]), weights)
    cumulated = [0.0, *np.cumsum(weights).tolist()]
    rng, oracle_rng = random.Random(3), random.Random(3)
    positions = [selection.draw_position(rng) for _ in range(2000)]
    assert positions == [random_idx(cumulated, oracle_rng) for _ in range(2000)]
    assert set(positions) == {1, 2, 3}
    assert GoalSelection(np.array([4]), np.ones(1)).draw_position(rng) == 0


# Never changes: other products are a new version of the id.
PINNED = "e59512f0c2526215b93ef3b5b8123087c478974005c923c08961d1b5b7b9dc42"
BUTTONS = {
    *("search", "back to search", "< prev", "next >", "buy now"),
    *("description", "features", "reviews", "attributes"),
}


def test_a_product_depends_on_its_number_alone():
    # Nor on the seed of hashes, which is another one in every process.
    products = list(map(generate_product, range(1000)))
    text = json.dumps([product._asdict() for product in products])
    assert hashlib.sha256(text.encode()).hexdigest() == PINNED
    random.seed(7)
    state = random.getstate()
    for number in random.Random(0).sample(range(1000), 100):
        assert generate_product(number) == products[number]
    assert random.getstate() == state
    # Nothing that was handed out is shared.
    products[3].item["small_description"].append("changed")
    products[3].attributes["attributes"].append("changed")
    assert generate_product(3) != products[3]
    assert generate_product(3).item["small_description"][-1] != "changed"


def test_asins_are_unique():
    numbers = [*range(20_000), *range(36**4 - 500, 36**4 + 500)]
    numbers += [*range(10**7 - 10_000, 10**7), 36**8 - 1]
    asins = {generate_asin(number) for number in numbers}
    assert len(asins) == len(numbers)
    assert all(re.fullmatch("RV[0-9A-Z]{8}", asin) for asin in asins)
    # Neighbours do not look alike.
    for number in range(1000):
        one, other = generate_asin(number), generate_asin(number + 1)
        assert sum(a == b for a, b in zip(one[2:], other[2:], strict=True)) < 6


def test_products_beyond_the_pinned_ones_are_well_formed():
    vocabulary = load_vocabulary()
    kinds = {kind.query: kind for kind in vocabulary.product_types}
    for number in range(10**6, 10**6 + 150):
        product = generate_product(number)
        item, nouns = product.item, product.title_nouns
        assert item["asin"] == generate_asin(number)
        assert item["category"] == kinds[item["query"]].category
        prices = [float(text) for text in item["pricing"].split("$")[1:]]
        assert prices == sorted(prices)
        assert all(2 < price < 1000 for price in prices)
        texts = [item["name"], item["full_description"], *item["small_description"]]
        for text in texts:
            assert text == " ".join(text.split())
            assert text.isprintable()
            assert not set("{}[]|*") & set(text)
            assert not re.search(r"\b(\w+) \1\b|\ba [aeio]", text.lower()), text
        # As a phrase, or as its words: "easy to clean" for easy clean.
        words = set(re.findall(r"[a-z]+", " ".join(texts).lower()))
        for name in product.attributes["attributes"]:
            assert set(re.findall(r"[a-z]{2,}", name)) <= words
        assert nouns == [word for word in title_words(item["name"]) if word in nouns]
        assert not vocabulary.not_nouns & set(nouns)
        # So that a title is always like itself; the reward counts repetitions.
        assert len(set(nouns)) == len(nouns) > 3
        groups = (item["customization_options"] or {}).values()
        values = [one["value"].lower() for group in groups for one in group]
        assert len(set(values)) == len(values)
        assert not BUTTONS & set(values)
        assert not any(set("[]/<>&'\"\\\n") & set(value) for value in values)
        for wish in product.human:
            names = set(wish["instruction_attributes"])
            assert names <= set(product.attributes["attributes"])
            assert set(wish["instruction_options"]) <= set(values)
            for text in wish["instruction_options"]:
                assert text in wish["instruction"]


@pytest.mark.parametrize("human_goals", [False, True])
def test_every_goal_is_met_by_its_own_product(human_goals):
    catalogue = Catalogue.load(num_products=250, human_goals=human_goals)
    for goal in catalogue.goals[::5]:
        options = goal.goal_options
        if human_goals:
            group_of = catalogue.products.by_asin(goal.asin).group_of_value
            options = {group_of[value]: value for value in options}
        terms = catalogue.reward(goal, Purchase(goal.asin, options))
        assert terms.reward == 1.0, (goal, terms)


INFOS = {"seed_info": True, "level_info": True, "oracle_return_info": True}


def demo_shop(**keywords):
    """Return an environment in a small demo shop."""
    return WebShop(num_products=60, **keywords)


@pytest.mark.parametrize("mode", ["text", "text_rich"])
def test_solutions_earn_the_oracles_return_from_every_page(mode):
    env = demo_shop(observation_mode=mode, num_levels=30, start_level=7, **INFOS)
    rng = random.Random(1)
    lengths = set()
    for seed in range(18):
        info = env.reset(seed=seed)[1]
        assert (info["seed"], info["level"]) == (seed, 7 + seed % 30)
        expected, note = info["oracle_return"], env.oracle_note
        assert (note is None) == (expected == 1.0)
        assert note is None or note.startswith(f"goal {info['goal']}: ")
        # Wander, without a purchase.
        for _ in range(seed % 7):
            actions = [a for a in env.get_available_actions() if a != "click[buy now]"]
            action = rng.choice([*actions, "search[red shoes]", "search[<r>]"])
            env.step(action.replace("<content>", "warm coat"))
        state = env.get_state()
        solution = env.solve()
        assert env.get_state() == state, "solving moves nothing"
        assert solution[0] == env.oracle_action
        *_, reward, terminated, _, info = play(env, *solution)
        assert terminated
        assert reward == expected
        assert info["success"] == (reward == 1)
        lengths.add(len(solution))
        assert env.solve() is None
    assert len(lengths) > 3
    assert not {*INFOS, "seed", "level"} & demo_shop().reset(seed=1)[1].keys()
    env.close()
    with pytest.raises(ClosedError):
        env.solve()


def test_a_product_that_no_search_shows(shop, monkeypatch):
    env = shop(oracle_return_info=True)
    _, info = env.reset(seed=1)
    assert 0 < info["oracle_return"] <= 1
    hidden = env.catalogue.solve(info["goal"])._replace(query="", page=0)
    monkeypatch.setattr(env.catalogue, "solve", lambda goal: hidden)
    assert math.isnan(env.reset(seed=1)[1]["oracle_return"])
    assert env.solve() is None


def test_level_options_begin_with_the_next_episode():
    env = demo_shop()
    env.reset(seed=12)
    play(env, "search[<r>]")
    page = env.step("search[<r>]")[0]
    env.set_level_options(num_levels=2, start_level=30, limit_goals=5)
    # Random lists depend on the level.
    assert env.step("search[<r>]")[0] == page
    twin = demo_shop(num_levels=2, start_level=30, limit_goals=5)
    for seed in range(6):
        assert env.reset(seed=seed) == twin.reset(seed=seed)
        assert env.step("search[<r>]") == twin.step("search[<r>]")
    env.set_level_options(limit_goals=None, num_levels=0, start_level=0)
    assert env.reset(seed=9) == demo_shop().reset(seed=9)
