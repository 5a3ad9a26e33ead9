"""`roll-vec play` in a pipe: keys move on boards, typed lines are answers."""

import io
import os
import re
import shutil
import sys

import gymnasium
import pytest

from roll_vec.envs.sokoban import Sokoban
from tests.envs.sokoban.user_levels import COLLECTION, EXPECTED

SOKOBAN, LAKE = "roll_vec/Sokoban-v0", "roll_vec/FrozenLake-v1"
COUNTDOWN = "roll_vec/Countdown-v0"
DRY = ("-o", "is_slippery=False")
TAGS = ("-o", "action_pattern=<answer>(.*?)</answer>")


@pytest.fixture
def frames(play):
    """Play with keys from the lines of a text; return the frames that were shown."""

    def frames(text, *arguments):
        return play(text, *arguments).removesuffix("\n\n").split("\n\n")

    return frames


@pytest.fixture
def blocks(play):
    """Play with lines; return the output of each, which begins with the typed line."""

    def blocks(text, *arguments):
        return play(text, *arguments).split("> ")

    return blocks


def board(env_id, actions, seed, **options):
    """Return the board after some actions, as the environment itself renders it."""
    env = gymnasium.make(env_id, render_mode="text", **options)
    env.reset(seed=seed)
    for action in actions:
        env.step(action)
    text = env.render()
    env.close()
    return text.replace("\t", "")


def task(seed, **options):
    """Return the observation and a right answer of a task."""
    env = gymnasium.make(COUNTDOWN, **options)
    observation, _ = env.reset(seed=seed)
    answer = env.get_wrapper_attr("oracle_action")
    env.close()
    return observation, answer


# ----------------------------------------------------------------------------- keys


def test_the_board_is_shown_after_each_line(frames):
    start, end = frames("das\n", SOKOBAN, "--seed", 1010)
    assert start.startswith(f"{SOKOBAN} · seed 1010\n{board(SOKOBAN, [], 1010)}\n")
    assert "step 0 · return 0" in start
    assert f"\n{board(SOKOBAN, [4, 3, 2], 1010)}\n" in end
    assert "step 3 · return -0.3" in end
    assert "down -0.1" in end
    # Infos for programs are not shown.
    assert not re.search("success|action_is|True|False", end)


@pytest.mark.parametrize(
    ("keys", "options"),
    [
        ("wdas\nw\n", ("-o", "action_start=0")),
        ("\x1b[A\x1b[C\x1b[D\x1b[B\n\x1b[A\n", ()),
        ("\x1bOA\x1bOC\x1bOD\x1bOB\n\x1bOA\n", ()),
        ("\x1b[1;5A\x1b[1;5Cas\nw\n", ()),
        ("W D A S\nW\n", ()),
    ],
)
def test_keys_move_alike_in_all_their_forms(frames, keys, options):
    arguments = (SOKOBAN, "--seed", 1010)
    assert frames(keys, *arguments, *options) == frames("wdas\nw\n", *arguments)


@pytest.mark.parametrize("undo", ["u", "\x7f"])
def test_undo_goes_back_step_by_step_to_the_beginning(frames, undo):
    text = f"s\nd\n{undo}\n{undo}\n{undo}\n"
    start, once, _, *back, no_further = frames(text, SOKOBAN, "--seed", 1010)
    assert back == [once, start]
    assert no_further == f"{start}\nThere is nothing to undo"
    *_, new = frames("s\nnu\n", SOKOBAN)
    assert new.endswith("There is nothing to undo")
    # On slippery ice the same key again slips again.
    slips = frames("d\nd\nd\nuuu\nd\nd\nd\n", LAKE, "--seed", 3)
    assert slips[4] == slips[0]
    assert slips[5:] == slips[1:4]


def test_a_new_level_is_the_next_seed_and_restart_the_same(frames):
    start, _, again, other = frames("sd\nr\nn\n", SOKOBAN, "--seed", 1010)
    assert again == start
    assert other.startswith(f"{SOKOBAN} · seed 1011\n{board(SOKOBAN, [], 1011)}\n")
    assert "step 0 · return 0" in other


