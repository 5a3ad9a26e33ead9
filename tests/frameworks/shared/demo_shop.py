"""Our demo shop in WebShop's own code, without Java and a model of spaCy.

Pages, rules and rewards are WebShop's.  The products (its files are too large for a
repository), the search and the nouns of titles are ours.
"""

import itertools
import json
import sys
from types import SimpleNamespace
from unittest.mock import MagicMock

from roll_vec.envs.webshop import Catalogue
from roll_vec.envs.webshop.demo_shop.products import generate_product

FILES = ("items_shuffle_1000.json", "items_ins_v2_1000.json", "items_human_ins.json")
# Imported by WebShop, but by nothing that is called.
UNUSED = (
    *("cleantext", "rank_bm25", "selenium", "selenium.webdriver"),
    *("selenium.webdriver.chrome", "selenium.webdriver.chrome.service"),
    *("selenium.webdriver.chrome.options", "selenium.webdriver.common"),
    *("selenium.webdriver.common.keys", "selenium.common"),
    *("selenium.common.exceptions", "pyserini", "pyserini.search"),
)


def write_files(folder, num_products):
    """Write products, attributes and people's instructions; return the paths."""
    products = [generate_product(number) for number in range(num_products)]
    contents = (
        [{**one.item, "images": [""]} for one in products],
        {one.item["asin"]: one.attributes for one in products},
        {one.item["asin"]: one.human for one in products if one.human},
    )
    for name, content in zip(FILES, contents, strict=True):
        (folder / name).write_text(json.dumps(content), "utf-8")
    return [folder / name for name in FILES]


def replace_modules(num_products):
    """Put our search and nouns where WebShop imports pyserini and spaCy."""
    shop = Catalogue.load(num_products=num_products)
    products = [generate_product(number) for number in range(num_products)]
    nouns = {one.item["name"]: one.title_nouns for one in products}

    class LuceneSearcher:
        def __init__(self, path):
            del path

        def search(self, query, k):
            asins = (shop.products[n].asin for n in shop.search_results(query))
            return [SimpleNamespace(docid=asin) for asin in itertools.islice(asins, k)]

        def doc(self, docid):
            return SimpleNamespace(raw=lambda: json.dumps({"id": docid}))

    def tag(title):
        return [SimpleNamespace(text=noun, pos_="NOUN") for noun in nouns[title]]

    for name in UNUSED:
        sys.modules[name] = MagicMock()
    searcher = SimpleNamespace(LuceneSearcher=LuceneSearcher)
    sys.modules["pyserini.search.lucene"] = searcher
    sys.modules["spacy"] = SimpleNamespace(load=lambda name: tag)
