"""Files of tasks: their rows are played, bad files and rows are named."""

import gzip
import os
import pickle
import sys

import numpy as np
import pytest

from roll_vec.envs.countdown import Countdown
from roll_vec.envs.countdown.task_files import load_tasks
from roll_vec.errors import InvalidOptionError, MissingExtraError
from tests.envs.countdown.test_tasks import list_tasks, write_jsonl
from tests.mutations import mutate_bytes

ROWS = [
    ([44, 19, 35], 98),
    ([3, 8, 3, 8], 24),
    ([7], -7),
    ([100, 0, 999_999_999], 12_345_678_901),
    ([1, 1], 5),
]


def write_parquet(path, rows, nums_type=None, target_type=None):
    """Write a parquet file with a column more than needed; return its path."""
    pa = pytest.importorskip("pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")
    nums = pa.array([nums for nums, _ in rows], nums_type or pa.list_(pa.int64()))
    targets = pa.array([target for _, target in rows], target_type or pa.int64())
    table = pa.table({"target": targets, "nums": nums, "id": ["x"] * len(rows)})
    parquet.write_table(table, path, row_group_size=2)
    return path


@pytest.fixture(params=["tasks.jsonl", "tasks.JSONL.GZ", "tasks.parquet"])
def path(request, tmp_path):
    """A file with `ROWS`, of each kind."""
    write = write_parquet if request.param.endswith("parquet") else write_jsonl
    return write(tmp_path / request.param, ROWS)


def test_rows_are_played_as_they_are(path):
    env = Countdown(data=path)
    assert list_tasks(env, range(12)) == [ROWS[seed % 5] for seed in range(12)]
    assert env.reset(seed=8)[0] == "Target: 12345678901, nums: [100, 0, 999999999]"
    env.reset(seed=1)
    assert env.oracle_action == "8 / (3 - 8 / 3)"
    assert env.step(env.oracle_action)[1] == 1.0
    env.reset(seed=2)
    assert env.oracle_action is None
    assert env.step("7")[1] == 0.1
    env.reset()
    assert env.nums == ROWS[env.level_seed % 5][0]
    some = Countdown(data=path, num_levels=2, start_level=3)
    assert list_tasks(some, range(4)) == [ROWS[3], ROWS[4]] * 2


def test_a_file_is_loaded_once_until_it_changes_and_read_only(path):
    first, second = Countdown(data=path), Countdown(data=str(path), max_steps=2)
    assert first._tasks.file is second._tasks.file
    first.reset(seed=0)
    first.nums.append(3)
    assert list_tasks(second, [0]) == [ROWS[0]]
    with pytest.raises(ValueError, match="read-only"):
        first._tasks.file._numbers[0] = 1
    write = write_parquet if path.suffix == ".parquet" else write_jsonl
    write(path, ROWS[1:])
    os.utime(path, ns=(1, 1))
    assert list_tasks(Countdown(data=path), [0]) == [ROWS[1]]
    assert list_tasks(first, [0]) == [ROWS[0]]


def test_pickled_environments_read_the_file_and_carry_no_rows(tmp_path):
    path = write_jsonl(tmp_path / "tasks.jsonl", ROWS * 2000)
    env = Countdown(data=path)
    env.reset(seed=1)
    pickled = pickle.dumps(env)
    assert len(pickled) < 10_000
    restored = pickle.loads(pickled)
    assert restored._tasks.file is env._tasks.file
    assert restored.step("8/(3-8/3)")[1] == 1.0
    assert list_tasks(restored, range(5)) == ROWS


