"""`roll-vec play` by keys: frames, undo, new levels, the end of an episode."""

import os
import re
import shutil

import gymnasium
import pytest

from roll_vec.cli import _keys
from roll_vec.cli._key_player import KeyPlayer
from roll_vec.envs.sokoban import Sokoban
from tests.envs.sokoban.user_levels import COLLECTION, EXPECTED

SOKOBAN, LAKE = "roll_vec/Sokoban-v0", "roll_vec/FrozenLake-v1"


@pytest.fixture
def play(play):
    """Play with keys from the lines of a text; return the frames that were shown."""

    def frames(text, *arguments):
        return play(text, *arguments).removesuffix("\n\n").split("\n\n")

    return frames


def board(env_id, actions, seed, **options):
    """Return the board after some actions, as the environment itself renders it."""
    env = gymnasium.make(env_id, render_mode="text", **options)
    env.reset(seed=seed)
    for action in actions:
        env.step(action)
    text = env.render()
    env.close()
    return text.replace("\t", "")


def test_play_shows_the_board_after_each_line(play):
    start, end = play("das\n", SOKOBAN, "--seed", 1010)
    assert start.startswith(f"{SOKOBAN} · seed 1010\n{board(SOKOBAN, [], 1010)}\n")
    assert "step 0 · return 0" in start
    assert f"\n{board(SOKOBAN, [4, 3, 2], 1010)}\n" in end
    assert "step 3 · return -0.3" in end
    assert "down -0.1" in end
    # Infos for programs are not shown.
    assert not re.search("success|action_is|True|False", end)


def test_keys_move_alike_whatever_the_codes_of_the_actions_are(play):
    frames = play("wdas\nw\n", SOKOBAN, "--seed", 1010)
    assert play("wdas\nw\n", SOKOBAN, "--seed", 1010, "-o", "action_start=0") == frames


def test_arrows_are_the_letters_in_both_of_their_forms(play):
    letters = play("wasd\n", SOKOBAN)
    assert play("\x1b[A\x1b[D\x1b[B\x1b[C\n", SOKOBAN) == letters
    assert play("\x1bOA\x1bOD\x1bOB\x1bOC\n", SOKOBAN) == letters
    assert play("W A S D\n", SOKOBAN) == letters


def test_undo_goes_back_step_by_step_to_the_beginning(play):
    frames = play("s\nd\nu\nu\nu\n", SOKOBAN, "--seed", 1010)
    start, once, _, back_once, back_twice, no_further = frames
    assert (back_once, back_twice) == (once, start)
    assert no_further == f"{start}\nThere is nothing to undo"


def test_undo_takes_back_the_luck_as_well(play):
    # On slippery ice the same key again slips again.
    frames = play("d\nd\nd\nuuu\nd\nd\nd\n", LAKE, "--seed", 3)
    assert frames[4] == frames[0]
    assert frames[5:] == frames[1:4]


def test_an_episode_of_a_batch_opens_by_the_seed_in_its_infos(play):
    keywords = {"num_boxes": 2, "num_levels": 40}
    envs = gymnasium.make_vec(
        SOKOBAN,
        num_envs=3,
        seed_info=True,
        max_episode_steps=2,
        action_start=1,
        **keywords,
    )
    envs.reset(seed=8)
    for _ in range(2):
        envs.step([0, 0, 0])
    observations, *_, infos = envs.step([0, 0, 0])
    options = [f"-o {name}={value}" for name, value in keywords.items()]
    for observation, seed in zip(observations, infos["seed"], strict=True):
        assert seed > 100
        arguments = (SOKOBAN, *" ".join(options).split(), "--seed", seed)
        (frame,) = play("", *arguments)
        lines = ["".join("#_O√XPS"[code] for code in row) for row in observation]
        assert "\n".join(lines) in frame


def test_levels_of_a_file_are_played_by_number(play, tmp_path):
    (tmp_path / "set.txt").write_text(COLLECTION)
    first, second, over = play(
        "n\nt\n", SOKOBAN, "-o", "levels=set.txt", "-o", "level_info=True"
    )
    for number, frame in enumerate((first, second)):
        lines = ["".join("#_O√XPS"[code] for code in row) for row in EXPECTED[number]]
        assert "\n".join(lines) in frame
        assert f"level {number}" in frame
    assert over.endswith("There is no hint")


def test_new_level_is_the_next_seed_and_restart_the_same(play):
    start, _, again, other = play("sd\nr\nn\n", SOKOBAN, "--seed", 1010)
    assert again == start
    assert other.startswith(f"{SOKOBAN} · seed 1011\n{board(SOKOBAN, [], 1011)}\n")
    assert "step 0 · return 0" in other


def test_nothing_before_a_new_level_can_be_undone(play):
    assert play("s\nnu\n", SOKOBAN)[-1].endswith("There is nothing to undo")


def test_episode_that_ended_says_so_and_waits_for_another_key(play):
    options = ("-o", "is_slippery=False", "-o", "desc=['SG', 'FH']")
    start, solved, over, back, hole = play("d\nd\nu\nsd\n", LAKE, *options)
    assert "Solved in 1 step, return 1" in solved
    assert "episode is over: u undo, n new level, r restart, q quit" in over
    assert "step 1 · return 1" in over
    assert back == start
    assert "Lost in 2 steps, return 0" in hole


def test_step_limit_is_not_called_a_loss(play):
    frames = play("as\n", SOKOBAN, "-o", "max_episode_steps=2")
    assert "Out of steps: in 2 steps, return -0.2" in frames[-1]


