"""Bugs that show in misuse, at the end of a life, and in rendering."""

from __future__ import annotations

import time

import numpy as np

from tests.testing.finds import table
from tests.testing.walk import Walk

BUGS, finds = table()


@finds("action-count", "action-invalid")
class AnyNumberOfActions(Walk):
    def checked(self, actions):
        return super().checked(np.resize(actions, self.num_envs).astype(np.int64))


@finds("action-count-moves", "action-invalid-moves")
class MovesBeforeChecking(Walk):
    def checked(self, actions):
        try:
            return super().checked(actions)
        except ValueError:
            self.state[0, 2] = (self.state[0, 2] + 1) % 1000
            raise


@finds("action-invalid")
class ClipsActions(Walk):
    def checked(self, actions):
        return super().checked(np.clip(actions, 0, 1).astype(np.int64))


@finds("step-before-reset")
class StepsUnreset(Walk):
    def checked(self, actions):
        if not self.ready:
            self.reset()
        return super().checked(actions)


@finds("closed-flag")
class StaysOpen(Walk):
    def close(self):
        self.close_extras()


@finds("close-twice", "close-raises")
class ClosesOnce(Walk):
    def close(self):
        if self.closed:
            raise RuntimeError("closed already")
        super().close()


@finds("use-after-close")
class GoesOnClosed(Walk):
    def refuse_closed(self):
        if self.closed:
            self.state[:] = 0


@finds("vector-methods")
class NoAttributes(Walk):
    get_attr = None


@finds("vector-methods")
class AttributesAsList(Walk):
    def get_attr(self, name):
        return list(super().get_attr(name))


@finds("vector-methods", "render")
class NumbersAsFrames(Walk):
    def get_attr(self, name):
        raise AttributeError(name)

    def render(self):
        return tuple(range(self.num_envs))


@finds("render-mode-unknown", "render", "render-moves")
class AnyRenderMode(Walk):
    def __init__(self, num_envs, autoreset_mode, render_mode=None):
        super().__init__(num_envs, autoreset_mode)
        self.render_mode = render_mode

    def render(self):
        self.rngs[0].random()
        return list(super().render())


@finds("call-limit")
class HangsClosing(Walk):
    def close(self):
        time.sleep(60)


@finds("raises")
class RaisesAtReset(Walk):
    def step(self, actions):
        raise NotImplementedError


@finds("call-limit")
class Hangs(Walk):
    def move(self, actions, rows):
        time.sleep(60)
