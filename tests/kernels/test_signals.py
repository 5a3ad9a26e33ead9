"""Signals that wait: while a kernel is compiled, and in sections of any code."""

import signal

import pytest
from numba.core import event

from roll_vec.kernels import _cache, _jit
from roll_vec.kernels.signals import CriticalSection, signal_delay
from tests.conftest import JIT_OFF

OTHER = signal.SIGTERM  # the one signal besides Ctrl-C that all systems have


class Interruption(event.Listener):
    """Ctrl-C when the compilation of a kernel begins, and again when it ends."""

    def on_start(self, event):
        signal.raise_signal(signal.SIGINT)

    on_end = on_start


@pytest.mark.skipif(JIT_OFF, reason="nothing is compiled")
def test_ctrl_c_waits_until_a_kernel_is_compiled(monkeypatch, tmp_path):
    monkeypatch.setattr(_jit, "FOLDER", _cache.CacheFolder(tmp_path))
    handler = signal.getsignal(signal.SIGINT)

    @_jit.kernel
    def double(number):
        return 2 * number

    with event.install_listener("numba:compile", Interruption()):
        with pytest.raises(KeyboardInterrupt):
            double(4)
        assert len(double.signatures) == 1
        assert double(4) == 8
    assert signal.getsignal(signal.SIGINT) is handler


def test_each_signal_of_a_section_is_handled_once_at_its_end():
    numbers = []

    def handle(number, frame):
        numbers.append(number)
        raise KeyboardInterrupt

    def run():
        with section:
            for number in (OTHER, signal.SIGINT, OTHER):
                signal.raise_signal(number)
            assert numbers == []

    handlers = {n: signal.signal(n, handle) for n in (signal.SIGINT, OTHER)}
    section = CriticalSection()
    try:
        section.open()
        with pytest.raises(KeyboardInterrupt):
            run()
        assert numbers == [OTHER, signal.SIGINT]
        with section:
            pass
        with pytest.raises(KeyboardInterrupt):
            signal.raise_signal(OTHER)
        section.close()
        assert signal.getsignal(OTHER) is handle
    finally:
        for number, handler in handlers.items():
            signal.signal(number, handler)
    assert numbers == [OTHER, signal.SIGINT, OTHER]


def test_an_interrupt_while_handlers_are_replaced_leaves_none_behind(monkeypatch):
    def handle(number, frame):
        pass

    set_handler = signal.signal
    before = {n: set_handler(n, handle) for n in (signal.SIGINT, OTHER)}
    places = 0

    def interrupt(number, handler):
        nonlocal places
        result = set_handler(number, handler)
        places -= 1
        if places == 0:
            raise KeyboardInterrupt
        return result

    def run():
        with signal_delay():
            pass

    try:
        for place in range(1, 5):
            places = place
            with monkeypatch.context() as patch:
                patch.setattr(signal, "signal", interrupt)
                with pytest.raises(KeyboardInterrupt):
                    run()
            assert signal.getsignal(signal.SIGINT) is handle, place
            assert signal.getsignal(OTHER) is handle, place
    finally:
        for number, handler in before.items():
            set_handler(number, handler)