def test_success_of_sokoban_is_solved(play):
    # Level 1 with one box is solved by the actions that a search finds.
    options = {"num_boxes": 1, "dim_room": (5, 5)}
    env = gymnasium.make(SOKOBAN, **options)
    frontier, visited, path = [[]], set(), None
    while path is None:
        actions = frontier.pop(0)
        for action in (1, 2, 3, 4):
            observation, _ = env.reset(seed=1)
            for earlier in [*actions, action]:
                observation, _, terminated, _, _ = env.step(earlier)
            if terminated:
                path = [*actions, action]
                break
            if observation.tobytes() not in visited:
                visited.add(observation.tobytes())
                frontier.append([*actions, action])
    env.close()
    keys = "".join(" wsad"[action] for action in path)
    frame = play(
        f"{keys}\n",
        SOKOBAN,
        *("--seed", 1, "-o", "num_boxes=1"),
        "-o",
        "dim_room=(5,5)",
    )[-1]
    assert f"Solved in {len(path)} steps" in frame


def test_legend_says_what_the_symbols_are_in_this_game(play):
    assert "\n# wall · _ empty · O target · " in play("", SOKOBAN)[0]
    lake = play("", LAKE)[0]
    assert "P player · _ empty · O hole · G goal · " in lake
    lookup = play("", SOKOBAN, "-o", "grid_lookup={2: '+'}")[0]
    assert "\n+ target\n" in lookup


@pytest.mark.parametrize("env_id", [SOKOBAN, "roll_vec/Countdown-v0"])
def test_screen_of_unknown_size_is_written_as_a_wide_one(play, monkeypatch, env_id):
    usual = play("", env_id, "--seed", 1)
    # Python 3.10 returns zeros, later versions 80 and 24.
    unknown = os.terminal_size((0, 0))
    monkeypatch.setattr(shutil, "get_terminal_size", lambda: unknown)
    assert " ".join(play("", env_id, "--seed", 1)).split() == " ".join(usual).split()


def test_key_that_moves_nothing_says_so(play):
    walked = play("aaaaa\n", SOKOBAN, "--seed", 1010)[1]
    assert "\nleft -0.1 · nothing changed" in walked


def test_kernels_are_compiled_before_the_first_board(play, monkeypatch):
    events = []
    step, draw = Sokoban._take_action, KeyPlayer._draw
    monkeypatch.setattr(
        Sokoban, "_take_action", lambda *args: (events.append("step"), step(*args))[1]
    )
    monkeypatch.setattr(
        KeyPlayer, "_draw", lambda self: (events.append("draw"), draw(self))[1]
    )
    assert "step 0 · return 0" in play("", SOKOBAN)[0]
    assert events == ["step", "draw"]


def test_help_and_keys_that_do_nothing(play):
    start, helped, hidden, unknown = play("?\nh\nx\n", SOKOBAN)
    assert "arrows, w a s d   move" in helped
    assert hidden == start
    assert unknown == f"{start}\nThat key does nothing: ? shows those that do"


@pytest.mark.parametrize("text", ["q", "sq\nd\n", "s\n\x04d\n", "", "s\nQ\ns\n"])
def test_quit_ends_the_game_and_so_does_the_end_of_the_input(play, text):
    assert "step 2" not in "".join(play(text, SOKOBAN))


def test_tabs_of_a_long_lookup_are_left_out(play):
    lookup = "grid_lookup={0: ' # \\t', 1: ' _ \\t', 5: ' P \\t'}"
    assert play("", SOKOBAN, "-o", lookup)[0].split("\n")[1] == " # " * 6


@pytest.mark.parametrize(
    ("arguments", "messages"),
    [
        (("CartPole-v1",), ["CartPole-v1 cannot be played", "action_lookup"]),
        (("FrozenLake-v1",), ["FrozenLake-v1 cannot be played", "nor named"]),
        ((SOKOBAN, "-o", "boxes=3"), [SOKOBAN, "boxes"]),
        (("roll_vec/Nothing-v0",), ["roll_vec/Nothing-v0"]),
        ((SOKOBAN, "--seed", "x"), ["--seed", "'x'"]),
    ],
)
def test_errors_are_one_line(fails, arguments, messages):
    line = fails("play", *arguments)
    for message in messages:
        assert message in line


def test_direction_without_an_action_is_refused(play):
    frames = play("s\n", SOKOBAN, "-o", "action_lookup={1: 'Up'}")
    assert frames[1].endswith("This environment has no action 'down'")


def test_keys_are_decoded_whatever_else_a_terminal_sends():
    assert _keys.decode_keys("\x1b[1;5Cu") == ["right", "undo"]
    assert _keys.decode_keys("\x1b[3~q") == ["unknown", "quit"]
    assert _keys.decode_keys("\x1b") == ["unknown"]
    assert _keys.decode_keys("\x1b[") == ["unknown"]
    assert _keys.decode_keys(" \r\n\t") == []
    assert _keys.decode_keys("é\x7f") == ["unknown", "undo"]


def test_environment_of_the_user_is_played_by_keys(play, user_module):
    start, left, right, end = play("a\nda\na\n", f"{user_module}:mine/Corridor-v0")
    boards = [frame.split("\n")[1] for frame in (start, left, right, end)]
    assert boards == ["..@..", ".@...", ".@...", "@...."]
    assert "Solved in 4 steps, return 1" in end
