"""Data files: a pickle or a pool goes on with another content, without an error."""

import gzip
import json
import os
import pickle
import tracemalloc

import gymnasium
import pytest

from roll_vec import data_files
from roll_vec.envs.countdown import Countdown
from roll_vec.envs.sokoban import Sokoban
from roll_vec.envs.webshop import WebShop
from roll_vec.errors import EnvironmentFaultError, InvalidOptionError
from tests.envs.webshop.shops import ITEMS, write

LEVELS = ["#####\n#@$.#\n#####\n", "#####\n#.$@#\n#####\n"]


def write_tasks(path, targets):
    """Write Countdown tasks of two numbers."""
    lines = [json.dumps({"nums": [1, 2], "target": target}) for target in targets]
    path.write_text("\n".join(lines) + "\n", "utf-8")


# Each of these writes files into a folder and returns an environment, the keyword of a
# file, and its name.


def countdown(folder):
    write_tasks(folder / "tasks.jsonl", [1, 2])
    return Countdown(data="tasks.jsonl"), "data", "tasks.jsonl"


def shop(folder):
    names = {name: f"{name}.json" for name in write(folder)}
    return WebShop(**names), "products", "products.json"


def attributes(folder):
    return shop(folder)[0], "attributes", "attributes.json"


def stored_shop(folder):
    shop(folder)[0].catalogue.save(folder / "stored")
    return WebShop(products="stored"), "products", "stored/catalogue.json"


def sokoban(folder):
    (folder / "levels.txt").write_text(LEVELS[0], "utf-8")
    return Sokoban(levels="levels.txt"), "levels", "levels.txt"


CASES = [countdown, shop, attributes, stored_shop, sokoban]


def change(path):
    """Give a file another content of equal size, and its old time."""
    status = path.stat()
    if path.name == "levels.txt":
        path.write_text(LEVELS[1], "utf-8")
    elif path.name == "catalogue.json":
        path.write_text(path.read_text("utf-8")[:-1] + " ", "utf-8")
    else:
        block = path.read_bytes()
        at = block.rindex(b"1") if path.name == "tasks.jsonl" else block.index(b"wash")
        new = b"7" if path.name == "tasks.jsonl" else b"mash"
        path.write_bytes(block[:at] + new + block[at + len(new) :])
    assert path.stat().st_size == status.st_size
    os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))


@pytest.mark.parametrize("make", CASES)
def test_a_pickle_finds_its_files_and_names_the_one_that_has_changed(
    tmp_path, monkeypatch, make
):
    monkeypatch.chdir(tmp_path)
    env, argument, name = make(tmp_path)
    first = env.reset(seed=3)[0]
    pickled = pickle.dumps(env)
    (tmp_path / "other").mkdir()
    monkeypatch.chdir(tmp_path / "other")
    again = pickle.loads(pickled)
    assert str(again.reset(seed=3)[0]) == str(first)
    change(tmp_path / name)
    with pytest.raises(InvalidOptionError, match=rf"{argument}: .*{tmp_path}"):
        pickle.loads(pickled)


def test_title_nouns_of_another_source_are_refused(tmp_path):
    env = WebShop(**write(tmp_path))
    pickled = pickle.dumps(env)
    env.catalogue.title_nouns_source = "rule"
    with pytest.raises(InvalidOptionError, match="title_nouns: expected those of file"):
        pickle.loads(pickled)


def make_pool(tmp_path, **keywords):
    """Make a pool of two Countdown environments over a file of tasks."""
    write_tasks(tmp_path / "tasks.jsonl", [1, 2])
    return gymnasium.make_vec(
        "roll_vec/Countdown-v0", num_envs=2, data="tasks.jsonl", **keywords
    )


