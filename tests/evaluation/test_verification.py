"""Files of results are verified: the truth is the same, and each lie is named."""

import base64
import bz2
import json
import random
import shutil
import zlib
from contextlib import closing, contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path

import gymnasium
import numpy as np
import pytest

import roll_vec
from roll_vec.envs.webshop import Catalogue
from roll_vec.errors import InvalidFileError
from roll_vec.evaluation import UniformPolicy, evaluate, find_split, play_episodes
from roll_vec.evaluation.result_files import (
    ResultHeader,
    ResultLog,
    read_result_episodes,
    read_results,
)
from roll_vec.evaluation.turns import (
    EpisodeTurns,
    make_marks,
    mark_turns,
    write_marks,
)
from roll_vec.evaluation.verification import verify_episodes, verify_results
from roll_vec.evaluation.verification.replays import play_again
from roll_vec.progress import listen
from roll_vec.recordings.recorded_episodes import RecordedEpisode
from roll_vec.recordings.setup import current_versions
from tests.evaluation.chat_server import ChatServer, Reply

SOKOBAN = find_split("roll_vec/Sokoban-v0", "test-1-box")
NUM = 30
DATA = Path(__file__).parent / "data"


def play(split, path, num=NUM, policy=UniformPolicy, **keywords):
    """Write a file of the random policy."""
    with closing(split.make_vec(min(num, 16), **keywords)) as envs:
        header = ResultHeader.of(
            split, keywords, {"name": "random"}, current_versions()
        )
        episodes = partial(play_episodes, split, envs, policy(envs, 0))
        return evaluate(split, episodes, num=num, header=header, path=path)


@pytest.fixture(scope="module")
def honest(tmp_path_factory):
    path = tmp_path_factory.mktemp("results") / "honest.jsonl"
    play(SOKOBAN, path)
    return path


@contextmanager
def changed(source, path):
    """Give the lines of a file and the lists of its packed part, to be changed."""
    lines = [json.loads(line) for line in source.read_text("utf-8").splitlines()]
    columns = json.loads(bz2.decompress(base64.b85decode(lines[-1]["packed"])))
    yield lines, columns
    packed = base64.b85encode(bz2.compress(json.dumps(columns).encode())).decode()
    if "packed" in lines[-1]:
        lines[-1]["packed"] = packed
    path.write_text("".join(f"{json.dumps(line)}\n" for line in lines), "utf-8")


# ----------------------------------------------------------------------------- truths

TASKS = {
    "roll_vec/Pendulum-v1": {},
    "roll_vec/CartPole-v1": {},
    "roll_vec/Blackjack-v1": {},
    "roll_vec/Countdown-v0": {},
    "roll_vec/RandomFrozenLake-v0": {
        "obs_mode": "text",
        "action_mode": "text",
        "special_token_list": ("<x>",),
        "action_pattern": "<answer>(.*?)</answer>",
    },
}


@pytest.mark.parametrize("id", TASKS)
def test_what_was_played_is_the_same(id, tmp_path):
    split, path, shown = find_split(id, "test"), tmp_path / "a.jsonl", []
    records = play(split, path, **TASKS[id])
    with listen(lambda _, *numbers: shown.append(numbers)):
        progress = verify_results(path)
    assert (progress.differences, progress.notes) == ([], [])
    assert progress.num_episodes == NUM
    assert progress.num_turns == sum(record.length for record in records)
    assert shown[-1] == (NUM, NUM)
    # As of a dump of a trainer, all that it says is compared as well.
    dump = verify_episodes(read_result_episodes(path))
    assert (dump.differences, dump.compared["rewards"]) == ([], NUM)


def test_long_episodes_are_whole(tmp_path, monkeypatch):
    """Turns are kept in blocks."""
    split = find_split("roll_vec/MountainCar-v0", "test")
    texts = []
    for size in (512, 7, 200):
        monkeypatch.setattr("roll_vec.evaluation.turns._BLOCK", size)
        play(split, path := tmp_path / f"{size}.jsonl", 5)
        texts.append(path.read_bytes())
        assert verify_results(path).is_same
    assert len({*texts}) == 1
    assert read_results(path).records[0].length == 200


