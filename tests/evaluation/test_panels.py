"""Panels: frozen, and with a score for each baseline that plays."""

from roll_vec.evaluation.panels import PANELS, baseline_rows


def test_a_panel_never_changes():
    # Other episodes are a new version beside the old one.
    assert {name: panel.digest[:12] for name, panel in PANELS.items()} == {
        "sokoban-v1": "b1793cfd0bb7",
        "lakes-v1": "ae5676a03ef0",
        "countdown-v1": "4ef789d2a569",
        "webshop-v1": "2e39ebf2c592",
        "sudoku-v1": "31f827134bcc",
        "tiles-v1": "05e3be094069",
    }


def test_baselines_score_less_on_the_harder_parts():
    for panel in PANELS.values():
        titles = [f"{split.id} {split.name}" for split in panel.splits.values()]
        for title in titles:
            random, solver = (
                baseline_rows()[f"{title}: {policy}"]["success"][0]
                for policy in ("random", "solver")
            )
            assert random < solver
        greedy = [baseline_rows().get(f"{title}: greedy") for title in titles]
        rates = [row["success"][0] for row in greedy if row]
        assert rates == sorted(rates, reverse=True)
