"""docs/examples/language_loop.py: one task a group, any order, stops and goes on."""

import importlib
import sys
from dataclasses import asdict

import numpy as np
import pytest

from tests.conftest import ROOT

FAMILIES = ("Sokoban", "FrozenLake", "Countdown", "WebShop")
SMALL = {"num_groups": 1, "group_size": 4, "max_turns": 6, "seed": 5}
ARGUMENTS = ["--rounds=2", "--groups=1", "--group-size=4", "--max-turns=5"]


@pytest.fixture
def example(monkeypatch):
    """Import a module of the folder as its programs do."""
    monkeypatch.syspath_prepend(str(ROOT / "docs" / "examples"))
    yield importlib.import_module
    for name in ("conversations", "display", "language_loop"):
        sys.modules.pop(name, None)


@pytest.fixture
def make(example):
    """Return a function that makes rounds, begun, and a policy."""
    batches = []

    def make_rounds(**keywords):
        rounds = example("conversations").ConversationRounds(
            with_hints=True, **SMALL, **keywords
        )
        batches.append(rounds.envs)
        rounds.start_round()
        return rounds, example("language_loop").ScriptedPolicy(5, 4)

    yield make_rounds
    for envs in batches:
        envs.close()


def contents(rounds):
    return [asdict(chat) for chat in rounds.conversations]


def test_advantages_are_those_of_grpo(example):
    advantages = example("conversations").group_advantages
    returns = [1.0, 0, 0, 1, 10, 10, 10, 14, 0.1, 0.1, 0.1, 0.1]
    third = 3**-0.5
    expected = [1, -1, -1, 1, -third, -third, -third, 3 * third, 0, 0, 0, 0]
    np.testing.assert_allclose(advantages(returns, 4), expected, atol=1e-5)
    assert advantages([0, 1], 2, epsilon=0.5).tolist() == [-0.5, 0.5]


def test_conversations_do_not_depend_on_the_order_of_the_steps(make):
    one, policy = make(workers=0)
    other, _ = make(workers=3)
    tasks = [chat["messages"] for chat in contents(one)]
    # A group has one task, and the four families take turns.
    assert all(tasks[i] == tasks[i // 4 * 4] for i in range(16))
    assert [chat["family"] for chat in contents(one)[::4]] == list(FAMILIES)
    count = one.play(policy, in_lockstep=True)
    assert other.play(policy) == count
    assert contents(one) == contents(other)
    assert one.is_over
    assert sum(len(chat.rewards) for chat in one.conversations) == count
    for chat in one.conversations:
        roles = [entry["role"] for entry in chat.messages]
        assert roles == ["system", "user"] + ["assistant", "user"] * len(chat.rewards)
        assert "<answer>" in chat.messages[0]["content"]
        answers = [entry["content"] for entry in chat.messages[2::2]]
        assert sum("<answer>" not in text for text in answers) == chat.format_errors
    # The careful conversation of each group follows the solver.
    assert [chat.invalid_actions for chat in one.conversations[::4]] == [0, 0, 0, 0]
    assert sum(chat.format_errors for chat in one.conversations) > 3
    assert one.summary()["Countdown"]["success"] == 1
    assert one.advantages()[::4].sum() > 0
    first = contents(one)
    one.start_round()
    for old, new in zip(first[::4], contents(one)[::4], strict=True):
        assert new["messages"][1] != old["messages"][1]


def test_a_checkpoint_within_a_round_continues_it(make, tmp_path):
    whole, policy = make()
    part, _ = make()
    whole.play(policy)
    assert part.play(policy, max_answers=20) < sum(
        len(chat.rewards) for chat in whole.conversations
    )
    assert not part.is_over
    for _ in range(2):  # the second one replaces the first
        part.save(tmp_path / "folder", note=[1.5])
    part.play(policy)
    later, _ = make(workers=1)
    later.start_round()
    assert later.load(tmp_path / "folder") == {"note": [1.5]}
    assert contents(later) != contents(whole)
    later.play(policy)
    assert contents(later) == contents(part) == contents(whole)
    assert later.round == 0
    for rounds in (later, whole):
        rounds.start_round()
        rounds.play(policy)
    assert contents(later) == contents(whole)


def test_the_program_prints_a_table_and_goes_on(example, tmp_path, capsys):
    main = example("language_loop").main
    curve = main(ARGUMENTS)
    table = capsys.readouterr().out
    rows = [line.split() for line in table.splitlines()]
    assert [row[0] for row in rows[1:5]] == list(FAMILIES)
    assert len(curve) == 2
    mean = np.mean([entry["families"]["Sokoban"]["return"] for entry in curve])
    assert rows[1][1] == f"{mean:.2f}"
    folder = tmp_path / "checkpoint"
    main([*ARGUMENTS, "--rounds=1", f"--checkpoint={folder}", "--save-every=9"])
    assert main([*ARGUMENTS, f"--resume={folder}"]) == curve
    assert capsys.readouterr().out.endswith(table)
    with pytest.raises(ValueError, match=r"is a checkpoint of .*'seed': 0.*'seed': 1"):
        main([*ARGUMENTS, f"--resume={folder}", "--seed=1"])


def test_a_checkpoint_deletes_no_other_folder(example, make, tmp_path, capsys):
    letter = tmp_path / "letter.txt"
    letter.write_text("dear reader")
    rounds, _ = make()
    with pytest.raises(
        ValueError, match="expected a new folder or one of a checkpoint"
    ):
        rounds.save(tmp_path)
    assert letter.read_text() == "dear reader"
    main = example("language_loop").main
    for argument in (
        f"--checkpoint={tmp_path}",
        f"--resume={tmp_path}",
        f"--picture={tmp_path / 'none' / 'loop.png'}",
        "--rounds=0",
    ):
        with pytest.raises(SystemExit):
            main([*ARGUMENTS, argument])
        name = argument.partition("=")[0]
        assert f"error: argument {name}: " in capsys.readouterr().err
