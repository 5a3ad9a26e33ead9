"""`roll-vec watch`: what it plays, what it writes, and its errors."""

from __future__ import annotations

import json
import struct
import zlib
from base64 import b64decode

import numpy as np
import pytest

from roll_vec.cli._run_file import FORMAT, KIND
from roll_vec.npz_files import read_npz, write_npz

LAKE, COUNTDOWN = "roll_vec/FrozenLake-v1", "roll_vec/Countdown-v0"


def header_of(path):
    """Return the header of a page's data, and the array of flags."""
    data = path.read_text("utf-8").partition('id="data"')[2].partition(">")[2]
    packed = zlib.decompress(b64decode(data.partition("<")[0]))
    (length,) = struct.unpack_from("<I", packed)
    return json.loads(packed[4 : 4 + length])


@pytest.fixture
def watch(run, tmp_path):
    """Run the command; return the exit code and the header of the page."""

    def watch(*arguments):
        outcome = run("watch", *arguments, "--out", "page.html")
        assert outcome.err == ""
        assert outcome.out.endswith("MB: page.html\n")
        return outcome.code, header_of(tmp_path / "page.html")

    return watch


@pytest.fixture
def save(run):
    """Save a run of eight lakes."""

    def save(*arguments):
        more = ("--num-envs", 8, "--steps", 20, "--no-image", "--save", "run.npz")
        assert run("rollout", LAKE, *more, "--quiet", *arguments).code == 0

    return save


def test_policy_in_new_environments(watch, tmp_path):
    arguments = (COUNTDOWN, "--num", 4, "--steps", 2, "--policy", "oracle", "--seed", 7)
    code, header = watch(*arguments, "-o", "group_size=2")
    assert code == 0
    assert header["envs"] == [0, 1, 2, 3]
    assert header["groupSize"] == 2
    assert header["isText"]
    assert dict(header["details"]) == {
        "policy": "oracle",
        "seed": "7",
        "with": "group_size=2",
    }
    page = (tmp_path / "page.html").read_bytes()
    watch(*arguments, "-o", "group_size=2")
    assert (tmp_path / "page.html").read_bytes() == page


def test_environment_of_a_user(watch, user_module):
    _, header = watch(f"{user_module}:mine/Corridor-v0", "--num", 2, "--steps", 9)
    assert {*header["actions"]} == {"Left", "Right"}
    assert header["texts"][0] == "..@.."


def test_short_id_and_defaults(watch):
    code, header = watch("roll_vec/FrozenLake")
    assert (code, header["id"]) == (0, LAKE)
    assert len(header["envs"]) == 16
    assert header["arrays"]["steps"][2] == 101


@pytest.mark.parametrize("values", [256, 0])
def test_run_is_played_again(watch, save, values):
    # With digests alone in the file, the values come from the replay.
    save("--save-values", values)
    code, header = watch("run.npz", "--envs", "1-2,5")
    assert code == 0
    assert header["isReplay"]
    assert header["difference"] is None
    assert header["envs"] == [1, 2, 5]
    assert header["boardShapes"] == [[4, 4]]
    assert dict(header["details"])["run"] == "run.npz"


def test_steps_of_a_run(watch, save):
    save()
    _, header = watch("run.npz", "--steps", 5, "--num", 1)
    assert header["arrays"]["steps"][2] == 6


def test_first_difference_is_on_the_page(watch, save, tmp_path):
    save("-o", "is_slippery=False", "--policy", "constant:0")
    path = tmp_path / "run.npz"
    header, arrays = read_npz(path, KIND, FORMAT)
    actions = np.zeros_like(arrays["actions"])
    actions[2, 6] = 2  # now one environment goes right
    arrays["actions"] = actions
    write_npz(path, KIND, FORMAT, header, arrays)
    code, header = watch("run.npz", "--num", 2)
    assert code == 1
    # The environment that differs is added.
    assert header["envs"] == [0, 1, 6]
    assert header["difference"] == {
        "step": 3,
        "env": 6,
        "field": "observations",
        "recorded": "0",
        "present": "1",
    }
    # Step 3 is the last.
    assert header["arrays"]["steps"][2] == 4


