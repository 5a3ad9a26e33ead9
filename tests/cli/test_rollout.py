"""`roll-vec rollout`: its table, picture, files and faults."""

import errno
import io
import json
import re
import shlex
import sys
import time

import gymnasium
import numpy as np
import pytest
from gymnasium.vector import AutoresetMode

from roll_vec.recordings import roll_out
from tests.cli.small_envs import EXITS, TWOS
from tests.pool.cases import FAULTS_ON_PURPOSE

SOKOBAN, COUNTDOWN = "roll_vec/Sokoban-v0", "roll_vec/Countdown-v0"
LAKE = "roll_vec/RandomFrozenLake-v0"
ECHO = "user_envs:mine/Echo-v0"
ROOMS = ("rollout", SOKOBAN, "--num-envs", 4, "--steps", 120)


def test_files_are_written_and_nothing_is_said_on_demand_alone(works, tmp_path):
    outcome = works(*ROOMS)
    assert re.fullmatch(r"[\d,]+", outcome.table["steps/s"])
    assert not list(tmp_path.iterdir())
    assert works(*ROOMS, "--quiet", "--out", "a.png", "--out", "run.npz").out == ""
    assert {path.name for path in tmp_path.iterdir()} == {"run.npz", "a.png"}


def test_a_saved_file_has_the_figures_of_the_table(run, tmp_path):
    table = run(
        *(*ROOMS, "--autoreset", "Disabled", "-o", "num_threads=2"),
        *("-o", "dim_room=(7, 7)", "-o", "num_boxes=2", "--out", "e.npz"),
    ).table
    with np.load(tmp_path / "e.npz", allow_pickle=False) as file:
        saved = {name: file[name] for name in file.files}
    assert len(saved["returns"]) == int(table["episodes"]) > 0
    for name, row in (("returns", "return"), ("lengths", "length")):
        column = saved[name]
        spread = f"{column.mean():.3f} ± {column.std():.3f}"
        assert table[row] == f"{spread} ({column.min():g} to {column.max():g})"
    assert table["success rate"] == f"{saved['success'].mean():.2%}"
    assert (str(saved["id"]), str(saved["seed"])) == (SOKOBAN, "0")
    assert json.loads(str(saved["config"])) == {
        "num_envs": 4,
        "steps": 120,
        "policy": "random",
        "autoreset": "Disabled",
        "options": {"dim_room": [7, 7], "num_boxes": 2},
    }
    versions = {"roll-vec", "gymnasium", "numpy", "numba", "python"}
    assert {*json.loads(str(saved["versions"]))} == versions
    dtypes = {"env_index": "i8", "success": "i1", "terminated": "b1", "truncated": "b1"}
    assert {name: saved[name].dtype.str[1:] for name in dtypes} == dtypes


def test_a_file_that_cannot_be_written_after_all_is_an_error(fails, monkeypatch):
    def full(*arguments, **_):
        raise OSError(errno.ENOSPC, "No space left on device")

    for function, name in (("save_picture", "'a.png'"), ("save_run", "'a.npz'")):
        with monkeypatch.context() as patch:
            patch.setattr(f"roll_vec.cli.rollout.{function}", full)
            line = fails(*ROOMS, "--out", "a.npz", "--out", "a.png")
        assert name in line
        assert "No space left on device" in line


def test_a_picture_shows_the_boards_at_the_end(run, tmp_path):
    image = pytest.importorskip("PIL.Image")
    arguments = ("--steps", 7, "--num-envs", 18, "--policy", TWOS)
    # A board is as large as the keywords ask for.
    scale = ("-o", "render_scale=2")
    outcome = run("rollout", SOKOBAN, *arguments, *scale, "--out", "b.PNG")
    assert "16 of 18 boards at the end: b.PNG" in outcome.out
    env = gymnasium.make_vec(SOKOBAN, num_envs=18, render_mode="rgb_array")
    env.reset(seed=0)
    for _ in range(7):
        env.step(np.full(18, 2))
    with image.open(tmp_path / "b.PNG") as saved:
        assert saved.format == "PNG"
        picture = np.asarray(saved)
    # Four rows of four boards of 6 × 6 tiles, each of 16 pixels, twice as large.
    side = 6 * 16 * 2
    assert picture.shape == (4 * side + 40, 4 * side + 40, 3)
    for index, board in enumerate(env.render()[:16]):
        top, left = (8 + place * (side + 8) for place in divmod(index, 4))
        part = picture[top : top + side : 2, left : left + side : 2]
        np.testing.assert_array_equal(part, board)
    env.close()


def test_foreign_boards_are_drawn_by_their_own_renderer(run, tmp_path, monkeypatch):
    pytest.importorskip("pygame")
    few = ("rollout", "CartPole-v1", "--num-envs", 2, "--steps", 2, "--out", "a.png")
    assert "boards at the end: a.png" in run(*few).out
    many = ("rollout", "CartPole-v1", "--num-envs", 65, "--steps", 2)
    outcome = run(*many, "--out", "boards.jpg")
    assert "no picture: the environment can only render all of its 65" in outcome.out
    assert {path.name for path in tmp_path.iterdir()} == {"a.png"}
    monkeypatch.setitem(sys.modules, "pygame", None)
    assert "no picture: rendering failed: pygame is not installed" in run(*few).out


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
    """A vector form that can do one mode, ends each episode and draws nothing."""

    metadata = {"autoreset_mode": AutoresetMode.SAME_STEP}  # noqa: RUF012
    single_observation_space = single_action_space = gymnasium.spaces.Discrete(2)
    observation_space = action_space = gymnasium.spaces.MultiDiscrete([2, 2])
    infos = {}  # noqa: RUF012

    def __init__(self, num_envs, autoreset_mode=None, render_mode=None):
        self.num_envs, self.render_mode = num_envs, render_mode

    def reset(self, *, seed=None, options=None):
        return np.zeros(2, int), {}

    def step(self, actions):
        ends = np.ones(2, bool)
        return np.zeros(2, int), np.ones(2), ends, ~ends, self.infos

    def render(self):
        return None


