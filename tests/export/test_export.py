"""Exports: rows, filters, the same bytes in every case, refusals, verification."""

import json
import shutil
from contextlib import suppress
from math import inf, nan

import gymnasium
import numpy as np
import pytest
from pyarrow import parquet

import roll_vec
from roll_vec.errors import InvalidFileError, InvalidOptionError
from roll_vec.evaluation import UniformPolicy
from roll_vec.export import (
    FORMATS,
    TooFewSuccessesError,
    VerificationError,
    export,
    policy_source,
    verify,
)
from roll_vec.export.exporter import partial_folder
from roll_vec.export.messages import MessagesFormat
from roll_vec.registration import ENVIRONMENTS
from roll_vec.shared_folders import IS_SUPPORTED
from roll_vec.trajectories import play_seeds, to_messages

LAKE = "roll_vec/FrozenLake-v1"
TEXTS = {
    "obs_mode": "text",
    "action_mode": "text",
    "action_pattern": "<answer>(.*?)</answer>",
}
SUFFIXES = {"messages": "jsonl", "parquet": "parquet"}


def lakes(num_envs=5, *, start_seed=3, policy_seed=1, **keywords):
    return policy_source(
        LAKE,
        lambda envs: UniformPolicy(envs, policy_seed),
        f"uniform {policy_seed}",
        keywords={**TEXTS, **keywords},
        start_seed=start_seed,
        num_envs=num_envs,
    )


def play(source, num, policy_seed=1):
    envs = roll_vec.make_vec(LAKE, 4, autoreset_mode="Disabled", **source.keywords)
    policy = UniformPolicy(envs, policy_seed)
    return list(play_seeds(envs, range(3, 3 + num), policy))


def read_lines(path):
    return [json.loads(line) for line in path.read_text("utf-8").splitlines()]


@pytest.fixture
def messages(tmp_path):
    """A file of nine rows."""
    path = tmp_path / "rows.jsonl"
    export(path, lakes(), num=9)
    return path


def test_a_row_of_messages_is_an_episode(messages):
    rows = read_lines(messages)
    assert len(rows) == 9
    for row, episode in zip(rows, play(lakes(), 9), strict=True):
        assert row == {
            "messages": to_messages(episode),
            "id": LAKE,
            "keywords": json.dumps(TEXTS, sort_keys=True),
            "seed": episode.seed,
            "return": float(np.cumsum(episode.rewards)[-1]),
            "success": episode.success,
            "num_steps": len(episode.rewards),
            "terminated": episode.terminated,
            "truncated": episode.truncated,
            "rewards": episode.rewards.tolist(),
        }
        assert row["messages"][-1]["role"] == "assistant"


@pytest.mark.parametrize(
    ("keywords", "dtype", "shape"),
    [
        ({"obs_mode": "grid"}, np.uint8, (4, 4)),
        ({"obs_mode": "planes"}, np.uint8, (6, 4, 4)),
        ({"obs_mode": "position"}, np.int64, ()),
        ({**TEXTS}, object, ()),
    ],
    ids=lambda value: value["obs_mode"] if isinstance(value, dict) else "",
)
def test_a_row_of_parquet_is_an_episode(tmp_path, keywords, dtype, shape):
    keywords = {"action_mode": "discrete", "action_pattern": None, **keywords}
    source, path = lakes(**keywords), tmp_path / "rows.parquet"
    export(path, source, format="parquet", num=9)
    table = parquet.read_table(path)
    for row, episode in zip(table.to_pylist(), play(source, 9), strict=True):
        observations = np.array(row["observations"], dtype)
        assert observations.shape == (episode.num_steps + 1, *shape)
        np.testing.assert_array_equal(observations, episode.observations)
        assert row["actions"] == episode.actions
        assert row["rewards"] == episode.rewards.tolist()
        assert row["return"] == episode.total_reward
        assert row["seed"] == episode.seed
        assert row["success"] is episode.success
        assert row["num_steps"] == episode.num_steps
        assert row["instruction"] == episode.instruction
        ends = (row["terminated"], row["truncated"])
        assert ends == (episode.terminated, episode.truncated)
    assert verify(path, "parquet", num_envs=4) == (9, 0)
    metadata = json.loads(table.schema.metadata[b"roll_vec"])
    assert metadata["id"] == LAKE
    assert metadata["policy"] == "uniform 1"


