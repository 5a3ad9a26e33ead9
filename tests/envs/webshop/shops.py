"""Shops: the files of a small one, the original's files, shops in memory."""

import json
from pathlib import Path

import numpy as np

from roll_vec.envs.webshop import WebShop
from roll_vec.envs.webshop.goals import Goal
from roll_vec.envs.webshop.products import Product
from roll_vec.envs.webshop.reward import compute_reward
from roll_vec.envs.webshop.search.search_bar import SearchBar
from roll_vec.envs.webshop.solver import Solver
from tests.oracles import webshop_reward as oracle

ITEMS = [
    {
        "asin": "B000000001",
        "name": "Red Cotton Shirt for Men",
        "full_description": "A shirt to wear every day.",
        "small_description": ["Soft cotton", "", "Machine wash"],
        "pricing": "$25.5",
        "customization_options": {
            "Size": [{"value": "Small "}, {"value": "X/Large", "image": None}],
            "Color": [{"value": "Red"}, {"value": "Navy Blue"}],
        },
        "product_category": "Clothing › Men › Shirts",
        "category": "fashion",
        "query": " Men's Shirts ",
    },
    {
        "asin": "B000000002",
        "name": "Oak Table",
        "full_description": "",
        "small_description": "Solid oak.",
        "pricing": "$100.00$150.50",
        "customization_options": "",
        "product_category": "Home › Tables",
        "category": "garden",
        "query": "tables",
    },
    {
        "asin": "A000000003",
        "name": "Mystery Box",
        "full_description": "Nobody knows.",
        "small_description": [],
        "pricing": "",
        "customization_options": {"Style": None, "Pack": [{"value": "2"}]},
        "product_category": "Home",
        "category": "garden",
        "query": "boxes",
    },
]
SHIRT, TABLE, BOX = (item["asin"] for item in ITEMS)
ATTRIBUTES = {
    SHIRT: {
        "attributes": ["machine wash", "long sleeve"],
        "instruction": "Find me machine wash men's shirts",
        "instruction_attributes": ["machine wash"],
    },
    TABLE: {
        "attributes": ["solid wood"],
        "instruction": "Find me tables",
        "instruction_attributes": ["solid wood", "machine wash"],
    },
}
HUMAN = {
    TABLE: [
        {
            "instruction": "i want a table. ..",
            "instruction_attributes": ["solid wood"],
            "instruction_options": ["brown"],
        },
        {
            "instruction": "nothing in mind",
            "instruction_attributes": [],
            "instruction_options": [],
        },
    ]
}
NOUNS = {
    SHIRT: ["cotton", "shirt", "men"],
    TABLE: ["oak", "table"],
    BOX: ["mystery", "box"],
}
CONTENTS = {
    "products": ITEMS,
    "attributes": ATTRIBUTES,
    "human_instructions": HUMAN,
    "title_nouns": NOUNS,
}


def write(folder: Path, **more) -> dict[str, str]:
    """Write the shop's files and return the keywords that name them.

    A keyword replaces the content of a file.
    """
    paths = {}
    for name, content in {**CONTENTS, **more}.items():
        path = folder / f"{name}.json"
        path.write_text(json.dumps(content), encoding="utf-8")
        paths[name] = str(path)
    return paths


def original(shared: Path, human: bool = False) -> dict[str, object]:
    """Return the keywords for the files of WebShop's small split."""
    data, golden = shared / "data" / "webshop", shared / "golden"
    nouns = golden / "webshop_title_nouns_en_core_web_sm_3.8.0.json.gz"
    return {
        "products": str(data / "items_shuffle_1000.json.gz"),
        "attributes": str(data / "items_ins_v2_1000.json.gz"),
        "human_instructions": str(data / "items_human_ins_subset13.json"),
        "title_nouns": str(nouns),
        "human_goals": human,
    }


def everything_in(catalogue):
    records = [vars(record) for record in (*catalogue.products, *catalogue.goals)]
    searches = [catalogue.search(query) for query in ("red shirt", "oak table", "box")]
    return json.dumps([records, searches, catalogue.title_nouns_source])


def shirt_goal(env):
    """Return the number of the goal of a large, navy blue shirt."""
    wanted = {"size": "x | large", "color": "navy blue"}
    return [goal.goal_options for goal in env.catalogue.goals].index(wanted)


def small_shop(**keywords):
    """Return an environment that plays a shirt's goal; writes its files here."""
    env = WebShop(**write(Path.cwd()), **keywords)
    env.reset(seed=0, options={"session": shirt_goal(env)})
    return env


def play(env, *texts):
    """Take valid actions; return the last result."""
    for text in texts:
        result = env.step(text)
        assert result[4]["action_is_valid"], text
    return result


