"""The search: Lucene's ranking, equal to golden tables and to BM25; lists of a kind."""

import gzip
import json
import random

import numpy as np
import pytest

from roll_vec.envs.webshop.observations import as_text
from roll_vec.envs.webshop.pages import page_of
from roll_vec.envs.webshop.search import lucene_ranking
from roll_vec.envs.webshop.search.backends import BACKENDS, backend_class
from roll_vec.envs.webshop.search.english_analyzer import stem, words
from roll_vec.envs.webshop.search.lucene_ranking import LuceneIndex
from roll_vec.envs.webshop.search.search_bar import document_of
from roll_vec.envs.webshop.state import State
from roll_vec.errors import InvalidOptionError
from tests.conftest import JIT_OFF
from tests.envs.webshop.small_shop import make_product, page_product, page_shop
from tests.oracles import bm25

pytest.importorskip("regex")
pytest.importorskip("nltk")


def read_product(item):
    """Return the product of an item of WebShop's file; indexed fields only."""
    bullets = item["small_description"]
    options = {
        name.lower(): tuple(
            content["value"].strip().replace("/", " | ").lower() for content in contents
        )
        for name, contents in (item["customization_options"] or {}).items()
        if contents is not None
    }
    return make_product(
        item["asin"],
        title=item["name"],
        description=item["full_description"],
        bullets=tuple(bullets if isinstance(bullets, list) else [bullets]),
        options=options,
    )


@pytest.fixture(scope="module")
def shop(shared):
    """Return the documents and the keys of WebShop's small split."""
    with gzip.open(shared / "data/webshop/items_shuffle_1000.json.gz", "rt") as file:
        products = [read_product(item) for item in json.load(file)]
    return list(map(document_of, products)), [product.asin for product in products]


@pytest.fixture(scope="module")
def golden(shared):
    """Return Lucene's results by query."""
    with gzip.open(shared / "golden/webshop_lucene_top50.json.gz", "rt") as file:
        return json.load(file)


def hits(index, query, k=50):
    """Return the results of a search as pairs of number and score."""
    numbers, scores = index.search(query, k)
    assert (numbers.dtype, scores.dtype) == (np.int64, np.float32)
    return list(zip(numbers.tolist(), scores.tolist(), strict=True))


def test_every_golden_query_has_lucenes_order_and_scores(shop, golden):
    documents, keys = shop
    index = LuceneIndex.build(documents, keys)
    queries = list(golden)[:: 20 if JIT_OFF else 1]
    for query in queries:
        numbers, scores = index.search(query)
        assert [keys[number] for number in numbers] == [key for key, _ in golden[query]]
        expected = [score for _, score in golden[query]]
        np.testing.assert_allclose(scores, expected, rtol=0, atol=5.001e-5)


def test_the_document_of_a_product():
    tent = make_product(
        title="A Tent",
        description="Keeps RAIN out.",
        bullets=("Light", "Green"),
        options={"color": ("red", "blue"), "size": ("s",)},
    )
    text = "a tent keeps rain out. light color: red, blue, and size: s"
    assert document_of(tent) == text
    empty = make_product(title="X", description="", bullets=())
    assert document_of(empty) == "x   "


WORDS = [
    "red",
    "reds",
    "dress",
    "dresses",
    "a",
    "the",
    "walk",
    "walking",
    "\u2605",
    "x",
]
WORDS += [f"n{number}" for number in range(30)]


def random_shop(seed):
    """Documents, some empty or with stop words alone, many equal, and their keys."""
    rng = random.Random(seed)
    documents = [
        " ".join(
            rng.choices(WORDS[: rng.choice([5, 40])], k=rng.choice([0, 3, 30, 300]))
        )
        for _ in range(rng.randint(1, 12))
    ]
    documents *= rng.randint(1, 4)
    keys = [f"K{number:03}" for number in rng.sample(range(1000), len(documents))]
    return documents, keys


@pytest.mark.parametrize("seed", range(5 if JIT_OFF else 20))
def test_search_is_that_of_the_rules(seed):
    documents, keys = random_shop(seed)
    index = LuceneIndex.build(iter(documents), keys)
    terms = [list(map(stem, words(document))) for document in documents]
    rng = random.Random(seed)
    for k in (1, 3, 50):
        query = rng.choices([*WORDS, "walked", "unknown"], k=rng.randint(0, 6))
        expected = bm25.rank(terms, keys, [stem(w) for w in words(" ".join(query))], k)
        results = hits(index, " ".join(query), k)
        assert [number for number, _ in results] == [number for number, _ in expected]
        scores = [float(score) for _, score in expected]
        np.testing.assert_allclose([s for _, s in results], scores, rtol=1e-6)


