"""Recordings: frames of each mode, groups, faults, pictures; and their page.

The page: its data, its size, and that no text can leave its place.
"""

import base64
import dataclasses
import hashlib
import io
import json
import pickle
import re
import struct
import zlib
from html.parser import HTMLParser

import gymnasium
import numpy as np
import pytest
from PIL import Image

from roll_vec.watch import FrameRecorder
from roll_vec.watch.packing import LONGEST_TEXT, STEP, SUCCESS, TERMINATED, pack
from roll_vec.watch.page import make_page
from tests.watch import recordings
from tests.watch.recordings import COUNTDOWN, HOSTILE, LAKE, record

MODES = ["NextStep", "SameStep", "Disabled"]


def episodes_of(recording):
    """Return the frames of each episode that ended, by environment and number."""
    episodes = {}
    for env_id, frames in zip(recording.env_ids, recording.frames, strict=True):
        for frame in filter(None, frames):
            episodes.setdefault((env_id, frame.episode), []).append(frame)
    return {key: each for key, each in episodes.items() if each[-1].has_ended}


@pytest.mark.parametrize("mode", MODES)
def test_frames_are_those_of_the_rollout(mode):
    # `tests/trajectories/test_fold.py` has returns and lengths.
    recording = record(LAKE, mode)
    episodes = episodes_of(recording)
    assert len(episodes) > 6
    names = {"Left", "Down", "Right", "Up"}
    for frames in episodes.values():
        first, *steps = frames
        assert first.is_reset
        assert {frame.action_name for frame in steps} <= names
        assert [frame.length for frame in frames] == [*range(len(frames))]
        # The player is in a hole (4) or at the goal (5) at the end, and nowhere before.
        assert np.isin(frames[-1].board, (4, 5)).any()
        assert not any(np.isin(frame.board, (4, 5)).any() for frame in frames[:-1])
        assert frames[-1].success == (frames[-1].board == 5).any()
    # Where an end and the next start are not one step, they are two ticks.
    resets = [tick.step for tick in recording.ticks if tick.is_reset]
    assert resets[0] == 0
    assert (len(resets) > 2) == (mode != "NextStep")
    assert recording.ticks[-1].step == 40


def test_a_batch_is_as_before_after_the_recording():
    envs = gymnasium.make_vec(LAKE, 2, autoreset_mode="SameStep")
    results = envs.reset(seed=0)
    before = {*vars(envs.unwrapped.engine)}
    recorder = FrameRecorder(envs, [0])
    recorder.add_reset(*results)
    recorder.recording(LAKE, {})
    assert {*vars(envs.unwrapped.engine)} == before
    pickle.dumps(envs)
    envs.close()


def test_conversations():
    def solve(envs):
        return envs.get_attr("oracle_action")

    recording = record(COUNTDOWN, num=4, steps=2, act=solve, group_size=2)
    assert recording.is_text
    assert recording.group_size == 2
    first, second = recording.frames[0][:2]
    assert first.text == recording.frames[1][0].text
    assert first.text != recording.frames[2][0].text
    assert "numbers" in first.infos["env_instruction"]
    assert second.infos["action_content"] == second.action
    assert (second.reward, second.success, second.terminated) == (1.0, True, True)


def test_pictures_of_others_or_else_their_observations_as_text():
    pytest.importorskip("pygame")
    more = {"num": 2, "render_mode": "rgb_array", "act": lambda _: np.ones(2, int)}
    recording = record("CartPole-v1", "SameStep", steps=12, **more)
    frame = recording.frames[1][2]
    assert frame.picture.dtype == np.uint8
    assert frame.picture.shape[2] == 3
    assert frame.board is frame.text is recording.tiles is None
    # The last picture of an episode would be that of the next one.
    last = next(frame for frame in recording.frames[0] if frame and frame.has_ended)
    assert last.picture is last.text is None
    recording = record("CartPole-v1", num=2, steps=1)
    assert recording.frames[0][1].text.startswith("[")


class Reader(HTMLParser):
    """The elements of a page, and the texts of its scripts and styles."""

    def __init__(self, page):
        super().__init__()
        self.tags, self.texts, self._open = [], {}, None
        self.feed(page)

    def handle_starttag(self, tag, attributes):
        self.tags.append((tag, dict(attributes)))
        if tag in ("script", "style", "title"):
            self._open = (tag, dict(attributes).get("id"))
            self.texts[self._open] = ""

    def handle_data(self, data):
        if self._open is not None:
            self.texts[self._open] += data

    def handle_endtag(self, tag):
        if self._open is not None and tag == self._open[0]:
            self._open = None


