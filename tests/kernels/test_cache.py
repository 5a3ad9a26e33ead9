"""Compiled kernels on disk: their folder, their use, failures of the disk."""

import errno
import os
import re
import shutil
import signal
import stat
import subprocess
import sys
import threading
import time
from pathlib import Path

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
    """A folder of two kernel files."""
    folder = tmp_path / "sources"
    folder.mkdir()
    (folder / "helper.py").write_text(HELPER)
    (folder / "caller.py").write_text(CALLER)
    return folder


@pytest.fixture
def root(sources, monkeypatch):
    """A root for the caches of these files."""
    root = sources.parent / "cache" / "roll_vec"
    monkeypatch.setattr(_cache, "cache_root", lambda: root)
    return root


@pytest.fixture
def folder(root, sources):
    return _cache.CacheFolder(sources)


class Process:
    """Kernels as a new process has them: nothing compiled, its own cache folder."""

    def __init__(self, sources):
        self._sources = sources
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
        return dispatcher


def hits(kernel):
    """Return the number of times that a kernel was loaded from the cache."""
    return sum(kernel.stats.cache_hits.values())


def files(root):
    """All files of the cache."""
    return sorted(path for path in root.rglob("*") if path.is_file())


def test_a_second_process_loads_what_the_first_one_compiled(root, sources):
    first, second = Process(sources), Process(sources)
    assert (first.play(4), hits(first.play)) == (50, 0)
    assert (second.play(4), hits(second.play)) == (50, 1)
    assert second.play.stats.cache_path == str(first.folder.path)
    assert {path.parent for path in files(root)} == {first.folder.path}
    assert first.folder.path.parent == root
    first.play.recompile()
    assert (first.play(4), hits(first.play)) == (50, 0)


def test_an_edited_helper_compiles_its_callers_anew(root, sources):
    old = Process(sources)
    assert old.play(4) == 50
    (sources / "helper.py").write_text(HELPER.replace("1", "2"))
    new = Process(sources)
    assert (new.play(4), hits(new.play)) == (60, 0)
    assert new.folder.path != old.folder.path


def test_files_of_one_name_in_two_folders_do_not_collide(root, sources):
    games = {"lake": 10, "room": 20}
    for game, number in games.items():
        (sources / game).mkdir()
        (sources / game / "rules.py").write_text(HELPER.replace("1", str(number)))
    steps = []  # numba can only load kernels of these folders while others are alive
    for expected_hits in (0, 1):
        process = Process(sources)
        for game, number in games.items():
            steps.append(process.load(f"{game}.rules", "step"))
            assert (steps[-1](4), hits(steps[-1])) == (4 + number, expected_hits)
    names = [path.name.rpartition("-")[0] for path in files(root)]
    assert names == ["sources.lake.rules.step", "sources.room.rules.step"]
    # A file in a folder counts as well.
    (sources / "lake/rules.py").write_text(HELPER)
    assert _cache.CacheFolder(sources)._name != process.folder._name


def test_a_file_that_is_edited_while_the_process_runs_stops_the_cache(root, sources):
    process = Process(sources)
    assert process.play(4) == 50
    stored = files(root)
    path = sources / "helper.py"
    path.write_text(HELPER.replace("1", "22"))
    # A notebook reloads the helper, then a caller whose own file is unchanged.
    step = process.load("helper", "step")
    assert process.load("caller", "play", step=step)(4) == 260
    assert files(root) == stored


def test_bounds_checks_have_machine_code_of_their_own(root, sources, monkeypatch):
    array = np.zeros(3)
    assert Process(sources).load("caller", "get")(array, 2) == 0
    monkeypatch.setattr(config, "BOUNDSCHECK", 1)
    checked = Process(sources).load("caller", "get")
    with pytest.raises(IndexError):
        checked(array, 3)


def test_a_damaged_file_is_not_read(folder):
    folder.write("kernel", b"machine code")
    content = (folder.path / "kernel").read_bytes()
    for damaged in (b"", content[:-1], content[:-1] + bytes([content[-1] ^ 1])):
        (folder.path / "kernel").write_bytes(damaged)
        with pytest.raises(ValueError, match="damaged"):
            folder.read("kernel")


