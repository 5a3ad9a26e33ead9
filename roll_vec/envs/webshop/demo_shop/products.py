"""Products of the demo shop: each one is a function of its number.

Products have the form of WebShop's files (commit 64fa2a5), so that the same code reads
both.  `roll_vec.envs.webshop.demo_shop.vocabulary` has the words.
"""

from __future__ import annotations

import functools
import random
import re
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, TypeVar

from roll_vec.envs.webshop.demo_shop.vocabulary import (
    Attribute,
    load_vocabulary,
)

Item = TypeVar("Item")
Options = dict[str, tuple[str, ...]]

_DIGITS = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ"
_HALF = len(_DIGITS) ** 4

# A title may have these words twice.
_SMALL_WORDS = frozenset(("and", "for", "in", "of", "the", "to", "with"))
_MAX_TITLE = 200
# Words of letters; the s after an apostrophe is no word.
_WORDS = re.compile(r"(?<![a-z0-9'])[a-z]{2,}")
# Other words in u, such as usb, begin with a consonant when spoken.
_VOWELS = ("a", "e", "i", "o", "ultra", "under")
_CENTS = (99, 99, 99, 95, 49, 0)
_HEADINGS: tuple[Callable[[Attribute], str], ...] = (
    lambda attribute: f"{attribute.name.upper()} - ",
    lambda attribute: f"{attribute.title}: ",
    lambda _: "",
)


class _Title(NamedTuple):
    """A title and the words that were drawn for it."""

    text: str
    nouns: list[str]
    form: str
    material: str
    attributes: list[Attribute]


