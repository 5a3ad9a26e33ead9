"""Files of saved runs: their format, and files that cannot be played are refused."""

import json
import shutil
import zlib
from pathlib import Path

import numpy as np
import pytest

from roll_vec.npz_files import read_npz, write_npz

GOLDEN = Path(__file__).parent / "golden"
SOKOBAN, COUNTDOWN = "roll_vec/Sokoban-v0", "roll_vec/Countdown-v0"
LAKE = "roll_vec/FrozenLake-v1"
SMALL = ("--num-envs", 2, "--steps", 3, "--quiet", "--no-image", "--save", "run.npz")
WALL, ROOM = "#" * 5 + "\n", "#@$.#\n"
LEVEL = WALL + ROOM + WALL


@pytest.fixture
def save(run, tmp_path):
    """Return a function that saves a run, and returns its path."""

    def save(env_id=SOKOBAN, *options):
        outcome = run("rollout", env_id, *SMALL, *options)
        assert outcome.code == 0, outcome.err
        return tmp_path / "run.npz"

    return save


# Runs with values and with digests, written by the first version; without `versions`.
GOLDEN_RUNS = {
    "run-1-values.npz": (LAKE, "-o", "is_slippery=False"),
    "run-1-digests.npz": (COUNTDOWN, "-o", "max_steps=2", "--save-values", 0),
}


@pytest.mark.parametrize("name", GOLDEN_RUNS)
def test_the_format_is_that_of_the_first_version(run, save, name):
    outcome = run("replay", GOLDEN / name)
    assert outcome.out.startswith("identical: "), outcome
    expected_header, expected = read_npz(GOLDEN / name, "run", 1)
    path = save(*GOLDEN_RUNS[name], "--steps", 5)
    header, arrays = read_npz(path, "run", 1)
    for each in (expected_header, header):
        del each["versions"], each["setup"]["defaults"]
        for column in each["columns"]:
            # zlib may compress otherwise.
            del column["bytes"]
    assert header == expected_header
    assert arrays.keys() == expected.keys()
    for key in arrays.keys() - {"versions"}:
        if not key.startswith("column_"):
            assert arrays[key].dtype == expected[key].dtype
            np.testing.assert_array_equal(arrays[key], expected[key], key)


def test_a_long_run_is_read_back_equal(run, save):
    # Columns are stored in blocks of 256 frames.
    save(LAKE, "--steps", 700, "-o", "max_episode_steps=9")
    assert run("replay", "run.npz").code == 0


def test_versions_that_differ_are_a_hint(run, save):
    path = save(LAKE)
    header, arrays = read_npz(path, "run", 1)
    header["versions"]["numpy"] = "1.0"
    write_npz(path, "run", 1, header, arrays)
    outcome = run("replay", "run.npz")
    hint = f"versions that differ: numpy 1.0 (now {np.__version__})\n"
    assert (outcome.code, outcome.out.endswith(hint)) == (0, True)


# ------------------------------------------------------------------------ damage


@pytest.mark.parametrize("seed", range(3))
def test_a_damaged_file_is_refused_or_plays_the_same(run, tmp_path, seed):
    path = tmp_path / "run.npz"
    data = (GOLDEN / [*GOLDEN_RUNS][seed % 2]).read_bytes()
    rng = np.random.default_rng(seed)
    for place in rng.integers(len(data), size=30).tolist():
        damaged = bytearray(data)
        damaged[place] ^= 1 << int(rng.integers(8))
        path.write_bytes(damaged)
        outcome = run("replay", path)
        # Some bytes, such as the times of entries, mean nothing.
        if outcome.code == 0:
            assert outcome.out.startswith("identical: ")
        else:
            assert outcome.code == 2
            message = f"roll-vec: error: {path} cannot be read: "
            assert outcome.err.startswith(message)
            assert outcome.err.count("\n") == 1
    path.write_bytes(data[: rng.integers(len(data))])
    assert f"{path} cannot be read: " in run("replay", path).err


def test_other_kinds_and_versions_of_files_are_refused(fails, save):
    path = save(LAKE)
    header, arrays = read_npz(path, "run", 1)
    for version in (0, 2):
        write_npz(path, "run", version, header, arrays)
        line = fails("replay", path)
        assert f"{path} cannot be read: it has version {version} of the form" in line
        assert "reads version 1" in line
    write_npz(path, "snapshot", 1, header, arrays)
    line = fails("replay", path)
    assert f"{path} cannot be read: it is a snapshot, not a run" in line
    np.savez(path, actions=np.zeros(3))
    assert f"{path} cannot be read" in fails("replay", path)
    path.write_text("hello")
    assert f"{path} cannot be read" in fails("replay", path)


BOMB = np.frombuffer(zlib.compress(bytes(50 << 20), 1), np.uint8)
NONE = np.frombuffer(zlib.compress(b""), np.uint8)
LARGE = {"dtype": "|u1", "shape": [2, 1 << 29], "frames": [[0, 1]], "sizes": [1]}
MASK = len(zlib.compress(bytes(1 << 27)))


