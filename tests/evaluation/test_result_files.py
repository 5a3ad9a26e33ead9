"""Files of results: what is written is read, and damage is an error."""

import json
import signal
import subprocess
import sys

import pytest

from roll_vec.errors import InvalidFileError, InvalidOptionError
from roll_vec.evaluation import (
    EpisodeRecord,
    ResultHeader,
    ResultLog,
    compare_results,
    find_split,
    read_results,
)

SPLIT = find_split("roll_vec/FrozenLake-v1", "test")
HEADER = ResultHeader.of(
    SPLIT, {"obs_mode": "text", "special_token_list": ("a",)}, {"name": "random"}
)


def record(episode, total_reward=0.0, **values):
    values = {"success": total_reward > 0, "length": 3, "fault": None, **values}
    values |= {"terminated": True, "truncated": False}
    return EpisodeRecord(
        episode=episode,
        seed=SPLIT.seeds[episode],
        total_reward=total_reward,
        **values,
    )


def write(path, records, header=HEADER):
    with ResultLog(path, header) as log:
        for each in records:
            log.add(each)
    return path


def test_a_file_has_a_header_and_a_line_for_each_episode_in_order(tmp_path):
    records = [record(3, 0.1 + 0.2), record(0, 1.0), record(1, fault='no\n"')]
    path = write(tmp_path / "a.jsonl", records)
    header, *lines = map(json.loads, path.read_text("utf-8").splitlines())
    assert header["format"] == "roll-vec eval"
    assert header["digest"] == SPLIT.digest
    assert [line["episode"] for line in lines] == [0, 1, 3]
    assert lines[2] == {
        "episode": 3,
        "seed": 1_000_003,
        "return": 0.30000000000000004,
        "success": True,
        "length": 3,
        "terminated": True,
        "truncated": False,
        "fault": None,
    }
    content = read_results(path)
    assert content.header == HEADER
    assert list(content.records.values()) == [records[1], records[2], records[0]]
    assert not list(tmp_path.glob(".*"))


def test_a_log_goes_on_after_a_crash(tmp_path):
    path = write(tmp_path / "a.jsonl", [record(0), record(1)])
    whole = path.read_bytes()
    for missing in (1, 30):
        path.write_bytes(whole[:-missing])
        log = ResultLog(path, HEADER)
        assert list(log.records) == [0]
        log.add(record(1))
        # Before it is closed, too: a process that is killed leaves this.
        assert len(path.read_bytes()) == len(whole)
        log.close()
        assert path.read_bytes() == whole


def test_two_processes_cannot_write_one_file(tmp_path):
    path = write(tmp_path / "a.jsonl", [record(0)])
    old = path.read_bytes()
    with ResultLog(path, HEADER) as log:
        with pytest.raises(InvalidOptionError, match="another process is writing"):
            ResultLog(path, HEADER)
        log.add(record(1))
    assert path.read_bytes().startswith(old)
    assert list(read_results(path).records) == [0, 1]


@pytest.mark.skipif(not hasattr(signal, "SIGXFSZ"), reason="no limit of file sizes")
def test_a_full_disk_is_an_error_and_the_log_goes_on(tmp_path):
    path = write(tmp_path / "a.jsonl", [record(0)])
    old = path.read_bytes()
    resource = pytest.importorskip("resource")
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    handler = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    try:
        resource.setrlimit(resource.RLIMIT_FSIZE, (len(old) + 20, limits[1]))
        with pytest.raises(InvalidFileError, match="cannot be written: File too large"):
            write(path, [record(1)])
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
        signal.signal(signal.SIGXFSZ, handler)
    assert path.read_bytes().startswith(old)
    assert not list(tmp_path.glob(".*"))
    assert list(read_results(write(path, [record(1)])).records) == [0, 1]


def test_a_killed_process_leaves_nothing_for_ever(tmp_path):
    path = write(tmp_path / "a.jsonl", [record(0)])
    code = (
        "import os, sys; from pathlib import Path; "
        "from tests.evaluation.test_result_files import HEADER, ResultLog, record; "
        "Path.replace = lambda *_: os._exit(9); ResultLog(sys.argv[1], HEADER)"
    )
    process = subprocess.run([sys.executable, "-c", code, str(path)], check=False)
    assert process.returncode == 9
    assert len(list(tmp_path.glob(".*"))) == 2
    write(path, [record(1)])
    assert not list(tmp_path.glob(".*"))


def test_keywords_that_change_no_result_are_left_out():
    keywords = {"workers": 2, "num_threads": 1, "obs_mode": "text"}
    header = ResultHeader.of(SPLIT, keywords, {"name": "random"})
    assert header.keywords == {"obs_mode": "text"}


def test_faults_are_dropped_on_demand(tmp_path):
    path = write(tmp_path / "a.jsonl", [record(0), record(1, fault="lost")])
    for retry_faults, numbers in ((False, [0, 1]), (True, [0])):
        with ResultLog(path, HEADER, retry_faults=retry_faults) as log:
            assert list(log.records) == numbers


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("split", "other"),
        ("digest", "0" * 64),
        ("keywords", {"obs_mode": "text"}),
        ("policy", {"name": "random", "seed": 1}),
        ("versions", {"roll-vec": "0.0.1"}),
    ],
)
def test_results_of_another_run_are_refused(tmp_path, name, value):
    path = write(tmp_path / "a.jsonl", [record(0)])
    old = path.read_bytes()
    other = ResultHeader(**{**vars(HEADER), name: value})
    with pytest.raises(
        InvalidOptionError, match=rf"of another run, its .*{name[:-1]}.*: "
    ):
        ResultLog(path, other)
    assert path.read_bytes() == old
    # A run that failed before its first episode has no results.
    write(path := tmp_path / "b.jsonl", [])
    write(path, [record(0)], other)
    assert read_results(path).header == other


