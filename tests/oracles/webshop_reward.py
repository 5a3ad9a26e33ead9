"""WebShop's reward and best purchase stated plainly, and small shops to try them in."""

from itertools import product as every_choice

from rapidfuzz import fuzz, utils

from roll_vec.envs.webshop.catalogue.products import Goal, Product

_COLORS = (
    "alabaster apricot aqua ash asphalt azure banana beige black blue blush bordeaux "
    "bronze brown burgundy camel camo caramel champagne charcoal cheetah chestnut "
    "chocolate christmas coffee cognac copper coral cranberry cream crystal dark denim "
    "eggplant elephant espresso fuchsia gold granite grape graphite grass gray green "
    "grey heather indigo ivory ivy khaki lavender lemon leopard light lilac lime "
    "magenta maroon mauve merlot midnight mint mocha multicolor mushroom mustard "
    "natural navy nude olive orange peach pewter pink plum purple rainbow red rose "
    "royal rust sand sapphire seashell silver skull slate steel stone stonewash "
    "sunflower tan taupe teal tiger turquoise violet walnut wheat white wine yellow"
)
COLORS = _COLORS.split(" ")


def _process(text):
    kept = "".join(c for c in str(text) if not 128 <= ord(c) <= 255)
    return utils.default_process(kept)


def _similar(a, b):
    return round(fuzz.token_set_ratio(a, b, processor=_process)) > 85


def _first_color(thing):
    """Of a text: a colour within it; of a pair: a colour that is one of the two."""
    for color in COLORS:
        if color in thing:
            return color
    return thing


def reward(goal, goal_nouns, product, options):
    """Return the terms of a purchase by name, as WebShop's verbose info has them."""
    n_attr = 0
    for wanted in goal.attributes:
        found = False
        for attribute in product.attributes:
            if _similar(attribute, wanted):
                found = True
        texts = [product.title, " ".join(product.bullets), product.description]
        for text in texts:
            if wanted in text.lower():
                found = True
        n_attr += found

    goal_options = goal.goal_options
    items = list(
        goal_options.items() if isinstance(goal_options, dict) else goal_options
    )
    n_opt = 0
    for item in items:
        matches = [
            value
            for value in options.values()
            if _similar(_first_color(value), _first_color(item))
        ]
        n_opt += bool(matches)

    goal_nouns = list(goal_nouns)
    if goal_nouns:
        shared = {noun for noun in goal_nouns if noun in product.title_nouns}
        title_score = len(shared) / len(goal_nouns)
    else:
        title_score = 0.2
    ours = [piece.strip() for piece in product.product_category.split("›")]
    theirs = [piece.strip() for piece in goal.product_category.split("›")]
    category_match = len({piece for piece in ours if piece in theirs}) >= 2
    query_match = product.query == goal.query
    r_type = 1.0
    if not (query_match or category_match or title_score > 0.2):
        r_type = 0.5
    if title_score < 0.1:
        r_type = 0.1
    if title_score == 0:
        r_type = 0.0

    price_ok = product.price <= goal.price_upper
    weights = len(goal.attributes) + len(items) + 1
    terms = {
        "reward": (n_attr + n_opt + price_ok) / weights * r_type,
        "r_type": r_type,
        "r_att": n_attr / len(goal.attributes),
        "w_att": len(goal.attributes) / weights,
        "query_match": query_match,
        "category_match": category_match,
        "title_score": title_score,
        "r_option": None,
        "w_option": None,
        "r_price": price_ok,
        "w_price": 1 / weights,
    }
    if items:
        terms["r_option"] = n_opt / len(items)
        terms["w_option"] = len(items) / weights
    return terms


def best_options(goal, goal_nouns, product, values_by_group):
    """Return the best choice of at most one value a group, by trying all of them.

    ``values_by_group`` has the values that can be chosen.
    Of equal rewards the fewest choices win, then those that come first on the page.
    """
    # A value that two groups share stands where the first of them has it.
    page = list(dict.fromkeys(v for vs in product.options.values() for v in vs))
    best = None
    for values in every_choice(*([None, *vs] for vs in values_by_group.values())):
        chosen = {
            name: value
            for name, value in zip(values_by_group, values, strict=True)
            if value is not None
        }
        terms = reward(goal, goal_nouns, product, chosen)
        places = sorted(page.index(value) for value in chosen.values())
        key = (-terms["reward"], len(chosen), places)
        if best is None or key < best[0]:
            best = key, chosen, terms
    return best[1], best[2]


class SmallShop:
    """A few products with as much of a catalogue's interface as a shopper needs."""

    def __init__(self, products, goals=()):
        self.products, self.goals = _Products(products), list(goals)

    def hits(self, query):
        """Return 50 products that have a word in the title, most words first."""
        words = set(query.split())
        ranked = []
        for number, product in enumerate(self.products):
            common = len(words & set(product.title.lower().split()))
            if common:
                ranked.append((-common, number))
        return tuple(number for _, number in sorted(ranked)[:50])

    def having(self, field, value):
        return tuple(
            number
            for number, product in enumerate(self.products)
            if getattr(product, field) == value
        )


class _Products(list):
    def number_of(self, asin):
        return [product.asin for product in self].index(asin)


def make_product(asin="B1", **fields):
    """Return a product with something in each field."""
    given = {
        "title": f"plain shirt {asin}",
        "description": "soft to wear",
        "bullets": ("easy to wash",),
        "price": 20.0,
        "options": {},
        "attributes": ("machine wash",),
        "category": "fashion",
        "product_category": "Clothing \u203a Men \u203a Shirts",
        "query": "men's shirts",
        "title_nouns": ("shirt",),
        **fields,
    }
    return Product(asin=asin, price_tag=f"${given['price']}", **given)


def make_goal(product, **fields):
    """Return a goal made from a product."""
    given = {
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
        **given,
    )


VALUES = (
    *("red", "dark red", "navy blue", "tank top", "large", "x-large", "xx-large"),
    *("2 pack", "pack of 2", "8 x 10", "caf\xe9 cr\xe8me", "size large", "\u2605 gold"),
    *("description", "buy now", "search", "a[b]c", "a]b", "two\nlines", "", " x"),
)
_NOUNS = ("shirt", "lamp", "cable", "table", "lamp", "hair", "oil", "tea")
_ATTRIBUTES = ("machine wash", "easy to wash", "soft", "long lasting", "gluten free")


def random_product(rng, asin):
    """Return a product whose fields are drawn from few values, so that much matches."""
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
        product_category=" \u203a ".join(rng.sample(pieces, rng.randint(1, 3))),
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
