"""Environments with bugs in construction, results, infos and memory."""

from __future__ import annotations

from typing import ClassVar

import gymnasium
import numpy as np
from gymnasium.vector import AutoresetMode
from gymnasium.vector.utils import batch_space

from tests.testing.bug_table import bug_table
from tests.testing.walk import SAME_STEP, TIME, Walk

BUGS, breaks = bug_table()


@breaks("construct")
def refuses_everything(num_envs, **kwargs):
    raise RuntimeError("no such thing")


@breaks("construct")
def returns_a_single_one(num_envs, **kwargs):
    return gymnasium.make("FrozenLake-v1")


@breaks("construct")
class EvenBatchesOnly(Walk):
    def __init__(self, num_envs, **kwargs):
        if num_envs == 1:
            raise ValueError(num_envs)
        super().__init__(num_envs, **kwargs)


@breaks("spaces")
class NoSingleSpace(Walk):
    def __init__(self, num_envs, **kwargs):
        super().__init__(num_envs, **kwargs)
        del self.single_observation_space


@breaks("spaces")
class OneTooMany(Walk):
    @property
    def num_envs(self):
        return self.count + 1

    @num_envs.setter
    def num_envs(self, num_envs):
        self.count = num_envs


@breaks("autoreset-keyword")
class NotSameStep(Walk):
    def __init__(self, num_envs, autoreset_mode):
        if autoreset_mode is SAME_STEP:
            raise NotImplementedError
        super().__init__(num_envs, autoreset_mode)


@breaks("autoreset-keyword", "autoreset-metadata")
class NoMetadata(Walk):
    def __init__(self, num_envs):
        super().__init__(num_envs)
        self.metadata = {}


@breaks("autoreset-keyword")
def takes_no_mode(num_envs):
    return Walk(num_envs)


@breaks("autoreset-metadata")
def ignores_the_mode(num_envs, autoreset_mode):
    return Walk(num_envs)


@breaks("autoreset-metadata")
class ModeAsString(Walk):
    def __init__(self, num_envs, **kwargs):
        super().__init__(num_envs, **kwargs)
        self.metadata["autoreset_mode"] = self.mode.value


@breaks("metadata-shared")
class SharedMetadata(Walk):
    shared: ClassVar = {mode: {"autoreset_mode": mode} for mode in AutoresetMode}

    def __init__(self, num_envs, **kwargs):
        super().__init__(num_envs, **kwargs)
        self.metadata = self.shared[self.mode]


@breaks("batched-spaces")
class WrongBatchedSpace(Walk):
    def __init__(self, num_envs, **kwargs):
        super().__init__(num_envs, **kwargs)
        box = self.single_observation_space
        wider = gymnasium.spaces.Box(-1, box.high, dtype=box.dtype)
        self.observation_space = batch_space(wider, num_envs)


@breaks("attributes")
class BornClosed(Walk):
    closed = None


@breaks("attributes", "render")
class NumberedRenderMode(Walk):
    render_mode = property(lambda self: 3, lambda self, mode: None)


@breaks("attributes", "spec-settable", "np-random-seed")
class UnwrapsToAnother(Walk):
    unwrapped = property(lambda self: type(self)(self.num_envs))


@breaks("spec-settable")
class FixedSpec(Walk):
    spec = property(lambda self: None)


@breaks("reset-result")
class NoResetInfos(Walk):
    def reset(self, **kwargs):
        return super().reset(**kwargs)[0]


@breaks("reset-result")
class ResetInfosAsList(Walk):
    def reset(self, **kwargs):
        return super().reset(**kwargs)[0], []


@breaks("step-result")
class TwoRewardsAndNoInfos(Walk):
    def results(self, rewards, terminations, truncations, infos):
        return super().results(rewards[:2], terminations, truncations, None)


@breaks("step-result")
class FourValues(Walk):
    def results(self, rewards, terminations, truncations, infos):
        return self.observations(), rewards, terminations, infos


@breaks("environment-error")
class ReportsItsFailures(Walk):
    """Its key 'error' is a failure; its key 'warning', without an end, is not."""

    def step_infos(self, rows, slipped):
        infos = super().step_infos(rows, slipped)
        late = rows & (self.state[:, 1] >= TIME)
        for key, mask in (("error", late), ("warning", rows & ~late)):
            texts = np.full(self.num_envs, None, object)
            texts[mask] = "no paper"
            infos |= {key: texts, f"_{key}": mask} if mask.any() else {}
        return infos


@breaks("observation-space", "unseeded-first", "final-obs")
class OutOfSpace(Walk):
    def observations(self):
        return super().observations() - 1


@breaks("observation-layout")
class Float16(Walk):
    def observations(self):
        return super().observations().astype(np.float16)


@breaks("reward-dtype")
class Float32Rewards(Walk):
    def results(self, rewards, *others):
        return super().results(rewards.astype(np.float32), *others)


@breaks("reward-finite")
class InfiniteRewards(Walk):
    def results(self, rewards, *others):
        return super().results(np.where(rewards > 1, np.inf, rewards), *others)


@breaks("flag-dtype")
class FlagsAsNumbers(Walk):
    def results(self, rewards, terminations, truncations, infos):
        return super().results(rewards, terminations * 1, truncations, infos)


@breaks("action-sample", "batched-spaces", "raises")
class WrongActionSpace(Walk):
    @property
    def action_space(self):
        return gymnasium.spaces.MultiDiscrete([2] * self.num_envs + [2])

    @action_space.setter
    def action_space(self, space):
        self.proper = space


@breaks("info-layout")
class ListInfo(Walk):
    def step_infos(self, rows, slipped):
        infos = super().step_infos(rows, slipped)
        return {**infos, "slipped": infos["slipped"].tolist()}


@breaks("info-mask")
class NoInnerMask(Walk):
    def step_infos(self, rows, slipped):
        infos = super().step_infos(rows, slipped)
        del infos["detail"]["_clock"]
        return infos


@breaks("info-outside-mask")
class FilledOutsideMask(Walk):
    def step_infos(self, rows, slipped):
        infos = super().step_infos(rows, slipped)
        infos["detail"]["clock"] = self.state[:, 1] + 1
        return infos


@breaks("info-dtype")
class FirstWriterDtype(Walk):
    def reset_infos(self, rows):
        infos = super().reset_infos(rows)
        kind = infos["start"].dtype if rows.all() else np.int8
        return {**infos, "start": infos["start"].astype(kind)}


@breaks("writable")
class ReadOnlyRewards(Walk):
    def results(self, rewards, *others):
        rewards.flags.writeable = False
        return super().results(rewards, *others)


@breaks("fresh-arrays", "modes-agree")
class OneBuffer(Walk):
    buffer = None

    def observations(self):
        if self.buffer is None:
            self.buffer = super().observations()
        self.buffer[:] = super().observations()
        return self.buffer


@breaks("fresh-arrays")
class OneArrayForBothFlags(Walk):
    def results(self, rewards, terminations, truncations, infos):
        if not (terminations | truncations).any():
            truncations = terminations
        return super().results(rewards, terminations, truncations, infos)


@breaks("internal-memory")
class LiveFlags(Walk):
    def results(self, rewards, terminations, truncations, infos):
        if self.mode is not SAME_STEP and not truncations.any():
            self.dones = terminations
        return super().results(rewards, terminations, truncations, infos)

    def clear_ended(self, rows):
        self.dones = self.dones & ~rows


@breaks("arguments-mutated")
class WritesActions(Walk):
    def checked(self, actions):
        actions = super().checked(actions)
        original = actions.copy()
        actions[:] = 0
        return original
