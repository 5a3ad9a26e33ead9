"""ATIF documents and logs of Inspect, compared whole with a golden file.

`tests.trajectories.transcripts` reads them with the packages of the formats.
"""

import json
from pathlib import Path

import gymnasium
import numpy as np
import pytest

from roll_vec.errors import InvalidOptionError
from roll_vec.trajectories import Trajectory, to_atif, to_inspect_log
from tests.golden import assert_golden

DATA = Path(__file__).parent / "data"


def talk(seed, *texts, **changes):
    """Return an episode of some observations and answers in turn."""
    values = {
        "id": "mine/Talk-v0",
        "seed": seed,
        "observations": [*texts[::2]],
        "actions": [*texts[1::2]],
        "rewards": np.arange(len(texts) // 2) - 0.5,
        "terminated": True,
        "truncated": False,
        "success": True,
        "infos": [{"env_instruction": "Talk.", "a": i} for i in range(len(texts[::2]))],
    }
    return Trajectory(**{**values, **changes})


GOOD = [
    talk(3, "hello", "me", "who?", "you", "bye"),
    # The same seed once more, which ends at the limit.
    talk(3, "hello", "no", "oh", terminated=False, truncated=True, success=False),
]
ODD = [
    talk(
        None,
        *("hello", "me", "who?"),
        rewards=np.array([np.nan]),
        success=None,
        infos=[{}, {"error": "it broke", "parts": (np.float32(0.5), {2: {1}})}],
        fault="it broke",
    ),
    # Viewers refuse JSON that UTF-8 cannot have.
    talk(
        1,
        *("a\ud800", "\udfff!", "b"),
        infos=[{}, {"said\ud800": "\ud800", "space": gymnasium.spaces.Discrete(2)}],
    ),
    talk(2, "hello", rewards=np.zeros(0), infos=[{}], fault="lost", success=False),
]


def test_transcripts_are_those_of_the_golden_file():
    content = {
        "atif": [to_atif(each) for each in (*GOOD, *ODD)],
        "atif of an agent": to_atif(
            GOOD[1], agent="oracle", agent_version="2", session_id="s"
        ),
        "inspect": to_inspect_log(GOOD, agent="oracle"),
        "inspect, odd": to_inspect_log(ODD),
    }
    text = json.dumps(content, indent=1, ensure_ascii=False, allow_nan=False)
    assert_golden(DATA / "transcripts.json", text.encode() + b"\n")


def test_episodes_without_texts_and_of_two_environments_are_refused():
    numbers = talk(1, 0, 1, 0)
    for convert in (to_atif, lambda each: to_inspect_log([each])):
        with pytest.raises(InvalidOptionError, match="obs_mode='text'"):
            convert(numbers)
    for episodes in ([], [*GOOD, talk(1, "a", "b", "c", id="other/Talk-v0")]):
        with pytest.raises(InvalidOptionError, match="of one environment"):
            to_inspect_log(episodes)
