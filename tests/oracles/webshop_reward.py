"""WebShop's reward and the best options, stated plainly and computed slowly."""

from itertools import product as every_choice

from rapidfuzz import fuzz, utils

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
    """Return a text in the form that thefuzz compares."""
    characters = "".join(c for c in str(text) if not 128 <= ord(c) <= 255)
    return utils.default_process(characters)


def similar(a, b):
    """Return whether the token set ratio of two texts is above 85."""
    return round(fuzz.token_set_ratio(a, b, processor=_process)) > 85


def first_color(thing):
    """Return a colour in a text, or one that is an element of a pair, else it."""
    for color in COLORS:
        if color in thing:
            return color
    return thing


def reward(goal, goal_nouns, product, options):
    """Return the terms of a purchase by name, in the form of WebShop's info."""
    n_attr = 0
    for name in goal.attributes:
        is_match = False
        for attribute in product.attributes:
            if similar(attribute, name):
                is_match = True
        texts = [product.title, " ".join(product.bullets), product.description]
        for text in texts:
            if name in text.lower():
                is_match = True
        n_attr += is_match

    goal_options = goal.goal_options
    items = list(
        goal_options.items() if isinstance(goal_options, dict) else goal_options
    )
    n_opt = 0
    for item in items:
        matches = [
            value
            for value in options.values()
            if similar(first_color(value), first_color(item))
        ]
        n_opt += bool(matches)

    goal_nouns = list(goal_nouns)
    if goal_nouns:
        shared = {noun for noun in goal_nouns if noun in product.title_nouns}
        title_score = len(shared) / len(goal_nouns)
    else:
        title_score = 0.2
    pieces = [piece.strip() for piece in product.product_category.split("›")]
    goal_pieces = [piece.strip() for piece in goal.product_category.split("›")]
    category_match = len({piece for piece in pieces if piece in goal_pieces}) >= 2
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

    ``values_by_group`` has the clickable values.  Among equal rewards the fewest
    choices win, then the first ones on the page.
    """
    # A value of two groups has the position of the first one.
    page = list(dict.fromkeys(v for vs in product.options.values() for v in vs))
    best = None
    for values in every_choice(*([None, *vs] for vs in values_by_group.values())):
        options = {
            name: value
            for name, value in zip(values_by_group, values, strict=True)
            if value is not None
        }
        terms = reward(goal, goal_nouns, product, options)
        positions = sorted(page.index(value) for value in options.values())
        key = (-terms["reward"], len(options), positions)
        if best is None or key < best[0]:
            best = key, options, terms
    return best[1], best[2]