@pytest.mark.parametrize("format", SUFFIXES)
def test_only_success_keeps_the_successes_in_the_order_of_seeds(tmp_path, format):
    source = lakes(is_slippery=False)
    path = tmp_path / f"rows.{SUFFIXES[format]}"
    result = export(path, source, format=format, num=3, only_success=True)
    episodes = play(source, result.totals.episodes)
    wins = [episode for episode in episodes if episode.success]
    assert episodes[-1].success
    assert len(wins) == result.totals.rows == result.totals.successes == 3
    rows = (
        read_lines(path)
        if format == "messages"
        else parquet.read_table(path).to_pylist()
    )
    assert [row["seed"] for row in rows] == [episode.seed for episode in wins]
    assert result.mean_return == 1.0
    assert result.totals.steps == sum(episode.num_steps for episode in wins)


def test_an_export_that_hardly_succeeds_ends(tmp_path):
    class Stay(UniformPolicy):
        def __call__(self, turn):
            return ["<answer>Left</answer>"] * len(turn.steps)

    source = policy_source(
        LAKE,
        lambda envs: Stay(envs, 0),
        "stay",
        keywords={**TEXTS, "is_slippery": False, "max_episode_steps": 2},
    )
    counts = []
    with pytest.raises(TooFewSuccessesError, match="only 0 of 200 "):
        export(tmp_path / "rows.jsonl", source, num=2, only_success=True)
    with pytest.raises(TooFewSuccessesError, match="only 0 of 230 ") as error:
        export(
            tmp_path / "rows.jsonl",
            source,
            num=2,
            only_success=True,
            max_episodes=230,
            on_progress=lambda totals: counts.append(totals.episodes),
        )
    assert "max_episodes" in str(error.value)
    assert counts == [*range(200, 231)]


@pytest.mark.parametrize("format", SUFFIXES)
def test_bytes_depend_neither_on_the_batch_nor_on_parts(tmp_path, monkeypatch, format):
    files = []
    for number, (num_envs, part) in enumerate([(1, 512), (5, 2), (40, 7)]):
        monkeypatch.setattr("roll_vec.export.exporter._PART_ROWS", part)
        monkeypatch.setattr("roll_vec.export.parquet._GROUP_ROWS", 4)
        path = tmp_path / f"{number}.{SUFFIXES[format]}"
        export(path, lakes(num_envs), format=format, num=20)
        files.append(path.read_bytes())
        assert not partial_folder(path).exists()
    assert files[0] == files[1] == files[2]


class Interruption(Exception):
    """Something that ends a process."""


def interrupt(path, rows, **keywords):
    """Begin an export of 12 rows that ends after some rows."""

    def stop(totals):
        if totals.rows == rows:
            raise Interruption

    with pytest.raises(Interruption):
        export(path, lakes(**keywords), num=12, on_progress=stop)


@pytest.mark.parametrize("rows", range(1, 12, 3))
def test_an_interrupted_export_goes_on(tmp_path, monkeypatch, rows):
    monkeypatch.setattr("roll_vec.export.exporter._PART_ROWS", 3)
    export(tmp_path / "whole.jsonl", lakes(), num=12)
    path = tmp_path / "rows.jsonl"
    interrupt(path, rows)
    assert not path.exists()
    first = next(iter(lakes().episodes(rows, 1)))
    source = lakes(num_envs=2)
    begins = []
    episodes = source.episodes
    object.__setattr__(
        source, "episodes", lambda at, n: begins.append(at) or episodes(at, n)
    )
    result = export(path, source, num=12)
    # Nothing is played twice.
    assert begins == [rows]
    assert first.seed == 3 + rows
    assert result.rows_before == rows
    assert result.totals.rows == 12
    assert path.read_bytes() == (tmp_path / "whole.jsonl").read_bytes()