def test_run_that_an_exception_ended(run, watch, user_module):
    arguments = (
        "user_envs:mine/Echo-v0",
        "--policy",
        "constant:raise",
        "--num-envs",
        1,
    )
    more = ("-o", "on_error=raise", "--no-image", "--save", "run.npz", "--quiet")
    assert "out of [paper]" in run("rollout", *arguments, *more).err
    code, header = watch("run.npz")
    assert (code, header["difference"]) == (0, None)
    assert header["texts"][0].startswith("say ")


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ((LAKE, "--out", "page.pdf"), ["--out", ".html", "'page.pdf'"]),
        ((LAKE, "--out", "nowhere/page.html"), ["--out", "no directory 'nowhere'"]),
        (("roll_vec/Lake-v0", "--out", "p.html"), ["no environment roll_vec/Lake-v0"]),
        ((LAKE, "--envs", "1", "--out", "p.html"), ["--envs", "--num N"]),
        ((LAKE, "--envs", "3-1", "--out", "p.html"), ["--envs", "0-15,40", "'3-1'"]),
        (
            (LAKE, "--envs", "0-400000000", "--out", "p.html"),
            ["--envs", "at most 4,096 numbers, got 400,000,001"],
        ),
        ((LAKE, "--num", 100_000, "--out", "p.html"), ["--num", "from 1 to 4,096"]),
        (
            (LAKE, "--steps", 1_000_000, "--out", "p.html"),
            ["--steps", "16 environments of 1,000,000 steps take about 16 GB"],
        ),
        ((LAKE, "--policy", "best", "--out", "p.html"), ["--policy", "'best'"]),
        ((LAKE, "-o", "ice=1", "--out", "p.html"), ["ice"]),
        (("no.npz", "--out", "p.html"), ["RUN.npz", "'no.npz'", "No such file"]),
    ],
)
def test_errors_name_the_argument(fails, arguments, words, tmp_path):
    message = fails("watch", *arguments)
    assert all(word in message for word in words), message
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("--envs", "0,8"), ["--envs", "0 to 7", "8"]),
        (("--envs", "1", "--num", 2), ["--num", "not allowed with argument --envs"]),
        (("--seed", 1), ["--seed", "a saved run, which has its own"]),
        (("--policy", "random"), ["--policy", "a saved run"]),
        (("-o", "map_name=8x8"), ["run.npz cannot be played here", "map_name"]),
    ],
)
def test_errors_of_a_run(fails, save, arguments, words, tmp_path):
    save()
    message = fails("watch", "run.npz", *arguments, "--out", "page.html")
    assert all(word in message for word in words), message
    assert [path.name for path in tmp_path.iterdir()] == ["run.npz"]


def test_quiet_command_writes_the_file_alone(run, tmp_path):
    outcome = run("watch", LAKE, "--steps", 1, "--quiet", "--out", "page.html")
    assert (outcome.code, outcome.out, outcome.err) == (0, "", "")
    assert (tmp_path / "page.html").exists()


def test_open_shows_the_page(run, monkeypatch, tmp_path):
    urls = []
    monkeypatch.setattr("webbrowser.open", urls.append)
    run("watch", LAKE, "--steps", 1, "--open", "--out", "page.html")
    assert urls == [(tmp_path / "page.html").as_uri()]


def test_interrupt_leaves_no_file(run, monkeypatch, tmp_path):
    def interrupt(*arguments):
        raise KeyboardInterrupt

    monkeypatch.setattr("roll_vec.watch.recorder.FrameRecorder.add_step", interrupt)
    outcome = run("watch", LAKE, "--out", "page.html")
    assert outcome.code == 130
    assert not list(tmp_path.iterdir())


@pytest.mark.slow
def test_thousand_episodes_have_less_than_ten_megabytes(run, tmp_path):
    # docs/watching.md says so.
    arguments = ("roll_vec/Sokoban-v0", "-o", "dim_room=(10, 10)", "-o", "num_boxes=4")
    run("watch", *arguments, "--num", 1000, "--quiet", "--out", "page.html")
    assert 100_000 < (tmp_path / "page.html").stat().st_size < 10_000_000
