"""Shops of a few products in memory: real lists of products, a plain search."""

import numpy as np

from roll_vec.envs.webshop.goals import Goal
from roll_vec.envs.webshop.products import Product
from roll_vec.envs.webshop.search.search_bar import SearchBar


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
        """Return what an index returns."""
        return np.array(self._hits(query)[:k], np.int64), None

    def _hits_by_title(self, query):
        words = set(query.split())
        ranking = []
        for number, product in enumerate(self.products):
            common = len(words & set(product.title.lower().split()))
            if common:
                ranking.append((-common, number))
        return [number for _, number in sorted(ranking)]


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
    """Return a goal made from a product."""
    values = {
        "instruction_text": "find me a shirt",
        "attributes": ("machine wash",),
        "price_upper": 30.0,
        "goal_options": {},
        **fields,
    }
    return Goal(
        asin=product.asin,
        category=product.category,
        query=product.query,
        name=product.title,
        product_category=product.product_category,
        weight=1.0,
        **values,
    )


def page_product(**fields):
    """Return the product of the tests of pages."""
    values = {
        "asin": "A1",
        "title": "A Title",
        "description": "A description.",
        "bullets": ("one", "two"),
        "price": 5.0,
        "attributes": ("soft", "long sleeve"),
        "product_category": "Clothing › Shirts",
        "title_nouns": ("title",),
        **fields,
    }
    return make_product(**values)


def page_shop(products, num_goals=1, hits=None, instruction="Find me a shirt"):
    """Return a shop for the tests of pages; every search finds ``hits``, or all."""
    numbers = list(range(len(products))) if hits is None else list(hits)
    goal = make_goal(page_product(), instruction_text=instruction)
    return SmallShop(products, [goal] * num_goals, lambda query: numbers)


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
    """Return a shop with a goal for each product."""
    products = [random_product(rng, f"B{number}") for number in range(num_products)]
    return SmallShop(products, [random_goal(rng, product) for product in products])
