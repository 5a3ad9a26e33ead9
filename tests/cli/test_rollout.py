"""`roll-vec rollout`: table, file, picture, autoreset modes, errors, interrupts."""

import errno
import json
import os
import re
import signal
import subprocess
import sys

import gymnasium
import numpy as np
import pytest
from gymnasium.vector import AutoresetMode

from roll_vec.envs.sokoban.rooms import RoomGenerator
from tests.cli.output import table_of
from tests.gymnasium_versions import needs

SOKOBAN = "roll_vec/Sokoban-v0"
SMALL = ("--num-envs", 4, "--steps", 120)


def test_rollout_prints_a_table_and_saves_a_picture(run, tmp_path):
    outcome = run("rollout", SOKOBAN, *SMALL, "--seed", 3)
    assert outcome.code == 0
    table = table_of(outcome.out)
    # Every episode ends within 100 steps, and the step after it is its reset.
    assert int(table["episodes"]) >= 4
    assert table["environment steps"] == str(480 - int(table["episodes"]))
    assert re.fullmatch(r"[\d,]+", table["steps/s"])
    assert re.fullmatch(r"-?[\d.]+ ± [\d.]+ \(.+ to .+\)", table["return"])
    assert re.fullmatch(r"[\d.]+%", table["success rate"])
    assert re.fullmatch(r"[\d.]+ ± [\d.]+ \(\d+ to \d+\)", table["length"])
    assert (table["seed"], table["policy"]) == ("3", "random")
    assert table["autoreset"] == "next_step"
    assert "boards at the end: rollout.png" in outcome.out
    assert [path.name for path in tmp_path.iterdir()] == ["rollout.png"]


def test_picture_shows_the_boards_at_the_end(run, tmp_path):
    image = pytest.importorskip("PIL.Image")
    arguments = ("--steps", 7, "--num-envs", 6, "--policy", "constant:2")
    run("rollout", SOKOBAN, *arguments, "--boards", 4, "--image", tmp_path / "b.png")

    env = gymnasium.make_vec(SOKOBAN, num_envs=6, render_mode="rgb_array")
    env.reset(seed=0)
    for _ in range(7):
        env.step(np.full(6, 2))
    with image.open(tmp_path / "b.png") as saved:
        picture = np.asarray(saved)
    # Two rows of two boards of 6 × 6 tiles, each of 16 pixels, three times as large.
    side = 6 * 16 * 3
    assert picture.shape == (2 * side + 24, 2 * side + 24, 3)
    for index, board in enumerate(env.render()[:4]):
        top, left = (8 + place * (side + 8) for place in divmod(index, 2))
        part = picture[top : top + side : 3, left : left + side : 3]
        np.testing.assert_array_equal(part, board)
    env.close()


@pytest.mark.parametrize("autoreset", ["next_step", "SameStep", "disabled"])
def test_saved_episodes_are_what_the_table_says(run, tmp_path, autoreset):
    outcome = run(
        *("rollout", SOKOBAN, *SMALL, "--autoreset", autoreset, "--no-image"),
        *("-o", "dim_room=(7, 7)", "-o", "num_boxes=2", "--save", tmp_path / "e.npz"),
    )
    table = table_of(outcome.out)
    saved = np.load(tmp_path / "e.npz", allow_pickle=False)
    count = int(table["episodes"])
    dtypes = {
        "env_index": np.int64,
        "returns": np.float64,
        "lengths": np.int64,
        "success": np.int8,
        "terminated": np.bool_,
        "truncated": np.bool_,
    }
    for name, dtype in dtypes.items():
        assert (saved[name].shape, saved[name].dtype) == ((count,), dtype)
    assert table["return"].startswith(f"{saved['returns'].mean():.3f} ± ")
    assert table["success rate"] == f"{saved['success'].mean():.2%}"
    assert (saved["terminated"] | saved["truncated"]).all()
    assert (str(saved["id"]), str(saved["seed"])) == (SOKOBAN, "0")
    config = json.loads(str(saved["config"]))
    assert config == {
        "num_envs": 4,
        "steps": 120,
        "policy": "random",
        "autoreset": {"next_step": "NextStep", "disabled": "Disabled"}.get(
            autoreset, autoreset
        ),
        "options": {"dim_room": [7, 7], "num_boxes": 2},
    }
    assert set(json.loads(str(saved["versions"]))) == {
        *("roll-vec", "gymnasium", "numpy", "numba", "python")
    }
    assert not (tmp_path / "rollout.png").exists()


def test_rollout_is_a_function_of_the_seed(run, tmp_path):
    def returns(seed):
        # The name has no ending, and gets none; what is there is replaced.
        run("rollout", SOKOBAN, *SMALL, "--quiet", "--seed", seed, "--save", "episodes")
        return np.load(tmp_path / "episodes")["returns"].tolist()

    assert returns(5) == returns(5)
    assert returns(5) != returns(6)