ODD = ("rollout", "Odd-v0", "--num-envs", 2, "--steps", 2)


def test_an_environment_without_frames_or_a_mode_says_so(run, fails, register):
    for entry_points, reason in (
        ({"entry_point": Plain}, "the environment has no render_mode"),
        ({"entry_point": Drawing}, "renders something else than (H, W, 3) frames"),
        ({"vector_entry_point": Pair}, "the environment renders something else"),
    ):
        register("Odd-v0", **entry_points)
        outcome = run(*ODD, "--autoreset", "SameStep", "--out", "a.png")
        assert outcome.code == 0
        assert "no picture: the environment" in outcome.out
        assert reason in outcome.out
    line = fails(*ODD)
    assert "argument --autoreset: Odd-v0 can only do SameStep" in line


OF_ALL = {"success": np.array([0.0, 1.0])}
OF_SOME = {"success": np.array([True, None]), "_success": np.array([True, False])}


@pytest.mark.parametrize(
    ("attributes", "success", "rate"),
    [
        # An unknown success is not a rate of zero.
        ({}, [-1, -1], "–"),
        ({"has_success": True, "successes": np.array([True, False])}, [1, 0], "50.00%"),
        ({"infos": {"final_info": OF_ALL}}, [0, 1], "50.00%"),
        ({"infos": {"final_info": OF_SOME}}, [1, -1], "100.00%"),
    ],
)
def test_success_is_what_the_environment_says(
    run, register, monkeypatch, attributes, success, rate
):
    for name, value in attributes.items():
        monkeypatch.setattr(Pair, name, value, raising=False)
    register("Odd-v0", vector_entry_point=Pair)
    flags = ("--autoreset", "SameStep", "--out", "e.npz")
    assert run(*ODD, *flags).table["success rate"] == rate
    assert np.load("e.npz")["success"].tolist() == success * 2


@FAULTS_ON_PURPOSE
def test_a_fault_ends_an_episode_of_unknown_success(run, user_module, policy_of):
    # The transcripts have one of each mode.
    policy = policy_of("def act(texts): return [texts[0][-1], 'raise', texts[2][-1]]\n")
    size = ("--num-envs", 3, "--steps", 1, "--out", "e.npz", "--policy", policy)
    table = run("rollout", ECHO, *size).table
    # An evaluation counts it as no success, too.
    assert (table["episodes"], table["success rate"]) == ("3", "66.67%")
    with np.load("e.npz") as saved:
        assert saved["success"].tolist() == [1, -1, 1]
        assert saved["returns"].tolist() == [1.0, 0.0, 1.0]
        assert saved["terminated"].tolist() == [True, False, True]
        assert saved["truncated"].tolist() == [False, True, False]


@FAULTS_ON_PURPOSE
def test_dead_workers_are_counted(run, user_module):
    options = ("-o", "workers=2", "-o", "executor=process")
    arguments = ("rollout", ECHO, "--num-envs", 2, "--steps", 1, *options)
    table = run(*arguments, "--policy", EXITS).table
    assert table["faults"] == "2"
    assert "exit code 3" in table["first fault"]


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="there is one way alone")
def test_processes_that_start_anew_find_modules_of_the_working_directory(
    run, user_module
):
    options = ("workers=1", "executor=process", "context=spawn", "step_timeout=60")
    flags = [flag for option in options for flag in ("-o", option)]
    assert run("rollout", ECHO, "--num-envs", 4, "--steps", 12, *flags).code == 0


def test_calls_that_load_kernels_are_no_part_of_the_speed(run):
    from roll_vec.kernels._notice import NOTICE

    def policy(_):
        if next(steps) == 4:
            NOTICE.num_kernels += 1
            time.sleep(0.2)
        return [0]

    steps = iter(range(8))
    envs = gymnasium.vector.SyncVectorEnv([Plain])
    times = roll_out(envs, policy, steps=8, seed=0).times
    assert times.env_steps == 6
    assert times.startup > 0.2 > times.seconds > 0
    shares = dict(re.findall(r"(\D+) (\d+)%", run(*ROOMS).table["time"]))
    assert [*shares] == ["game", ", drawing levels", ", policy", ", recording"]
    assert sum(map(int, shares.values())) == 100


def test_the_last_lines_are_commands_that_run(run, works, monkeypatch):
    monkeypatch.setattr("webbrowser.open", lambda _: True)
    for case in [(SOKOBAN,), (LAKE, "-o", "num_threads=2"), (LAKE, "--out", "a b.npz")]:
        out = run("rollout", *case, "--num-envs", 2, "--steps", 2).out
        title, *lines = out.splitlines()[-3:]
        assert title == "next:"
        for line in lines:
            monkeypatch.setattr(sys, "stdin", io.StringIO("q\n"))
            works(*shlex.split(line.removeprefix("  roll-vec ")))
