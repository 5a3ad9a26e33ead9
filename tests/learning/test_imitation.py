"""docs/examples/imitation.py, its data set solver_episodes.py, and grpo.py."""

import dataclasses
import re
import sys

import numpy as np
import pytest
import torch

pytestmark = pytest.mark.learning

SOKOBAN, LAKE = "roll_vec/Sokoban-v0", "roll_vec/RandomFrozenLake-v0"


@pytest.fixture
def imitation(example):
    torch.set_num_threads(1)  # `main` does the same; `example` undoes it
    return example("imitation")


@pytest.fixture
def run(imitation, monkeypatch, capsys):
    """Run the program with some arguments; return the lines that it prints."""

    def run(*arguments):
        monkeypatch.setattr(sys, "argv", ["imitation.py", *map(str, arguments)])
        imitation.main()
        return capsys.readouterr().out.splitlines()

    return run


def test_the_clone_solves_new_levels(imitation, example):
    split = imitation.find_task(LAKE, num_boxes=1, test_levels=300)
    assert min(split.seeds) >= 1_000_000
    collect = example("solver_episodes").collect_episodes
    episodes = collect(LAKE, split.keywords, 2000)
    test = imitation.TestLevels(split, episodes)
    cloning = imitation.Cloning(episodes, seed=0, width=128)
    losses = [cloning.update() for _ in range(150)]
    assert np.mean(losses[-10:]) < 0.5 * np.mean(losses[:10])
    random = test.play(imitation.UniformPolicy(test.envs, seed=0))[test.is_new]
    solved = test.play_network(cloning.network)[test.is_new]
    assert len(solved) > 100
    # Far beyond chance: a standard error is below 0.05.
    assert solved.mean() > random.mean() + 0.2


def test_levels_equal_to_training_levels_are_not_new(imitation, example):
    split = imitation.find_task(SOKOBAN, num_boxes=1, test_levels=20)
    known = dataclasses.replace(split, make_seeds=lambda: [3, 9, *split.seeds])
    collect = example("solver_episodes").collect_episodes
    episodes = collect(SOKOBAN, split.keywords, 10)
    is_new = imitation.TestLevels(known, episodes).is_new
    assert is_new[:2].tolist() == [False, False]
    assert is_new[2:].mean() > 0.8


SMALL = ("--num-levels", 60, "--test-levels", 20, "--seed", 4)


def test_the_program_trains_and_goes_on(run, tmp_path):
    part, picture = tmp_path / "part", tmp_path / "curve.png"
    run(*SMALL, "--updates", 6, "--checkpoint", part)
    arguments = (*SMALL, "--updates", 14, "--picture", picture)
    lines = run(*arguments, "--resume", part)
    assert lines[0].startswith("60 episodes, ")
    assert lines[-1].startswith("solver        100.0% (")
    assert picture.read_bytes().startswith(b"\x89PNG")
    with pytest.raises(ValueError, match=r"is of seed 4, 60 levels .*expected seed 5"):
        run(*SMALL[:-1], 5, "--updates", 14, "--resume", part)


COUNTDOWN = ["--families", "Countdown", "--max-turns=1", "--learning-rate=0.005"]


def test_valid_answers_become_likely(example, tmp_path, capsys):
    grpo = example("grpo")
    file, picture = tmp_path / "checkpoint.pt", tmp_path / "curve.png"
    arguments = [*COUNTDOWN, "--groups=24", f"--checkpoint={file}"]
    grpo.main([*arguments, "--updates=3"])
    capsys.readouterr()
    arguments += [f"--resume={file}", f"--picture={picture}"]
    policy = grpo.main([*arguments, "--updates=12"])
    assert picture.stat().st_size > 1000
    row = re.search(r"Countdown +([\d.]+)% +([\d.]+)%", capsys.readouterr().out)
    assert float(row[1]) < 5
    assert float(row[2]) > 50
    assert policy.turns == []
