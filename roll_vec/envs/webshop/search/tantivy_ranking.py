"""Tantivy's ranking of documents for a query, for a million products; an extra.

Words, stems and scores follow tantivy's own rules: BM25 with k1 = 1.2 and b = 0.75,
other stop words, another stemmer.  Results are similar to those of `LuceneIndex`, but
neither their order nor their scores are those of WebShop.
"""

from __future__ import annotations

import functools
import os
import shutil
import tempfile
import weakref
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from roll_vec.errors import InvalidOptionError, MissingExtraError

_FOLDER = "tantivy"
_NUMBERS = "numbers.npy"
_FIELD = "text"

# A thread starts another segment after this many bytes; memory is taken as needed.
# With several segments the order of equal scores would be random.
_WRITER_BYTES = 4_000_000_000
_MAX_QUERY_TERMS = 1024
_MAX_WORD_LENGTH = 255


@functools.cache
def _import_tantivy() -> Any:
    feature = 'search_backend="tantivy"'
    return MissingExtraError.import_module("tantivy", feature, extra="tantivy")


@functools.cache
def _analyzer() -> Any:
    tantivy = _import_tantivy()
    filters = tantivy.Filter
    return (
        tantivy.TextAnalyzerBuilder(tantivy.Tokenizer.simple())
        .filter(filters.remove_long(_MAX_WORD_LENGTH))
        .filter(filters.lowercase())
        .filter(filters.stopword("english"))
        .filter(filters.stemmer("english"))
        .build()
    )


def _replace_surrogates(text: str) -> str:
    """Return a text with ``?`` for lone surrogates, which UTF-8 cannot encode."""
    return text if text.isascii() else text.encode("utf-8", "replace").decode()


class TantivyIndex:
    """An index of documents; see `SearchBackend`.

    Parameters
    ----------
    folder : Path
        Files of an index with one segment; they are mapped into memory.

    Notes
    -----
    The folder must be writable, because tantivy locks it for a moment at opening.  A
    query is read up to its 1024th different word.
    """

    name: ClassVar[str] = "tantivy"
    # tantivy does not check its files when it reads them: all are read at opening.
    piecewise_files: ClassVar[tuple[str, ...]] = ()

    def __init__(self, folder: Path) -> None:
        index = _import_tantivy().Index.open(str(folder / "index"))
        # The files never change: no thread has to watch them.
        index.config_reader(reload_policy="manual")
        self._folder = folder
        self._schema, self._searcher = index.schema, index.searcher()
        self._numbers: NDArray[np.int64] = np.load(folder / _NUMBERS)
        if self._searcher.num_segments > 1:
            message = (
                f"search_backend: {len(self._numbers)} products are more than one "
                "segment of tantivy holds"
            )
            raise InvalidOptionError(message)

    @classmethod
    def build(
        cls,
        documents: Iterable[str],
        keys: Sequence[str],
        progress: Callable[[int], object] | None = None,
    ) -> TantivyIndex:
        """Return an index in a temporary folder, which is removed with the index.

        See `SearchBackend.build`.
        """
        tantivy = _import_tantivy()
        texts = list(documents)
        folder = Path(tempfile.mkdtemp(prefix="roll_vec-"))
        try:
            (folder / "index").mkdir()
            numbers = sorted(range(len(keys)), key=keys.__getitem__)
            np.save(folder / _NUMBERS, np.array(numbers, np.int64))
            schema = tantivy.SchemaBuilder()
            schema.add_text_field(_FIELD, tokenizer_name=_FIELD, index_option="freq")
            index = tantivy.Index(schema.build(), path=str(folder / "index"))
            index.register_tokenizer(_FIELD, _analyzer())
            writer = index.writer(heap_size=_WRITER_BYTES, num_threads=1)
            for count, number in enumerate(numbers, 1):
                document = tantivy.Document()
                document.add_text(_FIELD, _replace_surrogates(texts[number]))
                writer.add_document(document)
                if progress is not None:
                    progress(count)
            writer.commit()
            writer.wait_merging_threads()
            result = cls(folder)
        except BaseException:
            shutil.rmtree(folder, ignore_errors=True)
            raise
        weakref.finalize(result, _remove_folder, folder, os.getpid())
        return result

    def search(
        self, query: str, k: int = 50
    ) -> tuple[NDArray[np.int64], NDArray[np.float32]]:
        """Return the numbers and the scores of the best products.

        See `SearchBackend.search`.
        """
        tantivy = _import_tantivy()
        words = _analyzer().analyze(_replace_surrogates(query))
        counts: Counter[str] = Counter()
        for word in words:
            if len(counts) == _MAX_QUERY_TERMS and word not in counts:
                break
            counts[word] += 1
        size = min(k, len(self._numbers))
        if size < 1 or not counts:
            return np.empty(0, np.int64), np.empty(0, np.float32)
        clauses = [
            (
                tantivy.Occur.Should,
                tantivy.Query.boost_query(
                    tantivy.Query.term_query(self._schema, _FIELD, word, "freq"),
                    float(count),
                ),
            )
            for word, count in counts.items()
        ]
        hits = self._searcher.search(
            tantivy.Query.boolean_query(clauses), size, count=False
        ).hits
        documents = np.array([address.doc for _, address in hits], np.int64)
        return self._numbers[documents], np.array([s for s, _ in hits], np.float32)

    def save(self, directory: Path) -> None:
        """Write the index into a directory; see `SearchBackend.save`."""
        shutil.copytree(
            self._folder,
            directory / _FOLDER,
            ignore=shutil.ignore_patterns("*.lock"),
            dirs_exist_ok=True,
        )

    @classmethod
    def open(cls, directory: Path, memory_map: bool) -> TantivyIndex:  # noqa: ARG003
        """Return an index that was saved; it is always mapped into memory.

        See `SearchBackend.open`.
        """
        return cls(directory / _FOLDER)


def _remove_folder(folder: Path, process: int) -> None:
    """Remove a temporary folder, but not at the end of a forked child."""
    if os.getpid() == process:
        shutil.rmtree(folder, ignore_errors=True)
