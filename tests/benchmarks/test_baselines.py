"""The baselines: the page is the file's, the file is what the policies do."""

import json
import re

import numpy as np
import pytest

from benchmarks.baselines import __main__ as command
from benchmarks.baselines import chart, page, policies, results, rules
from benchmarks.processes import ROOT
from benchmarks.quotations import PAGES, pattern, rewrite
from roll_vec.evaluation import SPLITS, EpisodeResults, Turn, find_split

CONTENT = json.loads(results.RESULTS.read_text("utf-8"))
ROWS = {results.key_of(row): row for row in CONTENT["rows"]}
ALL = [split for by_name in SPLITS.values() for split in by_name.values()]


def test_page_is_what_the_file_gives():
    path = results.RESULTS.with_suffix(".md")
    text = path.read_text("utf-8")
    assert text == page.render(CONTENT)
    assert "/tmp" not in text


def test_picture_is_that_of_the_file():
    image = pytest.importorskip("PIL.Image")
    path = results.RESULTS.with_suffix(".png")
    assert path.stat().st_size < 60_000
    with image.open(path) as picture:
        assert picture.text["Description"] == chart.digest_of(CONTENT)


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.stem)
def test_pages_quote_the_file_alone(path):
    text = path.read_text("utf-8")
    assert page.quote(text, CONTENT) == text
    if path != results.RESULTS.with_suffix(".md"):
        # The table of frameworks has another kind.
        others = pattern(r"(?:baseline|frameworks?)").sub("", text)
        figures = re.findall(r"^.*\bPPO\b.*\d %.*$|^.*\d %.*\bPPO\b.*$", others, re.M)
        assert not figures, "take it from baselines.json, see benchmarks.baselines.page"


def test_file_has_a_row_or_a_reason_for_each_policy_and_split():
    reasons = {results.key_of(entry) for entry in CONTENT["absent"]}
    for split in ALL:
        for policy in policies.POLICIES:
            key = split.id, split.name, policy
            assert (policies.absence(split, policy) is None) == (key not in reasons)
            # PPO's rows come when its training is done.
            if policy != policies.PPO:
                assert key in ROWS
    assert CONTENT["policies"] == policies.POLICIES


def test_file_is_of_the_present_splits():
    splits = {(split["id"], split["name"]): split for split in CONTENT["splits"]}
    assert list(splits) == [(split.id, split.name) for split in ALL]
    for split in ALL:
        entry = splits[split.id, split.name]
        assert (entry["digest"], entry["episodes"]) == (split.digest, len(split))
        assert entry["keywords"] == json.loads(json.dumps(dict(split.keywords)))
    for (id, name, _), row in ROWS.items():
        assert row["digest"] == find_split(id, name).digest
        assert row["faults"] == 0


@pytest.mark.parametrize(
    ("id", "name", "policy"),
    [
        ("roll_vec/Countdown-v0", "test", "rule"),
        ("roll_vec/RandomFrozenLake-v0", "test", "random"),
        ("roll_vec/RandomFrozenLake-v0", "test-no-slip", "rule"),
        ("roll_vec/Sokoban-v0", "test-1-box", "solver"),
        ("roll_vec/WebShop-v0", "test", "rule"),
    ],
)
def test_a_row_is_measured_again(id, name, policy):
    split = find_split(id, name)
    args = command.make_parser().parse_args(["--num-envs", "100"])
    row = command.measure(split, policy, args, {"revision": None}, {}, lambda *_: None)
    published = ROWS[id, name, policy]
    for figure in ("success", "return", "length", "episodes", "faults", "digest"):
        assert row[figure] == published[figure], figure


def test_better_policies_have_better_rows():
    for split in ALL:
        random, rule, solver = (
            ROWS[split.id, split.name, policy]["success"]
            for policy in ("random", "rule", "solver")
        )
        assert random[2] < solver[1]
        assert random[0] <= rule[0] <= solver[0]


@pytest.fixture
def small_run(monkeypatch, tmp_path):
    """Return a function that runs the command; it returns the rows it measured."""
    measured = []
    make_row = command.make_row

    def record(*arguments):
        row = make_row(*arguments)
        measured.append(results.key_of(row))
        return row

    monkeypatch.setattr(command, "make_row", record)
    monkeypatch.setattr(command, "revision", lambda *_: "abc")
    # It needs matplotlib.
    monkeypatch.setattr(command.chart, "draw", lambda content, path: path.touch())

    def run(*arguments, out="out.json"):
        measured.clear()
        command.main([*arguments, "--out", str(tmp_path / out)])
        return [*measured]

    run.folder = tmp_path
    return run


