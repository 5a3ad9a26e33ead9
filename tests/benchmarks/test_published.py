"""The published figures: pages and pictures are what their files and the code give."""

import json
import re

import pytest

from benchmarks import exports, plot, report, result, thread_simulation
from benchmarks.baselines import __main__ as baselines
from benchmarks.baselines import chart, page, policies, results
from benchmarks.goals import __main__ as goals
from benchmarks.goals import page as goals_page
from benchmarks.quotations import PAGES, pattern, rewrite
from roll_vec.evaluation import SPLITS, find_split

BASELINES = json.loads(results.RESULTS.read_text("utf-8"))
ROWS = {results.key_of(row): row for row in BASELINES["rows"]}
EXPORTS = json.loads(exports.RESULTS.read_text("utf-8"))
RESULTS = sorted((report.ROOT / "benchmarks/results").glob("*.json"))
GOALS = json.loads((goals.FOLDER / goals_page.DATA).read_text("utf-8"))["runs"]
ALL = [split for by_name in SPLITS.values() for split in by_name.values()]


def test_page_and_picture_of_baselines_are_what_the_file_gives():
    path = results.RESULTS
    assert path.with_suffix(".md").read_text("utf-8") == page.render(BASELINES)
    picture = path.with_suffix(".png")
    assert picture.stat().st_size < 60_000
    with pytest.importorskip("PIL.Image").open(picture) as image:
        assert image.text["Description"] == chart.digest_of(BASELINES)


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.stem)
def test_pages_quote_the_files_alone(path):
    text = path.read_text("utf-8")
    assert page.quote(text, BASELINES) == text
    assert exports.quote(text, EXPORTS) == text
    if path != results.RESULTS.with_suffix(".md"):
        # The table of frameworks has another kind.
        others = pattern(r"(?:baseline|frameworks?)").sub("", text)
        figures = re.findall(r"^.*\bPPO\b.*\d %.*$|^.*\d %.*\bPPO\b.*$", others, re.M)
        assert not figures, "take it from baselines.json, see benchmarks.baselines.page"


def test_baselines_have_a_row_or_a_reason_for_each_policy_and_split():
    reasons = {results.key_of(entry) for entry in BASELINES["absent"]}
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
    row = baselines.measure(split, policy, args, {"revision": None}, {}, lambda *_: 0)
    for figure in ("success", "return", "length", "episodes", "faults", "digest"):
        assert row[figure] == ROWS[id, name, policy][figure], figure


def test_a_run_of_baselines_goes_on_and_keeps_other_rows(monkeypatch, tmp_path, capsys):
    measured, out = [], tmp_path / "out.json"
    make_row, play_split, played = baselines.make_row, baselines.play_split, []

    def record(split, policy, *others):
        if policy == interrupted_at:
            raise KeyboardInterrupt
        measured.append(policy)
        return make_row(split, policy, *others)

    def play_once(*arguments):
        if not played:
            played.append(play_split(*arguments))
        return played[0]

    # The figures are of no interest here.
    monkeypatch.setattr(baselines, "play_split", play_once)
    monkeypatch.setattr(baselines, "make_row", record)
    monkeypatch.setattr(baselines, "revision", lambda *_: "abc")
    # It needs matplotlib.
    monkeypatch.setattr(baselines.chart, "draw", lambda content, path: path.touch())

    def run(*arguments):
        measured.clear()
        id = "roll_vec/Countdown-v0"
        baselines.main(["--only", id, *arguments, "--out", str(out)])
        return [*measured]

    interrupted_at = "rule"
    with pytest.raises(KeyboardInterrupt):
        run()
    interrupted_at = None
    assert run() == ["rule", "solver"]
    assert run() == []
    # Other code, or code that is not committed, measures again.
    for revision in ("def", "abc+", "abc+"):
        monkeypatch.setattr(baselines, "revision", lambda _, code=revision: code)
        assert run("--only", "rule") == ["rule"]
    content = json.loads(out.read_text("utf-8"))
    assert [row["policy"] for row in content["rows"]] == ["random", "rule", "solver"]
    assert out.with_suffix(".md").read_text("utf-8") == page.render(content)
    out.write_text("{}")
    with pytest.raises(SystemExit):
        run()
    assert "out.json: expected baselines" in capsys.readouterr().err


def test_quotations_are_replaced(tmp_path, capsys):
    key, path = ("roll_vec/Sokoban-v0", "test-1-box", "rule"), tmp_path / "page.md"
    row = {**ROWS[key], "success": [0.5, 0.25, 0.75]}
    begin = f"a <!-- baseline {' '.join(key)} -->"
    path.write_text(f"{begin}old\ntext<!-- end --> b", "utf-8")
    rewrite([path], lambda text: page.quote(text, {"rows": [row]}))
    expected = f"{begin}50.0 % (25.0 to 75.0)<!-- end --> b"
    assert path.read_text("utf-8") == expected
    assert capsys.readouterr().out == f"written: {path}\n"
    with pytest.raises(ValueError, match="expected a baseline of the file, got a b c"):
        page.quote("<!-- baseline a b c --><!-- end -->", BASELINES)


@pytest.mark.parametrize("name", report.SECTIONS)
def test_pages_have_what_the_report_gives(name):
    text = (report.ROOT / name).read_text("utf-8")
    (path,) = RESULTS
    section = report.SECTIONS[name](
        result.read_result(path), path.relative_to(report.ROOT).as_posix()
    )
    assert report.replace(name, text, section) == text
    with pytest.raises(ValueError, match=r"a.md: expected the markers"):
        report.replace("a.md", "nothing", section)


def test_report_and_plot_are_written_of_results_alone(tmp_path, capsys, monkeypatch):
    pytest.importorskip("matplotlib")
    monkeypatch.setattr(report, "ROOT", tmp_path)
    path = tmp_path / "x.json"
    path.write_text("{}")
    for main in (report.main, plot.main):
        with pytest.raises(SystemExit):
            main([str(path)])
        assert "it has no '" in capsys.readouterr().err
    path.write_bytes(RESULTS[-1].read_bytes())
    (tmp_path / "docs").mkdir()
    pages = [tmp_path / name for name in report.SECTIONS]
    for each in pages:
        each.write_text(f"a\n{report.BEGIN}y.json -->\n{report.END}\n")
    plot.main([str(path)])
    report.main([str(path)])
    assert all("x.json" in each.read_text("utf-8") for each in pages)


# -------------------------------------------------------------- goals and simulation


def test_page_of_goals_has_what_its_runs_give():
    text = (goals.FOLDER / goals.PAGE).read_text("utf-8")
    assert goals_page.render(text, GOALS) == text
    assert len(GOALS) == goals.RUNS


def test_the_page_of_threads_has_the_figures_and_constants():
    path = thread_simulation.PAGE
    content = json.loads(path.with_suffix(".json").read_text())
    text = path.read_text("utf-8")
    assert "\n".join(thread_simulation.render(content)) in text
    words, threads = " ".join(text.split()), thread_simulation.kernel_threads
    assert f"at least {1e6 * threads.PART_SECONDS:.0f} µs of work" in words
    assert f"at least {threads.HAND_OVERS} times as long as a hand-over" in words
