"""Search backends: the protocol of an index, and the classes by name."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar, Protocol

import numpy as np
from numpy.typing import NDArray

from roll_vec.options import check_choice

if TYPE_CHECKING:
    from typing_extensions import Self

_CLASSES = {
    "lucene": ("roll_vec.envs.webshop.search.lucene_ranking", "LuceneIndex"),
    "tantivy": ("roll_vec.envs.webshop.search.tantivy_ranking", "TantivyIndex"),
}

BACKENDS = tuple(_CLASSES)
"""Names of the backends.

``lucene`` has the order and the scores of WebShop's own search engine.  ``tantivy``, an
extra, is meant for a million products and has another ranking.
"""


class SearchBackend(Protocol):
    """An index of documents, one for each product; read only.

    The same documents and query have the same result in every thread and process.

    Attributes
    ----------
    name : str
        One of `BACKENDS`.
    piecewise_files : tuple of str
        Stored files, relative to the directory, that the index checks piece by piece
        when it reads them; see `roll_vec.envs.webshop.manifest`.
    """

    name: ClassVar[str]
    piecewise_files: ClassVar[tuple[str, ...]]

    @classmethod
    def build(
        cls,
        documents: Iterable[str],
        keys: Sequence[str],
        progress: Callable[[int], object] | None = None,
    ) -> Self:
        """Return an index in memory.

        Parameters
        ----------
        documents : iterable of str
            In the order of the products.
        keys : sequence of str
            One for each product.  Products with equal scores are in ascending order of
            their keys.
        progress : callable or None
            Called with the number of indexed documents.

        Raises
        ------
        ValueError
            If the numbers of documents and keys differ.
        MissingExtraError
        """

    @classmethod
    def open(cls, directory: Path, memory_map: bool) -> Self:
        """Return the index that was saved in a directory.

        Parameters
        ----------
        directory : Path
            Its files have been compared with the manifest.
        memory_map : bool
            Whether processes share the files, instead of reading all of them.

        Raises
        ------
        OSError, ValueError
            If the files cannot be read.
        MissingExtraError
        """

    def save(self, directory: Path) -> None:
        """Write the index into an existing directory."""

    def search(
        self, query: str, k: int = 50
    ) -> tuple[NDArray[np.int64], NDArray[np.float32]]:
        """Return the numbers of the best products, best first, and their scores.

        Parameters
        ----------
        query : str
            Any text; it has no syntax.
        k : int
            Maximum number of products.

        Returns
        -------
        numbers : (m,) int64
        scores : (m,) float32
            Above 0, descending.

        Raises
        ------
        InvalidOptionError
            If a stored file is damaged; names it.
        """


def backend_class(name: str) -> type[SearchBackend]:
    """Return the class of a backend; imports its module.

    Raises
    ------
    InvalidOptionError
        If there is no such backend.
    """
    module, attribute = _CLASSES[check_choice("search_backend", name, BACKENDS)]
    backend: type[SearchBackend] = getattr(importlib.import_module(module), attribute)
    return backend
