"""The published figures: pages are what the files of results and the code give."""

import json
import re

import pytest

from benchmarks import pages
from benchmarks.baselines import __main__ as baselines
from benchmarks.baselines import policies, tables
from benchmarks.quotations import PAGES
from benchmarks.result import RESULTS, read_result
from roll_vec.evaluation import SPLITS, find_split

BASELINES = tables.content()
ROWS = {tables.key_of(row): row for row in BASELINES["rows"]}
ALL = [split for by_name in SPLITS.values() for split in by_name.values()]
RATES = r"\d ?(?:ns|[uµ]s|[a-z]+/s)\b|\d×(?! ?\d)|PPO.*\d %|\d %.*PPO"


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.stem)
def test_figures_of_pages_come_from_results(path):
    text = path.read_text("utf-8")
    if path.stem != "cluster":  # a simulation of some seconds; tests/test_examples.py
        assert pages.fill(text) == text, "make pages"
    own = re.sub(r"<!-- (?!end).*?<!-- end -->|```.*?```", "", text, flags=re.DOTALL)
    assert not re.findall(f"^.*(?:{RATES}).*$", own, re.M), "a figure typed by hand"


def test_a_figure_that_no_file_has_is_refused(tmp_path):
    for words, error in (
        ("baseline a b c", ValueError),
        ("figure exports cats", ValueError),
        ("figures nowhere", ValueError),
        ("cluster cats", KeyError),
    ):
        with pytest.raises(error):
            pages.fill(f"<!-- {words} --><!-- end -->")
    text = pages.fill("<!-- figure exports messages -->1<!-- end -->")
    assert text == "<!-- figure exports messages -->9,100<!-- end -->"
    (tmp_path / "x.json").write_text("{}")
    with pytest.raises(ValueError, match=r"x\.json: expected a result of a run"):
        read_result(tmp_path / "x.json")


def test_all_results_are_quoted():
    text = "".join(path.read_text("utf-8") for path in PAGES)
    marks = re.findall(r"<!-- (\w+) (\w*)", text)
    quoted = {word for pair in marks for word in pair}
    assert {path.stem for path in RESULTS.iterdir()} <= quoted


def test_baselines_have_a_row_or_a_reason_for_each_policy_and_split():
    reasons = {tables.key_of(entry) for entry in BASELINES["absent"]}
    splits = {(split["id"], split["name"]): split for split in BASELINES["splits"]}
    assert list(splits) == [(split.id, split.name) for split in ALL]
    for split in ALL:
        entry = splits[split.id, split.name]
        assert (entry["digest"], entry["episodes"]) == (split.digest, len(split))
        assert entry["keywords"] == json.loads(json.dumps(dict(split.keywords)))
        for policy in policies.POLICIES:
            key = split.id, split.name, policy
            assert (policies.absence(split, policy) is None) == (key not in reasons)
            # PPO's rows come when its training is done.
            if policy != policies.PPO:
                assert ROWS[key]["digest"] == split.digest
                assert ROWS[key]["faults"] == 0
        random, rule, solver = (
            ROWS[split.id, split.name, policy]["success"]
            for policy in ("random", "rule", "solver")
        )
        assert random[2] < solver[1]
        assert random[0] <= rule[0] <= solver[0]


@pytest.mark.parametrize(
    ("id", "name", "policy"),
    [
        ("roll_vec/RandomFrozenLake-v0", "test-no-slip", "rule"),
        ("roll_vec/Sokoban-v0", "test-1-box", "solver"),
        pytest.param("roll_vec/WebShop-v0", "test", "rule", marks=pytest.mark.slow),
    ],
)
def test_a_baseline_is_measured_again(id, name, policy):
    split = find_split(id, name)
    args = baselines.make_parser().parse_args(["--num-envs", "100"])
    row = baselines.measure(split, policy, args, lambda *_: 0)
    for figure in ("success", "return", "length", "episodes", "faults", "digest"):
        assert row[figure] == ROWS[id, name, policy][figure], figure


def test_a_run_of_baselines_keeps_other_rows(tmp_path):
    out = tmp_path / "out.json"
    # A row of a split that has changed is left out.
    rows = [
        {**row, "digest": row["digest"] * (n > 0)}
        for n, row in enumerate(BASELINES["rows"])
    ]
    out.write_text(json.dumps({"rows": rows}))
    only = ["--only", "roll_vec/Countdown-v0", "--only", "rule"]
    baselines.main([*only, "--out", str(out)])
    content = json.loads(out.read_text("utf-8"))
    changed = {"revision": None, "versions": None}
    assert [row | changed for row in content["rows"]] == [
        row | changed for row in BASELINES["rows"][1:]
    ]
    assert content["splits"] == BASELINES["splits"]
    assert content["absent"] == BASELINES["absent"]