@pytest.mark.parametrize("stride", [997, pytest.param(29, marks=pytest.mark.slow)])
def test_an_export_goes_on_from_any_damage(tmp_path, monkeypatch, stride):
    monkeypatch.setattr("roll_vec.export.exporter._PART_ROWS", 2)
    whole = tmp_path / "whole.jsonl"
    export(whole, lakes(), num=12)
    path = tmp_path / "rows.jsonl"
    interrupt(path, 5)
    folder = partial_folder(path)
    shutil.copytree(folder, tmp_path / "saved")
    sizes = {file.name: file.stat().st_size for file in folder.iterdir()}
    assert sorted(sizes) == ["00000", "00001", "00002", "journal"]
    # The ends of lines, and some bytes between them.
    for name, size in sizes.items():
        content = (tmp_path / "saved" / name).read_bytes()
        lines = [i + 1 for i, byte in enumerate(content) if byte == 10]
        for end in {*range(0, size, stride), *lines, size - 1} - {size}:
            flipped = bytes([content[end] ^ 1])
            for damaged in (
                content[:end],
                content[:end] + flipped + content[end + 1 :],
            ):
                (folder / name).write_bytes(damaged)
                # A part or journal that was being written.
                (folder / "incomplete").write_bytes(b"half")
                export(path, lakes(), num=12, overwrite=True)
                assert path.read_bytes() == whole.read_bytes(), (name, end)
                shutil.copytree(tmp_path / "saved", folder)


def test_another_export_to_the_same_output_is_refused(tmp_path):
    path = tmp_path / "rows.jsonl"
    interrupt(path, 5)
    before = {file: file.read_bytes() for file in partial_folder(path).iterdir()}
    for text, source, others in (
        ("start_seed was 3, and is now 4", lakes(start_seed=4), {}),
        ("policy was 'uniform 1', and is now 'uniform 2'", lakes(policy_seed=2), {}),
        ("keywords was", lakes(is_slippery=False), {}),
        ("num was 12, and is now 13", lakes(), {"num": 13}),
        ("only_success was False", lakes(), {"only_success": True}),
    ):
        with pytest.raises(InvalidOptionError, match=text):
            export(path, source, **{"num": 12, **others})
    # The number of environments changes no row.
    assert {f: f.read_bytes() for f in partial_folder(path).iterdir()} == before
    export(path, lakes(num_envs=9), num=12)


def test_an_export_goes_on_that_was_interrupted_at_its_end(tmp_path, monkeypatch):
    path = tmp_path / "rows.jsonl"
    finish = MessagesFormat.finish

    def begin_to_finish(self, parts, out, source, target):
        finish(self, parts[:1], out, source, target)
        raise Interruption

    monkeypatch.setattr(MessagesFormat, "finish", begin_to_finish)
    with pytest.raises(Interruption):
        export(path, lakes(), num=9)
    assert not path.exists()
    monkeypatch.undo()
    source = lakes()
    object.__setattr__(source, "episodes", None)  # nothing is played
    assert export(path, source, num=9).rows_before == 9
    assert verify(path) == (9, 0)


@pytest.mark.skipif(not IS_SUPPORTED, reason="this system has no locks")
def test_two_processes_do_not_write_one_output(tmp_path):
    path = tmp_path / "rows.jsonl"
    texts = []

    def begin_another(totals):
        if totals.rows == 5:
            with pytest.raises(InvalidOptionError, match="another process") as error:
                export(path, lakes(), num=12)
            texts.append(str(error.value))

    export(path, lakes(), num=12, on_progress=begin_another)
    assert texts
    assert len(read_lines(path)) == 12


def test_rows_have_no_keywords_of_the_work(tmp_path):
    source = policy_source(
        "roll_vec/Countdown-v0",
        lambda envs: lambda turn: ["1"] * len(turn.steps),
        "one",
        keywords={"workers": 2, "max_steps": 2},
    )
    export(tmp_path / "rows.jsonl", source, num=2)
    (first, _) = read_lines(tmp_path / "rows.jsonl")
    assert json.loads(first["keywords"]) == {"max_steps": 2}
    assert verify(tmp_path / "rows.jsonl") == (2, 0)


def test_outputs_are_not_overwritten(messages):
    content = messages.read_bytes()
    with pytest.raises(InvalidOptionError, match="overwrite=True"):
        export(messages, lakes(), num=2)
    assert messages.read_bytes() == content
    export(messages, lakes(), num=2, overwrite=True)
    assert len(read_lines(messages)) == 2


