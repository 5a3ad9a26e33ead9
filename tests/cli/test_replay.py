"""`roll-vec replay`: equal runs are identical, and the first difference is named."""

import signal
import sys

import gymnasium
import numpy as np
import pytest
from gymnasium.spaces import Box, Dict, Discrete, Text, Tuple

from roll_vec.cli._columns import Column, read_column
from roll_vec.cli._recorder import RunRecorder
from roll_vec.cli._run_file import FORMAT, KIND
from roll_vec.envs.sokoban.rooms import RoomGenerator
from roll_vec.npz_files import read_npz, write_npz
from roll_vec.render.ansi import strip_colours
from tests.cli.output import table_of
from tests.conftest import JIT_OFF
from tests.pool.cases import FAULTS_ON_PURPOSE

SOKOBAN, COUNTDOWN = "roll_vec/Sokoban-v0", "roll_vec/Countdown-v0"
ECHO = "user_envs:mine/Echo-v0"
# 12 steps end some episodes of these, by the rules or by the limit.
SMALL = ("--num-envs", 4, "--steps", 12, "--seed", 7)
TINY_ROOMS = ("-o", "dim_room=(5, 5)", "-o", "num_boxes=1", "-o", "max_episode_steps=5")
# Actions that move nothing.
STILL = ("--policy", "constant:0", "-o", "action_start=1")
TEXTS = ("-o", "obs_mode=text", "-o", "action_mode=text")
TASKS = ("-o", "num_numbers=2", "-o", "number_range=(1, 4)", "-o", "max_steps=3")
SHOP = ("-o", "num_products=3", "-o", "human_goals=True", "-o", "max_episode_steps=4")
# Wrap-around of integers is silenced in the thread of the test alone.
WORKERS = () if JIT_OFF else ("-o", "workers=2")
PROCESSES = ("-o", "workers=2", "-o", "executor=process")


@pytest.fixture
def save(run):
    """Roll out, and save the run."""

    def save(*arguments, path="run.npz"):
        outcome = run("rollout", *arguments, "--no-image", "--save", path)
        assert outcome.code == 0
        assert f"run: {path}" in outcome.out

    return save


@pytest.fixture
def differs(run):
    """Replay a run, and return what the report says of the first difference."""

    def differs(*arguments, path="run.npz"):
        outcome = run("replay", path, *arguments)
        assert (outcome.code, outcome.err) == (1, "")
        title, *lines = outcome.out.splitlines()
        assert title.startswith("different: ")
        return [line[15:] for line in lines]

    return differs


def equals(outcome, num_steps=12):
    """Return whether a replay of so many steps says that all is equal."""
    words = outcome.out.startswith("identical: ")
    steps = f" {num_steps} steps (" in outcome.out
    return words and steps and (outcome.code, outcome.err) == (0, "")


@pytest.mark.parametrize("autoreset", ["next_step", "same_step", "disabled"])
@pytest.mark.parametrize(
    "arguments",
    [
        (SOKOBAN, *TINY_ROOMS),
        (SOKOBAN, *TINY_ROOMS, *TEXTS, "-o", "group_size=2"),
        ("roll_vec/FrozenLake-v1", "-o", "episode_info=True"),
        ("roll_vec/RandomFrozenLake-v0", "-o", "obs_mode=rgb", "--policy", "oracle"),
        (COUNTDOWN, *TASKS),
        (COUNTDOWN, *TASKS, "--policy", "oracle", *WORKERS),
        ("roll_vec/WebShop-v0", *SHOP),
        (ECHO, "-o", "group_size=2"),
        ("user_envs:mine/Corridor-v0",),
        # Gymnasium's own: floats, and no batch of their own.
        ("CartPole-v1",),
        ("FrozenLake-v1",),
        ("Pendulum-v1",),
    ],
)
def test_run_is_identical(run, save, user_module, arguments, autoreset):
    save(*arguments, *SMALL, "--autoreset", autoreset)
    assert equals(run("replay", "run.npz"))


def test_other_workers_and_threads_are_identical(run, save, user_module):
    save(ECHO, *SMALL, *PROCESSES)
    assert equals(run("replay", "run.npz"))
    assert equals(run("replay", "run.npz", "-o", "workers=0"))
    save(SOKOBAN, *SMALL, "--threads", 2)
    assert equals(run("replay", "run.npz", "--threads", 1))


