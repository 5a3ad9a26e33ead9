"""Recordings: frames of each autoreset mode, groups, faults, pictures."""

from __future__ import annotations

import pickle

import gymnasium
import numpy as np
import pytest

import roll_vec
from roll_vec.errors import EnvironmentFaultWarning
from roll_vec.registration import ENVIRONMENTS
from roll_vec.watch import FrameRecorder
from tests.watch.recordings import COUNTDOWN, LAKE, record

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
    recording, episodes = record(LAKE, mode, reward_schedule=(1, -1, 0.25))
    own = episodes_of(recording)
    ends = [
        (env_id, frames[-1].total_reward, frames[-1].length)
        for (env_id, _), frames in own.items()
    ]
    assert sorted(ends) == sorted(episodes)
    assert len(ends) > 6
    names = {"Left", "Down", "Right", "Up"}
    for frames in own.values():
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


def test_every_mode_has_the_same_frames():
    def walk(mode):
        # One environment, whose actions do not depend on how resets are counted.
        recording, _ = record(LAKE, mode, num=1, act=lambda _: np.array([2]))
        return [
            [(f.board.tolist(), f.action_name, f.reward, f.success) for f in frames]
            for frames in episodes_of(recording).values()
        ]

    expected = walk("NextStep")
    assert len(expected) > 2
    for mode in MODES[1:]:
        assert walk(mode)[: len(expected)] == expected


def test_a_batch_is_as_before_after_the_recording():
    envs = gymnasium.make_vec(LAKE, 2, autoreset_mode="SameStep")
    before = {*vars(envs.unwrapped.engine)}
    recorder = FrameRecorder(envs, [0])
    recorder.add_reset(*envs.reset(seed=0))
    recorder.recording(LAKE, {})
    assert {*vars(envs.unwrapped.engine)} == before
    pickle.dumps(envs)
    envs.close()


def test_conversations():
    def solve(envs):
        return envs.get_attr("oracle_action")

    recording, _ = record(COUNTDOWN, num=4, steps=2, act=solve, group_size=2)
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
    recording, _ = record("CartPole-v1", "SameStep", steps=12, **more)
    frame = recording.frames[1][2]
    assert frame.picture.dtype == np.uint8
    assert frame.picture.shape[2] == 3
    assert frame.board is frame.text is recording.tiles is None
    # The last picture of an episode would be that of the next one.
    last = next(frame for frame in recording.frames[0] if frame and frame.has_ended)
    assert last.picture is last.text is None
    recording, _ = record("CartPole-v1", num=2, steps=1)
    assert recording.frames[0][1].text.startswith("[")


class Fragile(roll_vec.BaseLanguageBasedEnv):
    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        return "hello", {}

    def step(self, action):
        raise OSError("out of paper")


def test_faults():
    id = "mine/Fragile-v0"
    roll_vec.register(id, Fragile, max_episode_steps=9)
    try:
        with pytest.warns(EnvironmentFaultWarning, match="out of paper"):
            recording, _ = record(id, num=1, steps=2, act=lambda _: ["hi"])
    finally:
        del ENVIRONMENTS[id], gymnasium.registry[id]
    frame = recording.frames[0][1]
    assert "out of paper" in frame.fault
    assert frame.truncated
    assert "error" not in frame.infos


def test_the_latest_frame_is_visible():
    recording, _ = record(LAKE, "Disabled")
    index, tick = next(
        (i, t)
        for i, frames in enumerate(recording.frames)
        for t, frame in enumerate(frames)
        if frame is None
    )
    assert recording.latest(index, tick) is recording.frames[index][tick - 1]
