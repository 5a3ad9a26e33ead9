"""Lucene's ranking of documents for a query: WebShop's order and scores.

BM25 with k1 = 0.9 and b = 0.4 over bags of words; a document needs any one word of the
query.  The settings are those of Anserini 0.22 with Lucene 9.5 and the English
analyser; documents with equal scores are in ascending order of their keys.
"""

from __future__ import annotations

import itertools
import zlib
from array import array
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from roll_vec.arrays.row_threads import ThreadScratch
from roll_vec.envs.webshop.manifest import refuse_damage
from roll_vec.envs.webshop.search.english_analyzer import stem, words
from roll_vec.kernels.webshop import bm25 as kernels

_K1, _B = np.float32(0.9), np.float32(0.4)
# Lucene refuses a query with more different terms; here the rest is ignored.
_MAX_QUERY_TERMS = 1024

_FOLDER = "lucene"
# Arrays are stored without a header: a damaged header could ask for any memory.
_DTYPES = {
    "numbers": np.int64,
    "starts": np.int64,
    "documents": np.int32,
    "saturations": np.float32,
    "idf": np.float32,
    "form_terms": np.int32,
    "document_checks": np.uint32,
    "saturation_checks": np.uint32,
}
# Arrays of postings, and the arrays of their checksums.
_CHECKS = {"documents": "document_checks", "saturations": "saturation_checks"}


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
    folder : Path or None
        Folder of the stored index.  ``arrays`` then has ``document_checks`` and
        ``saturation_checks``, the CRC-32 of each term's postings.
    """

    piecewise_files: ClassVar[tuple[str, ...]] = tuple(
        f"{_FOLDER}/{name}.bin" for name in _CHECKS
    )

    def __init__(
        self,
        arrays: dict[str, NDArray[Any]],
        terms: list[str],
        forms: list[str],
        folder: Path | None = None,
    ) -> None:
        # Plain read-only arrays, mapped or not: the kernels are compiled only once.
        self._arrays = {name: np.asarray(values) for name, values in arrays.items()}
        for values in self._arrays.values():
            values.flags.writeable = False
        self._terms = {term: number for number, term in enumerate(terms)}
        self._forms = dict(zip(forms, arrays["form_terms"].tolist(), strict=True))
        self._folder = folder
        self._verified_terms: set[int] = set()

    @classmethod
    def build(
        cls,
        documents: Iterable[str],
        keys: Sequence[str],
        progress: Callable[[int], object] | None = None,
    ) -> LuceneIndex:
        """Return an index in memory.

        Parameters
        ----------
        documents : iterable of str
            In the order of the products.
        keys : sequence of str
            A different one of each product; it decides the order of equal scores.
        progress : function of int, or None
            Called with the number of documents that are done.

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
            if progress is not None:
                progress(count)
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
        if self._folder is not None and not self._verified_terms.issuperset(counts):
            self._check_postings(counts)
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

    def _check_postings(self, terms: Iterable[int]) -> None:
        """Compare the postings of terms with their checksums, each term once.

        The kernel trusts document numbers: damaged ones would be written out of bounds.
        """
        for term in terms:
            start, stop = self._arrays["starts"][term : term + 2].tolist()
            for name, check in _CHECKS.items():
                checksum = zlib.crc32(self._arrays[name][start:stop].data)
                if checksum != self._arrays[check][term]:
                    path = Path(str(self._folder)) / f"{name}.bin"
                    problem = f"postings of term {term} have changed since they were"
                    refuse_damage(path, f"{problem} stored")
            documents = self._arrays["documents"][start:stop]
            if _is_outside(documents, len(self._arrays["numbers"])):
                path = Path(str(self._folder)) / "documents.bin"
                refuse_damage(path, f"postings of term {term} are of no product")
            self._verified_terms.add(term)

    def save(self, directory: Path) -> None:
        """Write the index into a directory."""
        folder = directory / _FOLDER
        folder.mkdir(exist_ok=True)
        arrays = dict(self._arrays)
        if self._folder is None:
            ranges = list(itertools.pairwise(arrays["starts"].tolist()))
            for name, check in _CHECKS.items():
                postings = arrays[name]
                checks = [
                    zlib.crc32(postings[start:stop].data) for start, stop in ranges
                ]
                arrays[check] = np.array(checks, np.uint32)
        for name in _DTYPES:
            arrays[name].tofile(folder / f"{name}.bin")
        for name, entries in (("terms", self._terms), ("forms", self._forms)):
            (folder / f"{name}.txt").write_bytes("\n".join(entries).encode())

    @classmethod
    def open(cls, directory: Path, memory_map: bool) -> LuceneIndex:
        """Return an index that was saved."""
        folder = directory / _FOLDER
        arrays: dict[str, NDArray[Any]] = {}
        for name, dtype in _DTYPES.items():
            path = folder / f"{name}.bin"
            # An empty file cannot be mapped.
            is_mapped = memory_map and path.stat().st_size
            arrays[name] = (
                np.memmap(path, dtype, "r") if is_mapped else np.fromfile(path, dtype)
            )
        texts = [(folder / f"{name}.txt").read_bytes() for name in ("terms", "forms")]
        terms, forms = [text.decode().split("\n") if text else [] for text in texts]
        _check_arrays(arrays, len(terms), folder)
        return cls(arrays, terms, forms, folder)


def _check_arrays(
    arrays: dict[str, NDArray[Any]], num_terms: int, folder: Path
) -> None:
    """Check that indices of a stored index are within the arrays; not of postings.

    The kernels check none: whoever forges an index would read and write any memory.

    Raises
    ------
    InvalidOptionError
    """
    starts, num_postings = arrays["starts"], len(arrays["documents"])
    limits = {"numbers": len(arrays["numbers"]), "form_terms": num_terms}
    if (
        len(starts) != num_terms + 1
        or starts[0] != 0
        or starts[-1] != num_postings
        or (starts[1:] < starts[:-1]).any()
        or len(arrays["saturations"]) != num_postings
        or any(len(arrays[name]) != num_terms for name in ("idf", *_CHECKS.values()))
        or any(_is_outside(arrays[name], limit) for name, limit in limits.items())
    ):
        refuse_damage(folder, "its arrays do not fit together")


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
