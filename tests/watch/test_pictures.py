"""Recordings as lines of text, as pictures and as videos."""

import dataclasses
import io

import gymnasium
import numpy as np
import pytest

from roll_vec.errors import InvalidOptionError
from roll_vec.progress import listen
from roll_vec.recordings import Difference
from roll_vec.watch import pictures, write_gif, write_mp4, write_text
from roll_vec.watch.pictures import PictureMaker
from tests.conftest import ROOT
from tests.watch.recordings import LAKE, RESET, STEP, make, record

image = pytest.importorskip("PIL.Image")
ENDS = {
    "success": {"terminated": True, "success": True},
    "failure": {"terminated": True, "success": False},
    "terminated": {"terminated": True},
    "truncated": {"truncated": True, "success": False},
    "fault": {"truncated": True, "fault": "it broke"},
}
HOSTILE = "\x1b]0;title\x07\x1b[2J\r\x9b1m\tnext\x7f\u202e\u2067\x1c"


@pytest.fixture(scope="module")
def lakes():
    return record(LAKE, num=5, steps=8)[0]


def recording_of(*frames, **fields):
    """Return a recording of one environment, with a frame at each tick."""
    return make([frames], env_ids=(7,), **fields)


def step(**fields):
    return dataclasses.replace(STEP, **fields)


def draw(recording, **options):
    """Return the pictures of all ticks: (T, H, W, 3)."""
    maker = PictureMaker(recording, **options)
    return np.array([np.asarray(image) for image in maker.pictures()])


# The transcript `tests/cli/golden/watch.session` has the lines of each step.


def test_returns_have_no_rounding_errors():
    totals = {-4.44e-16: "0", 0.1 + 0.2: "0.3", -0.0: "0", 1e9: "1e+09"}
    for total, text in totals.items():
        assert step(total_reward=total).return_text == text


def lines_of(recording, **options):
    """Return the lines of the plain text."""
    out = io.StringIO()
    write_text(out, recording, **options)
    return out.getvalue().split("\n")


def test_texts_of_models_cannot_reach_the_terminal():
    talk = recording_of(step(action_name=HOSTILE, text="a\x1b[31m\nb"), is_text=True)
    board = recording_of(
        step(action_name=HOSTILE, board=np.ones((1, 1), np.uint8)), glyphs=("#", "_")
    )
    for recording in (talk, board):
        text = "".join(lines_of(recording))
        assert not [letter for letter in text if not letter.isprintable()]
    assert "next" in "".join(lines_of(talk))


def test_long_lines_are_wrapped_and_boards_keep_their_spaces():
    text = "P _\n_ O\n" + "word " * 30
    recording = recording_of(dataclasses.replace(RESET, text=text), is_text=True)
    lines = lines_of(recording, width=40)
    assert lines[3:5] == ["P _", "_ O"]
    assert max(map(len, lines[1:])) <= 40
    assert " ".join(lines[5:]).split() == ["word"] * 30


def places(picture, part):
    """Return the (top, left) places where a part stands in a picture."""
    rows = picture.shape[0] - part.shape[0] + 1
    columns = picture.shape[1] - part.shape[1] + 1
    is_like = np.ones((rows, columns), bool)
    for y, x in ((0, 0), (-1, -1), (31, 7), (13, 50), (40, 24), (9, 60)):
        y, x = y % part.shape[0], x % part.shape[1]
        is_like &= (picture[y : y + rows, x : x + columns] == part[y, x]).all(axis=-1)
    return [
        (y, x)
        for y, x in np.argwhere(is_like).tolist()
        if (picture[y : y + part.shape[0], x : x + part.shape[1]] == part).all()
    ]


def test_boards_are_drawn_with_their_tiles_in_a_grid(lakes):
    scale = 2
    envs = gymnasium.make_vec(LAKE, 1, obs_mode="rgb")
    drawn = envs.reset(seed=3)[0][0].repeat(scale, 0).repeat(scale, 1)
    envs.close()
    for number, picture in enumerate(draw(lakes, scale=scale)):
        corners = []
        for index in range(5) if number % 4 == 0 else ():
            board = lakes.latest(index, number).board
            tiles = lakes.tiles[board].transpose(0, 2, 1, 3, 4)
            part = tiles.reshape(64, 64, 3).repeat(scale, 0).repeat(scale, 1)
            assert number or (part == drawn).all()
            corners += places(picture, part)
        if number == 0:
            # All begin with the same board: 3 columns and 2 rows.
            assert len({*corners}) == 5
            assert [len({place[i] for place in corners}) for i in (0, 1)] == [2, 3]
        assert corners or number % 4


@pytest.fixture
def words(monkeypatch):
    collected = []
    write = pictures._write

    def write_and_collect(image, left, top, text, ink):
        collected.append(text)
        write(image, left, top, text, ink)

    monkeypatch.setattr(pictures, "_write", write_and_collect)
    return collected


