"""Environments with bugs in misuse, in closing and in rendering."""

from __future__ import annotations

import time

import numpy as np

from tests.testing.bug_table import bug_table
from tests.testing.walk import Walk

BUGS, breaks = bug_table()


@breaks("action-count", "action-invalid")
class AnyNumberOfActions(Walk):
    def checked(self, actions):
        return super().checked(np.resize(actions, self.num_envs).astype(np.int64))


@breaks("action-count-moves", "action-invalid-moves")
class MovesBeforeChecking(Walk):
    def checked(self, actions):
        try:
            return super().checked(actions)
        except ValueError:
            self.state[0, 2] = (self.state[0, 2] + 1) % 1000
            raise


@breaks("action-invalid")
class ClipsActions(Walk):
    def checked(self, actions):
        return super().checked(np.clip(actions, 0, 1).astype(np.int64))


@breaks("step-before-reset")
class StepsUnreset(Walk):
    def checked(self, actions):
        if not self.ready:
            self.reset()
        return super().checked(actions)


@breaks("closed-flag")
class StaysOpen(Walk):
    def close(self):
        self.close_extras()


@breaks("close-twice", "close-raises")
class ClosesOnce(Walk):
    def close(self):
        if self.closed:
            raise RuntimeError("closed already")
        super().close()


@breaks("use-after-close")
class GoesOnClosed(Walk):
    def refuse_closed(self):
        if self.closed:
            self.state[:] = 0


@breaks("vector-methods")
class NoAttributes(Walk):
    get_attr = None


@breaks("vector-methods")
class AttributesAsList(Walk):
    def get_attr(self, name):
        return list(super().get_attr(name))


@breaks("vector-methods", "render")
class NumbersAsFrames(Walk):
    def get_attr(self, name):
        raise AttributeError(name)

    def render(self):
        return tuple(range(self.num_envs))


@breaks("render-mode-unknown", "render", "render-moves")
class AnyRenderMode(Walk):
    def __init__(self, num_envs, autoreset_mode, render_mode=None):
        super().__init__(num_envs, autoreset_mode)
        self.render_mode = render_mode

    def render(self):
        self.rngs[0].random()
        return list(super().render())


@breaks("call-limit")
class HangsClosing(Walk):
    def close(self):
        time.sleep(60)


@breaks("raises")
class RaisesAtReset(Walk):
    def step(self, actions):
        raise NotImplementedError


@breaks("call-limit")
class Hangs(Walk):
    def move(self, actions, rows):
        time.sleep(60)
