"""Only regular files are replaced, whole; a changed data file is noticed."""

import errno
import json
import os
import pickle
import re
import socket
import stat
import sys
import threading
from contextlib import closing, contextmanager, nullcontext
from pathlib import Path

import pytest

import roll_vec
from roll_vec.cli import main
from roll_vec.envs.countdown import Countdown
from roll_vec.envs.sokoban import Sokoban
from roll_vec.envs.webshop import Catalogue, WebShop
from roll_vec.errors import InvalidFileError, InvalidOptionError, RollVecError
from roll_vec.evaluation import find_split
from roll_vec.evaluation.result_files import ResultHeader, ResultLog, read_results
from roll_vec.pool.factories import resolve_paths
from roll_vec.storage import data_files
from roll_vec.storage.files import check_regular, replace_file
from tests.envs.webshop import shops

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="paths of Unix")

LAKE = "roll_vec/FrozenLake-v1"
SOKOBAN = "roll_vec/Sokoban-v0"


def write(path):
    with replace_file(path) as file:
        file.write(b"new")


def write_snapshot(path):
    envs = roll_vec.make_vec(LAKE, 1)
    envs.reset(seed=0)
    envs.get_state().save(path)


def write_results(path):
    header = ResultHeader.of(find_split(LAKE, "test"), {}, {"name": "random"})
    ResultLog(path, header).close()


def command(*arguments):
    """Return a function that runs the command line with a path in place of None."""

    def run(path):
        if main([str(path) if each is None else each for each in arguments]):
            raise RollVecError

    return run


ROLLOUT = ("rollout", LAKE, "--num-envs", "2", "--steps", "2", "--quiet")
# By the name of a file that they accept.
WRITERS = {
    "snapshot": write_snapshot,
    "results": write_results,
    "rows.jsonl": command(
        "export", LAKE, "--num-rows", "1", "--overwrite", "--out", None
    ),
    "run.npz": command(*ROLLOUT, "--out", None),
    "last.png": command(*ROLLOUT, "--out", None),
    "page.html": command("watch", LAKE, "--steps", "2", "--quiet", "--out", None),
    "set.txt": command("levels", "make", SOKOBAN, "--num-levels", "1", "--out", None),
}
READERS = {
    "snapshot": roll_vec.VectorState.load,
    "results": read_results,
    "tasks.jsonl": lambda path: Countdown(data=path),
    "shop.json": lambda path: Catalogue.load(products=path),
    "run.npz": command("replay", None),
    "film.npz": command("watch", None, "--out", "page.html"),
    "set.txt": lambda path: Sokoban(levels=path),
}


@contextmanager
def pipe(path):
    """Make a pipe that who reads it finds empty, instead of waiting for ever."""
    os.mkfifo(path)
    thread = threading.Thread(target=lambda: path.open("wb").close(), daemon=True)
    thread.start()
    try:
        yield
    finally:
        # Without a reader the thread would wait; also if the pipe was replaced.
        reader = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
        thread.join(1)
        os.close(reader)


def device(path):
    try:
        os.mknod(path, stat.S_IFCHR | 0o666, os.makedev(1, 3))
    except PermissionError:
        pytest.skip("only root makes devices")
    return nullcontext()


def bound_socket(path):
    server = socket.socket(socket.AF_UNIX)
    server.bind(str(path))
    return server


KINDS = {
    "a pipe": pipe,
    "a device": device,
    "a socket": bound_socket,
    "a directory": lambda path: nullcontext(path.mkdir()),
}


@pytest.mark.parametrize("kind", KINDS)
def test_only_regular_files_are_replaced_and_read(tmp_path, kind):
    path, link = tmp_path / "path", tmp_path / "link"
    link.symlink_to(path)
    with KINDS[kind](path):
        before = os.lstat(path)
        for each in (path, link):
            with pytest.raises(InvalidFileError, match=f"written: it is {kind}, exp"):
                write(each)
            with pytest.raises(InvalidFileError, match=f"{each.name}.* it is {kind}"):
                check_regular(each)
        assert os.lstat(path) == before
    assert {each.name for each in tmp_path.iterdir()} == {"path", "link"}


