"""BM25 as Lucene computes it, stated plainly: one document after the other."""

import math
from collections import Counter

import numpy as np

_K1, _B, _ONE = np.float32(0.9), np.float32(0.4), np.float32(1)


def stored_length(length):
    """Return a document's length as one byte keeps it: four bits beyond 24."""
    if length < 24:
        return length
    bits = bin(length - 24)[2:]
    return 24 + int(bits[:4] + "0" * len(bits[4:]), 2)


def rank(documents, keys, query, k):
    """Return the k best documents for a query, best first: indices and scores above 0.

    Documents and the query are lists of terms.
    """
    counts = [Counter(document) for document in documents]
    filled = [document for document in documents if document]
    if not filled:
        return []
    average = np.float32(sum(map(len, filled)) / len(filled))
    hits = []
    for number, document in enumerate(documents):
        score = 0.0
        for term, in_query in Counter(query).items():
            frequency = counts[number][term]
            if not frequency:
                continue
            num_with = sum(term in count for count in counts)
            idf = math.log(1 + (len(filled) - num_with + 0.5) / (num_with + 0.5))
            weight = np.float32(in_query) * np.float32(idf)
            length = np.float32(stored_length(len(document)))
            inverse = _ONE / (_K1 * ((_ONE - _B) + _B * length / average))
            score += float(weight - weight / (_ONE + np.float32(frequency) * inverse))
        if score > 0:
            hits.append((np.float32(score), number))
    hits.sort(key=lambda pair: (-pair[0], keys[pair[1]]))
    return [(number, score) for score, number in hits[:k]]