@pytest.mark.parametrize(
    "env_id",
    [
        "roll_vec/FrozenLake-v1",
        "roll_vec/FrozenLake8x8-v1",
        "roll_vec/RandomFrozenLake-v0",
        "CartPole-v1",  # a vector form of its own that knows one autoreset mode
        "FrozenLake-v1",  # no vector form of its own
        "Pendulum-v1",  # continuous actions
    ],
)
@pytest.mark.parametrize("autoreset", ["next_step", "same_step", "disabled"])
def test_any_registered_id_rolls_out_in_any_mode(run, env_id, autoreset):
    outcome = run(
        *("rollout", env_id, "--num-envs", 3, "--steps", 250, "--no-image"),
        *("--autoreset", autoreset),
    )
    assert outcome.code == 0
    table = table_of(outcome.out)
    assert int(table["episodes"].replace(",", "")) >= 3
    assert table["autoreset"] == autoreset
    # An unknown success is not a rate of zero.
    assert ("%" in table["success rate"]) == env_id.startswith("roll_vec/")


def test_id_of_a_module_is_registered_by_its_import(run, tmp_path):
    (tmp_path / "envs_of_mine.py").write_text(
        "import gymnasium\n"
        "gymnasium.register('MyCartPole-v0', entry_point=\n"
        "    'gymnasium.envs.classic_control.cartpole:CartPoleEnv')\n"
    )
    name = "envs_of_mine:MyCartPole-v0"
    assert run("rollout", name, *SMALL, "--quiet", "--no-image").code == 0
    del gymnasium.registry["MyCartPole-v0"], sys.modules["envs_of_mine"]


def test_foreign_boards_are_drawn_by_their_own_renderer(run, tmp_path, monkeypatch):
    pytest.importorskip("pygame")
    monkeypatch.setenv("SDL_VIDEODRIVER", "dummy")
    few = run("rollout", "CartPole-v1", "--num-envs", 2, "--steps", 2)
    assert "boards at the end: rollout.png" in few.out
    many = run("rollout", "CartPole-v1", "--num-envs", 65, "--steps", 2, "--boards", 2)
    assert "boards of another, smaller rollout: rollout.png" in many.out
    assert (tmp_path / "rollout.png").exists()


def test_environment_that_cannot_be_drawn_is_no_error(run, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "pygame", None)
    outcome = run("rollout", "CartPole-v1", "--num-envs", 2, "--steps", 2)
    assert outcome.code == 0
    assert "no picture: rendering failed: pygame is not installed" in outcome.out
    assert not (tmp_path / "rollout.png").exists()


class Plain(gymnasium.Env):
    observation_space = action_space = gymnasium.spaces.Discrete(2)

    def reset(self, *, seed=None, options=None):
        return 0, {}

    def step(self, action):
        return 0, 0.0, False, False, {}


class Drawing(Plain):
    metadata = {"render_modes": ["rgb_array"]}  # noqa: RUF012

    def __init__(self, render_mode=None):
        self.render_mode = render_mode

    def render(self):
        return "words"


class Pair(gymnasium.vector.VectorEnv):
    """A vector form that can do one mode, and draws nothing."""

    metadata = {"autoreset_mode": AutoresetMode.SAME_STEP}  # noqa: RUF012
    single_observation_space = single_action_space = gymnasium.spaces.Discrete(2)
    observation_space = action_space = gymnasium.spaces.MultiDiscrete([2, 2])

    def __init__(self, num_envs, autoreset_mode=None, render_mode=None):
        self.num_envs, self.render_mode = num_envs, render_mode

    def reset(self, *, seed=None, options=None):
        return np.zeros(2, int), {}

    def step(self, actions):
        no = np.zeros(2, bool)
        return np.zeros(2, int), np.zeros(2), no, no, {}

    def render(self):
        return None


@pytest.fixture
def registered(monkeypatch):
    """Register a class for one test."""

    def register(name, **entry_points):
        spec = gymnasium.envs.registration.EnvSpec(name, **entry_points)
        monkeypatch.setitem(gymnasium.registry, name, spec)

    return register


@pytest.mark.parametrize(
    ("entry_points", "reason"),
    [
        ({"entry_point": Plain}, "the environment has no render_mode"),
        ({"entry_point": Drawing}, "renders something else than (H, W, 3) frames"),
        ({"vector_entry_point": Pair}, "the environment renders nothing"),
    ],
)
def test_environment_without_frames_says_so(run, registered, entry_points, reason):
    registered("Odd-v0", **entry_points)
    outcome = run(
        *("rollout", "Odd-v0", "--num-envs", 2, "--steps", 2),
        *("--autoreset", "same_step"),
    )
    assert outcome.code == 0
    assert "no picture: the environment" in outcome.out
    assert reason in outcome.out