NO_INTEGERS = "nums: expected a list of integers"
# What stands for numbers and target, and what is said of it.
BAD_ROWS = [
    ('"nums": [1]', "target: missing"),
    ('"target": 1', "nums: missing"),
    ('"nums": 3, "target": 1', "nums: expected a"),
    ('"nums": [], "target": 1', "nums: expected at least one number"),
    ('"nums": [1, true], "target": 1', NO_INTEGERS),
    ('"nums": [1.0], "target": 1', NO_INTEGERS),
    ('"nums": ["1"], "target": 1', NO_INTEGERS),
    (f'"nums": [{"9" * 30}], "target": 1', NO_INTEGERS),
    ('"nums": [1, -1], "target": 1', "nums: exp"),
    ('"nums": [1000000000000000000], "target": 1', "nums: expected numbers"),
    (f'"nums": [1], "target": {"9" * 9000}', "nums and target: not a JSON"),
    ('"nums": [1], "target": 1.5', "target: expected an integer, got 1.5"),
    ('"nums": [1], "target": null', "target: expected an integer, got None"),
    ('"nums": [1], "target": 9223372036854775808', "target: expected an"),
]
GOOD = '{"nums": [1], "target": 1}\n'
BAD_LINES = [
    ("", "has no rows"),
    ("[1, 2]", "row 0, nums and target: expected a JSON object"),
    ("{", "row 0, nums and target: not a JSON object"),
    ("[" * 100_000, "row 0, nums and target: not a JSON object"),
    *((f"{GOOD}{{{row}}}", f"row 1, {message}") for row, message in BAD_ROWS),
]


@pytest.mark.parametrize(("text", "message"), BAD_LINES, ids=lambda text: text[-30:])
def test_malformed_lines_are_named(tmp_path, text, message):
    path = tmp_path / "tasks.jsonl"
    path.write_text(text, "utf-8")
    for _ in range(2):
        with pytest.raises(InvalidOptionError) as raised:
            load_tasks(str(path))
        assert message in str(raised.value)
        assert str(path) in str(raised.value)
        assert len(str(raised.value)) < 400
    path.write_text(f"{GOOD}\n", "utf-8")
    assert len(load_tasks(str(path))) == 1


def test_files_that_cannot_be_read(tmp_path):
    for name, content in (
        ("none.jsonl", None),
        ("none.parquet", None),
        ("bytes.jsonl", GOOD.encode() + b"\xff"),
        ("not.jsonl.gz", b"{}"),
        ("cut.jsonl.gz", gzip.compress(GOOD.encode() * 99)[:-9]),
        ("broken.jsonl.gz", gzip.compress(b"{}" * 99)[:12] + b"\xff" * 20),
        ("not.parquet", b"{}"),
    ):
        path = tmp_path / name
        if name.endswith("parquet"):
            pytest.importorskip("pyarrow")
        if content is not None:
            path.write_bytes(content)
        with pytest.raises(InvalidOptionError, match=name):
            Countdown(data=path)


def test_malformed_parquet_is_named(tmp_path):
    pa = pytest.importorskip("pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")
    path, good = tmp_path / "tasks.parquet", [([1, 2], 3)] * 3
    for message, *arguments in (
        ("row 3, nums: missing", [*good, (None, 1)]),
        ("row 3, target: missing", [*good, ([1], None)]),
        ("row 3, nums: expected integers, got None", [*good, ([1, None], 1)]),
        ("row 3, nums: expected at least one", [*good, ([], 1)]),
        ("row 3, nums: expected numbers from 0", [*good, ([1, -2], 1), ([1], 1)]),
        ("nums: expected lists of integers, got 'list", good, pa.list_(pa.float64())),
        ("nums: expected lists", [("1+2", 3)], pa.string()),
        ("target: expected integers, got 'double'", good, None, pa.float64()),
        ("has no rows", []),
    ):
        write_parquet(path, *arguments)
        with pytest.raises(InvalidOptionError, match=message):
            Countdown(data=path)
    for names in (["nums"], ["nums", "target", "target"]):
        columns = [pa.array([[1]]), pa.array([2]), pa.array([3])][: len(names)]
        parquet.write_table(pa.table(columns, names), path)
        message = f"expected one column 'target', got {len(names) - 1}"
        with pytest.raises(InvalidOptionError, match=message):
            Countdown(data=path)


