"""docs/examples/exact_credit.py: the advantage needs half of the episodes, or fewer."""

import sys

import numpy as np
import pytest

pytestmark = pytest.mark.learning


# Half of the 10,240 episodes within which rewards never solve slippery lakes.  One seed
# needs 3,072 or 4,864 of them: sums of floats differ between processors.
@pytest.mark.parametrize(
    ("name", "by_chance", "most"),
    [("lakes of 4x4, slippery", 0.25, 5120), ("Sokoban, one box", 0.2, 2560)],
)
def test_an_agent_learns_twice_as_fast_from_the_advantage(
    example, name, by_chance, most
):
    program = example("exact_credit")
    task = program.TASKS[name]
    curve = program.learning_curve(task, "advantage", 0, most)
    needed = program.episodes_until(curve, task.target)
    # Before learning a few of the levels are solved by chance.
    assert curve[0][1] < by_chance
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


def test_exact_chances_are_those_of_play(example):
    program, chances = example("exact_credit"), example("lake_chances")
    rng = np.random.default_rng(0)
    network = example("numpy_network").Network(6 * 16, rng)
    network.parameters[2][:] = rng.normal(size=network.parameters[2].shape)
    levels = list(range(4000))
    envs = program.make_envs(program.TASKS["lakes of 4x4, slippery"], len(levels))
    planes, _ = envs.reset(seed=levels)
    _, successes = program.play(envs, network.best_actions, levels)
    expected = chances.mean_chance(network, planes, 100)
    # Three standard errors of the mean of 4,000 episodes are below 0.024.
    assert successes.mean() == pytest.approx(expected, abs=0.024)
    assert expected > chances.mean_chance(network, planes, 5)
