"""The programs in docs/examples that need no PyTorch."""

import importlib
import re
import runpy
import sys

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


SEARCHES = {
    "best_of_n": ["--n=2", "--groups=2", "--length=4", "--segments=3"],
    "beam_search": ["--width=4"],
    "mcts": ["--leaves=2", "--length=2"],
}
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


def run_search(name, monkeypatch, capsys, *arguments):
    """Return the table that a program prints: by player, solved, levels and steps."""
    monkeypatch.setattr(sys, "argv", [name, *arguments])
    runpy.run_path(str(FOLDER / f"{name}.py"), run_name="__main__")
    _, *lines = capsys.readouterr().out.splitlines()
    rows = [re.fullmatch(r"(.+?) +(\d+) of (\d+) +([\d,]+)", line) for line in lines]
    return {
        row[1]: tuple(int(figure.replace(",", "")) for figure in row.groups()[1:])
        for row in rows
    }


@pytest.mark.parametrize("name", SEARCHES)
def test_a_search_solves_levels(example, name, monkeypatch, capsys, tmp_path):
    (tmp_path / "levels.txt").write_text(LEVELS)
    budget = 200 if JIT_OFF else 1600
    arguments = [f"--levels={tmp_path / 'levels.txt'}", "--num-levels=3"]
    arguments += [f"--steps-per-level={budget}", *SEARCHES[name]]
    table = run_search(name, monkeypatch, capsys, *arguments)
    assert [*table] == ["greedy", "greedy, 20 % random", name.replace("_", " ")]
    for solved, num_levels, used in table.values():
        assert (num_levels, 0 < used <= budget * 3) == (3, True)
        # The box in the corner is there for good.
        assert solved <= 2
    assert JIT_OFF or solved == 2


# ------------------------------------------------------------------- language_loop

ARGUMENTS = ["--rounds=2", "--groups=1", "--group-size=4", "--max-turns=5"]


@pytest.mark.parametrize("workers", [0, 3])
def test_conversations_follow_the_solver(example, workers):
    keywords = {"num_groups": 1, "group_size": 4, "max_turns": 6, "seed": 5}
    rounds = example("conversations").ConversationRounds(
        with_hints=True, workers=workers, **keywords
    )
    rounds.start_round()
    chats = rounds.conversations
    tasks = [chat.messages[:] for chat in chats]
    assert all(tasks[i] == tasks[i // 4 * 4] for i in range(16))
    rounds.play(example("language_loop").ScriptedPolicy(5, 4))
    # The careful conversation of each group follows the solver.
    assert [chat.invalid_actions for chat in chats[::4]] == [0, 0, 0, 0]
    assert rounds.summary()["Countdown"]["success"] == 1
    rounds.envs.close()


def test_the_language_loop_goes_on_and_deletes_no_other_folder(
    example, tmp_path, capsys
):
    main = example("language_loop").main
    curve = main(ARGUMENTS)
    folder = tmp_path / "checkpoint"
    main([*ARGUMENTS, "--rounds=1", f"--checkpoint={folder}", "--save-every=9"])
    assert main([*ARGUMENTS, f"--resume={folder}"]) == curve
    (tmp_path / "letter.txt").write_text("dear reader")
    for argument in (f"--checkpoint={tmp_path}", f"--resume={tmp_path}", "--rounds=0"):
        with pytest.raises(SystemExit):
            main([*ARGUMENTS, argument])
        name = argument.partition("=")[0]
        assert f"error: argument {name}: " in capsys.readouterr().err
    assert (tmp_path / "letter.txt").read_text() == "dear reader"