@FAULTS_ON_PURPOSE
def test_faults_are_played_again(run, save, user_module, tmp_path):
    (tmp_path / "rude.py").write_text(
        "answers = ['raise', 'silent', '3', '4']\n"
        "def act(observations):\n"
        "    answers.append(answers.pop(0))\n"
        "    return answers\n"
    )
    save(ECHO, *SMALL, "--policy", "rude:act")
    assert equals(run("replay", "run.npz"))


class Nested(gymnasium.Env):
    """Spaces within spaces, and infos of many kinds."""

    observation_space = Dict(
        {
            "pair": Tuple((Discrete(9), Text(5))),
            "empty": Box(0, 1, (0,)),
            "row": Box(-9, 9, (3,), np.float32),
        }
    )
    action_space = Dict({"push": Discrete(2), "word": Text(3)})

    def _observe(self):
        row = self.np_random.normal(size=3).astype(np.float32)
        number = int(self.np_random.integers(9))
        return {"pair": (number, f"n{number}"), "empty": np.zeros(0, "f"), "row": row}

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        return self._observe(), {"deep": {"er": {"nan": float("nan")}}, 1: {2, 3}}

    def step(self, action):
        info = {"object": object(), "word": action["word"], "when": np.arange(2)}
        if action["push"]:
            info["deep"] = {"er": {"text": "\ud800"}}
        return self._observe(), 0.5, bool(self.np_random.integers(2)), False, info


@pytest.mark.parametrize("autoreset", ["next_step", "same_step", "disabled"])
def test_nested_spaces_and_infos_are_identical(run, save, monkeypatch, autoreset):
    spec = gymnasium.envs.registration.EnvSpec("Nested-v0", entry_point=Nested)
    monkeypatch.setitem(gymnasium.registry, "Nested-v0", spec)
    save("Nested-v0", *SMALL, "--autoreset", autoreset)
    assert equals(run("replay", "run.npz"))


def test_run_of_digests_is_identical(run, save):
    save(SOKOBAN, *SMALL, "--save-values", 0)
    assert equals(run("replay", "run.npz"))
    save(COUNTDOWN, *SMALL, "--save-values", 0)
    assert equals(run("replay", "run.npz"))


# ---------------------------------------------------------------- differences


def change(path, edit):
    """Edit header and arrays of a run by a function, and write it again."""
    header, arrays = read_npz(path, KIND, FORMAT)
    edit(header, arrays)
    write_npz(path, KIND, FORMAT, header, arrays)


def column_edit(path, frame, edit):
    """Return an edit of the entry of one column in one frame."""

    def edit_columns(header, arrays):
        numbers = [
            i for i, column in enumerate(header["columns"]) if column["path"] == path
        ]
        for number in numbers:
            old = header["columns"][number]
            entries = [*read_column(old, arrays[f"column_{number}"])]
            if frame not in dict(entries):
                continue
            new = Column(np.dtype(old["dtype"]), tuple(old["shape"]))
            for at, entry in entries:
                if at == frame:
                    edit(entry)
                new.append(at, entry)
            description, arrays[f"column_{number}"] = new.finish()
            header["columns"][number] = {**old, **description}
            return
        raise AssertionError(path)

    return edit_columns


def put(index, value):
    """Return a function that assigns an element."""

    def assign(entry):
        assert entry[index] != value
        entry[index] = value

    return assign


@pytest.mark.parametrize(
    ("path", "index", "value", "report"),
    [
        (["rewards"], 2, 5.0, ["2", "rewards", "5.0", "-0.1"]),
        (["rewards"], 2, np.nan, ["2", "rewards", "nan", "-0.1"]),
        (["terminations"], 1, True, ["1", "terminations", "True", "False"]),
        (["truncations"], 3, True, ["3", "truncations", "True", "False"]),
        (["observations"], (1, 2, 4), 9, ["1", "observations[2, 4]", "9", "2"]),
        (["infos", "success"], 0, True, ["0", "infos['success']", "True", "False"]),
        (
            ["infos", "_success"],
            3,
            False,
            ["3", "infos['success']", "nothing", "False"],
        ),
    ],
)
def test_difference_is_named_with_both_values(
    save, differs, tmp_path, path, index, value, report
):
    save(SOKOBAN, *SMALL, *STILL)
    change(tmp_path / "run.npz", column_edit(path, 4, put(index, value)))
    assert differs() == ["4 of 12", *report]


