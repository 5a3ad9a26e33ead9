"""What is shared: built twice, seen half built, deleted in use, or left behind."""

import contextlib
import gc
import multiprocessing
import os
import random
import sys
import tempfile
import threading
import time

import pytest

from roll_vec.errors import InvalidOptionError
from roll_vec.process_cache import ProcessCache
from roll_vec.shared_folders import remove_unused_folders, share_folder

pytestmark = [
    pytest.mark.skipif(sys.platform == "win32", reason="there is no fork"),
    # Python 3.12 and newer warn of a fork beside threads; here none holds a lock.
    pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning"),
]


class Thing:
    """An object that uses a folder, and can be referred to weakly."""


OWNER = Thing()


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


def use(pipe, build=write):
    """Use a folder until a message comes, or the process ends; report its files."""
    folder = share_folder("name", build)
    folder.release_with(OWNER)
    pipe.send(sorted(file.name for file in folder.path.iterdir()))
    if pipe.recv() == "release":
        folder.release()


def receive(pipe):
    """Return a message; a hang is an error."""
    assert pipe.poll(20), "no message"
    return pipe.recv()


def finish(user, message="end"):
    """Let a process go on to its end."""
    process, pipe = user
    pipe.send(message)
    process.join(20)


def kill(user):
    """Kill a process that uses a folder."""
    process, pipe = user
    receive(pipe)
    process.kill()
    process.join()


# -------------------------------------------------------------------------- folders


def test_one_process_builds_the_others_wait_and_the_last_deletes(parent, start):
    log = parent / "log"

    def slow_write(path):
        with log.open("a") as file:
            file.write("built\n")
        path.mkdir()
        (path / "a").touch()
        time.sleep(0.1)
        (path / "b").touch()

    users = [start(lambda pipe: use(pipe, slow_write)) for _ in range(4)]
    assert [receive(pipe) for _, pipe in users] == [["a", "b"]] * 4
    assert log.read_text() == "built\n"
    for user, message in zip(users, ["end", "release"] * 2, strict=True):
        assert len(list(parent.iterdir())) == 2
        finish(user, message)
    assert list(parent.iterdir()) == [log]


def test_others_do_not_take_what_a_killed_builder_left(parent, start):
    def build(pipe):
        def hang(path):
            path.mkdir()
            (path / "half").touch()
            pipe.send("building")
            time.sleep(60)

        share_folder("name", hang)

    builder, builder_pipe = start(build)
    assert receive(builder_pipe) == "building"
    waiting = [start(use) for _ in range(2)]
    time.sleep(0.05)
    assert not any(pipe.poll() for _, pipe in waiting)
    builder.kill()
    assert [receive(pipe) for _, pipe in waiting] == [["a", "b"]] * 2
    for user in waiting:
        finish(user)
    assert list(parent.iterdir()) == []


def test_killed_users_do_not_count_and_what_they_leave_goes_with_the_next(
    parent, start
):
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
    with (again.path / "a").open() as file:
        again.release()
        assert file.read() == "a"
    assert list(parent.iterdir()) == []
    # An error of the builder is raised.
    with pytest.raises(KeyError, match="no"):
        share_folder("name", lambda path: write(path) or {}["no"])
    assert list(parent.iterdir()) == []
    owner = Thing()
    share_folder("name", write).release_with(owner)
    assert len(list(parent.iterdir())) == 1
    del owner
    assert list(parent.iterdir()) == []


def test_a_forked_child_does_not_release_for_its_parent(parent, start):
    folder = share_folder("name", write)
    child, _ = start(lambda pipe: folder.release())
    child.join(20)
    remove_unused_folders()
    assert (folder.path / "a").exists()
    # Nor does a child that lives on keep the folder for its parent.
    _, pipe = start(lambda pipe: (pipe.send("here"), pipe.recv()))
    receive(pipe)
    folder.release()
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
        for _ in range(12):
            folder = share_folder("name", write)
            pipe.send([(folder.path / name).read_text() for name in "ab"])
            time.sleep(rng.random() * 0.002)
            folder.release()

    for _ in range(2):
        processes = [start(play) for _ in range(4)]
        time.sleep(0.02)
        processes[0][0].kill()
        for process, pipe in processes:
            with contextlib.suppress(EOFError):
                while True:
                    assert receive(pipe) == ["a", "b"]
            process.join(20)
        assert [process.exitcode for process, _ in processes[1:]] == [0] * 3
    remove_unused_folders()
    assert list(parent.iterdir()) == []


def test_an_object_is_built_once_while_it_is_used_and_the_last_one_stays():
    cache = ProcessCache()
    first = cache.get("a", Thing)
    assert cache.get("a", pytest.fail) is first
    other = cache.get("b", Thing)
    assert cache.get("a", pytest.fail) is first
    assert other is not first
    name = id(first)
    del first, other
    gc.collect()
    assert id(cache.get("a", pytest.fail)) == name
    gc.collect()
    things = []
    cache.get("b", lambda: things.append(Thing()) or things[0])
    assert len(things) == 1
    # After an error the next call builds.
    with pytest.raises(ZeroDivisionError):
        cache.get("c", lambda: 1 / 0)
    assert isinstance(cache.get("c", Thing), Thing)


def test_threads_wait_for_the_one_that_builds():
    cache, things, results = ProcessCache(), [], []
    begun, may_end = threading.Event(), threading.Event()

    def build():
        begun.set()
        assert may_end.wait(60)
        things.append(Thing())
        return things[-1]

    threads = [
        threading.Thread(target=lambda: results.append(cache.get("a", build)))
        for _ in range(4)
    ]
    for thread in threads:
        thread.start()
    assert begun.wait(60)
    may_end.set()
    for thread in threads:
        thread.join(60)
    assert len(things) == 1
    assert results == things * 4


def test_a_forked_child_builds_although_its_parent_was_building(start):
    cache, children = ProcessCache(), []

    def report(pipe):
        pipe.send(type(cache.get("a", Thing)).__name__)

    cache.get("b", lambda: children.append(start(report)) or Thing())
    assert receive(children[0][1]) == "Thing"