def test_an_episode_of_a_batch_opens_by_the_seed_in_its_infos(frames):
    keywords = {"num_boxes": 2, "num_levels": 40}
    envs = gymnasium.make_vec(
        SOKOBAN, 3, seed_info=True, max_episode_steps=1, action_start=1, **keywords
    )
    envs.reset(seed=8)
    envs.step([0, 0, 0])
    observations, *_, infos = envs.step([0, 0, 0])
    options = ["-o", "num_boxes=2", "-o", "num_levels=40"]
    for observation, seed in zip(observations, infos["seed"], strict=True):
        assert seed > 100
        (frame,) = frames("", SOKOBAN, *options, "--seed", seed)
        lines = ["".join("#_O√XPS"[code] for code in row) for row in observation]
        assert "\n".join(lines) in frame


def test_levels_of_a_file_are_played_by_number(frames, tmp_path):
    (tmp_path / "set.txt").write_text(COLLECTION)
    options = ("-o", "levels=set.txt", "-o", "level_info=True")
    first, second, over = frames("n\nt\n", SOKOBAN, *options)
    for number, frame in enumerate((first, second)):
        lines = ["".join("#_O√XPS"[code] for code in row) for row in EXPECTED[number]]
        assert "\n".join(lines) in frame
        assert f"level {number}" in frame
    assert over.endswith("There is no hint")


ONE_LINE = ("-o", "desc=['SG', 'FH']")


@pytest.mark.parametrize(
    ("text", "arguments", "message"),
    [
        ("d\n", (LAKE, *DRY, *ONE_LINE), "Solved in 1 step, return 1"),
        ("d\nd\n", (LAKE, *DRY, *ONE_LINE), "is over: u undo, n new level, r restart"),
        ("d\nd\n", (LAKE, *DRY, *ONE_LINE), "step 1 · return 1"),
        ("d\nt\n", (LAKE, *DRY, *ONE_LINE), "The episode is over"),
        ("dusd\n", (LAKE, *DRY, *ONE_LINE), "Lost in 2 steps, return 0"),
        (
            "as\n",
            (SOKOBAN, "-o", "max_episode_steps=2"),
            "Out of steps: in 2 steps, re",
        ),
        ("aaaaa\n", (SOKOBAN, "--seed", 1010), "\nleft -0.1 · nothing changed"),
        ("x\n", (SOKOBAN,), "That key does nothing: ? shows those that do"),
        ("\x1b[3~\n", (SOKOBAN,), "That key does nothing"),
        ("\x1b[\n", (SOKOBAN,), "That key does nothing"),
        ("é\n", (SOKOBAN,), "That key does nothing"),
        ("s\n", (SOKOBAN, "-o", "action_lookup={1: 'Up'}"), "has no action 'down'"),
        ("?\n", (SOKOBAN,), "arrows, w a s d   move"),
        ("", (SOKOBAN,), "\n# wall · _ empty · O target · "),
        ("", (LAKE,), "P player · _ empty · O hole · G goal · "),
        ("", (SOKOBAN, "-o", "grid_lookup={2: '+'}"), "\n+ target\n"),
        ("t\n", (LAKE, *DRY), "\nDown"),
    ],
)
def test_the_last_frame_says_what_has_happened(frames, text, arguments, message):
    assert message in frames(text, *arguments)[-1]


def test_help_is_hidden_by_the_next_key_of_help(frames):
    start, _, hidden = frames("?\nh\n", SOKOBAN)
    assert hidden == start


@pytest.mark.parametrize("text", ["q", "sq\nd\n", "s\n\x04d\n", "", "s\nQ\ns\n"])
def test_quit_ends_the_game_and_so_does_the_end_of_the_input(frames, text):
    assert "step 2" not in "".join(frames(text, SOKOBAN))


def test_tabs_of_a_long_lookup_are_left_out(frames):
    lookup = "grid_lookup={0: ' # \\t', 1: ' _ \\t', 5: ' P \\t'}"
    assert frames("", SOKOBAN, "-o", lookup)[0].split("\n")[1] == " # " * 6


@pytest.mark.parametrize("env_id", [SOKOBAN, COUNTDOWN])
def test_texts_fit_a_screen_of_any_size(play, monkeypatch, env_id):
    usual = play("", env_id, "--seed", 1)
    monkeypatch.setenv("COLUMNS", "200")
    wide = play("", env_id, "--seed", 1).splitlines()
    assert env_id == SOKOBAN or 80 < max(map(len, wide)) <= 88
    # Python 3.10 returns zeros, later versions 80 and 24.
    unknown = os.terminal_size((0, 0))
    monkeypatch.setattr(shutil, "get_terminal_size", lambda: unknown)
    assert " ".join(play("", env_id, "--seed", 1)).split() == " ".join(usual).split()


