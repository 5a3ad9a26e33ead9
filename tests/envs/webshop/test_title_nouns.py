"""Title nouns: one source for all titles, the file is read, completed or refused."""

import gzip
import importlib.util
import json
import random

import pytest

from roll_vec.envs.webshop.catalogue import title_nouns
from roll_vec.envs.webshop.catalogue.title_nouns import load_title_nouns
from roll_vec.errors import InvalidFileError, InvalidOptionError

TITLES = {"B1": "Red Shoes for the Party, 2 Pack", "B2": "Oak Table", "B3": ""}
NOUNS = {"B1": ["shoes", "party", "shoes"], "B2": ["oak", "table"], "B3": []}
FAKE = "spacy:en_core_web_sm-0"
MODEL = "spacy:en_core_web_sm-3.8.0"


@pytest.fixture
def no_spacy(monkeypatch):
    """Hide an installed spaCy."""
    find = importlib.util.find_spec
    monkeypatch.setattr(
        importlib.util,
        "find_spec",
        lambda name: None if name == "spacy" else find(name),
    )


@pytest.fixture
def fake_spacy(monkeypatch):
    """Replace spaCy: every word is a noun; returns the list of the titles it gets."""
    titles_for_spacy = []

    def ask(package, titles):
        assert package == "fake"
        for title in titles:
            titles_for_spacy.append(title)
            yield tuple(title.lower().split())

    monkeypatch.setattr(title_nouns, "_installed_models", lambda: {FAKE: "fake"})
    monkeypatch.setattr(title_nouns, "_ask_spacy", ask)
    return titles_for_spacy


def write(path, content):
    """Write text or JSON, plain or gzipped; return the path."""
    open_file = gzip.open if path.suffix == ".gz" else open
    with open_file(path, "wt", encoding="utf-8") as file:
        file.write(content if isinstance(content, str) else json.dumps(content))
    return str(path)


def read_file(path):
    """Return the content of a JSON file, plain or gzipped."""
    open_file = gzip.open if path.suffix == ".gz" else open
    with open_file(path, "rt", encoding="utf-8") as file:
        return json.load(file)


as_tuples = {asin: tuple(nouns) for asin, nouns in NOUNS.items()}


@pytest.mark.parametrize(
    ("name", "source"),
    [
        ("nouns.json", None),
        ("nouns.json.gz", "rule"),
        ("nouns.json", "spacy:en_core_web_lg-1"),
    ],
)
def test_a_complete_file_is_all_that_is_asked(tmp_path, fake_spacy, name, source):
    content = {**NOUNS, "B9": ["more"]}
    if source is not None:
        content = {"source": source, "title_nouns": content}
    path = write(tmp_path / name, content)
    assert load_title_nouns(TITLES, path) == (as_tuples, source or "file")
    assert not fake_spacy
    assert read_file(tmp_path / name) == content


def test_the_original_file_is_read(shared):
    golden = shared / "golden" / "webshop_title_nouns_en_core_web_sm_3.8.0.json.gz"
    titles = dict.fromkeys(read_file(golden), "no matter")
    nouns, source = load_title_nouns(titles, golden)
    assert (len(nouns), source) == (1000, "file")
    assert nouns["B06Y3VLDFB"][:2] == ("vhomes", "lights")


def test_without_a_file_and_spacy_the_rule_is_used(tmp_path, no_spacy):
    titles = {
        **TITLES,
        # Runs of letters that are no stop words.
        "B4": "The 12V LED-Lamp (4 x 10W)",
        "B5": "Women's shoes SHOES",
        "B6": "caf\xe9_cr\xe8me \u8336\u8336 \u2605",
        "B7": "\ud800x y\x00zz" + " a" * 100_000,
    }
    nouns = {
        "B1": ("red", "shoes", "party", "pack"),
        "B2": ("oak", "table"),
        "B3": (),
        "B4": ("led", "lamp"),
        "B5": ("women", "shoes", "shoes"),
        "B6": ("caf\xe9", "cr\xe8me", "\u8336\u8336"),
        "B7": ("zz",),
    }
    assert load_title_nouns(titles) == (nouns, "rule")
    path = tmp_path / "nouns.json"
    with pytest.raises(InvalidOptionError, match=r"nouns\.json: it is not there, and"):
        load_title_nouns(TITLES, path)
    assert not path.exists()


@pytest.mark.parametrize("name", ["nouns.json", "nouns.json.gz"])
def test_nouns_of_spacy_are_written_to_the_file(tmp_path, fake_spacy, name):
    path = tmp_path / name
    first = load_title_nouns({"B2": TITLES["B2"]}, path)
    assert first == ({"B2": ("oak", "table")}, FAKE)
    assert read_file(path) == {"source": FAKE, "title_nouns": {"B2": ["oak", "table"]}}
    counts = []
    nouns, source = load_title_nouns(TITLES, path, counts.append)
    assert list(nouns) == list(TITLES)
    assert counts == [2, 3]
    assert fake_spacy == [TITLES["B2"], TITLES["B1"], TITLES["B3"]]
    again = load_title_nouns(TITLES, path)
    assert again == (nouns, source)
    assert len(fake_spacy) == 3
    # Others may need what these titles do not.
    load_title_nouns({"B4": "Tea"}, path)
    assert set(read_file(path)["title_nouns"]) == {*TITLES, "B4"}
    assert [p.name for p in tmp_path.iterdir()] == [name]
    # Without a file all titles are asked for.
    assert load_title_nouns(TITLES) == (nouns, FAKE)
    assert fake_spacy[-3:] == list(TITLES.values())