@pytest.mark.parametrize("word", ENDS)
def test_captions_have_action_reward_return_and_end(words, word):
    board = np.ones((6, 6), np.uint8)
    begin = dataclasses.replace(RESET, board=board)
    end = step(board=board, reward=-0.1, total_reward=0.8, length=1, **ENDS[word])
    frames = begin, step(board=board, length=0), end
    recording = recording_of(*frames, glyphs=("#", "_"))
    first, second, last = draw(recording)
    assert {"#7", "start", "step 0", "0"} <= {*words}
    assert {"Right", "-0.1", "0.8", word, "step 2"} <= {*words}
    # Only the end has a frame around the board, in a colour of its own.
    inks = [
        {tuple(ink) for ink in picture.reshape(-1, 3).tolist()}
        for picture in (second, last)
    ]
    edges = [picture[pictures.LINE_HEIGHT : -40, 4:24] for picture in (first, last)]
    assert (edges[0] != edges[1]).any(axis=-1).sum() > 30
    assert inks[1] - inks[0]
    lines = lines_of(recording)
    assert lines[-3:-1] == ["#7 Right        -0.1", f"{word}{'0.8':>{20 - len(word)}}"]


def test_the_first_difference_of_a_replay_is_marked(words):
    frames = [step(board=np.ones((4, 4), np.uint8)) for _ in range(3)]
    difference = Difference(2, 7, "rewards", "1", "2")
    recording = recording_of(*frames, difference=difference)
    draw(recording, scale=3)
    assert words.count("first difference") == 1


def test_texts_have_a_panel_with_the_answer_and_the_observation(words):
    text = "Target: 24\n" + "a long line " * 20 + "\nend √ \x1b[2J"
    recording = recording_of(
        dataclasses.replace(RESET, text=text),
        step(action_name="(1 + 2) * 8", text="Right"),
        tiles=None,
    )
    first, second = draw(recording)
    assert {"Target: 24", "(1 + 2) * 8", "Right"} <= {*words}
    assert (first != second).any()


def test_large_pictures_are_reduced_and_too_large_ones_refused(lakes):
    picture = np.zeros((300, 2000, 3), np.uint8)
    picture[:, 1000:] = 200
    recording = recording_of(step(picture=picture), tiles=None)
    (drawn,) = draw(recording)
    assert drawn.shape[1] <= 1100
    black, grey = ((drawn == level).all(axis=-1).sum() for level in (0, 200))
    assert black == grey > 100 * 300
    with pytest.raises(InvalidOptionError, match="4096 pixels are enough"):
        PictureMaker(lakes, scale=40)


def gif_of(recording, **options):
    """Return the file, the pictures in it and how long each stays, in milliseconds."""
    write_gif(file := io.BytesIO(), recording, **options)
    with image.open(file) as gif:
        frames, durations = [], []
        for number in range(gif.n_frames):
            gif.seek(number)
            frames.append(np.asarray(gif.convert("RGB")))
            durations.append(gif.info["duration"])
        assert gif.info["loop"] == 0
    return file.getvalue(), frames, durations


def test_a_gif_shows_each_tick_in_its_exact_colours(lakes):
    counts = []
    with listen(lambda *each: counts.append(each)):
        data, frames, durations = gif_of(lakes, fps=10, scale=1)
    assert counts == [("written", number, 9) for number in range(1, 10)]
    drawn = draw(lakes, scale=1)
    # Every tick has another number of steps in its title.
    assert len(frames) == len(drawn) == 9
    np.testing.assert_array_equal(frames, drawn)
    assert durations == [100] * 8 + [2000]
    again, _, durations = gif_of(lakes, fps=0.01, scale=1)
    assert durations[0] == 100_000
    assert again != data == gif_of(lakes, fps=10, scale=1)[0]


def test_a_gif_of_renderings_has_the_colours_that_fit_best():
    noise = np.random.default_rng(0).integers(0, 256, (64, 64, 3), dtype=np.uint8)
    frames = step(picture=noise), step(picture=noise[::-1])
    recording = recording_of(*frames, tiles=None)
    _, frames, _ = gif_of(recording)
    for frame, picture in zip(frames, draw(recording), strict=True):
        assert np.abs(frame.astype(int) - picture).mean() < 20
        assert len(np.unique(frame.reshape(-1, 3), axis=0)) <= 256


# The reader of imageio-ffmpeg does not close its pipes.
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_an_mp4_plays(lakes, tmp_path):
    ffmpeg = pytest.importorskip("imageio_ffmpeg")
    path = tmp_path / "video.mp4"
    counts = []
    with path.open("wb") as file, listen(lambda *each: counts.append(each)):
        write_mp4(file, lakes, fps=5, scale=1)
    assert counts == [("written", number, 9) for number in range(1, 10)]
    reader = ffmpeg.read_frames(str(path))
    facts = next(reader)
    assert facts["fps"] == 5
    width, height = facts["size"]
    decoded = [
        np.frombuffer(each, np.uint8).reshape(height, width, 3) for each in reader
    ]
    # The last picture stays for two seconds.
    assert len(decoded) == 9 + 9
    for frame, picture in zip(decoded, draw(lakes, scale=1), strict=False):
        assert np.abs(frame.astype(int) - picture).mean() < 4


def test_speeds_that_no_video_has_are_refused(lakes):
    speeds = [(write_gif, fps, 50) for fps in (0, -1, 0.009, np.nan, 51)]
    for write, fps, highest in (*speeds, (write_mp4, 241, 240)):
        message = rf"fps: expected a number from 0\.01 to {highest}"
        with pytest.raises(InvalidOptionError, match=message):
            write(io.BytesIO(), lakes, fps=fps)


def test_the_picture_of_the_readme_is_small():
    # docs/watching.md has the command that writes it.
    with image.open(ROOT / "docs" / "sokoban.gif") as gif:
        assert gif.n_frames == 31
    assert (ROOT / "docs" / "sokoban.gif").stat().st_size < 300_000
