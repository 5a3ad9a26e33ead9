"""Search in the order and with the scores of Lucene, as WebShop uses it.

BM25 with k1 = 0.9 and b = 0.4, documents without order of words, any word of a query
is enough: Lucene 9.5 with the English analyser and the settings of Anserini 0.22,
where documents with equal scores come in ascending order of their keys.
"""

from __future__ import annotations

import threading
from array import array
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from roll_vec.envs.webshop.manifest import (
    check_file,
    read_manifest,
    refuse_damage,
    write_manifest,
)
from roll_vec.envs.webshop.search.english_analyzer import stem, words
from roll_vec.kernels.webshop import bm25 as kernels

__all__ = ["LuceneIndex"]

_K1, _B = np.float32(0.9), np.float32(0.4)
# Lucene refuses a query with more of them; here the rest of it is not read.
_MAX_QUERY_TERMS = 1024

_FORMAT = 2
_FOLDER = "lucene"
_MAIN = "index.json"
_ARRAYS = ("numbers", "starts", "documents", "saturations", "idf", "form_terms")
_LISTS = ("terms", "forms")


class LuceneIndex:
    """The documents of products, to be searched; see `SearchBackend`.

    Parameters
    ----------
    arrays : mapping of str to array
        ``numbers``: the product of each document, documents being in ascending order
        of keys.  ``starts``, ``documents``, ``saturations``: postings, see
        `roll_vec.kernels.webshop.bm25`.  ``idf``: of each term.  ``form_terms``: the
        term of each form.
    terms : list of str
        The stems that documents have.
    forms : list of str
        The words that documents have: to find one of them takes no stemmer.
    """

    name: ClassVar[str] = "lucene"

    def __init__(
        self, arrays: dict[str, NDArray[Any]], terms: list[str], forms: list[str]
    ) -> None:
        # As plain arrays that are not to be written the kernels are compiled once.
        self._arrays = {name: np.asarray(values) for name, values in arrays.items()}
        for values in self._arrays.values():
            values.flags.writeable = False
        self._terms = {term: number for number, term in enumerate(terms)}
        self._forms = dict(zip(forms, arrays["form_terms"].tolist(), strict=True))

    @classmethod
    def build(
        cls,
        documents: Iterable[str],
        keys: Sequence[str],
        progress: Callable[[int], object] | None = None,
    ) -> LuceneIndex:
        """Return an index in memory; see `SearchBackend.build`."""
        forms = _Forms()
        tokens, lengths = array("i"), array("i")
        for done, document in enumerate(documents, 1):
            before = len(tokens)
            tokens.extend(map(forms.__getitem__, words(document)))
            lengths.append(len(tokens) - before)
            if progress is not None:
                progress(done)
        if len(lengths) != len(keys):
            message = f"expected {len(keys)} documents, one for each key, got "
            raise ValueError(message + str(len(lengths)))
        numbers = np.array(sorted(range(len(keys)), key=keys.__getitem__), np.int64)
        arrays = _postings(
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
        """Return the numbers and the scores of the best products.

        See `SearchBackend.search`.  Of a query with more than 1024 different terms
        what comes after them is not read.
        """
        arrays = self._arrays
        counts = self._count_terms(query)
        terms = np.array(list(counts), np.int64)
        weights = np.array(list(counts.values()), np.float32) * arrays["idf"][terms]
        numbers = arrays["numbers"]
        scores = _thread_scores(len(numbers))
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
        found = kernels.find_best(scores, best, best_scores)
        return numbers[best[:found]], best_scores[:found]

    def _count_terms(self, query: str) -> dict[int, int]:
        """Return how often a query has each of the terms that documents have."""
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

    def save(self, directory: Path) -> None:
        """Write the index into a directory; see `SearchBackend.save`."""
        folder = directory / _FOLDER
        folder.mkdir(exist_ok=True)
        lengths: dict[str, int] = {}
        for name in _ARRAYS:
            np.save(folder / f"{name}.npy", self._arrays[name])
            lengths[name] = len(self._arrays[name])
        for name, entries in zip(_LISTS, (self._terms, self._forms), strict=True):
            (folder / f"{name}.txt").write_bytes("\n".join(entries).encode())
            lengths[name] = len(entries)
        names = [f"{name}.npy" for name in _ARRAYS] + [f"{name}.txt" for name in _LISTS]
        files = [folder / name for name in names]
        write_manifest(folder / _MAIN, _FORMAT, {"lengths": lengths}, files)

    @classmethod
    def open(cls, directory: Path, memory_map: bool) -> LuceneIndex:
        """Return an index that was saved; see `SearchBackend.open`."""
        folder = directory / _FOLDER
        main = read_manifest(folder / _MAIN, _FORMAT, ["lengths"])
        # Before anything is made of them: a damaged header may ask for any memory.
        for name, known in main["files"].items():
            check_file(folder / name, known)
        lengths: dict[str, int] = main["lengths"]
        try:
            arrays = {
                # An empty array cannot be mapped.
                name: np.load(
                    folder / f"{name}.npy",
                    mmap_mode="r" if memory_map and lengths[name] else None,
                )
                for name in _ARRAYS
            }
            lists = [
                (folder / f"{name}.txt").read_bytes().decode().split("\n")
                if lengths[name]
                else []
                for name in _LISTS
            ]
        except (OSError, ValueError) as error:
            refuse_damage(folder, str(error))
        return cls(arrays, *lists)


class _Forms(dict[str, int]):
    """The number of each word's term; a word that is new gets it from its stem."""

    def __init__(self) -> None:
        super().__init__()
        self.terms: dict[str, int] = {}

    def __missing__(self, word: str) -> int:
        number = self.terms.setdefault(stem(word), len(self.terms))
        self[word] = number
        return number


def _postings(
    tokens: NDArray[np.int64],
    lengths: NDArray[np.int64],
    numbers: NDArray[np.int64],
    num_terms: int,
) -> dict[str, NDArray[Any]]:
    """Return the arrays of an index but ``form_terms``.

    Parameters
    ----------
    tokens : (sum of lengths,) int64
        The terms of all products, that of product 0 first.
    lengths : (n,) int64
        How many tokens each product has.
    numbers : (n,) int64
        The product of each document.
    num_terms : int
    """
    size = max(len(numbers), 1)
    documents = np.empty_like(numbers)
    documents[numbers] = np.arange(len(numbers))
    # Each term and document in one number: sorted by term, then by document.
    pairs, counts = np.unique(
        tokens * size + np.repeat(documents, lengths), return_counts=True
    )
    in_documents = np.bincount(pairs // size, minlength=num_terms)
    found = pairs % size
    # As Lucene counts documents: those that have a word.
    num_filled = int(np.count_nonzero(lengths))
    average = np.float32(len(tokens) / max(num_filled, 1))
    stored = _quantise(lengths).astype(np.float32)[numbers]
    inverse = np.float32(1) / (_K1 * ((1 - _B) + _B * stored / (average or 1)))
    rarity = (num_filled - in_documents + 0.5) / (in_documents + 0.5)
    return {
        "numbers": numbers,
        "starts": np.concatenate([[0], np.cumsum(in_documents)]).astype(np.int64),
        "documents": found.astype(np.int32),
        "saturations": np.float32(1) + counts.astype(np.float32) * inverse[found],
        "idf": np.log(1 + rarity).astype(np.float32),
    }


def _quantise(lengths: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return lengths as Lucene stores them in a byte, by ``SmallFloat.intToByte4``.

    Up to 24 as they are; beyond, the four highest bits of what is more than 24.
    """
    surplus = np.maximum(lengths - 24, 0)
    # frexp gives the number of bits, exactly for lengths below 2**53.
    dropped = np.maximum(np.frexp(surplus.astype(np.float64))[1] - 4, 0)
    kept: NDArray[np.int64] = surplus >> dropped << dropped
    return np.minimum(lengths, 24) + kept


# Scores of all documents, one array for each thread that ever searched.
_scratch = threading.local()


def _thread_scores(size: int) -> NDArray[np.float64]:
    """Return room for so many scores, this thread's own."""
    scores: NDArray[np.float64] | None = getattr(_scratch, "scores", None)
    if scores is None or len(scores) < size:
        scores = _scratch.scores = np.empty(size, np.float64)
    return scores[:size]