def test_bits_are_compared(save, differs, tmp_path):
    save("roll_vec/FrozenLake-v1", *SMALL)

    def change_sign(entry):
        assert not entry[2]
        entry[2] = -0.0

    change(tmp_path / "run.npz", column_edit(["rewards"], 4, change_sign))
    assert differs() == ["4 of 12", "2", "rewards", "-0.0", "0.0"]


def test_text_is_shown_from_its_difference_on(save, differs, tmp_path):
    save(COUNTDOWN, *SMALL, *TASKS)

    def change_text(header, arrays):
        texts, end = arrays["texts"].copy(), arrays["text_ends"][0]
        assert bytes(texts[:end]).startswith(b'"Target: ')
        texts[end - 2 : end - 1] = ord("!")
        arrays["texts"] = texts

    change(tmp_path / "run.npz", change_text)
    step, env_id, field, recorded, now = differs()
    assert (step, env_id, field) == ("0 of 12", "0", "observations")
    assert recorded.startswith("from character ")
    assert recorded.endswith("!'")
    assert now.startswith(recorded[: -len("!'")])


def test_one_other_action_is_found_in_its_environment(save, differs, tmp_path):
    save(SOKOBAN, *SMALL, *STILL)

    def push(header, arrays):
        actions = arrays["actions"].copy()
        assert (actions.shape, actions.dtype) == ((12, 4), np.int8)
        actions[6:, 2] = [1, 2, 3, 4, 1, 2]
        arrays["actions"] = actions

    change(tmp_path / "run.npz", push)
    step, env_id, *_ = differs()
    assert int(step.split()[0]) in range(7, 13)
    assert env_id == "2"


def test_first_environment_of_several_is_named(save, differs, tmp_path):
    save(SOKOBAN, *SMALL, *STILL)
    file = tmp_path / "run.npz"
    change(file, column_edit(["rewards"], 9, put(1, 2.0)))
    change(file, column_edit(["observations"], 8, put((3, 0, 0), 1)))
    change(file, column_edit(["rewards"], 8, put(2, 2.0)))
    env_id = "2 (the first of 2 that differ in this step)"
    assert differs() == ["8 of 12", env_id, "rewards", "2.0", "-0.1"]


def test_difference_of_a_reset_between_steps_is_named(save, differs, tmp_path):
    save(SOKOBAN, *SMALL, *TINY_ROOMS, "--autoreset", "disabled")
    _, arrays = read_npz(tmp_path / "run.npz", KIND, FORMAT)
    frame = int(np.flatnonzero(arrays["is_reset"])[1])
    change(
        tmp_path / "run.npz", column_edit(["observations"], frame, put((0, 0, 0), 7))
    )
    step, *_, recorded, now = differs()
    assert step == f"{frame - 1} of 12, the reset after it"
    assert (recorded, now) == ("7", "0")


def test_difference_without_values_has_digests(save, differs, tmp_path):
    save(SOKOBAN, *SMALL, *STILL, "--save-values", 0)
    column = column_edit(["observations"], 5, put(3, 1))
    change(tmp_path / "run.npz", column)
    step, env_id, field, recorded, now = differs()
    assert (step, env_id, field) == ("5 of 12", "3", "observations")
    assert recorded == "digest 00000001, without values"
    assert now.startswith("digest ")
    assert "[[0, 0, 0" in now


def test_digest_alone_is_a_difference(save, differs, tmp_path):
    save(SOKOBAN, *SMALL)

    def zero(header, arrays):
        arrays["digests"] = np.zeros_like(arrays["digests"])

    change(tmp_path / "run.npz", zero)
    step, env_id, field, recorded, _ = differs()
    assert (step, env_id) == ("0 of 12", "unknown")
    assert (field, recorded) == ("digest", "00000000")


