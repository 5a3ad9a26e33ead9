"""docs/examples/exact_credit.py: the advantage needs half of the episodes, or fewer."""

import sys

import pytest

pytestmark = pytest.mark.learning


@pytest.mark.parametrize(
    ("name", "most"),
    [("lakes of 5x5, no slips", 3328), ("Sokoban, one box", 2560)],
)
def test_an_agent_learns_twice_as_fast_from_the_advantage(example, name, most):
    program = example("exact_credit")
    task = program.TASKS[name]
    curve = program.learning_curve(task, "advantage", 0, most)
    needed = program.episodes_until(curve, task.target)
    # Before learning a few of the levels are solved by chance.
    assert curve[0][1] < 0.2
    assert 256 < needed <= most
    curve = program.learning_curve(task, "reward", 0, 2 * needed)
    assert program.episodes_until(curve, task.target) in (None, curve[-1][0])
    assert curve[-1][1] > curve[0][1]


def test_the_program_draws_and_writes(example, monkeypatch, capsys, tmp_path):
    program = example("exact_credit")
    picture, out = tmp_path / "curves.png", tmp_path / "results.json"
    arguments = ["--seeds=1", "--episodes=256"]
    arguments += [f"--picture={picture}", f"--out={out}"]
    monkeypatch.setattr(sys, "argv", ["exact_credit.py", *arguments])
    program.main()
    assert len(capsys.readouterr().out.splitlines()) == 6
    assert picture.read_bytes().startswith(b"\x89PNG")
    assert '"reward": [\n   null\n  ]' in out.read_text("utf-8")
