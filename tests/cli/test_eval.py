"""``roll-vec eval``: what a user sees, and the files that it writes."""

import json
import re
from pathlib import Path

import pytest

from roll_vec.evaluation import SPLITS, find_split, read_results
from roll_vec.evaluation.split import Split
from tests.evaluation.chat_server import ChatServer, Reply

LAKE = "roll_vec/RandomFrozenLake-v0"
COUNTDOWN = "roll_vec/Countdown-v0"
LAKE_TEST = ("eval", LAKE, "--split", "test-no-slip")


def cells(text):
    """Return the rows of a table of two columns."""
    rows = re.findall(r"│ (.+?) +│ +(.+?) │", text)
    return dict(rows)


@pytest.fixture(autouse=True)
def wide_terminal(monkeypatch):
    monkeypatch.setenv("COLUMNS", "160")


def test_splits_are_listed(run):
    everything = run("eval").out
    assert everything == run("eval", "--list").out
    names = [
        (id, split.name, f"{len(split):,}")
        for id, by_name in SPLITS.items()
        for split in by_name.values()
    ]
    lines = everything.splitlines()[1:]
    assert [tuple(line.split()[:3]) for line in lines] == names
    assert run("eval", "roll_vec/Countdown").out.splitlines()[1:] == [
        f"{COUNTDOWN}  test      1,000  7ea15641e4ae  three or four numbers from 1 to "
        "99, one answer"
    ]


def test_a_digest_is_checked(run, monkeypatch):
    split = find_split(COUNTDOWN, "test")
    outcome = run("eval", COUNTDOWN, "--split", "test", "--check")
    assert (outcome.code, outcome.out) == (0, f"{COUNTDOWN} test: {split.digest}\n")
    monkeypatch.setattr(Split, "compute_digest", lambda split: "0" * 64)
    outcome = run("eval", COUNTDOWN, "--split", "test", "--check")
    assert outcome.code == 1
    assert f"is {'0' * 64} and not {split.digest}" in outcome.err


def test_a_policy_is_evaluated_and_compared(run):
    outcome = run(*LAKE_TEST, "--num", 50, "--policy", "oracle", "--out", "a")
    assert (outcome.code, outcome.err) == (0, "")
    table = cells(outcome.out)
    assert table["success rate"] == "100.00 % (95 %: 92.87 to 100.00)"
    assert table["episodes"] == "50"
    assert table["faults"] == "0"
    assert table["policy"] == "oracle"
    assert float(table["episodes/s"].replace(",", "")) > 0
    again = cells(run(*LAKE_TEST, "--num", 50, "--policy", "oracle", "--out", "a").out)
    assert again == {**table, "episodes/s": "-"}
    for name, num_envs in (("b", 3), ("c", 50)):
        quiet = ("--quiet", "--num-envs", num_envs, "--out", name)
        assert run(*LAKE_TEST, "--num", 50, *quiet).out == ""
    assert Path("b").read_bytes() == Path("c").read_bytes()
    content = read_results("b")
    assert content.header.policy == {"name": "random", "seed": 0}
    assert "platform" not in content.header.versions
    table = cells(run("eval", "--compare", "a", "b").out)
    num_solved = sum(record.success for record in content.records.values())
    assert table["only A solves"] == str(50 - num_solved)
    assert table["only B solves"] == "0"
    assert table["success, B - A"].startswith(f"-{2 * (50 - num_solved)}.00 percent")
    assert table["B"] == "b: random, seed 0"
    run(*LAKE_TEST, "--num", 20, "--out", "d", "--quiet")
    table = cells(run("eval", "--compare", "b", "d", "--common").out)
    assert table["episodes"] == "20"
    assert table["McNemar's exact p"] == "1"


USER = """
import numpy as np
calls = 0
def by_turn(turn):
    global calls
    calls += 1
    if calls == 3:
        raise KeyboardInterrupt
    return 1 + (turn.episodes + turn.steps) % 4
def right(observations):
    return np.full(len(observations), 3)
def bad(observations):
    return np.full(len(observations), 9)
"""


