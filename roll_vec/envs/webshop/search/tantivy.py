"""Search by tantivy, for shops of a million products; the extra ``tantivy``.

Documents and queries are cut into words, stemmed and ranked by tantivy's own rules:
BM25 with k1 = 1.2 and b = 0.75, other stop words, another stemmer.  Results are alike
to those of `LuceneIndex`, but neither their order nor their scores are WebShop's.
"""

from __future__ import annotations

import functools
import importlib
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

from roll_vec.envs.webshop.manifest import (
    check_file,
    read_manifest,
    refuse_damage,
    write_manifest,
)
from roll_vec.errors import InvalidOptionError, MissingExtraError

__all__ = ["TantivyIndex"]

_FOLDER = "tantivy"
_FORMAT = 2
_MAIN = "files.json"
_NUMBERS = "numbers.npy"
_FIELD = "text"

# What one thread collects before it starts another segment; only what is needed is
# taken.  Several segments would leave the order of equal scores to chance.
_WRITER_BYTES = 4_000_000_000
_MAX_QUERY_TERMS = 1024
_MAX_LETTERS = 255


@functools.cache
def _tantivy() -> Any:
    try:
        return importlib.import_module("tantivy")
    except ImportError:
        feature = 'search_backend="tantivy"'
        raise MissingExtraError(feature, extra="tantivy", package="tantivy") from None


@functools.cache
def _analyser() -> Any:
    tantivy = _tantivy()
    filters = tantivy.Filter
    return (
        tantivy.TextAnalyzerBuilder(tantivy.Tokenizer.simple())
        .filter(filters.remove_long(_MAX_LETTERS))
        .filter(filters.lowercase())
        .filter(filters.stopword("english"))
        .filter(filters.stemmer("english"))
        .build()
    )


def _well_formed(text: str) -> str:
    """Return a text that has a form in UTF-8: lone surrogates become ``?``."""
    return text if text.isascii() else text.encode("utf-8", "replace").decode()


class TantivyIndex:
    """The documents of products, to be searched; see `SearchBackend`.

    Parameters
    ----------
    folder : Path
        The index's files, of which one segment; mapped into memory.

    Notes
    -----
    The folder must be writable, because tantivy locks it for a moment when it is
    opened.  A query is read as far as its 1024th different word.
    """

    name: ClassVar[str] = "tantivy"

    def __init__(self, folder: Path) -> None:
        index = _tantivy().Index.open(str(folder / "index"))
        # The files never change: nothing has to watch them.
        index.config_reader(reload_policy="manual")
        self._folder = folder
        self._schema, self._searcher = index.schema, index.searcher()
        self._numbers: NDArray[np.int64] = np.load(folder / _NUMBERS)
        if self._searcher.num_segments > 1:
            message = (
                f"search_backend: {len(self._numbers)} products are more than one "
                "segment of tantivy's holds"
            )
            raise InvalidOptionError(message)

    @classmethod
    def build(
        cls,
        documents: Iterable[str],
        keys: Sequence[str],
        progress: Callable[[int], object] | None = None,
    ) -> TantivyIndex:
        """Return an index in a temporary folder, which goes when the index goes.

        See `SearchBackend.build`.
        """
        tantivy = _tantivy()
        texts = list(documents)
        if len(texts) != len(keys):
            message = f"expected {len(keys)} documents, one for each key, got "
            raise ValueError(message + str(len(texts)))
        folder = Path(tempfile.mkdtemp(prefix="roll_vec-"))
        try:
            (folder / "index").mkdir()
            numbers = sorted(range(len(keys)), key=keys.__getitem__)
            np.save(folder / _NUMBERS, np.array(numbers, np.int64))
            schema = tantivy.SchemaBuilder()
            schema.add_text_field(_FIELD, tokenizer_name=_FIELD, index_option="freq")
            index = tantivy.Index(schema.build(), path=str(folder / "index"))
            index.register_tokenizer(_FIELD, _analyser())
            writer = index.writer(heap_size=_WRITER_BYTES, num_threads=1)
            for done, number in enumerate(numbers, 1):
                document = tantivy.Document()
                document.add_text(_FIELD, _well_formed(texts[number]))
                writer.add_document(document)
                if progress is not None:
                    progress(done)
            writer.commit()
            writer.wait_merging_threads()
            built = cls(folder)
        except BaseException:
            shutil.rmtree(folder, ignore_errors=True)
            raise
        weakref.finalize(built, _remove, folder, os.getpid())
        return built

    def search(
        self, query: str, k: int = 50
    ) -> tuple[NDArray[np.int64], NDArray[np.float32]]:
        """Return the numbers and the scores of the best products.

        See `SearchBackend.search`.
        """
        tantivy = _tantivy()
        words = _analyser().analyze(_well_formed(query))
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
        found = self._searcher.search(
            tantivy.Query.boolean_query(clauses), size, count=False
        ).hits
        documents = np.array([address.doc for _, address in found], np.int64)
        return self._numbers[documents], np.array([s for s, _ in found], np.float32)

    def save(self, directory: Path) -> None:
        """Write the index into a directory; see `SearchBackend.save`."""
        folder = directory / _FOLDER
        shutil.copytree(
            self._folder,
            folder,
            ignore=shutil.ignore_patterns("*.lock", _MAIN),
            dirs_exist_ok=True,
        )
        files = (path for path in folder.rglob("*") if path.is_file())
        write_manifest(folder / _MAIN, _FORMAT, {}, list(files))

    @classmethod
    def open(cls, directory: Path, memory_map: bool) -> TantivyIndex:  # noqa: ARG003
        """Return an index that was saved, mapped into memory in any case.

        See `SearchBackend.open`.
        """
        folder = directory / _FOLDER
        _tantivy()
        main = read_manifest(folder / _MAIN, _FORMAT)
        for name, known in main["files"].items():
            check_file(folder / name, known)
        try:
            return cls(folder)
        except (OSError, ValueError) as error:
            if isinstance(error, InvalidOptionError):
                raise
            refuse_damage(folder, str(error))


def _remove(folder: Path, process: int) -> None:
    """Remove a temporary folder, but not where a fork of its process ends."""
    if os.getpid() == process:
        shutil.rmtree(folder, ignore_errors=True)
