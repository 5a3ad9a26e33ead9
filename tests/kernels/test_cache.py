"""Compiled kernels on disk: their folder, their use, failures of the disk."""

import errno
import os
import pickle
import re
import signal
import stat
import subprocess
import sys
import threading
import time
from pathlib import Path
from unittest.mock import MagicMock

import numpy as np
import pytest
from numba.core import config, types
from numba.core.compiler_lock import global_compiler_lock
from numba.core.registry import CPUDispatcher

from roll_vec.kernels import _cache, _jit
from tests.conftest import ROOT

HELPER = "def step(x):\n    return x + 1\n"
CALLER = """
def play(x):
    return step(x) * 10

def get(array, index):
    return array[index]
"""


@pytest.fixture
def sources(tmp_path):
    """A folder of kernel files, two of one name."""
    folder = tmp_path / "sources"
    files = {"helper": HELPER, "caller": CALLER, "lake/rules": HELPER}
    for name, text in {**files, "room/rules": HELPER.replace("1", "20")}.items():
        path = folder / f"{name}.py"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return folder


@pytest.fixture
def root(tmp_path, monkeypatch):
    """A root for the caches of these files."""
    root = tmp_path / "cache" / "roll_vec"
    monkeypatch.setattr(_cache, "cache_root", lambda: root)
    return root


class Process:
    """Kernels as a new process has them: nothing compiled, its own cache folder."""

    def __init__(self, sources):
        self._sources, self._kernels = sources, []
        self.folder = _cache.CacheFolder(self._sources)
        self.step = self.load("helper", "step")
        self.play = self.load("caller", "play", step=self.step)

    def load(self, module, name, **others):
        """Return a kernel of a file; also with the JIT off."""
        path = self._sources / f"{module.replace('.', '/')}.py"
        # As the import system does, without its memory of equal times and sizes.
        scope = {"__name__": f"sources.{module}", **others}
        exec(compile(path.read_text(), str(path), "exec"), scope)
        dispatcher = CPUDispatcher(scope[name], targetoptions={"nopython": True})
        dispatcher._cache = _cache.KernelCache(scope[name], self.folder)
        # These modules cannot be imported, so what is loaded needs living ones.
        self._kernels.append(dispatcher)
        return dispatcher


def hits(kernel):
    """Return the number of times that a kernel was loaded from the cache."""
    return sum(kernel.stats.cache_hits.values())


def files(root):
    """All files of the cache."""
    return sorted(path for path in root.rglob("*") if path.is_file())


def test_a_second_process_loads_what_the_first_one_compiled(root, sources, monkeypatch):
    first, second = Process(sources), Process(sources)
    assert (first.play(4), hits(first.play)) == (50, 0)
    assert (second.play(4), hits(second.play)) == (50, 1)
    # Files of one name in two folders do not collide.
    for number, expected_hits in enumerate((0, 1)):
        process = (first, second)[number]
        for module, result in {"lake.rules": 5, "room.rules": 24}.items():
            step = process.load(module, "step")
            assert (step(4), hits(step)) == (result, expected_hits)
    assert {path.parent for path in files(root)} == {first.folder.path}
    assert {
        stat.S_IMODE(path.stat().st_mode) for path in (root, first.folder.path)
    } == {0o700}
    # A damaged file is written anew.
    for path in files(root):
        content = path.read_bytes()
        path.write_bytes(content[:-1] + bytes([content[-1] ^ 1]))
    for expected_hits in (0, 1):
        third = Process(sources)
        assert (third.play(4), hits(third.play)) == (50, expected_hits)
    # Machine code with checks of bounds is another one.
    array = np.zeros(3)
    assert first.load("caller", "get")(array, 2) == 0
    monkeypatch.setattr(config, "BOUNDSCHECK", 1)
    with pytest.raises(IndexError):
        first.load("caller", "get")(array, 3)
    # So is that of callers of an edited helper.
    (sources / "helper.py").write_text(HELPER.replace("1", "2"))
    new = Process(sources)
    assert (new.play(4), hits(new.play)) == (60, 0)
    (sources / "lake/rules.py").write_text("")
    names = {new.folder._name, first.folder._name, _cache.CacheFolder(sources)._name}
    assert len(names) == 3


