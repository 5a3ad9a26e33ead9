"""Snapshots, unrolls, masked resets, `send` and `recv` mixed, beside a stepped twin."""

import copy

import numpy as np
import pytest

from roll_vec import VectorState
from tests.contract.cases import (
    CASES,
    DISABLED,
    MODES,
    assert_same,
    assert_undisturbed,
    draw_actions,
    is_pooled,
    make_batch,
    play,
    rows_at,
    scale_steps,
)

NUM_ENVS = 4


class Mixture:
    """A batch that takes detours, and a twin that only steps and resets.

    Parameters
    ----------
    case : str
    mode : AutoresetMode
    seed : int
    """

    def __init__(self, case, mode, seed):
        self.rng = np.random.default_rng(seed)
        self.envs, self.twin = (
            make_batch(case, NUM_ENVS, autoreset_mode=mode) for _ in range(2)
        )
        self.actions = draw_actions(self.envs, 400, seed)
        self.is_pool = is_pooled(case)
        self.number = 0
        for env in (self.envs, self.twin):
            env.reset(seed=seed)

    def next_actions(self, count=1):
        """Return the actions of the next steps."""
        self.number += count
        return self.actions[self.number - count : self.number]

    # ------------------------------------------------------------ both go on

    def step(self):
        """Step both."""
        [batch] = self.next_actions()
        assert_same(play(self.envs, [batch]), play(self.twin, [batch]))

    def unroll(self):
        """Unroll some steps, until one ends in DISABLED mode."""
        actions = self.next_actions(int(self.rng.integers(1, 6)))
        results = []
        for batch in actions:
            results.append(copy.deepcopy(self.twin.step(batch)))
            ended = results[-1][2] | results[-1][3]
            if self.twin.metadata["autoreset_mode"] is DISABLED and ended.any():
                break
        actions = actions[: len(results)]
        rollout = self.envs.unroll(actions)
        for t, (_, rewards, terminations, truncations, _) in enumerate(results):
            assert_same(rollout.rewards[t], rewards)
            assert_same(rollout.terminations[t], terminations)
            assert_same(rollout.truncations[t], truncations)
        if self.twin.metadata["autoreset_mode"] is DISABLED and ended.any():
            self.reset(ended)

    def reset(self, mask=None):
        """Reset some environments of both."""
        if mask is None:
            mask = self.rng.random(NUM_ENVS) < 0.4
        if mask.any():
            options = {"reset_mask": mask.copy()}
            one, other = (env.reset(options=options) for env in (self.envs, self.twin))
            assert_same(one, other)

    def send(self):
        """Step the pool by `send` and `recv`, in several portions."""
        if not self.is_pool or self.envs.metadata["autoreset_mode"] is DISABLED:
            self.step()
            return
        [batch] = self.next_actions()
        expected = copy.deepcopy(self.twin.step(batch))
        order = self.rng.permutation(NUM_ENVS)
        for env_ids in (order[:3], order[3:]):
            self.envs.send([batch[i] for i in env_ids], env_ids)
        received = 0
        while received < NUM_ENVS:
            observations, rewards, terminations, truncations, infos = self.envs.recv()
            for j, env_id in enumerate(infos["env_id"].tolist()):
                assert_same(rows_at(observations, j), rows_at(expected[0], env_id))
                assert rewards[j] == expected[1][env_id]
                assert terminations[j] == expected[2][env_id]
                assert truncations[j] == expected[3][env_id]
                received += 1

    # --------------------------------------------------- the first comes back

    def disturb(self):
        """Step the batch alone, in any way."""
        self.envs.step(draw_actions(self.envs, 1, int(self.rng.integers(99)))[0])
        finished = np.zeros(NUM_ENVS, bool)
        finished[self.rng.integers(NUM_ENVS)] = True
        self.envs.reset(options={"reset_mask": finished})
        if self.rng.random() < 0.3:
            self.envs.reset(seed=int(self.rng.integers(99)))

    def go_back(self):
        """Take a snapshot, go on elsewhere, and back at once."""
        state = self.envs.get_state()
        self.disturb()
        self.envs.set_state(state)

    def go_back_in_parts(self):
        """The same, some environments first, from rows in another order."""
        state = self.envs.get_state()
        order = self.rng.permutation(NUM_ENVS)
        moved = VectorState.concatenate([state.take([0]), state.take(order)])
        self.disturb()
        mask = self.rng.random(NUM_ENVS) < 0.5
        rows = 1 + np.argsort(order)
        self.envs.set_state(moved, mask=mask, rows=rows)
        self.envs.set_state(moved, mask=~mask, rows=rows)

    def branch(self):
        """Continue one environment in all of them, and go back."""
        state = self.envs.get_state()
        rows = np.full(NUM_ENVS, self.rng.integers(NUM_ENVS))
        self.envs.set_state(state, rows=rows)
        self.disturb()
        self.envs.set_state(state)


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize(
    "seeds",
    [range(1), pytest.param(range(1, 15), marks=pytest.mark.slow)],
    ids=["one", "many"],
)
def test_a_mixture_equals_steps(case, mode, seeds):
    for seed in seeds:
        mixture = Mixture(case, mode, seed)
        acts = [
            *[mixture.step, mixture.unroll, mixture.reset, mixture.send],
            *[mixture.go_back, mixture.go_back_in_parts, mixture.branch],
        ]
        for act in mixture.rng.integers(len(acts), size=scale_steps(30)).tolist():
            acts[act]()
        assert_undisturbed(mixture.envs, mixture.twin)