def test_autoreset_mode_that_an_id_cannot_do_is_an_error(fails, registered):
    registered("Odd-v0", vector_entry_point=Pair)
    line = fails("rollout", "Odd-v0", "--num-envs", 2)
    assert "argument --autoreset: Odd-v0 can only do SameStep" in line


@pytest.mark.parametrize("function", ["save_picture", "save_run"])
def test_file_that_cannot_be_written_after_all_is_an_error(
    fails, monkeypatch, function
):
    def full(*arguments):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(f"roll_vec.cli.rollout.{function}", full)
    line = fails("rollout", SOKOBAN, *SMALL, "--save", "a.npz", "--image", "a.png")
    assert "'a." in line
    assert "No space left on device" in line


def test_picture_is_in_the_format_of_its_suffix(run, fails, tmp_path):
    image = pytest.importorskip("PIL.Image")
    for suffix, name in ((".jpg", "JPEG"), (".PNG", "PNG")):
        outcome = run("rollout", SOKOBAN, *SMALL, "--image", f"boards{suffix}")
        assert f"boards at the end: boards{suffix}" in outcome.out
        with image.open(tmp_path / f"boards{suffix}") as saved:
            assert saved.format == name
    for name in ("boards", "boards.npz"):
        line = fails("rollout", SOKOBAN, *SMALL, "--image", name)
        assert "--image: a picture's file name ends in one of .bmp, .gif," in line
        assert repr(name) in line


def test_picture_of_some_boards_says_of_how_many(run, tmp_path):
    image = pytest.importorskip("PIL.Image")
    flags = ("--num-envs", 6, "--steps", 2, "--boards", 4, "-o", "render_scale=2")
    outcome = run("rollout", "roll_vec/FrozenLake-v1", *flags)
    assert "4 of 6 boards at the end: rollout.png" in outcome.out
    # Boards are as large as was asked for: 4 tiles of 16 pixels, twice.
    with image.open(tmp_path / "rollout.png") as saved:
        assert saved.size == (2 * 128 + 24, 2 * 128 + 24)


def test_quiet_writes_files_and_nothing_else(run, tmp_path):
    outcome = run("rollout", SOKOBAN, *SMALL, "--quiet", "--save", "episodes.npz")
    assert (outcome.code, outcome.out, outcome.err) == (0, "", "")
    names = {path.name for path in tmp_path.iterdir()}
    assert names == {"episodes.npz", "rollout.png"}


def test_progress_is_shown_to_a_terminal_only(run, monkeypatch):
    assert run("rollout", SOKOBAN, *SMALL, "--no-image").err == ""
    # rich takes this for a terminal.
    monkeypatch.setenv("FORCE_COLOR", "1")
    err = run("rollout", SOKOBAN, *SMALL, "--no-image").err
    assert "120/120 steps" in err
    assert re.search(r"[\d,]+ steps/s", err)


def test_one_step_has_no_rate_and_no_episode(run):
    table = table_of(run("rollout", SOKOBAN, "--steps", 1, "--num-envs", 2).out)
    assert table["environment steps"] == "2"
    for name in ("steps/s", "return", "success rate", "length"):
        assert table[name] == "–"


def test_threads_reach_the_engine_and_change_nothing(run, tmp_path):
    for threads in (1, 2):
        run(
            *("rollout", SOKOBAN, *SMALL, "--quiet", "--no-image"),
            *("--threads", threads, "--save", f"{threads}.npz"),
        )
    one, two = (np.load(tmp_path / f"{threads}.npz") for threads in (1, 2))
    assert one["returns"].tolist() == two["returns"].tolist()


def test_policy_of_the_user_sees_observations_and_acts(run, tmp_path):
    (tmp_path / "agent_of_mine.py").write_text(
        "def act(observations):\n"
        "    assert observations.shape == (4, 6, 6)\n"
        "    return [1, 2, 3, 4]\n"
    )
    arguments = ("rollout", SOKOBAN, *SMALL, "--no-image", "--policy")
    assert run(*arguments, "agent_of_mine:act").code == 0


