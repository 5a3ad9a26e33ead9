"""Reader of WebShop's files: products, attributes and people's instructions."""

from __future__ import annotations

import json
import math
import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple, NoReturn

from roll_vec.errors import InvalidOptionError, shorten
from roll_vec.storage.data_files import open_text, refuse_unreadable

# Price of products without one.
DEFAULT_PRICE = 100.0
NO_ATTRIBUTES = ("DUMMY_ATTR",)
_ASIN_LENGTH = 10
_TYPE_NAMES: dict[type[Any], str] = {str: "a string", list: "a list", dict: "an object"}
_PRICE_CHARACTERS = frozenset("0123456789.")


class HumanInstruction(NamedTuple):
    """One person's instruction for a product."""

    instruction: str
    attributes: tuple[str, ...]
    options: tuple[str, ...]


class Listing(NamedTuple):
    """One product as the files have it, with its instructions.

    ``fields`` are those of `roll_vec.envs.webshop.products.Product` that the files
    have.  ``pricing`` is one price, or the lowest and the highest.  ``instruction`` and
    ``instruction_attributes`` make the synthetic goals, ``human`` people's goals.
    """

    fields: dict[str, Any]
    pricing: tuple[float, ...]
    instruction: str | None
    instruction_attributes: tuple[str, ...]
    human: tuple[HumanInstruction, ...]


class Shop(NamedTuple):
    """The contents of a shop's files, and their paths for messages.

    ``items`` is a list of dicts, ``attributes`` and ``human`` are by asin.
    """

    items: Sequence[Any]
    attributes: Mapping[str, Any]
    human: Mapping[str, Any]
    products_file: str = "(none)"
    attributes_file: str = "(none)"
    human_file: str = "(none)"


class _Checker(NamedTuple):
    """Checks of one entry of a file; a message names argument, path and entry."""

    argument: str
    path: str
    entry: str

    def refuse(self, field: str, problem: str) -> NoReturn:
        message = f"{self.argument}: {self.path}, {self.entry}, {field}: {problem}"
        raise InvalidOptionError(message)

    def field(self, entry: Mapping[str, Any], field: str, kind: type[Any]) -> Any:
        """Return a field of a dict; it must exist and have a type."""
        if field not in entry:
            self.refuse(field, "missing")
        return self.check(entry[field], field, kind)

    def check(self, value: Any, field: str, kind: type[Any]) -> Any:
        if not isinstance(value, kind):
            self.refuse(field, f"expected {_TYPE_NAMES[kind]}, got {shorten(value)}")
        return value

    def texts(self, value: Any, field: str) -> tuple[str, ...]:
        """Return a list of strings as a tuple."""
        self.check(value, field, list)
        return tuple(self.check(text, field, str) for text in value)


def read_json(argument: str, path: str, kind: type[Any]) -> Any:
    """Return the content of a JSON file, plain or with the ending ``.gz``.

    Parameters
    ----------
    argument, path : str
        The keyword of the file, and its path.
    kind : type
        That of the content: list or dict.

    Raises
    ------
    InvalidOptionError
        If it cannot be read, or has another content: names the argument and the file.
    """
    try:
        with open_text(path) as file:
            content = json.load(file)
    except OSError as error:
        refuse_unreadable(argument, path, error)
    except (ValueError, RecursionError, EOFError, zlib.error) as error:
        message = f"{argument}: {path} is no JSON file: {error}"
        raise InvalidOptionError(message) from error
    if not isinstance(content, kind):
        place = f"{argument}: {path}"
        raise InvalidOptionError.expected(place, _TYPE_NAMES[kind], content)
    return content


def read_nouns(path: str, asins: Iterable[str]) -> dict[str, tuple[str, ...]]:
    """Return the nouns of titles, by asin, in a file ``.json`` or ``.json.gz``.

    Raises
    ------
    InvalidOptionError
        If the file cannot be read, is malformed, or lacks one of the asins.
    """
    content = read_json("title_nouns", path, dict)
    return {
        asin: _Checker("title_nouns", path, asin).texts(content.get(asin), "nouns")
        for asin in asins
    }


def read_listings(shop: Shop, num_products: int | None = None) -> list[Listing]:
    """Return the products of a shop, in the order of its file.

    The rules are WebShop's (commit 64fa2a5): the first ``num_products`` items, without
    those whose asin is ``nan``, longer than 10 characters or a repetition.

    Raises
    ------
    InvalidOptionError
        If an entry is malformed: names file, item and field.
    """
    listings = list(_iterate_listings(shop, num_products))
    if not listings:
        message = f"products: {shop.products_file} has no product"
        raise InvalidOptionError(message)
    return listings