def test_a_run_goes_on_and_keeps_other_rows(small_run, monkeypatch, capsys):
    lake, only = "roll_vec/FrozenLake-v1", ("--only", "roll_vec/FrozenLake-v1")
    assert small_run(*only, "--only", "random") == [(lake, "test", "random")]
    assert small_run(*only, "--only", "random", "--only", "rule") == [
        (lake, "test", "rule")
    ]
    # An interrupted run has the rows until then.
    measure = command.measure

    def interrupted(split, policy, *others):
        if policy == "rule":
            raise KeyboardInterrupt
        return measure(split, policy, *others)

    monkeypatch.setattr(command, "measure", interrupted)
    with pytest.raises(KeyboardInterrupt):
        small_run("--only", "roll_vec/Countdown-v0")
    monkeypatch.setattr(command, "measure", measure)
    countdown = "roll_vec/Countdown-v0"
    assert small_run("--only", countdown) == [
        (countdown, "test", "rule"),
        (countdown, "test", "solver"),
    ]
    content = json.loads((small_run.folder / "out.json").read_text("utf-8"))
    assert [results.key_of(row)[1:] for row in content["rows"]] == [
        ("test", policy) for policy in ("random", "rule", "random", "rule", "solver")
    ]
    text = (small_run.folder / "out.md").read_text("utf-8")
    assert text == page.render(content)
    assert small_run("--only", countdown, "--fresh") == [
        (countdown, "test", policy) for policy in ("random", "rule", "solver")
    ]
    # Other code, or code that is not committed, measures again.
    for revision in ("def", "abc+", "abc+", None):
        monkeypatch.setattr(command, "revision", lambda _, revision=revision: revision)
        again = small_run("--only", countdown, "--only", "rule")
        assert again == [(countdown, "test", "rule")]


def test_bad_arguments_are_errors_of_one_line(small_run, capsys):
    for arguments, message in (
        (["--only", "nothing"], "invalid choice: 'nothing'"),
        (["--train"], "--train needs --checkpoints"),
    ):
        with pytest.raises(SystemExit):
            small_run(*arguments)
        assert message in capsys.readouterr().err
    (small_run.folder / "bad.json").write_text("{}")
    with pytest.raises(SystemExit):
        small_run(out="bad.json")
    assert "bad.json: expected baselines" in capsys.readouterr().err


def test_a_training_goes_on_with_its_checkpoint(monkeypatch, tmp_path):
    commands = []
    monkeypatch.setattr(
        policies.subprocess, "run", lambda command, **_: commands.append(command)
    )
    split = find_split("roll_vec/Sokoban-v0", "test-1-box")
    path = policies.checkpoint_of(split, tmp_path)
    policies.train(split, path)
    path.touch()
    policies.train(split, path)
    program, *arguments = commands[0][1:]
    assert (ROOT / program).is_file()
    assert arguments == [
        *("--id", "roll_vec/Sokoban-v0", "--seed", "0", "--checkpoint", str(path))
    ]
    assert commands[1] == [*commands[0], "--resume", str(path)]


def test_a_missing_network_keeps_the_row(small_run, capsys):
    row = {**ROWS["roll_vec/Sokoban-v0", "test-1-box", "rule"], "policy": "PPO"}
    row |= {"training": "COMMAND", "checkpoint": "abcdef", "new_episodes": 3}
    row |= {"new_success": [0.5, 0.25, 0.75], "training_levels": 9000}
    rows = {results.key_of(row): row}
    # A row of a split that has changed, and one of a split that there is no more.
    others = [{**row, "policy": "rule", "digest": "x"}, {**row, "split": "other"}]
    out = small_run.folder / "out.json"
    results.write_results(
        out,
        {**rows, **{results.key_of(other): other for other in others}},
        "",
        policies.POLICIES,
        {},
    )
    arguments = ["--only", "roll_vec/Sokoban-v0", "--only", "PPO"]
    assert small_run(*arguments, "--checkpoints", str(small_run.folder)) == []
    assert "no checkpoint:" in capsys.readouterr().err
    assert small_run(*arguments) == []
    assert results.read_rows(out) == rows
    text = out.with_suffix(".md").read_text("utf-8")
    assert "50.0 % (25.0 to 75.0) of the 3 test levels" in text
    assert "- `COMMAND`: checkpoint `abcdef`" in text


def test_quotations_are_replaced(tmp_path, capsys):
    key = ("roll_vec/Sokoban-v0", "test-1-box", "rule")
    text = f"a <!-- baseline {' '.join(key)} -->old\ntext<!-- end --> b"
    assert page.quote(text, CONTENT) == text.replace(
        "old\ntext",
        "{:.1f} % ({:.1f} to {:.1f})".format(
            *(100 * value for value in ROWS[key]["success"])
        ),
    )
    pages = [tmp_path / "page.md", tmp_path / "other.md"]
    pages[0].write_text(text, "utf-8")
    pages[1].write_text("no figures", "utf-8")
    rewrite(pages, lambda text: page.quote(text, CONTENT))
    assert pages[0].read_text("utf-8") == page.quote(text, CONTENT)
    assert capsys.readouterr().out == f"written: {pages[0]}\n"
    row = {**ROWS[key], "new_success": [0.5, 0.25, 0.75]}
    text = f"<!-- baseline {' '.join(key)} new --><!-- end -->"
    assert "-->50.0 % (25.0 to 75.0)<!--" in page.quote(text, {"rows": [row]})
    with pytest.raises(ValueError, match="expected a baseline of the file, got a b c"):
        page.quote("<!-- baseline a b c --><!-- end -->", CONTENT)


