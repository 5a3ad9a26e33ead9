"""Data files: a pickle or a pool goes on with another content, without an error."""

import gzip
import json
import os
import pickle
import tracemalloc
from contextlib import closing

import pytest

import roll_vec
from roll_vec import data_files
from roll_vec.envs.countdown import Countdown
from roll_vec.envs.sokoban import Sokoban
from roll_vec.envs.webshop import WebShop
from roll_vec.errors import EnvironmentFaultError, InvalidOptionError
from tests.envs.webshop.shops import ITEMS, write

COUNTDOWN = "roll_vec/Countdown-v0"


# Each of these writes files into a folder and returns an environment.


def countdown(folder):
    tasks = [{"nums": [1, 2], "target": target} for target in (2, 1)]
    lines = "".join(f"{json.dumps(task)}\n" for task in tasks)
    (folder / "tasks.jsonl").write_text(lines, "utf-8")
    return Countdown(data="tasks.jsonl")


def shop(folder):
    return WebShop(**{name: f"{name}.json" for name in write(folder)})


def stored_shop(folder):
    shop(folder).catalogue.save(folder / "stored")
    return WebShop(products="stored")


def sokoban(folder):
    (folder / "levels.txt").write_text("#####\n#@$.#\n#####\n", "utf-8")
    return Sokoban(levels="levels.txt")


# What makes an environment, the keyword of a file, its name, and a change of it that
# keeps its size.
CASES = [
    (countdown, "data", "tasks.jsonl", (b'"target": 1', b'"target": 7')),
    (shop, "products", "products.json", (b"wash", b"mash")),
    (shop, "attributes", "attributes.json", (b"wash", b"mash")),
    (stored_shop, "products", "stored/catalogue.json", (b"}", b" ")),
    (sokoban, "levels", "levels.txt", (b"@$.", b".$@")),
]


def change(path, old, new):
    """Give a file another content of equal size, and its old time."""
    status = path.stat()
    head, part, tail = path.read_bytes().rpartition(old)
    assert part
    path.write_bytes(head + new + tail)
    assert path.stat().st_size == status.st_size
    os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))


@pytest.mark.parametrize(("make", "argument", "name", "other"), CASES)
def test_a_pickle_finds_its_files_and_names_the_one_that_has_changed(
    tmp_path, monkeypatch, make, argument, name, other
):
    monkeypatch.chdir(tmp_path)
    env = make(tmp_path)
    first = env.reset(seed=3)[0]
    pickled = pickle.dumps(env)
    (tmp_path / "other").mkdir()
    monkeypatch.chdir(tmp_path / "other")
    again = pickle.loads(pickled)
    assert str(again.reset(seed=3)[0]) == str(first)
    change(tmp_path / name, *other)
    with pytest.raises(InvalidOptionError, match=rf"{argument}: .*{tmp_path}"):
        pickle.loads(pickled)


def test_title_nouns_of_another_source_are_refused(tmp_path):
    env = WebShop(**write(tmp_path))
    pickled = pickle.dumps(env)
    env.catalogue.title_nouns_source = "rule"
    with pytest.raises(InvalidOptionError, match="title_nouns: expected those of file"):
        pickle.loads(pickled)


@pytest.mark.parametrize(
    "keywords", [{}, {"workers": 1, "executor": "process", "context": "spawn"}]
)
def test_a_pool_that_is_unpickled_elsewhere_goes_on_or_raises(
    tmp_path, monkeypatch, keywords
):
    monkeypatch.chdir(tmp_path)
    countdown(tmp_path)
    envs = roll_vec.make_vec(COUNTDOWN, 2, data="tasks.jsonl", **keywords)
    # A spawned process starts in the first folder of the program.
    expected = envs.reset(seed=0)[0]
    pickled = pickle.dumps(envs)
    (tmp_path / "other").mkdir()
    monkeypatch.chdir(tmp_path / "other")
    with closing(pickle.loads(pickled)) as again:
        assert again.reset(seed=0)[0] == expected
    if not keywords:
        change(tmp_path / "tasks.jsonl", *CASES[0][3])
        match = r"data: .*tasks\.jsonl has changed"
        with pytest.raises(InvalidOptionError, match=match):
            pickle.loads(pickled)
        # Nor is a lost environment built from another file.
        envs.engine.faults.needs_replacement[:] = [True, True]
        with pytest.raises(EnvironmentFaultError, match=r"tasks\.jsonl has changed si"):
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


def test_keywords_without_a_file_are_not_pinned(tmp_path):
    keywords = {"products": tmp_path / "none.json", "attributes": 3, "split": "all"}
    pinned = data_files.pin_files(keywords, WebShop.DATA_FILES)
    assert pinned == {**keywords, "products": str(tmp_path / "none.json")}


def test_a_file_that_changes_while_it_is_read_is_refused(tmp_path, monkeypatch):
    paths = write(tmp_path)
    build = "roll_vec.envs.webshop.catalogue.catalogue.build"
    monkeypatch.setattr(build, lambda *_: write(tmp_path, products=ITEMS[:2]))
    match = r"products: .* since reading it began"
    with pytest.raises(InvalidOptionError, match=match):
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
    packed.write_bytes(gzip.compress(plain.read_bytes(), 1))
    for read in (list, lambda file: file.read()):
        with (
            data_files.open_text(str(plain)) as one,
            data_files.open_text(str(packed)) as other,
        ):
            assert read(one) == read(other)
