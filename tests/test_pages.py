"""Pages that repeat what stands in the code, in pyproject.toml or in the tests."""

import re

import pytest

import roll_vec
from benchmarks.quotations import pattern
from roll_vec import errors
from roll_vec.descriptions import describe_env
from roll_vec.registration import ENVIRONMENTS
from tests.conftest import ROOT
from tests.pins.sets import SETS
from website import game_pages

DOCS = ROOT / "docs"
PROJECT = (ROOT / "pyproject.toml").read_text("utf-8")
PROMISES = (DOCS / "promises.md").read_text("utf-8")
GAME_PAGES = sorted(game_pages.FOLDER.glob("*.md"))


@pytest.mark.parametrize("path", GAME_PAGES, ids=lambda path: path.stem)
def test_tables_of_games_are_those_of_the_code(path):
    text = path.read_text("utf-8")
    advice = "python -m website.game_pages"
    assert game_pages.with_tables(text) == text, advice
    with pytest.raises(ValueError, match="got cats"):
        game_pages.with_tables("<!-- game cats roll_vec/Sokoban-v0 --><!-- end -->")


@pytest.mark.parametrize("id", ENVIRONMENTS)
def test_an_id_has_its_tables_and_its_splits_their_baselines(id):
    description = describe_env(id)
    text = (ROOT / description.game.page).read_text("utf-8")
    words = [match[2] for match in pattern("game").finditer(text)]
    kinds = {word.split()[0] for word in words if word.endswith(id)}
    if id == "roll_vec/FrozenLake8x8-v1":
        assert kinds == {"ends", "splits"}
    else:
        assert kinds >= {"infos", "keywords", "sources", "splits"}
    assert any(word.startswith("rewards ") for word in words)
    quotations = re.findall(r"<!-- baseline (\S+) (\S+) random -->", text)
    for split in description.splits:
        advice = "write its row; python -m benchmarks.baselines fills in the figures"
        assert (id, split.name) in quotations, advice


def test_lakes_share_rewards_ends_and_cells():
    """Their page shows them once."""
    for kind in ("rewards", "ends", "cells"):
        show = game_pages.TABLES[kind]
        assert show("roll_vec/FrozenLake-v1") == show("roll_vec/RandomFrozenLake-v0")


def test_the_table_has_each_extra_and_its_packages():
    tomllib = pytest.importorskip("tomllib")  # from Python 3.11 on
    extras = tomllib.loads(PROJECT)["project"]["optional-dependencies"]
    packages = {
        extra: [
            re.match(r"[\w-]+", line)[0] for line in lines if "roll-vec[" not in line
        ]
        for extra, lines in extras.items()
    }
    page = (DOCS / "installation.md").read_text("utf-8")
    section = page.partition("\n## Extras\n")[2].partition("\n## ")[0]
    rows = re.findall(r"^\| `([\w-]+)` \| (.*?) \| (.*) \|$", section, re.MULTILINE)
    assert len(rows) == len(packages)
    assert packages == {
        extra: re.findall(r"`([\w-]+)`", text) for extra, text, _ in rows
    }
    for extra, _, purpose in rows:
        for names in re.findall(r"roll-vec\[(.*)\]", "\n".join(extras[extra])):
            assert all(f"`{name}`" in purpose for name in names.split(",")), extra
    versions = re.findall(r"Python :: (3\.\d+)", PROJECT)
    assert f"Python {versions[0]} to {versions[-1]}" in page
    assert f"roll_vec-{roll_vec.__version__}-py3-none-any.whl" in page
    assert f'requires-python = ">={versions[0]}"' in PROJECT
    assert versions[0] in SETS["lowest"].pythons


def test_tests_and_commands_of_the_promises_exist():
    folder, missing = "tests", []
    # A bare file name stands in the folder of the name before it.
    for name in re.findall(r"`((?:tests/)?[\w/]+\.(?:py|json)|tests/\w+)`", PROMISES):
        path = name if name.startswith("tests") else f"{folder}/{name}"
        folder = path.rpartition("/")[0]
        if not (ROOT / path).exists():
            missing.append(path)
    assert not missing
    assert PROMISES.count("`tests/") > 15
    targets = re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE)
    names = re.findall(r"`make\s+([a-z-]+)", PROMISES)
    assert names
    assert set(names) <= set(targets)


def test_every_error_has_its_section():
    page = (DOCS / "errors.md").read_text("utf-8")
    sections = re.findall(r"^## (.*)$", page, re.MULTILINE)
    classes = {name for name in errors.__all__ if isinstance(vars(errors)[name], type)}
    assert sorted(sections) == sorted(classes - {"RollVecError"})
