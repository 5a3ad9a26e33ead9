"""docs/examples/learning.py and docs/torch.md: checkpoints, curves, times, bars."""

import io
import sys

import gymnasium
import matplotlib.image
import numpy as np
import pytest
import torch

import roll_vec  # noqa: F401 - registers the ids
from tests.conftest import ROOT
from tests.frameworks.programs import blocks_of

pytestmark = pytest.mark.learning


class TinyTraining:
    """A training that uses every kind of part: each of them changes the weights."""

    def __init__(self, seed):
        self.envs = gymnasium.make_vec("roll_vec/Sokoban-v0", num_envs=8)
        self.observations, _ = self.envs.reset(seed=seed)
        self.ended = np.zeros(8, bool)
        self.updates = 0
        self.torch_rng = torch.Generator().manual_seed(seed)
        self.numpy_rng = np.random.default_rng(seed)
        self.network = torch.nn.Linear(36, 4)
        with torch.no_grad():
            self.network.weight.normal_(0, 0.1, generator=self.torch_rng)
            self.network.bias.zero_()
        self.optimizer = torch.optim.Adam(self.network.parameters(), lr=0.01)
        self.schedule = torch.optim.lr_scheduler.ExponentialLR(self.optimizer, 0.9)
        names = ("network", "optimizer", "schedule", "torch_rng", "numpy_rng")
        self.parts = {name: getattr(self, name) for name in names}

    def update(self):
        cells = torch.from_numpy(self.observations).flatten(1).float()
        logits = self.network(cells)
        actions = torch.multinomial(logits.softmax(1), 1, generator=self.torch_rng)
        loss = logits.gather(1, actions)[:, 0] @ torch.from_numpy(
            (~self.ended * self.numpy_rng.random(8)).astype("f4")
        )
        self.optimizer.zero_grad()
        (loss * (1 + self.updates)).backward()
        self.optimizer.step()
        self.schedule.step()
        self.updates += 1
        step = self.envs.step(actions[:, 0].numpy() + 1)
        self.observations, self.ended = step[0], step[2] | step[3]

    def save(self, path, learning):
        learning.save_checkpoint(
            path,
            envs_state=self.envs.get_state(),
            parts=self.parts,
            values={"updates": self.updates, "ended": self.ended},
        )

    def load(self, path, learning):
        envs_state, values = learning.load_checkpoint(path, self.parts)
        self.observations = self.envs.set_state(envs_state)
        self.updates, self.ended = values["updates"], values["ended"]


def test_a_checkpoint_continues_bit_for_bit(example, tmp_path):
    learning = example("learning")
    first, second = TinyTraining(seed=1), TinyTraining(seed=5)
    for _ in range(95):  # to just before the step limit: autoresets are to come
        first.update()
    first.save(tmp_path / "checkpoint", learning)
    assert [path.name for path in tmp_path.iterdir()] == ["checkpoint"]
    second.load(tmp_path / "checkpoint", learning)
    for training in (first, second):
        for _ in range(60):
            training.update()
    for one, other in zip(
        first.network.parameters(), second.network.parameters(), strict=True
    ):
        assert torch.equal(one, other)