def unpack(data):
    """Return the header and the arrays of packed data, read as the page does it."""
    (length,) = struct.unpack_from("<I", data)
    header = json.loads(data[4 : 4 + length])
    arrays = {
        name: np.frombuffer(data, dtype, size, 4 + length + offset)
        for name, (dtype, offset, size) in header["arrays"].items()
    }
    assert all(offset % 8 == 0 for _, offset, _ in header["arrays"].values())
    assert (4 + length) % 8 == 0
    return header, arrays


def test_page_has_the_data_and_nothing_of_others():
    for make in (recordings.boards, recordings.talks, recordings.differing):
        page = make_page(make())
        reader = Reader(page)
        packed = zlib.decompress(base64.b64decode(reader.texts["script", "data"]))
        assert packed == pack(make())
        # Two scripts, one of them data: no text has become an element.
        tags = [tag for tag, _ in reader.tags]
        assert (tags.count("script"), "img" in tags) == (2, False)
        assert "window.broken" not in page
        assert page == make_page(make())  # no time stamp, no hash()


def test_policy_allows_this_script_and_no_network():
    page = make_page(recordings.boards())
    reader = Reader(page)
    (policy,) = (
        attributes["content"]
        for tag, attributes in reader.tags
        if attributes.get("http-equiv") == "Content-Security-Policy"
    )
    rules = dict(rule.strip().split(" ", 1) for rule in policy.split(";"))
    assert rules["default-src"] == "'none'"
    for rule, text in (
        ("script-src", reader.texts["script", None]),
        ("style-src", reader.texts["style", None]),
    ):
        digest = base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
        assert rules[rule] == f"'sha256-{digest}'"
    assert "connect-src" not in rules
    urls = re.findall(r"https?://[^\"' ]+", page)
    assert set(urls) == {"http://www.w3.org/2000/svg"}  # a name, not an address


def test_frames_are_in_the_columns():
    recording = recordings.boards()
    header, arrays = unpack(pack(recording))
    shape = len(recording.env_ids), len(recording.ticks)
    columns = {
        name: arrays[name].reshape(shape)
        for name in ("flags", "rewards", "action", "board", "fault")
    }
    boards = arrays["boards"].reshape(-1, 2, 4)
    names = [None, *header["actions"]]
    faults = [None, *header["faults"]]
    assert len(boards) == 8  # each once
    for i, frames in enumerate(recording.frames):
        for t, frame in enumerate(frames):
            place = i, t
            if frame is None:
                assert columns["flags"][place] == 0
                continue
            board = boards[columns["board"][place] - 1]
            assert np.array_equal(board, frame.board)
            assert columns["rewards"][place] == frame.reward
            assert bool(columns["flags"][place] & STEP) is not frame.is_reset
            assert (names[columns["action"][place]] or "") == frame.action_name
            assert faults[columns["fault"][place]] == frame.fault
    assert columns["flags"][0, 4] & TERMINATED
    assert columns["flags"][0, 4] & SUCCESS
    assert not columns["flags"][1, 3] & SUCCESS
    (prob, success) = header["infos"]
    assert (prob["name"], prob["values"]) == ("prob", [1.0])
    # True equals 1.0 in Python, and has an entry of its own.
    assert success["values"] == [False, True]


def test_texts_are_as_they_were_and_long_ones_end_with_their_length():
    header, _ = unpack(pack(recordings.talks()))
    assert header["actions"] == [HOSTILE, "click[buy now]"]
    values = {info["name"]: info["values"] for info in header["infos"]}
    assert values["nested"] == [
        {"<i>": [HOSTILE.replace("\ud800", "?"), None, True, "nan"]}
    ]
    assert header["isText"]
    frame = dataclasses.replace(recordings.RESET, text="x" * (LONGEST_TEXT + 5))
    header, _ = unpack(pack(recordings.make([[frame]])))
    (text,) = header["texts"]
    assert text == "x" * LONGEST_TEXT + "\n... (5 more characters)"


def test_pictures_are_png_files_and_stand_once():
    pixels = np.random.default_rng(0).integers(0, 256, (40, 50, 3), np.uint8)
    frame = dataclasses.replace(recordings.RESET, picture=pixels)
    again = dataclasses.replace(frame, picture=pixels.copy())
    header, arrays = unpack(pack(recordings.make([[frame], [again]])))
    assert len(header["pictureEnds"]) == 1
    image = Image.open(io.BytesIO(arrays["pictures"].tobytes()))
    assert np.array_equal(np.asarray(image), pixels)


def test_title_is_escaped():
    id = "<i>/&{{data}}</title>"
    page = make_page(recordings.make([[recordings.RESET]], id=id))
    assert Reader(page).texts["title", None] == f"{id} - roll-vec watch"
    # Signs are drawn, and not characters of few fonts.
    assert not set("✓✗■⚠≠►◄⏮⏭") & set(page)
