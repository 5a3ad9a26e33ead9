"""The programs in docs/examples that need no PyTorch."""

import importlib
import re
import runpy
import sys

import pytest

from tests.conftest import JIT_OFF, ROOT
from tests.envs.sokoban.user_levels import ONE, THREE

FOLDER = ROOT / "docs" / "examples"


@pytest.fixture
def example(monkeypatch):
    """Import a module of the folder as its programs do."""
    monkeypatch.syspath_prepend(str(FOLDER))
    yield importlib.import_module
    for path in FOLDER.glob("*.py"):
        sys.modules.pop(path.stem, None)


# The box in the corner of the last one is there for good.
LEVELS = [ONE, THREE, "######\n#$@ .#\n#    #\n######"]


def test_a_search_solves_what_can_be_solved(example, monkeypatch, capsys, tmp_path):
    (tmp_path / "levels.txt").write_text("\n\n".join(LEVELS))
    budget = 200 if JIT_OFF else 1600
    arguments = [f"--levels={tmp_path / 'levels.txt'}", "--num-levels=3"]
    arguments += [f"--steps-per-level={budget}", "--width=4"]
    monkeypatch.setattr(sys, "argv", ["beam_search", *arguments])
    runpy.run_path(str(FOLDER / "beam_search.py"), run_name="__main__")
    table = re.findall(r"(?m)^(\S.*?) +(\d+) of 3 +[\d,]+$", capsys.readouterr().out)
    names, counts = zip(*table, strict=True)
    assert names == ("greedy", "greedy, 20 % random", "beam search")
    assert JIT_OFF or [*map(int, counts)] == [2, 2, 2]


def test_the_language_loop_does_not_depend_on_workers(example, capsys):
    arguments = ["--rounds=2", "--groups=1", "--group-size=4", "--max-turns=5"]
    main, outcomes = example("language_loop").main, []
    for workers in (0, 3):
        curve = main([*arguments, f"--workers={workers}"])
        outcomes.append((curve, capsys.readouterr().out))
    assert outcomes[0] == outcomes[1]
    assert [*curve[0]] == ["Sokoban", "FrozenLake", "Countdown", "WebShop"]
    with pytest.raises(SystemExit):
        main([*arguments, "--rounds=0"])
    assert "error: argument --rounds: " in capsys.readouterr().err