@pytest.mark.parametrize(
    "keywords", [{}, {"workers": 1, "executor": "process", "context": "spawn"}]
)
def test_a_pool_that_is_unpickled_elsewhere_goes_on_or_raises(
    tmp_path, monkeypatch, keywords
):
    monkeypatch.chdir(tmp_path)
    envs = make_pool(tmp_path, **keywords)
    # A spawned process starts in the first folder of the program.
    expected = envs.reset(seed=0)[0]
    pickled = pickle.dumps(envs)
    envs.close()
    (tmp_path / "other").mkdir()
    monkeypatch.chdir(tmp_path / "other")
    again = pickle.loads(pickled)
    assert again.reset(seed=0)[0] == expected
    again.close()
    if not keywords:
        change(tmp_path / "tasks.jsonl")
        with pytest.raises(
            InvalidOptionError, match=r"data: .*tasks\.jsonl has changed"
        ):
            pickle.loads(pickled)


def test_a_lost_environment_is_not_built_from_another_file(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    envs = make_pool(tmp_path)
    envs.reset(seed=0)
    change(tmp_path / "tasks.jsonl")
    envs.engine.faults.needs_replacement[:] = [True, True]
    with pytest.raises(EnvironmentFaultError, match=r"tasks\.jsonl has changed since"):
        envs.reset(seed=0)
    envs.close()


def test_a_digest_is_computed_once_per_status(tmp_path, monkeypatch):
    path = tmp_path / "file"
    path.write_bytes(b"1")
    hashed = []

    def count(file, hash_file=data_files.hash_file):
        hashed.append(file)
        return hash_file(file)

    monkeypatch.setattr(data_files, "hash_file", count)
    # A file that was written just now can change and keep its status.
    first = data_files.fingerprint("data", str(path))
    assert data_files.fingerprint("data", str(path)) == first
    assert len(hashed) == 2
    monkeypatch.setattr(data_files, "_CLOCK_STEP", 0)
    for _ in range(3):
        assert data_files.fingerprint("data", str(path)) == first
    assert len(hashed) == 3
    path.write_bytes(b"2")
    assert data_files.fingerprint("data", str(path)) != first


def test_a_pipe_is_no_data_file(tmp_path):
    os.mkfifo(tmp_path / "pipe.jsonl")
    with pytest.raises(
        InvalidOptionError, match=r"pipe\.jsonl cannot be read: it is a pi"
    ):
        Countdown(data=tmp_path / "pipe.jsonl")


def test_keywords_without_a_file_are_not_pinned(tmp_path):
    keywords = {"products": tmp_path / "none.json", "attributes": 3, "split": "all"}
    pinned = data_files.pin_files(keywords, WebShop.DATA_FILES)
    assert pinned == {**keywords, "products": str(tmp_path / "none.json")}


def test_a_file_that_changes_while_it_is_read_is_refused(tmp_path, monkeypatch):
    paths = write(tmp_path)
    monkeypatch.setattr(
        "roll_vec.envs.webshop.catalogue.catalogue.build",
        lambda *_: write(tmp_path, products=ITEMS[:2]),
    )
    with pytest.raises(
        InvalidOptionError, match=r"products: .* since reading it began"
    ):
        WebShop(**paths)


@pytest.mark.parametrize(
    "read", [lambda path: WebShop(products=path), lambda path: Countdown(data=path)]
)
def test_a_compressed_file_is_no_larger_than_texts_are(read, tmp_path):
    path, count = tmp_path / "tasks.jsonl.gz", 65 << 20
    path.write_bytes(gzip.compress(b" " * count, 1))
    tracemalloc.start()
    try:
        with pytest.raises(InvalidOptionError, match=f"more than {64 << 20} bytes of"):
            read(str(path))
        # One line may be copied once.
        assert tracemalloc.get_traced_memory()[1] < 3 * count
    finally:
        tracemalloc.stop()


def test_a_compressed_text_is_read_as_a_plain_one(tmp_path):
    plain, packed = tmp_path / "a.txt", tmp_path / "a.txt.gz"
    plain.write_text("é\r\n" * 300_000, "utf-8")
    packed.write_bytes(gzip.compress(plain.read_bytes()))
    for read in (list, lambda file: file.read()):
        results = []
        for path in (plain, packed):
            with data_files.open_text(str(path)) as file:
                results.append(read(file))
        assert results[0] == results[1]