def test_kernels_are_compiled_before_the_first_board(frames, monkeypatch):
    calls = []
    for name in ("step", "render"):
        original = getattr(Sokoban, name)

        def record(*arguments, name=name, original=original):
            calls.append(name)
            return original(*arguments)

        monkeypatch.setattr(Sokoban, name, record)
    assert "step 0 · return 0" in frames("", SOKOBAN)[0]
    assert calls == ["step", "render"]


def test_an_environment_of_the_user_is_played_by_keys(frames, user_module):
    start, left, right, end = frames("a\nda\na\n", f"{user_module}:mine/Corridor-v0")
    boards = [frame.split("\n")[1] for frame in (start, left, right, end)]
    assert boards == ["..@..", ".@...", ".@...", "@...."]
    assert "Solved in 4 steps, return 1" in end


# ---------------------------------------------------------------------------- lines


def test_an_answer_is_judged_and_the_task_shown_first(blocks):
    observation, answer = task(3)
    start, end, last = blocks(f"{answer}\n", COUNTDOWN, "--seed", 3)
    assert start.startswith(f"{COUNTDOWN} · seed 3\nYou are given some whole numbers")
    assert start.endswith(f":quit ends\n\n{observation}\n")
    # The typed line is echoed; an observation is shown even if it is that before.
    assert end.startswith(f"{answer}\n\n{observation}\nreward +1 · ")
    assert "reason correct" in end
    assert "\nSolved in 1 step, return 1\n" in end
    assert last == "\n"


def test_a_wrong_answer_leaves_an_episode_open_if_there_are_more(blocks):
    observation, answer = task(3, max_steps=2)
    two = ("-o", "max_steps=2")
    _, wrong, right, _ = blocks(f"1\n{answer}\n", COUNTDOWN, "--seed", 3, *two)
    assert wrong.startswith(f"1\n\n{observation}\nYour answer does not use the given")
    assert "reason wrong_numbers" in wrong
    assert wrong.endswith("\nstep 1 · return 0\n")
    assert "Solved in 2 steps, return 1\n" in right


def test_a_lost_episode_takes_no_answer_and_enter_goes_on(blocks):
    _, wrong, over, new, nothing, _ = blocks("1\n2\n\n\n", COUNTDOWN, "--seed", 3)
    assert "Lost in 1 step, return 0" in wrong
    assert over.startswith("2\nThe episode is over: Enter: new level · :restart")
    assert f"{COUNTDOWN} · seed 4\n\n{task(4)[0]}\n" in new
    # An empty line is no answer.
    assert nothing == "\n"


def test_commands_begin_with_a_colon_and_may_be_cut_short(blocks):
    text = ":hint\n:new\n:res\n: HELP\n:h\n:q\n1\n"
    _, hint, new, same, helped, unknown, end = blocks(text, COUNTDOWN, "--seed", 3)
    assert hint == f":hint\n{task(3)[1]}\n"
    assert "seed 4\n" in new
    assert same.removeprefix(":res") == new.removeprefix(":new")
    assert "::text" in helped
    assert "You are given some whole numbers" in helped
    expected = "no command :h; expected one of :hint, :new, :restart, :help, :quit"
    assert expected in unknown
    assert end == ":q\n"


def test_bare_answers_are_put_into_the_form_that_is_read(blocks, user_module):
    name = f"{user_module}:mine/Echo-v0"
    text = "7\n <answer>6</answer>\n::quit\n"
    _, bare, in_tags, colon, _ = blocks(text, name, *TAGS)
    assert "\n\nheard 7\nreward +0" in bare
    assert "\n\nheard 6\nreward +0" in in_tags
    assert "\n\nheard :quit\nreward +0" in colon
    assert "Out of steps: in 3 steps" in colon
    # A form that nobody can write is left to the person.
    _, bare, right, _ = blocks("7\nN7\n", name, "-o", "action_pattern=N(\\d)")
    assert "heard \n" in bare
    assert "heard 7\n" in right