def change_source(path, old, new):
    """Change the source of a user's environments, as of a new version of them."""
    source = path.read_text()
    assert source.count(old) == 1
    path.write_text(source.replace(old, new))
    # The next command imports it again.
    del sys.modules[path.stem]


@pytest.mark.parametrize(
    ("old", "new", "report"),
    [
        (
            'return f"heard {action}", float(right)',
            'return f"heard {action}", 2.0',
            ["rewards", "0.0", "2.0"],
        ),
        (
            'return f"say {self.number}"',
            'return f"say a {self.number}"',
            ["observations", "'say 9'", "'say a 9'"],
        ),
        (
            'info = {"success": right}',
            'info = {"success": right, "more": [1]}',
            ["infos['more']", "nothing", "[1]"],
        ),
        (
            'info = {"success": right}',
            "info = {}",
            ["infos['success']", "False", "nothing"],
        ),
        (
            'info = {"success": right}',
            'info = {"success": int(right)}',
            ["infos['success']", "False (bool ())", "0 (int64 ())"],
        ),
    ],
)
def test_new_version_of_an_environment_that_plays_otherwise(
    save, differs, user_module, tmp_path, old, new, report
):
    save(ECHO, *SMALL, "--policy", "constant:no")
    change_source(tmp_path / "user_envs.py", old, new)
    assert differs()[2:] == report


def test_versions_that_differ_are_a_hint(run, save, tmp_path):
    save(SOKOBAN, *SMALL)

    def make_old(header, arrays):
        header["versions"]["numpy"] = "1.0"

    change(tmp_path / "run.npz", make_old)
    outcome = run("replay", "run.npz")
    assert equals(outcome)
    hint = f"versions that differ: numpy 1.0 (now {np.__version__})\n"
    assert outcome.out.endswith(hint)


def test_quiet_replay_says_it_by_the_exit_code(run, save, tmp_path):
    save(SOKOBAN, *SMALL)
    assert run("replay", "run.npz", "--quiet").out == ""
    change(tmp_path / "run.npz", column_edit(["rewards"], 3, put(1, 7.0)))
    outcome = run("replay", "run.npz", "--quiet")
    assert (outcome.code, outcome.out, outcome.err) == (1, "", "")


def test_interrupted_run_is_played_as_far_as_it_went(run, tmp_path):
    (tmp_path / "hasty.py").write_text(
        "calls = []\n"
        "def act(observations):\n"
        "    calls.append(1)\n"
        "    if len(calls) == 8:\n"
        "        raise KeyboardInterrupt\n"
        "    return [1] * len(observations)\n"
    )
    flags = ("--policy", "hasty:act", "--save", "run.npz")
    assert run("rollout", SOKOBAN, *SMALL, *flags).code == 130
    assert equals(run("replay", "run.npz"), 7)


def test_interrupt_never_splits_a_step(run, monkeypatch):
    add_step = RunRecorder.add_step

    def interrupt_within(self, *results):
        signal.raise_signal(signal.SIGINT)
        add_step(self, *results)

    monkeypatch.setattr(RunRecorder, "add_step", interrupt_within)
    outcome = run("rollout", SOKOBAN, *SMALL, "--save", "run.npz")
    assert outcome.err == "roll-vec: interrupted after 1 of 12 steps\n"
    assert table_of(outcome.out)["environment steps"] == "4"
    assert equals(run("replay", "run.npz"), 1)


def test_interrupt_of_the_first_reset_saves_a_run_without_steps(run, monkeypatch):
    def interrupt(*arguments):
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(RoomGenerator, "__call__", interrupt)
        assert run("rollout", SOKOBAN, *SMALL, "--save", "run.npz").code == 130
    assert equals(run("replay", "run.npz"), 0)


