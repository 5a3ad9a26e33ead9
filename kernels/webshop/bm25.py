"""Ranking of documents by BM25: scores from an inverted index, and the best documents.

The postings of a term are the documents that contain it, in ascending order.  They are
one range of the arrays ``documents`` and ``saturations``.  The saturation of a posting
is ``1 + tf / (k1 * (1 - b + b * length / average))``, where tf counts the term in the
document.  A term with the weight w in the query adds ``w - w / saturation`` to the
score of the document.  Summands are rounded to float32 and added in float64, as in
Lucene (9.5, ``BM25Similarity``).
"""

import numpy as np

from .._jit import kernel


@kernel
def add_scores(terms, weights, starts, documents, saturations, scores):
    """Write the score of every document.

    Parameters
    ----------
    terms : (m,) int64
        The different terms of a query.
    weights : (m,) float32
    starts : (number of terms + 1,) int64
        First posting of each term, and at last the number of postings.
    documents : (p,) int32
    saturations : (p,) float32
    scores : (number of documents,) float64, written
        0 for a document that has none of the terms.
    """
    scores[:] = 0.0
    for i in range(len(terms)):
        weight = weights[i]
        for j in range(starts[terms[i]], starts[terms[i] + 1]):
            scores[documents[j]] += np.float64(weight - weight / saturations[j])


@kernel
def _is_worse(scores, documents, i, score, document):
    """Return whether entry i of a heap comes after a document in the ranking."""
    return scores[i] < score or (scores[i] == score and documents[i] > document)


@kernel
def _sift(best_scores, best, size, score, document):
    """Replace the worst document of a heap, at its root, by another one."""
    i = 0
    while True:
        child = 2 * i + 1
        if child >= size:
            break
        if child + 1 < size and _is_worse(
            best_scores, best, child + 1, best_scores[child], best[child]
        ):
            child += 1
        if not _is_worse(best_scores, best, child, score, document):
            break
        best_scores[i], best[i] = best_scores[child], best[child]
        i = child
    best_scores[i], best[i] = score, document


@kernel
def find_best(scores, best, best_scores):
    """Write the documents with the highest scores, best first.

    Parameters
    ----------
    scores : (n,) float64
        Compared as float32; of equal ones the earlier document comes first.
    best : (k,) int64, written
        Documents with a score above 0.
    best_scores : (k,) float32, written

    Returns
    -------
    int
        Number of documents; later entries are undefined.
    """
    size = 0
    k = len(best)
    if k == 0:
        return 0
    # Scores up to the worst of k best ones skip the heap.
    limit = 0.0
    for document in range(len(scores)):
        if scores[document] <= limit:
            continue
        score = np.float32(scores[document])
        if size < k:
            # Append to the heap and move up.
            i = size
            size += 1
            while i > 0 and not _is_worse(
                best_scores, best, (i - 1) // 2, score, document
            ):
                best_scores[i] = best_scores[(i - 1) // 2]
                best[i] = best[(i - 1) // 2]
                i = (i - 1) // 2
            best_scores[i], best[i] = score, document
        elif score > best_scores[0]:
            _sift(best_scores, best, size, score, document)
        if size == k:
            limit = np.float64(best_scores[0])
    # Sort the heap: move its worst document to the end, again and again.
    for last in range(size - 1, 0, -1):
        score, document = best_scores[last], best[last]
        best_scores[last], best[last] = best_scores[0], best[0]
        _sift(best_scores, best, last, score, document)
    return size
