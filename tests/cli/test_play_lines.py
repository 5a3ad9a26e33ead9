"""`roll-vec play` by typing: answers, commands, hints, errors."""

import io
import sys

import gymnasium
import pytest

COUNTDOWN = "roll_vec/Countdown-v0"
TAGS = ("-o", "action_pattern=<answer>(.*?)</answer>")


def blocks(output):
    """Return the output between the prompts; each block begins with the typed line."""
    return output.split("> ")


def task(seed, **options):
    """Return the observation and a right answer of a task."""
    env = gymnasium.make(COUNTDOWN, **options)
    observation, _ = env.reset(seed=seed)
    answer = env.get_wrapper_attr("oracle_action")
    env.close()
    return observation, answer


def test_answer_is_judged_and_the_task_shown_first(play):
    observation, answer = task(3)
    start, end, last = blocks(play(f"{answer}\n", COUNTDOWN, "--seed", 3))
    assert start.startswith(f"{COUNTDOWN} · seed 3\nYou are given some whole numbers")
    assert start.endswith(f":quit ends\n\n{observation}\n")
    # The typed line is echoed; an observation is shown even if it is that before.
    assert end.startswith(f"{answer}\n\n{observation}\nreward +1 · ")
    assert "reason correct" in end
    assert "\nSolved in 1 step, return 1\n" in end
    assert last == "\n"


def test_wrong_answer_leaves_an_episode_open_if_there_are_more(play):
    observation, answer = task(3, max_steps=2)
    output = play(f"1\n{answer}\n", COUNTDOWN, "--seed", 3, "-o", "max_steps=2")
    _, wrong, right, _ = blocks(output)
    assert wrong.startswith(f"1\n\n{observation}\nYour answer does not use the given")
    assert "reason wrong_numbers" in wrong
    assert wrong.endswith("\nstep 1 · return 0\n")
    assert "Solved in 2 steps, return 1\n" in right


def test_lost_episode_takes_no_answer_and_enter_goes_on(play):
    output = play("1\n2\n\n\n", COUNTDOWN, "--seed", 3)
    _, wrong, over, new, nothing, _ = blocks(output)
    assert "Lost in 1 step, return 0" in wrong
    assert over.startswith("2\nThe episode is over: Enter: new level · :restart")
    assert f"{COUNTDOWN} · seed 4\n\n{task(4)[0]}\n" in new
    # An empty line is no answer.
    assert nothing == "\n"


def test_commands_begin_with_a_colon_and_may_be_cut_short(play):
    output = play(":hint\n:new\n:res\n: HELP\n:h\n:q\n1\n", COUNTDOWN, "--seed", 3)
    _, hint, new, same, helped, unknown, end = blocks(output)
    assert hint == f":hint\n{task(3)[1]}\n"
    assert "seed 4\n" in new
    assert same.removeprefix(":res") == new.removeprefix(":new")
    assert "::text" in helped
    assert "You are given some whole numbers" in helped
    assert (
        "no command :h; expected one of :hint, :new, :restart, :help, :quit" in unknown
    )
    assert end == ":q\n"


def test_bare_answers_are_put_into_the_form_that_is_read(play, user_module):
    name = f"{user_module}:mine/Echo-v0"
    output = play("7\n <answer>6</answer>\n::quit\n", name, *TAGS)
    _, bare, in_tags, colon, _ = blocks(output)
    assert "\n\nheard 7\nreward +0" in bare
    assert "\n\nheard 6\nreward +0" in in_tags
    assert "\n\nheard :quit\nreward +0" in colon
    assert "Out of steps: in 3 steps" in colon
    # A form that nobody can write is left to the person.
    output = play("7\nN7\n", name, "-o", "action_pattern=N(\\d)")
    assert "heard \n" in blocks(output)[1]
    assert "heard 7\n" in blocks(output)[2]


def test_environment_without_an_oracle_has_no_hint(play, user_module):
    output = play(":hint\n1\n2\n3\n", f"{user_module}:mine/Echo-v0")
    assert "There is no hint" in output
    assert ":hint" not in blocks(output)[-2]


def test_oracle_of_an_environment_of_the_user_gives_hints(play, user_module):
    output = play(":hint\n", f"{user_module}:mine/Guide-v0")
    assert blocks(output)[1] == ":hint\nRight\n"


