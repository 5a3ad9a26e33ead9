"""MiniGrid's and BabyAI's ids beside MiniGrid itself, and digests of its episodes.

Run as ``python -m tests.envs.test_minigrid`` to write ``data/minigrid.json``: actions
in MiniGrid's own environments and a digest of what they return, for where it is not
installed.  ``tests.envs.compare_minigrid`` is the whole comparison.
"""

import json
from pathlib import Path

import gymnasium
import numpy as np
import pytest
from gymnasium.vector import AutoresetMode

import roll_vec
from roll_vec.registration import ENVIRONMENTS
from tests.conftest import JIT_OFF
from tests.contract.cases import REPRESENTATIVES
from tests.envs.minigrid_episodes import (
    IDS,
    SEED,
    assert_equal,
    play_original,
    play_ours,
)

PATH = Path(__file__).with_name("data") / "minigrid.json"
LIMIT, NUM_ENVS, STEPS = 25, 3, 60
SAME_STEP = AutoresetMode.SAME_STEP
# One id of each class: what the JIT hides is in its rules.
CLASSES = {ENVIRONMENTS[id].entry: id for id in reversed(IDS)}
QUICK = [*CLASSES.values()] if JIT_OFF else REPRESENTATIVES[:1]
# With each mechanism of a base: walls that hide, rooms, moving things, instructions.
SOME = [
    id
    for id in (
        "roll_vec/MiniGrid-DoorKey-6x6-v0",
        "roll_vec/MiniGrid-MultiRoom-N4-S5-v1",
        "roll_vec/MiniGrid-Dynamic-Obstacles-6x6-v0",
        "roll_vec/MiniGrid-ObstructedMaze-1Dlhb-v0",
        "roll_vec/MiniGrid-PutNear-6x6-N2-v0",
        "roll_vec/BabyAI-GoToSeqS5R2-v0",
        "roll_vec/BabyAI-BossLevel-v0",
    )
    if id in IDS
]
each_id = pytest.mark.parametrize(
    "id",
    [pytest.param(id, marks=() if id in QUICK else pytest.mark.slow) for id in IDS],
)


def play_again(id, theirs, mode, **keywords):
    return play_ours(id, theirs.actions, theirs.seeds, mode, **keywords)


@pytest.fixture(scope="module")
def original():
    """Skip where MiniGrid is not installed."""
    reason = "needs the extra originals, with Python 3.11 or newer"
    return pytest.importorskip("minigrid", reason=reason)


@pytest.fixture(scope="module")
def golden():
    return json.loads(PATH.read_text("utf-8"))


def test_the_ids_are_minigrids_but_for_wfc(original):
    theirs = [
        id for id in gymnasium.registry if id.startswith(("MiniGrid-", "BabyAI-"))
    ]
    theirs = [f"roll_vec/{id}" for id in theirs if "-WFC-" not in id]
    assert sorted(IDS) == sorted(theirs)


def test_every_id_has_a_digest(golden):
    assert golden.keys() == {*IDS}


@each_id
def test_episodes_have_the_digest_of_minigrids(id, golden):
    row = golden[id]
    actions = np.array([[*map(int, each)] for each in row["actions"]]).T
    ours = play_ours(id, actions, row["seeds"], SAME_STEP, max_steps=LIMIT)
    assert ours.starts["mission"][0][0] == row["mission"]
    assert ours.digest() == row["digest"]


@pytest.mark.slow
@pytest.mark.parametrize("id", IDS)
def test_episodes_are_minigrids(id, original):
    for way in ("uniform", "seeker"):
        theirs = play_original(id, way, STEPS, NUM_ENVS, max_steps=LIMIT)
        assert_equal(play_again(id, theirs, SAME_STEP, max_steps=LIMIT), theirs)


VIEWS = [
    {},
    {"agent_view_size": 3},
    {"agent_view_size": 15},
    {"see_through_walls": True},
    {"max_steps": 7},
]


@pytest.mark.slow
@pytest.mark.parametrize("keywords", VIEWS, ids=str)
@pytest.mark.parametrize("id", SOME)
def test_every_mode_and_keyword_is_minigrids(id, keywords, original):
    theirs = play_original(id, "seeker", 3 * STEPS, 2, **keywords)
    for mode in AutoresetMode:
        assert_equal(play_again(id, theirs, mode, **keywords), theirs)


@pytest.mark.slow
@pytest.mark.parametrize("id", SOME)
def test_limits_without_max_steps_are_minigrids(id, original):
    theirs = play_original(id, "idle", 700, 1)
    assert theirs.num_episodes
    assert_equal(play_again(id, theirs, SAME_STEP), theirs)


def test_a_text_without_an_action_is_a_step():
    envs = roll_vec.make_vec("roll_vec/MiniGrid-DoorKey-5x5-v0", 2, action_mode="text")
    envs.reset(seed=SEED)
    for step in range(250):
        first = "left" if step % 2 else "?"
        _, rewards, *ends, infos = envs.step([first, "Go!"])
        assert (rewards == 0).all()
        assert infos["action_is_valid"].tolist() == [first == "left", False]
        assert [each.tolist() for each in ends] == [[False] * 2, [step == 249] * 2]


def digest_row(id):
    """Return the facts of some episodes of MiniGrid's own environments."""
    play = play_original(id, "seeker", STEPS, NUM_ENVS, max_steps=LIMIT)
    actions = ["".join(map(str, column)) for column in play.actions.T.tolist()]
    mission = play.starts["mission"][0][0]
    facts = {"mission": mission, "seeds": play.seeds, "actions": actions}
    return {**facts, "digest": play.digest()}


if __name__ == "__main__":
    rows = [f" {json.dumps(id)}: {json.dumps(digest_row(id))}" for id in IDS]
    PATH.write_text("{\n" + ",\n".join(rows) + "\n}\n", "utf-8")
