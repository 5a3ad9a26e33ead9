"""Reader of the demo shop's word lists, the ``.ini`` files of this folder.

Lists are separated by ``|`` or by lines.  ``<department>_products.ini`` has a section
for each type of product; its name is the query that finds the type::

    [console tables]
    path = pieces of product_category, separated by >
    noun_phrase = one product in a person's request; adjectives replace the *
    short_name = the product in a sentence, after "the"
    price = lowest and highest, in dollars
    forms, looks, materials, extras, uses, tails = pieces of titles
    attributes = a product has at most one of those that are separated by /
    options = Name: value | value, one group a line
    openers, details = sentences, with {brand}, {form}, {a_form} and {material}

Its section ``DEFAULT`` has what all types of the file share: ``category`` and more
sentences, ``closings``.

``<department>_attributes.ini`` has one attribute a key::

    dry skin = for: is good for dry skin
        Sentence of a description, with {material} and {short_name}.
        - Sentence of a bullet.

The word before the colon is the attribute's place in a synthetic instruction: before,
with or for.  The predicate after the colon is used in a person's request.

``titles.ini`` has the words of brands and titles, and the sentences of requests.
"""

from __future__ import annotations

import configparser
import functools
import re
from importlib import resources
from typing import NamedTuple

# Products are drawn from the types in this order: it never changes.
_DEPARTMENTS = ("beauty", "electronics", "garden", "fashion", "grocery")
_TITLE_LISTS = ("forms", "looks", "materials", "extras", "uses", "tails")
_SENTENCE_LISTS = ("openers", "details", "closings")


class Attribute(NamedTuple):
    """An attribute of products, with sentences about it; see the module."""

    name: str
    title: str
    place: str
    predicate: str
    stories: tuple[str, ...]
    bullets: tuple[str, ...]


class ProductType(NamedTuple):
    """The words from which products of one type are made; see the module."""

    query: str
    category: str
    path: str
    noun_phrase: str
    short_name: str
    price: tuple[float, float]
    attributes: tuple[tuple[Attribute, ...], ...]
    options: tuple[tuple[str, tuple[str, ...]], ...]
    lists: dict[str, tuple[str, ...]]
    """Pieces of titles, and sentences."""


class Vocabulary(NamedTuple):
    """All word lists.

    Parameters
    ----------
    product_types : tuple of ProductType
    attributes : dict of str to Attribute
        By name.
    brand_starts, brand_ends : list of str
    not_nouns : frozenset of str
        Words of titles that are neither nouns nor proper nouns; all others are.
    proper_names : frozenset of str
        Words that keep their capital letter in a sentence.
    requests : dict of str to tuple of str
        ``openings`` of synthetic requests; ``sentences`` and ``double_sentences`` of
        people's, the second with a place for conditions.
    choices : dict of str to str
        Phrases with an option's value, by the name of the group in lower case.
    """

    product_types: tuple[ProductType, ...]
    attributes: dict[str, Attribute]
    brand_starts: list[str]
    brand_ends: list[str]
    not_nouns: frozenset[str]
    proper_names: frozenset[str]
    requests: dict[str, tuple[str, ...]]
    choices: dict[str, str]


@functools.cache
def load_vocabulary() -> Vocabulary:
    """Return the word lists; the files are read at the first call."""
    titles = _read_ini("titles")
    words = {name: text.split() for name, text in titles["words"].items()}
    abbreviations = {text.capitalize(): text for text in words["abbreviations"]}
    attributes = {
        name: _parse_attribute(name, entry, abbreviations)
        for department in ("shared", *_DEPARTMENTS)
        for name, entry in _read_ini(f"{department}_attributes")["attributes"].items()
    }
    product_types = tuple(
        _parse_product_type(query, section, attributes)
        for department in _DEPARTMENTS
        for query, section in _read_ini(f"{department}_products").items()
        if query != configparser.DEFAULTSECT
    )
    return Vocabulary(
        product_types,
        attributes,
        brand_starts=titles["brands"]["starts"].split(),
        brand_ends=titles["brands"]["ends"].split(),
        not_nouns=frozenset(words["not_nouns"]),
        proper_names=frozenset(words["proper_names"]),
        requests={name: _lines(text) for name, text in titles["requests"].items()},
        choices=dict(titles["choices"]),
    )


def _read_ini(name: str) -> configparser.ConfigParser:
    parser = configparser.ConfigParser(
        delimiters=("=",), interpolation=None, empty_lines_in_values=False
    )
    file = resources.files(__package__) / f"{name}.ini"
    parser.read_string(file.read_text("utf-8"))
    return parser


def _parse_attribute(name: str, entry: str, abbreviations: dict[str, str]) -> Attribute:
    first, *lines = entry.split("\n")
    place, predicate = first.split(": ")
    title = [abbreviations.get(word, word) for word in name.title().split()]
    return Attribute(
        name,
        " ".join(title),
        place,
        predicate,
        stories=tuple(line for line in lines if line[0] != "-"),
        bullets=tuple(line[2:] for line in lines if line[0] == "-"),
    )


def _parse_product_type(
    query: str, section: configparser.SectionProxy, attributes: dict[str, Attribute]
) -> ProductType:
    low, high = section["price"].split()
    # A line without the name of a group continues the line above it.
    lines = _lines(re.sub(r"\n(?!.*: )", " | ", section["options"].strip()))
    groups = [line.split(": ") for line in lines]
    return ProductType(
        query=query,
        category=section["category"],
        path=section["path"].replace(" > ", " \u203a "),
        noun_phrase=section["noun_phrase"],
        short_name=section["short_name"],
        price=(float(low), float(high)),
        attributes=tuple(
            tuple(attributes[name] for name in names.split(" / "))
            for names in _split_list(section["attributes"])
        ),
        options=tuple((name, _split_list(values)) for name, values in groups),
        lists={
            **{name: _split_list(section[name]) for name in _TITLE_LISTS},
            **{name: _lines(section[name]) for name in _SENTENCE_LISTS},
        },
    )


def _split_list(text: str) -> tuple[str, ...]:
    return tuple(entry.strip() for entry in re.split(r"[|\n]", text))


def _lines(text: str) -> tuple[str, ...]:
    return tuple(text.strip().split("\n"))
