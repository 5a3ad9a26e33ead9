"""`play` on pseudo-terminals; signals while commands work."""

import os
import signal
from pathlib import Path

import gymnasium
import numpy as np
import pytest

from roll_vec.render.ansi import strip_colours
from tests.cli.small_envs import LINE, Line

terminals = pytest.importorskip("tests.cli.pseudo_terminal")
SOKOBAN, COUNTDOWN = "roll_vec/Sokoban-v0", "roll_vec/Countdown-v0"


def send(number):
    """Return a function that sends a signal to this process."""
    return lambda: os.kill(os.getpid(), number)


@pytest.fixture(autouse=True)
def _survive_signals():
    """A SIGTERM that no command expects fails a test, and does not end the run."""

    def refuse(number, _):
        raise AssertionError(f"signal {number} reached the tests")

    handler = signal.signal(signal.SIGTERM, refuse)
    yield
    signal.signal(signal.SIGTERM, handler)


@pytest.fixture
def screen(monkeypatch):
    """Return a function that opens a terminal for this process."""
    screens = []

    def start(**more):
        screens.append(terminals.Screen(monkeypatch, **more))
        return screens[-1]

    yield start
    for each in screens:
        each.close()


def test_keys_act_at_once_without_echo(screen):
    tty, echoes = screen(), []
    code = tty.run(
        ["play", SOKOBAN, "--seed", 1010],
        ("q quit", lambda: (echoes.append(tty.echoes), tty.press("\x1b[C"))),
        ("step 1 ", "u"),
        # Two keys in one go, and an arrow that arrives in two pieces.
        ("step 0 ", "sd\x1b"),
        ("q quit", "OA"),
        ("step 3 ", "q"),
    )
    assert (code, echoes, tty.is_restored) == (0, [False], True)
    assert "\x1b[1;36mP" in tty.output


@pytest.mark.parametrize("name", [LINE, COUNTDOWN])
def test_the_terminal_is_restored_however_the_game_ends(screen, name):
    wait = "q quit" if name == LINE else "> "
    ends = [(signal.SIGTERM, 143), (signal.SIGINT, 130)]
    for keys, code in [("\x04", 0), *((send(number), code) for number, code in ends)]:
        tty = screen()
        outcome = tty.run(["play", name], (wait, keys)), tty.is_restored
        assert outcome == (code, True)


def test_the_terminal_is_restored_after_an_exception(screen, register):
    class Bomb(Line):
        def step(self, action):
            raise OSError("boom")

    register("Bomb-v0", entry_point=Bomb)
    tty = screen()
    with pytest.raises(OSError, match="boom"):
        tty.run(["play", "Bomb-v0"], ("q quit", "d"))
    assert tty.is_restored


@pytest.mark.parametrize("name", [LINE, COUNTDOWN])
def test_colours_can_be_turned_off(screen, name):
    script = [("step 0", "aa"), ("Over in 2", "q")]
    if name == COUNTDOWN:
        script = [("> ", "1\r"), ("Lost in 1", "\x04")]
    for options in ({}, {"NO_COLOR": "1"}, {"TERM": "dumb"}):
        tty = screen(**options)
        assert tty.run(["play", name], *script) == 0
        assert ("\x1b[1" in tty.output) == (options == {})


def test_tables_stand_in_the_narrowest_terminal(screen):
    assert screen(columns=3).run(["envs"]) == 0


def test_frames_are_drawn_over_one_another(screen):
    tty = screen(columns=50)
    # Keys that were typed ahead count.
    assert tty.run(["play", SOKOBAN, "--seed", "1010"], ("", "sxuq")) == 0
    assert tty.output.count("\x1b[H\x1b[2J") == tty.output.count("seed 1010") == 2
    # Cells are spaced, the sequences around them are not.
    assert strip_colours(tty.output).count("\n# # # # # # \r") == 4
    legend = strip_colours(tty.output).split("# wall")[1].split("step 0")[0]
    assert max(map(len, legend.splitlines())) <= 50


SMALL = ("--num-envs", 4, "--steps", 12, "--seed", 7, "--out", "run.npz")


class Loud(gymnasium.vector.VectorEnv):
    """Ctrl-C comes while the results of a step are recorded, or in the first reset."""

    single_observation_space = single_action_space = gymnasium.spaces.Discrete(2)
    observation_space = action_space = gymnasium.spaces.MultiDiscrete([2] * 4)
    num_envs, is_loud = 4, True

    class Infos(dict):
        def items(self):
            if Loud.is_loud:
                signal.raise_signal(signal.SIGINT)
            return super().items()

    def __init__(self, num_envs, resets=False, **options):
        self.resets = resets

    def reset(self, *, seed=None, options=None):
        if self.resets and Loud.is_loud:
            raise KeyboardInterrupt
        return np.zeros(4, int), {}

    def step(self, actions):
        ends = np.ones(4, bool)
        return np.zeros(4, int), np.zeros(4), ends, ~ends, self.Infos(here=np.ones(4))


@pytest.mark.parametrize(("options", "steps"), [((), 1), (("-o", "resets=True"), 0)])
def test_ctrl_c_never_splits_a_step(run, register, monkeypatch, options, steps):
    register("Loud-v0", vector_entry_point=Loud)
    monkeypatch.setattr(Loud, "is_loud", True)
    outcome = run("rollout", "Loud-v0", *SMALL, *options)
    assert outcome.code == 130
    assert outcome.err == f"roll-vec: interrupted after {steps} of 12 steps\n"
    table = outcome.table
    assert (table["environment steps"], table["steps/s"]) == (str(4 * steps), "–")
    assert table["episodes"] == str(4 * steps)
    Loud.is_loud = False
    outcome = run("replay", "run.npz")
    assert (outcome.code, f" {steps} steps (" in outcome.out) == (0, True)


FILES = [
    "levels make roll_vec/Sokoban --num-levels 2 --out new.txt",
    "watch roll_vec/FrozenLake --num-envs 2 --steps 2 --out p.html",
]


@pytest.mark.parametrize("command", FILES)
def test_a_signal_while_a_file_is_written_leaves_the_old_one(
    run, monkeypatch, tmp_path, command
):
    out = tmp_path / command.split()[-1]
    out.write_text("old")
    rename = Path.replace

    def stop(path, target):
        # Compiled kernels are files, too.
        if Path(target).name == out.name:
            assert path.stat().st_size > 10
            signal.raise_signal(signal.SIGTERM)
        return rename(path, target)

    # A new file is written beside the old one, and renamed.
    monkeypatch.setattr(Path, "replace", stop)
    assert run(*command.split()).code == 143
    assert [*tmp_path.iterdir()] == [out]
    assert out.read_text() == "old"
