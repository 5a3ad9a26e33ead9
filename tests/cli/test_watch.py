"""`roll-vec watch`: the environments that it plays, its pages and GIFs."""

import zlib
from base64 import b64decode

import pytest

from tests.cli.conftest import changed_run
from tests.cli.small_envs import ZEROS
from tests.watch.test_recordings import unpack

LAKE, COUNTDOWN = "roll_vec/FrozenLake-v1", "roll_vec/Countdown-v0"
LAKES = (LAKE, "--num-envs", 8, "--steps", 20)


def header_of(path):
    """Return the header of a page's data."""
    data = path.read_text("utf-8").partition('id="data"')[2].partition(">")[2]
    return unpack(zlib.decompress(b64decode(data.partition("<")[0])))[0]


@pytest.fixture
def watch(run, tmp_path):
    """Run the command; return the exit code and the header of the page."""

    def watch(*arguments):
        outcome = run("watch", *arguments, "--out", "page.html")
        assert outcome.err == ""
        assert outcome.out.endswith("MB: page.html\n")
        return outcome.code, header_of(tmp_path / "page.html")

    return watch


def test_a_policy_in_new_environments(watch, tmp_path):
    arguments = f"{COUNTDOWN} --num-envs 4 --steps 2 --policy oracle --seed 7".split()
    code, header = watch(*arguments, "-o", "group_size=2")
    assert (code, header["id"], header["isReplay"]) == (0, COUNTDOWN, False)
    assert header["envs"] == [0, 1, 2, 3]
    assert (header["groupSize"], header["isText"]) == (2, True)
    details = {"policy": "oracle", "seed": "7", "with": "group_size=2"}
    assert dict(header["details"]) == details
    page = (tmp_path / "page.html").read_bytes()
    watch(*arguments, "-o", "group_size=2")
    assert (tmp_path / "page.html").read_bytes() == page


def test_a_run_is_played_again(watch, save):
    save(*LAKES)
    code, header = watch("run.npz", "--envs", "1-2,5")
    assert (code, header["isReplay"], header["difference"]) == (0, True, None)
    assert header["envs"] == [1, 2, 5]
    assert header["boardShapes"][0] == [4, 4]
    assert dict(header["details"])["run"] == "run.npz"
    _, header = watch("run.npz", "--steps", 5, "--num-envs", 1)
    assert header["arrays"]["steps"][2] == 6
    assert header["envs"] == [0]


def test_the_first_difference_is_on_the_page(watch, save):
    save(*LAKES, "-o", "is_slippery=False", "--policy", ZEROS)
    with changed_run() as (_, arrays):
        arrays["actions"][2, 6] = 2  # now one environment goes right
    code, header = watch("run.npz", "--num-envs", 2)
    # The environment that differs need not be on the page.
    assert (code, header["envs"]) == (1, [0, 1])
    difference = header["difference"]
    assert (difference["step"], difference["env_id"]) == (3, 6)
    assert difference["field"].startswith("observations")
    # Step 3 is the last.
    assert header["arrays"]["steps"][2] == 4


def test_a_quiet_command_writes_and_opens_the_file(
    run, watch, policy_of, monkeypatch, tmp_path
):
    urls = []
    monkeypatch.setattr("webbrowser.open", urls.append)
    page = ("watch", "roll_vec/FrozenLake", "--quiet", "--out", "page.html")
    policy = policy_of("def act(observations): raise KeyboardInterrupt")
    outcome = run(*page, "--policy", policy)
    assert (outcome.code, outcome.err) == (130, "roll-vec: interrupted\n")
    assert not list(tmp_path.glob("*.html"))
    outcome = run(*page)
    assert (outcome.code, outcome.out, outcome.err, urls) == (0, "", "", [])
    header = header_of(tmp_path / "page.html")
    assert (len(header["envs"]), header["arrays"]["steps"][2]) == (16, 101)
    run(*page, "--steps", 1, "--open")
    assert urls == [(tmp_path / "page.html").as_uri()]


def test_a_gif_of_a_policy(run, tmp_path):
    image = pytest.importorskip("PIL.Image")
    size = ("--num-envs", 4, "--steps", 6, "--fps", 20, "--scale", 1)
    outcome = run("watch", LAKE, *size, "--out", "lakes.gif")
    assert outcome.code == 0
    with image.open(tmp_path / "lakes.gif") as gif:
        assert gif.n_frames == 7
        assert gif.info["duration"] == 50
    assert "4 environments, 6 steps" in outcome.out
    assert [path.name for path in tmp_path.iterdir()] == ["lakes.gif"]
