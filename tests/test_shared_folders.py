"""Shared folders: built twice, seen half built, deleted in use, or left behind."""

import multiprocessing
import os
import random
import sys
import tempfile
import time

import pytest

from roll_vec.errors import InvalidOptionError
from roll_vec.shared_folders import remove_unused_folders, share_folder

pytestmark = [
    pytest.mark.skipif(sys.platform == "win32", reason="there is no fork"),
    # Python 3.12 and newer warn of a fork beside threads; here none holds a lock.
    pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning"),
]


@pytest.fixture
def parent(tmp_path, monkeypatch):
    """Return the folder in which shared folders are."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    return tmp_path


@pytest.fixture
def start():
    """Return a function that runs another one in a process; kills all at the end."""
    context = multiprocessing.get_context("fork")
    processes = []

    def start_process(function):
        ours, theirs = context.Pipe()
        process = context.Process(target=function, args=(theirs,))
        process.start()
        theirs.close()
        processes.append(process)
        return process, ours

    yield start_process
    for process in processes:
        process.kill()
        process.join()


def write(path):
    """Build a folder of two files."""
    path.mkdir()
    (path / "a").write_text("a")
    (path / "b").write_text("b")


class Owner:
    """An object that uses a folder."""


OWNER = Owner()


def use(pipe, build=write):
    """Use a folder until a message comes, or the process ends; report its files."""
    folder = share_folder("name", build)
    folder.release_with(OWNER)
    pipe.send(sorted(file.name for file in folder.path.iterdir()))
    if pipe.recv() == "release":
        folder.release()
        pipe.send("released")


def receive(pipe):
    """Return a message; a hang is an error."""
    assert pipe.poll(20), "no message"
    return pipe.recv()


def test_one_process_builds_the_others_wait_and_the_last_deletes(parent, start):
    log = parent / "log"

    def slow_write(path):
        with log.open("a") as file:
            file.write("built\n")
        path.mkdir()
        (path / "a").touch()
        time.sleep(0.1)
        (path / "b").touch()

    processes = [start(lambda pipe: use(pipe, slow_write)) for _ in range(4)]
    assert [receive(pipe) for _, pipe in processes] == [["a", "b"]] * 4
    assert log.read_text() == "built\n"
    for number, (process, pipe) in enumerate(processes):
        assert len(list(parent.iterdir())) == 2
        pipe.send("release" if number % 2 else "end")
        process.join(20)
    assert list(parent.iterdir()) == [log]


def test_others_do_not_take_what_a_killed_builder_left(parent, start):
    def hang(path, pipe):
        path.mkdir()
        (path / "half").touch()
        pipe.send("building")
        time.sleep(60)

    builder, builder_pipe = start(
        lambda pipe: share_folder("name", lambda path: hang(path, pipe))
    )
    assert receive(builder_pipe) == "building"
    waiting = [start(use) for _ in range(2)]
    time.sleep(0.05)
    assert not any(pipe.poll() for _, pipe in waiting)
    builder.kill()
    assert [receive(pipe) for _, pipe in waiting] == [["a", "b"]] * 2
    for process, pipe in waiting:
        pipe.send("end")
        process.join(20)
    assert list(parent.iterdir()) == []


def test_killed_users_do_not_count_and_what_they_leave_goes_with_the_next(
    parent, start
):
    def kill(user):
        process, pipe = user
        receive(pipe)
        process.kill()
        process.join()

    killed = start(use)
    assert killed[1].poll(20)
    folder = share_folder("name", pytest.fail)
    kill(killed)
    folder.release()
    assert list(parent.iterdir()) == []
    # All are killed: the folder stays until a process of the package needs one.
    kill(start(use))
    assert len(list(parent.iterdir())) == 1
    share_folder("other", write).release()
    assert list(parent.iterdir()) == []
    # The same one is built anew.
    kill(start(use))
    (old,) = parent.glob("*/content/a")
    old.write_text("damage")
    folder = share_folder("name", write)
    assert (folder.path / "a").read_text() == "a"
    folder.release()


def test_a_folder_in_use_stays_and_goes_with_its_last_user(parent):
    folder = share_folder("name", write)
    again = share_folder("name", pytest.fail)
    remove_unused_folders()
    folder.release()
    folder.release()
    assert (again.path / "a").read_text() == "a"
    with (again.path / "a").open() as file:
        again.release()
        assert file.read() == "a"
    assert list(parent.iterdir()) == []
    owner = Owner()
    share_folder("name", write).release_with(owner)
    assert len(list(parent.iterdir())) == 1
    del owner
    assert list(parent.iterdir()) == []


def test_a_forked_child_does_not_release_for_its_parent(parent, start):
    folder = share_folder("name", write)

    def release(pipe):
        folder.release()
        pipe.send("released")

    child, pipe = start(release)
    assert receive(pipe) == "released"
    child.join(20)
    remove_unused_folders()
    assert (folder.path / "a").exists()
    # Nor does a child that lives on keep the folder for its parent.
    child, pipe = start(lambda pipe: (pipe.send("here"), pipe.recv()))
    receive(pipe)
    folder.release()
    assert list(parent.iterdir()) == []


def test_an_error_of_the_builder_is_raised_and_nothing_stays(parent):
    def fail(path):
        write(path)
        raise KeyError(path.name)

    with pytest.raises(KeyError, match="content"):
        share_folder("name", fail)
    assert list(parent.iterdir()) == []


@pytest.mark.parametrize("kind", ["open to all", "link", "file"])
def test_a_folder_that_others_could_change_is_refused(parent, kind):
    folder = share_folder("name", write)
    place = folder.path.parent
    folder.release()
    if kind == "link":
        (parent / "elsewhere").mkdir()
        place.symlink_to(parent / "elsewhere")
    elif kind == "file":
        place.touch()
    else:
        place.mkdir()
        place.chmod(0o777)
    with pytest.raises(InvalidOptionError, match="not a folder that is this user's"):
        share_folder("name", write)
    remove_unused_folders()
    assert place.exists()


def test_processes_that_come_go_and_die_at_random_agree(parent, start):
    def play(pipe):
        rng = random.Random(os.getpid())
        for _ in range(20):
            folder = share_folder("name", write)
            texts = [(folder.path / name).read_text() for name in "ab"]
            pipe.send(texts)
            time.sleep(rng.random() * 0.002)
            folder.release()

    for _ in range(3):
        processes = [start(play) for _ in range(4)]
        time.sleep(0.02)
        processes[0][0].kill()
        for process, pipe in processes:
            while True:
                try:
                    assert receive(pipe) == ["a", "b"]
                except EOFError:
                    break
            process.join(20)
        assert [process.exitcode for process, _ in processes[1:]] == [0] * 3
    remove_unused_folders()
    assert list(parent.iterdir()) == []
