"""Exports: rows, filters, files that are whole or not there, refusals."""

import io
import json
from dataclasses import replace
from math import inf, nan
from pathlib import Path

import numpy as np
import pytest

import roll_vec
from roll_vec.errors import InvalidFileError, InvalidOptionError
from roll_vec.evaluation import UniformPolicy
from roll_vec.export import export
from roll_vec.export.parquet import ParquetFormat
from roll_vec.export.rows import Tally, TooFewRowsError, play_rows, select_rows
from roll_vec.export.writer import FORMATS
from roll_vec.trajectories import play_seeds
from tests.golden import assert_golden

parquet = pytest.importorskip("pyarrow.parquet")
Image = pytest.importorskip("PIL.Image", reason="pictures of the format vision")

LAKE = "roll_vec/FrozenLake-v1"
TEXTS = FORMATS["messages"].keywords
DRY = {"is_slippery": False}
PICTURES = FORMATS["vision"].keywords
# To the goal, into a hole, and to the limit of steps.
WALKED = ("Down Down Right Right Down Right", "Right jump Down", "Up Up Up Up Up Up")


@pytest.fixture(autouse=True)
def small_groups(monkeypatch):
    """Write groups of some rows."""
    monkeypatch.setattr(ParquetFormat, "group_rows", 4)


@pytest.fixture
def make():
    """Return a function that makes a batch, which is closed at the end."""
    batches = []

    def make(num_envs=4, **keywords):
        keywords = {**TEXTS, **keywords, "autoreset_mode": "Disabled"}
        batches.append(roll_vec.make_vec(LAKE, num_envs, **keywords))
        return batches[-1]

    yield make
    for batch in batches:
        batch.close()


def play(envs, num=9):
    return play_seeds(envs, range(3, 3 + num), UniformPolicy(envs, 1))


def read_rows(path):
    return [json.loads(line) for line in path.read_text("utf-8").splitlines()]


def test_an_output_is_that_of_the_golden_file(make, tmp_path):
    def walk(turn):
        places = zip(turn.episodes, turn.steps, strict=True)
        return [f"I go. <answer>{WALKED[i].split()[j]}</answer>" for i, j in places]

    # Keywords of the work are not written.
    envs = make(1, **DRY, max_episode_steps=6, num_threads=1)
    path = tmp_path / "rows.jsonl"
    export(path, envs, play_seeds(envs, range(3), walk))
    assert_golden(Path(__file__).parent / "data" / path.name, path.read_bytes())


@pytest.mark.parametrize(
    ("obs_mode", "dtype", "shape"),
    [("planes", np.uint8, (6, 4, 4)), ("position", np.int64, ()), ("text", object, ())],
)
def test_a_row_of_parquet_is_an_episode(make, tmp_path, obs_mode, dtype, shape):
    keywords = {} if obs_mode == "text" else {"action_mode": "discrete"}
    envs = make(action_pattern=None, obs_mode=obs_mode, **keywords)
    path, episodes = tmp_path / "rows.parquet", list(play(envs))
    export(path, envs, episodes, format="parquet", policy="uniform")
    table = parquet.read_table(path)
    for row, episode in zip(table.to_pylist(), episodes, strict=True):
        observations = np.array(row["observations"], dtype)
        assert observations.shape == (episode.num_steps + 1, *shape)
        np.testing.assert_array_equal(observations, episode.observations)
        assert row["rewards"] == episode.rewards.tolist()
        assert row["return"] == episode.total_reward
        for name in ("seed", "actions", "success", "num_steps", "instruction"):
            assert row[name] == getattr(episode, name), name
        ends = (row["terminated"], row["truncated"])
        assert ends == (episode.terminated, episode.truncated)
    metadata = json.loads(table.schema.metadata[b"roll_vec"])
    assert (metadata["id"], metadata["policy"]) == (LAKE, "uniform")
    assert metadata["keywords"]["obs_mode"] == obs_mode


def test_a_row_of_vision_is_a_chat_with_pictures(make, tmp_path):
    envs, path = make(**PICTURES), tmp_path / "rows.parquet"
    episodes = list(play(envs, 5))
    export(path, envs, episodes, format="vision")
    table = parquet.read_table(path)
    for row, episode in zip(table.to_pylist(), episodes, strict=True):
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


@pytest.mark.parametrize("num_envs", [1, 7])
def test_only_successes_are_rows_in_the_order_of_seeds(make, num_envs):
    envs, tally = make(5, **DRY), Tally()
    policy = UniformPolicy(envs, 1)

    def play_some(seeds, first):
        # No model answers in vain where all succeed.
        count = len(seeds) if first else 3
        assert (seeds[0], len(seeds)) == (3 + first, count)
        act = lambda turn: policy(replace(turn, episodes=turn.episodes + first))  # noqa: E731
        return play_seeds(envs, seeds, act)

    own = {"start_seed": 3, "num_envs": num_envs, "only_success": True}
    rows = list(play_rows(play_some, 3, tally, **own))
    episodes = list(play(envs, tally.episodes))
    wins = [episode.seed for episode in episodes if episode.success]
    assert [row.seed for row in rows] == wins
    assert (tally.rows, tally.successes, tally.total_return) == (3, 3, 3.0)
    assert tally.failures == len(episodes) - 3