@pytest.mark.parametrize(
    ("edits", "message"),
    [
        ({"setup id": "roll_vec/Sokobam-v0"}, "played here: there is no environment"),
        ({"setup id": "roll_vec/Sokobam-v0"}, "did you mean roll_vec/Sokoban-v0?"),
        ({"setup id": "no_such:mine/Env-v0"}, "No module named 'no_such'"),
        (
            {"setup options": json.dumps({"num_crates": 3})},
            "run.npz cannot be played here: roll_vec/FrozenLake-v1: got an unexpected "
            "keyword argument 'num_crates'",
        ),
        ({"setup defaults match": "{"}, "cannot be read: it is damaged"),
        ({"columns 0 sizes": [257]}, "it is damaged (ValueError('a block of 257 entr"),
        ({"columns 0 sizes": [1 << 40]}, "a block of 1099511627776 entries"),
        ({"columns 0 shape": [2, 1 << 40]}, "column ['observations']"),
        ({"columns 0 shape": [3]}, "column ['observations']"),
        ({"columns 0 path": ["somewhere"]}, "column ['somewhere']"),
        ({"columns 0 path": ["infos", 1]}, "column ['infos', 1]"),
        ({"columns 0 kind": "other"}, "column ['observations']"),
        ({"columns 0 kind": "texts"}, "column ['observations']"),
        ({"columns 0 dtype": "|O"}, "column ['observations']"),
        ({"columns 0 bytes": [len(BOMB), 0], "column_0": BOMB}, "bytes in a block"),
        (
            {
                **{f"columns 0 {name}": value for name, value in LARGE.items()},
                "columns 0 bytes": [MASK, len(NONE)],
                "column_0": np.frombuffer(
                    zlib.compress(bytes(1 << 27)) + NONE.tobytes(), np.uint8
                ),
            },
            "column ['observations']",
        ),
        ({"text_ends": np.array([3, 1])}, "texts that overlap"),
        ({"text_ends": np.array([3, 7])}, "texts that overlap"),
        ({"text_ends": np.array([-1, 6])}, "texts that overlap"),
        ({"is_reset": np.zeros(4, bool)}, "a step before the first reset"),
        ({"is_reset": np.ones(4, bool)}, "a reset after a step that ended nothing"),
        ({"actions": np.zeros((1, 2), np.int8)}, "it has a step without actions"),
    ],
    ids=lambda value: str([*value])[:40] if isinstance(value, dict) else None,
)
def test_false_content_behind_a_true_digest_is_refused(fails, save, edits, message):
    path = save(LAKE)
    header, arrays = read_npz(path, "run", 1)
    for place, value in edits.items():
        *keys, last = place.split()
        parent = header if keys else arrays
        for key in keys:
            parent = parent[int(key) if key.isdigit() else key]
        parent[last] = value
    write_npz(path, "run", 1, header, arrays)
    assert message in fails("replay", "run.npz")


JUNK = (None, -1, 1 << 70, "x", [[0, 1]])


@pytest.mark.slow
def test_junk_behind_a_true_digest_is_no_traceback(run, save):
    path = save(LAKE)
    header, arrays = read_npz(path, "run", 1)
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
        write_npz(path, "run", 1, header, arrays)
        outcome = run("replay", path)
        codes.add(outcome.code)
        assert outcome.err.count("\n") == (outcome.code == 2), outcome.err
        parent.clear()
        parent.update(old)
    assert codes <= {0, 1, 2}
    assert {1, 2} <= codes


# --------------------------------------------------------- keywords and data files


def test_an_old_default_is_played_where_it_has_changed(run, save):
    path = save()
    header, arrays = read_npz(path, "run", 1)
    defaults = header["setup"]["defaults"]
    assert json.loads(defaults["num_boxes"]) == 3
    defaults["num_boxes"] = "2"
    # It was removed since, and the run does not use it.
    defaults["num_crates"] = "7"
    write_npz(path, "run", 1, header, arrays)
    outcome = run("replay", path)
    # Other rooms than those of the file: the recorded default was used.
    assert outcome.code == 1
    assert "observations" in outcome.out
    defaults.clear()
    write_npz(path, "run", 1, header, arrays)
    assert run("replay", path).code == 0


@pytest.mark.parametrize("folder", [False, True])
def test_levels_have_to_be_the_same(run, fails, save, tmp_path, folder):
    levels = tmp_path / "levels" if folder else tmp_path / "levels.txt"
    text_file = levels
    if folder:
        levels.mkdir()
        text_file = levels / "1.txt"
    text_file.write_text(LEVEL)
    save(SOKOBAN, "-o", f"levels={levels.name}")
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
    shutil.rmtree(moved) if folder else moved.unlink()


def test_tasks_have_to_be_the_same(run, fails, save, tmp_path):
    tasks = tmp_path / "tasks.jsonl"
    tasks.write_text('{"nums": [1, 2, 3], "target": 6}\n')
    save(COUNTDOWN, "-o", f"data={tasks}")
    assert run("replay", "run.npz").code == 0
    tasks.write_text('{"nums": [1, 2, 3], "target": 5}\n')
    assert f"data: the content of {tasks} has changed" in fails("replay", "run.npz")


def test_a_text_that_is_no_path_stays_a_keyword(run, save):
    save(SOKOBAN, "-o", f"levels={[LEVEL]}")
    assert run("replay", "run.npz").code == 0


def test_keywords_that_may_change_in_a_replay_are_named(run, fails, save):
    save(COUNTDOWN)
    line = fails("replay", "run.npz", "-o", "num_numbers=3")
    names = "context, executor, reset_timeout, step_timeout, workers"
    assert f"num_numbers may not change in a replay; those that may: {names}" in line
    assert run("replay", "run.npz", "-o", "workers=0").code == 0


def test_actions_that_are_no_plain_data_cannot_be_saved(fails, user_module, policy_of):
    policy = policy_of(
        "class Word(str):\n    pass\n\ndef act(observations):\n"
        "    return [Word('3')] * len(observations)\n"
    )
    line = fails("rollout", f"{user_module}:mine/Echo-v0", *SMALL, "--policy", policy)
    assert "argument --save: actions are saved as plain data, and these are not" in line
    assert "policy_of_mine.Word" in line
