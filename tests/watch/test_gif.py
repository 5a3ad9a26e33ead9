"""Recordings as animated GIFs."""

import dataclasses
import io

import gymnasium
import numpy as np
import pytest

from roll_vec.errors import InvalidOptionError
from roll_vec.progress import listen
from roll_vec.recordings import Difference
from roll_vec.watch import write_gif
from tests.watch.recordings import LAKE, RESET, STEP, latest, make, record

image = pytest.importorskip("PIL.Image")
ENDS = {
    "success": {"terminated": True, "success": True},
    "failure": {"terminated": True, "success": False},
    "terminated": {"terminated": True},
    "truncated": {"truncated": True, "success": False},
    "fault": {"truncated": True, "fault": "it broke"},
}
BOARD = np.ones((6, 6), np.uint8)


def recording_of(*frames, **fields):
    """Return a recording of one environment, with a frame at each tick."""
    return make([frames], env_ids=(7,), **fields)


def step(**fields):
    return dataclasses.replace(STEP, **fields)


def gif_of(recording, **options):
    """Return the pictures of the file, and how long each stays, in milliseconds."""
    write_gif(file := io.BytesIO(), recording, **options)
    with image.open(file) as gif:
        frames, durations = [], []
        for number in range(gif.n_frames):
            gif.seek(number)
            frames.append(np.asarray(gif.convert("RGB")))
            durations.append(gif.info["duration"])
        assert gif.info["loop"] == 0
    return frames, durations


@pytest.fixture
def words(monkeypatch):
    """Return the texts that are written into pictures."""
    draws = pytest.importorskip("PIL.ImageDraw").ImageDraw
    collected, write = [], draws.text

    def write_and_collect(self, place, text, *args, **keywords):
        collected.append(text)
        write(self, place, text, *args, **keywords)

    monkeypatch.setattr(draws, "text", write_and_collect)
    return collected


def test_a_gif_shows_the_boards_of_each_tick_in_their_exact_colours():
    scale, recording = 2, record(LAKE, num=5, steps=8)
    counts = []
    with listen(lambda *each: counts.append(each)):
        frames, durations = gif_of(recording, fps=10, scale=scale)
    assert counts == [("written", number, 9) for number in range(1, 10)]
    assert durations == [100] * 8 + [2000]
    envs = gymnasium.make_vec(LAKE, 1, obs_mode="rgb")
    drawn = envs.reset(seed=3)[0][0].repeat(scale, 0).repeat(scale, 1)
    envs.close()
    # Two columns: the places of the boards are those of the first picture.
    corner = (frames[0] == drawn[0, 0]).all(axis=-1)
    places = [
        (y, x)
        for y, x in np.argwhere(corner).tolist()
        if np.array_equal(frames[0][y : y + 128, x : x + 128], drawn)
    ]
    assert [len({place[i] for place in places}) for i in (0, 1)] == [3, 2]
    for tick, frame in enumerate(frames):
        for index, (y, x) in enumerate(places):
            tiles = recording.tiles[latest(recording, index, tick).board]
            board = tiles.transpose(0, 2, 1, 3, 4).reshape(64, 64, 3)
            board = board.repeat(scale, 0).repeat(scale, 1)
            assert np.array_equal(frame[y : y + 128, x : x + 128], board)


@pytest.mark.parametrize("word", ENDS)
def test_captions_have_action_reward_return_and_end(words, word):
    # The sum of three tenths is not exact.
    fields = {"board": BOARD, "reward": -0.1, "total_reward": 0.1 + 0.2}
    end = step(length=2, **fields, **ENDS[word])
    begin = dataclasses.replace(RESET, board=BOARD)
    first, last = gif_of(recording_of(begin, end))[0]
    assert {"#7 start", "step 0", "0"} <= {*words}
    assert {"#7 Right", "-0.1", "0.3", word, "step 1"} <= {*words}
    # The end has a frame around the board.
    assert (first[60, 10:12] != last[60, 10:12]).any()


def test_the_first_difference_of_a_replay_is_marked(words):
    difference = Difference(2, 7, "rewards", "1", "2")
    gif_of(recording_of(*[step(board=BOARD)] * 3, difference=difference))
    assert words.count("first difference") == 1


def test_texts_have_a_panel_with_the_answer_and_the_observation(words):
    text = "Target: 24\n" + "a long line " * 20 + "\nend √ \x1b[2J"
    answer = step(action_name="(1 + 2) * 8", text="Right")
    begin = dataclasses.replace(RESET, text=text)
    first, second = gif_of(recording_of(begin, answer, tiles=None))[0]
    assert {"Target: 24", "(1 + 2) * 8", "Right"} <= {*words}
    assert (first != second).any()


def test_large_pictures_are_reduced_and_get_256_colours():
    noise = np.random.default_rng(0).integers(0, 256, (300, 2000, 3), dtype=np.uint8)
    noise[:, 1000:] = 200
    (frame,), _ = gif_of(recording_of(step(picture=noise), tiles=None))
    assert frame.shape[1] < 950
    assert len(np.unique(frame.reshape(-1, 3), axis=0)) <= 256
    grey = (abs(frame.astype(int) - 200) < 20).all(axis=-1).sum()
    assert 0.9 < grey / (450 * 135) < 1.1


def test_sizes_and_speeds_that_no_gif_has_are_refused():
    recording = recording_of(step(board=BOARD))
    with pytest.raises(InvalidOptionError, match=r"4096 .* \(--num-envs\) .* \(--sc"):
        write_gif(io.BytesIO(), recording, scale=90)
    for fps in (0, 0.009, np.nan, 51):
        with pytest.raises(InvalidOptionError, match=r"number from 0\.01 to 50"):
            write_gif(io.BytesIO(), recording, fps=fps)
