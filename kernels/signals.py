"""Signals that wait for the end of a part of the code."""

import signal
import threading
from contextlib import contextmanager


class CriticalSection:
    """A part of the code, entered many times, within which signals wait.

    The handlers that were set in Python, as that of Ctrl-C, are called when the part
    ends, each once.  To enter and leave it takes less than a microsecond: the handlers
    are replaced once, from `open` to `close`.  Python calls handlers in the main thread
    alone, so in others this does nothing.
    """

    def __init__(self):
        self._is_inside, self._waiting, self._handlers = False, {}, {}
        self._replaced = []
        if threading.current_thread() is threading.main_thread():
            handlers = {n: signal.getsignal(n) for n in signal.valid_signals()}
            # The others are functions in C, or the system's.
            self._handlers = {n: each for n, each in handlers.items() if callable(each)}

    def open(self):
        """Replace the handlers; `close` must follow, also if this is interrupted."""
        for number in self._handlers:
            self._replaced.append(number)
            signal.signal(number, self._handle)

    def close(self):
        """Handle signals as before."""
        try:
            while self._replaced:
                number = self._replaced[-1]
                signal.signal(number, self._handlers[number])
                self._replaced.pop()
        finally:  # a handler that is back may raise
            if self._replaced:
                self.close()

    def _handle(self, number, frame):
        if self._is_inside:
            self._waiting[number] = frame
        else:
            self._handlers[number](number, frame)

    def __enter__(self):
        self._is_inside = True

    def __exit__(self, *_):
        self._is_inside = False
        if self._waiting:
            number = next(iter(self._waiting))
            try:
                self._handlers[number](number, self._waiting.pop(number))
            finally:  # a handler may raise, and another signal wait
                self.__exit__()


@contextmanager
def signal_delay():
    """Have signals wait for the end of a part of the code that is entered once."""
    section = CriticalSection()
    with section:
        try:
            section.open()
            yield
        finally:
            section.close()