class ProductList(list):
    """Products, with the methods of `Products`."""

    def number_of(self, asin):
        return {product.asin: number for number, product in enumerate(self)}[asin]

    def by_asin(self, asin):
        return self[self.number_of(asin)]


class SmallShop:
    """The part of a catalogue that pages, solver and oracle use.

    ``hits`` returns the numbers that a query finds; None: products that have a word of
    the query in the title, most words first.
    """

    def __init__(self, products, goals=(), hits=None):
        self.products, self.goals = ProductList(products), list(goals)
        self._hits = hits or self._hits_by_title
        self.search_results = SearchBar(self.products, self).search_results

    def search(self, query, k):
        return np.array(self._hits(query)[:k], np.int64), None

    def _hits_by_title(self, query):
        words = set(query.split())
        common = [
            len(words & {*product.title.lower().split()}) for product in self.products
        ]
        numbers = [number for number, count in enumerate(common) if count]
        return sorted(numbers, key=lambda number: (-common[number], number))


def make_product(asin="B1", **fields):
    """Return a product with a value in each field."""
    values = {
        "title": f"plain shirt {asin}",
        "description": "soft to wear",
        "bullets": ("easy to wash",),
        "price": 20.0,
        "options": {},
        "attributes": ("machine wash",),
        "category": "fashion",
        "product_category": "Clothing › Men › Shirts",
        "query": "men's shirts",
        "title_nouns": ("shirt",),
        **fields,
    }
    return Product(**{"asin": asin, "price_tag": f"${values['price']}", **values})


def make_goal(product, **fields):
    values = {
        "instruction_text": "Find me a shirt",
        "attributes": ("machine wash",),
        "price_upper": 30.0,
        "goal_options": {},
        **fields,
    }
    same = ("asin", "category", "query", "product_category")
    shared = {name: getattr(product, name) for name in same}
    return Goal(**shared, name=product.title, weight=1.0, **values)


VALUES = (
    *("red", "dark red", "navy blue", "tank top", "large", "x-large", "xx-large"),
    *("2 pack", "pack of 2", "8 x 10", "café crème", "size large", "★ gold"),
    *("description", "buy now", "search", "a[b]c", "a]b", "two\nlines", "", " x"),
)
"""Values of options, some with colours, some that no click can choose."""

_NOUNS = ("shirt", "lamp", "cable", "table", "lamp", "hair", "oil", "tea")
_ATTRIBUTES = ("machine wash", "easy to wash", "soft", "long lasting", "gluten free")


def random_product(rng, asin):
    """Return a product whose fields are drawn from few values, so that many match."""
    nouns = [rng.choice(_NOUNS) for _ in range(rng.randrange(13))]
    groups = rng.sample(["color", "size", "style"], rng.randrange(4))
    pieces = ["Home", "Kitchen", "Beauty", "Tea", ""]
    return make_product(
        asin,
        title=" ".join(nouns) or asin,
        title_nouns=tuple(nouns),
        bullets=tuple(rng.sample(_ATTRIBUTES, rng.randrange(3))),
        price=rng.choice([5.0, 10.0, 25.5, 30.0]),
        options={n: tuple(rng.sample(VALUES, rng.randrange(5))) for n in groups},
        attributes=tuple(rng.sample(_ATTRIBUTES, rng.randint(1, 3))),
        product_category=" › ".join(rng.sample(pieces, rng.randint(1, 3))),
        query=rng.choice(["lamps", "cables"]),
    )


def random_goal(rng, product):
    """Return a goal of a product, a person's or a synthetic one."""
    options = [rng.choice(VALUES) for _ in range(rng.randrange(4))]
    if rng.random() < 0.5:
        options = dict(zip(["size", "color", "style"], options, strict=False))
    return make_goal(
        product,
        attributes=tuple(rng.sample(_ATTRIBUTES, rng.randint(1, 3))),
        goal_options=options if isinstance(options, dict) else tuple(options),
        price_upper=rng.choice([10.0, 30.0]),
    )


def random_shop(rng, num_products):
    products = [random_product(rng, f"B{number}") for number in range(num_products)]
    return SmallShop(products, [random_goal(rng, product) for product in products])


def solve(shop, goal):
    """Return the solver's solution of a goal."""
    return Solver(shop.products, shop.search_results).solve(goal)


def next_action(shop, solution, state):
    """Return the solver's next action."""
    return Solver(shop.products, shop.search_results).next_action(solution, state)


def terms_of(goal, goal_nouns, product, options):
    """Return the terms of a purchase, which are the oracle's."""
    terms = compute_reward(goal, goal_nouns, product, options)
    expected = oracle.reward(goal, goal_nouns, product, options)
    assert terms._asdict() == expected
    assert [type(v) for v in terms] == [type(v) for v in expected.values()]
    return terms