def test_folders_of_others_are_not_touched(tmp_path):
    path = tmp_path / "rows.jsonl"
    partial_folder(path).mkdir()
    (partial_folder(path) / "thesis.txt").write_text("mine")
    with pytest.raises(InvalidOptionError, match="is no unfinished export"):
        export(path, lakes(), num=2)
    assert (partial_folder(path) / "thesis.txt").read_text() == "mine"
    (partial_folder(path) / "journal").write_text("Dear diary,")
    with pytest.raises(InvalidOptionError, match="is no unfinished export"):
        export(path, lakes(), num=2)
    assert (partial_folder(path) / "thesis.txt").read_text() == "mine"


def test_overwrite_deletes_nothing_but_older_outputs(tmp_path, monkeypatch):
    home = tmp_path / "home"
    (home / "work").mkdir(parents=True)
    (home / "work" / "thesis.txt").write_text("mine")
    (home / "rows.jsonl").mkdir()
    monkeypatch.chdir(home / "work")
    for out, format in (
        *((home, "atif"), (home / "work", "atif"), ("..", "atif"), (".", "atif")),
        *((home / "work" / "..", "atif"), (home / "rows.jsonl", "messages")),
    ):
        with pytest.raises(InvalidOptionError, match="out: expected"):
            export(out, lakes(), num=2, format=format, overwrite=True)
    assert not FORMATS["minari"].is_output(home)
    assert sorted(path.name for path in tmp_path.rglob("*")) == [
        *("home", "rows.jsonl", "thesis.txt", "work")
    ]
    for num in (3, 2):
        export(home / "chats", lakes(), num=num, format="atif", overwrite=True)
        assert len([*(home / "chats").iterdir()]) == num
    (home / "link").symlink_to("chats")
    export(home / "link", lakes(), num=3, format="atif", overwrite=True)
    assert (home / "link").is_symlink()
    assert len([*(home / "chats").iterdir()]) == 3
    (home / "chats" / "notes.json").write_text("{}")
    with pytest.raises(InvalidOptionError, match="an older output of the format atif"):
        export(home / "chats", lakes(), num=2, format="atif", overwrite=True)


@pytest.mark.parametrize(
    ("keywords", "arguments", "text"),
    [
        ({"obs_mode": "grid"}, {}, "messages needs observations that are texts"),
        (
            {"action_mode": "discrete", "action_pattern": None},
            {},
            "messages needs actions that are texts",
        ),
        ({}, {"format": "csv"}, "format: expected one of messages, parquet, minari"),
        ({}, {"format": "parquet"}, r"out: expected a name that ends with \.parquet"),
        ({}, {"num": 0}, "num"),
    ],
)
def test_bad_arguments_are_refused(tmp_path, keywords, arguments, text):
    arguments = {"num": 3, **arguments}
    with pytest.raises(InvalidOptionError, match=text):
        export(tmp_path / "rows.jsonl", lakes(**keywords), **arguments)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    "keywords", [{"desc": np.array([*"SG"]).reshape(1, 2)}, {"group_size": 2}]
)
def test_keywords_that_a_row_cannot_have_are_refused(keywords):
    with pytest.raises(InvalidOptionError, match="keywords"):
        lakes(**keywords)


def test_no_pair_of_surrogates_and_no_infinite_reward_ends_in_a_file(tmp_path):
    source = lakes()
    (episode,) = source.episodes(0, 1)
    halves = [f"<answer>{chr(0xD800)}</answer>"] * episode.num_steps
    object.__setattr__(episode, "actions", halves)
    object.__setattr__(source, "episodes", lambda *_: iter([episode]))
    export(tmp_path / "rows.jsonl", source, num=1)
    (row,) = read_lines(tmp_path / "rows.jsonl")
    assert row["messages"][2]["content"] == halves[0]
    with pytest.raises(InvalidOptionError, match="half a surrogate pair"):
        export(tmp_path / "rows.parquet", source, format="parquet", num=1)
    for reward in (inf, nan):
        object.__setattr__(episode, "rewards", np.array([reward]))
        with pytest.raises(InvalidOptionError, match="finite rewards"):
            export(tmp_path / "others.jsonl", source, num=1)


