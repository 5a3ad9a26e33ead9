"""Exports: rows, filters, the same bytes in every case, refusals, verification."""

import io
import json
import random
from contextlib import suppress
from math import inf, nan
from pathlib import Path

import gymnasium
import numpy as np
import pytest

import roll_vec
from roll_vec.errors import InvalidFileError, InvalidOptionError
from roll_vec.evaluation import UniformPolicy
from roll_vec.export import (
    FORMATS,
    Format,
    TooFewSuccessesError,
    VerificationError,
    export,
    policy_source,
    verify,
)
from roll_vec.export.exporter import partial_folder
from roll_vec.export.parquet import ParquetFormat
from roll_vec.trajectories import play_seeds
from tests.golden import assert_golden
from tests.interruptions import (
    Interruption,
    bytes_of,
    goes_on_to_the_same_bytes,
)

parquet = pytest.importorskip("pyarrow.parquet")
Image = pytest.importorskip("PIL.Image", reason="pictures of the format vision")

LAKE = "roll_vec/FrozenLake-v1"
TEXTS = {"obs_mode": "text", "action_mode": "text"}
TEXTS |= {"action_pattern": "<answer>(.*?)</answer>"}
DRY = {"is_slippery": False}
# A name of each format's output.
NAMES = {"messages": "rows.jsonl", "parquet": "rows.parquet", "folders": "rows"}
NAMES["vision"] = "pictures.parquet"
PICTURES = {"obs_mode": "rgb"}


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


def read_rows(path):
    return [json.loads(line) for line in path.read_text("utf-8").splitlines()]


class Folders(Format):
    """A folder with a file an episode."""

    name, summary = "folders", "a file an episode"

    def finish(self, episodes, out, source, target):
        out.mkdir()
        for number, each in enumerate(episodes):
            (out / f"{number}").write_text(f"{each.seed} {each.actions}")

    def read(self, path):
        raise NotImplementedError

    def is_output(self, path):
        return path.is_dir() and all(each.name.isdigit() for each in path.iterdir())


@pytest.fixture(autouse=True)
def folders(monkeypatch):
    """Add a format of folders; write groups of some rows."""
    monkeypatch.setitem(FORMATS, "folders", Folders())
    monkeypatch.setattr(ParquetFormat, "group_rows", 4)


@pytest.fixture
def messages(tmp_path):
    path = tmp_path / "rows.jsonl"
    export(path, lakes(), num=9)
    return path


# -------------------------------------------------------------------- what is written


# To the goal, into a hole, and to the limit of steps.
WALKED = ("Down Down Right Right Down Right", "Right jump Down", "Up Up Up Up Up Up")


def test_an_output_is_that_of_the_golden_file(tmp_path):
    def walk(turn):
        places = zip(turn.episodes, turn.steps, strict=True)
        return [f"I go. <answer>{WALKED[i].split()[j]}</answer>" for i, j in places]

    keywords = {**TEXTS, **DRY, "max_episode_steps": 6}
    source = policy_source(LAKE, lambda _: walk, "walk", keywords=keywords, num_envs=1)
    path = tmp_path / "rows.jsonl"
    export(path, source, num=3)
    assert_golden(Path(__file__).parent / "data" / path.name, path.read_bytes())
    assert verify(path) == (3, 0)


@pytest.mark.parametrize(
    ("obs_mode", "dtype", "shape"),
    [("planes", np.uint8, (6, 4, 4)), ("position", np.int64, ()), ("text", object, ())],
)
def test_a_row_of_parquet_is_an_episode(tmp_path, obs_mode, dtype, shape):
    keywords = {} if obs_mode == "text" else {"action_mode": "discrete"}
    keywords |= {"action_pattern": None, "obs_mode": obs_mode}
    source, path = lakes(**keywords), tmp_path / "rows.parquet"
    export(path, source, format="parquet", num=9)
    table = parquet.read_table(path)
    for row, episode in zip(table.to_pylist(), play(source, 9), strict=True):
        observations = np.array(row["observations"], dtype)
        assert observations.shape == (episode.num_steps + 1, *shape)
        np.testing.assert_array_equal(observations, episode.observations)
        assert row["rewards"] == episode.rewards.tolist()
        assert row["return"] == episode.total_reward
        for name in ("seed", "actions", "success", "num_steps", "instruction"):
            assert row[name] == getattr(episode, name), name
        ends = (row["terminated"], row["truncated"])
        assert ends == (episode.terminated, episode.truncated)
    counts = []
    more = {"num_envs": 4, "on_progress": counts.append}
    assert (verify(path, "parquet", **more), counts) == ((9, 0), [9])
    metadata = json.loads(table.schema.metadata[b"roll_vec"])
    assert (metadata["id"], metadata["policy"]) == (LAKE, "uniform 1")


