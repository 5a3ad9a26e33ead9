"""`roll-vec replay`: files that cannot be played, each refused by its name."""

import json
import zlib

import numpy as np
import pytest

from roll_vec.cli._run_file import FORMAT, KIND
from roll_vec.npz_files import read_npz, write_npz

SOKOBAN, COUNTDOWN = "roll_vec/Sokoban-v0", "roll_vec/Countdown-v0"
SMALL = ("--num-envs", 2, "--steps", 3, "--quiet", "--no-image", "--save", "run.npz")
WALL, ROOM = "#" * 5 + "\n", "#@$.#\n"
LEVEL = WALL + ROOM + WALL


@pytest.fixture
def file(run, tmp_path):
    """Save a run, and return its path."""
    assert run("rollout", SOKOBAN, *SMALL).code == 0
    return tmp_path / "run.npz"


@pytest.fixture
def small_file(run, tmp_path):
    """Save a run that is made again quickly, and return its path."""
    assert run("rollout", "roll_vec/FrozenLake-v1", *SMALL).code == 0
    return tmp_path / "run.npz"


def rewrite(file, edit):
    """Edit header and arrays of a run by a function, and write it again."""
    header, arrays = read_npz(file, KIND, FORMAT)
    edit(header, arrays)
    write_npz(file, KIND, FORMAT, header, arrays)


@pytest.mark.parametrize("version", [0, 2])
def test_other_versions_of_the_format_are_refused_by_name(fails, file, version):
    header, arrays = read_npz(file, KIND, FORMAT)
    write_npz(file, KIND, version, header, arrays)
    line = fails("replay", file)
    assert f"{file} cannot be read: it has version {version} of the format" in line
    assert "reads version 1" in line


def test_format_is_the_first():
    # A change of the format is a new version; the test above then takes 1 and 3.
    assert FORMAT == 1


def test_other_kinds_of_files_are_refused(fails, file, tmp_path):
    header, arrays = read_npz(file, KIND, FORMAT)
    write_npz(file, "snapshot", FORMAT, header, arrays)
    assert f"{file} cannot be read: it is a snapshot, not a run" in fails(
        "replay", file
    )
    np.savez(file, actions=np.zeros(3))
    assert f"{file} cannot be read" in fails("replay", file)
    file.write_text("hello")
    assert f"{file} cannot be read" in fails("replay", file)
    assert "'no.npz': No such file" in fails("replay", "no.npz")
    assert f"'{tmp_path}'" in fails("replay", tmp_path)


