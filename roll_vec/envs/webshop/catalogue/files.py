"""WebShop's own files: products, attributes and people's instructions, checked."""

from __future__ import annotations

import gzip
import json
import math
import zlib
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple, NoReturn

from roll_vec.data_files import refuse_unreadable
from roll_vec.errors import InvalidOptionError, shorten

__all__ = ["HumanInstruction", "Listing", "Shop", "read_json", "read_listings"]

# Where a product has no price.
DEFAULT_PRICE = 100.0
NO_ATTRIBUTES = ("DUMMY_ATTR",)
_ASIN_LENGTH = 10
# Each way to choose options is a goal of some 1 KB: more would fill the memory.
_MAX_WAYS = 1_000_000
_KINDS: dict[type[Any], str] = {str: "a string", list: "a list", dict: "an object"}
_PRICE_CHARACTERS = frozenset("0123456789.")


class HumanInstruction(NamedTuple):
    """What one person asked for."""

    instruction: str
    attributes: tuple[str, ...]
    options: tuple[str, ...]


class Listing(NamedTuple):
    """One product as its files have it, and what was asked for with it in mind.

    ``pricing`` is one price or the least and the greatest, ``price_tag`` how pages
    show it; the other fields are `roll_vec.envs.webshop.catalogue.products.Product`'s.
    """

    asin: str
    title: str
    description: str
    bullets: tuple[str, ...]
    pricing: tuple[float, ...]
    price_tag: str
    options: dict[str, tuple[str, ...]]
    attributes: tuple[str, ...]
    category: str
    product_category: str
    query: str
    instruction: str | None
    instruction_attributes: tuple[str, ...]
    human: tuple[HumanInstruction, ...]


class Shop(NamedTuple):
    """The contents of a shop's files, or the paths that messages name instead.

    ``items`` is a list of dicts, ``attributes`` and ``human`` are by asin.
    """

    items: Sequence[Any]
    attributes: Mapping[str, Any]
    human: Mapping[str, Any]
    products_file: str = "(embedded)"
    attributes_file: str = "(embedded)"
    human_file: str = "(embedded)"


class _Where(NamedTuple):
    """What a message about a malformed entry names."""

    argument: str
    path: str
    item: str

    def refuse(self, field: str, problem: str) -> NoReturn:
        message = f"{self.argument}: {self.path}, {self.item}, {field}: {problem}"
        raise InvalidOptionError(message)

    def take(self, entry: Mapping[str, Any], field: str, kind: type[Any]) -> Any:
        """Return a field of a dict, which has to be there and of a type."""
        if field not in entry:
            self.refuse(field, "missing")
        return self.check(entry[field], field, kind)

    def check(self, value: Any, field: str, kind: type[Any]) -> Any:
        if not isinstance(value, kind):
            self.refuse(field, f"expected {_KINDS[kind]}, got {shorten(value)}")
        return value

    def texts(self, value: Any, field: str) -> tuple[str, ...]:
        """Return a list of strings as a tuple."""
        self.check(value, field, list)
        return tuple(self.check(text, field, str) for text in value)


def read_json(argument: str, path: str) -> Any:
    """Return what a JSON file holds, plain or with the ending ``.gz``.

    Raises
    ------
    InvalidOptionError
        If it cannot be read: names the argument and the file.
    """
    opened: Any = gzip.open if path.endswith(".gz") else open
    try:
        with opened(path, "rt", encoding="utf-8") as file:
            return json.load(file)
    except OSError as error:
        refuse_unreadable(argument, path, error)
    except (ValueError, RecursionError, EOFError, zlib.error) as error:
        message = f"{argument}: {path} is no JSON file: {error}"
        raise InvalidOptionError(message) from error


def read_listings(shop: Shop, num_products: int | None = None) -> list[Listing]:
    """Return the products of a shop, in the order of its file.

    The rules are WebShop's (commit 64fa2a5): of the first ``num_products`` items those
    are left out whose asin is ``nan``, longer than 10 characters or there already.

    Raises
    ------
    InvalidOptionError
        Names file, item and field of what is malformed.
    """
    for argument, path, found, kind in (
        ("products", shop.products_file, shop.items, list),
        ("attributes", shop.attributes_file, shop.attributes, dict),
        ("human_instructions", shop.human_file, shop.human, dict),
    ):
        if not isinstance(found, kind):
            name = {list: "a list of items", dict: "an object of entries by asin"}[kind]
            message = f"{argument}: {path}: expected {name}, got {shorten(found)}"
            raise InvalidOptionError(message)
    listings = list(_listings(shop, num_products))
    if not listings:
        message = f"products: {shop.products_file} has no product"
        raise InvalidOptionError(message)
    return listings


