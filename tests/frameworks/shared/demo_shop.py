"""Our demo shop in WebShop's own code, without Java and a model of spaCy.

Pages, rules and rewards are WebShop's.  The products, the search and the nouns of
titles are ours.
"""

import gzip
import itertools
import json
import sys
from types import SimpleNamespace
from unittest.mock import MagicMock

from roll_vec.envs.webshop import Catalogue
from roll_vec.envs.webshop.catalogue import DEMO_SHOP

FILES = ("items_shuffle_1000.json", "items_ins_v2_1000.json", "items_human_ins.json")
# Imported by WebShop, but by nothing that is called.
UNUSED = (
    *("cleantext", "rank_bm25", "selenium", "selenium.webdriver"),
    *("selenium.webdriver.chrome", "selenium.webdriver.chrome.service"),
    *("selenium.webdriver.chrome.options", "selenium.webdriver.common"),
    *("selenium.webdriver.common.keys", "selenium.common"),
    *("selenium.common.exceptions", "pyserini", "pyserini.search"),
)


def read_files(num_products):
    """Return products, attributes, people's instructions and nouns of titles."""
    names = ("products", "attributes", "human_instructions", "title_nouns")
    items, *others = (
        json.loads(gzip.decompress((DEMO_SHOP / f"{name}.json.gz").read_bytes()))
        for name in names
    )
    items = items[:num_products]
    asins = [item["asin"] for item in items]
    parts = [{asin: part[asin] for asin in asins if asin in part} for part in others]
    return items, *parts


def write_files(folder, num_products):
    """Write products, attributes and people's instructions; return the paths."""
    items, attributes, human, _ = read_files(num_products)
    contents = [{**item, "images": [""]} for item in items], attributes, human
    for name, content in zip(FILES, contents, strict=True):
        (folder / name).write_text(json.dumps(content), "utf-8")
    return [folder / name for name in FILES]


def replace_modules(num_products):
    """Put our search and nouns where WebShop imports pyserini and spaCy."""
    shop = Catalogue.load(num_products=num_products)
    nouns = {product.title: product.title_nouns for product in shop.products}

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
