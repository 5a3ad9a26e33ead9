"""`roll-vec diagnose`: its output, page, exit codes and errors."""

import json

import pytest

from tests.evaluation.diagnosis.planters import CHAT, SOKOBAN, answer_all, record

SEEDS = range(1_000_000, 1_000_030)


def write(path, episodes):
    """Write episodes in the plain form."""
    with path.open("w", encoding="utf-8") as file:
        for each in episodes:
            line = {"id": each.id, "keywords": dict(each.keywords), "seed": each.seed}
            line |= {"answers": list(each.answers), "rewards": list(each.rewards)}
            file.write(f"{json.dumps(line)}\n")


@pytest.fixture
def plain(tmp_path, monkeypatch):
    """A file of good episodes, and one without tags."""
    monkeypatch.chdir(tmp_path)
    good = record(SOKOBAN, CHAT, SEEDS)
    write(tmp_path / "good.jsonl", good)
    bad = answer_all(good, lambda i, t: "I go up" if t % 2 else "Let me go left")
    write(tmp_path / "bad.jsonl", bad)
    return tmp_path


def test_the_table_names_what_to_change(plain, works):
    out = works("diagnose", "bad.jsonl", "--html", "page.html").out
    assert "First to change: Answers that are no valid action." in out
    assert "3,000 of 3,000 turns (100 %)" in out
    assert "no <answer>, at character 0" in out
    assert "set format_penalty below 0" in " ".join(out.split())
    assert "bad.jsonl, line 1, turn 1: seed 1000000, reward -0.1, advantage -1" in out
    assert "#P" in out or "P#" in out or "_P" in out
    page = (plain / "page.html").read_text("utf-8")
    assert page.startswith("<!doctype html>")
    assert "<mark>Let me go left</mark>" in page


def test_nothing_stands_out(plain, works):
    out = works("diagnose", "good.jsonl").out
    assert out.splitlines()[-1] == "Nothing stands out."
    assert works("diagnose", "good.jsonl", "--quiet").out == ""


def test_files_are_read_together(plain, works):
    out = works("diagnose", "good.jsonl", "bad.jsonl").out
    assert out.startswith("episodes: 60, turns: ")
    # The tasks of two files are no duplicates.
    assert "The same tasks" not in out


def test_results_of_an_evaluation_are_read(plain, works):
    words = ("--split", "test", "--num-episodes", "20", "--out", "results.jsonl")
    works("eval", "run", SOKOBAN, *words, "--quiet")
    out = works("diagnose", "results.jsonl").out
    assert "First to change: Dead ends." in out
    assert "results.jsonl, episode " in out


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("nothing.jsonl",), "argument FILE: cannot read 'nothing.jsonl'"),
        (("bare.jsonl",), "or --id to a command"),
        (("empty.jsonl",), "expected episodes with answers"),
        (("good.jsonl", "--format", "xml"), "argument --format"),
        (("good.jsonl", "--html", "no/page.html"), "argument --html"),
        (("good.jsonl", "-o", "num_boxs=2"), "num_boxs"),
    ],
)
def test_what_cannot_be_used_is_named(plain, fails, words, message):
    (plain / "bare.jsonl").write_text('{"seed": 1, "answers": [1]}\n')
    line = {"id": SOKOBAN, "seed": 1, "answers": []}
    (plain / "empty.jsonl").write_text(f"{json.dumps(line)}\n")
    assert message in fails("diagnose", *words)