def _listings(shop: Shop, num_products: int | None) -> Iterator[Listing]:
    seen = set()
    for number, item in enumerate(shop.items[:num_products]):
        where = _Where("products", shop.products_file, f"item {number}")
        where.check(item, "the item", dict)
        asin = where.take(item, "asin", str)
        if asin == "nan" or len(asin) > _ASIN_LENGTH or asin in seen:
            continue
        if not asin or not asin.isprintable():
            where.refuse("asin", f"expected printable characters, got {asin!r}")
        seen.add(asin)
        yield _listing(shop, item, where._replace(item=f"item {number} ({asin})"))


def _listing(shop: Shop, item: Mapping[str, Any], where: _Where) -> Listing:
    """Return a product with what the other files have of it."""
    asin = item["asin"]
    bullets = item.get("small_description")
    pricing = _parse_pricing(item.get("pricing"), where)
    attributes, instruction, wanted = _asked(
        shop.attributes.get(asin),
        _Where("attributes", shop.attributes_file, asin),
    )
    human = _Where("human_instructions", shop.human_file, asin)
    return Listing(
        asin=asin,
        title=where.take(item, "name", str),
        description=where.take(item, "full_description", str),
        bullets=(
            where.texts(bullets, "small_description")
            if isinstance(bullets, list)
            else (where.take(item, "small_description", str),)
        ),
        pricing=pricing,
        price_tag=" to ".join(f"${price}" for price in pricing),
        options=_parse_options(item.get("customization_options"), where),
        attributes=attributes,
        category=where.take(item, "category", str),
        product_category=where.take(item, "product_category", str),
        query=where.take(item, "query", str).lower().strip(),
        instruction=instruction,
        instruction_attributes=wanted,
        human=tuple(_people(shop.human.get(asin), human)),
    )


def _parse_pricing(text: Any, where: _Where) -> tuple[float, ...]:
    """Return one price, or the first two of several."""
    if not text:
        return (DEFAULT_PRICE,)
    pieces = where.check(text, "pricing", str).split("$")[1:3]
    prices = []
    for piece in pieces:
        digits = "".join(sign for sign in piece if sign in _PRICE_CHARACTERS)
        try:
            prices.append(float(digits))
        except ValueError:
            prices.append(math.inf)
    if not prices or math.inf in prices:
        shown = shorten(text)
        where.refuse("pricing", f"expected a price such as $34.0, got {shown}")
    return tuple(prices)


def _parse_options(groups: Any, where: _Where) -> dict[str, tuple[str, ...]]:
    """Return the values of each group as pages show them."""
    if not groups:
        return {}
    field = "customization_options"
    where.check(groups, field, dict)
    options = {}
    for name, contents in groups.items():
        if contents is None:
            continue
        where.check(contents, field, list)
        values = []
        for content in contents:
            where.check(content, field, dict)
            value = where.take(content, "value", str)
            # A slash would be read as part of an address.
            values.append(value.strip().replace("/", " | ").lower())
        options[name.lower()] = tuple(values)
    # Each way to choose is a goal.
    ways = math.prod(map(len, options.values()))
    if ways > _MAX_WAYS:
        where.refuse(
            field, f"expected at most {_MAX_WAYS} ways to choose, got {ways} ways"
        )
    return options


def _asked(
    entry: Any, where: _Where
) -> tuple[tuple[str, ...], str | None, tuple[str, ...]]:
    """Return attributes, instruction and what the instruction asks for."""
    if entry is None:
        return NO_ATTRIBUTES, None, ()
    where.check(entry, "the entry", dict)
    attributes: tuple[str, ...] = NO_ATTRIBUTES
    if "attributes" in entry:
        attributes = where.texts(entry["attributes"], "attributes")
    instruction = entry.get("instruction")
    if instruction is None:
        return attributes, None, ()
    where.check(instruction, "instruction", str)
    wanted = where.texts(entry.get("instruction_attributes"), "instruction_attributes")
    if not wanted:
        where.refuse("instruction_attributes", "expected at least one, got []")
    return attributes, instruction, wanted


def _people(entries: Any, where: _Where) -> Iterator[HumanInstruction]:
    """Give what people asked for; without attributes there is no goal in it."""
    if entries is None:
        return
    where.check(entries, "the entry", list)
    for entry in entries:
        where.check(entry, "the entry", dict)
        wanted = entry.get("instruction_attributes")
        attributes = where.texts(wanted, "instruction_attributes")
        if attributes:
            yield HumanInstruction(
                where.take(entry, "instruction", str),
                attributes,
                where.texts(entry.get("instruction_options"), "instruction_options"),
            )
