"""Lucene's ranking of documents for a query: WebShop's order and scores.

BM25 with k1 = 0.9 and b = 0.4 over bags of words; a document needs any one word of the
query.  The settings are those of Anserini 0.22 with Lucene 9.5 and the English
analyser; documents with equal scores are in ascending order of their keys.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from roll_vec.envs.webshop.search.english_analyzer import stem, words
from roll_vec.kernels.webshop import bm25 as kernels
from roll_vec.progress import report
from roll_vec.row_threads import ThreadScratch

_K1, _B = np.float32(0.9), np.float32(0.4)
# Lucene refuses a query with more different terms; here the rest is ignored.
_MAX_QUERY_TERMS = 1024

_ARRAYS = ("numbers", "starts", "documents", "saturations", "idf", "form_terms")


# The scores of all documents.
_scratch = ThreadScratch()


class LuceneIndex:
    """An index of documents, one for each product; read only.

    The same documents and query have the same result in every thread and process.

    Parameters
    ----------
    arrays : mapping of str to array
        ``numbers``: the product of each document; documents are in ascending order of
        keys.  ``starts``, ``documents``, ``saturations``: postings, see
        `roll_vec.kernels.webshop.bm25`.  ``idf``: of each term.  ``form_terms``: the
        term of each form.
    terms : list of str
        The stems of the documents' words.
    forms : list of str
        The documents' words; a query with these words alone needs no stemmer.
    """

    def __init__(
        self,
        arrays: dict[str, NDArray[Any]],
        terms: list[str],
        forms: list[str],
    ) -> None:
        self._arrays = arrays
        # Mapped arrays are read-only: the kernels are compiled once for all.
        for values in arrays.values():
            values.flags.writeable = False
        self._terms = {term: number for number, term in enumerate(terms)}
        self._forms = dict(zip(forms, arrays["form_terms"].tolist(), strict=True))

    @classmethod
    def build(
        cls,
        documents: Iterable[str],
        keys: Sequence[str],
    ) -> LuceneIndex:
        """Return an index in memory.

        Parameters
        ----------
        documents : iterable of str
            In the order of the products.
        keys : sequence of str
            A different one of each product; it decides the order of equal scores.

        Raises
        ------
        MissingExtraError
            If the extra ``webshop`` is not installed.
        """
        forms = _FormTerms()
        tokens, lengths = array("i"), array("i")
        for count, document in enumerate(documents, 1):
            before = len(tokens)
            tokens.extend(map(forms.__getitem__, words(document)))
            lengths.append(len(tokens) - before)
            report("products in the search index", count, len(keys))
        numbers = np.array(sorted(range(len(keys)), key=keys.__getitem__), np.int64)
        arrays = _build_postings(
            np.array(tokens, np.int64),
            np.array(lengths, np.int64),
            numbers,
            len(forms.terms),
        )
        arrays["form_terms"] = np.array(list(forms.values()), np.int32)
        return cls(arrays, list(forms.terms), list(forms))

    def search(
        self, query: str, k: int = 50
    ) -> tuple[NDArray[np.int64], NDArray[np.float32]]:
        """Return the numbers of the best products, best first, and their scores.

        Parameters
        ----------
        query : str
            Any text; it has no syntax, and is read up to its 1024th different term.
        k : int
            Maximum number of products.

        Returns
        -------
        numbers : (m,) int64
        scores : (m,) float32
            Above 0, descending.
        """
        arrays = self._arrays
        counts = self._count_terms(query)
        terms = np.array(list(counts), np.int64)
        weights = np.array(list(counts.values()), np.float32) * arrays["idf"][terms]
        numbers = arrays["numbers"]
        scores = _scratch.get(np.empty, len(numbers))
        size = max(0, min(k, len(numbers)))
        best, best_scores = np.empty(size, np.int64), np.empty(size, np.float32)
        kernels.add_scores(
            terms,
            weights,
            arrays["starts"],
            arrays["documents"],
            arrays["saturations"],
            scores,
        )
        count = kernels.find_best(scores, best, best_scores)
        return numbers[best[:count]], best_scores[:count]

    def _count_terms(self, query: str) -> dict[int, int]:
        """Return how often a query has each of the documents' terms."""
        counts: dict[int | str, int] = {}
        for word in words(query):
            term: int | str | None = self._forms.get(word)
            if term is None:
                stemmed = stem(word)
                term = self._terms.get(stemmed, stemmed)
            if term not in counts and len(counts) == _MAX_QUERY_TERMS:
                break
            counts[term] = counts.get(term, 0) + 1
        return {term: n for term, n in counts.items() if isinstance(term, int)}

    def pack(self) -> dict[str, bytes | NDArray[Any]]:
        """Return the arrays, and ``terms`` and ``forms`` as lines of bytes."""
        lines = {"terms": self._terms, "forms": self._forms}
        texts = {name: "\n".join(words).encode() for name, words in lines.items()}
        return {**self._arrays, **texts}

    @classmethod
    def unpack(cls, arrays: Mapping[str, NDArray[Any]]) -> LuceneIndex:
        """Return the index that `pack` returned, with arrays in place of bytes.

        Raises
        ------
        ValueError
            If an index is outside of its array.  The kernels check none: a forged file
            could read and write any memory.
        """
        terms, forms = (
            text.split("\n") if (text := arrays[name].tobytes().decode()) else []
            for name in ("terms", "forms")
        )
        starts, num_terms = arrays["starts"], len(terms)
        num_postings, num_products = len(arrays["documents"]), len(arrays["numbers"])
        if (
            len(starts) != num_terms + 1
            or starts[0] != 0
            or starts[-1] != num_postings
            or (starts[1:] < starts[:-1]).any()
            or len(arrays["saturations"]) != num_postings
            or len(arrays["idf"]) != num_terms
            or _is_outside(arrays["documents"], num_products)
            or _is_outside(arrays["numbers"], num_products)
            or _is_outside(arrays["form_terms"], num_terms)
        ):
            message = "the arrays of its search index do not fit together"
            raise ValueError(message)
        return cls({name: arrays[name] for name in _ARRAYS}, terms, forms)