# Written with Python 3.10, numpy 1.26.0, numba 0.61.0 and gymnasium 1.1.0.
@pytest.mark.parametrize("name", ["verified_cart_pole", "verified_lake"])
def test_files_of_other_versions_of_packages_are_the_same(name):
    verification = verify_results(DATA / f"{name}.jsonl")
    assert verification.is_same
    assert verification.num_episodes == 20


class Nested(gymnasium.Env):
    """Dict observations and Tuple actions; some levels fail."""

    observation_space = gymnasium.spaces.Dict(
        near=gymnasium.spaces.Box(-9, 9, (2,), np.float32),
        name=gymnasium.spaces.Text(9),
    )
    action_space = gymnasium.spaces.Tuple(
        [gymnasium.spaces.Discrete(3), gymnasium.spaces.Box(-1, 1, (2,), np.float32)]
    )

    def _observe(self):
        return {"near": self.place.astype(np.float32), "name": f"step {self.steps}"}

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        if seed % 10 == 3:
            raise RuntimeError("no level")
        self.place, self.steps, self.seed = np.zeros(2), 0, seed
        return self._observe(), {}

    def step(self, action):
        number, push = action
        self.place, self.steps = self.place + push * number, self.steps + 1
        if self.seed % 10 == 4 and self.steps == 2:
            raise RuntimeError("no turn")
        reward = float(self.place.sum())
        return self._observe(), reward, self.steps == 5, False, {"success": reward > 0}


@pytest.mark.filterwarnings("ignore::roll_vec.errors.EnvironmentFaultWarning")
@pytest.mark.usefixtures("forgets_ids")
def test_objects_with_nested_spaces_and_faults(tmp_path):
    roll_vec.register("verify-test/Nested-v0", Nested)
    split, path = find_split("verify-test/Nested-v0", "test"), tmp_path / "a.jsonl"
    # Digests play many levels, and the reset of some fails.
    split = replace(split, digest="")
    records = play(split, path, 20)
    assert sum(record.fault is not None for record in records) == 4
    verification = verify_results(path)
    assert verification.differences[0].field == "digest"
    digest = find_split(split.id, "test").digest
    with changed(path, path) as (lines, _):
        lines[0]["digest"] = digest
    assert verify_results(path).is_same
    with changed(path, path) as (lines, columns):
        lines[5]["return"] = columns["rewards"][4][1] = 100.0
    first, *others = verify_results(path).differences
    assert (first.place, first.field, others) == ("episode 4", "rewards", [])


def test_answers_of_a_model_are_in_the_file_as_they_were(tmp_path):
    pytest.importorskip("openai")
    from roll_vec.evaluation.chat import (
        ChatEndpoint,
        chat_keywords,
        play_chat_episodes,
    )

    split = find_split("roll_vec/RandomFrozenLake-v0", "test")
    keywords = chat_keywords(split, {})
    path, rng, answers = tmp_path / "a.jsonl", random.Random(0), []

    def reply(request, count):
        if len(answers) % 20 == 19 and count < 1:
            answers.append(None)
            return Reply(status=400)
        if len(answers) % 20 == 9 and count < 1:
            answers.append(None)
            return Reply(status=500, headers={"retry-after-ms": "1"})
        word = rng.choice(["Left", "Down", "Right", "Up", "no", ""])
        text = f"I thínk \ud83e: <answer>{word}</answer>"
        is_cut = rng.random() < 0.1
        answers.append(text[: 9 + is_cut * 9])
        reason = "length" if is_cut else "stop"
        return Reply(text if not is_cut else text[:9], finish_reason=reason)

    with ChatServer(reply) as server:
        endpoint = ChatEndpoint(server.url, "m", retries=1)
        envs = split.make_vec(4, **keywords)
        header = ResultHeader.of(split, keywords, endpoint.to_json())
        episodes = partial(play_chat_episodes, split, envs, endpoint)
        records = evaluate(split, episodes, num=12, header=header, path=path)
    assert verify_results(path).is_same
    faulty = [record for record in records if record.fault is not None]
    assert 0 < len(faulty) < 12
    turns = [record.turns for record in records]
    cut = {each.answers[i] for each in turns for i in each.cut}
    assert cut == {"I thínk ?"}
    whole = {text for each in turns for text in each.answers} - cut
    assert all(text.endswith("</answer>") for text in whole)
    episode = read_result_episodes(path)[faulty[0].episode]
    assert episode.fault == faulty[0].fault
    assert [*episode.was_cut] == [
        i in turns[faulty[0].episode].cut for i in range(faulty[0].length)
    ]


