"""Evaluations and their files: the same bytes whatever the batch and interruptions.

Intervals and paired differences equal their definitions and the literature.
"""

import base64
import bz2
import json
import math
import random
import signal
import statistics
import sys
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np
import pytest

from roll_vec.errors import InvalidFileError, InvalidOptionError
from roll_vec.evaluation import (
    UniformPolicy,
    compare_results,
    evaluate,
    find_split,
    play_episodes,
    wilson_interval,
)
from roll_vec.evaluation.episodes import EpisodeRecord
from roll_vec.evaluation.result_files import ResultHeader, ResultLog, read_results
from roll_vec.evaluation.statistics import (
    mcnemar_p_value,
    mean_interval,
    paired_mean_interval,
    paired_rate_interval,
)
from roll_vec.evaluation.turns import EpisodeTurns
from tests.golden import assert_golden

SPLIT = find_split("roll_vec/RandomFrozenLake-v0", "test-no-slip")
KEYWORDS = {"obs_mode": "text", "special_token_list": ("a",)}
POLICY = {"name": "random", "seed": 0}
HEADER = ResultHeader.of(SPLIT, KEYWORDS, POLICY, {"roll-vec": "0.2.0"})
NUM = 20
DATA = Path(__file__).parent / "data"


def record(episode, total_reward=0.0, **values):
    values = {"success": total_reward > 0, "length": 3, "fault": None, **values}
    values |= {"terminated": True, "truncated": False}
    return EpisodeRecord(
        episode=episode, seed=SPLIT.seeds[episode], total_reward=total_reward, **values
    )


def write(path, records, header=HEADER):
    with ResultLog(path, header) as log:
        for each in records:
            log.add(each)
    return path


def test_a_file_is_the_golden_file(tmp_path):
    half_pair = EpisodeTurns(["one", "é\ud800"], [0.1, 0.2], "0" * 16, [1])
    array = EpisodeTurns(np.array([[0.1]], np.float32), [1.0], "0" * 12)
    records = [record(3, 0.1 + 0.2, turns=half_pair), record(0, 1.0, turns=array)]
    records.append(record(1, fault='no\n"é'))
    path = write(tmp_path / "a.jsonl", records)
    assert_golden(DATA / "results.jsonl", path.read_bytes())
    content = read_results(path)
    assert content.header == HEADER
    assert list(content.records.values()) == [records[1], records[2], records[0]]
    assert [content.records[i].turns for i in (1, 3)] == [None, half_pair]
    assert content.records[0].turns.answers.tobytes() == array.answers.tobytes()
    assert len(content.records) < content.num_episodes == 4
    assert not list(tmp_path.glob(".*"))


def test_files_of_version_1_are_read_but_not_continued(tmp_path):
    path = tmp_path / "a.jsonl"
    path.write_bytes((DATA / "results_v1.jsonl").read_bytes())
    content = read_results(path)
    assert (content.version, len(content.records), content.header) == (1, 3, HEADER)
    with pytest.raises(InvalidOptionError, match="has version 1 of the format"):
        ResultLog(path, HEADER)
    assert len(compare_results(path, DATA / "results.jsonl")) == 3


# --------------------------------------------------------------------- interruptions


@pytest.fixture(scope="module")
def run():
    """Return a function that evaluates the random policy."""
    batches = {num_envs: SPLIT.make_vec(num_envs) for num_envs in (1, 3, 64)}

    def run(num_envs, **keywords):
        envs = batches[num_envs]
        policy = UniformPolicy(envs, 0)
        play = keywords.pop("play", None) or partial(play_episodes, SPLIT, envs, policy)
        return evaluate(SPLIT, play, **{"num": NUM, **keywords})

    yield run
    for envs in batches.values():
        envs.close()


class Interruption(BaseException):
    """Something that ends a process."""


