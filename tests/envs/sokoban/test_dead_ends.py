"""The infos about dead ends, and episodes that end there."""

import gymnasium
import numpy as np
import pytest

import roll_vec
from roll_vec.envs.sokoban.solver import solve_rooms
from roll_vec.errors import InvalidOptionError
from tests.conftest import JIT_OFF
from tests.contract.cases import DISABLED, MODES, draw_actions, make_batch
from tests.contract.test_unroll import check_equal

ID = "roll_vec/Sokoban-v0"
# One push to the right brings the box into the corner; the target is on the left.
CORNER = "######\n#. $ #\n# @  #\n######"
ALONG_THE_WALL = "#######\n#  @$ #\n#.    #\n#######"


def test_the_info_is_false_only_before_the_push_into_the_corner():
    env = gymnasium.make(ID, levels=[CORNER], deadlock=True, action_start=0)
    _, info = env.reset(seed=0)
    assert info["deadlock"] is False
    # Left, up: beside the box, then two pushes to the right.
    flags = [env.step(action) for action in (2, 0, 3, 3)]
    assert [bool(step[-1]["deadlock"]) for step in flags] == [False, False, False, True]
    assert not any(step[2] for step in flags)


def test_the_push_into_a_dead_end_ends_the_episode():
    more = {"levels": [CORNER], "action_start": 0, "terminate_on_deadlock": True}
    env = gymnasium.make(ID, **more)
    plain = gymnasium.make(ID, levels=[CORNER], action_start=0)
    env.reset(seed=0), plain.reset(seed=0)
    for action in (2, 0, 3):
        assert env.step(action)[2] is False
        plain.step(action)
    result, expected = env.step(3), plain.step(3)
    assert result[1] == expected[1]
    assert result[2] is True
    assert result[-1]["success"] is False
    assert "deadlock" not in result[-1]
    assert env.unwrapped.get_state()["has_ended"]
    # As one turn of text, whose later actions are not taken.
    texts = gymnasium.make(
        ID, **{**more, "action_mode": "text", "action_separator": "|"}
    )
    texts.reset(seed=0)
    result = texts.step("Left | Up | Right | Right | Left | Left")
    assert result[2] is True
    np.testing.assert_array_equal(result[0], env.unwrapped.grid)


def test_a_level_that_begins_in_a_dead_end_ends_with_the_first_step():
    levels = ["#####\n#$ @#\n#  .#\n#####"]
    env = roll_vec.make_vec(
        ID, 2, levels=levels, deadlock=True, terminate_on_deadlock=True, action_start=1
    )
    _, infos = env.reset(seed=0)
    assert infos["deadlock"].all()
    assert env.step([0, 2])[2].all()


def test_infos_are_sound_and_complete_enough():
    env = roll_vec.make_vec(
        ID, 64, num_boxes=2, deadlock=True, autoreset_mode="SameStep"
    )
    env.reset(seed=0)
    rng, found = np.random.default_rng(0), 0
    for _ in range(12):
        grids, *_, infos = env.step(rng.integers(1, 5, 64))
        dead = infos["deadlock"]
        assert infos["_deadlock"].all()
        statuses = np.array([result.status for result in solve_rooms(grids)])
        assert (statuses[dead] == "unsolvable").all()
        found += dead.sum()
    assert found > 20


@pytest.mark.skipif(JIT_OFF, reason="slow as plain Python, and no kernel is new")
@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("case", [ID, f"{ID} text"])
def test_unroll_equals_as_many_steps(case, mode):
    more = {"deadlock": True, "terminate_on_deadlock": True, "autoreset_mode": mode}
    pair = [make_batch(case, 5, **more) for _ in range(2)]
    for env in pair:
        env.reset(seed=2)
    check_equal(*pair, draw_actions(pair[0], 3 if mode is DISABLED else 30))


@pytest.mark.parametrize("name", ["deadlock", "terminate_on_deadlock"])
def test_values_other_than_bools_are_refused(name):
    for make in (gymnasium.make, gymnasium.make_vec):
        with pytest.raises(InvalidOptionError, match=f"{name}: expected True or False"):
            make(ID, **{name: "yes"})
