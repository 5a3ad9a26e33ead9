"""Small recordings: of batches that are played, and written by hand."""

import dataclasses
from functools import cache

import gymnasium
import numpy as np

from roll_vec.recordings import Difference
from roll_vec.watch import FrameRecorder, Recording
from roll_vec.watch.frames import Frame, Tick

LAKE, COUNTDOWN = "roll_vec/FrozenLake-v1", "roll_vec/Countdown-v0"


def record(id, mode="NextStep", *, num=6, steps=40, act=None, **options):
    """Record a batch that is played by a function of the batch, or at random."""
    own = {"vector_kwargs": {"autoreset_mode": mode}, "vectorization_mode": "sync"}
    if "/" in id:
        own = {"autoreset_mode": mode}
    envs = gymnasium.make_vec(id, num, **own, **options)
    envs.action_space.seed(3)
    recorder = FrameRecorder(envs, range(num))
    recorder.add_reset(*envs.reset(seed=3))
    for _ in range(steps):
        actions = envs.action_space.sample() if act is None else act(envs)
        results = envs.step(actions)
        recorder.add_step(actions, *results)
        ends = results[2] | results[3]
        if mode == "Disabled" and ends.any():
            recorder.add_reset(*envs.reset(options={"reset_mask": ends}), ends)
    recording = recorder.recording(id, {})
    envs.close()
    return recording


RESET = Frame(is_reset=True, episode=0)
STEP = dataclasses.replace(RESET, is_reset=False, action=1, action_name="Right")

# Texts that break a careless page.
HOSTILE = (
    "</script><script>window.broken = 1</script><img src=x onerror='window.broken = 2'>"
    "<!-- {{script}} -->\0\x1b[31m \ud800 \u202eevil\u202c &lt;b&gt; \u2028 end"
)
VISIBLE = (  # as the page shows it
    "</script><script>window.broken = 1</script><img src=x onerror='window.broken = 2'>"
    "<!-- {{script}} -->⟨U+0000⟩⟨U+001B⟩[31m ⟨U+D800⟩ "
    "⟨U+202E⟩evil⟨U+202C⟩ &lt;b&gt; ⟨U+2028⟩ end"
)


def board(place):
    """Return a lake of two rows: the player at a place, a hole at 3, the goal at 7."""
    codes = np.full(8, 1, np.uint8)
    codes[3], codes[7] = 2, 3
    codes[place] = {3: 4, 7: 5}.get(place, 0)
    return codes.reshape(2, 4)


def walk(places, **last):
    """Return the frames of a walk; the keywords are of its last frame."""
    frames, total = [dataclasses.replace(RESET, board=board(places[0]))], 0.0
    for k, place in enumerate(places[1:], 1):
        total += 0.1
        own = last if k == len(places) - 1 else {}
        frames.append(
            dataclasses.replace(
                STEP,
                length=k,
                reward=0.1,
                total_reward=total,
                board=board(place),
                infos={"prob": 1.0, "success": own.get("success", False)},
                **own,
            )
        )
    return frames


@cache
def lake_tiles():
    return record(LAKE, num=1, steps=1).tiles


def make(rows, **more):
    """Return a recording of rows of frames, padded to one length."""
    length = max(map(len, rows))
    padded = [(*row, *[None] * (length - len(row))) for row in rows]
    fields = {
        "id": "roll_vec/FrozenLake-v1",
        "details": {"policy": "by hand", "seed": "0"},
        "env_ids": tuple(range(len(rows))),
        "ticks": tuple(Tick(t, is_reset=t == 0) for t in range(length)),
        "frames": tuple(padded),
        "tiles": lake_tiles(),
    }
    return Recording(**{**fields, **more})


def boards(**more):
    """Environment 0 reaches the goal at tick 4, 1 falls at 3, 2 has a fault at 5."""
    return make(
        [
            walk([0, 4, 5, 6, 7], terminated=True, success=True),
            walk([0, 1, 2, 3], terminated=True, success=False),
            walk([0, 1, 0, 1, 0, 1], truncated=True, fault=f"paper is out {HOSTILE}"),
            walk([0, 4, 0, 4, 0, 4, 0]),
        ],
        **more,
    )


def many(num_envs=1000, num_ticks=60):
    """Return many environments that walk to and fro."""
    row = walk([0, 4] * (num_ticks // 2))
    return make([row] * num_envs)


def differing():
    """Environment 2 differs from its file at step 3."""
    return boards(
        is_replay=True, difference=Difference(3, 2, "observations[0, 1]", "2", HOSTILE)
    )


def talks(group_size=2):
    """Conversations of two turns, with hostile texts, in groups of siblings."""
    rows = []
    for i in range(4):
        success = i == 0
        start = dataclasses.replace(
            RESET,
            text=f"Page one [SEP] of {i // group_size}",
            infos={"env_instruction": f"Buy the blue one. {HOSTILE}"},
        )
        turn = dataclasses.replace(
            STEP,
            action=HOSTILE,
            action_name=HOSTILE,
            length=1,
            text=f"heard: {HOSTILE}",
            infos={
                "action_content": "click[<b>]",
                "think_content": f"let me think {HOSTILE}",
                "action_is_valid": False,
                "nested": {"<i>": [HOSTILE, None, True, float("nan")]},
            },
        )
        buy = "click[buy now]"
        infos = {"action_content": buy, "action_is_valid": True, "think_content": ""}
        end = dataclasses.replace(
            STEP,
            action=buy,
            action_name=buy,
            length=2,
            reward=float(success),
            total_reward=float(success),
            terminated=True,
            success=success,
            text="long " * 400,
            infos={**infos, "success": success},
        )
        rows.append([start, turn, end])
    text = {"id": "mine/Shop-v0", "is_text": True, "tiles": None}
    return make(rows, group_size=group_size, **text)


def latest(recording, index, tick):
    """Return the frame of an environment that is visible at a tick."""
    frames = reversed(recording.frames[index][: tick + 1])
    return next(frame for frame in frames if frame is not None)
