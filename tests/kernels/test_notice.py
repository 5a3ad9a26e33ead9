"""The notice that kernels are being compiled: its lines on terminals and in logs."""

import io
import os
from types import SimpleNamespace

import pytest

from roll_vec.kernels import _notice


class Stream(io.StringIO):
    """Standard error; a terminal or not."""

    def __init__(self, is_terminal):
        super().__init__()
        self.is_terminal = is_terminal

    def isatty(self):
        return self.is_terminal

    def lines(self):
        """What a terminal shows after each write, without empty lines."""
        lines = self.getvalue().replace("\r", "\n").split("\n")
        return [line for line in lines if line.strip()]


class Compiler:
    """Sends the events of numba to a notice; each kernel takes a second."""

    def __init__(self, monkeypatch, is_terminal, path="/cache"):
        self.stream = Stream(is_terminal)
        monkeypatch.setattr("sys.stderr", self.stream)
        monkeypatch.setattr("sys.__stderr__", self.stream)
        monkeypatch.setattr(_notice.atexit, "register", self.register)
        monkeypatch.setenv("TERM", "xterm")
        self.seconds, self.at_exit = 0, []
        self.notice = _notice.CompileNotice(
            SimpleNamespace(path=path), clock=lambda: self.seconds
        )

    def register(self, *call):
        self.at_exit.append(call)

    def compile(self, name, *callees):
        """Compile a kernel ``package.file.function``, and the kernels that it calls."""
        module, _, function = name.rpartition(".")
        function = SimpleNamespace(__module__=module, __name__=function)
        dispatcher = SimpleNamespace(py_func=function)
        event = SimpleNamespace(data={"dispatcher": dispatcher})
        self.notice.on_start(event)
        for callee in callees:
            self.compile(callee)
        self.seconds += 1
        self.notice.on_end(event)

    def exit(self):
        """End the process."""
        for function, *arguments in self.at_exit:
            function(*arguments)


KERNELS = "roll_vec.kernels."
SEEDS = KERNELS + "rng.pcg64.fold_in_rows"
ROOMS = KERNELS + "sokoban.rooms.generate_rooms"
MAPS = KERNELS + "frozen_lake.random_maps.generate_maps"
WALK = KERNELS + "sokoban.carving._walk"


def test_a_log_has_a_line_for_the_first_game_and_one_at_the_end(monkeypatch):
    compiler = Compiler(monkeypatch, is_terminal=False)
    compiler.compile(SEEDS)
    assert compiler.stream.lines() == []
    compiler.compile(ROOMS, WALK, SEEDS)
    first = (
        "roll_vec: compiling kernels for their first use on this machine: "
        "Sokoban, generate rooms, ..."
    )
    assert compiler.stream.lines() == [first]
    compiler.compile(MAPS)
    compiler.exit()
    last = "roll_vec: compiled 5 kernels in 5.0 s, cached in /cache"
    assert compiler.stream.lines() == [first, last]


def test_a_terminal_has_one_line_which_goes_when_all_is_compiled(monkeypatch):
    compiler = Compiler(monkeypatch, is_terminal=True)
    compiler.compile(ROOMS, WALK, SEEDS)
    compiler.compile(MAPS)
    assert compiler.stream.lines() == [
        "roll_vec: compiling Sokoban, generate rooms (kernel 1, 0.0 s)",
        "roll_vec: compiling Sokoban, generate rooms (kernel 2, 0.0 s)",
        "roll_vec: compiling Sokoban, generate rooms (kernel 3, 1.0 s)",
        "roll_vec: compiling FrozenLake, generate maps (kernel 4, 3.0 s)",
    ]
    text = compiler.stream.getvalue()
    assert "\n" not in text
    # Each line is covered with blanks before the next one.
    *_, line, blanks, nothing = text.split("\r")
    assert (len(blanks), blanks.strip(), nothing) == (len(line), "", "")
    compiler.exit()
    assert compiler.stream.getvalue() == (
        text + "roll_vec: compiled 4 kernels in 4.0 s, cached in /cache\n"
    )


def test_a_progress_bar_in_the_place_of_stderr_has_one_line(monkeypatch):
    compiler = Compiler(monkeypatch, is_terminal=True)
    monkeypatch.setattr("sys.__stderr__", Stream(is_terminal=True))
    compiler.compile(ROOMS, WALK, SEEDS)
    compiler.compile(MAPS)
    assert compiler.stream.getvalue() == (
        "roll_vec: compiling kernels for their first use on this machine: "
        "Sokoban, generate rooms, ...\n"
    )


def test_kernels_of_others_are_compiled_in_silence(monkeypatch):
    compiler = Compiler(monkeypatch, is_terminal=True)
    compiler.compile("numpy.linalg.norm", "numpy.linalg.dot")
    compiler.exit()
    assert compiler.stream.getvalue() == ""
    compiler.compile(MAPS, "numba.np.arrayobj.impl")
    compiler.compile("__main__.play", MAPS)
    compiler.exit()
    assert compiler.stream.lines()[-1].startswith("roll_vec: compiled 2 kernels in 3.0")


def test_a_fork_leaves_the_sum_to_its_parent(monkeypatch):
    compiler = Compiler(monkeypatch, is_terminal=False, path=None)
    compiler.compile(SEEDS)
    parent = os.getpid()
    monkeypatch.setattr(os, "getpid", lambda: parent + 1)
    compiler.exit()
    assert compiler.stream.getvalue() == ""
    monkeypatch.setattr(os, "getpid", lambda: parent)
    compiler.exit()
    assert compiler.stream.lines() == [
        "roll_vec: compiled 1 kernel in 1.0 s, not cached"
    ]


@pytest.mark.parametrize("stream", [None, "closed", "full"])
def test_a_notice_is_no_reason_to_fail(monkeypatch, stream):
    compiler = Compiler(monkeypatch, is_terminal=True)
    if stream == "closed":
        compiler.stream.close()
    elif stream == "full":

        def write(text):
            raise OSError(28, "No space left on device")

        compiler.stream.write = write
    else:
        monkeypatch.setattr("sys.stderr", None)
        monkeypatch.setattr("sys.__stderr__", None)
    compiler.compile(ROOMS, WALK)
    compiler.exit()
