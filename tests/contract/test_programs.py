"""Random programs of public calls on every kind of batch, beside single environments.

A program is drawn from a seed.  Each of its calls goes to a batch, and as Gymnasium's
calls to one environment for each row, made by `gymnasium.make` or a pool's constructor.
"""

import copy

import gymnasium
import numpy as np
import pytest

from roll_vec import JoinedVectorEnv, PoolVectorEnv
from roll_vec.errors import ClosedError, FrozenAttributeError, RollVecError
from tests.contract import cases
from tests.contract.cases import CASES, DISABLED, MODES, SAME_STEP
from tests.contract.kinds import ALL, OBJECTS, RULES, N, draw, part_of, register_kinds
from tests.thinning import one_in

MIXED = "roll_vec/RandomFrozenLake-v0 text", "roll_vec/Countdown-v0"
NAMES = [*cases.ALL_CASES, *cases.PROCESSES, *RULES, "mixed"]
NAMES += [name for name, kind in OBJECTS.items() if kind.env_fn and kind.copies]
NAMES += [f"joined {name}" for name in CASES]
RESET_OPTIONS = {"roll_vec/CartPole-v1": {"low": -0.02, "high": 0.03}}


def make(name, **keywords):
    """Return a batch, and a single environment for each row."""
    if name == "mixed":
        parts = {case[9:]: cases.make_batch(case, 2, **keywords) for case in MIXED}
        singles = [cases.make_single(case) for case in MIXED for _ in range(2)]
        return JoinedVectorEnv(parts), singles
    if name in OBJECTS or name in RULES:
        env_fns = [ALL[name].env_fn or (lambda: gymnasium.make(name))] * N
        return ALL[name].make(N, **keywords), [env_fn() for env_fn in env_fns]
    case = name.removeprefix("joined ")
    sizes = [N] if case == name else [2, N - 2]
    parts = [cases.make_batch(case, size, **keywords) for size in sizes]
    env = JoinedVectorEnv(parts) if case != name else parts[0]
    return env, [cases.make_single(case) for _ in range(N)]


@pytest.fixture(scope="module", autouse=True)
def _registered(module_forgets_ids):
    register_kinds()


def plain(value):
    """Return a copy without numpy's types."""
    if isinstance(value, dict):
        return {key: plain(part) for key, part in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(part) for part in value]
    return value.tolist() if isinstance(value, (np.ndarray, np.generic)) else value


def item(batch, row):
    """Return what one environment has of a batch."""
    if isinstance(batch, dict):
        return {key: item(part, row) for key, part in batch.items()}
    if isinstance(batch, tuple) and isinstance(batch[0], np.ndarray):
        return [item(part, row) for part in batch]
    return plain(batch[row])


class Program:
    def __init__(self, name, mode, seed):
        self.env, self.envs = make(name, autoreset_mode=mode, group_size=2)
        self.mode, self.ids = mode, range(self.env.num_envs)
        self.options = RESET_OPTIONS.get(name, {})
        self.rng = np.random.default_rng([seed, MODES.index(mode), len(name)])
        self.ended = np.zeros(len(self.ids), bool)
        self.observations, self.saved = [None for _ in self.ids], []

    def run(self, num_calls):
        calls = [self.step] * 4 + [self.reset, self.go_back, self.save, self.refuse]
        calls += [self.attributes] + [self.unroll] * (self.mode is not DISABLED)
        calls += [self.send] * isinstance(self.env, PoolVectorEnv)
        for number in range(num_calls):
            call = calls[self.rng.integers(len(calls))] if number > 1 else self.save
            call = call if number else self.reset
            self.where = f"call {number}, {call.__name__}"
            call()
        self.env.close()
        with pytest.raises(ClosedError):
            self.env.reset()

    # Of one environment, and the comparison: numbers, info, final observation and info.

    def reset_one(self, i, seed=None, options=None):
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
            assert item(observations, row) == self.observations[i], where
            numbers, info, final = expected.get(i, ([], {}, None))
            assert [array[row] for array in arrays] == numbers, where
            actual = plain(cases.single_info(infos, row))
            finals = actual.pop("final_obs", None), actual.pop("final_info", {})
            for one in (actual, finals[1]):
                one.pop("family", None), one.pop("env_id", None)
            assert (actual, finals) == (info, final or (None, {})), where

    # Calls.

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
        result, extra = self.env.reset(seed=seed, options=options), self.options
        ids = mask.nonzero()[0]
        self.compare(result, {i: self.reset_one(i, seeds[i], extra) for i in ids})

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
        batches, is_policy = iter(plan), self.rng.random() < 0.3
        arguments = ((lambda _: next(batches)), len(plan)) if is_policy else (plan,)
        *stacked, infos = self.env.unroll(*arguments)
        last = infos.pop("final_obs", None)
        infos.pop("_final_obs", None)
        for t, actions in enumerate(plan):
            expected = {i: self.step_one(i, actions) for i in self.ids}
            for i, (*others, final) in expected.items() if last is not None else ():
                actual = item(cases.at_step(last, t), i)
                assert actual == (final or self.observations[i:])[0], self.where
                expected[i] = *others, final and (None, final[1])
            arrays = [cases.at_step(one, t) for one in stacked]
            self.compare((*arrays, cases.infos_at_step(infos, t)), expected)

    def save(self):
        values = copy.deepcopy((self.envs, self.ended, self.observations))
        self.saved = [*self.saved[-3:], (self.env.get_state(), *values)]

    def go_back(self):
        state, *values = self.saved[self.rng.integers(len(self.saved))]
        # Within a part of a mixed batch.
        rows = np.arange(len(self.ids)) // 2 * 2 + self.rng.integers(2)
        mask = self.draw_mask() if self.rng.random() < 0.5 else None
        batch = self.env.set_state(state, rows=rows, mask=mask)
        for i in self.ids if mask is None else mask.nonzero()[0]:
            copies = copy.deepcopy([value[rows[i]] for value in values])
            self.envs[i], self.ended[i], self.observations[i] = copies
        assert [item(batch, i) for i in self.ids] == self.observations

    def refuse(self):
        """Call with bad arguments: nothing moves."""
        self.mend()
        env, state, few = self.env, self.saved[0][0], part_of(self.draw()[0], [0])
        no_mask, rows = {"reset_mask": self.ended & False}, [99 for _ in self.ids]
        for method, arguments in (
            (env.step, {"actions": few}),
            (env.reset, {"seed": -1}),
            (env.reset, {"options": no_mask}),
            (env.set_state, {"state": state, "rows": rows}),
        ):
            with pytest.raises(RollVecError, match=r"(expected|must contain)"):
                method(**arguments)

    def attributes(self):
        seeds = tuple(one.unwrapped.np_random_seed for one in self.envs)
        assert self.env.get_attr("np_random_seed") == seeds, self.where
        marks = self.rng.integers(99, size=len(self.ids)).tolist()
        try:
            self.env.set_attr("mark", marks)
            assert self.env.get_attr("mark") == tuple(marks)
        except FrozenAttributeError:
            assert not isinstance(self.env, PoolVectorEnv)


@pytest.mark.parametrize("count", [25, pytest.param(200, marks=pytest.mark.slow)])
@one_in(7, "name, mode", NAMES, MODES)
def test_a_program_returns_what_single_environments_return(name, mode, count):
    Program(name, mode, count).run(count)