def test_exception_of_a_replay_is_a_difference(save, differs, user_module, tmp_path):
    # Gymnasium's own batch, where an exception is not the end of an episode.
    (tmp_path / "doors.py").write_text(
        "import gymnasium\n"
        "from tests.cli.small_envs import Line\n"
        "class Door(Line):\n"
        "    def step(self, action):\n"
        "        result = super().step(action)\n"
        "        return result  # or raise\n"
        "gymnasium.registry.pop('Door-v0', None)\n"
        "gymnasium.register('Door-v0', entry_point=Door)\n"
    )
    save("doors:Door-v0", *SMALL)
    change_source(tmp_path / "doors.py", "return result", "raise OSError('shut')")
    assert differs() == ["1 of 12", "unknown", "exception", "none", "OSError: shut"]
    del gymnasium.registry["Door-v0"], sys.modules["doors"]


def test_run_that_an_exception_ends_is_saved(run, differs, user_module, tmp_path):
    # A pool with on_error=raise.
    (tmp_path / "blunt.py").write_text(
        "calls = []\n"
        "def act(observations):\n"
        "    calls.append(1)\n"
        "    return ['raise' if len(calls) == 5 else 'x'] * len(observations)\n"
    )
    flags = ("-o", "on_error=raise", "--policy", "blunt:act", "--save", "run.npz")
    outcome = run("rollout", ECHO, *SMALL, *flags, "--no-image")
    assert outcome.code == 2
    saved, reason = outcome.err.splitlines()
    assert saved == "roll-vec: a step raised an exception; run: run.npz"
    assert "out of [paper]" in reason
    outcome = run("replay", "run.npz")
    assert equals(outcome, 5)
    raises = "the last step raises, as it did: EnvironmentFaultError: environments "
    assert raises in outcome.out
    change_source(tmp_path / "user_envs.py", "out of [paper]", "no ink")
    step, _, field, recorded, now = differs()
    assert (step, field) == ("5 of 5", "exception")
    assert recorded.endswith("OSError: out of [paper]")
    assert now.endswith("OSError: no ink")


# ----------------------------------------------------------- one environment


def test_steps_of_one_environment_are_shown(run, save, tmp_path):
    limit = ("-o", "max_episode_steps=3")
    save(SOKOBAN, *SMALL, "--steps", 5, *STILL, *limit)
    *lines, last = run("replay", "run.npz", "--env", 2).out.splitlines()
    assert last.startswith("identical: ")
    assert [line for line in lines if line.startswith("step ")] == [
        "step 0: reset",
        "step 1: action 0, reward -0.1",
        "step 2: action 0, reward -0.1",
        "step 3: action 0, reward -0.1, truncated",
        "step 4: reset, without an action",
        "step 5: action 0, reward -0.1",
    ]
    env = gymnasium.make(SOKOBAN, render_mode="ansi")
    env.reset(seed=9)
    board = [f"  {line}" for line in strip_colours(env.render()).splitlines()]
    assert lines[1:7] == board
    change(tmp_path / "run.npz", column_edit(["rewards"], 2, put(1, 7.0)))
    lines = run("replay", "run.npz", "--env", 2).out.splitlines()
    assert [line for line in lines if line.startswith("step ")][-1][:6] == "step 2"
    assert lines[-4:-2] == ["  environment  1", "  field        rewards"]


@pytest.mark.parametrize(
    ("mode", "end"), [("same_step", ", then reset"), ("disabled", "")]
)
def test_texts_of_one_environment_are_shown(run, save, mode, end):
    one = ("--num-envs", 2, "--steps", 2, "--policy", "constant:1")
    save(COUNTDOWN, *one, "--autoreset", mode)
    lines = run("replay", "run.npz", "--env", 1).out.splitlines()
    assert [line for line in lines if line.startswith("step 1")] == [
        f"step 1: action '1', reward 0, terminated{end}",
        *["step 1: reset"] * (mode == "disabled"),
    ]
    assert lines[1].startswith("  Target: ")


def test_environment_that_is_not_in_the_batch_is_an_error(fails, save):
    save(SOKOBAN, *SMALL)
    line = fails("replay", "run.npz", "--env", 4)
    assert "argument --env: expected 0 to 3, got 4" in line


def test_progress_is_shown_to_a_terminal_only(run, save, monkeypatch):
    save(SOKOBAN, *SMALL)
    assert run("replay", "run.npz").err == ""
    # rich takes this for a terminal.
    monkeypatch.setenv("FORCE_COLOR", "1")
    assert "12/12 steps" in run("replay", "run.npz").err
