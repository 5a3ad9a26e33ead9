"""A catalogue of products made by hand, for what pages show of them."""

from types import SimpleNamespace

from roll_vec.envs.webshop.catalogue.products import Goal, Product


def product(**fields):
    """Return a product; every field has a value."""
    return Product(
        **{
            "asin": "A1",
            "title": "A Title",
            "description": "A description.",
            "bullets": ("one", "two"),
            "price_tag": "$5.0",
            "price": 5.0,
            "options": {},
            "attributes": ("soft", "long sleeve"),
            "category": "fashion",
            "product_category": "Clothing › Shirts",
            "query": "men's shirts",
            "title_nouns": ("title",),
            **fields,
        }
    )


def goal(instruction="Find me a shirt"):
    return Goal(
        asin="A1",
        category="fashion",
        query="men's shirts",
        name="A Title",
        product_category="Clothing › Shirts",
        instruction_text=instruction,
        attributes=("soft",),
        price_upper=10.0,
        goal_options={},
        weight=1.0,
    )


class _Products(list):
    def number_of(self, asin):
        return {one.asin: number for number, one in enumerate(self)}[asin]


def catalogue(products, num_goals=1, hits=None, instruction="Find me a shirt"):
    """Return some products and as many goals; each search finds the same."""
    products = _Products(products)
    numbers = tuple(range(len(products)))[:50] if hits is None else tuple(hits)

    def having(field, value):
        return tuple(
            number
            for number, one in enumerate(products)
            if value == getattr(one, field)
            or (field == "attributes" and value in one.attributes)
        )

    return SimpleNamespace(
        products=products,
        goals=[goal(instruction) for _ in range(num_goals)],
        hits=lambda query: numbers,
        having=having,
    )
