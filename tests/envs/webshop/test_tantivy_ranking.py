"""Tantivy's ranking: repeatable, equal scores in order, no syntax in queries."""

import gc
import random
import sys
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from roll_vec.envs.webshop import Catalogue
from roll_vec.envs.webshop.search import tantivy_ranking as module
from roll_vec.envs.webshop.search.tantivy_ranking import TantivyIndex
from roll_vec.errors import InvalidOptionError, MissingExtraError

needs_tantivy = pytest.mark.usefixtures("_tantivy")

WORDS = ["red", "blue", "walking", "boots", "dress", "tent", "the", "rain", "lamp"]


@pytest.fixture
def _tantivy():
    """Skip a test where tantivy is not installed."""
    pytest.importorskip("tantivy")


def shop(size=300, seed=0):
    """Return random documents and keys."""
    rng = random.Random(seed)
    documents = [" ".join(rng.choices(WORDS, k=rng.randint(0, 9))) for _ in range(size)]
    keys = [f"K{number:05}" for number in rng.sample(range(99999), size)]
    return documents, keys


def hits(index, query, k=50):
    """Return the results of a search as pairs of number and score."""
    numbers, scores = index.search(query, k)
    assert (numbers.dtype, scores.dtype) == (np.int64, np.float32)
    return list(zip(numbers.tolist(), scores.tolist(), strict=True))


@needs_tantivy
def test_products_with_the_words_are_found():
    index = TantivyIndex.build(
        iter(["Walking boots", "red dress", "red boots for a walk"]), ["c", "a", "b"]
    )
    pairs = hits(index, "walk BOOTS")
    assert sorted(number for number, _ in pairs) == [0, 2]
    assert hits(index, "walk boots", 1) == pairs[:1]
    scores = [score for _, score in pairs]
    assert scores == sorted(scores, reverse=True)
    assert scores[-1] > 0
    # A word twice counts twice.
    assert hits(index, "dress dress")[0][1] == 2 * hits(index, "dress")[0][1]


@needs_tantivy
def test_equal_scores_come_in_the_order_of_keys():
    documents, keys = shop(2000)
    index = TantivyIndex.build(documents, keys)
    for query in ("red", "boots lamp", "walks tent rain"):
        pairs = hits(index, query, 2000)
        assert len(pairs) > 100
        assert pairs == sorted(pairs, key=lambda pair: (-pair[1], keys[pair[0]]))
        # The first of them are the same, however many there are asked for.
        for k in (1, 10, 50):
            assert hits(index, query, k) == pairs[:k]


@needs_tantivy
def test_a_second_build_and_a_stored_index_find_the_same(tmp_path):
    documents, keys = shop()
    index, again = (TantivyIndex.build(documents, keys) for _ in range(2))
    index.save(tmp_path)
    queries = [" ".join(pair) for pair in zip(WORDS, WORDS[3:], strict=False)]
    expected = [hits(index, query) for query in queries]
    assert any(expected)
    for other in (
        again,
        *(TantivyIndex.open(tmp_path, mode) for mode in (True, False)),
    ):
        assert [hits(other, query) for query in queries] == expected
    with ThreadPoolExecutor(4) as pool:
        for _ in range(5):
            assert list(pool.map(lambda q: hits(index, q), queries)) == expected


@needs_tantivy
def test_a_query_has_no_syntax():
    index = TantivyIndex.build(["red \udfff", "blue"], ["a", "b"])
    empty = TantivyIndex.build([], [])
    for query in ("", "the", "text:red AND", '"red', "red~2 ^(", "\ud800red\0"):
        numbers = [number for number, _ in hits(index, query)]
        assert numbers == [0] * ("red" in query), query
        assert hits(index, query, 0) == hits(empty, query) == []
    assert len(hits(index, "red " * 100_000)) == 1


@needs_tantivy
def test_of_a_long_query_the_first_1024_words_count():
    index = TantivyIndex.build(["late", "n0"], ["a", "b"])
    query = " ".join(f"n{number}" for number in range(1024))
    assert [number for number, _ in hits(index, query + " late")] == [1]
    assert [number for number, _ in hits(index, query[3:] + " late")] == [0]


@needs_tantivy
def test_temporary_files_go_with_the_index_but_stay_in_a_forked_child(tmp_path):
    index = TantivyIndex.build(*shop(10))
    folder = index._folder
    assert folder.is_dir()
    del index
    gc.collect()
    assert not folder.exists()
    module._remove_folder(tmp_path, -1)
    assert tmp_path.exists()


@needs_tantivy
def test_a_damaged_file_is_named(tmp_path):
    Catalogue.load(num_products=10, search_backend="tantivy").save(tmp_path / "shop")
    paths = sorted((tmp_path / "shop" / "tantivy").rglob("*.*"))
    assert len(paths) > 5
    paths = paths[::2]

    def load():
        return Catalogue.load(products=tmp_path / "shop", search_backend="tantivy")

    for path in paths:
        good = path.read_bytes()
        for bad in (None, good[:-1], good + b"x", b"[" * 9999):
            path.unlink(missing_ok=True)
            if bad is not None:
                path.write_bytes(bad)
            with pytest.raises(InvalidOptionError, match=f"{path.name} cannot be read"):
                load()
        path.write_bytes(good)
    assert load().search("chair")


@needs_tantivy
def test_documents_and_keys_must_be_as_many():
    counts = []
    TantivyIndex.build(["a", "b"], ["k", "l"], counts.append)
    assert counts == [1, 2]
    with pytest.raises(ValueError, match="expected 2 documents"):
        TantivyIndex.build(["a"], ["k", "l"])


def test_without_tantivy_the_extra_is_named(monkeypatch, tmp_path):
    monkeypatch.setitem(sys.modules, "tantivy", None)
    module._import_tantivy.cache_clear()
    for use in (
        lambda: TantivyIndex.build([], []),
        lambda: TantivyIndex.open(tmp_path, True),
    ):
        with pytest.raises(MissingExtraError, match=r'"\.\[tantivy\]"'):
            use()
    module._import_tantivy.cache_clear()