# ------------------------------------------------------------------------------- lies


def lie_answer(lines, columns):
    answers = columns["answers"][7]
    answers[4] = answers[4] % 4 + 1


def lie_rewards(lines, columns):
    columns["rewards"][7][4] = 1.0
    lines[8]["return"] = sum(columns["rewards"][7])


def lie_return(lines, columns):
    lines[8]["return"] += 1.0


def lie_success(lines, columns):
    lines[8]["success"] = not lines[8]["success"]


def lie_seed(lines, columns):
    columns["seed"][7] += 1
    columns["seed"][8] -= 1


def lie_length(lines, columns):
    lines[8]["length"] -= 1


def lie_shorter(lines, columns):
    """Leave out the last turn everywhere, and write the marks of the others."""
    for name in ("answers", "rewards"):
        columns[name][7].pop()
    lines[8]["length"] -= 1
    lines[8]["return"] = float(np.cumsum(columns["rewards"][7])[-1])


def lie_dropped(lines, columns):
    del lines[8]


def lie_dropped_everywhere(lines, columns):
    del lines[8]
    columns["seed"][8] += columns["seed"][7]
    for name in {*columns} - {"episodes"}:
        del columns[name][7]
    columns["episodes"] = [[0, 7], [8, NUM]]
    lines[-1]["episodes"] = NUM - 1


def lie_last_dropped(lines, columns):
    del lines[-2]


def lie_repeated(lines, columns):
    lines[9:9] = [lines[8]] * 2


def lie_split(lines, columns):
    lines[0]["split"] = "test"


def lie_split_and_digest(lines, columns):
    lines[0]["split"] = "test"
    lines[0]["digest"] = find_split(SOKOBAN.id, "test").digest


def lie_ends(lines, columns):
    columns["terminated"][7] ^= 1


def lie_keywords(lines, columns):
    lines[0]["keywords"] = {"max_steps": 9}


def lie_keywords_of_nothing(lines, columns):
    lines[0]["keywords"] = {"obs_mode": {"$no-tag": 1}, "workers": 10**6}


def lie_no_answers(lines, columns):
    columns["answers"][7] = None


def lie_cut_off(lines, columns):
    del lines[-1]


def lie_fault(lines, columns):
    lines[8] |= {"fault": "none", "success": True}


def lie_other_episode(lines, columns):
    lines[-2]["episode"] = 10**9


def lie_impossible(lines, columns):
    columns["answers"][7][4] = "up"


def lie_invented(lines, columns):
    # Turns after the end of the episode, and a failure of the environment at last.
    extra = 50
    answers = [*columns["answers"][7], *[1] * extra]
    split, old = find_split(lines[0]["id"], lines[0]["split"]), columns["answers"][7]
    task = {"id": split.id, "keywords": split.keywords, "seed": split.seeds[7]}
    (replay,) = play_again([RecordedEpisode(**task, answers=old, place="")])
    states = [*map(int, replay.states), *[0] * extra]
    columns["marks"][7] = write_marks(answers, states)
    columns["answers"][7] = answers
    columns["rewards"][7] += [10.0] * (extra - 1) + [0.0]
    columns["terminated"][7] = 1
    total = sum(columns["rewards"][7])
    lines[8] |= {"length": len(answers), "return": total, "fault": "it failed"}


