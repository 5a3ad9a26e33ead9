"""Random programs of public calls, on every kind of batch beside single environments.

These are made by `gymnasium.make`, or by the constructor that a pool has.
"""

import copy
from contextlib import suppress

import gymnasium
import numpy as np
import pytest

from roll_vec import JoinedVectorEnv, PoolVectorEnv
from roll_vec.errors import ClosedError, FrozenAttributeError, RollVecError
from tests.contract import cases
from tests.contract.cases import CASES, DISABLED, MODES, SAME_STEP, item, plain
from tests.contract.kinds import ALL, OBJECTS, RULES, N, draw, part_of, register_kinds
from tests.thinning import one_in

MIXED = "roll_vec/RandomFrozenLake-v0 text", "roll_vec/Countdown-v0"
# Observations that are computed into one array, where that is no copy.
VIEWS = [f"{id} as planes" for id in ("roll_vec/Sokoban-v0", cases.LEVEL_IDS[-1])]
NAMES = [*VIEWS, *cases.ALL_CASES, *cases.PROCESSES, *RULES, "mixed"]
NAMES += [name for name, kind in OBJECTS.items() if kind.env_fn and kind.copies]
NAMES += [f"joined {name}" for name in CASES]


def make(name, **keywords):
    """Return a batch, and a single environment for each row."""
    if name in OBJECTS or name in RULES:
        env_fn = ALL[name].env_fn or (lambda: gymnasium.make(name))
        return ALL[name].make(N, **keywords), [env_fn() for _ in range(N)]
    case, _, obs_mode = name.removeprefix("joined ").partition(" as ")
    more = {"obs_mode": obs_mode} if obs_mode else {}
    names = MIXED if name == "mixed" else [case] * (N // 2)
    singles = [cases.make_single(each, **more) for each in names for _ in range(2)]
    if name != "mixed" and not name.startswith("joined "):
        return cases.make_batch(case, N, **more, **keywords), singles
    parts = [cases.make_batch(each, 2, **keywords) for each in names]
    return JoinedVectorEnv(parts), singles


@pytest.fixture(scope="module", autouse=True)
def _registered(module_forgets_ids):
    register_kinds()


class Program:
    def __init__(self, name, mode, seed):
        copies = name not in VIEWS and len(name) % 2 == 0
        keywords = {"autoreset_mode": mode, "group_size": 2, "copy": copies}
        self.env, self.envs = make(name, **keywords)
        self.mode, self.ids = mode, range(self.env.num_envs)
        self.options = {"low": -0.02, "high": 0.03} if "/CartPole" in name else {}
        self.rng = np.random.default_rng([seed, MODES.index(mode), len(name)])
        self.ended = np.zeros(len(self.ids), bool)
        self.observations, self.saved = [None for _ in self.ids], []

    def run(self, num_calls):
        calls = [self.step] * 4 + [self.reset, self.go_back, self.save]
        calls += [self.attributes] + [self.unroll] * (self.mode is not DISABLED)
        calls += [self.send] * isinstance(self.env, PoolVectorEnv)
        calls = [self.reset, self.save, *self.rng.choice(calls, num_calls)]
        for number, call in enumerate(calls):
            self.where = f"call {number}, {call.__name__}"
            call()
        self.env.close()
        with pytest.raises(ClosedError):
            self.env.reset()

    def reset_one(self, i, seed=None, options=None):
        """Return no numbers, the info, no final observation and info."""
        observation, info = self.envs[i].reset(seed=seed, options=options)
        self.observations[i], self.ended[i] = plain(observation), False
        return [], plain(info), None

    def step_one(self, i, actions):
        if self.ended[i]:
            return [0, False, False], self.reset_one(i)[1], None
        action = copy.deepcopy(part_of(actions, i))
        observation, *numbers, info = self.envs[i].step(action)
        self.observations[i], final = plain(observation), None
        self.ended[i] = numbers[1] or numbers[2]
        if self.ended[i] and self.mode is SAME_STEP:
            final = self.observations[i], plain(info)
            info = self.reset_one(i)[1]
        return plain(numbers), plain(info), final

    def compare(self, result, expected, env_ids=None):
        """Compare a result whose rows are some environments; None: all."""
        observations, *arrays, infos = result
        for row, i in enumerate(self.ids if env_ids is None else env_ids):
            where = f"{self.where}, environment {i}"
            numbers, info, final = expected.get(i, ([], {}, None))
            assert item(observations, row) == self.observations[i], where
            assert [array[row] for array in arrays] == numbers, where
            actual = plain(cases.single_info(infos, row))
            finals = actual.pop("final_obs", None), actual.pop("final_info", {})
            for one in (actual, finals[1]):
                one.pop("family", None), one.pop("env_id", None)
            assert (actual, finals) == (info, final or (None, {})), where

    def draw(self, num_steps=1):
        return draw(self.env, num_steps, int(self.rng.integers(1 << 30)))

    def draw_mask(self):
        mask = self.rng.random(len(self.ids)) < 0.5
        mask[self.rng.integers(len(mask))] = True
        return mask

    def mend(self):
        """Reset what a step in DISABLED mode refuses."""
        if self.mode is DISABLED and self.ended.any():
            with pytest.raises(RollVecError, match="have ended"):
                self.env.step(self.draw()[0])
            result = self.env.reset(options={"reset_mask": self.ended.copy()})
            ids = self.ended.nonzero()[0]
            self.compare(result, {i: self.reset_one(i) for i in ids})

    def reset(self):
        is_first, mask = not self.saved, self.draw_mask()
        seed = int(self.rng.integers(1 << 40))
        seeds = [seed + i // 2 for i in self.ids]
        if not is_first and self.rng.random() < 0.7:
            seed = seeds = [s if self.rng.random() < 0.5 else None for s in seeds]
        options = {**self.options, "reset_mask": mask}
        if is_first or self.rng.random() < 0.3:
            mask, options = mask | True, self.options
        result, more = self.env.reset(seed=seed, options=options), self.options
        ids = mask.nonzero()[0]
        self.compare(result, {i: self.reset_one(i, seeds[i], more) for i in ids})

    def step(self):
        self.mend()
        (actions,) = self.draw()
        result = self.env.step(actions)
        self.compare(result, {i: self.step_one(i, actions) for i in self.ids})

    def send(self):
        self.mend()
        (actions,), env_ids = self.draw(), self.draw_mask().nonzero()[0].tolist()
        for part in np.array_split(self.rng.permutation(env_ids), 2):
            self.env.send(part_of(actions, part), part)
        result = self.env.recv(None)
        self.compare(result, {i: self.step_one(i, actions) for i in env_ids}, env_ids)

    def unroll(self):
        plan = self.draw(5)
        *stacked, infos = self.env.unroll(plan)
        last, _ = (infos.pop(key, None) for key in ("final_obs", "_final_obs"))
        for t, actions in enumerate(plan):
            expected = {i: self.step_one(i, actions) for i in self.ids}
            for i, (*others, final) in expected.items() if last is not None else ():
                actual = item(cases.at_step(last, t), i)
                assert actual == (final or self.observations[i:])[0], self.where
                expected[i] = *others, final and (None, final[1])
            parts = [cases.at_step(one, t) for one in stacked]
            self.compare((*parts, cases.infos_at_step(infos, t)), expected)

    def save(self):
        values = copy.deepcopy((self.envs, self.ended, self.observations))
        self.saved = [*self.saved[-3:], (self.env.get_state(), *values)]

    def go_back(self):
        state, *values = self.saved[self.rng.integers(len(self.saved))]
        rows = self.rng.integers(len(self.ids), size=len(self.ids))
        mask = self.draw_mask() | (self.rng.random() < 0.5)
        if isinstance(state, tuple):  # of unlike parts, which know no rows
            rows = np.arange(len(self.ids))
            batch = self.env.set_state(state, mask=mask)
        else:
            batch = self.env.set_state(state, rows=rows, mask=mask)
        for i in mask.nonzero()[0]:
            copies = copy.deepcopy([value[rows[i]] for value in values])
            self.envs[i], self.ended[i], self.observations[i] = copies
        assert [item(batch, i) for i in self.ids] == self.observations

    def attributes(self):
        marks = self.rng.integers(99, size=len(self.ids)).tolist()
        with suppress(FrozenAttributeError):  # of arrays
            self.env.set_attr("mark", marks)
            assert self.env.get_attr("mark") == tuple(marks)


all_programs = one_in(5, "name, mode", NAMES, MODES)
FAST = [each for each in all_programs.args[1] if not each.marks]


@pytest.mark.parametrize(("name", "mode"), FAST)
def test_a_program_returns_what_single_environments_return(name, mode):
    Program(name, mode, 30).run(30)


@pytest.mark.slow
@all_programs
def test_a_long_program_returns_what_single_environments_return(name, mode):
    Program(name, mode, 300).run(300)
