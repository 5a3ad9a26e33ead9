"""The words of the embedded shop: what is sold there, and what is said of it.

The files ``vocabulary_*.py`` hold them as text, in the form of `configparser`: lists
are separated by ``|`` or by lines.  A section is a type of product, named by the query
that finds it::

    [console tables]
    path = the pieces of product_category, separated by >
    one = one of them as a person asks for it; adjectives go where the * is
    thing = how sentences call it after "the"
    price = the least and the greatest, in dollars
    forms, looks, materials, extras, uses, tails = what titles are put together from
    attributes = phrases; of some separated by / a product has one at most
    options = Name: value | value, one group a line
    openers, facts = sentences, which may name {brand}, {form}, {a_form} and {material}

What the types of a file share stands in ``DEFAULT``: ``category``, and ``closings``,
sentences too.

The section ``attributes`` has a phrase a key::

    dry skin = for: is good for dry skin
        Sentence for a description, which may name {material} and {thing}.
        - Sentence for a bullet, below the phrase as its heading.

Before the colon stands the phrase's place in an instruction (before, with or for),
after it what a person says of a product that has it.
"""

from __future__ import annotations

import configparser
import functools
import re
from typing import NamedTuple

from roll_vec.envs.webshop.demo_shop.vocabulary_beauty import BEAUTY
from roll_vec.envs.webshop.demo_shop.vocabulary_electronics import ELECTRONICS
from roll_vec.envs.webshop.demo_shop.vocabulary_fashion import FASHION
from roll_vec.envs.webshop.demo_shop.vocabulary_garden import GARDEN
from roll_vec.envs.webshop.demo_shop.vocabulary_grocery import GROCERY
from roll_vec.envs.webshop.demo_shop.vocabulary_phrases_body import (
    BEAUTY_PHRASES,
    FASHION_PHRASES,
    GROCERY_PHRASES,
)
from roll_vec.envs.webshop.demo_shop.vocabulary_phrases_things import (
    ELECTRONICS_PHRASES,
    GARDEN_PHRASES,
    SHARED_PHRASES,
)

__all__ = [
    "BRAND_ENDS",
    "BRAND_STARTS",
    "NOT_NOUNS",
    "Phrase",
    "ProductType",
    "in_sentence",
    "phrases",
    "product_types",
    "title_words",
]

# Brands are one of the first and one of the second: none is a real one.
_STARTS = (
    "Bel Corv Dra Fen Gal Hul Jor Kes Lir Mab Nim Ost Pel Quor Ras Sov Tam Ulv Vex"
)
_ENDS = "dova mirra tesk vanti quist lomy zeno rindle paxa hollo umbra skelle"
BRAND_STARTS, BRAND_ENDS = tuple(_STARTS.split()), tuple(_ENDS.split())

_TITLE_LISTS = ("forms", "looks", "materials", "extras", "uses", "tails")
_SENTENCES = ("openers", "facts", "closings")

_TYPES = (BEAUTY, ELECTRONICS, GARDEN, FASHION, GROCERY)
_PHRASES = (
    SHARED_PHRASES,
    BEAUTY_PHRASES,
    ELECTRONICS_PHRASES,
    GARDEN_PHRASES,
    FASHION_PHRASES,
    GROCERY_PHRASES,
)

# Words of titles that are neither nouns nor proper nouns; all others are.
_OTHERS = """
absorbing abstract adjustable aging all alternative and anti apply artificial artisan
assemble athletic backlit baked behind big black bold botanical braided breathable
brightening built buttery by calming cancelling carry casual certified chewy chic chunky
clarifying classic clean clear clinically closed coated cold colombian colorful combed
comfortable compact contemporary cool cooling cozy creamy crispy crunchy cured curly
curved cute daily damaged dark de dead decorative deep deluxe dietary dimmable double
down dried dry drying dual easy eat eco efficient elastic elegant empty engineered
ergonomic essential ethiopian everyday executive exfoliating extra facial fade faded
fair fast faux fed felt festive fine fireproof flat flexible floating floppy floral
fluffy foldable folding for fragrant free freeze french fresh friendly frosted full
gentle geometric glossy graphic guatemalan half handmade hang heavy heavyweight her
herbal hidden high highly hydrating iced in included individually industrial install
insulated intensive ionic italian large lasting light live long loud low luxury manual
matching matte mechanical medium mini minimalist mixed modern moroccan narrow natural no
non nourishing of oily old on one opaque open organic outdoor overnight oversized
packable padded pastel patent perfect persian peruvian petite pigmented plaid plated
pleated plus plush pointed portable powerful printed professional proven puffed pure
purifying quick quiet quilted ready real recycled red refillable refreshing regular
reinforced relaxed relaxing removable required resealable resistant retro reusable
ribbed ripened roasted rolled romantic round rugged rustic salty savory scented seamless
sensitive sheer shockproof short sided silky simple slim slow small smart smoked smoky
smooth soft solid soothing spiced spicy square stackable stainless striped
sturdy sumatran super sweet synthetic tall tangy tapered tempered tender textured thai
thermal thick thin to toasted toxic treated tufted turkish two ultra under universal
unsweetened up upholstered vegan vietnamese vintage volcanic warm washable waxed
weatherproof whipped white whole wholesome wicking wide windproof wireless with without
wooden woody woven wrapped yellow
"""
NOT_NOUNS = frozenset(_OTHERS.split())

