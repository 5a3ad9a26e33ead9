"""Goals equal WebShop's; those of the demo shop never change; solutions of episodes."""

import bisect
import gzip
import hashlib
import itertools
import json
import math
import random
from collections import defaultdict
from dataclasses import fields

import numpy as np
import pytest

from roll_vec.envs.webshop import Catalogue, WebShop
from roll_vec.envs.webshop.catalogue import draw_products
from roll_vec.envs.webshop.files import Shop, read_json, read_listings
from roll_vec.envs.webshop.goals import Goals, build_goals
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
    shop = Shop(*map(read_json, names, map(files.get, names), (list, dict, dict)))
    goals, products = goals_of(shop, kind == "human")
    path = shared / "golden" / f"webshop_goals_{kind}_seed0.json.gz"
    golden = json.loads(gzip.decompress(path.read_bytes()))
    assert len(goals) == golden["num_goals"]
    assert {p.asin: p.price for p in products} == golden["product_prices"]
    for goal, record in zip(goals, golden["goals"], strict=False):
        fields = {name: getattr(goal, name) for name in record}
        assert json.loads(json.dumps(fields)) == record


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


# Never changes: other products are a new version of the id.
PINNED = "20b10330423040d597e1cf0f40ef5a86ff2c2760d23daa8f42466f6c84bcc818"


def test_the_demo_shop_never_changes():
    shop = Catalogue.load()
    assert len(shop.products) == 1000
    assert shop.title_nouns_source == "embedded"
    # Fields alone: another test may have read a cached property.
    records = [
        {field.name: getattr(record, field.name) for field in fields(record)}
        for record in (*shop.products, *shop.goals)
    ]
    text = json.dumps(records, sort_keys=True)
    assert hashlib.sha256(text.encode()).hexdigest() == PINNED


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
        expected = info["oracle_return"]
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
