"""The demo shop: its products never change, are well-formed and meet every goal."""

import hashlib
import json
import os
import random
import re
import subprocess
import sys

import pytest

from roll_vec.envs.webshop.catalogue.catalogue import Catalogue
from roll_vec.envs.webshop.demo_shop.products import (
    generate_asin,
    generate_product,
    title_words,
)
from roll_vec.envs.webshop.demo_shop.vocabulary import load_vocabulary
from roll_vec.envs.webshop.products import Purchase
from tests.conftest import ROOT

# Never changes: other products are a new version of the id.
PINNED = "e59512f0c2526215b93ef3b5b8123087c478974005c923c08961d1b5b7b9dc42"
BUTTONS = {
    *("search", "back to search", "< prev", "next >", "buy now"),
    *("description", "features", "reviews", "attributes"),
}


def digest(products):
    """Return the SHA-256 of products, as JSON."""
    text = json.dumps([product._asdict() for product in products])
    return hashlib.sha256(text.encode()).hexdigest()


def test_the_first_thousand_are_pinned_whatever_the_hash_seed():
    assert digest(map(generate_product, range(1000))) == PINNED
    code = (
        "from tests.envs.webshop.test_demo_shop import digest, generate_product\n"
        "print(digest(map(generate_product, range(1000))))\n"
    )
    environment = {**os.environ, "PYTHONHASHSEED": "12345", "PYTHONPATH": str(ROOT)}
    output = subprocess.run(
        [sys.executable, "-c", code],
        env=environment,
        check=True,
        capture_output=True,
        text=True,
    ).stdout
    assert output.strip() == PINNED


def test_a_product_depends_on_its_number_alone():
    order = list(range(200))
    products = list(map(generate_product, order))
    random.Random(0).shuffle(order)
    random.seed(7)
    state = random.getstate()
    for number in order:
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
        pair = zip(
            generate_asin(number)[2:], generate_asin(number + 1)[2:], strict=True
        )
        assert sum(a == b for a, b in pair) < 6


def test_products_beyond_the_pinned_ones_are_well_formed():
    vocabulary = load_vocabulary()
    kinds = {kind.query: kind for kind in vocabulary.product_types}
    for number in range(10**6, 10**6 + 150):
        item, entry, nouns, human = (
            getattr(generate_product(number), name)
            for name in ("item", "attributes", "title_nouns", "human")
        )
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
        for name in entry["attributes"]:
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
        for wish in human:
            assert set(wish["instruction_attributes"]) <= set(entry["attributes"])
            assert set(wish["instruction_options"]) <= set(values)
            for text in wish["instruction_options"]:
                assert text in wish["instruction"]


@pytest.mark.parametrize("human_goals", [False, True])
def test_every_goal_is_met_by_its_own_product(human_goals):
    catalogue = Catalogue.load(human_goals=human_goals)
    for goal in catalogue.goals[::7]:
        product = catalogue.products[catalogue.products.number_of(goal.asin)]
        if human_goals:
            group = product.group_of_value
            options = {group[value]: value for value in goal.goal_options}
        else:
            options = goal.goal_options
        terms = catalogue.reward(goal, Purchase(goal.asin, options))
        assert terms.reward == 1.0, (goal, terms)