def test_a_full_disk_is_told_once_and_leaves_nothing(root, sources, monkeypatch):
    def fill_disk(path, content):
        with path.open("wb") as file:
            file.write(content[:4])
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    process = Process(sources)
    with monkeypatch.context() as patch:
        patch.setattr(Path, "write_bytes", fill_disk)
        with pytest.warns(RuntimeWarning) as warned:
            assert (process.play(4), process.step(4)) == (50, 5)
    (message,) = [str(warning.message) for warning in warned]
    assert str(process.folder.path) in message
    assert os.strerror(errno.ENOSPC) in message
    assert files(root) == []
    # A file that another process reads is no failure: it is the same.
    folder = _cache.CacheFolder(sources)
    folder.write("kernel", b"machine code")
    refused = PermissionError(errno.EACCES, os.strerror(errno.EACCES))
    monkeypatch.setattr(Path, "replace", MagicMock(side_effect=refused))
    folder.write("kernel", b"machine code")
    assert [path.name for path in files(root)] == ["kernel"]


COMPILATION = """
import sys
import numpy as np
from roll_vec.kernels.rng.pcg64 import fold_in_rows

seeds = np.zeros(3, np.uint64)
print("ready", flush=True)
sys.stdin.readline()
fold_in_rows(seeds, seeds, np.zeros(3, np.uint64))
counts = fold_in_rows.stats.cache_misses, fold_in_rows.stats.cache_hits
print(*[sum(count.values()) for count in counts])
"""
HOLDER = """
import sys
from pathlib import Path
from unittest.mock import MagicMock
from roll_vec.kernels import _cache

with _cache.CacheFolder(Path(sys.argv[1])).lock(sys.argv[2]):
    print("ready", flush=True)
    sys.stdin.readline()
"""
needs_locks = pytest.mark.skipif(_cache.fcntl is None, reason="no locks on Windows")


