"""Commands of this process on a pseudo-terminal."""

import io
import os
import select
import sys
import threading

import pytest

from roll_vec.cli import main

pty = pytest.importorskip("pty")
termios = pytest.importorskip("termios")

# A child that writes nothing fails a test instead of stopping the run.
HANG_SECONDS = 60


class Screen:
    """A pseudo-terminal for a command in this process, and somebody who types.

    `output` is all that was written.
    """

    END = "<the command has ended>"

    def __init__(self, monkeypatch, lines=24, columns=80, **environment):
        self._master, self._slave = pty.openpty()
        self._settings = termios.tcgetattr(self._slave)
        self.output, self._monkeypatch = "", monkeypatch
        values = {"TERM": "xterm", "LINES": lines, "COLUMNS": columns, "NO_COLOR": ""}
        for name, value in {**values, **environment}.items():
            monkeypatch.setenv(name, str(value))

    def press(self, keys):
        os.write(self._master, keys.encode())

    def close(self):
        os.close(self._slave)
        os.close(self._master)

    @property
    def echoes(self):
        """Whether the terminal shows the keys that are pressed."""
        return bool(termios.tcgetattr(self._slave)[3] & termios.ECHO)

    @property
    def is_restored(self):
        """Whether the settings are those of the beginning."""
        return termios.tcgetattr(self._slave) == self._settings

    def run(self, arguments, *script):
        """Run a command; return its exit code.

        The script has texts, each with what is typed, or called, when it has appeared.
        """
        typist = threading.Thread(target=self._type, args=script)
        with os.fdopen(os.dup(self._slave), "r+b", buffering=0) as device:
            stream = io.TextIOWrapper(device, encoding="utf-8", write_through=True)
            self._monkeypatch.setattr(sys, "stdin", stream)
            self._monkeypatch.setattr(sys, "stdout", stream)
            typist.start()
            try:
                return main([str(argument) for argument in arguments])
            finally:
                stream.write(self.END)
                typist.join()
                self.output = self.output.removesuffix(self.END)

    def _type(self, *script):
        begin = 0
        for text, keys in [*script, (self.END, "")]:
            while text not in self.output[begin:]:
                if self.END in self.output:
                    return
                ready, _, _ = select.select([self._master], [], [], HANG_SECONDS)
                if ready:
                    data = os.read(self._master, 1 << 16)
                    self.output += data.decode(errors="replace")
                else:
                    self.press("\x04")  # quit
            begin = self.output.index(text, begin) + len(text)
            if callable(keys):
                keys()
            else:
                self.press(keys)