@pytest.mark.parametrize("name", WRITERS)
def test_writers_refuse_a_pipe_and_follow_links(tmp_path, name, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    path, target = Path(name), tmp_path / "folder" / f"target-{name}"
    target.parent.mkdir()
    with pipe(path), pytest.raises(RollVecError):
        WRITERS[name](path)
    assert stat.S_ISFIFO(os.lstat(path).st_mode)
    path.unlink()
    path.symlink_to(target)
    for _ in range(2):
        # The link leads nowhere at first, then to an older file.
        WRITERS[name](path)
        assert path.is_symlink()
        assert stat.S_ISREG(os.lstat(target).st_mode)
    assert [each.name for each in target.parent.iterdir()] == [target.name]
    assert [each.name for each in tmp_path.iterdir() if each.is_file()] == [name]


def test_readers_refuse_a_pipe(tmp_path, capsys):
    for name, read in READERS.items():
        path = tmp_path / name
        with pipe(path), pytest.raises(RollVecError) as error:
            read(str(path))
        message = str(error.value) or capsys.readouterr().err
        assert f"{path}" in message
        assert re.search("cannot be read: .*expected a file", message)


def test_the_old_file_stays_after_an_error_and_keeps_its_permissions(tmp_path):
    path = tmp_path / "file"
    mask = os.umask(0o027)
    try:
        write(path)
    finally:
        os.umask(mask)
    assert stat.S_IMODE(path.stat().st_mode) == 0o640
    path.chmod(0o600)
    with pytest.raises(TypeError), replace_file(path) as file:
        file.write("no bytes")
    assert path.read_bytes() == b"new"
    with replace_file(path) as file:
        file.write(b"first")
        # Another writer of the same path.
        write(path)
        assert path.read_bytes() == b"new"
    assert path.read_bytes() == b"first"
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert [*tmp_path.iterdir()] == [path]


def test_errors_name_the_path_and_not_the_partial_file(tmp_path):
    loop = tmp_path / "loop"
    loop.symlink_to(loop)
    for path in (tmp_path / "none" / "file", loop):
        with pytest.raises(OSError, match=rf"{path.name}'$"):
            write(path)
    with pytest.raises(OSError, match=r"file'$"), replace_file(tmp_path / "file"):
        # As when the disk is full.
        raise OSError(errno.ENOSPC, "No space left on device")
    assert [*tmp_path.iterdir()] == [loop]


def test_a_name_may_be_as_long_as_the_file_system_allows(tmp_path):
    for name in ("n" * 255, "\N{GRINNING FACE}" * 63):
        write(tmp_path / name)
        assert (tmp_path / name).read_bytes() == b"new"
    assert len([*tmp_path.iterdir()]) == 2


COUNTDOWN = "roll_vec/Countdown-v0"


# Each of these writes files into a folder and returns an environment.


def countdown(folder):
    tasks = [{"nums": [1, 2], "target": target} for target in (2, 1)]
    lines = "".join(f"{json.dumps(task)}\n" for task in tasks)
    (folder / "tasks.jsonl").write_text(lines, "utf-8")
    return Countdown(data="tasks.jsonl")


def shop(folder):
    return WebShop(**{name: f"{name}.json" for name in shops.write(folder)})


def stored_shop(folder):
    shop(folder).catalogue.save(folder / "shop")
    return WebShop(products="shop")


# What makes an environment, the keyword of a file, its name, and a change of it that
# keeps its size.
CASES = [
    (countdown, "data", "tasks.jsonl", (b'"target": 1', b'"target": 7')),
    (shop, "products", "products.json", (b"wash", b"mash")),
    (shop, "attributes", "attributes.json", (b"wash", b"mash")),
    (shop, "title_nouns", "title_nouns.json", (b"shirt", b"skirt")),
    (stored_shop, "products", "shop", (b"}", b" ")),
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


SPAWNED = {"workers": 1, "executor": "process", "context": "spawn"}


@pytest.mark.parametrize(
    "keywords", [{}, pytest.param(SPAWNED, marks=pytest.mark.slow)]
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
    path.write_bytes(b"23")
    assert data_files.fingerprint("data", str(path)) != first


def test_the_digest_of_a_stored_shop_is_the_one_at_its_end(tmp_path, monkeypatch):
    path = tmp_path / "shop"
    Catalogue.load(num_products=20).save(path)
    expected = path.read_bytes()[-32:].hex()
    # Opening hashes the file; nothing hashes it once more.
    monkeypatch.setattr(data_files, "hash_file", lambda path: pytest.fail(str(path)))
    assert data_files.fingerprint("products", str(path)) == expected
    assert len(WebShop(products=path).catalogue.products) == 20


def test_the_paths_of_a_pool_are_absolute(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    keywords = {"products": "none.json", "attributes": 3, "split": "all"}
    resolved = resolve_paths(keywords, WebShop.DATA_FILES)
    assert resolved == {**keywords, "products": str(tmp_path / "none.json")}


def test_a_file_that_changes_while_it_is_read_is_refused(tmp_path, monkeypatch):
    paths = shops.write(tmp_path)
    build = "roll_vec.envs.webshop.catalogue.build"
    monkeypatch.setattr(
        build, lambda *_: shops.write(tmp_path, products=shops.ITEMS[:2])
    )
    match = r"products: .* since reading it began"
    with pytest.raises(InvalidOptionError, match=match):
        WebShop(**paths)