E7 = "episode 7"
# The lie, the place, the field, and a part of the meaning.
LIES = [
    (lie_answer, E7, "answers", "one was changed, left out or added"),
    (lie_rewards, E7, "rewards", "pays another reward for these answers"),
    (lie_return, E7, "return", "not the sum of the rewards"),
    (lie_success, E7, "success", "does not end so"),
    (lie_seed, E7, "seed", "not the episode of the split with this number"),
    (lie_length, E7, "length", "but the file has"),
    (lie_shorter, E7, "answers", "one was changed, left out or added"),
    (lie_dropped, E7, "episode", "left out"),
    (lie_dropped_everywhere, E7, "episode", "left out"),
    (lie_last_dropped, "episode 29", "episode", "left out"),
    (lie_repeated, E7, "episode", "more than once"),
    (lie_split, "", "digest", "another split under this name"),
    (lie_split_and_digest, "episode 0", "observations", "of the split 'test-1-box'"),
    (lie_ends, E7, "terminated", "does not end so"),
    (lie_keywords, "", "keywords", "would change test-1-box"),
    (lie_keywords_of_nothing, "", "keywords", "expected plain data"),
    (lie_no_answers, E7, "answers", "without its answers"),
    (lie_cut_off, "", "packed", "the end of the file"),
    (lie_fault, E7, "success", "is no success"),
    (lie_other_episode, "episode 29", "episode", "left out"),
    (lie_impossible, E7, "answers", "one was changed"),
    (lie_invented, E7, "length", "no whole episode"),
]


@pytest.mark.parametrize(("lie", "place", "field", "meaning"), LIES)
def test_a_lie_is_named(honest, tmp_path, lie, place, field, meaning):
    path = tmp_path / "lie.jsonl"
    with changed(honest, path) as (lines, columns):
        lie(lines, columns)
    verification = verify_results(path)
    first = verification.differences[0]
    assert (first.place, first.field) == (place, field)
    assert meaning in first.meaning
    if field == "rewards":
        assert first.turns == (5, 5)
        assert (first.recorded, first.replayed) == ("1.0", "-0.1")
    if lie is lie_answer:
        low, high = first.turns
        assert low <= 5 <= high <= low + 9


def test_damage_is_named_with_its_line(honest, tmp_path):
    with changed(honest, tmp_path / "a.jsonl") as (_, columns):
        columns["marks"][7] = None
    text = f"line {NUM + 2}: the marks of episode 7 are missing"
    with pytest.raises(InvalidFileError, match=text):
        verify_results(tmp_path / "a.jsonl")


def test_each_answer_that_is_changed_is_found(honest, tmp_path):
    path = tmp_path / "lie.jsonl"
    length = read_results(honest).records[7].length
    stops = mark_turns(length)
    for turn in range(0, length, 7):
        with changed(honest, path) as (_, columns):
            answers = columns["answers"][7]
            answers[turn] = answers[turn] % 4 + 1
        (difference,) = verify_results(path).differences
        assert difference.field == "answers"
        high = next(stop for stop in stops if stop > turn)
        low = stops[stops.index(high) - 1] + 1
        assert low <= difference.turns[0] <= turn + 1 <= difference.turns[1] <= high


def test_marks_that_are_written_anew_do_not_hide_another_world(honest, tmp_path):
    """A liar who computes the digest of answers needs the world for the rest."""
    content = read_results(honest)
    turns = content.records[7].turns
    answers = [*turns.answers[:-1], turns.answers[-1] % 4 + 1]
    digest, _ = make_marks(answers, [0])
    marks = f"{digest:04x}{turns.marks[4:]}"
    path = tmp_path / "lie.jsonl"
    with ResultLog(path, content.header, num_episodes=NUM) as log:
        for number, record in content.records.items():
            new = EpisodeTurns(answers, turns.rewards, marks)
            log.add(replace(record, turns=new) if number == 7 else record)
    (difference,) = verify_results(path).differences
    assert (difference.place, difference.field) == (E7, "observations")


def test_files_of_other_versions(honest, tmp_path):
    path = tmp_path / "a.jsonl"
    with changed(honest, path) as (lines, _):
        lines[0]["versions"] |= {"numpy": "1.0", "of-others": "2"}
    verification = verify_results(path)
    assert verification.is_same
    here = np.__version__
    assert verification.notes == [f"versions that differ: numpy 1.0 (here {here})"]
    with changed(honest, path) as (lines, _):
        lines[0]["version"] = 1
    (difference,) = verify_results(path).differences
    assert (difference.field, difference.recorded) == ("version", "1")
    assert "have no answers" in difference.meaning