def test_chart_has_a_point_for_each_row(tmp_path):
    pytest.importorskip("matplotlib")
    path = tmp_path / "out.png"
    chart.draw(CONTENT, path)
    assert path.stat().st_size < 60_000
    fewer = {**CONTENT, "rows": CONTENT["rows"][1:]}
    assert chart.digest_of(fewer) != chart.digest_of(CONTENT)


def turn_of(*observations):
    """Return the first turn of some episodes."""
    count = len(observations)
    return Turn(np.array(observations), np.arange(count), np.zeros(count, np.int64))


def test_sokoban_rule_pushes_where_that_helps_and_never_into_a_wall():
    envs = find_split("roll_vec/Sokoban-v0", "test-1-box").make_vec(200)
    rule = rules.SokobanRule(envs)
    grids, _ = envs.reset(seed=0)
    grid = np.zeros((6, 6), np.uint8)
    grid[1:5, 1:5] = 1
    grid[2, 1:5] = 5, 4, 1, 2  # one push to the right, and one more
    grids[:100] = grid
    # The box is against a wall: a push to the left changes nothing.
    grid = grid[:, ::-1].copy()
    grid[2, 1:5] = 4, 5, 1, 2
    grids[100:] = grid
    actions = rule(turn_of(*grids))
    assert (actions[:100] == 4).all()
    assert set(actions[100:].tolist()) == {1, 2, 4}


def test_lake_rule_goes_towards_the_goal_and_not_into_holes():
    envs = find_split("roll_vec/RandomFrozenLake-v0", "test-no-slip").make_vec(1)
    rule = rules.LakeRule(envs)
    lake = np.array([[0, 1, 1, 1], [1, 2, 1, 1], [1, 1, 1, 2], [1, 1, 1, 3]])
    turn = turn_of(*[lake] * 100)
    assert set(rule(turn).tolist()) == {2, 3}  # down and right, by chance
    beside = np.array([[2, 2, 2], [1, 0, 2], [1, 1, 3]])
    assert rule(turn_of(beside)).tolist() == [2]
    around = np.array([[1, 1, 1], [1, 0, 2], [1, 2, 3]])
    assert set(rule(turn_of(*[around] * 100)).tolist()) == {1, 4}


def test_text_rules():
    countdown = rules.CountdownRule(None)
    texts = ("Target: 24, nums: [3, 8, 1]", "Target: 3, nums: [5, 30, 3]")
    assert countdown(turn_of(*texts)) == ["((8 * 3) * 1)", "((30 / 5) - 3)"]
    shop = rules.WebShopRule(None)
    pages = (
        "WebShop [SEP] Instruction: [SEP] a [red] hat [SEP] Search",
        "Instruction: [SEP] hat [SEP] Back to Search [SEP] Page 1 (Total results: 9) "
        "[SEP] Next > [SEP] B01 [SEP] A hat [SEP] $1.0",
        "Instruction: [SEP] hat [SEP] Back to Search [SEP] < Prev [SEP] Buy Now",
        "Instruction: [SEP] hat [SEP] Back to Search [SEP] Page 1 (Total results: 0) "
        "[SEP] Next >",
    )
    assert shop(turn_of(*pages)) == [
        "search[a  red  hat]",
        "click[B01]",
        "click[buy now]",
        "click[back to search]",
    ]


def test_levels_that_equal_training_levels_are_counted():
    split = find_split("roll_vec/Sokoban-v0", "test-1-box")
    test, _ = split.make_vec(len(split)).reset(seed=split.seeds)
    training, _ = split.make_vec(3000).reset(seed=range(3000))
    is_new = policies.new_levels(split, {grid.tobytes() for grid in training})
    for i in (*np.flatnonzero(is_new)[:5], *np.flatnonzero(~is_new)[:5]):
        assert (training == test[i]).all((1, 2)).any() != is_new[i]
    assert 100 < is_new.sum() < 900


def test_rows_state_intervals_and_mean_length():
    split = find_split("roll_vec/WebShop-v0", "test")
    successes = np.arange(500) < 100
    played = EpisodeResults(
        successes * 2.0, successes, np.arange(500), np.zeros(500, bool)
    )
    row = results.make_row(split, "random", played, {"seed": 5})
    # By hand: z * z is 3.8415; (0.2038 ± 0.0353) / 1.0077.
    assert row["success"] == [0.2, 0.167285, 0.237289]
    assert row["return"][0] == 0.4
    assert row["length"] == 249.5
    assert row["seed"] == 5
