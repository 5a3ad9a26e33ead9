"""Goals equal WebShop's; solutions and level options of environments."""

import bisect
import gzip
import json
import math
import random

import numpy as np
import pytest

from roll_vec.envs.webshop import WebShop
from roll_vec.envs.webshop.catalogue.builder import make_product
from roll_vec.envs.webshop.catalogue.files import Shop, read_json, read_listings
from roll_vec.envs.webshop.catalogue.goal_builder import build_goals
from roll_vec.envs.webshop.goals import Goals, GoalSelection
from roll_vec.envs.webshop.solver import Solution
from roll_vec.errors import (
    ClosedError,
    InvalidOptionError,
)
from tests.envs.webshop.shops import (
    ATTRIBUTES,
    HUMAN,
    ITEMS,
    original,
    play,
    shirt_goal,
)


def goals_of(shop, human=False, seed=0):
    """Return goals and products of a shop."""
    listings = read_listings(shop)
    rng = random.Random(seed)
    products = [make_product(listing, (), rng) for listing in listings]
    entries, weights = build_goals(listings, products, human, rng)
    return Goals.pack(entries, weights, products), products


def small(human=False, seed=0):
    """Return goals and products of the small shop."""
    return goals_of(Shop(ITEMS, ATTRIBUTES, HUMAN), human, seed)


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


def test_expensive_products_have_no_limit():
    dear = {**ITEMS[1], "pricing": "$985"}
    items = [dear, {**dear, "asin": "B000000009", "pricing": "$5000"}]
    attributes = {item["asin"]: ATTRIBUTES["B000000002"] for item in items}
    goals, _ = goals_of(Shop(items, attributes, {}))
    assert [goal.price_upper for goal in goals] == [1_000_000.0] * 2
    assert [goal.instruction_text for goal in goals] == ["Find me tables"] * 2


def test_a_shop_without_goals_says_which_file_has_them():
    with pytest.raises(InvalidOptionError, match=r"human_goals: True.*human_instr"):
        goals_of(Shop(ITEMS, ATTRIBUTES, {}), human=True)
    with pytest.raises(InvalidOptionError, match=r"human_goals: False.*attributes"):
        goals_of(Shop(ITEMS, {}, HUMAN))


def random_idx(cumulated, rng):
    """Return a position as WebShop's function of this name draws it."""
    position = rng.uniform(0, cumulated[-1])
    return min(bisect.bisect(cumulated, position), len(cumulated) - 2)


def test_goals_are_drawn_one_place_off_as_in_webshop():
    weights = np.array([0.5, 3.0, 0.25, 1.0])
    selection = GoalSelection(np.array([7, 5, 9, 2]), weights)
    cumulated = [0.0, *np.cumsum(weights).tolist()]
    rng, oracle_rng = random.Random(3), random.Random(3)
    positions = [selection.draw_position(rng) for _ in range(2000)]
    assert positions == [random_idx(cumulated, oracle_rng) for _ in range(2000)]
    assert set(positions) == {1, 2, 3}
    assert GoalSelection(np.array([4]), np.ones(1)).draw_position(rng) == 0


def test_a_limit_draws_distinct_goals_with_the_generator_that_shuffled():
    goals, _ = small()
    rng = random.Random(233)
    rng.shuffle(list(range(5)))
    cumulated = [0.0, *np.cumsum(goals.weights).tolist()]
    expected = []
    while len(expected) < 3:
        position = random_idx(cumulated, rng)
        if position not in expected:
            expected.append(position)
    assert goals.select(limit_goals=3)[:] == expected
    assert goals.select(limit_goals=5)[:] == list(range(5))
    assert goals.select(limit_goals=99)[:] == list(range(5))


def test_a_filter_comes_before_the_limit():
    goals, _ = small()
    shirts = [i for i, goal in enumerate(goals) if "shirt" in goal.instruction_text]
    checks = []

    def keep(i, goal):
        checks.append(goal is goals[i])
        return "shirt" in goal.instruction_text

    assert goals.select(keep)[:] == shirts
    assert checks == [True] * 5
    limited = goals.select(keep, 2)
    assert len(limited) == 2
    assert set(limited[:]) <= set(shirts)
    with pytest.raises(InvalidOptionError, match=r"filter_goals: none of the 5 goals"):
        goals.select(lambda i, goal: False)


def test_splits_are_places_after_filter_and_limit():
    items, attributes = [], {}
    for number in range(1600):
        asin = f"A{number:09d}"
        items.append({**ITEMS[1], "asin": asin})
        attributes[asin] = ATTRIBUTES["B000000002"]
    goals, _ = goals_of(Shop(items, attributes, {}))
    for split, expected in (
        ("all", range(1600)),
        ("test", range(500)),
        ("eval", range(500, 1500)),
        ("train", range(1500, 1600)),
    ):
        assert goals.select(split=split)[:] == list(expected)
    odd = goals.select(lambda i, goal: i % 2 == 1, None, "eval")
    assert odd[:] == list(range(1001, 1600, 2))
    assert goals.select(split="eval") is goals.select(split="eval")
    few, _ = small()
    with pytest.raises(InvalidOptionError, match=r"split: 'train' begins at goal 1500"):
        few.select(split="train")


INFOS = {"seed_info": True, "level_info": True, "oracle_return_info": True}


def demo_shop(**keywords):
    """Return an environment in a small demo shop."""
    return WebShop(num_products=60, **keywords)


def wander(env, rng, steps):
    """Take random actions without a purchase."""
    for _ in range(steps):
        actions = [a for a in env.get_available_actions() if a != "click[buy now]"]
        action = rng.choice([*actions, "search[red shoes]", "search[<r>]"])
        env.step(action.replace("<content>", "warm coat"))


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
        wander(env, rng, seed % 7)
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


def test_there_is_a_solution_only_within_an_episode(shop):
    assert not {*INFOS, "seed", "level"} & demo_shop().reset(seed=1)[1].keys()
    env = shop()
    env.reset(options={"session": shirt_goal(env)})
    assert env.solve()[-1] == "click[buy now]"
    assert "click[navy blue]" in env.solve()
    env.close()
    with pytest.raises(ClosedError):
        env.solve()


def test_a_product_that_no_search_shows(shop, monkeypatch):
    env = shop(oracle_return_info=True)
    _, info = env.reset(seed=1)
    assert 0 < info["oracle_return"] <= 1
    hidden: Solution = env.catalogue.solve(info["goal"])._replace(query="", page=0)
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