def test_environments_of_the_user_have_hints_and_show_short_words(blocks, user_module):
    name = f"{user_module}:mine/Echo-v0"
    _, hint, silent, *_, last, _ = blocks(":hint\nsilent\n2\n3\n", name)
    assert hint == ":hint\nThere is no hint\n"
    assert "reward +0 · said you said silent\n" in silent
    assert ":hint" not in last
    guide = blocks(":hint\n", f"{user_module}:mine/Guide-v0")
    assert guide[1] == ":hint\nRight\n"


def test_actions_with_other_names_are_typed(blocks, user_module):
    text = "walk BACK\nfly\nright\n"
    start, left, unknown, right, _ = blocks(text, f"{user_module}:mine/Hall-v0")
    assert "Type one of Walk back, Right; " in start
    assert start.endswith("\n\n..@..\n")
    assert "\n\n.@...\n" in left
    expected = "fly\nThere is no action 'fly'; expected one of Walk back, Right\n"
    assert unknown == expected
    assert "\n\n..@..\n" in right
    assert "step 2 · return 0" in right


@pytest.mark.parametrize("mode", ["text", "grid"])
def test_boards_are_played_by_text_where_that_is_asked_for(blocks, mode):
    options = {"obs_mode": "text", "action_mode": "text"}
    env = gymnasium.make(SOKOBAN, **options)
    before, _ = env.reset(seed=1010)
    after = env.step("Down")[0]
    env.close()
    flags = ("-o", "action_mode=text", "-o", f"obs_mode={mode}")
    start, end, _ = blocks("down\n", SOKOBAN, "--seed", 1010, *flags)
    assert "Answer with one action and nothing else" in start
    assert start.endswith(f"\n\n{before}\n")
    assert end.startswith(f"down\n\n{after}\nreward -0.1\n")


@pytest.mark.parametrize(
    ("keys", "mode"), [("t\nd\nt\nd\n", "discrete"), (":hint\nright\n" * 2, "text")]
)
def test_hints_lead_to_the_solution(play, keys, mode):
    level = ["######\n#@ $.#\n######"]
    options = ("-o", f"levels={level!r}", "-o", f"action_mode={mode}")
    output = play(keys, SOKOBAN, *options)
    assert output.count("\nRight\n") == 2
    assert "Solved in 2 steps" in output


def test_a_part_of_an_action_is_not_played_but_answered_with_the_whole(blocks):
    text = "buy\nsearch[shoes]\nnext\nclick[nowhere]\nc\nlic\n"
    _, buy, _, following, nowhere, *letters, _ = blocks(text, "roll_vec/WebShop-v0")[:8]
    assert buy == "buy\n'buy' is no action: it is written click[buy now]\n"
    assert following == "next\n'next' is no action: it is written click[next >]\n"
    assert "reward +0 · no valid action\n" in nowhere
    assert "Actions of this page: click[back to search], click[next >], " in nowhere
    assert "step 2 · return 0" in nowhere
    # Letters inside a word are no part of an action.
    for letter in letters:
        assert "reward +0 · no valid action\n" in letter


def test_an_action_outside_of_the_space_is_not_taken(blocks, monkeypatch):
    class Narrow(gymnasium.Env):
        observation_space = action_space = gymnasium.spaces.Text(3)

        def reset(self, *, seed=None, options=None):
            return "abc", {}

        def step(self, action):
            return action, 1, False, True, {}

    spec = gymnasium.envs.registration.EnvSpec("Narrow-v0", entry_point=Narrow)
    monkeypatch.setitem(gymnasium.registry, "Narrow-v0", spec)
    _, wide, narrow, _ = blocks("abcd\nxyz\n", "Narrow-v0")
    assert wide.startswith("abcd\nThat is no action of Text(1, 3, ")
    assert "\n\nxyz\nreward +1\nOut of steps: in 1 step, return 1\n" in narrow


def test_what_is_no_text_becomes_a_question_mark_and_is_judged(monkeypatch, run):
    stdin = io.TextIOWrapper(io.BytesIO(b"\xff\n"), encoding="utf-8")
    monkeypatch.setattr(sys, "stdin", stdin)
    outcome = run("play", COUNTDOWN)
    assert outcome.code == 0
    assert "reason bad_character" in outcome.out
