"""``roll-vec info``: its output is not that of an earlier version, or is no JSON."""

import json

import pytest

from roll_vec.descriptions import report

# The output up to the infos: names, spaces, actions, rewards, ends.
SOKOBAN = """\
roll_vec/Sokoban-v0
  ROLL's SokobanEnv: a generated room each episode.

observations, by obs_mode; the first is the default
  grid      Box(0, 6, (6, 6), uint8)         the code of each cell
  planes    Box(0, 1, (7, 6, 6), uint8)      a plane for each code: 1 where it
                                             is
  tiny_rgb  Box(0, 255, (6, 6, 3), uint8)    a pixel for each cell
  rgb       Box(0, 255, (96, 96, 3), uint8)  a tile of 16 by 16 pixels for each
                                             cell
  text      UnicodeText(41, 41)              the glyphs, a line for each row

actions
  Discrete(4, start=1)
  1 Up, 2 Down, 3 Left, 4 Right
  0 is "no valid action": nothing moves, the step counts.

cell codes
  0 # wall, 1 _ empty, 2 O target, 3 √ box on target, 4 X box, 5 P player, 6 S
  player on target

rewards
  -0.1  Each step.
  1     A box is pushed onto a target.
  -1    A box is pushed off a target.
  10    All boxes are on targets.

ends
  terminated  All boxes are on targets: success.
  truncated   After 100 steps (max_episode_steps).
"""
LAKE = """\
roll_vec/FrozenLake-v1
  Gymnasium's FrozenLake-v1, equal step for step.

observations, by obs_mode; the first is the default
  position  Discrete(16)                     the player's cell: row * columns +
                                             column
  grid      Box(0, 5, (4, 4), uint8)         the code of each cell
  planes    Box(0, 1, (6, 4, 4), uint8)      a plane for each code: 1 where it
                                             is
  tiny_rgb  Box(0, 255, (4, 4, 3), uint8)    a pixel for each cell
  rgb       Box(0, 255, (64, 64, 3), uint8)  a tile of 16 by 16 pixels for each
                                             cell
  text      UnicodeText(19, 19)              the glyphs, a line for each row

actions
  Discrete(4)
  0 Left, 1 Down, 2 Right, 3 Up

cell codes
  0 P player, 1 _ empty, 2 O hole, 3 G goal, 4 X player in hole, 5 √ player on
  goal

rewards
  1  The player enters the goal.
  0  The player enters a hole.
  0  The player enters ice.

ends
  terminated  The player is on the goal: success.
  terminated  The player is in a hole.
  truncated   After 100 steps (max_episode_steps).
"""
COUNTDOWN = """\
roll_vec/Countdown-v0
  Combine numbers into a target, by an expression in text.

observations
  UnicodeText(0, 199)

actions
  UnicodeText(0, 1048576)
  The answer, an expression such as (8 - 3) * 4. It is never run as code.

rewards
  1    A correct answer.
  0.1  An expression of the right numbers with another value, or without one.
  0    All other answers.

ends
  terminated  A correct answer: success.
  terminated  The answer, also a wrong one.
  truncated   A fault of the object in a pool: an exception, a time limit, a
              dead process.
"""
WEBSHOP = """\
rewards
  0 to 1  The order: the share of attributes, options and price limit that it
          meets, times a factor for the kind of product.
  0       All other steps.

ends
  terminated  The order, click[buy now]: success if its reward is 1.
  truncated   After 50 steps (max_episode_steps).
  truncated   A fault of the object in a pool: an exception, a time limit, a
              dead process.
"""


@pytest.mark.parametrize(
    ("id", "expected"),
    [
        ("roll_vec/Sokoban", SOKOBAN),
        ("roll_vec/FrozenLake-v1", LAKE),
        ("roll_vec/Countdown-v0", COUNTDOWN),
        ("roll_vec/WebShop-v0", WEBSHOP),
    ],
)
def test_output_is_the_golden_one(run, id, expected):
    outcome = run("info", id)
    assert (outcome.code, outcome.err) == (0, "")
    assert expected in outcome.out
    assert all(len(line) <= 88 for line in outcome.out.splitlines())
    for heading in ("infos", "equal to", "keywords (-o KEY=VALUE)", "documentation"):
        assert f"\n\n{heading}\n  " in outcome.out


def test_keywords_have_default_type_and_a_line(run):
    out = run("info", "roll_vec/FrozenLake8x8-v1").out
    assert (
        "\n  map_name='8x8' (str or None)\n      Gymnasium's map: 4x4 or 8x8.\n" in out
    )
    assert "\n  autoreset_mode='NextStep' (AutoresetMode or str)\n" in out
    assert "`" not in out


def test_json_is_written_for_programs(run):
    content = json.loads(run("info", "roll_vec/RandomFrozenLake-v0", "--json").out)
    assert content["actions"] == {"1": "Left", "2": "Down", "3": "Right", "4": "Up"}
    keyword = next(one for one in content["keywords"] if one["name"] == "size")
    assert (keyword["type"], keyword["default"]) == ("int", "4")
    assert [split["name"] for split in content["splits"]][:2] == [
        "test",
        "test-no-slip",
    ]
    assert content["sources"][0]["version"] == "commit 35bea6a2"


def test_keywords_change_spaces_and_rewards(run):
    out = run("info", "roll_vec/RandomFrozenLake-v0", "-o", "size=5").out
    assert "grid      Box(0, 5, (5, 5), uint8)" in out


def test_environments_of_users_and_of_gymnasium_are_explained(run, user_module):
    out = run("info", f"{user_module}:mine/Corridor-v0").out
    assert "\n  1 Left, 2 Right\n" in out
    assert "\n  length=5 (int)\n" in out
    assert "workers=0" in out
    out = run("info", "CartPole-v1").out
    assert "cart-pole" in out
    assert "\n  After 500 steps (max_episode_steps).\n" in out


def test_errors_are_one_line(fails):
    assert "did you mean roll_vec/Sokoban-v0?" in fails("info", "roll_vec/Sokobn-v0")
    assert "cannot import no_such" in fails("info", "no_such:mine/Hall-v0")
    assert "expected at least 1" in fails(
        "info", "roll_vec/Sokoban-v0", "-o", "num_boxes=0"
    )
    assert "arguments are required: ID" in fails("info")


def test_marks_of_code_are_left_out_of_texts():
    assert report._plain("``a`` and `b`, 2 ** 3") == "a and b, 2 ** 3"