class Steps:
    """Raises `Interruption` after some accesses to files of a folder, or calls of it.

    Where it stays dead, every later step raises, too, as after ``kill -9``; else one
    does, as with Ctrl-C.
    """

    EVENTS = ("open", "os.rename", "os.remove", "os.mkdir", "os.rmdir", "os.truncate")
    current = None

    def __init__(self, folder, left, stays_dead=False):
        self.folder, self.left, self.stays_dead = str(folder), left, stays_dead

    def __call__(self, *_):
        self.left -= 1
        if self.left < 0 and (self.stays_dead or self.left == -1):
            raise Interruption

    @classmethod
    def count(cls, event, arguments):
        """Count an access to a file, as a hook, which Python has no way to remove."""
        if cls.current is not None and event in cls.EVENTS:
            path = arguments[0]
            if not isinstance(path, int) and str(path).startswith(cls.current.folder):
                cls.current()


@pytest.fixture(scope="module")
def audited():
    """Count accesses to files."""
    sys.addaudithook(Steps.count)


WALKS = [*range(3), *(pytest.param(i, marks=pytest.mark.slow) for i in range(3, 12))]


# What an interrupted program leaves open is closed when it is collected.
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
@pytest.mark.usefixtures("audited")
@pytest.mark.parametrize("seed", WALKS)
def test_an_evaluation_goes_on_from_any_interruption(run, tmp_path, monkeypatch, seed):
    rng, expected = random.Random(seed), run(64)
    whole, parts = tmp_path / "whole", tmp_path / "parts"

    def play(path, steps):
        own = {"path": path, "header": HEADER, "on_progress": steps}
        with monkeypatch.context() as patch:
            patch.setattr(Steps, "current", steps)
            assert run(rng.choice([1, 3, 64]), **own) == expected

    counter = Steps(tmp_path, 10**6)
    play(whole, counter)
    num_steps, is_complete, was_killed = 10**6 - counter.left, False, False
    while not is_complete:
        try:
            steps = Steps(tmp_path, rng.randrange(2 * num_steps), rng.random() < 0.5)
            play(parts, steps)
            is_complete = True
        except Interruption:
            was_killed |= steps.stays_dead
            if parts.exists() and rng.random() < 0.5:
                # A crash within the last line.
                lines = parts.read_bytes().splitlines(keepends=True)
                lines[-1] = lines[-1][: rng.randrange(len(lines[-1]) + 1)]
                parts.write_bytes(b"".join(lines if len(lines) > 1 else []))
                parts.stat().st_size or parts.unlink()
    assert parts.read_bytes() == whole.read_bytes()
    # Only a process that is killed leaves the file that would have replaced another.
    left = tmp_path.glob("[!.]*" if was_killed else "*")
    assert sorted(left) == [parts, whole]


def test_nothing_is_played_twice(run, tmp_path):
    path, counts = tmp_path / "a", []

    def stop(num_done, num_played):
        counts.append((num_done, num_played))
        if num_played == 7:
            raise KeyboardInterrupt

    own = {"path": path, "header": HEADER}
    for num_before in (0, 7):
        counts.clear()
        with pytest.raises(KeyboardInterrupt):
            run(3, **own, on_progress=stop)
        assert counts[0] == (num_before, 0)
        assert len(path.read_bytes().splitlines()) == num_before + 7 + 2
    records = run(64, **own)
    for num in (NUM, 5):
        assert run(64, **own, play=pytest.fail, num=num) == records[:num]
    more = run(64, **own, num=NUM + 3)
    assert (more[:NUM], len(more)) == (records, NUM + 3)


def test_each_line_is_in_the_file_before_it_is_closed(tmp_path):
    whole = write(tmp_path / "a.jsonl", [record(0), record(1)]).read_bytes()
    path = tmp_path / "b.jsonl"
    with ResultLog(path, HEADER) as log:
        log.add(record(0))
        log.add(record(1))
        lines = path.read_bytes()
    assert path.read_bytes() == whole
    # A crash within the last line: of a run that goes on, or of a complete file.
    for content, episodes in (
        (lines[:-1], [0]),
        (whole[:-2], []),
        (whole[:-1], [0, 1]),
    ):
        path.write_bytes(content)
        with ResultLog(path, HEADER) as log:
            assert list(log.records) == episodes
            log.add(record(0))
            log.add(record(1))
        assert path.read_bytes() == whole


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
            write(path, [record(1, fault="long" * 99)])
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
        signal.signal(signal.SIGXFSZ, handler)
    assert list(read_results(path).records) == [0]
    assert not list(tmp_path.glob(".*"))
    assert list(read_results(write(path, [record(1)])).records) == [0, 1]


