"""The programs in docs/examples that need no PyTorch."""

import importlib
import re
import runpy
import sys
from dataclasses import asdict

import pytest

from tests.conftest import JIT_OFF, ROOT

FOLDER = ROOT / "docs" / "examples"


@pytest.fixture
def example(monkeypatch):
    """Import a module of the folder as its programs do."""
    monkeypatch.syspath_prepend(str(FOLDER))
    yield importlib.import_module
    for path in FOLDER.glob("*.py"):
        sys.modules.pop(path.stem, None)


# Solved by one push, by two pushes and a detour, and by none.
LEVELS = """
######
#@ $.#
#    #
######

######
#@.  #
#  $ #
#    #
######

######
#$@ .#
#    #
######
"""


def run_search(monkeypatch, capsys, *arguments):
    """Return the table of beam_search: by player, solved, levels and steps."""
    monkeypatch.setattr(sys, "argv", ["beam_search", *arguments])
    runpy.run_path(str(FOLDER / "beam_search.py"), run_name="__main__")
    _, *lines = capsys.readouterr().out.splitlines()
    rows = [re.fullmatch(r"(.+?) +(\d+) of (\d+) +([\d,]+)", line) for line in lines]
    return {
        row[1]: tuple(int(figure.replace(",", "")) for figure in row.groups()[1:])
        for row in rows
    }


def test_a_search_runs_and_repeats_itself(example, monkeypatch, capsys, tmp_path):
    (tmp_path / "levels.txt").write_text(LEVELS)
    budget = 200 if JIT_OFF else 1600
    arguments = [f"--levels={tmp_path / 'levels.txt'}", "--num-levels=3"]
    arguments += [f"--steps-per-level={budget}", "--width=4"]
    table = run_search(monkeypatch, capsys, *arguments)
    assert [*table] == ["greedy", "greedy, 20 % random", "beam search"]
    for solved, num_levels, used in table.values():
        assert (num_levels, 0 < used <= budget * 3) == (3, True)
        # The box in the corner is there for good.
        assert solved <= 2
    assert JIT_OFF or solved == 2
    assert run_search(monkeypatch, capsys, *arguments) == table


# ------------------------------------------------------------------- language_loop

SMALL = {"num_groups": 1, "group_size": 4, "max_turns": 6, "seed": 5}
ARGUMENTS = ["--rounds=2", "--groups=1", "--group-size=4", "--max-turns=5"]


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


def test_conversations_do_not_depend_on_the_order_of_answers(make):
    one, policy = make(workers=0)
    other, _ = make(workers=3)
    tasks = [chat["messages"] for chat in contents(one)]
    assert all(tasks[i] == tasks[i // 4 * 4] for i in range(16))
    count = one.play(policy, in_lockstep=True)
    assert other.play(policy) == count
    assert contents(one) == contents(other)
    # The careful conversation of each group follows the solver.
    assert [chat.invalid_actions for chat in one.conversations[::4]] == [0, 0, 0, 0]
    assert one.summary()["Countdown"]["success"] == 1
    for rounds in (other, one):
        rounds.start_round()
        rounds.play(policy)
    assert contents(other) == contents(one)


def test_the_language_loop_repeats_itself(example, capsys):
    main = example("language_loop").main
    curve = main(ARGUMENTS)
    table = capsys.readouterr().out
    assert main(ARGUMENTS) == curve
    assert capsys.readouterr().out == table
    assert [*curve[0]] == ["Sokoban", "FrozenLake", "Countdown", "WebShop"]
    with pytest.raises(SystemExit):
        main([*ARGUMENTS, "--rounds=0"])
    assert "error: argument --rounds: " in capsys.readouterr().err
