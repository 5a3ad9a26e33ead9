"""ROLL's WebShop over the demo shop of roll_vec, without Java and a model of spaCy.

ROLL's class, and WebShop's pages, rules and rewards, are their own code, from
``third_party/webshop-minimal`` of ROLL's checkout.  Three parts are ours: the products
(the files of WebShop are too large for a repository), the search (pyserini needs Java;
golden tables compare ours with it) and the nouns of titles.
"""

import itertools
import json
import random
import re
import shutil
import sys
import types

from roll_vec.envs.webshop import Catalogue
from roll_vec.envs.webshop.demo_shop.products import generate_product

CLICKS = re.compile(r"(click\[.*?\])(?:, |$)")


def make_original(checkout, folder, num_products=1000):
    """Return ROLL's class of WebShop, and an environment of it.

    Parameters
    ----------
    checkout : Path
        Of ROLL, with its submodule.
    folder : Path
        Empty; gets a copy of WebShop and its files.
    num_products : int
        100 or 1000: WebShop takes no other numbers.

    Raises
    ------
    FileNotFoundError
        Without the submodule.
    """
    package = checkout / "third_party" / "webshop-minimal" / "webshop_minimal"
    copy = folder / "webshop_minimal"
    ignored = shutil.ignore_patterns("search_engine", "data")
    shutil.copytree(package, copy, ignore=ignored)
    products = [generate_product(number) for number in range(num_products)]
    write_files(copy / "data", products)
    nouns = {one.item["name"]: one.title_nouns for one in products}
    replace_modules(Catalogue.load(num_products=num_products), nouns)
    sys.path.insert(0, str(folder))
    from roll.pipeline.agentic.env.webshop.env import WebShopEnv

    # WebShop draws prices from the global generator; our `catalog_seed` is 0.
    random.seed(0)
    env = WebShopEnv(num_products=num_products)
    return WebShopEnv, env


def write_files(data, products):
    """Write the three files of a shop where WebShop looks for them."""
    small = data / "small"
    small.mkdir(parents=True)
    items = [{**one.item, "images": [""]} for one in products]
    (small / "items_shuffle_1000.json").write_text(json.dumps(items), "utf-8")
    entries = {one.item["asin"]: one.attributes for one in products}
    (small / "items_ins_v2_1000.json").write_text(json.dumps(entries), "utf-8")
    people = {one.item["asin"]: one.human for one in products if one.human}
    (data / "items_human_ins.json").write_text(json.dumps(people), "utf-8")


def replace_modules(shop, nouns):
    """Put our search and nouns where WebShop imports pyserini and spaCy.

    Parameters
    ----------
    shop : Catalogue
    nouns : dict
        Lower-case nouns by title.
    """

    class LuceneSearcher:
        def __init__(self, path):
            del path

        def search(self, query, k):
            asins = (shop.products[n].asin for n in shop.search_results(query))
            return [types.SimpleNamespace(docid=a) for a in itertools.islice(asins, k)]

        def doc(self, docid):
            return types.SimpleNamespace(raw=lambda: json.dumps({"id": docid}))

    def tag(title):
        return [types.SimpleNamespace(text=n, pos_="NOUN") for n in nouns[title]]

    modules = {
        "pyserini": {},
        "pyserini.search": {},
        "pyserini.search.lucene": {"LuceneSearcher": LuceneSearcher},
        "spacy": {"load": lambda name: tag},
        # Imported there, and not used.
        "cleantext": {},
        "rank_bm25": {"BM25Okapi": None},
    }
    for name, attributes in modules.items():
        module = sys.modules[name] = types.ModuleType(name)
        vars(module).update(attributes)


def choose(rng, turn, observation):
    """Return an answer: mostly an action of the page, now and then another text."""
    page, _, actions = observation.rpartition("\nAvailable actions: ")
    clicks = CLICKS.findall(actions)
    if rng.random() < 0.06:
        return rng.choice(
            [
                "click[buy now]",
                "<answer>click[]</answer>",
                "<answer>buy</answer>",
                "<answer>click[nothing]</answer>",
                "",
            ]
        )
    if not clicks or rng.random() < 0.1:
        words = rng.sample(page.split(), min(4, len(page.split())))
        return f"<answer>search[{' '.join(words)}]</answer>"
    if "click[buy now]" in clicks and turn > 8:
        return "<answer>click[buy now]</answer>"
    return f"I think.\n<answer> {rng.choice(clicks)} </answer>"