# Words that keep their capital letter in a sentence.
_CAPITALS = """
Angus Arabica Bluetooth California Colombian Ecuador Ethiopian Georgia Ghana Guatemalan
Italian Peru Peruvian Sumatran Thai Turkish Vietnamese WiFi
"""
_PROPER_NAMES = frozenset(_CAPITALS.split())

# Of a path: a single right-pointing angle quotation mark.
_SEPARATOR = " \u203a "

# Words of letters; the s after an apostrophe is none.
_WORDS = re.compile(r"(?<![a-z0-9'])[a-z]{2,}")


class Phrase(NamedTuple):
    """An attribute, and how it is spoken of.

    ``place`` is where it stands in an instruction: ``before`` what is asked for, or
    after it with the word ``with`` or ``for``.  ``said`` goes after "that".
    """

    name: str
    title: str
    place: str
    said: str
    stories: tuple[str, ...]
    bullets: tuple[str, ...]


class ProductType(NamedTuple):
    """What products of one type are put together from; see the module."""

    query: str
    category: str
    path: str
    one: str
    thing: str
    price: tuple[float, float]
    forms: tuple[str, ...]
    looks: tuple[str, ...]
    materials: tuple[str, ...]
    extras: tuple[str, ...]
    uses: tuple[str, ...]
    tails: tuple[str, ...]
    attributes: tuple[tuple[Phrase, ...], ...]
    options: tuple[tuple[str, tuple[str, ...]], ...]
    openers: tuple[str, ...]
    facts: tuple[str, ...]
    closings: tuple[str, ...]


@functools.cache
def phrases() -> dict[str, Phrase]:
    """Return the attributes by name."""
    found = {}
    for text in _PHRASES:
        for name, entry in _parse(text)["attributes"].items():
            first, *lines = entry.split("\n")
            place, said = first.split(": ")
            found[name] = Phrase(
                name,
                _title_case(name),
                place,
                said,
                tuple(line for line in lines if line[0] != "-"),
                tuple(line[2:] for line in lines if line[0] == "-"),
            )
    return found


@functools.cache
def product_types() -> tuple[ProductType, ...]:
    """Return what the shop sells."""
    return tuple(
        _product_type(query, section)
        for text in _TYPES
        for query, section in _parse(text).items()
        if query != configparser.DEFAULTSECT
    )


def _parse(text: str) -> configparser.ConfigParser:
    parser = configparser.ConfigParser(
        delimiters=("=",), interpolation=None, empty_lines_in_values=False
    )
    parser.read_string(text)
    return parser


def _product_type(query: str, section: configparser.SectionProxy) -> ProductType:
    """Return one section as a type."""
    known = phrases()
    low, high = section["price"].split()
    # A line without the name of a group goes on with the one above it.
    options = re.sub(r"\n(?!.*: )", " | ", section["options"].strip())
    groups = []
    for line in options.split("\n"):
        name, values = line.split(": ")
        groups.append((name, tuple(_listed(values))))
    return ProductType(
        query=query,
        category=section["category"],
        path=section["path"].replace(" > ", _SEPARATOR),
        one=section["one"],
        thing=section["thing"],
        price=(float(low), float(high)),
        attributes=tuple(
            tuple(known[name] for name in entry.split(" / "))
            for entry in _listed(section["attributes"])
        ),
        options=tuple(groups),
        **{name: tuple(_listed(section[name])) for name in _TITLE_LISTS},
        **{name: tuple(section[name].strip().split("\n")) for name in _SENTENCES},
    )


def _listed(text: str) -> list[str]:
    return [entry.strip() for entry in re.split(r"[|\n]", text)]


_SHORT_FORMS = {"Bpa": "BPA", "Gmo": "GMO", "Usb": "USB", "Uv": "UV", "Hd": "HD"}


def _title_case(phrase: str) -> str:
    return " ".join(_SHORT_FORMS.get(word, word) for word in phrase.title().split())


@functools.lru_cache(maxsize=4096)
def in_sentence(fragment: str) -> str:
    """Return a piece of a title in lower case, but for names and words such as HDMI."""
    return " ".join(
        word if word.isupper() or word in _PROPER_NAMES else word.lower()
        for word in fragment.split()
    )


def title_words(title: str) -> list[str]:
    """Return the words of a title, in lower case and in order."""
    return _WORDS.findall(title.lower())