def test_all_rows_replay(messages):
    assert verify(messages) == (9, 0)
    counts = []
    for num_envs in (1, 20):
        verify(messages, num_envs=num_envs, on_progress=counts.append)
    assert counts == [9, 9]


class Unknown(gymnasium.Env):
    """Two steps whose observations and rewards are not known."""

    observation_space = gymnasium.spaces.Box(-1, 1, (2,))
    action_space = gymnasium.spaces.Discrete(2)

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.num_steps = 0
        return np.array([0, nan], np.float32), {}

    def step(self, action):
        self.num_steps += 1
        return np.array([nan, 0], np.float32), nan, self.num_steps == 2, False, {}


def test_rows_with_nan_replay(tmp_path):
    id = "export-test/Unknown-v0"
    roll_vec.register(id, Unknown, force=True)
    try:
        source = policy_source(id, lambda envs: UniformPolicy(envs, 0), "uniform")
        path = tmp_path / "rows.parquet"
        export(path, source, format="parquet", num=2)
        assert verify(path, "parquet") == (2, 0)
    finally:
        del ENVIRONMENTS[id]
        del gymnasium.registry[id]


def tampered(row, name):
    """Return a row with one change, and the text that a reader is told."""
    answers = [m for m in row["messages"] if m["role"] == "assistant"]
    if name == "seed":
        row["seed"] += 1000
        return row, "seed 1010"
    if name == "return":
        row["return"] += 5e-324
        return row, "return is"
    if name == "success":
        row["success"] = not row["success"]
        return row, "success is"
    if name == "rewards":
        row["rewards"][0] = -0.25
        return row, "reward 0 is -0.25 in the file, and 0.0 when"
    if name == "action":
        answers[-1]["content"] = "<answer>none</answer>"
        return row, "does not end|when it is played"
    if name == "observation":
        row["messages"][3]["content"] += " "
        return row, "observation 1 differs"
    if name == "longer":
        row["messages"] += row["messages"][1:3]
        return row, "number of actions is"
    row["messages"] = row["messages"][:3]
    return row, "does not end after 1 steps"


@pytest.mark.parametrize(
    "name",
    ["seed", "return", "success", "rewards", "action", "observation", "longer", "cut"],
)
def test_a_tampered_row_is_named(messages, name):
    rows = read_lines(messages)
    rows[7], text = tampered(rows[7], name)
    messages.write_text("\n".join(map(json.dumps, rows)), "utf-8")
    with pytest.raises(VerificationError, match=text) as error:
        verify(messages, num_envs=2)
    assert "row 7 (seed" in str(error.value)


def test_a_file_of_something_else_is_named(tmp_path):
    (tmp_path / "rows.jsonl").write_text('{"messages": []}\n')
    with pytest.raises(InvalidFileError, match=r"rows\.jsonl, line 1"):
        verify(tmp_path / "rows.jsonl")
    (tmp_path / "rows.parquet").write_text("no")
    with pytest.raises(InvalidFileError, match=r"rows\.parquet"):
        verify(tmp_path / "rows.parquet", "parquet")


@pytest.mark.parametrize("format", SUFFIXES)
def test_damage_is_an_error_of_the_file(tmp_path, format):
    path = tmp_path / f"rows.{SUFFIXES[format]}"
    source = lakes(obs_mode="text")
    export(path, source, num=3, format=format)
    content = path.read_bytes()
    num_undamaged = 0
    for place in range(1, len(content), len(content) // 20):
        path.write_bytes(content[:place] + b"\xff" * 9 + content[place + 9 :])
        # Some bytes of Parquet are of no row.  No other error is raised.
        with suppress(InvalidFileError, VerificationError):
            verify(path, format)
            num_undamaged += 1
    assert num_undamaged < {"messages": 1, "parquet": 10}[format]


@pytest.mark.parametrize("id", ["roll_vec/Lake-v0", "no_such_module:a/B-v0", "?"])
def test_an_unknown_environment_of_a_file_is_named(messages, id):
    old = json.dumps(read_lines(messages)[0]["id"])
    messages.write_text(messages.read_text().replace(old, json.dumps(id)))
    with pytest.raises(InvalidFileError, match=r"environment .* cannot be made here"):
        verify(messages)