def test_a_file_of_other_data_is_named(tmp_path):
    for name, number in (("shop", 20), ("other", 21)):
        Catalogue.load(num_products=number).save(tmp_path / name)
    split = find_split("roll_vec/WebShop-v0", "test", products=tmp_path / "shop")
    path = tmp_path / "a.jsonl"
    play(split, path, 3)
    copy = shutil.copy(tmp_path / "shop", tmp_path / "copy")
    assert verify_results(path, shop={"products": copy}).is_same
    (difference,) = verify_results(
        path, shop={"products": tmp_path / "other"}
    ).differences
    assert difference.field == "products"
    assert "played on other data" in difference.meaning
    (difference,) = verify_results(path).differences
    assert "pass products" in difference.meaning


def test_a_run_that_goes_on_is_no_whole_file(honest, tmp_path):
    content, path = read_results(honest), tmp_path / "a.jsonl"
    log = ResultLog(path, content.header, num_episodes=NUM)
    for number in (1, 0, 3):
        log.add(content.records[number])
    fields = [each.field for each in verify_results(path).differences]
    assert fields == ["episode", "episodes"]
    log.close()
    differences = verify_results(path).differences
    assert len(differences) == NUM - 3
    assert differences[0].place == "episode 2"


# ----------------------------------------------------------------------------- dumps


def test_of_a_dump_all_is_compared_that_it_says(honest):
    episodes = read_result_episodes(honest)
    bare = dict.fromkeys(("rewards", "total_reward", "success", "terminated"))
    bare |= {"truncated": None}
    changes = {
        1: ({"rewards": [9.0, *episodes[1].rewards[1:]]}, "rewards"),
        2: ({"total_reward": 0.5}, "return"),
        3: ({"success": not episodes[3].success}, "success"),
        4: ({"answers": episodes[4].answers[:-1], **bare}, None),
        5: ({"answers": [*episodes[5].answers, 1], **bare}, "length"),
        6: ({"answers": ["left"], **bare}, "answers"),
        7: (bare, None),
        8: ({"rewards": np.float32(episodes[8].rewards)}, None),
        9: ({"truncated": not episodes[9].truncated}, "truncated"),
    }
    for number, (fields, _) in changes.items():
        episodes[number] = replace(episodes[number], **fields)
    verification = verify_episodes(episodes)
    found = {each.place: each.field for each in verification.differences}
    expected = {f"episode {i}": field for i, (_, field) in changes.items() if field}
    assert found == expected
    assert verification.notes == ["1 episodes were stopped before their end"]
    assert verification.compared["rewards"] == NUM - 4
    assert verification.compared["length"] == NUM
    for some, reason in (([], "no episodes"), (episodes[7:8], "nothing to compare")):
        with pytest.raises(InvalidFileError, match=reason):
            verify_episodes(some)


# ----------------------------------------------------------------------------- sizes


@pytest.mark.slow
def test_files_are_small(tmp_path):
    path = tmp_path / "a.jsonl"
    play(find_split("roll_vec/Sokoban-v0", "test"), path, 500)
    assert path.stat().st_size <= 100_000
    rng = random.Random(0)
    words = [
        "".join(rng.choices("etaoinshrdlu", k=rng.randint(2, 9))) for _ in range(99)
    ]
    texts = [" ".join(rng.choices(words, k=200)) for _ in range(1000)]
    split = find_split("roll_vec/Countdown-v0", "test")
    with closing(split.make_vec(1000)) as envs:
        header = ResultHeader.of(split, {}, {"name": "texts"})
        path = tmp_path / "b.jsonl"
        episodes = partial(play_episodes, split, envs, lambda turn: texts)
        evaluate(split, episodes, num=1000, header=header, path=path)
    compressed = len(zlib.compress("\n".join(texts).encode(), 9))
    assert path.stat().st_size <= 1.2 * compressed
