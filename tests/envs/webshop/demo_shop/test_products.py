"""The demo shop: its products never change, are well-formed and meet every goal."""

import hashlib
import json
import math
import os
import random
import re
import subprocess
import sys
from collections import Counter

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
    "search",
    "back to search",
    "< prev",
    "next >",
    "description",
    "features",
    "reviews",
    "attributes",
    "buy now",
}


@pytest.fixture(scope="module")
def products():
    """Return the first thousand products."""
    return [generate_product(number) for number in range(1000)]


def digest(products):
    """Return the SHA-256 of products, as JSON."""
    text = json.dumps([product._asdict() for product in products])
    return hashlib.sha256(text.encode()).hexdigest()


def options_of(product):
    """Return the values of each group of options, as the item has them."""
    return {
        name: [content["value"] for content in contents]
        for name, contents in (product.item["customization_options"] or {}).items()
    }


def test_the_first_thousand_are_pinned(products):
    assert digest(products) == PINNED


def test_products_do_not_depend_on_the_hash_seed(products):
    code = (
        "from roll_vec.envs.webshop.demo_shop.products import generate_product\n"
        "from tests.envs.webshop.demo_shop.test_products import digest\n"
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
    assert output.strip() == digest(products)


def test_a_product_depends_on_its_number_alone(products):
    order = list(range(1000))
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
    products[3] = generate_product(3)


def test_asins_are_unique():
    numbers = [*range(150_000), *range(36**4 - 500, 36**4 + 500)]
    numbers += [*range(10**7 - 50_000, 10**7), 36**8 - 1]
    asins = {generate_asin(number) for number in numbers}
    assert len(asins) == len(numbers)
    assert all(re.fullmatch("RV[0-9A-Z]{8}", asin) for asin in asins)
    # Neighbours do not look alike.
    for number in range(1000):
        pair = zip(
            generate_asin(number)[2:], generate_asin(number + 1)[2:], strict=True
        )
        assert sum(a == b for a, b in pair) < 6


def test_items_have_the_form_of_webshops_files(products):
    paths = {kind.query: kind for kind in load_vocabulary().product_types}
    for number, product in enumerate(products):
        item = product.item
        assert item["asin"] == generate_asin(number)
        assert 20 < len(item["name"]) <= 200
        assert len(item["full_description"]) > 60
        assert 2 <= len(item["small_description"]) <= 9
        assert re.fullmatch(r"(\$\d+\.\d\d?){0,2}", item["pricing"])
        prices = [float(text) for text in item["pricing"].split("$")[1:]]
        assert prices == sorted(prices)
        assert all(2 < price < 1000 for price in prices)
        kind = paths[item["query"]]
        assert item["category"] == kind.category
        assert 3 <= len(item["product_category"].split(" \u203a ")) <= 5
        for text in (
            item["name"],
            item["full_description"],
            *item["small_description"],
        ):
            assert text == " ".join(text.split())
            assert text.isprintable()
            assert not set("{}[]|*") & set(text)
            assert not re.search(r"\b(\w+) \1\b", text.lower()), text
            assert not re.search(r"\ba [aeio]", text.lower()), text
        for sentence in (item["full_description"], *item["small_description"]):
            assert sentence[0].isupper() or sentence[0].isdigit()
            assert sentence[-1] in ".?!"


def test_options_can_be_clicked(products):
    for product in products:
        groups = options_of(product)
        assert len(groups) <= 3
        values = [value.lower() for group in groups.values() for value in group]
        assert len(set(values)) == len(values)
        assert not BUTTONS & set(values)
        for value in values:
            assert value == value.strip()
            assert value.isascii()
            assert not set("[]/<>&'\"\\\n") & set(value)
        assert all(2 <= len(group) <= 7 for group in groups.values())


def test_requests_name_attributes_and_options_of_the_product(products):
    vocabulary = load_vocabulary()
    for product in products:
        entry, groups = product.attributes, options_of(product)
        values = {value.lower() for group in groups.values() for value in group}
        attributes = entry["attributes"]
        assert len(set(attributes)) == len(attributes)
        if "instruction" in entry:
            names = entry["instruction_attributes"]
            assert names
            assert set(names) <= set(attributes)
            assert product.item["query"] in entry["instruction"]
            for name in names:
                assert name in entry["instruction"]
        for wish in product.human:
            names = wish["instruction_attributes"]
            assert names
            assert set(names) <= set(attributes)
            assert set(wish["instruction_options"]) <= values
            for text in wish["instruction_options"]:
                assert text in wish["instruction"]
            for name in names:
                words = {name, vocabulary.attributes[name].predicate}
                assert any(word in wish["instruction"] for word in words)
            assert not re.search(r"\ba [aeio]|[*{}]|  ", wish["instruction"])


def test_texts_contain_the_attributes_of_the_product(products):
    # As a phrase, or as its words: "easy to clean" for easy clean.
    for product in products:
        item = product.item
        texts = [item["name"], item["full_description"], *item["small_description"]]
        words = set(re.findall(r"[a-z]+", " ".join(texts).lower()))
        for name in product.attributes["attributes"]:
            assert set(re.findall(r"[a-z]{2,}", name)) <= words


def test_statistics(products):
    items = [product.item for product in products]
    assert len({item["name"] for item in items}) == len(items)
    categories = Counter(item["category"] for item in items)
    assert set(categories) == {"beauty", "electronics", "garden", "fashion", "grocery"}
    assert min(categories.values()) > 150
    queries = Counter(item["query"] for item in items)
    assert len(queries) == len(load_vocabulary().product_types) == 55
    assert min(queries.values()) > 5
    assert 450 < sum(bool(item["customization_options"]) for item in items) < 650
    assert 60 < sum(item["pricing"].count("$") == 2 for item in items) < 140
    assert 0 < sum(item["pricing"] == "" for item in items) < 25
    with_request = [
        product for product in products if "instruction" in product.attributes
    ]
    assert 800 < len(with_request) < 900
    choices = [
        math.prod(map(len, options_of(product).values())) for product in with_request
    ]
    assert 5000 < sum(choices) < 8000
    assert 900 < sum(len(product.human) for product in products) < 1100
    words = [
        len(f"{item['name']} {item['full_description']}".split()) for item in items
    ]
    assert 60 < sum(words) / len(words) < 120


def test_title_nouns_are_words_of_the_title(products):
    vocabulary = load_vocabulary()
    for product in products:
        words = title_words(product.item["name"])
        nouns = product.title_nouns
        assert nouns == [word for word in words if word in set(nouns)]
        assert not vocabulary.not_nouns & set(nouns)
        # So that a title is always like itself; the reward counts repetitions.
        assert len(set(nouns)) == len(nouns) > 3
        assert any(
            start.lower() + end in nouns
            for start in vocabulary.brand_starts
            for end in vocabulary.brand_ends
        )


def test_the_list_of_other_words_has_none_that_is_not_used():
    words_in_use = {"by"}
    for kind in load_vocabulary().product_types:
        for part in (kind.forms, kind.looks, kind.materials, kind.extras, kind.uses):
            words_in_use.update(word for text in part for word in title_words(text))
        words_in_use.update(word for text in kind.tails for word in title_words(text))
    for attribute in load_vocabulary().attributes.values():
        words_in_use.update(title_words(f"{attribute.place} {attribute.title}"))
    assert words_in_use >= load_vocabulary().not_nouns


def test_every_attribute_is_of_some_product():
    words_in_use = {
        attribute.name
        for kind in load_vocabulary().product_types
        for group in kind.attributes
        for attribute in group
    }
    materials = {
        text.lower()
        for kind in load_vocabulary().product_types
        for text in kind.materials
    }
    assert set(load_vocabulary().attributes) <= words_in_use | materials
    for attribute in load_vocabulary().attributes.values():
        assert attribute.place in ("before", "with", "for")
        assert attribute.stories
        assert attribute.bullets


@pytest.mark.parametrize("human_goals", [False, True])
def test_every_goal_is_met_by_its_own_product(human_goals):
    catalogue = Catalogue.load(human_goals=human_goals)
    for goal in catalogue.goals:
        product = catalogue.products[catalogue.products.number_of(goal.asin)]
        if human_goals:
            group = product.group_of_value
            options = {group[value]: value for value in goal.goal_options}
        else:
            options = goal.goal_options
        terms = catalogue.reward(goal, Purchase(goal.asin, options))
        assert terms.reward == 1.0, (goal, terms)


def test_a_goal_needs_reading():
    # The first hit, bought as it is, is seldom what was asked for.
    catalogue = Catalogue.load()
    earned = []
    for number in range(0, len(catalogue.goals), 20):
        goal = catalogue.goals[number]
        first = catalogue.products[catalogue.search_results(goal.instruction_text)[0]]
        earned.append(catalogue.reward(goal, Purchase(first.asin, {})).reward)
    assert sum(reward == 1.0 for reward in earned) < 0.15 * len(earned)
    assert 0.4 < sum(earned) / len(earned) < 0.8