# -------------------------------------------------------------------------- refusals


OTHERS = {
    "split": "other",
    "digest": "0" * 64,
    "keywords": {"obs_mode": "text"},
    "policy": {"name": "random", "seed": 1},
    "versions": {"roll-vec": "0.0.1"},
}


def test_results_of_another_run_are_refused(tmp_path):
    path = write(tmp_path / "a.jsonl", [record(0)])
    old = path.read_bytes()
    for name, value in OTHERS.items():
        other = replace(HEADER, **{name: value})
        message = rf"of another run, its .*{name[:-1]}.*: "
        with pytest.raises(InvalidOptionError, match=message):
            ResultLog(path, other)
        assert path.read_bytes() == old
    # A run that failed before its first episode has no results.
    write(path := tmp_path / "b.jsonl", [])
    write(path, [record(0)], other)
    assert read_results(path).header == other


def test_keywords_and_versions_that_change_no_result_go_on(tmp_path):
    keywords = {"workers": 2, "num_threads": 1, "obs_mode": "text"}
    assert ResultHeader.of(SPLIT, keywords, POLICY).keywords == {"obs_mode": "text"}
    path = write(tmp_path / "a.jsonl", [record(0)])
    other = {**HEADER.versions, "numpy": "9"}
    ResultLog(path, replace(HEADER, versions=other)).close()
    assert read_results(path).header == HEADER


def swap(line, old, new):
    """Return a change of the lines of a file: of one line."""

    def change(lines):
        lines[line - 1] = lines[line - 1].replace(old, new, 1)
        return lines

    return change


def packed(content):
    """Return a change of the lines of a file: of its packed part."""

    def change(lines):
        plain = content
        if not isinstance(content, bytes):
            columns = content
            if isinstance(content, dict):
                columns = {"episodes": [[0, 2]], "terminated": [1, 1]}
                columns |= {
                    "seed": [1000000, 1],
                    "truncated": [1, 1],
                    "rewards": [[]] * 2,
                    "cut": [[]] * 2,
                }
                columns |= {"answers": [[]] * 2, "marks": ["0" * 12] * 2, **content}
            plain = json.dumps(columns).encode()
        text = base64.b85encode(bz2.compress(plain, 1)).decode()
        return [*lines[:-1], json.dumps({"episodes": 2, "packed": text}).encode()]

    return change


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda lines: [], "line 1: it is not JSON"),
        (lambda lines: [b"[]", *lines[1:]], "line 1: it is no JSON object"),
        (swap(1, b'"version": 2', b'"version": 3'), "line 1: its version is 3"),
        (swap(1, b'"files": {}', b'"files": []'), "line 1: files is no dict"),
        (lambda lines: [lines[0], b"[" * 100_000], "line 2: it is not JSON"),
        (swap(2, b"0.0", b"1" + b"0" * 999), "line 2: int too large"),
        (swap(2, b"0.0", b"NaN"), "line 2: return is nan"),
        (lambda lines: [*lines[:3], lines[1]], "line 4: episode 0 stands there twice"),
        (swap(2, b"false", b"0"), "line 2: success is 0"),
        (swap(2, b'"length"', b'"long"'), "line 2: no 'length'"),
        (swap(4, b'"episodes":2', b'"episodes":-2'), "line 4: episodes is -2"),
        (swap(4, b'"packed":"', b'"packed":"a'), "line 4: packed is damaged"),
        (packed([1]), "line 4: packed is damaged"),
        (packed({"terminated": [1]}), "line 4: packed is damaged: its lists"),
        (packed({"marks": ["0", "0"]}), "line 4: the marks of episode 0"),
        (packed({"answers": [1, 1]}), "line 4: answers, rewards or cut are no"),
        (packed(b"[" * 100_000), "line 4: packed is damaged"),
        (packed(b" " * (1 << 28) + b"1"), "line 4: packed .* it has more than"),
    ],
)
def test_damage_is_an_error_that_names_the_line(tmp_path, change, message):
    path = write(tmp_path / "a.jsonl", [record(0), record(1)])
    lines = change(path.read_bytes().splitlines())
    path.write_bytes(b"".join(line + b"\n" for line in lines))
    with pytest.raises(InvalidFileError, match=f"no file of roll-vec eval: {message}"):
        read_results(path)