def test_lengths_are_stored_in_four_bits():
    for length in [*range(24), 39, 40, 41, 57, 300, 70_001]:
        documents = ["red " + "x " * (length - 1)] if length else [""]
        documents += ["red walk", "walk"]
        index = LuceneIndex.build(documents, ["a", "b", "c"])
        terms = [document.split() for document in documents]
        expected = bm25.rank(terms, "abc", ["red"], 9)
        assert hits(index, "red") == [(n, float(score)) for n, score in expected]


def test_of_a_long_query_the_first_1024_terms_count():
    documents = [" ".join(f"n{n}" for n in range(1024)), "late", "n0"]
    index = LuceneIndex.build(documents, ["a", "b", "c"])
    for prefix, size in (("n", 1024), ("unknown", 1023)):
        first = [f"{prefix}{number}" for number in range(size)]
        terms = ["n0", *first] if prefix == "unknown" else first
        assert len(set(terms)) == 1024
        query = " ".join(terms)
        assert 2 in [number for number, _ in hits(index, query)]
        assert hits(index, query + " late") == hits(index, query)
        assert 1 in [number for number, _ in hits(index, "late " + query)]
        assert hits(index, "late n0 " * 3000)[0][0] in (1, 2)


def test_any_text_is_a_query():
    index = LuceneIndex.build(["red walk", "walk"], ["a", "b"])
    for query in ("", " ", "the", "[", "\0\ud800", "a" * 100_000, '"+-&&||!(){}^~*?:'):
        assert hits(index, query) == []
    assert [number for number, _ in hits(index, "red\n" * 50_000)] == [0]


def test_a_query_of_indexed_words_needs_no_stemmer(tmp_path, monkeypatch):
    # The stemmer takes half a second to import, in every process.
    LuceneIndex.build(["walking boots, 50.00"], ["a"]).save(tmp_path)
    index = LuceneIndex.open(tmp_path, memory_map=True)
    stemmed = []
    monkeypatch.setattr(
        lucene_ranking, "stem", lambda word: stemmed.append(word) or "walk"
    )
    assert len(index.search("boots")[0]) == len(index.search("walking 50.00")[0]) == 1
    assert stemmed == []
    assert len(index.search("walked")[0]) == 1
    assert stemmed == ["walked"]
    monkeypatch.undo()
    # A stem is no word: "gener" is what "general" becomes.
    index = LuceneIndex.build(["generals"], ["a"])
    assert hits(index, "general") == hits(index, "gener") != []


@pytest.mark.parametrize("memory_map", [True, False])
@pytest.mark.parametrize("seed", [0, 1])
def test_a_stored_index_finds_the_same(seed, memory_map, tmp_path):
    from roll_vec.kernels.webshop import bm25 as kernels

    documents, keys = random_shop(seed) if seed else ([], [])
    index = LuceneIndex.build(documents, keys)
    index.save(tmp_path)
    index.save(tmp_path)
    stored_index = LuceneIndex.open(tmp_path, memory_map)
    for query in ("red dress", "walked \u2605", "", "x n1 n2 n3"):
        for k in (0, 5, 50):
            assert hits(stored_index, query, k) == hits(index, query, k)
    again = tmp_path / "again"
    again.mkdir()
    stored_index.save(again)
    for path in (tmp_path / "lucene").iterdir():
        assert path.read_bytes() == (again / "lucene" / path.name).read_bytes()
    for values in (*index._arrays.values(), *stored_index._arrays.values()):
        assert type(values) is np.ndarray
        assert not values.flags.writeable
    # Kernels are compiled once for all kinds of index.
    for kernel in (kernels.add_scores, kernels.find_best):
        assert JIT_OFF or len(kernel.signatures) == 1


@pytest.mark.parametrize(
    ("name", "memory_map"), [("documents", True), ("saturations", False)]
)
def test_damaged_postings_are_refused_when_their_term_is_searched(
    name, memory_map, tmp_path
):
    built_index = LuceneIndex.build(["red dress", "red lamp", "blue lamp"], list("abc"))
    built_index.save(tmp_path)
    assert f"lucene/{name}.bin" in LuceneIndex.piecewise_files
    path = tmp_path / f"lucene/{name}.bin"
    postings = np.fromfile(path, np.uint32)
    # The postings of red are the first two.
    postings[1] ^= 1
    postings.tofile(path)
    index = LuceneIndex.open(tmp_path, memory_map)
    assert hits(index, "blue lamp") == hits(built_index, "blue lamp")
    for query in ("red", "blue red"):
        with pytest.raises(InvalidOptionError, match=rf"{path.name} .*of term 0 have"):
            index.search(query)
    assert hits(index, "dress") == hits(built_index, "dress")