@pytest.mark.parametrize(
    ("source", "says"),
    [
        (None, "it does not say where it is from"),
        ("rule", "it is from rule"),
        ("spacy:en_core_web_sm-9", "it is from spacy:en_core_web_sm-9"),
    ],
)
@pytest.mark.parametrize("installed", [True, False])
def test_sources_are_never_mixed(tmp_path, monkeypatch, source, says, installed):
    models = {FAKE: "fake"} if installed else {}
    monkeypatch.setattr(title_nouns, "_installed_models", lambda: models)
    content = {"B2": ["oak"]}
    if source:
        content = {"source": source, "title_nouns": content}
    path = write(tmp_path / "nouns.json", content)
    with pytest.raises(InvalidOptionError) as raised:
        load_title_nouns(TITLES, path)
    message = str(raised.value)
    assert f"title_nouns: {path}: lacks 2 products, such as B1; {says}" in message
    assert (FAKE if installed else "no en_core_web_sm") in message
    assert "give a complete file, or a new path" in message
    assert read_file(tmp_path / "nouns.json") == content


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        ([], r"expected an object of lists by asin, got \[\]"),
        ({"B1": ["a"], "B7": "abc"}, r"B7: expected a list of strings, got 'abc'"),
        ({"B7": ["a", 1]}, r"B7: expected a list of strings, got \['a', 1\]"),
        ({"B7": None}, "B7: expected a list of strings, got None"),
        ({"title_nouns": {}}, "source: expected a name, got None"),
        ({"title_nouns": {}, "source": ""}, "source: expected a name, got ''"),
        ({"title_nouns": [], "source": "x"}, "title_nouns: expected an object"),
        ({"title_nouns": {"B7": 1}, "source": "x"}, "B7: expected a list"),
        ("{", "is no JSON file"),
    ],
)
def test_a_malformed_file_is_named(tmp_path, no_spacy, content, problem):
    path = write(tmp_path / "nouns.json", content)
    with pytest.raises(
        InvalidOptionError, match=f"title_nouns: .*nouns.json:? {problem}"
    ):
        load_title_nouns({}, path)


def test_a_file_that_cannot_be_written_is_named(tmp_path, fake_spacy):
    path = tmp_path / "none" / "nouns.json"
    with pytest.raises(InvalidOptionError, match=r"nouns\.json.*cannot be written"):
        load_title_nouns(TITLES, path)
    assert not fake_spacy, "it is noticed before the work"
    path = tmp_path / "nouns.json"

    def occupy(counts):
        if counts == 1:
            (path / "x").mkdir(parents=True)

    with pytest.raises(InvalidFileError, match=r"nouns\.json.*cannot be written"):
        load_title_nouns(TITLES, path, occupy)
    assert [p.name for p in tmp_path.iterdir()] == ["nouns.json"]


def test_an_error_of_spacy_leaves_the_file_unchanged(tmp_path, monkeypatch):
    def ask(package, titles):
        yield ("oak",)
        raise RuntimeError("no more")

    monkeypatch.setattr(title_nouns, "_installed_models", lambda: {FAKE: "fake"})
    monkeypatch.setattr(title_nouns, "_ask_spacy", ask)
    content = {"source": FAKE, "title_nouns": {"B2": ["oak"]}}
    path = write(tmp_path / "nouns.json", content)
    with pytest.raises(RuntimeError, match="no more"):
        load_title_nouns(TITLES, path)
    assert read_file(tmp_path / "nouns.json") == content


def test_nouns_of_spacy_equal_the_originals(shared, tmp_path):
    pytest.importorskip("spacy")
    if MODEL not in title_nouns._installed_models():
        pytest.skip(f"{MODEL} is not installed")
    state = random.getstate()
    golden = read_file(
        shared / "golden" / "webshop_title_nouns_en_core_web_sm_3.8.0.json.gz"
    )
    items = read_file(shared / "data" / "webshop" / "items_shuffle_1000.json.gz")
    titles = {item["asin"]: item["name"] for item in items[::8]}
    expected = {asin: tuple(golden[asin]) for asin in titles}
    path = tmp_path / "nouns.json.gz"
    assert load_title_nouns(titles, path) == (expected, MODEL)
    assert load_title_nouns(titles, path) == (expected, MODEL)
    odd, _ = load_title_nouns({"B1": "", "B2": "a \ud800 table", "B3": "\x00 \n\t"})
    assert odd["B1"] == ()
    assert "table" in odd["B2"]
    assert random.getstate() == state