def test_a_callable_gets_turns_and_an_interrupted_run_goes_on(run):
    Path("user_policies.py").write_text(USER)
    command = (*LAKE_TEST, "--num", 30, "--num-envs", 4, "--out", "a")
    outcome = run(*command, "--policy", "user_policies:by_turn")
    assert outcome.code == 130
    match = re.search(r"interrupted after (\d+) of 30 episodes; the same", outcome.err)
    assert len(read_results("a").records) == int(match[1]) < 30
    assert run(*command, "--policy", "user_policies:by_turn").code == 0
    whole = (*LAKE_TEST, "--num", 30, "--num-envs", 30, "--out", "b")
    assert run(*whole, "--policy", "user_policies:by_turn").code == 0
    assert Path("a").read_bytes() == Path("b").read_bytes()
    right = run(*LAKE_TEST, "--num", 9, "--policy", "user_policies:right")
    assert cells(right.out)["episodes"] == "9"
    bad = run(*LAKE_TEST, "--num", 9, "--policy", "user_policies:bad")
    assert bad.code == 2
    assert "argument --policy: " in bad.err


def test_a_model_behind_an_endpoint_is_evaluated(run, monkeypatch):
    pytest.importorskip("openai")
    monkeypatch.setenv("OPENAI_API_KEY", "sk-secret-4567")
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    is_down = False

    def reply(request, _):
        if is_down:
            return Reply(status=400, body=b'{"error": {"message": "down"}}')
        return Reply("<answer>1 + 1</answer>")

    with ChatServer(reply) as server:
        command = ("eval", COUNTDOWN, "--split", "test", "--policy", server.url)
        command += ("--model", "m", "--num", 3, "--out", "a")
        is_down = True
        outcome = run(*command, "--concurrency", 2)
        assert outcome.code == 1
        assert "all 3 episodes ended by faults" in outcome.err
        # Versions of openai quote the message, or the whole object around it.
        assert re.search("400 - .*down", cells(outcome.out)["first fault"])
        is_down = False
        assert run(*command).code == 1
        outcome = run(*command, "--retry-faults")
        assert outcome.code == 0
        assert cells(outcome.out)["faults"] == "0"
        is_down = True
        outcome = run(*command[:-2], "--on-error", "raise", "--quiet")
        assert outcome.code == 1
        assert re.search("400 - .*down.*, after 0 of 3 episodes", outcome.err)
    text = Path("a").read_text("utf-8")
    assert "secret" not in text + outcome.err
    header = json.loads(text.splitlines()[0])
    assert header["policy"] == {
        "name": server.url,
        "model": "m",
        "temperature": 0.0,
        "max_tokens": None,
        "history": None,
    }
    assert header["keywords"]["action_pattern"] == "<answer>(.*?)</answer>"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--split", "test"), "argument ID: expected the id"),
        ((LAKE, "--split", "tests"), "--split: expected a split of roll_vec/Random"),
        (("CartPole-v1",), "ID: expected an id with splits: roll_vec/Sokoban-v0"),
        ((*LAKE_TEST[1:], "--num", 1001), "--num: expected at most 1,000, the epis"),
        ((*LAKE_TEST[1:], "-o", "size=5"), "0 would change test-no-slip"),
        ((*LAKE_TEST[1:], "--out", "no/a"), "there is no directory 'no'"),
        ((*LAKE_TEST[1:], "--policy", "no"), "module:attribute, or http(s)://..., got"),
        ((*LAKE_TEST[1:], "--policy", ""), "--policy: expected random, oracle"),
        ((*LAKE_TEST[1:], "--policy", "http://h/v1"), "--model: expected the name"),
        (
            (*LAKE_TEST[1:], "--policy", "http://u:p@h/v1", "--model", "m"),
            "--policy: url: expected",
        ),
        (
            (*LAKE_TEST[1:], "--policy", "http://h", "--model", "m", "--num-envs", 2),
            "--num-envs: use --concurrency",
        ),
        ((*LAKE_TEST[1:], "--timeout", "nan"), "--timeout: expected a number from"),
        ((*LAKE_TEST[1:], "--history", "some"), "--history: expected an integer"),
        (
            (COUNTDOWN, "--split", "test", "--threads", 2),
            "--threads: roll_vec/Countdown-v0 is a pool",
        ),
        (("--compare", "a", "b"), "'a' cannot be read"),
    ],
)
def test_bad_arguments_are_one_line(fails, arguments, message):
    assert message in fails("eval", *arguments)


def test_a_file_of_something_else_stays(fails):
    Path("a").write_text("mine\n")
    assert "no file of roll-vec eval: line 1" in fails(*LAKE_TEST, "--out", "a")
    assert Path("a").read_text() == "mine\n"