def test_a_row_of_vision_is_a_chat_with_pictures(tmp_path):
    source, path = lakes(**PICTURES), tmp_path / "rows.parquet"
    export(path, source, format="vision", num=9)
    table = parquet.read_table(path)
    for row, episode in zip(table.to_pylist(), play(source, 9), strict=True):
        system, *talk = row["messages"]
        assert system["content"] == [{"type": "text", "text": episode.instruction}]
        assert [message["role"] for message in talk] == [
            *("user", "assistant") * episode.num_steps
        ]
        for question, answer, action in zip(
            talk[::2], talk[1::2], episode.actions, strict=True
        ):
            assert question["content"] == [{"type": "image", "text": None}]
            assert answer["content"] == [{"type": "text", "text": action}]
        # Nobody answers the last observation.
        images = zip(row["images"], episode.observations[:-1], strict=True)
        for image, pixels in images:
            assert image["path"] is None
            picture = Image.open(io.BytesIO(image["bytes"]))
            np.testing.assert_array_equal(np.asarray(picture), pixels)
        assert row["seed"] == episode.seed
        assert row["return"] == episode.total_reward
    # What Hugging Face's datasets read pictures by.
    features = json.loads(table.schema.metadata[b"huggingface"])["info"]["features"]
    assert features["images"]["feature"] == {"_type": "Image"}
    assert verify(path, "vision", num_envs=4) == (9, 0)
    for keywords in ({}, {**PICTURES, "action_mode": "discrete"}):
        own = {"action_pattern": None} if "action_mode" in keywords else {}
        with pytest.raises(
            InvalidOptionError, match=r"format: vision needs obs.*'rgb'"
        ):
            export(tmp_path / "no.parquet", lakes(**keywords, **own), format="vision")


def test_a_changed_picture_is_named(tmp_path):
    path = tmp_path / "rows.parquet"
    export(path, lakes(**PICTURES), format="vision", num=3)
    table = parquet.read_table(path)
    rows = table.to_pylist()
    rows[1]["images"][0] = rows[0]["images"][-1]
    parquet.write_table(type(table).from_pylist(rows, table.schema), path)
    with pytest.raises(VerificationError, match=r"row 1 .*observation 0 differs"):
        verify(path, "vision")


def test_only_success_keeps_the_successes_in_the_order_of_seeds(tmp_path):
    source, path = lakes(**DRY), tmp_path / "rows.jsonl"
    result = export(path, source, num=3, only_success=True)
    episodes = play(source, result.totals.episodes)
    wins = [episode for episode in episodes if episode.success]
    assert episodes[-1].success
    assert len(wins) == result.totals.rows == result.totals.successes == 3
    assert [row["seed"] for row in read_rows(path)] == [each.seed for each in wins]
    assert result.mean_return == 1.0
    assert result.totals.steps == sum(episode.num_steps for episode in wins)


def test_an_export_that_hardly_succeeds_ends(tmp_path):
    def stay(turn):
        return ["<answer>Left</answer>"] * len(turn.steps)

    # The keywords of the work are not written.
    keywords = {**TEXTS, **DRY, "max_episode_steps": 2}
    own = {"keywords": {**keywords, "num_threads": 1}}
    source = policy_source(LAKE, lambda _: stay, "stay", **own)
    path, counts = tmp_path / "rows.jsonl", []
    export(path, source, num=1)
    assert json.loads(read_rows(path)[0]["keywords"]).keys() == keywords.keys()
    path.unlink()
    more = {"num": 2, "only_success": True}
    with pytest.raises(TooFewSuccessesError, match="only 0 of 200 "):
        export(path, source, **more)
    more |= {"max_episodes": 230, "on_progress": lambda t: counts.append(t.episodes)}
    with pytest.raises(TooFewSuccessesError, match=r"only 0 of 230 .*max_episodes"):
        export(path, source, **more)
    assert counts == [*range(200, 231)]


# --------------------------------------------------------------------- interruptions


def damage(folder, rng):
    """Cut a file of an unfinished export, or change a byte of it."""
    for file in [*folder.iterdir()] if folder.exists() else []:
        content = file.read_bytes() if file.is_file() else b""
        if content and rng.random() < 0.4:
            end = rng.randrange(len(content))
            changed = bytes([content[end] ^ 1]) + content[end + 1 :]
            file.write_bytes(content[:end] + rng.choice([b"", changed, changed]))
    if folder.exists() and rng.random() < 0.3:
        (folder / ".journal.part").write_bytes(b"half")


WALKS = [*range(4), *(pytest.param(i, marks=pytest.mark.slow) for i in range(4, 14))]


