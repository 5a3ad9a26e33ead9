"""Only regular files are replaced, whole or not at all; nothing else is read."""

import errno
import os
import socket
import stat
import sys
import threading
from contextlib import contextmanager, nullcontext
from pathlib import Path

import pytest

import roll_vec
from roll_vec import file_locks
from roll_vec.cli import main
from roll_vec.envs.countdown import Countdown
from roll_vec.envs.webshop import Catalogue
from roll_vec.errors import InvalidFileError, InvalidOptionError, RollVecError
from roll_vec.evaluation import (
    ResultHeader,
    ResultLog,
    UniformPolicy,
    find_split,
    read_results,
)
from roll_vec.export import export, policy_source, verify
from roll_vec.file_locks import WriteLock
from roll_vec.files import check_regular, replace_file

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="paths of Unix")

LAKE = "roll_vec/FrozenLake-v1"
MAPS = "roll_vec/RandomFrozenLake-v0"
TEXTS = {"obs_mode": "text", "action_mode": "text"}


def write(path):
    with replace_file(path) as file:
        file.write(b"new")


def write_snapshot(path):
    envs = roll_vec.make_vec(LAKE, 1)
    envs.reset(seed=0)
    envs.get_state().save(path)


def write_results(path):
    split = find_split(LAKE, "test")
    ResultLog(path, ResultHeader.of(split, {}, {"name": "random"})).close()


def write_export(path):
    source = policy_source(
        LAKE, lambda envs: UniformPolicy(envs, 1), "uniform", keywords=TEXTS
    )
    export(path, source, num=1, overwrite=True)


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
    "rows.jsonl": write_export,
    "run.npz": command(*ROLLOUT, "--no-image", "--save", None),
    "last.png": command(*ROLLOUT, "--image", None),
    "page.html": command("watch", LAKE, "--steps", "2", "--quiet", "--out", None),
    "set.txt": command("levels", "make", MAPS, "--num-levels", "1", "--out", None),
}
READERS = {
    "snapshot": roll_vec.VectorState.load,
    "results": read_results,
    "rows.jsonl": verify,
    "tasks.jsonl": lambda path: Countdown(data=path),
    "shop.json": lambda path: Catalogue.load(products=path),
    "run.npz": command("replay", None),
    "film.npz": command("watch", None, "--out", "page.html"),
    "set.txt": command("levels", "show", None, "--text"),
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


@pytest.mark.parametrize("name", READERS)
def test_readers_refuse_a_pipe(tmp_path, name, capsys):
    path = tmp_path / name
    with pipe(path), pytest.raises(RollVecError) as error:
        READERS[name](str(path))
    message = str(error.value) or capsys.readouterr().err
    assert f"{path}" in message
    assert "cannot be read: it is a pipe, expected a file" in message


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
    names = {"n" * 255, "\N{GRINNING FACE}" * 63}
    for name in names:
        write(tmp_path / name)
        assert (tmp_path / name).read_bytes() == b"new"
    assert {each.name for each in tmp_path.iterdir()} == names


@pytest.mark.parametrize("suffix", ["part", "lock"])
def test_nothing_is_written_by_the_link_of_another_user(tmp_path, suffix):
    other = tmp_path / "other"
    other.write_text("old")
    (tmp_path / f".results.jsonl.{suffix}").symlink_to(other)
    with nullcontext() if suffix == "part" else pytest.raises(RollVecError):
        write_results(tmp_path / "results.jsonl")
    assert other.read_text() == "old"
    assert not (tmp_path / "results.jsonl").is_symlink()


# ---------------------------------------------------------------------------- locks

needs_locks = pytest.mark.skipif(file_locks.fcntl is None, reason="no locks here")
IN_USE = r"another process is writing to '.*rows"


@needs_locks
def test_a_lock_keeps_other_writers_out(tmp_path, monkeypatch):
    path, target = tmp_path / "lock", tmp_path / "rows"
    lock = WriteLock(path, target)
    with pytest.raises(InvalidOptionError, match=IN_USE):
        WriteLock(path, target)
    lock.release()
    lock.release()
    assert not path.exists()
    WriteLock(path, target).release()

    def refuse(file, operation):
        raise OSError(95, "Operation not supported")

    # A file system without locks.
    monkeypatch.setattr(file_locks.fcntl, "flock", refuse)
    for lock in [WriteLock(path, target) for _ in range(2)]:
        lock.release()


@needs_locks
def test_a_lock_file_that_its_owner_deletes_at_that_moment_is_not_used(
    tmp_path, monkeypatch
):
    path, target = tmp_path / "lock", tmp_path / "rows"
    first, others = WriteLock(path, target), []
    flock = file_locks.fcntl.flock

    def flock_late(file, operation):
        """Lock the file that was opened before its owner ended and another began."""
        monkeypatch.setattr(file_locks.fcntl, "flock", flock)
        first.release()
        others.append(WriteLock(path, target))
        flock(file, operation)

    monkeypatch.setattr(file_locks.fcntl, "flock", flock_late)
    with pytest.raises(InvalidOptionError, match=IN_USE):
        WriteLock(path, target)
    others[0].release()