def test_damaged_files_are_read_or_named(path):
    good, rng = path.read_bytes(), np.random.default_rng(5)
    num_errors = 0
    for number in range(25):
        bad = mutate_bytes(good, rng)
        if number == 0 and path.suffix == ".parquet":
            bad = good.replace(b"target", b"targe\xff")
        path.write_bytes(bad)
        try:
            list_tasks(Countdown(data=path), range(5))
        except InvalidOptionError as error:
            num_errors += 1
            assert str(path) in str(error)  # noqa: PT017
    assert num_errors > 10


@pytest.mark.parametrize("kind", ["large", "fixed", "small"])
def test_kinds_of_parquet_lists(tmp_path, kind):
    pa = pytest.importorskip("pyarrow")
    nums_type = {
        "large": pa.large_list(pa.int32()),
        "fixed": pa.list_(pa.int64(), 2),
        "small": pa.list_(pa.uint8()),
    }[kind]
    rows = [([1, 2], 3), ([4, 5], 6), ([7, 8], 9)]
    path = write_parquet(tmp_path / "tasks.parquet", rows, nums_type, pa.int16())
    assert list_tasks(Countdown(data=path), range(3)) == rows


LIMITS = [
    ([1, 10**9], "max_digits", 10, "a number of 10 digits"),
    ([1] * 17, "max_tokens", 33, "numbers for 33 tokens"),
    ([999_999_999] * 16 + [10**8] * 10, "max_tokens", 51, "numbers for 51 tokens"),
]


@pytest.mark.parametrize(("nums", "name", "limit", "words"), LIMITS)
def test_rows_beyond_the_limits_are_named_with_the_keyword(
    tmp_path, nums, name, limit, words
):
    path = write_jsonl(tmp_path / "tasks.jsonl", [*ROWS, (nums, sum(nums)), *ROWS])
    with pytest.raises(InvalidOptionError) as raised:
        Countdown(data=path)
    assert f"row 5, nums: {words}" in str(raised.value)
    assert f"give {name}={limit}" in str(raised.value)
    env = Countdown(data=path, **{name: limit}, max_chars=300)
    env.reset(seed=5)
    assert env.step("+".join(map(str, nums)))[1] == 1.0
    if len(nums) > 6:
        with pytest.raises(InvalidOptionError, match="nums: expected 1 to 6"):
            _ = env.oracle_action


def test_rows_with_too_many_characters_are_named(tmp_path):
    path = write_jsonl(tmp_path / "tasks.jsonl", [([10**17] * 15, 3)])
    with pytest.raises(InvalidOptionError, match="give max_chars=284 instead of 256"):
        Countdown(data=path, max_digits=18)
    Countdown(data=path, max_digits=18, max_chars=284)
    Countdown(data=path, max_digits=18, numbers_rule="any")


def test_a_parquet_file_without_pyarrow(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    path = tmp_path / "tasks.parquet"
    path.write_bytes(b"")
    with pytest.raises(MissingExtraError, match=r'pip install "\.\[parquet\]"'):
        Countdown(data=path)


def test_a_small_parquet_file_of_very_many_numbers_is_refused(tmp_path):
    arrow = pytest.importorskip("pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")
    path = tmp_path / "tasks.parquet"
    nums = arrow.ListArray.from_arrays(
        np.arange(0, 9_000_001, 3, dtype=np.int32), np.ones(9_000_000, np.int64)
    )
    rows = {"nums": nums, "target": np.ones(3_000_000, np.int64)}
    parquet.write_table(arrow.table(rows), path, compression="zstd")
    assert path.stat().st_size < 100_000
    message = r"tasks\.parquet has 12000000 numbers"
    with pytest.raises(InvalidOptionError, match=message):
        load_tasks(str(path))