def _is_outside(indices: NDArray[Any], limit: int) -> bool:
    return bool(len(indices)) and not 0 <= indices.min() <= indices.max() < limit


class _FormTerms(dict[str, int]):
    """The term of each word; a new word gets it from its stem."""

    def __init__(self) -> None:
        super().__init__()
        self.terms: dict[str, int] = {}

    def __missing__(self, word: str) -> int:
        number = self.terms.setdefault(stem(word), len(self.terms))
        self[word] = number
        return number


def _build_postings(
    tokens: NDArray[np.int64],
    lengths: NDArray[np.int64],
    numbers: NDArray[np.int64],
    num_terms: int,
) -> dict[str, NDArray[Any]]:
    """Return the arrays of an index except ``form_terms``.

    Parameters
    ----------
    tokens : (sum of lengths,) int64
        The terms of all products, in the order of the products.
    lengths : (n,) int64
        Number of tokens of each product.
    numbers : (n,) int64
        The product of each document.
    num_terms : int
    """
    size = max(len(numbers), 1)
    documents = np.empty_like(numbers)
    documents[numbers] = np.arange(len(numbers))
    # One number for each pair of term and document: sorted by term, then by document.
    pairs, frequencies = np.unique(
        tokens * size + np.repeat(documents, lengths), return_counts=True
    )
    posting_terms, posting_documents = np.divmod(pairs, size)
    document_counts = np.bincount(posting_terms, minlength=num_terms)
    # Lucene does not count documents without words.
    num_documents = int(np.count_nonzero(lengths))
    average = np.float32(len(tokens) / max(num_documents, 1))
    norms = _quantise(lengths).astype(np.float32)[numbers]
    inverse = np.float32(1) / (_K1 * ((1 - _B) + _B * norms / (average or 1)))
    rarity = (num_documents - document_counts + 0.5) / (document_counts + 0.5)
    tf = frequencies.astype(np.float32)
    return {
        "numbers": numbers,
        "starts": np.concatenate([[0], np.cumsum(document_counts)]).astype(np.int64),
        "documents": posting_documents.astype(np.int32),
        "saturations": np.float32(1) + tf * inverse[posting_documents],
        "idf": np.log(1 + rarity).astype(np.float32),
    }


def _quantise(lengths: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return lengths rounded as by Lucene's one-byte form, ``SmallFloat.intToByte4``.

    Lengths up to 24 are exact.  The surplus above 24 keeps its four highest bits.
    """
    surplus = np.maximum(lengths - 24, 0)
    # frexp returns the number of bits, exactly below 2**53.
    num_low_bits = np.maximum(np.frexp(surplus.astype(np.float64))[1] - 4, 0)
    rounded: NDArray[np.int64] = surplus >> num_low_bits << num_low_bits
    return np.minimum(lengths, 24) + rounded
