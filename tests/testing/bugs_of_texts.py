"""Environments of texts with bugs."""

from __future__ import annotations

import itertools

import numpy as np
from gymnasium import spaces
from gymnasium.error import ResetNeeded
from gymnasium.vector.utils import batch_space

from tests.testing.bug_table import ENTROPY, bug_table
from tests.testing.walk import Walk

BUGS, breaks = bug_table()

LETTERS = "abcdefghijklmnopqrstuvwxyz0123456789: \n√"


class Talk(Walk):
    """A walker with texts on both sides: long actions go right."""

    def __init__(self, *args, **kwargs):
        super().__init__(*args, **kwargs)
        self.single_observation_space = spaces.Text(60, charset=LETTERS)
        self.single_action_space = spaces.Text(10, charset=LETTERS)
        self.observation_space = self.batched(self.single_observation_space)
        self.action_space = self.batched(self.single_action_space)
        self.last_texts = [""] * self.num_envs

    def batched(self, space):
        return batch_space(space, self.num_envs)

    def checked(self, actions):
        if not self.ready:
            raise ResetNeeded
        self.refuse_bad_batch(actions)
        self.last_texts = self.copy_texts(actions)
        return [len(text) > 5 for text in self.last_texts]

    def refuse_bad_batch(self, actions):
        if not isinstance(actions, (list, tuple)) or len(actions) != self.num_envs:
            raise ValueError(actions)
        if not all(isinstance(text, str) for text in actions):
            raise ValueError(actions)

    def copy_texts(self, actions):
        return list(actions)

    def observations(self):
        return tuple(
            f"√ {int(cell)}\n{int(clock)}: {int(number)}"
            for cell, clock, number in self.state
        )

    def step_infos(self, rows, slipped):
        infos = super().step_infos(rows, slipped)
        infos["said"], infos["_said"] = self.texts(rows), rows.copy()
        long = rows & np.array([len(text) > 5 for text in self.last_texts])
        if long.any():
            # Of some environments only.
            infos["value"] = np.where(long, [len(text) for text in self.last_texts], 0)
            infos["_value"] = long
        return infos

    def texts(self, rows):
        texts = np.full(self.num_envs, None, object)
        for env in np.flatnonzero(rows):
            texts[env] = self.last_texts[env]
        return texts


@breaks("action-count")
class AcceptsOneText(Talk):
    def refuse_bad_batch(self, actions):
        super().refuse_bad_batch(tuple(actions))


@breaks("action-count")
class AcceptsWhatIsThere(Talk):
    def refuse_bad_batch(self, actions):
        super().refuse_bad_batch(
            ("",) if isinstance(actions, str) else [""] * self.num_envs
        )
        if not all(isinstance(text, str) for text in actions):
            raise ValueError(actions)

    def copy_texts(self, actions):
        return list(itertools.islice(itertools.cycle(actions), self.num_envs))


@breaks("action-invalid")
class AcceptsAnything(Talk):
    def refuse_bad_batch(self, actions):
        if not isinstance(actions, str):
            super().refuse_bad_batch([str(text) for text in actions])
        else:
            super().refuse_bad_batch(actions)

    def copy_texts(self, actions):
        return [str(text) for text in actions]


@breaks("action-invalid-moves")
class MovesUntilABadText(Talk):
    def refuse_bad_batch(self, actions):
        if isinstance(actions, (list, tuple)) and len(actions) == self.num_envs:
            for env, text in enumerate(actions):
                if not isinstance(text, str):
                    self.state[:env, 2] = (self.state[:env, 2] + 1) % 1000
        super().refuse_bad_batch(actions)


@breaks("arguments-mutated")
class StripsTheCallersTexts(Talk):
    def copy_texts(self, actions):
        texts = list(actions)
        if isinstance(actions, list):
            actions[:] = ["" for _ in actions]
        return texts


@breaks("internal-memory")
class KeepsTheCallersList(Talk):
    def copy_texts(self, actions):
        self.last, last = actions, getattr(self, "last", actions)
        # The list of the step before must not be used later: here it is.
        if len(last) != self.num_envs:
            self.state[:, 2] = (self.state[:, 2] + 1) % 1000
        return list(actions)


@breaks("observation-layout")
class ReturnsAnArray(Talk):
    def observations(self):
        return np.array(super().observations())


@breaks("observation-layout")
class ReturnsAList(Talk):
    def observations(self):
        return list(super().observations())


@breaks("observation-space", "unseeded-first", "final-obs")
class ReturnsOtherCharacters(Talk):
    def observations(self):
        return tuple(f"{text}!" for text in super().observations())


@breaks("info-dtype")
class InfosOfFixedWidth(Talk):
    def texts(self, rows):
        texts = [
            text if row else "" for text, row in zip(self.last_texts, rows, strict=True)
        ]
        return np.array(texts)


@breaks("info-outside-mask")
class EmptyTextsOutsideTheMask(Talk):
    def texts(self, rows):
        texts = super().texts(rows)
        texts[~rows] = ""
        return texts


@breaks("info-outside-mask")
class ValuesOutsideTheMask(Talk):
    def step_infos(self, rows, slipped):
        infos = super().step_infos(rows, slipped)
        if "value" in infos:
            infos["value"] = np.where(infos["_value"], infos["value"], 1)
        return infos


class _Outside(spaces.Text):
    def sample(self, mask=None, probability=None):
        return super().sample(mask, probability)[:5] + "!"

    def contains(self, x):
        return isinstance(x, str) and "!" not in x


@breaks("action-sample")
class SamplesOutside(Talk):
    def batched(self, space):
        copies = [_Outside(10, charset=LETTERS) for _ in range(self.num_envs)]
        is_action = space is self.single_action_space
        return spaces.Tuple(copies) if is_action else super().batched(space)


class _Unseeded(spaces.Text):
    def sample(self, mask=None, probability=None):
        return f"a{next(ENTROPY)}"[:10]


@breaks("action-sample")
class SamplesWithoutASeed(Talk):
    def batched(self, space):
        copies = [_Unseeded(10, charset=LETTERS) for _ in range(self.num_envs)]
        is_action = space is self.single_action_space
        return spaces.Tuple(copies) if is_action else super().batched(space)
