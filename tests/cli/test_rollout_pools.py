"""`roll-vec rollout` of pools: text environments, environments of the user, faults."""

import re
import sys

import numpy as np
import pytest

from tests.cli.output import table_of
from tests.pool.cases import FAULTS_ON_PURPOSE

COUNTDOWN, ECHO = "roll_vec/Countdown-v0", "user_envs:mine/Echo-v0"
SMALL = ("--num-envs", 4, "--steps", 12)


@pytest.mark.parametrize("autoreset", ["next_step", "same_step", "disabled"])
def test_oracle_solves_every_task(run, tmp_path, autoreset):
    outcome = run(
        *("rollout", COUNTDOWN, *SMALL, "--policy", "oracle", "--save", "e.npz"),
        *("--autoreset", autoreset),
    )
    assert (outcome.code, outcome.err) == (0, "")
    table = table_of(outcome.out)
    episodes = 24 if autoreset == "next_step" else 48
    assert (table["episodes"], table["success rate"]) == (str(episodes), "100.00%")
    assert table["return"] == "1.000 ± 0.000 (1 to 1)"
    assert "faults" not in table
    saved = np.load(tmp_path / "e.npz")
    assert saved["success"].tolist() == [1] * episodes
    assert saved["lengths"].tolist() == [1] * episodes


@pytest.mark.parametrize("flags", [(), ("-o", "workers=2", "-o", "executor=process")])
def test_oracle_of_an_environment_of_the_user_is_found(run, user_module, flags):
    outcome = run(
        *("rollout", f"{user_module}:mine/Guide-v0", *SMALL, *flags),
        *("--policy", "oracle"),
    )
    assert outcome.code == 0
    # Every episode takes two steps to the right and one reset.
    assert table_of(outcome.out)["episodes"] == "16"
    assert (
        "out of the oracle's reach, for 1 reason:\nalways to the right\n" in outcome.out
    )


def test_texts_are_shown_where_there_is_no_picture(run, tmp_path):
    outcome = run("rollout", COUNTDOWN, *SMALL, "--policy", "oracle")
    *_, title, first, answer = outcome.out.splitlines()[:-6]
    assert 'no picture: the environment has no render_mode "rgb_array"' in outcome.out
    assert title == "last texts:"
    assert re.fullmatch(r"  Target: \d+, nums: \[.*\]", first)
    assert re.fullmatch(r"  > [-+*/() \d]+  reward 1", answer)
    assert not list(tmp_path.iterdir())


def test_texts_are_shown_without_a_picture_and_not_beside_one(run):
    boards = ("rollout", "roll_vec/Sokoban-v0", *SMALL, "-o", "action_mode=text")
    assert "last texts:" not in run(*boards).out
    assert "last texts:" in run(*boards, "--no-image").out
    assert run("rollout", COUNTDOWN, *SMALL, "--quiet").out == ""


def test_random_answers_are_rolled_out_and_are_a_function_of_the_seed(run, tmp_path):
    def returns(seed):
        arguments = ("-o", "reward_rule=tinyzero", "--seed", seed, "--save", "e.npz")
        assert run("rollout", COUNTDOWN, *SMALL, *arguments).code == 0
        return np.load(tmp_path / "e.npz")["returns"].tolist()

    assert returns(5) == returns(5)
    assert returns(5) != returns(6)


@pytest.mark.parametrize("name", ["Echo-v0", "Corridor-v0", "Hall-v0"])
@pytest.mark.parametrize("options", [(), ("-o", "workers=2"), ("process",)])
def test_environments_of_the_user_roll_out(run, user_module, tmp_path, name, options):
    if options == ("process",):
        options = ("-o", "workers=2", "-o", "executor=process", "-o", "step_timeout=60")
    saved = []
    for more in ((), options):
        outcome = run(
            *("rollout", f"{user_module}:mine/{name}", *SMALL, "--save", "e.npz", *more)
        )
        assert outcome.code == 0
        assert "faults" not in outcome.out
        saved.append(np.load(tmp_path / "e.npz")["returns"].tolist())
    assert saved[0] == saved[1]