def test_other_files_and_missing_parts_are_errors(example, tmp_path):
    learning = example("learning")
    training = TinyTraining(seed=1)
    training.parts.pop("schedule")
    path = tmp_path / "checkpoint"
    training.save(path, learning)
    weights = training.network.weight.clone()
    with pytest.raises(ValueError, match="'schedule'"):
        learning.load_checkpoint(
            path, {"network": torch.nn.Linear(36, 4), "schedule": training.schedule}
        )
    torch.save({"weight": weights}, tmp_path / "other")
    (tmp_path / "text").write_text("hello")
    (tmp_path / "empty").touch()
    whole = path.read_bytes()
    (tmp_path / "half").write_bytes(whole[: len(whole) // 2])
    for name in ("other", "text", "empty", "half"):
        with pytest.raises(ValueError, match=f"{name}' is no checkpoint"):
            learning.load_checkpoint(tmp_path / name, {})
    # The network alone is enough for a program that plays.
    network = torch.nn.Linear(36, 4)
    learning.load_checkpoint(path, {"network": network})
    assert torch.equal(network.weight, weights)


def test_a_save_that_fails_leaves_the_old_file(example, tmp_path, monkeypatch):
    learning = example("learning")
    training, path = TinyTraining(seed=1), tmp_path / "checkpoint"
    training.save(path, learning)
    old = path.read_bytes()
    mersenne = np.random.Generator(np.random.MT19937(1))
    for arguments in (
        {"parts": {}, "values": {"counts": {"inner": np.zeros(2)}}},
        {"parts": {}, "values": {"path": path}},
        {"parts": {"rng": mersenne}},
    ):
        with pytest.raises(ValueError, match="expected plain values"):
            learning.save_checkpoint(
                path, envs_state=training.envs.get_state(), **arguments
            )

    def interrupt(contents, file):
        file.write_bytes(b"half")
        raise KeyboardInterrupt

    monkeypatch.setattr(torch, "save", interrupt)
    with pytest.raises(KeyboardInterrupt):
        training.save(path, learning)
    assert path.read_bytes() == old
    assert [*tmp_path.iterdir()] == [path]


def test_a_curve_is_drawn_and_goes_on(example, tmp_path):
    learning = example("learning")
    curve = learning.LearningCurve()
    curve.save_picture(tmp_path / "empty.png")
    curve.add(1000, success=0.25, reward=-1)
    curve.add(2000, success=np.float32(0.5))
    copy = learning.LearningCurve()
    copy.load_state_dict(curve.state_dict())
    curve.add(3000, reward=2.0)
    assert copy.points == [
        {"step": 1000, "success": 0.25, "reward": -1.0},
        {"step": 2000, "success": 0.5},
    ]
    curve.save_picture(tmp_path / "curve.png", "title")
    picture = (tmp_path / "curve.png").read_bytes()
    assert picture.startswith(b"\x89PNG")
    assert len(picture) > (tmp_path / "empty.png").stat().st_size


def test_the_share_of_time_goes_on_after_a_checkpoint(example, monkeypatch):
    learning = example("learning")
    now = [0.0]
    monkeypatch.setattr(learning.time, "perf_counter", lambda: now[0])
    env_time = learning.EnvTime()
    with env_time:
        now[0] += 1
    now[0] += 3
    assert env_time.share() == 1 / 4
    later = learning.EnvTime()
    later.load_state_dict(env_time.state_dict())
    with env_time, later:
        now[0] += 1
    now[0] += 3
    with later.pause():
        now[0] += 5
    assert (later.seconds, later.total(), later.share()) == (2, 8, 1 / 4)


@pytest.mark.parametrize("is_terminal", [False, True])
def test_a_bar_is_drawn_on_terminals_alone(example, is_terminal, monkeypatch):
    learning = example("learning")
    screen = io.StringIO()
    screen.isatty = lambda: is_terminal
    monkeypatch.setattr(sys, "stderr", screen)
    monkeypatch.setenv("TERM", "xterm")
    with learning.progress_bar(10, "learn") as bar:
        bar.advance(5)
        bar.show(success=0.125)
    assert ("learn" in screen.getvalue()) == is_terminal
    assert ("success 0.125" in screen.getvalue()) == is_terminal


def test_the_picture_of_the_language_loop_has_a_line_for_each_family(example, tmp_path):
    row = {"return": 1.0}
    entry = {"families": {"Sokoban": row, "Countdown": row}, "advantages": [1.0, -1.0]}
    example("language_loop").save_picture([entry, entry], tmp_path / "loop.png")
    pixels = matplotlib.image.imread(tmp_path / "loop.png")
    assert pixels.shape == (350, 900, 4)
    colours = {tuple((255 * pixel[:3]).round()) for pixel in pixels.reshape(-1, 4)}
    # The first two of matplotlib's cycle.
    assert {(31, 119, 180), (255, 127, 14)} <= colours


def test_the_five_programs_of_the_page_about_torch_run():
    blocks = blocks_of(ROOT / "docs" / "torch.md")
    assert len(blocks) == 5
    for number, block in enumerate(blocks):
        exec(compile(block, f"<block {number} of torch.md>", "exec"), {})