@pytest.mark.parametrize(
    ("arguments", "messages"),
    [
        ((), ["ID"]),
        (
            ("roll_vec/Sokobam-v0",),
            ["roll_vec/Sokobam-v0", "did you mean roll_vec/Sokoban-v0?"],
        ),
        (("no_such:CartPole-v1",), ["No module named 'no_such'"]),
        ((SOKOBAN, "--num-envs", 0), ["--num-envs", "from 1 up", "'0'"]),
        ((SOKOBAN, "--steps", "many"), ["--steps", "from 1 up", "'many'"]),
        ((SOKOBAN, "--seed", -1), ["--seed", "from 0 up", "'-1'"]),
        ((SOKOBAN, "--boards", 9999), ["--boards", "from 1 to 1,024", "'9999'"]),
        ((SOKOBAN, "--autoreset", "no"), ["--autoreset", "same_step", "'no'"]),
        ((SOKOBAN, "--policy", "best"), ["--policy", "module:attribute", "'best'"]),
        (
            (SOKOBAN, *SMALL, "--policy", "constant:7"),
            ["--policy", "constant:7", "0 to 4"],
        ),
        ((SOKOBAN, "-o", "num_boxes"), ["key=value", "'num_boxes'"]),
        ((SOKOBAN, "-o", "num_envs=3"), ["num_envs", "--num-envs"]),
        ((SOKOBAN, "-o", "boxes=3"), [SOKOBAN, "boxes", "num_boxes"]),
        ((SOKOBAN, "-o", "num_boxes=99"), ["num_boxes", "at most 14", "99"]),
        pytest.param(
            ("CartPole-v1", "-o", "boxes=3"),
            ["CartPole-v1", "boxes"],
            # Gymnasium's own half-built batch complains.
            marks=needs("VectorEnv has no __del__"),
        ),
        (("CartPole-v1", "--threads", 2), ["--threads", "CartPole-v1"]),
        ((SOKOBAN, "--image", "no/a.png"), ["--image", "no/a.png", "directory"]),
        ((SOKOBAN, "--save", "."), ["--save", "'.'", "is a directory"]),
        ((SOKOBAN, "--image", "a.png", "--no-image"), ["--image", "--no-image"]),
        ((SOKOBAN, "--nonsense"), ["--nonsense"]),
    ],
)
def test_errors_name_the_argument_the_value_and_what_would_do(
    fails, tmp_path, arguments, messages
):
    line = fails("rollout", *arguments)
    for message in messages:
        assert message in line
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("module", "package", "switch"),
    [("rich", "rich", "--quiet"), ("PIL.Image", "pillow", "--no-image")],
)
def test_missing_extra_is_named_before_anything_runs(
    run, fails, monkeypatch, module, package, switch
):
    monkeypatch.setitem(sys.modules, module, None)
    line = fails("rollout", SOKOBAN, *SMALL)
    assert (
        f'needs {package}: in your checkout of roll_vec, pip install ".[cli]"' in line
    )
    assert switch in line
    assert run("rollout", SOKOBAN, *SMALL, switch).code == 0


def test_interrupt_shows_and_saves_what_was_done(run, tmp_path):
    (tmp_path / "impatient.py").write_text(
        "calls = []\n"
        "def act(observations):\n"
        "    calls.append(1)\n"
        "    if len(calls) == 111:\n"
        "        raise KeyboardInterrupt\n"
        "    return [1] * len(observations)\n"
    )
    outcome = run(
        *("rollout", SOKOBAN, *SMALL, "--policy", "impatient:act", "--save", "e.npz")
    )
    assert outcome.code == 130
    assert outcome.err == "roll-vec: interrupted after 110 of 120 steps\n"
    table = table_of(outcome.out)
    assert (table["environment steps"], table["episodes"]) == ("436", "4")
    assert np.load(tmp_path / "e.npz")["lengths"].tolist() == [100] * 4
    assert not (tmp_path / "rollout.png").exists()


def test_interrupt_of_the_first_reset_shows_that_nothing_was_done(run, monkeypatch):
    def interrupt(*arguments):
        raise KeyboardInterrupt

    monkeypatch.setattr(RoomGenerator, "__call__", interrupt)
    outcome = run("rollout", SOKOBAN, *SMALL)
    assert outcome.code == 130
    assert outcome.err == "roll-vec: interrupted after 0 of 120 steps\n"
    table = table_of(outcome.out)
    assert (table["environment steps"], table["steps/s"]) == ("0", "–")


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="Windows sends signals otherwise")
def test_signal_comes_through_while_rooms_are_drawn():
    # On a pseudo-terminal the progress bar shows when the rooms are being drawn.
    import pty

    master, slave = pty.openpty()
    command = [sys.executable, "-m", "roll_vec.cli", "rollout", SOKOBAN, "--no-image"]
    with subprocess.Popen(
        [*command, "--num-envs", "300000", "--steps", "1", "-o", "dim_room=(9, 9)"],
        stdout=subprocess.PIPE,
        stderr=slave,
        text=True,
        env={**os.environ, "TERM": "xterm", "COLUMNS": "120"},
    ) as process:
        os.close(slave)
        output = b""
        while not re.search(rb"/300,000 rooms", output):
            output += os.read(master, 4096)
        process.send_signal(signal.SIGINT)
        while b"interrupted after" not in output:
            output += os.read(master, 4096)
        out, _ = process.communicate()
    os.close(master)
    assert process.returncode == 130
    assert table_of(out)["environment steps"] == "0"