def test_other_packages_of_other_versions_go_on(tmp_path):
    path = write(tmp_path / "a.jsonl", [record(0)])
    other = {**HEADER.versions, "numpy": "9"}
    ResultLog(path, ResultHeader(**{**vars(HEADER), "versions": other})).close()
    assert read_results(path).header == HEADER


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda lines: [], "line 1: it is not JSON"),
        (lambda lines: [b"[]", *lines[1:]], "line 1: it is no JSON object"),
        (lambda lines: [b"{}", *lines[1:]], "line 1: its format is None"),
        (
            lambda lines: [lines[0].replace(b'"version": 1', b'"version": 2')],
            "line 1: its version is 2",
        ),
        (
            lambda lines: [lines[0].replace(b'"digest"', b'"other"')],
            "line 1: no 'digest'",
        ),
        (
            lambda lines: [
                lines[0].replace(b'"versions": {', b'"versions": {"a": 1e999, ')
            ],
            "line 1: Out of range float",
        ),
        (lambda lines: [lines[0], b"x", lines[1]], "line 2: it is not JSON"),
        (lambda lines: [lines[0], b"[" * 100_000], "line 2: it is not JSON"),
        (
            lambda lines: [lines[0], lines[1].replace(b"3", b"9" * 30)],
            "line 2: length is 999999",
        ),
        (
            lambda lines: [lines[0], lines[1].replace(b"0.0", b"1" + b"0" * 999)],
            "line 2: int too large",
        ),
        (
            lambda lines: [lines[0], lines[1].replace(b"0.0", b"NaN")],
            "line 2: it is not JSON",
        ),
        (
            lambda lines: [*lines[:2], lines[2].replace(b"0.0", b"-1e999")],
            "line 3: return is -inf",
        ),
        (lambda lines: [*lines, lines[1]], "line 4: episode 0 stands there twice"),
        (
            lambda lines: [lines[0], lines[1].replace(b"false", b"0", 1)],
            "line 2: success is 0",
        ),
        (
            lambda lines: [lines[0], lines[1].replace(b'"seed"', b'"sed"')],
            "line 2: no 'seed'",
        ),
    ],
)
def test_damage_is_an_error_that_names_the_line(tmp_path, change, message):
    path = write(tmp_path / "a.jsonl", [record(0), record(1)])
    lines = path.read_bytes().splitlines()
    path.write_bytes(b"".join(line + b"\n" for line in change(lines)))
    with pytest.raises(InvalidFileError, match=f"no file of roll-vec eval: {message}"):
        read_results(path)


def test_paths_that_cannot_be_used_are_errors(tmp_path):
    with pytest.raises(InvalidFileError, match="cannot be read: No such file"):
        read_results(tmp_path / "a.jsonl")
    with pytest.raises(InvalidFileError, match="cannot be written: No such file"):
        ResultLog(tmp_path / "no" / "a.jsonl", HEADER)
    with pytest.raises(InvalidOptionError, match="keywords: expected plain data"):
        ResultHeader.of(SPLIT, {"env_instruction": object()}, {"name": "random"})


def test_a_comparison_pairs_episodes(tmp_path):
    rewards = (0, 0, 1, 1, 1), (1, 1, 1, 0, 1)
    paths = [
        write(tmp_path / name, [record(i, float(r)) for i, r in enumerate(each)])
        for name, each in zip("ab", rewards, strict=True)
    ]
    comparison = compare_results(*paths)
    assert len(comparison) == 5
    assert comparison.discordant() == (1, 2)
    assert comparison.p_value() == 1.0
    assert comparison.success_difference().value == pytest.approx(0.2)
    assert comparison.return_difference().value == pytest.approx(0.2)
    reverse = compare_results(*paths[::-1])
    assert reverse.discordant() == (2, 1)
    assert reverse.return_difference().value == pytest.approx(-0.2)


def test_a_comparison_needs_the_same_episodes(tmp_path):
    first = write(tmp_path / "a", [record(0, 1.0), record(1), record(2)])
    second = write(tmp_path / "b", [record(2, 1.0), record(3)])
    with pytest.raises(InvalidOptionError, match=r"has 2 episodes .* is episode 0"):
        compare_results(first, second)
    with pytest.raises(InvalidOptionError, match=r"b' has 1 episode that .* episode 3"):
        compare_results(write(tmp_path / "c", [record(2)]), second)
    comparison = compare_results(first, second, only_common=True)
    assert (len(comparison), comparison.discordant()) == (1, (0, 1))
    other = ResultHeader(**{**vars(HEADER), "digest": "0" * 64})
    with pytest.raises(InvalidOptionError, match=r"the digest of .* is '3501"):
        compare_results(first, write(tmp_path / "d", [record(0)], other))
    last = write(tmp_path / "e", [record(9)])
    with pytest.raises(InvalidOptionError, match="no episode in common"):
        compare_results(first, last, only_common=True)
