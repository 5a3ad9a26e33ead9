"""Words and stems of any text; ``analyzer_calls.txt`` has those of Lucene."""

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


def analyse(text):
    return [stem(word) for word in words(text)]


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
    with pytest.raises(MissingExtraError, match=r'pip install "roll-vec\[webshop\]"'):
        analyse(text)
    monkeypatch.undo()
    assert analyse(text)
