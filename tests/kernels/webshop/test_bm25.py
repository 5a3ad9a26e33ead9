"""Scores are those of plain sums, the best documents those of a sorted list."""

import numpy as np
import pytest

from roll_vec.kernels.webshop import bm25 as kernels
from tests.conftest import JIT_OFF


def random_index(rng, num_documents, num_terms):
    """Return the arrays of an index in which each term has some documents or none."""
    postings = [
        np.sort(rng.permutation(num_documents)[: rng.integers(num_documents + 1)])
        for _ in range(num_terms)
    ]
    starts = np.cumsum([0, *map(len, postings)]).astype(np.int64)
    documents = np.concatenate([*postings, []]).astype(np.int32)
    saturations = (1 + rng.random(len(documents))).astype(np.float32)
    arrays = starts, documents, saturations
    for array in arrays:
        # As an index has them: another signature would be compiled otherwise.
        array.flags.writeable = False
    return arrays


@pytest.mark.parametrize("num_terms", [0, 1, 5])
def test_scores_are_sums_over_postings(num_terms):
    for seed in range(3 if JIT_OFF else 30):
        rng = np.random.default_rng(seed)
        n = int(rng.integers(1, 40))
        starts, documents, saturations = random_index(rng, n, 8)
        terms = rng.permutation(8)[:num_terms].astype(np.int64)
        weights = rng.random(num_terms).astype(np.float32) * 9
        scores = np.full(n, 7.0)
        kernels.add_scores(terms, weights, starts, documents, saturations, scores)
        expected = [0.0] * n
        for term, weight in zip(terms, weights, strict=True):
            for place in range(starts[term], starts[term + 1]):
                part = weight - weight / saturations[place]
                assert part.dtype == np.float32
                expected[documents[place]] += float(part)
        assert scores.tolist() == expected


@pytest.mark.parametrize("k", [0, 1, 2, 7, 50, 200])
@pytest.mark.parametrize("levels", [1, 3, 1000])
def test_the_best_are_those_of_a_sorted_list(k, levels):
    """With few levels most scores are equal, and the earlier document is better."""
    for seed in range(2 if JIT_OFF else 30):
        rng = np.random.default_rng(seed)
        n = int(rng.integers(0, 120))
        scores = rng.integers(0, levels + 1, n) / 3
        best, best_scores = np.full(k, -1, np.int64), np.zeros(k, np.float32)
        size = kernels.find_best(scores, best, best_scores)
        rounded = scores.astype(np.float32)
        expected = sorted(
            np.flatnonzero(scores).tolist(), key=lambda i: (-rounded[i], i)
        )[:k]
        assert best[:size].tolist() == expected
        assert best_scores[:size].tolist() == rounded[expected].tolist()


def test_scores_are_compared_as_they_are_returned():
    """Scores that differ only in float64 are equal: the earlier document is better."""
    scores = np.array([1.0, 1.0 + 1e-12, 2.0, 2.0 + 1e-12, 1.0])
    for k in (1, 2, 3, 5):
        best, best_scores = np.empty(k, np.int64), np.empty(k, np.float32)
        assert kernels.find_best(scores, best, best_scores) == k
        assert best.tolist() == [2, 3, 0, 1, 4][:k]