@pytest.mark.parametrize("kind", ["foreign", "folder"])
def test_damaged_files_are_named_once_and_written_anew(root, sources, kind):
    first = Process(sources)
    first.play(4), first.step(4)
    for path in files(root):
        path.unlink()
        if kind == "folder":
            path.mkdir()
        else:
            path.write_bytes(_cache._CHECKSUM(b"no pickle").digest() + b"no pickle")
    second = Process(sources)
    with pytest.warns(RuntimeWarning) as warned:
        assert (second.play(4), second.step(4)) == (50, 5)
    (message,) = [str(warning.message) for warning in warned]
    assert str(first.folder.path) in message
    assert "caller.play" in message
    if kind != "folder":
        third = Process(sources)
        assert (third.play(4), hits(third.play)) == (50, 1)


def test_a_full_disk_is_told_once_and_leaves_nothing(root, sources, monkeypatch):
    def write_half(path, content):
        with path.open("wb") as file:
            file.write(content[: len(content) // 2])
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    process = Process(sources)
    monkeypatch.setattr(Path, "write_bytes", write_half)
    with pytest.warns(RuntimeWarning) as warned:
        assert (process.play(4), process.step(4)) == (50, 5)
    (message,) = [str(warning.message) for warning in warned]
    assert str(process.folder.path) in message
    assert os.strerror(errno.ENOSPC) in message
    assert files(root) == []


RACE = """
import sys
from pathlib import Path
from roll_vec.kernels import _cache

sources = Path(sys.argv[1])
folders = [_cache.CacheFolder(sources) for _ in range(2)]
print("ready", flush=True)
sys.stdin.readline()
for k in range(20):
    content = bytes([k]) * 100_000
    folders[0].write(f"kernel-{k}", content)
    assert folders[1].read(f"kernel-{k}") == content
    # Another process may be the first to write this one, or be writing it.
    other = folders[1].read(f"kernel-{19 - k}")
    assert other is None or other == bytes([19 - k]) * 100_000
"""


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


def go_on(processes):
    """Have processes that are ready go on."""
    for process in processes:
        process.stdin.write("\n")
        process.stdin.flush()


def test_processes_that_start_together_share_an_empty_cache(tmp_path):
    (tmp_path / "helper.py").write_text(HELPER)
    place = str(tmp_path / "new" / "cache")
    processes = [start(RACE, tmp_path, NUMBA_CACHE_DIR=place) for _ in range(3)]
    go_on(processes)
    # It may leave a file that it was writing, which nobody reads.
    processes[0].kill()
    processes[0].communicate()
    for process in processes[1:]:
        _, err = process.communicate()
        assert (process.returncode, err) == (0, "")
    names = {path.name for path in files(tmp_path / "new") if path.suffix != ".tmp"}
    assert names == {f"kernel-{k}" for k in range(20)}


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
needs_locks = pytest.mark.skipif(_cache.fcntl is None, reason="no locks on Windows")


@needs_locks
@pytest.mark.skipif(config.DISABLE_JIT, reason="nothing is compiled")
def test_processes_that_start_together_compile_a_kernel_once(tmp_path):
    processes = [start(COMPILATION, NUMBA_CACHE_DIR=str(tmp_path)) for _ in range(2)]
    go_on(processes)
    results = [process.communicate() for process in processes]
    assert sorted(out for out, _ in results) == ["0 1\n", "1 0\n"], results


HOLDER = """
import sys
from pathlib import Path
from roll_vec.kernels import _cache

_cache.CacheFolder(Path(sys.argv[1])).lock(sys.argv[2])
print("ready", flush=True)
sys.stdin.readline()
"""


@needs_locks
def test_waiting_for_another_process_ends(root, folder, sources, monkeypatch):
    holder = start(HOLDER, sources, "kernel", NUMBA_CACHE_DIR=str(root.parent))

    def wait(name="kernel", timer=None):
        """Return the seconds of a wait, in which a timer may run."""
        begin = time.monotonic()
        if timer is not None:
            timer.start()
        folder.lock(name)
        folder.unlock(name)  # also without a lock
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
        folder.remove("kernel")
        assert holder.poll() is None
        assert 0.2 < wait(timer=threading.Timer(0.2, holder.kill)) < 10
    finally:
        holder.kill()
        holder.communicate()
    assert [path.name for path in files(root)] == ["lock"]


@needs_locks
@pytest.mark.skipif(config.DISABLE_JIT, reason="nothing is compiled")
def test_ctrl_c_and_forks_do_not_wait_for_another_process(
    root, folder, sources, monkeypatch
):
    monkeypatch.setattr(_jit, "FOLDER", folder)
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


def test_a_file_that_another_process_reads_may_stay(root, folder, monkeypatch):
    def refuse(path, target):
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(target))

    folder.write("kernel", b"machine code")
    with monkeypatch.context() as patch:
        patch.setattr(Path, "replace", refuse)
        folder.write("kernel", b"machine code")
        with pytest.raises(PermissionError):
            folder.write("another", b"machine code")
    # Only a failure ends the storing.
    folder.write("another", b"machine code")
    assert [path.name for path in files(root)] == ["kernel"]


def test_a_folder_that_goes_during_the_run_is_made_again(root, sources):
    process = Process(sources)
    process.play(4)
    shutil.rmtree(root)
    assert process.play(4.0) == 50
    assert files(root)


@pytest.mark.skipif(not hasattr(os, "geteuid"), reason="Windows has no such modes")
@pytest.mark.parametrize("place", ["root", "folder"])
@pytest.mark.parametrize("fault", ["file", "open to others", "of another user"])
def test_nothing_is_read_from_a_folder_of_somebody_else(
    root, sources, monkeypatch, place, fault
):
    first, second = _cache.CacheFolder(sources), _cache.CacheFolder(sources)
    first.write("kernel", b"machine code")
    suspect = root if place == "root" else first.path
    assert stat.S_IMODE(suspect.stat().st_mode) == 0o700
    if fault == "file":
        suspect.rename(root.parent / "elsewhere")
        suspect.write_text("")
    elif fault == "open to others":
        suspect.chmod(0o777)
    else:
        status = os.stat_result((*suspect.stat()[:4], os.geteuid() + 1, *[0] * 5))
        own = Path.stat
        monkeypatch.setattr(
            Path, "stat", lambda path: status if path == suspect else own(path)
        )
    with pytest.raises(OSError, match=re.escape(str(suspect))):
        second.read("kernel")
    assert second.read("kernel") is None
    assert second.path is None


TODAY = [i / 20 for i in range(12)]


@pytest.mark.parametrize(
    ("ages", "kept"),
    [([0, 29, 31, 99], [0, 29]), ([*TODAY, 2, 3], TODAY)],
)
def test_folders_out_of_use_go_when_a_new_one_is_made(
    root, sources, folder, ages, kept
):
    root.mkdir(0o700, parents=True)
    for days in ages:
        (root / f"kernels-{days}").mkdir()
        used = time.time() - (days + 0.1) * 24 * 60 * 60
        os.utime(root / f"kernels-{days}", (0, used))
    (root / "another thing").mkdir()
    os.utime(root / "another thing", (0, 0))
    folder.write("kernel", b"")
    assert {path.name for path in root.iterdir()} == {
        "another thing",
        folder.path.name,
        *(f"kernels-{days}" for days in kept),
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
        ("linux", {"XDG_CACHE_HOME": "x"}, "/home/me/.cache/roll_vec"),
        ("darwin", {"XDG_CACHE_HOME": "/x"}, "/home/me/Library/Caches/roll_vec"),
        ("win32", {"LOCALAPPDATA": "/local"}, "/local/roll_vec"),
        ("win32", {}, "/home/me/AppData/Local/roll_vec"),
        ("linux", {"NUMBA_CACHE_DIR": "/n", "XDG_CACHE_HOME": "/x"}, "/n/roll_vec"),
        ("linux", {"HOME": "relative"}, None),
    ],
)
def test_the_place_follows_the_platform(monkeypatch, platform, variables, expected):
    monkeypatch.setattr(sys, "platform", platform)
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    monkeypatch.delenv("LOCALAPPDATA", raising=False)
    for name, value in {"HOME": "/home/me", **variables}.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr(config, "CACHE_DIR", variables.get("NUMBA_CACHE_DIR", ""))
    if expected is None:
        with pytest.raises(RuntimeError, match="home folder"):
            _cache.cache_root()
    else:
        assert _cache.cache_root() == Path(expected)