class GeneratedProduct(NamedTuple):
    """One product of the demo shop, in the form of WebShop's files.

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


def generate_product(number: int) -> GeneratedProduct:
    """Return one product of the demo shop.

    Parameters
    ----------
    number : int
        From 0 to 36**8 - 1.
    """
    return _Generator(number).generate()


def generate_asin(number: int) -> str:
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


def title_words(title: str) -> list[str]:
    """Return the words of a title, in lower case and in order."""
    return _WORDS.findall(title.lower())


class _Generator:
    """The draws of one product.

    Parameters
    ----------
    number : int
    """

    def __init__(self, number: int) -> None:
        self.number, self.vocabulary = number, load_vocabulary()
        # Only the method `random` is the same in all versions of Python.
        self.draw = random.Random(f"roll_vec/WebShop/{number}").random
        self.kind = self.pick(self.vocabulary.product_types)

    def generate(self) -> GeneratedProduct:
        """Return the product; each part is drawn in the order of these lines."""
        kind, vocabulary = self.kind, self.vocabulary
        brand = self.pick(vocabulary.brand_starts) + self.pick(vocabulary.brand_ends)
        options = self.draw_options()
        title = self.draw_title(brand, options)
        description, bullets = self.draw_texts(brand, title)
        item = {
            "asin": generate_asin(self.number),
            "name": title.text,
            "full_description": description,
            "small_description": bullets,
            "pricing": self.draw_pricing(),
            "customization_options": {
                name: [{"value": value, "image": None} for value in values]
                for name, values in options.items()
            }
            or "",
            "product_category": kind.path,
            "category": kind.category,
            "query": kind.query,
        }
        attributes = self.draw_entry(title)
        count = self.pick((0, 1, 1, 1, 2))
        human = [self.draw_request(title.attributes, options) for _ in range(count)]
        return GeneratedProduct(item, attributes, human, title.nouns)

    def pick(self, items: Sequence[Item]) -> Item:
        return items[int(self.draw() * len(items))]

    def sample(self, items: Sequence[Item], count: int) -> list[Item]:
        """Return at most ``count`` of the items, in random order."""
        pool = list(items)
        count = min(count, len(pool))
        return [pool.pop(int(self.draw() * len(pool))) for _ in range(count)]

    def draw_options(self) -> Options:
        """Return groups of options; 45 % of the products have none."""
        if self.draw() < 0.45:
            return {}
        options: Options = {}
        for name, values in self.kind.options:
            # The first group is always there.
            if options and self.draw() < 0.4:
                continue
            count = min(len(values), 2 + int(self.draw() * 6))
            if name == "Size":
                first = int(self.draw() * (len(values) - count + 1))
                options[name] = values[first : first + count]
            else:
                indices = sorted(self.sample(range(len(values)), count))
                options[name] = tuple(values[index] for index in indices)
        return options

    def draw_title(self, brand: str, options: Options) -> _Title:
        """Return a title: brand, form, some attributes and other pieces.

        It is drawn again while a word occurs twice, as in "Bath Sponge for Bath".
        """
        lists, pick = self.kind.lists, self.pick
        has_sizes = "Size" in options or "Style" in options
        while True:
            form, look, material, extra, use = (
                pick(lists[name])
                for name in ("forms", "looks", "materials", "extras", "uses")
            )
            tail = "" if has_sizes else pick(lists["tails"])
            attributes = self.draw_attributes(material)
            labels = [
                one.title if one.place == "before" else f"{one.place} {one.title}"
                for one in attributes[: 1 + int(self.draw() * 2.5)]
                if one.title != material
            ]
            styles = (
                (f"{brand} {look} {material} {form} {extra}", *labels, use, tail),
                (f"{brand} {form} {use}", *labels, material, extra, tail),
                (f"{look} {form} {use} by {brand}", material, *labels, tail),
                (f"{brand} {material} {form}", look, *labels, f"{extra} {use}", tail),
                (f"{brand} {look} {form} {extra}", *labels, material, use, tail),
            )
            text = ", ".join(filter(None, pick(styles)))
            words = [word for word in title_words(text) if word not in _SMALL_WORDS]
            if len(set(words)) == len(words) and len(text) <= _MAX_TITLE:
                not_nouns = self.vocabulary.not_nouns
                nouns = [word for word in words if word not in not_nouns]
                return _Title(text, nouns, form, material, attributes)

    def draw_attributes(self, material: str) -> list[Attribute]:
        """Return the attributes of a product, its material included."""
        groups = self.sample(self.kind.attributes, 4 + int(self.draw() * 4))
        attributes = [self.pick(group) for group in groups]
        of_material = self.vocabulary.attributes.get(material.lower())
        if of_material is not None and of_material not in attributes:
            attributes.insert(int(self.draw() * 3), of_material)
        return attributes

    def draw_texts(self, brand: str, title: _Title) -> tuple[str, list[str]]:
        """Return description and bullets; together they name every attribute."""
        lists, pick = self.kind.lists, self.pick
        form = _in_sentence(title.form)
        words = {
            "brand": brand,
            "form": form,
            "a_form": f"{'an' if form[0] in 'aeioAEIO' else 'a'} {form}",
            "material": _in_sentence(title.material),
            "short_name": self.kind.short_name,
        }
        num_stories = 3 + int(self.draw() * 2)
        details = self.sample(lists["details"], len(lists["details"]))
        story = [pick(one.stories) for one in title.attributes[:num_stories]]
        for _ in range(1 + int(self.draw() * 2)):
            story.insert(int(self.draw() * 3), details.pop())
        if self.draw() < 0.8:
            story.append(pick(lists["closings"]))
        heading = pick(_HEADINGS)
        bullets = [
            f"{heading(one)}{pick(one.bullets)} {pick(one.stories)}"
            for one in title.attributes[num_stories:]
        ]
        bullets += details[: 2 + int(self.draw() * 2)]
        sentences = [pick(lists["openers"]), *story]
        description = " ".join(_fill(sentence, words) for sentence in sentences)
        bullets = self.sample(bullets, len(bullets))
        return description, [_fill(bullet, words) for bullet in bullets]

    def draw_entry(self, title: _Title) -> dict[str, Any]:
        """Return the value in ``items_ins_v2*.json``, with or without a request."""
        names = [one.name for one in title.attributes]
        # Many products have their form among the attributes; no request names it.
        if " " in title.form and self.draw() < 0.4:
            names.append(title.form.lower())
        if self.draw() < 0.15:
            return {"attributes": names}
        requirements = self.sample(title.attributes, 2 + int(self.draw() * 3))
        return {
            "attributes": names,
            "instruction": self.draw_synthetic(requirements),
            "instruction_attributes": [one.name for one in requirements],
        }

    def draw_request(
        self, attributes: Sequence[Attribute], options: Options
    ) -> dict[str, Any]:
        """Return the request of one person, an entry of ``items_human_ins.json``."""
        requirements = self.sample(attributes, 1 + int(self.draw() * 2.5))
        groups = self.sample(tuple(options), int(self.draw() * 3))
        values = {name: self.pick(options[name]).lower() for name in groups}
        return {
            "instruction": self.draw_human(requirements, values),
            "instruction_attributes": [one.name for one in requirements],
            "instruction_options": list(values.values()),
        }

    def draw_synthetic(self, attributes: Sequence[Attribute]) -> str:
        """Return the instruction of a product, without options and price.

        It has the form of WebShop's: attributes in front of the query, then attributes
        after "with", then attributes after "for".
        """
        names = {
            place: ", ".join(one.name for one in attributes if one.place == place)
            for place in ("before", "with", "for")
        }
        words = (self.pick(self.vocabulary.requests["openings"]), names.pop("before"))
        ends = (f"{place} {text}" for place, text in names.items() if text)
        return " ".join(filter(None, (*words, self.kind.query, *ends)))

    def draw_human(
        self, attributes: Sequence[Attribute], values: dict[str, str]
    ) -> str:
        """Return a sentence as a person writes it, without a price."""
        vocabulary, adjective = self.vocabulary, ""
        if attributes[0].place == "before" and self.draw() < 0.5:
            adjective, attributes = attributes[0].name, attributes[1:]
        product = _with_adjective(self.kind.noun_phrase, adjective)
        predicates = [attribute.predicate for attribute in attributes]
        choices = " and ".join(
            vocabulary.choices[name.lower()].format(value)
            for name, value in values.items()
        )
        if choices and self.draw() < 0.5:
            product += f" {choices}"
        elif choices:
            predicates.append(f"comes {choices}")
        conditions = " and ".join(predicates)
        if len(predicates) > 2:
            conditions = ", ".join(predicates[:-1]) + " and " + predicates[-1]
        if conditions and self.draw() < 0.3:
            sentence = self.pick(vocabulary.requests["double_sentences"])
            return sentence.format(product, conditions)
        if conditions:
            product += f" that {conditions}"
        return self.pick(vocabulary.requests["sentences"]).format(product)

    def draw_pricing(self) -> str:
        """Return a price (90 %), a range (9 %) or nothing (1 %)."""
        low, high = self.kind.price
        # The product of two draws makes low prices more frequent.  No power here: its
        # last digit may differ from machine to machine.
        dollars = int(low + (high - low) * self.draw() * self.draw())
        price = (100 * dollars + self.pick(_CENTS)) / 100
        share = self.draw()
        if share < 0.01:
            return ""
        if share < 0.1:
            dollars = 2 + int(dollars * (1.1 + 0.6 * self.draw()))
            return f"${price}${(100 * dollars + self.pick(_CENTS)) / 100}"
        return f"${price}"


@functools.lru_cache(maxsize=4096)
def _in_sentence(fragment: str) -> str:
    """Return a piece of a title in lower case, except names and words such as HDMI."""
    proper_names = load_vocabulary().proper_names
    return " ".join(
        word if word.isupper() or word in proper_names else word.lower()
        for word in fragment.split()
    )


def _fill(sentence: str, words: dict[str, str]) -> str:
    """Return a sentence with the words of one product in its braces.

    The second sentence of a bullet never begins with a brace.
    """
    if "{" not in sentence:
        return sentence
    filled = sentence.format_map(words)
    return filled[0].upper() + filled[1:]


def _with_adjective(noun_phrase: str, adjective: str) -> str:
    """Return "an easy assemble table" for "a *table" and "easy assemble"."""
    if not adjective:
        return noun_phrase.replace("*", "")
    article, _, noun = noun_phrase.partition("*")
    if article in ("a ", "an "):
        article = "an " if adjective.startswith(_VOWELS) else "a "
    return f"{article}{adjective} {noun}"