def start(code, *args, **variables):
    """Start a process and wait until it is ready, before its first line of input."""
    process = subprocess.Popen(
        [sys.executable, "-W", "error", "-c", code, *map(str, args)],
        env={**os.environ, "PYTHONPATH": str(ROOT), **variables},
        cwd=ROOT,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stdout.readline() == "ready\n"
    return process


@needs_locks
@pytest.mark.skipif(config.DISABLE_JIT, reason="nothing is compiled")
def test_processes_that_start_together_compile_a_kernel_once(tmp_path):
    processes = [start(COMPILATION, NUMBA_CACHE_DIR=str(tmp_path)) for _ in range(2)]
    for process in processes:
        process.stdin.write("\n")
        process.stdin.flush()
    results = [process.communicate() for process in processes]
    assert sorted(out for out, _ in results) == ["0 1\n", "1 0\n"], results


@needs_locks
def test_waiting_for_another_process_ends(root, sources, monkeypatch):
    folder = _cache.CacheFolder(sources)
    holder = start(HOLDER, sources, "kernel", NUMBA_CACHE_DIR=str(root.parent))

    def wait(name="kernel", timer=None):
        """Return the seconds of a wait, in which a timer may run."""
        begin = time.monotonic()
        if timer is not None:
            timer.start()
        with folder.lock(name):
            return time.monotonic() - begin

    try:
        assert wait("another") < 10
        with monkeypatch.context() as patch:
            patch.setattr(_cache, "_PATIENCE", 0.2)
            assert 0.2 < wait() < 10
        other = _cache.CacheFolder(sources)
        timer = threading.Timer(0.2, other.write, ["kernel", b"machine code"])
        assert 0.2 < wait(timer=timer) < 10
        assert wait() < 10
        (folder.path / "kernel").unlink()
        assert holder.poll() is None
        assert 0.2 < wait(timer=threading.Timer(0.2, holder.kill)) < 10
    finally:
        holder.kill()
        holder.communicate()
    assert [path.name for path in files(root)] == ["lock"]


@needs_locks
@pytest.mark.skipif(config.DISABLE_JIT, reason="nothing is compiled")
def test_ctrl_c_and_forks_do_not_wait_for_another_process(root, sources, monkeypatch):
    monkeypatch.setattr(_jit, "FOLDER", _cache.CacheFolder(sources))
    step = _jit.kernel(Process(sources).step.py_func)
    name = step._cache._file_name((types.int64,), step.targetctx.codegen())
    holder = start(HOLDER, sources, name, NUMBA_CACHE_DIR=str(root.parent))
    can_fork = []

    def interrupt():
        # What a fork takes first.
        lock = global_compiler_lock._lock
        can_fork.append(lock.acquire(blocking=False) and not lock.release())
        signal.pthread_kill(threading.main_thread().ident, signal.SIGINT)

    timer = threading.Timer(0.2, interrupt)
    timer.start()
    try:
        with pytest.raises(KeyboardInterrupt):
            step(4)
        assert can_fork == [True]
        assert step.signatures == []
    finally:
        timer.cancel()
        holder.communicate("\n")
    assert (step(4), hits(step)) == (5, 0)


@pytest.mark.skipif(not hasattr(os, "geteuid"), reason="Windows has no such modes")
@pytest.mark.parametrize(
    "fault", ["file", "open to others", "open above", "of another user", "link"]
)
def test_nothing_is_read_from_a_folder_of_somebody_else(
    root, sources, monkeypatch, fault
):
    first, second = _cache.CacheFolder(sources), _cache.CacheFolder(sources)
    first.write("kernel", b"machine code")
    assert _cache.CacheFolder(sources).read("kernel") == b"machine code"
    if fault == "file":
        first.path.rename(root / "elsewhere")
        first.path.write_text("")
    elif fault == "link":
        first.path.rename(root / "elsewhere")
        first.path.symlink_to(root / "elsewhere")
    elif fault == "open to others":
        first.path.chmod(0o777)
    elif fault == "open above":
        root.chmod(0o777)
    else:
        monkeypatch.setattr(os, "geteuid", lambda: 12345)
        if os.getuid() == 0:  # root's folders are trusted
            os.chown(first.path, 1, -1)
    with pytest.warns(RuntimeWarning, match=re.escape(str(root))):
        assert second.read("kernel") is None
    assert second.read("kernel") is None
    assert second.path is None


def test_files_that_are_no_kernels_are_compiled_over(root, sources):
    process = Process(sources)
    assert process.step(4) == 5
    (name,) = [path.name for path in files(root) if path.suffix == ".bin"]
    folder, path = process.folder, process.folder.path / name
    contents = [
        b"no pickle",
        pickle.dumps((1, 2)),
        pickle.dumps(SystemError("odd"))[:-1],
    ]
    for content in contents:
        path.unlink()
        folder.write(name, content)
        assert folder.read(name) == content
        again = Process(sources).step
        assert (again(4), hits(again)) == (5, 0)
    # A file of another name.
    path.rename(path.with_name("other"))
    assert folder.read("other") is None


def test_folders_out_of_use_go(root, sources):
    root.mkdir(0o700, parents=True)
    for name, days in {"kernels-1": 29, "kernels-2": 31, "another thing": 99}.items():
        (root / name).mkdir()
        os.utime(root / name, (0, time.time() - days * 24 * 60 * 60))
    folder = _cache.CacheFolder(sources)
    folder.read("kernel")
    assert {path.name for path in root.iterdir()} == {
        "another thing",
        "kernels-1",
        folder.path.name,
    }
    # The time of a folder is that of its last use.
    os.utime(folder.path, (0, 0))
    _cache.CacheFolder(sources).read("kernel")
    assert folder.path.stat().st_mtime > 0


@pytest.mark.parametrize(
    ("platform", "variables", "expected"),
    [
        ("linux", {}, "/home/me/.cache/roll_vec"),
        ("linux", {"XDG_CACHE_HOME": "/x"}, "/x/roll_vec"),
        ("darwin", {"XDG_CACHE_HOME": "/x"}, "/home/me/Library/Caches/roll_vec"),
        ("win32", {"LOCALAPPDATA": "/local"}, "/local/roll_vec"),
        ("win32", {}, "/home/me/AppData/Local/roll_vec"),
        ("linux", {"NUMBA_CACHE_DIR": "/n", "XDG_CACHE_HOME": "/x"}, "/n/roll_vec"),
    ],
)
def test_the_place_follows_the_platform(monkeypatch, platform, variables, expected):
    monkeypatch.setattr(sys, "platform", platform)
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    monkeypatch.delenv("LOCALAPPDATA", raising=False)
    for name, value in {"HOME": "/home/me", **variables}.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr(config, "CACHE_DIR", variables.get("NUMBA_CACHE_DIR", ""))
    assert _cache.cache_root() == Path(expected)