def test_what_cannot_be_used_is_an_error(run, tmp_path):
    with pytest.raises(InvalidFileError, match="cannot be read: No such file"):
        read_results(tmp_path / "a.jsonl")
    with pytest.raises(InvalidFileError, match="cannot be written: No such file"):
        ResultLog(tmp_path / "no" / "a.jsonl", HEADER)
    with pytest.raises(InvalidOptionError, match="keywords: expected plain data"):
        ResultHeader.of(SPLIT, {"env_instruction": object()}, POLICY)
    for num in (0, len(SPLIT) + 1):
        with pytest.raises(InvalidOptionError, match="num: expected 1 to 1000, the"):
            run(3, num=num)
    with pytest.raises(InvalidOptionError, match="header: expected a ResultHeader"):
        run(3, path=tmp_path / "a")


def test_episodes_of_other_splits_are_refused(run, tmp_path):
    path = write(tmp_path / "a", [record(0), record(1)])
    header, first, second, last = path.read_text("utf-8").splitlines()
    for name, value in (("seed", 7), ("episode", -1), ("episode", len(SPLIT))):
        line = json.dumps({**json.loads(second), name: value})
        path.write_text(f"{header}\n{first}\n{line}\n{last}\n", "utf-8")
        with pytest.raises(InvalidFileError, match="not of roll_vec/RandomFrozenLake"):
            run(64, path=path, header=HEADER)


# ----------------------------------------------------------------------- comparisons


# `roll-vec eval compare` prints every figure: tests/cli/golden/eval.session.
def test_a_comparison_needs_the_same_episodes(tmp_path):
    first = write(tmp_path / "a", [record(0, 1.0), record(1), record(2)])
    second = write(tmp_path / "b", [record(2, 1.0), record(3)])
    with pytest.raises(InvalidOptionError, match=r"has 2 episodes .* is episode 0"):
        compare_results(first, second)
    with pytest.raises(InvalidOptionError, match=r"b' has 1 episode that .* episode 3"):
        compare_results(write(tmp_path / "c", [record(2)]), second)
    comparison = compare_results(first, second, only_common=True)
    assert (len(comparison), comparison.discordant()) == (1, (0, 1))
    other = replace(HEADER, digest="0" * 64)
    with pytest.raises(InvalidOptionError, match=r"the digest of .* is "):
        compare_results(first, write(tmp_path / "d", [record(0)], other))
    with pytest.raises(InvalidOptionError, match="no episode in common"):
        compare_results(first, write(tmp_path / "e", [record(9)]), only_common=True)


# ------------------------------------------------------------------------- intervals

Z = statistics.NormalDist().inv_cdf(0.975)


FIRST = np.array([0.0, 10, 20, 30])
SQUARES = 4, 4 - Z * math.sqrt(38 / 3) / 2, 4 + Z * math.sqrt(38 / 3) / 2


@pytest.mark.parametrize(
    ("interval", "expected"),
    [
        (mean_interval(np.array([1.0, 2.0, 4.0, 9.0])), SQUARES),
        (mean_interval(np.full(5, 0.5)), (0.5, 0.5, 0.5)),
        # Giant values are no error.
        (mean_interval(np.array([1.5e308, 1.5e308, 0])), (1e308, -math.inf, math.inf)),
        # The differences 1, 2, 1, 2 have the standard deviation 1 / sqrt(3).
        (
            paired_mean_interval(FIRST, FIRST + np.array([1, 2, 1, 2])),
            (1.5, 1.5 - Z / math.sqrt(12), 1.5 + Z / math.sqrt(12)),
        ),
    ],
)
def test_a_mean_has_its_standard_error(interval, expected):
    assert interval == pytest.approx(expected)


