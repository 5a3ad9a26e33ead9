"""The search: its ranking equals golden tables of Lucene's, and BM25."""

import gzip
import json
import random
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from roll_vec.envs.webshop import Catalogue
from roll_vec.envs.webshop.search import lucene_ranking
from roll_vec.envs.webshop.search.english_analyzer import stem, words
from roll_vec.envs.webshop.search.lucene_ranking import LuceneIndex
from tests.conftest import JIT_OFF
from tests.envs.webshop.shops import original
from tests.oracles import bm25

pytest.importorskip("regex")
pytest.importorskip("nltk")

WORDS = ("red", "reds", "dress", "dresses", "a", "the", "walk", "walking", "\u2605")
WORDS += ("x", *(f"n{number}" for number in range(30)))


def random_documents(seed, most):
    """Return documents, some without words, many equal, and their keys."""
    rng = random.Random(seed)
    documents = [
        " ".join(
            rng.choices(WORDS[: rng.choice([5, 40])], k=rng.choice([0, 3, 30, 300]))
        )
        for _ in range(rng.randint(1, most))
    ]
    documents *= rng.randint(1, 4)
    keys = [f"K{number:05}" for number in rng.sample(range(99_999), len(documents))]
    return documents, keys


def hits(index, query, k=50):
    """Return the results of a search as pairs of number and score."""
    numbers, scores = index.search(query, k)
    assert (numbers.dtype, scores.dtype) == (np.int64, np.float32)
    return list(zip(numbers.tolist(), scores.tolist(), strict=True))


def stored(index):
    """Return the arrays of an index as those of a file: read-only, texts as bytes."""
    arrays = {
        name: np.frombuffer(value, np.uint8) if isinstance(value, bytes) else value
        for name, value in index.pack().items()
    }
    for values in arrays.values():
        values.flags.writeable = False
    return arrays


def numbers_for(index, query):
    """Return the numbers of the products that a search shows."""
    return [number for number, _ in hits(index, query)]


def test_every_golden_query_has_lucenes_order_and_scores(shared):
    with gzip.open(shared / "golden/webshop_lucene_top50.json.gz", "rt") as file:
        golden = json.load(file)
    catalogue = Catalogue.load(**original(shared))
    for query, expected in golden.items():
        results = catalogue.search(query)
        assert [asin for asin, _ in results] == [asin for asin, _ in expected]
        scores = [[score for _, score in pairs] for pairs in (results, expected)]
        np.testing.assert_allclose(*scores, rtol=0, atol=5.001e-5)


def test_any_text_is_a_query():
    index = LuceneIndex.build(["red walk \udfff", "walk"], ["a", "b"])
    empty = LuceneIndex.build([], [])
    texts = ("", " ", "the", "[", "\0\ud800", "a" * 100_000, '"+-&&||!(){}^~*?:')
    for query in (*texts, '"red', "red~2 ^(", "\ud800red\0", "red\n" * 50_000):
        assert numbers_for(index, query) == [0] * ("red" in query)
        assert hits(index, query, 0) == hits(empty, query) == []


def test_of_a_long_query_the_first_1024_terms_count():
    many = " ".join(f"n{n}" for n in range(1024))
    index = LuceneIndex.build([many, "late", "n0"], ["a", "b", "c"])
    unknown = "n0 " + " ".join(f"unknown{number}" for number in range(1023))
    for query in (many, unknown):
        assert 2 in numbers_for(index, query)
        assert 1 not in numbers_for(index, query)
        assert hits(index, query + " late") == hits(index, query)
        assert 1 in numbers_for(index, "late " + query)
        assert 1 in numbers_for(index, query[3:] + " late")
    assert numbers_for(index, "late n0 " * 3000)[0] in (1, 2)


