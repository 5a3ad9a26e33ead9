import os
import subprocess
import sys

import pytest

import roll_vec


def test_help_names_the_commands_and_gives_examples(run):
    outcome = run("--help")
    assert outcome.code == 0
    for word in ("rollout", "play", "envs", "roll-vec rollout roll_vec/Sokoban-v0"):
        assert word in outcome.out


@pytest.mark.parametrize("command", ["rollout", "play", "envs"])
def test_help_of_a_command_has_examples(run, command):
    outcome = run(command, "--help")
    assert outcome.code == 0
    assert "example" in outcome.out


def test_help_of_rollout_shows_the_defaults(run):
    text = " ".join(run("rollout", "--help").out.split())
    for default in ("4096", "1000", "random", "next_step", "rollout.png", "16"):
        assert f"(default: {default})" in text


def test_version_is_that_of_the_package(run):
    outcome = run("--version")
    assert outcome.code == 0
    assert outcome.out.startswith(f"roll-vec {roll_vec.__version__} ")


def test_no_command_and_an_unknown_one_are_errors(fails):
    assert "COMMAND" in fails()
    assert "'fly'" in fails("fly")


def test_envs_lists_every_id_with_its_keywords(run):
    outcome = run("envs")
    assert outcome.code == 0
    for text in (
        "roll_vec/Sokoban-v0\n",
        "dim_room=(6, 6)",
        "roll_vec/FrozenLake8x8-v1\n",
        "map_name='8x8'",
        "max_episode_steps=200",
        "roll_vec/RandomFrozenLake-v0\n",
        "autoreset_mode='NextStep'",
        "action_start=None",
        "plays action + single_action_space.start",
    ):
        assert text in outcome.out


def test_envs_lists_pools_with_their_own_keywords(run):
    arrays, pools = run("envs").out.split("num_threads=None", 1)
    assert "roll_vec/Countdown-v0\n" in pools
    for text in ("num_numbers=(3, 4)", "action_pattern=None", "workers=0", "executor="):
        assert text in pools
        assert text == "action_pattern=None" or text not in arrays


def test_envs_lists_one_id_or_those_of_a_module(run, own, fails):
    one = run("envs", "roll_vec/Countdown-v0").out
    assert one.startswith("roll_vec/Countdown-v0\n")
    assert "Sokoban" not in one
    assert "num_threads" not in one
    assert run("envs", f"{own}:mine/Hall-v0").out.startswith("mine/Hall-v0\n")
    everything = run("envs", f"{own}:").out
    for text in ("roll_vec/Sokoban-v0\n", "mine/Echo-v0\n", "length=5"):
        assert text in everything
    assert "roll_vec/Sokoban-v0, " in fails("envs", "mine/Nothing-v0")
    assert "cannot import no_such_module" in fails("envs", "no_such_module:")


def test_command_line_is_imported_with_the_core_alone():
    code = (
        "import sys\n"
        "for name in ('rich', 'PIL', 'pygame', 'moviepy'): sys.modules[name] = None\n"
        "from roll_vec.cli import main\n"
        "code = main(['rollout', 'CartPole-v1', '--steps', '2'])\n"
        "assert 'numba' not in sys.modules\n"
        "sys.exit(code)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=False
    )
    assert done.returncode == 2
    assert done.stderr.endswith('needs rich: pip install "roll-vec[cli]"\n')
    assert done.stderr.count("\n") == 1


@pytest.mark.parametrize(
    "arguments", [("rollout", "--num-envs=2", "--steps=2", "--no-image"), ("play",)]
)
def test_output_that_lacks_characters_is_no_error(arguments):
    command, *rest = arguments
    done = subprocess.run(
        [sys.executable, "-m", "roll_vec.cli", command, "roll_vec/Sokoban-v0", *rest],
        env={**os.environ, "PYTHONIOENCODING": "ascii"},
        input="s\n",
        capture_output=True,
        encoding="ascii",
        check=True,
    )
    assert "roll_vec/Sokoban-v0 ?" in done.stdout
    assert "Traceback" not in done.stderr


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no SIGPIPE")
def test_reader_that_leaves_early_is_no_error():
    command = [sys.executable, "-m", "roll_vec.cli", "envs"]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as process:
        process.stdout.close()
        assert process.stderr.read() == b""
    assert process.returncode == 0