def _iterate_listings(shop: Shop, num_products: int | None) -> Iterator[Listing]:
    asins = set()
    for number, item in enumerate(shop.items[:num_products]):
        checker = _Checker("products", shop.products_file, f"item {number}")
        checker.check(item, "the item", dict)
        asin = checker.field(item, "asin", str)
        if asin == "nan" or len(asin) > _ASIN_LENGTH or asin in asins:
            continue
        if not asin or not asin.isprintable() or asin != asin.lower().upper():
            # A click has the letters in lower case.
            expected = "expected printable characters and capital letters"
            checker.refuse("asin", f"{expected}, got {asin!r}")
        asins.add(asin)
        checker = checker._replace(entry=f"item {number} ({asin})")
        yield _parse_listing(shop, item, checker)


def _parse_listing(shop: Shop, item: Mapping[str, Any], checker: _Checker) -> Listing:
    asin = item["asin"]
    bullets = item.get("small_description")
    pricing = _parse_pricing(item.get("pricing"), checker)
    attributes, instruction, instruction_attributes = _parse_attributes(
        shop.attributes.get(asin),
        _Checker("attributes", shop.attributes_file, asin),
    )
    human = _Checker("human_instructions", shop.human_file, asin)
    fields = {
        "asin": asin,
        "title": checker.field(item, "name", str),
        "description": checker.field(item, "full_description", str),
        "bullets": (
            checker.texts(bullets, "small_description")
            if isinstance(bullets, list)
            else (checker.field(item, "small_description", str),)
        ),
        "price_tag": " to ".join(f"${price}" for price in pricing),
        "options": _parse_options(item.get("customization_options"), checker),
        "attributes": attributes,
        "category": checker.field(item, "category", str),
        "product_category": checker.field(item, "product_category", str),
        "query": checker.field(item, "query", str).lower().strip(),
    }
    people = tuple(_parse_human(shop.human.get(asin), human))
    return Listing(fields, pricing, instruction, instruction_attributes, people)


def _parse_pricing(text: Any, checker: _Checker) -> tuple[float, ...]:
    """Return one price, or the first two of several."""
    if not text:
        return (DEFAULT_PRICE,)
    pieces = checker.check(text, "pricing", str).split("$")[1:3]
    prices = []
    for piece in pieces:
        digits = "".join(sign for sign in piece if sign in _PRICE_CHARACTERS)
        try:
            prices.append(float(digits))
        except ValueError:
            prices.append(math.inf)
    if not prices or math.inf in prices:
        problem = f"expected a price such as $34.0, got {shorten(text)}"
        checker.refuse("pricing", problem)
    return tuple(prices)


def _parse_options(groups: Any, checker: _Checker) -> dict[str, tuple[str, ...]]:
    """Return the values of each group in the form of the pages."""
    if not groups:
        return {}
    field = "customization_options"
    checker.check(groups, field, dict)
    options = {}
    for name, contents in groups.items():
        if contents is None:
            continue
        checker.check(contents, field, list)
        values = []
        for content in contents:
            checker.check(content, field, dict)
            value = checker.field(content, "value", str)
            # As in WebShop, where a slash would end a part of the page's address.
            values.append(value.strip().replace("/", " | ").lower())
        options[name.lower()] = tuple(values)
    return options


def _parse_attributes(
    entry: Any, checker: _Checker
) -> tuple[tuple[str, ...], str | None, tuple[str, ...]]:
    """Return attributes, the instruction and the attributes that it names."""
    if entry is None:
        return NO_ATTRIBUTES, None, ()
    checker.check(entry, "the entry", dict)
    attributes: tuple[str, ...] = NO_ATTRIBUTES
    if "attributes" in entry:
        attributes = checker.texts(entry["attributes"], "attributes")
    instruction = entry.get("instruction")
    if instruction is None:
        return attributes, None, ()
    checker.check(instruction, "instruction", str)
    field = "instruction_attributes"
    instruction_attributes = checker.texts(entry.get(field), field)
    if not instruction_attributes:
        checker.refuse(field, "expected at least one, got []")
    return attributes, instruction, instruction_attributes


def _parse_human(entries: Any, checker: _Checker) -> Iterator[HumanInstruction]:
    """Yield people's instructions; one without attributes makes no goal."""
    if entries is None:
        return
    checker.check(entries, "the entry", list)
    for entry in entries:
        checker.check(entry, "the entry", dict)
        field = "instruction_attributes"
        attributes = checker.texts(entry.get(field), field)
        if attributes:
            yield HumanInstruction(
                checker.field(entry, "instruction", str),
                attributes,
                checker.texts(entry.get("instruction_options"), "instruction_options"),
            )