def pairs(both, only_first, only_second, neither):
    """Return the successes of both policies in four kinds of episodes."""
    counts = [both, only_first, only_second, neither]
    first, second = [True, True, False, False], [True, False, True, False]
    return np.repeat(first, counts), np.repeat(second, counts)


@pytest.mark.parametrize(
    ("table", "value", "low", "high"),
    [
        # Newcombe, Statistics in Medicine 17, 1998, page 2635, method 10.
        ((36, 12, 2, 0), 0.2, 0.0569, 0.3404),
        # Fagerland, Lydersen, Laake, Statistical Analysis of Contingency Tables, 2017,
        # chapter 8, square-and-add: Bentur et al., and Cavo et al.
        ((1, 1, 7, 12), -0.2857, -0.5069, -0.0256),
        ((59, 6, 16, 80), -0.0621, -0.1186, -0.0046),
        # Altman et al., Statistics with Confidence, 2000, page 52: 1 % to 23 %.
        ((14, 5, 0, 22), 0.1220, 0.0115, 0.2265),
    ],
)
def test_rates_as_in_the_literature(table, value, low, high):
    # The papers subtract the second rate from the first.
    first, second = pairs(*table)
    interval = paired_rate_interval(second, first)
    assert interval == pytest.approx((value, low, high), abs=5e-5)
    reverse = paired_rate_interval(first, second)
    assert reverse == pytest.approx((-value, -high, -low), abs=5e-5)
    # Newcombe, page 857: 81 of 263, method 3.
    assert wilson_interval(81, 263)[1:] == pytest.approx((0.2553, 0.3662), abs=5e-5)


def test_rates_at_their_ends_and_without_a_difference_have_an_interval():
    assert wilson_interval(0, 10) == pytest.approx((0, 0, Z**2 / (10 + Z**2)))
    assert wilson_interval(10, 10) == pytest.approx((1, 10 / (10 + Z**2), 1))
    assert wilson_interval(0, 10).low >= 0
    assert wilson_interval(10, 10).high <= 1
    for table in ((5, 0, 0, 5), (10, 0, 0, 0), (0, 0, 0, 10)):
        value, low, high = paired_rate_interval(*pairs(*table))
        assert -1 <= low < value == 0 < high <= 1
    # Where there is no correlation, the widths are those of independent rates.
    high = paired_rate_interval(*pairs(10, 0, 0, 0)).high
    assert high == pytest.approx(1 - wilson_interval(10, 10).low)
    # A difference of 1 is the end of the scale.
    value, low, high = paired_rate_interval(*pairs(0, 0, 7, 0))
    assert 0 < low < value == high == 1


@pytest.mark.parametrize(
    ("only_first", "only_second", "p_value"),
    [
        # Sums of a row of Pascal's triangle, by hand: 2 (1 + 8) / 2**8.
        (1, 7, 18 / 256),
        (5, 0, 2 / 32),
        (6, 16, 0.052479),  # scipy.stats.binomtest(6, 22).pvalue
        (120, 150, 0.0773894),  # scipy.stats.binomtest(120, 270).pvalue
        *((4, 4, 1.0), (0, 0, 1.0), (0, 1, 1.0), (0, 10_000, 0.0)),
        # About the normal approximation with a continuity correction.
        (4800, 5000, pytest.approx(0.0444, abs=1e-4)),
    ],
)
def test_p_values_are_exact(only_first, only_second, p_value):
    if isinstance(p_value, float):
        p_value = pytest.approx(p_value, abs=1e-6)
    assert mcnemar_p_value(only_first, only_second) == p_value
    assert mcnemar_p_value(only_second, only_first) == p_value