FORGERIES = {
    "starts": ([0, 9, 3, 6], [0, 2, 3], [1, 2, 4, 6], [0, 4, 2, 6], [0, 2, 4, -6]),
    "numbers": ([0, 1, 3], [-1, 0, 1]),
    "form_terms": ([0, 1, 2, 4], [0, -1, 2, 3]),
    "idf": ([1.0],),
    "saturations": ([1.0] * 5,),
}


@pytest.mark.parametrize(
    ("name", "values"), [(name, v) for name in FORGERIES for v in FORGERIES[name]]
)
def test_a_forged_index_is_refused_before_a_kernel_reads_it(name, values, tmp_path):
    """Whoever forges an index has written new checksums, too."""
    index = LuceneIndex.build(["red dress", "red lamp", "blue lamp"], list("abc"))
    index.save(tmp_path)
    forged = np.array(values, index._arrays[name].dtype)
    forged.tofile(tmp_path / f"lucene/{name}.bin")
    for memory_map in (True, False):
        with pytest.raises(InvalidOptionError, match="arrays do not fit together"):
            LuceneIndex.open(tmp_path, memory_map)


@pytest.mark.parametrize("document", [-1, 3])
def test_forged_postings_are_refused_before_a_kernel_reads_them(document, tmp_path):
    index = LuceneIndex.build(["red dress", "red lamp", "blue lamp"], list("abc"))
    arrays = index._arrays
    arrays["documents"] = arrays["documents"].copy()
    arrays["documents"][1] = document
    index.save(tmp_path)
    with pytest.raises(InvalidOptionError, match=r"documents\.bin .*of no product"):
        LuceneIndex.open(tmp_path, memory_map=True).search("red")


def test_documents_and_keys_must_be_as_many():
    counts = []
    LuceneIndex.build(["a", "b"], ["k", "l"], counts.append)
    assert counts == [1, 2]
    for documents in (["a"], ["a", "b", "c"]):
        with pytest.raises(ValueError, match="expected 2 documents"):
            LuceneIndex.build(documents, ["k", "l"])


def test_backends_by_name():
    assert BACKENDS == ("lucene", "tantivy")
    for name in BACKENDS:
        assert backend_class(name).name == name
    with pytest.raises(InvalidOptionError, match="'lucene', 'tantivy', got 'solr'"):
        backend_class("solr")


MANY = page_shop(
    [
        page_product(
            asin=f"A{n}",
            category=("fashion", "garden")[n % 2],
            query=("men's shirts", "tables")[n % 2],
            attributes=("soft", "easy care")[n % 2 :],
        )
        for n in range(120)
    ],
    hits=(3, 1),
)


@pytest.mark.parametrize(
    ("query", "numbers"),
    [
        ("shirts", (3, 1)),
        ("<x> shirts", (3, 1)),
        ("<c>garden", (3, 1)),
        ("<c> garden", tuple(range(1, 120, 2))),
        ("<c> garden and more", tuple(range(1, 120, 2))),
        ("<c>  garden", ()),
        ("<c> gardens", ()),
        ("<c>", ()),
        ("<q> men's shirts", tuple(range(0, 120, 2))),
        ("<q>  men's shirts ", tuple(range(0, 120, 2))),
        ("<q> men's", ()),
        ("<q>", ()),
        ("<a> soft", tuple(range(0, 120, 2))),
        ("<a>  easy care ", tuple(range(120))),
        ("<a> hard", ()),
        ("<a>", ()),
    ],
)
def test_searches_of_a_kind(query, numbers):
    assert tuple(MANY.search_results(query)) == numbers
    observation = as_text(page_of(MANY, State(0, "results", query)).nodes)
    assert f"Page 1 (Total results: {len(numbers)})" in observation


def test_products_drawn_at_random():
    numbers = MANY.search_results("<r>", 7)
    assert len(numbers) == len(set(numbers)) == 50
    assert MANY.search_results("<r>", 7) == numbers
    assert MANY.search_results("<r>", 8) != numbers
    assert MANY.search_results("<r> again", 7) != numbers
    assert MANY.search_results("<r> \ud800", 7) != numbers
    # Pinned: new draws would be a new version of the id.
    assert numbers[:5] == [51, 90, 73, 50, 118]
    few = page_shop([page_product(asin=f"A{n}") for n in range(3)])
    assert sorted(few.search_results("<r>")) == [0, 1, 2]
    # The pages of one search show one draw.
    pages = [
        page_of(MANY, State(0, "results", "<r>", number), level=7).products
        for number in range(1, 7)
    ]
    on_pages = [MANY.products.number_of(one.asin) for page in pages for one in page]
    assert on_pages == numbers
