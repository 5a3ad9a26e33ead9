"""Words and stems: equal to Lucene 9.5, whose analyser wrote the table here."""

import random
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from roll_vec.envs.webshop.search import english_analyzer as module
from roll_vec.envs.webshop.search.english_analyzer import STOP_WORDS, stem, words
from roll_vec.errors import MissingExtraError

pytest.importorskip("regex")
pytest.importorskip("nltk")

LUCENE = {
    "": "",
    "...": "",
    "The Men's tops, tees & blouses": "men|top|tee|blous",
    "men\u2019s MEN\uff07S mens' o'clock 'tis": "men|men|men|o'clock|ti",
    "the's is's": "",
    "women\u2019s d\u00e9cor CAF\u00c9": "women|d\u00e9cor|caf\u00e9",
    "u.s.a. example.com a:b a.1 1.a x-large": "u.s.a|example.com|a:b|1|1|x|larg",
    "3.5mm 1,000.50 50.00 1;2 12' 1:2 1/2": "3.5mm|1,000.50|50.00|1;2|12|1|2|1|2",
    "a,b a;b 1.,2 a..b": "b|b|1|2|b",
    "snake_case _lead trail_ __ _1_ a_'s": "snake_cas|_lead|trail_|_1_|a_|s",
    "41mm | 42mm wi-fi 4k@60hz #1 50% $5": "41mm|42mm|wi|fi|4k|60hz|1|50|5",
    # Martin's departures from the paper, and what has at most two letters.
    "possibly analogies as us s ss": "possibl|analog|us|s|ss",
    "relational conditional happy sky caresses": "relat|condit|happi|sky|caress",
    # Han and Hiragana one by one, Katakana, Hangul and Thai in runs.
    "\u6f22\u5b57\u304b\u306a": "\u6f22|\u5b57|\u304b|\u306a",
    "\u30ab\u30bf\u30ab\u30ca a\u30ab": "\u30ab\u30bf\u30ab\u30ca|\u30ab",
    "\uff76\uff80_\uff76 \u3005\u6f22": "\uff76\uff80_\uff76|\u3005|\u6f22",
    "\ud55c\uad6d\uc5b4abc": "\ud55c\uad6d\uc5b4abc",
    "\u0e20\u0e32\u0e29\u0e32 \u0e44\u0e17\u0e22": (
        "\u0e20\u0e32\u0e29\u0e32|\u0e44\u0e17\u0e22"
    ),
    "\uff11\uff12 \u0663,\u0664": "\uff11\uff12|\u0663,\u0664",
    "e\u0301clair so\u00adft": "e\u0301clair|so\u00adft",
    # Hebrew quotation marks.
    '\u05d0"\u05d1 \u05d0\u05d1\' \u05d0"': "\u05d0\"\u05d1|\u05d0\u05d1'|\u05d0",
    '\u05d0"\u05d1"\u05d0': '\u05d0"\u05d1|\u05d0',
    # Emoji: joined, with a selector, with a tone, flags, keys, tags.
    "\U0001f468\u200d\U0001f469\u200d\U0001f467x": (
        "\U0001f468\u200d\U0001f469\u200d\U0001f467|x"
    ),
    "\u2764\ufe0f\u2764": "\u2764\ufe0f|\u2764",
    "\u2764\ufe0f\u200d\U0001f525": "\u2764\ufe0f\u200d\U0001f525",
    "\U0001f44d\U0001f3fd\U0001f44d": "\U0001f44d\U0001f3fd|\U0001f44d",
    "\U0001f1e9\U0001f1ea\U0001f1eb": "\U0001f1e9\U0001f1ea",
    "1\ufe0f\u20e3 #\ufe0f\u20e3 *\u20e3 #": "1\ufe0f\u20e3|#\ufe0f\u20e3|*\u20e3",
    "\U0001f3f4\U000e0067\U000e007f\U0001f3f4": (
        "\U0001f3f4\U000e0067\U000e007f|\U0001f3f4"
    ),
    "\u2605 \u261b \u2765 \xa9 \u2022 \u2013": "\u2605|\u261b|\u2765|\xa9",
    "soft\u2122 \u2605\u2605new": "soft|\u2122|\u2605|\u2605|new",
    # Letters that are emoji too: the longer word counts.
    "\u24c2a \u24c2\u200d\U0001f468": "\u24dca|\u24dc\u200d\U0001f468",
    # Lower case character by character.
    "\u0130 \u039f\u0394\u039f\u03a3 K": "i|\u03bf\u03b4\u03bf\u03c3|k",
    # Characters whose properties Unicode has changed.
    "a\xb8b 1\u0600 a\u058ab": "b|1\u0600|b",
}