@pytest.mark.parametrize("seed", [0, 1])
def test_a_second_build_a_stored_index_and_threads_find_the_same(seed):
    documents, keys = random_documents(seed, 300) if seed else ([], [])
    index, again = (LuceneIndex.build(documents, keys) for _ in range(2))
    others = [again, LuceneIndex.unpack(stored(index))]
    queries = ("red dress", "walked \u2605", "", "x n1 n2 n3", "the reds", "dress walk")
    expected = [hits(index, query) for query in queries]
    assert any(expected) == (seed > 0)
    for other in others:
        assert [hits(other, query) for query in queries] == expected
        assert hits(other, "red", 5) == hits(index, "red")[:5]
        assert hits(other, "red", 0) == []
    with ThreadPoolExecutor(4) as pool:
        for _ in range(5):
            assert list(pool.map(lambda query: hits(index, query), queries)) == expected
    assert again.pack().keys() == others[1].pack().keys() == index.pack().keys()
    for name, values in index.pack().items():
        assert (
            bytes(others[1].pack()[name]) == bytes(values) == bytes(again.pack()[name])
        )
    # Kernels are compiled once for all kinds of index.
    for kernel in (lucene_ranking.kernels.add_scores, lucene_ranking.kernels.find_best):
        assert JIT_OFF or len(kernel.signatures) == 1


@pytest.mark.parametrize("seed", range(20))
def test_search_is_that_of_the_rules(seed):
    documents, keys = random_documents(seed, 40 if seed > 14 else 12)
    index = LuceneIndex.build(iter(documents), keys)
    terms = [list(map(stem, words(document))) for document in documents]
    rng = random.Random(seed)
    for k in (1, 3, 7, 50):
        query = " ".join(
            rng.choices([*WORDS, "walked", "unknown"], k=rng.randint(0, 6))
        )
        expected = bm25.rank(terms, keys, list(map(stem, words(query))), k)
        results = hits(index, query, k)
        assert [number for number, _ in results] == [number for number, _ in expected]
        scores = [[float(score) for _, score in pairs] for pairs in (results, expected)]
        np.testing.assert_allclose(*scores, rtol=1e-6)


def test_lengths_are_stored_in_four_bits():
    for length in [*range(24), 39, 40, 41, 57, 300, 70_001]:
        documents = ["red " + "x " * (length - 1)] if length else [""]
        documents += ["red walk", "walk"]
        index = LuceneIndex.build(documents, ["a", "b", "c"])
        terms = [document.split() for document in documents]
        expected = bm25.rank(terms, "abc", ["red"], 9)
        assert hits(index, "red") == [(n, float(score)) for n, score in expected]


def test_a_stem_is_no_word():
    # "gener" is what "general" becomes.
    index = LuceneIndex.build(["generals"], ["a"])
    assert hits(index, "general") == hits(index, "gener") != []


FORGERIES = {
    "starts": ([0, 9, 3, 6], [0, 2, 3], [1, 2, 4, 6], [0, 4, 2, 6], [0, 2, 4, -6], []),
    "numbers": ([0, 1, 3], [-1, 0, 1]),
    "documents": ([0, 1, 1, 2, 0, 3], [0, 1, 1, 2, 0, -1], [0]),
    "form_terms": ([0, 1, 2, 4], [0, -1, 2, 3]),
    "idf": ([1.0],),
    "saturations": ([1.0] * 5,),
}


@pytest.mark.parametrize("name", FORGERIES)
def test_a_forged_index_is_refused_before_a_kernel_reads_it(name):
    """Whoever forges an index has written a new digest, too."""
    index = LuceneIndex.build(["red dress", "red lamp", "blue lamp"], list("abc"))
    arrays = stored(index)
    assert hits(LuceneIndex.unpack(arrays), "red") == hits(index, "red")
    for values in FORGERIES[name]:
        forged = {**arrays, name: np.array(values, arrays[name].dtype)}
        with pytest.raises(ValueError, match="index do not fit together"):
            LuceneIndex.unpack(forged)