def test_an_export_that_hardly_succeeds_ends(make):
    envs = make(**DRY, max_episode_steps=2)

    def stay(seeds, _):
        return play_seeds(envs, seeds, lambda turn: ["?"] * len(turn.steps))

    tally, more = Tally(), {"only_success": True, "num_envs": 90}
    with pytest.raises(TooFewRowsError, match=r"only 0 of 230 .*max-episodes"):
        list(play_rows(stay, 2, tally, max_episodes=230, **more))
    with pytest.raises(TooFewRowsError, match="only 0 of 100 "):
        list(play_rows(stay, 1, Tally(), **more))


def test_episodes_that_an_error_ended_are_left_out_and_others_played(make):
    envs = make()
    episodes = {each.seed: each for each in play(envs, 20)}

    def fail(seeds, _):
        for seed in seeds:
            fault = "no paper" if seed % 2 else None
            yield replace(episodes[seed], fault=fault)

    tally = Tally()
    rows = list(play_rows(fail, 4, tally, start_seed=3))
    assert [row.seed for row in rows] == [4, 6, 8, 10]
    assert (tally.rows, tally.faults) == (4, 4)
    # No model is asked a thousand times if it never answers.
    with pytest.raises(TooFewRowsError, match=r"all of 1 episodes .*: no paper"):
        list(play_rows(fail, 1, Tally(), start_seed=5))
    assert [row.seed for row in select_rows(fail([3, 4, 5], 0), tally)] == [4]


@pytest.mark.parametrize("error", [KeyboardInterrupt, OSError])
@pytest.mark.parametrize("name", ["rows.jsonl", "rows.parquet"])
def test_an_export_that_ends_early_leaves_nothing(make, tmp_path, name, error):
    envs = make()
    format = "messages" if name.endswith("l") else "parquet"

    def some():
        yield from play(envs, 6)
        raise error

    path = tmp_path / name
    for old in (None, b"old"):
        if old:
            path.write_bytes(old)
        with pytest.raises(error):
            export(path, envs, some(), format=format, overwrite=True)
        names = [each.name for each in tmp_path.iterdir()]
        assert names == ([name] if old else [])
    assert path.read_bytes() == b"old"


def test_only_files_are_replaced_and_only_on_request(make, tmp_path, monkeypatch):
    envs, path = make(), tmp_path / "rows.jsonl"
    episodes = list(play(envs, 3))
    export(path, envs, episodes)
    path.chmod(0o600)
    with pytest.raises(InvalidOptionError, match="overwrite=True"):
        export(path, envs, episodes[:2])
    assert len(read_rows(path)) == 3
    export(path, envs, episodes[:2], overwrite=True)
    assert path.stat().st_mode & 0o777 == 0o600
    assert len(read_rows(path)) == 2
    monkeypatch.chdir(tmp_path)
    (tmp_path / "folder.jsonl").mkdir()
    for out, text in (("..", "ends with"), ("folder.jsonl", "a directory")):
        with pytest.raises((InvalidOptionError, InvalidFileError), match=text):
            export(out, envs, episodes, overwrite=True)

    def appear():
        (tmp_path / "new.jsonl").write_text("of another process")
        yield from episodes

    with pytest.raises(InvalidOptionError, match="a path where nothing is yet"):
        export("new.jsonl", envs, appear())
    assert (tmp_path / "new.jsonl").read_text() == "of another process"


def test_what_a_row_cannot_hold_is_refused_before_anything_is_played(make, tmp_path):
    def nothing():
        pytest.fail("an episode was played")
        yield

    blackjack = roll_vec.make_vec("roll_vec/Blackjack-v1", 1)
    for name, envs, text in (
        ("messages", make(obs_mode="grid"), "messages needs .* texts; .* has obs"),
        ("vision", make(), "vision needs observations that are pictures"),
        ("parquet", blackjack, "parquet needs spaces that are Box, .*has observations"),
    ):
        out = tmp_path / ("a.jsonl" if name == "messages" else "a.parquet")
        with pytest.raises(InvalidOptionError, match=text) as caught:
            export(out, envs, nothing(), format=name)
        # A hint would name what the caller has set.
        assert "_mode=" not in str(caught.value)
    blackjack.close()
    with pytest.raises(InvalidOptionError, match="one of messages, vision, parquet"):
        export(tmp_path / "a.csv", make(), nothing(), format="csv")
    desc = np.array([*"SG"]).reshape(1, 2)
    with pytest.raises(InvalidOptionError, match=r"keywords\['desc'\]: .* JSON can"):
        export(tmp_path / "a.jsonl", make(desc=desc), nothing())
    assert not [*tmp_path.iterdir()]


def test_no_pair_of_surrogates_and_no_infinite_reward_ends_in_a_file(make, tmp_path):
    envs = make()
    (episode,) = play(envs, 1)
    halves = [f"<answer>{chr(0xD800)}</answer>"] * episode.num_steps
    half = replace(episode, actions=halves)
    export(tmp_path / "rows.jsonl", envs, [half])
    (row,) = read_rows(tmp_path / "rows.jsonl")
    assert row["messages"][2]["content"] == halves[0]
    with pytest.raises(InvalidOptionError, match="half a surrogate pair"):
        export(tmp_path / "rows.parquet", envs, [half], format="parquet")
    for reward in (inf, nan):
        bad = replace(episode, rewards=np.array([reward]))
        with pytest.raises(InvalidOptionError, match="finite rewards"):
            export(tmp_path / "others.jsonl", envs, [bad])
    large = replace(episode, seed=1 << 63)
    with pytest.raises(InvalidOptionError, match="seeds up to"):
        export(tmp_path / "others.jsonl", envs, [large])