def test_short_words_of_an_info_are_shown(play, user_module):
    output = play("silent\n", f"{user_module}:mine/Echo-v0")
    assert "reward +0 · said you said silent\n" in output


def test_actions_with_other_names_are_typed(play, user_module):
    output = play("walk BACK\nfly\nright\n", f"{user_module}:mine/Hall-v0")
    start, left, unknown, right, _ = blocks(output)
    assert "Type one of Walk back, Right; " in start
    assert start.endswith("\n\n..@..\n")
    assert "\n\n.@...\n" in left
    assert unknown == (
        "fly\nThere is no action 'fly'; expected one of Walk back, Right\n"
    )
    assert "\n\n..@..\n" in right
    assert "step 2 · return 0" in right


@pytest.mark.parametrize("mode", ["text", "grid"])
def test_boards_are_played_by_text_where_that_is_asked_for(play, mode):
    sokoban = "roll_vec/Sokoban-v0"
    options = {"obs_mode": "text", "action_mode": "text"}
    env = gymnasium.make(sokoban, **options)
    board, _ = env.reset(seed=1010)
    observation = env.step("Down")[0]
    env.close()
    flags = ("-o", "action_mode=text", "-o", f"obs_mode={mode}")
    start, end, _ = blocks(play("down\n", sokoban, "--seed", 1010, *flags))
    assert "Answer with one action and nothing else" in start
    assert start.endswith(f"\n\n{board}\n")
    assert end.startswith(f"down\n\n{observation}\nreward -0.1\n")


def test_part_of_an_action_is_not_played_but_answered_with_the_whole(play):
    output = play("buy\nsearch[shoes]\nnext\nclick[nowhere]\n", "roll_vec/WebShop-v0")
    _, buy, _, following, nowhere, _ = blocks(output)
    assert buy == "buy\n'buy' is no action: it is written click[buy now]\n"
    assert following == "next\n'next' is no action: it is written click[next >]\n"
    assert "reward +0 · no valid action\n" in nowhere
    assert "Actions of this page: click[back to search], click[next >], " in nowhere
    assert "step 2 · return 0" in nowhere


def test_letters_inside_a_word_are_no_part_of_an_action(play):
    output = play("search[lamp]\nc\nac\nlic\n", "roll_vec/WebShop-v0")
    assert output.count("reward +0 · no valid action\n") == 3
    assert "it is written" not in output


def test_action_outside_of_the_space_is_not_taken(play, monkeypatch):
    class Narrow(gymnasium.Env):
        observation_space = action_space = gymnasium.spaces.Text(3)

        def reset(self, *, seed=None, options=None):
            return "abc", {}

        def step(self, action):
            return action, 1, False, True, {}

    spec = gymnasium.envs.registration.EnvSpec("Narrow-v0", entry_point=Narrow)
    monkeypatch.setitem(gymnasium.registry, "Narrow-v0", spec)
    _, wide, narrow, _ = blocks(play("abcd\nxyz\n", "Narrow-v0"))
    assert wide.startswith("abcd\nThat is no action of Text(1, 3, ")
    assert "\n\nxyz\nreward +1\nOut of steps: in 1 step, return 1\n" in narrow


def test_what_is_no_text_becomes_a_question_mark_and_is_judged(monkeypatch, run):
    stdin = io.TextIOWrapper(io.BytesIO(b"\xff\n"), encoding="utf-8")
    monkeypatch.setattr(sys, "stdin", stdin)
    outcome = run("play", COUNTDOWN)
    assert outcome.code == 0
    assert "reason bad_character" in outcome.out


@pytest.mark.parametrize(
    ("arguments", "messages"),
    [
        ((COUNTDOWN, "-o", "num_numbers=9"), [COUNTDOWN, "num_numbers", "at most 6"]),
        ((COUNTDOWN, "-o", "workers=2"), [COUNTDOWN, "keyword argument 'workers'"]),
        (("user_envs:mine/No-v0",), ["mine"]),
        (("no_such_module:mine/No-v0",), ["cannot import no_such_module: No module"]),
    ],
)
def test_errors_are_one_line(fails, user_module, arguments, messages):
    line = fails("play", *arguments)
    for message in messages:
        assert message in line