# What an interrupted program leaves open is closed when it is collected.
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
@pytest.mark.parametrize("seed", WALKS)
def test_an_export_goes_on_from_any_interruption_and_damage(
    tmp_path, seed, monkeypatch
):
    rng, format = random.Random(seed), [*NAMES][seed % len(NAMES)]
    monkeypatch.setattr(type(FORMATS[format]), "suffix", "")
    keywords, source = {"format": format, "num": 8}, {}
    if seed % 3 == 0:
        keywords, source = {"format": format, "num": 2, "only_success": True}, DRY
    if format == "vision":
        source = {**source, **PICTURES}

    def play(name, on_progress):
        # An interrupted call may have deleted its rows already: the output is complete.
        own = {**keywords, "overwrite": True, "on_progress": on_progress}
        export(tmp_path / name, lakes(rng.choice([1, 5]), **source), **own)

    goes_on_to_the_same_bytes(
        tmp_path,
        play,
        seed,
        lambda rng: damage(partial_folder(tmp_path / "parts"), rng),
    )


def interrupt_at(path, rows):
    """Begin an export of 12 rows that ends after some rows."""

    def stop(totals):
        if totals.rows == rows:
            raise Interruption

    with pytest.raises(Interruption):
        export(path, lakes(), num=12, on_progress=stop)


def test_nothing_is_played_twice(tmp_path):
    path = tmp_path / "rows.jsonl"
    interrupt_at(path, 5)
    source, begins = lakes(num_envs=2), []
    episodes = source.episodes
    object.__setattr__(
        source, "episodes", lambda at, n: begins.append(at) or episodes(at, n)
    )
    result = export(path, source, num=12)
    assert begins == [result.rows_before] == [5]
    assert result.totals.rows == 12


def test_another_export_to_the_same_output_is_refused(tmp_path):
    path = tmp_path / "rows.jsonl"
    interrupt_at(path, 5)
    before = bytes_of(partial_folder(path))
    for text, source, others in (
        ("start_seed was 3, and is now 4", lakes(start_seed=4), {"num": 12}),
        ("policy was 'uniform 1', and is now 'un", lakes(policy_seed=2), {"num": 12}),
        ("keywords was", lakes(**DRY), {"num": 12}),
        ("num was 12, and is now 13", lakes(), {"num": 13}),
        ("only_success was False", lakes(), {"num": 12, "only_success": True}),
    ):
        with pytest.raises(InvalidOptionError, match=text):
            export(path, source, **others)
    assert bytes_of(partial_folder(path)) == before

    def begin_another(totals):
        if totals.rows == 7:
            with pytest.raises(InvalidOptionError, match="another process"):
                export(path, lakes(), num=12)

    # The number of environments changes no row.
    export(path, lakes(num_envs=9), num=12, on_progress=begin_another)


def test_an_unfinished_export_of_another_version_is_refused(tmp_path, monkeypatch):
    path = tmp_path / "rows.jsonl"
    monkeypatch.setattr("roll_vec.export.exporter.__version__", "0.1.7")
    interrupt_at(path, 5)
    monkeypatch.undo()
    # Of the version before, whose rows stood in files.
    (partial_folder(path) / "00000").write_text("{}")
    with pytest.raises(InvalidOptionError, match=r"of version 0\.1\.7 of roll_vec"):
        export(path, lakes(), num=12)


def test_folders_of_others_are_not_touched(tmp_path):
    path = tmp_path / "rows.jsonl"
    thesis = partial_folder(path) / "thesis.txt"
    thesis.parent.mkdir()
    thesis.write_text("mine")
    for _ in range(2):
        with pytest.raises(InvalidOptionError, match="is no unfinished export"):
            export(path, lakes(), num=2)
        assert thesis.read_text() == "mine"
        (thesis.parent / "journal").write_text("Dear diary,")


def test_overwrite_deletes_nothing_but_older_outputs(messages, tmp_path, monkeypatch):
    messages.chmod(0o600)
    export(messages, lakes(), num=2, overwrite=True)
    assert messages.stat().st_mode & 0o777 == 0o600
    assert len(read_rows(messages)) == 2
    messages.unlink()
    home = tmp_path / "home"
    (home / "work").mkdir(parents=True)
    (home / "work" / "thesis.txt").write_text("mine")
    (home / "rows.jsonl").mkdir()
    monkeypatch.chdir(home / "work")
    for out in (home, home / "work", "..", ".", home / "work/..", home / "rows.jsonl"):
        format = "messages" if "rows" in str(out) else "folders"
        with pytest.raises(InvalidOptionError, match="out: expected"):
            export(out, lakes(), num=2, format=format, overwrite=True)
    assert not FORMATS["minari"].is_output(home)
    names = sorted(path.name for path in tmp_path.rglob("*"))
    assert names == ["home", "rows.jsonl", "thesis.txt", "work"]
    chats, link = home / "chats", home / "link"
    export(chats, lakes(), num=3, format="folders")
    with pytest.raises(InvalidOptionError, match="overwrite=True"):
        export(chats, lakes(), num=2, format="folders")
    link.symlink_to("chats")
    for out, num in ((chats, 2), (link, 3)):
        export(out, lakes(), num=num, format="folders", overwrite=True)
        assert len([*chats.iterdir()]) == num
    assert link.is_symlink()
    (chats / "notes.json").write_text("{}")
    with pytest.raises(
        InvalidOptionError, match="an older output of the format folders"
    ):
        export(chats, lakes(), num=2, format="folders", overwrite=True)