def test_damaged_file_is_refused_or_plays_the_same(run, small_file):
    file = small_file
    data = file.read_bytes()
    rng = np.random.default_rng(0)
    for place in [*range(40), *rng.integers(len(data), size=60).tolist()]:
        damaged = bytearray(data)
        damaged[place] ^= 1 << int(rng.integers(8))
        file.write_bytes(damaged)
        outcome = run("replay", file)
        # Some bytes, such as the times of entries, mean nothing.
        assert outcome.code in (0, 2)
        assert outcome.code == 0 or outcome.err.startswith(
            f"roll-vec: error: {file} cannot be read: "
        )
        assert outcome.err.count("\n") == (outcome.code == 2)
    for size in (0, 1, 100, len(data) // 2, len(data) - 1):
        file.write_bytes(data[:size])
        assert f"{file} cannot be read: " in run("replay", file).err


JUNK = (None, -1, 1 << 70, "x", [[0, 1]])


@pytest.mark.slow
def test_false_content_behind_a_true_digest_is_no_traceback(run, small_file):
    file = small_file
    header, arrays = read_npz(file, KIND, FORMAT)
    edits = []
    for parent in (header, header["setup"], header["columns"][0], header["actions"]):
        for key in [*parent]:
            edits += [(parent, key, value) for value in JUNK]
            edits.append((parent, key, ...))
    junk_arrays = (np.zeros(0), np.full((2, 2), 250, np.uint8), np.array("x"))
    for key in arrays:
        edits += [(arrays, key, value) for value in (*junk_arrays, ...)]
    codes = set()
    for parent, key, value in edits:
        old = dict(parent)
        if value is ...:
            del parent[key]
        else:
            parent[key] = value
        write_npz(file, KIND, FORMAT, header, arrays)
        outcome = run("replay", file)
        codes.add(outcome.code)
        assert outcome.err.count("\n") == (outcome.code == 2), outcome.err
        parent.clear()
        parent.update(old)
    assert codes <= {0, 1, 2}
    assert {1, 2} <= codes


def test_default_that_is_no_plain_data_is_refused(fails, file):
    def damage(header, arrays):
        header["setup"]["defaults"]["num_boxes"] = "{"

    rewrite(file, damage)
    assert f"{file} cannot be read: it is damaged" in fails("replay", file)


def test_small_file_with_a_giant_entry_is_refused(fails, small_file):
    size = 1 << 30
    parts = zlib.compress(bytes(size // 8)), zlib.compress(b"")

    def enlarge(header, arrays):
        column = header["columns"][0]
        column |= {"dtype": "|u1", "shape": [2, size // 2], "frames": [[0, 1]]}
        column |= {"sizes": [1], "bytes": [len(part) for part in parts]}
        # It is compressed once more.
        arrays["column_0"] = np.frombuffer(b"".join(parts), np.uint8)

    rewrite(small_file, enlarge)
    assert small_file.stat().st_size < 20_000
    line = fails("replay", small_file)
    assert f"{small_file} cannot be read: it is damaged" in line
    assert "column ['observations']" in line


def test_id_that_is_not_registered_here_is_named(fails, file):
    def rename(header, arrays):
        header["setup"]["id"] = "roll_vec/Sokobam-v0"

    rewrite(file, rename)
    line = fails("replay", file)
    assert f"{file} cannot be played here: there is no environment" in line
    assert "roll_vec/Sokobam-v0; did you mean roll_vec/Sokoban-v0?" in line

    def name_module(header, arrays):
        header["setup"]["id"] = "no_such_module:mine/Env-v0"

    rewrite(file, name_module)
    assert "No module named 'no_such_module'" in fails("replay", file)


def test_keywords_that_do_not_exist_any_more_are_named(fails, file):
    def add_keyword(header, arrays):
        header["setup"]["options"] = json.dumps({"num_crates": 3})

    rewrite(file, add_keyword)
    line = fails("replay", file)
    assert f"{file} cannot be played here: " in line
    assert "unexpected keyword argument 'num_crates'" in line


def test_old_default_is_played_where_it_has_changed(run, file):
    def set_default(header, arrays):
        defaults = header["setup"]["defaults"]
        assert json.loads(defaults["num_boxes"]) == 3
        defaults["num_boxes"] = "2"
        # It was removed since, and the run does not use it.
        defaults["num_crates"] = "7"

    rewrite(file, set_default)
    outcome = run("replay", file)
    # Other rooms than those of the file: the recorded default was used.
    assert outcome.code == 1
    assert "observations" in outcome.out
    rewrite(file, lambda header, arrays: header["setup"]["defaults"].clear())
    assert run("replay", file).code == 0


@pytest.mark.parametrize("folder", [False, True])
def test_levels_have_to_be_the_same(run, fails, tmp_path, folder):
    levels = tmp_path / "levels" if folder else tmp_path / "levels.txt"
    text_file = levels
    if folder:
        levels.mkdir()
        text_file = levels / "1.txt"
    text_file.write_text(LEVEL)
    option = f"levels={levels.name}"
    assert run("rollout", SOKOBAN, *SMALL, "-o", option).code == 0
    assert run("replay", "run.npz").code == 0

    text_file.write_text(LEVEL + "\n" + LEVEL)
    line = fails("replay", "run.npz")
    assert f"run.npz cannot be played here: levels: the content of {levels}" in line
    assert "has changed since the run was saved" in line

    text_file.write_text(LEVEL)
    moved = levels.rename(tmp_path / "moved")
    line = fails("replay", "run.npz")
    assert f"levels: {levels} cannot be read" in line
    assert "if it has moved, use -o levels=PATH" in line
    assert run("replay", "run.npz", "-o", f"levels={moved}").code == 0


def test_tasks_have_to_be_the_same(run, fails, tmp_path):
    tasks = tmp_path / "tasks.jsonl"
    tasks.write_text('{"nums": [1, 2, 3], "target": 6}\n')
    assert run("rollout", COUNTDOWN, *SMALL, "-o", f"data={tasks}").code == 0
    assert run("replay", "run.npz").code == 0
    tasks.write_text('{"nums": [1, 2, 3], "target": 5}\n')
    assert f"data: the content of {tasks} has changed" in fails("replay", "run.npz")


def test_text_that_is_no_path_stays_a_keyword(run):
    assert run("rollout", SOKOBAN, *SMALL, "-o", f"levels={[LEVEL]}").code == 0
    assert run("replay", "run.npz").code == 0


@pytest.mark.parametrize("option", ["num_boxes=2", "workers=1"])
def test_what_changes_the_run_is_refused(fails, file, option):
    line = fails("replay", file, "-o", option)
    name = option.partition("=")[0]
    assert f"argument -o: {name} may not change in a replay; no keyword of" in line


def test_keywords_that_may_change_in_a_replay_are_named(run, fails):
    small = (*SMALL, "--save", "run.npz")
    assert run("rollout", "roll_vec/Countdown-v0", *small).code == 0
    line = fails("replay", "run.npz", "-o", "num_numbers=3")
    names = "context, executor, reset_timeout, step_timeout, workers"
    assert f"num_numbers may not change in a replay; those that may: {names}" in line
    assert run("replay", "run.npz", "-o", "workers=0").code == 0


def test_keywords_and_actions_that_are_no_plain_data_cannot_be_saved(
    fails, tmp_path, user_module
):
    line = fails("rollout", SOKOBAN, *SMALL, "-o", "levels={1}")
    assert "levels" in line
    (tmp_path / "odd.py").write_text(
        "class Word(str):\n    pass\n\ndef act(observations):\n"
        "    return [Word('3')] * len(observations)\n"
    )
    line = fails(
        "rollout", f"{user_module}:mine/Echo-v0", *SMALL, "--policy", "odd:act"
    )
    assert "argument --save: actions are saved as plain data, and these are not" in line
    assert "odd.Word" in line
