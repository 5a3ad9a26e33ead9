"""Commands and all that they print, compared whole with transcripts in `golden`.

Then what a transcript cannot say of `roll-vec play`.

A transcript has lines ``$ roll-vec ...``, the typed lines after ``<`` (escapes as in
JSON) and the output.  For another command write its first lines there, and run this
with ``ROLL_VEC_WRITE_GOLDEN=1``.
"""

import io
import json
import os
import re
import shlex
import shutil
import sys
from pathlib import Path
from types import MappingProxyType

import gymnasium
import pytest

from tests.envs.sokoban.user_levels import COLLECTION
from tests.envs.webshop.shops import write
from tests.golden import assert_golden
from tests.pool.cases import FAULTS_ON_PURPOSE

SOKOBAN, COUNTDOWN = "roll_vec/Sokoban-v0", "roll_vec/Countdown-v0"
FOLDER = Path(__file__).parent / "golden"
UNSOLVABLE = f"{COLLECTION}\n\n######\n#$@ .#\n######\n"


@FAULTS_ON_PURPOSE
@pytest.mark.parametrize("name", sorted(each.stem for each in FOLDER.glob("*.session")))
def test_commands_print_what_the_transcript_has(
    run, user_module, monkeypatch, tmp_path, name
):
    monkeypatch.setenv("COLUMNS", "80")
    (tmp_path / "unsolvable.txt").write_text(UNSOLVABLE)
    write(tmp_path)
    path, session = FOLDER / f"{name}.session", ""
    commands = r"(?m)^\$ roll-vec (.*)\n((?:< .*\n)*)"
    for command, typed in re.findall(commands, path.read_text("utf-8")):
        keys = "".join(json.loads(f'"{line[2:]}\\n"') for line in typed.splitlines())
        monkeypatch.setattr(sys, "stdin", io.StringIO(keys))
        outcome = run(*shlex.split(command))
        # Without times.
        times = "(?m)^  (steps/s|steps/s of the game|time|elapsed|start-up) .*\n"
        out = re.sub(times, "", outcome.out)
        out = re.sub(r", [\d,.]+ rows/s| \([\d,.]+ s\)", "", out)
        session += f"$ roll-vec {command}\n{typed}{out}{outcome.err}"
        session += f"(exit code {outcome.code})\n" * (outcome.code != 0)
    assert "\x1b" not in session
    assert_golden(path, session.encode())


@pytest.mark.parametrize("env_id", [SOKOBAN, COUNTDOWN])
def test_texts_fit_a_screen_of_any_size(play, monkeypatch, env_id):
    usual = play("", env_id, "--seed", 1)
    monkeypatch.setenv("COLUMNS", "200")
    wide = play("", env_id, "--seed", 1).splitlines()
    assert env_id == SOKOBAN or 80 < max(map(len, wide)) <= 88
    # Python 3.10 returns zeros, later versions 80 and 24.
    unknown = os.terminal_size((0, 0))
    monkeypatch.setattr(shutil, "get_terminal_size", lambda: unknown)
    assert " ".join(play("", env_id, "--seed", 1)).split() == " ".join(usual).split()


def test_an_action_outside_of_the_space_is_not_taken(play, register):
    class Narrow(gymnasium.Env):
        observation_space = action_space = gymnasium.spaces.Text(3)

        def reset(self, *, seed=None, options=None):
            return "abc", {}

        def step(self, action):
            return action, 1, False, True, {}

    register("Narrow-v0", entry_point=Narrow)
    _, wide, narrow, _ = play("abcd\nxyz\n", "Narrow-v0").split("> ")
    assert wide.startswith("abcd\n'abcd' is no action of Text(1, 3, ")
    assert "\n\nxyz\nreward +1\nOut of steps: in 1 step, return 1\n" in narrow


def test_hundreds_of_actions_are_told_by_their_form(play):
    lines = play("1 30\n1 1 1\n728\n729\n", "roll_vec/Sudoku-v0").splitlines()
    assert "Type ROW COLUMN DIGIT, or its number; quit, or Ctrl-D, ends" in lines
    refused = "is no action of Discrete(729): expected ROW COLUMN DIGIT, or its number"
    answers = [line for line in lines if "reward" in line or "is no action" in line]
    assert [answers[0], answers[-1]] == [f"'1 30' {refused}", f"'729' {refused}"]
    assert [each.split(" · ")[0] for each in answers[1:-1]] == ["reward +0"] * 2


def test_arrows_move_where_digits_take_other_actions(play, register):
    class Dance(gymnasium.Env):
        observation_space = gymnasium.spaces.Discrete(9)
        action_space = gymnasium.spaces.Discrete(5)
        action_lookup = MappingProxyType(
            dict(enumerate(("Up", "Down", "Left", "Right", "Turn around")))
        )

        def reset(self, *, seed=None, options=None):
            return 0, {}

        def step(self, action):
            return action, 1, action == 4, False, {"success": action == 4}

    register("Dance-v0", entry_point=Dance)
    begin, moved, ended, over, _ = play("d\n04\nd\nq\n", "Dance-v0").split("\n\n")
    assert "4 Turn around" in begin.splitlines()
    assert "right +1" in moved.splitlines()
    assert ended.splitlines()[-2:] == ["turn around +1", "Solved in 3 steps, return 3"]
    assert over.splitlines()[-1].startswith("Solved in 3 steps, return 3: u undo")


def test_what_is_no_text_becomes_a_question_mark_and_is_judged(monkeypatch, run):
    stdin = io.TextIOWrapper(io.BytesIO(b"\xff\n"), encoding="utf-8")
    monkeypatch.setattr(sys, "stdin", stdin)
    outcome = run("play", COUNTDOWN)
    assert outcome.code == 0
    assert "reason bad_character" in outcome.out