# -------------------------------------------------------------------------- refusals


def test_no_pair_of_surrogates_and_no_infinite_reward_ends_in_a_file(tmp_path):
    source = lakes()
    (episode,) = source.episodes(0, 1)
    halves = [f"<answer>{chr(0xD800)}</answer>"] * episode.num_steps
    object.__setattr__(episode, "actions", halves)
    object.__setattr__(source, "episodes", lambda *_: iter([episode]))
    export(tmp_path / "rows.jsonl", source, num=1)
    (row,) = read_rows(tmp_path / "rows.jsonl")
    assert row["messages"][2]["content"] == halves[0]
    with pytest.raises(InvalidOptionError, match="half a surrogate pair"):
        export(tmp_path / "rows.parquet", source, format="parquet", num=1)
    for reward in (inf, nan):
        object.__setattr__(episode, "rewards", np.array([reward]))
        with pytest.raises(InvalidOptionError, match="finite rewards"):
            export(tmp_path / "others.jsonl", source, num=1)


# ---------------------------------------------------------------------- verification


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


@pytest.mark.usefixtures("forgets_ids")
def test_rows_with_nan_replay(tmp_path):
    id, path = "export-test/Unknown-v0", tmp_path / "rows.parquet"
    roll_vec.register(id, Unknown)
    source = policy_source(id, lambda envs: UniformPolicy(envs, 0), "uniform")
    export(path, source, format="parquet", num=2)
    assert verify(path, "parquet") == (2, 0)


def test_a_row_that_was_changed_is_named(messages, tmp_path):
    rows = read_rows(messages)
    row = rows[7]
    first, rewards, talk = row["return"], row["rewards"], row["messages"]
    answer = {"role": "assistant", "content": "<answer>none</answer>"}
    other = {**talk[3], "content": f"{talk[3]['content']} "}
    for changes, text in (
        ({"seed": 1010}, "seed 1010"),
        ({"return": first + 5e-324}, "return is"),
        ({"success": not row["success"]}, "success is"),
        ({"rewards": [-0.25, *rewards[1:]]}, "reward 0 is -0.25 in the file, and 0"),
        ({"messages": [*talk[:-1], answer]}, "does not end|when it is played"),
        ({"messages": [*talk[:3], other, *talk[4:]]}, "observation 1 differs"),
        ({"messages": [*talk, *talk[1:3]]}, "number of actions is"),
        ({"messages": talk[:3]}, "does not end after 1 steps"),
    ):
        rows[7] = {**row, **changes}
        messages.write_text("\n".join(map(json.dumps, rows)), "utf-8")
        with pytest.raises(VerificationError, match=text) as error:
            verify(messages, num_envs=2)
        assert "row 7 (seed" in str(error.value)


@pytest.mark.parametrize(
    ("format", "content", "text"),
    [
        ("messages", b'{"messages": []}\n', r"rows, line 1"),
        ("messages", b"[]\n", r"rows, line 1"),
        ("parquet", b"no", r"rows: no file of the format parquet"),
        ("vision", b"no", r"rows: no file of the format vision"),
    ],
)
def test_a_file_of_something_else_is_named(tmp_path, format, content, text):
    path = tmp_path / "rows"
    path.write_bytes(content)
    with pytest.raises(InvalidFileError, match=text):
        verify(path, format)


def test_damage_is_an_error_of_the_file(tmp_path):
    for format, most, keywords in (
        ("messages", 0, {}),
        ("parquet", 9, {}),
        ("vision", 9, PICTURES),
    ):
        path, num_undamaged = tmp_path / NAMES[format], 0
        export(path, lakes(**keywords), num=3, format=format)
        content = path.read_bytes()
        for place in range(1, len(content), len(content) // 20):
            path.write_bytes(content[:place] + b"\xff" * 9 + content[place + 9 :])
            # Some bytes of Parquet are of no row.  No other error is raised.
            with suppress(InvalidFileError, VerificationError):
                verify(path, format)
                num_undamaged += 1
        assert num_undamaged <= most


def test_an_unknown_environment_of_a_file_is_named(messages):
    text = messages.read_text()
    for id in ("roll_vec/Lake-v0", "no_such_module:a/B-v0", "?"):
        messages.write_text(text.replace(json.dumps(LAKE), json.dumps(id)))
        with pytest.raises(InvalidFileError, match=r"environment .* cannot be ma"):
            verify(messages)