@pytest.mark.skipif(sys.platform == "win32", reason="there is one way alone")
def test_processes_that_start_anew_find_modules_of_the_working_directory(
    run, user_module
):
    options = ("workers=1", "executor=process", "context=spawn")
    flags = [flag for option in options for flag in ("-o", option)]
    assert run("rollout", f"{user_module}:mine/Echo-v0", *SMALL, *flags).code == 0


@FAULTS_ON_PURPOSE
def test_faults_are_counted_and_the_first_one_is_shown(run, user_module):
    arguments = ("rollout", ECHO, *SMALL, "--policy", "constant:raise")
    table = table_of(run(*arguments).out)
    assert (table["episodes"], table["faults"]) == ("24", "24 by exceptions")
    # Square brackets are no markup.
    assert table["first fault"] == "exception in step: OSError: out of [paper]"
    assert table["success rate"] == "–"


@FAULTS_ON_PURPOSE
@pytest.mark.parametrize("mode", ["next_step", "same_step", "disabled"])
def test_rollout_of_faults_alone_fails(run, user_module, tmp_path, mode):
    arguments = ("rollout", ECHO, *SMALL, "--autoreset", mode, "--quiet")
    outcome = run(*arguments, "--policy", "constant:raise")
    assert outcome.code == 1
    assert re.search(
        r"^roll-vec: error: all \d+ episodes ended by faults, the first by this: "
        r"exception in step: OSError: out of \[paper\]$",
        outcome.err,
        re.MULTILINE,
    )
    # Some are no reason to fail.
    (tmp_path / "half.py").write_text(
        "def act(texts):\n    return ['raise', *(text[-1] for text in texts[1:])]\n"
    )
    assert run(*arguments, "--policy", "half:act").code == 0


@FAULTS_ON_PURPOSE
def test_dead_workers_are_counted(run, user_module):
    options = ("-o", "workers=2", "-o", "executor=process")
    arguments = ("rollout", ECHO, "--num-envs", 2, "--steps", 1, *options)
    table = table_of(run(*arguments, "--policy", "constant:exit").out)
    assert table["faults"] == "2 by dead workers"
    assert "exit code 3" in table["first fault"]


def test_success_that_is_not_said_is_not_a_rate_of_zero(run, user_module):
    arguments = (
        "rollout",
        f"{user_module}:mine/Corridor-v0",
        "--num-envs",
        4,
        "--steps",
        100,
    )
    table = table_of(run(*arguments).out)
    assert int(table["episodes"]) > 4
    assert table["success rate"] == "–"


def test_policy_of_the_user_gets_and_gives_texts(run, user_module, tmp_path):
    (tmp_path / "speaker.py").write_text(
        "def act(observations):\n"
        "    assert type(observations) is tuple and len(observations) == 4\n"
        "    return [text.split()[-1] for text in observations]\n"
    )
    outcome = run("rollout", ECHO, *SMALL, "--policy", "speaker:act")
    assert table_of(outcome.out)["success rate"] == "100.00%"


@pytest.mark.parametrize(
    ("arguments", "messages"),
    [
        ((COUNTDOWN, "--threads", 2), ["--threads", COUNTDOWN, "-o workers=2"]),
        ((COUNTDOWN, "-o", "step_timeout=1"), [COUNTDOWN, "step_timeout", "workers=1"]),
        ((COUNTDOWN, "-o", "numbers=3"), [COUNTDOWN, "numbers", "num_numbers"]),
        (
            ("CartPole-v1", "--policy", "oracle"),
            ["--policy", "no oracle of CartPole-v1", "oracle_action", COUNTDOWN],
        ),
        ((ECHO, *SMALL, "--policy", "builtins:len"), ["returned int", "4 str"]),
        (
            (ECHO, *SMALL, "--policy", "constant:raise", "-o", "on_error=raise"),
            ["environments [0, 1, 2, 3] failed", "out of [paper]"],
        ),
    ],
)
def test_errors_name_the_argument_the_value_and_what_would_do(
    fails, user_module, tmp_path, arguments, messages
):
    line = fails("rollout", *arguments)
    for message in messages:
        assert message in line
    assert not (tmp_path / "rollout.png").exists()
