"""The embedded shop: products that are functions of their numbers.

They have the form of WebShop's files (commit 64fa2a5), so that they pass through the
same code; the words stand in `roll_vec.envs.webshop.demo_shop.vocabulary`.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, TypeVar

from roll_vec.envs.webshop.demo_shop.instructions import (
    human_request,
    synthetic_request,
)
from roll_vec.envs.webshop.demo_shop.vocabulary import (
    BRAND_ENDS,
    BRAND_STARTS,
    NOT_NOUNS,
    Phrase,
    ProductType,
    in_sentence,
    phrases,
    product_types,
    title_words,
)

__all__ = ["GeneratedProduct", "asin_of", "generate"]

Item = TypeVar("Item")
Options = dict[str, tuple[str, ...]]

_DIGITS = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ"
_HALF = len(_DIGITS) ** 4

# Words that a title may have twice.
_SMALL_WORDS = frozenset(("and", "for", "in", "of", "the", "to", "with"))
_MAX_TITLE = 200
# Cents of prices.
_ENDINGS = (99, 99, 99, 95, 49, 0)
_HEADINGS: tuple[Callable[[Phrase], str], ...] = (
    lambda phrase: f"{phrase.name.upper()} - ",
    lambda phrase: f"{phrase.title}: ",
    lambda _: "",
)


class _Title(NamedTuple):
    """A title, and what was drawn to show in it."""

    text: str
    nouns: list[str]
    form: str
    material: str
    attributes: list[Phrase]


class GeneratedProduct(NamedTuple):
    """One product of the embedded shop, in the form of WebShop's files.

    Parameters
    ----------
    item : dict
        One item of ``items_shuffle*.json``.
    attributes : dict
        Its value in ``items_ins_v2*.json``.
    human : list of dict
        Its value in ``items_human_ins.json``; may be empty.
    title_nouns : list of str
        The lower-case nouns of the title in their order.
    """

    item: dict[str, Any]
    attributes: dict[str, Any]
    human: list[dict[str, Any]]
    title_nouns: list[str]


def generate(number: int) -> GeneratedProduct:
    """Return one product of the embedded shop.

    Parameters
    ----------
    number : int
        From 0 to 36**8 - 1.  A product depends on nothing else.
    """
    # Of its methods only `random` is the same in all versions of Python.
    draw = random.Random(f"roll_vec/WebShop/{number}").random
    kind = _pick(draw, product_types())
    brand = _pick(draw, BRAND_STARTS) + _pick(draw, BRAND_ENDS)
    options = _draw_options(draw, kind)
    title = _draw_title(draw, kind, brand, options)
    description, bullets = _write(draw, kind, brand, title)
    item = {
        "asin": asin_of(number),
        "name": title.text,
        "full_description": description,
        "small_description": bullets,
        "pricing": _draw_pricing(draw, kind),
        "customization_options": {
            name: [{"value": value, "image": None} for value in values]
            for name, values in options.items()
        }
        or "",
        "product_category": kind.path,
        "category": kind.category,
        "query": kind.query,
    }
    attributes = _attributes(draw, kind, title)
    human = [
        _wish(draw, kind, title.attributes, options)
        for _ in range(_pick(draw, (0, 1, 1, 1, 2)))
    ]
    return GeneratedProduct(item, attributes, human, title.nouns)


def asin_of(number: int) -> str:
    """Return the asin of a product: 10 letters and digits, of no other number.

    Three rounds of a Feistel network over the two halves of the number, so that
    neighbours do not look alike.
    """
    high, low = divmod(number, _HALF)
    for factor, term in ((48271, 12345), (69621, 6789), (40692, 101)):
        high, low = low, (high + low * low * 7 + low * factor + term) % _HALF
    digits = []
    for half in (high, low):
        for _ in range(4):
            half, digit = divmod(half, len(_DIGITS))
            digits.append(_DIGITS[digit])
    return "RV" + "".join(digits)


def _pick(draw: Callable[[], float], items: Sequence[Item]) -> Item:
    return items[int(draw() * len(items))]


def _sample(draw: Callable[[], float], items: Sequence[Item], count: int) -> list[Item]:
    """Return some of the items, or all that there are, in a drawn order."""
    rest = list(items)
    return [rest.pop(int(draw() * len(rest))) for _ in range(min(count, len(items)))]


def _draw_options(draw: Callable[[], float], kind: ProductType) -> Options:
    """Return the groups that a product has, about every other one none."""
    if draw() < 0.45:
        return {}
    options: Options = {}
    for name, values in kind.options:
        # The first group is the commonest.
        if options and draw() < 0.4:
            continue
        count = min(len(values), 2 + int(draw() * 6))
        if name == "Size":
            first = int(draw() * (len(values) - count + 1))
            options[name] = values[first : first + count]
        else:
            chosen = _sample(draw, range(len(values)), count)
            options[name] = tuple(values[index] for index in sorted(chosen))
    return options


def _draw_title(
    draw: Callable[[], float], kind: ProductType, brand: str, options: Options
) -> _Title:
    """Return a title with what a product is and what it is known for.

    Drawn again until no word stands twice in the title, as in "Bath Sponge for Bath".
    """
    has_sizes = "Size" in options or "Style" in options
    while True:
        form, look = _pick(draw, kind.forms), _pick(draw, kind.looks)
        material = _pick(draw, kind.materials)
        extra, use = _pick(draw, kind.extras), _pick(draw, kind.uses)
        tail = "" if has_sizes else _pick(draw, kind.tails)
        attributes = _draw_attributes(draw, kind, material)
        shown = [
            _shown(phrase)
            for phrase in attributes[: 1 + int(draw() * 2.5)]
            if phrase.title != material
        ]
        style = int(draw() * 5)
        if style == 0:
            parts = [f"{brand} {look} {material} {form} {extra}", *shown, use, tail]
        elif style == 1:
            parts = [f"{brand} {form} {use}", *shown, material, extra, tail]
        elif style == 2:
            parts = [f"{look} {form} {use} by {brand}", material, *shown, tail]
        elif style == 3:
            parts = [f"{brand} {material} {form}", look, *shown, f"{extra} {use}", tail]
        else:
            parts = [f"{brand} {look} {form} {extra}", *shown, material, use, tail]
        text = ", ".join(filter(None, parts))
        words = [word for word in title_words(text) if word not in _SMALL_WORDS]
        if len(set(words)) == len(words) and len(text) <= _MAX_TITLE:
            nouns = [word for word in words if word not in NOT_NOUNS]
            return _Title(text, nouns, form, material, attributes)


def _shown(phrase: Phrase) -> str:
    """Return an attribute as it stands in a title."""
    before = phrase.place == "before"
    return phrase.title if before else f"{phrase.place} {phrase.title}"


def _draw_attributes(
    draw: Callable[[], float], kind: ProductType, material: str
) -> list[Phrase]:
    """Return what a product is known for, what it is made of among it."""
    groups = _sample(draw, kind.attributes, 4 + int(draw() * 4))
    attributes = [_pick(draw, group) for group in groups]
    made_of = phrases().get(material.lower())
    if made_of is not None and made_of not in attributes:
        attributes.insert(int(draw() * 3), made_of)
    return attributes


def _write(
    draw: Callable[[], float], kind: ProductType, brand: str, title: _Title
) -> tuple[str, list[str]]:
    """Return description and bullets; between them they name every attribute."""
    form = in_sentence(title.form)
    words = {
        "brand": brand,
        "form": form,
        "a_form": f"{'an' if form[0] in 'aeioAEIO' else 'a'} {form}",
        "material": in_sentence(title.material),
        "thing": kind.thing,
    }
    told = 3 + int(draw() * 2)
    facts = _sample(draw, kind.facts, len(kind.facts))
    story = [_pick(draw, phrase.stories) for phrase in title.attributes[:told]]
    for _ in range(1 + int(draw() * 2)):
        story.insert(int(draw() * 3), facts.pop())
    if draw() < 0.8:
        story.append(_pick(draw, kind.closings))
    heading = _pick(draw, _HEADINGS)
    bullets = [
        f"{heading(phrase)}{_pick(draw, phrase.bullets)} {_pick(draw, phrase.stories)}"
        for phrase in title.attributes[told:]
    ]
    bullets += facts[: 2 + int(draw() * 2)]
    sentences = [_pick(draw, kind.openers), *story]
    description = " ".join(_fill(sentence, words) for sentence in sentences)
    mixed = _sample(draw, bullets, len(bullets))
    return description, [_fill(bullet, words) for bullet in mixed]


def _fill(sentence: str, words: dict[str, str]) -> str:
    """Return a sentence with the names of one product in it.

    Where two sentences stand in a bullet, none of them begins with a name.
    """
    if "{" not in sentence:
        return sentence
    filled = sentence.format_map(words)
    return filled[0].upper() + filled[1:]


def _attributes(
    draw: Callable[[], float], kind: ProductType, title: _Title
) -> dict[str, Any]:
    """Return what a product is known for, and for most a request made from it."""
    names = [phrase.name for phrase in title.attributes]
    # What a product is called is among the attributes of many, asked for by none.
    if " " in title.form and draw() < 0.4:
        names.append(title.form.lower())
    if draw() < 0.15:
        return {"attributes": names}
    asked = _sample(draw, title.attributes, 2 + int(draw() * 3))
    return {
        "attributes": names,
        "instruction": synthetic_request(draw, kind.query, asked),
        "instruction_attributes": [phrase.name for phrase in asked],
    }


def _wish(
    draw: Callable[[], float],
    kind: ProductType,
    attributes: Sequence[Phrase],
    options: Options,
) -> dict[str, Any]:
    """Return what one person asks for."""
    asked = _sample(draw, attributes, 1 + int(draw() * 2.5))
    groups = _sample(draw, tuple(options), int(draw() * 3))
    chosen = {name: _pick(draw, options[name]).lower() for name in groups}
    return {
        "instruction": human_request(draw, kind.one, asked, chosen),
        "instruction_attributes": [phrase.name for phrase in asked],
        "instruction_options": list(chosen.values()),
    }


def _draw_pricing(draw: Callable[[], float], kind: ProductType) -> str:
    """Return a price, seldom a range, and very seldom none."""
    low, high = kind.price
    # Low prices are commoner.  Sums and products alone: a power may differ in its last
    # digit from machine to machine.
    dollars = int(low + (high - low) * draw() * draw())
    price = (100 * dollars + _pick(draw, _ENDINGS)) / 100
    share = draw()
    if share < 0.01:
        return ""
    if share < 0.1:
        dollars = 2 + int(dollars * (1.1 + 0.6 * draw()))
        return f"${price}${(100 * dollars + _pick(draw, _ENDINGS)) / 100}"
    return f"${price}"