def analyse(text):
    return [stem(word) for word in words(text)]


@pytest.mark.parametrize("text", LUCENE, ids=ascii)
def test_words_are_those_of_lucene(text):
    assert "|".join(analyse(text)) == LUCENE[text]


def test_long_words_are_cut_at_255_units():
    for text, lengths in {
        "b" * 600: [255, 255, 90],
        "b" * 255 + " " + "b" * 256: [255, 255, 1],
        "_" * 300 + "b": [255],
        "_" * 300 + "\xe9": [255],
        "\U0001d41b" * 200: [127, 73],
        "x" + "\U0001d41b" * 200: [128, 73],
        "\xe9" + "\u0301" * 400 + " x": [255, 1],
        "1." * 200: [255, 143],
        "\u24c2\u200d" * 200: [255, 145],
    }.items():
        assert [len(word) for word in words(text)] == lengths, ascii(text[:3])


@given(st.text("abs1_:.,;'\" -#*", max_size=30))
def test_the_short_rules_of_ascii_are_those_of_all(text):
    matches = [module._normalise(word) for word in module._cut_words(text)]
    assert words(text) == [word for word in matches if word not in STOP_WORDS]


@given(
    st.text(
        "ab1_.'\"\u05d0\u30ab\u6f22\u0e40\u200d\ufe0f\u0301\u20e3#\u2605\u24c2"
        "\U0001f468\U0001f1e9\U0001f3fb\U000e0067\U000e007f",
        max_size=20,
    )
)
def test_one_pattern_and_single_matches_find_the_same_words(text):
    # `words` never applies the pattern to emoji that are letters.
    text = text.replace("\u24c2", " ")
    matches = list(filter(None, module._patterns()["all"].findall(text)))
    assert module._cut_words(text) == matches


SIZE = 50_000


@pytest.mark.parametrize(
    ("piece", "count"),
    [
        *((piece, 0) for piece in ("_", "[", "\0", "\ud800", "\u200d", "\u0301")),
        *((piece, 0) for piece in ("_\u200d", "#\u200d")),
        *((piece, 197) for piece in ("y", "a_\xe9")),
        ("b" + 301 * "\u0301", 165),
    ],
    ids=lambda value: ascii(value)[:12],
)
def test_a_long_text_of_anything_is_read(piece, count):
    # In quadratic time this would take minutes.
    text = piece * (SIZE // len(piece))
    assert len(words(text + "!")) == count
    assert len(words(text + "\xbf")) == count


def test_stems_are_those_of_the_stemmer():
    # Some last letters need no stemmer.
    from nltk.stem.porter import PorterStemmer

    porter = PorterStemmer(mode=PorterStemmer.MARTIN_EXTENSIONS)
    rng = random.Random(0)
    ends = ["", *"abcdefghijklmnopqrstuvwxyz0.\xe9", "ing", "ed", "sses", "ies"]
    ends += ["ou", "iti", "ic", "ent", "ion", "ism", "alli", "ational", "bli", "logi"]
    ends += ["fulness", "izer", "ement", "ll", "able"]
    for _ in range(3000):
        letters = [rng.choice("abeilosty") for _ in range(rng.randint(0, 6))]
        word = "".join(letters) + rng.choice(ends) + rng.choice(ends)
        assert stem(word) == porter.stem(word, to_lowercase=False)


@pytest.mark.parametrize(
    ("package", "text"), [("regex", "caf\xe9"), ("nltk.stem.porter", "running")]
)
def test_a_missing_package_is_named(package, text, monkeypatch):
    monkeypatch.setitem(sys.modules, package, None)
    caches = module._patterns, module._stemmer, module.stem
    for cache in caches:
        cache.cache_clear()
    with pytest.raises(MissingExtraError, match=r'pip install "\.\[webshop\]"'):
        analyse(text)
    monkeypatch.undo()
    assert analyse(text)
