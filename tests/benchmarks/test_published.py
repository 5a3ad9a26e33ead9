"""The published figures: pages have no others than those of the files of results."""

import re

import pytest

from benchmarks.baselines import PPO, measured_pairs, results
from benchmarks.result import RESULTS, read_result
from docs.build.pages import PAGES

ROWS = {
    row["title"]: row["ours"]["facts"]
    for row in read_result(RESULTS / "baselines.json")["rows"]
}
# Rates, durations and sizes; limits of memory are in MiB.
RATES = r"\d ?(?:[nuµm]?s|MB|[a-z]+/s)\b|\d×(?! ?\d)|PPO.*\d %|\d %.*PPO"


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.stem)
def test_figures_of_pages_come_from_results(path):
    text = path.read_text("utf-8")
    own = re.sub(r"<!-- (?!end).*?<!-- end -->|```.*?```", "", text, flags=re.DOTALL)
    assert not re.findall(f"^.*(?:{RATES}).*$", own, re.M), "a figure typed by hand"


def test_baselines_have_a_row_for_each_policy_and_split():
    pairs = measured_pairs()
    assert [*ROWS] == [f"{split.id} {split.name}: {policy}" for split, policy in pairs]
    for split, policy in pairs:
        row = ROWS[f"{split.id} {split.name}: {policy}"]
        assert (row["digest"], row["episodes"]) == (split.digest, len(split))
        assert row["faults"] == 0
        assert policy != PPO or len(row["checkpoint"]) == 64
    for split in {split.digest: split for split, _ in pairs}.values():
        random, rule, solver = (
            ROWS.get(f"{split.id} {split.name}: {policy}")
            for policy in ("random", "rule", "solver")
        )
        if solver:
            # Where no rule plays, random play may always get to the end.
            figure = "success" if rule else "return"
            assert random[figure][2] < solver[figure][1]
        if rule:
            assert random["success"][0] <= rule["success"][0] <= solver["success"][0]


@pytest.mark.parametrize(
    ("id", "name", "policy"),
    [
        ("roll_vec/RandomFrozenLake-v0", "test-no-slip", "rule"),
        ("roll_vec/Sokoban-v0", "test-1-box", "solver"),
        pytest.param("roll_vec/WebShop-v0", "test", "rule", marks=pytest.mark.slow),
    ],
)
def test_a_baseline_is_measured_again(id, name, policy):
    row = results(id, name, policy, num_envs=100).settings
    assert {**row, "batch": 256} == ROWS[f"{id} {name}: {policy}"]
