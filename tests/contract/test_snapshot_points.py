"""Snapshots at random points, of batches of every kind, continue to the bit.

A batch takes random steps, and a snapshot now and then.  Each snapshot is continued by
one of several other batches: of the same size, of another one, of another executor, or
by the batch itself.

In a mixture a batch takes detours that come back, beside a twin that only steps.
"""

import copy

import numpy as np
import pytest

from roll_vec import VectorState
from tests.conftest import JIT_OFF
from tests.contract.cases import (
    ALL_CASES,
    CASES,
    DISABLED,
    MODES,
    PROCESSES,
    assert_same,
    assert_undisturbed,
    draw_actions,
    id_of,
    is_pooled,
    keywords,
    limit_of,
    make_batch,
    play,
    rows_at,
    scale_steps,
    single_info,
)

NUM_ENVS, LARGER = 4, 7
GROUP_SIZES = (1, 2, 4)
CONTINUATION = 5
EVERYWHERE = (*ALL_CASES, *([] if JIT_OFF else PROCESSES))
COMBINATIONS = [
    (case, mode, group_size)
    for case in EVERYWHERE
    for mode in MODES
    for group_size in GROUP_SIZES
]
TOTAL = 4_000


def siblings(case):
    """Return the cases that differ from a case in their workers alone."""
    return [
        other
        for other in EVERYWHERE
        if (id_of(other), keywords(other)) == (id_of(case), keywords(case))
    ]


def check_points(case, mode, group_size, num_points, seed, tmp_path):
    """Compare the continuations of `num_points` random snapshots with the run."""
    rng = np.random.default_rng(seed)
    options = {"autoreset_mode": mode, "group_size": group_size}
    envs = make_batch(case, NUM_ENVS, **options)
    others = [make_batch(other, NUM_ENVS, **options) for other in siblings(case)]
    # The size of a batch is a multiple of its groups.
    larger = make_batch(case, -(-LARGER // group_size) * group_size, **options)
    others.append(larger)
    num_steps = max(num_points // 2, 3 * limit_of(case))
    actions = draw_actions(envs, num_steps + CONTINUATION, seed)
    points = np.sort(rng.integers(0, num_steps, num_points))
    envs.reset(seed=int(rng.integers(1 << 62)))
    results, states = [], {}
    for t, batch in enumerate(actions):
        if t in points:
            states[t] = envs.get_state()
        results.append(play(envs, [batch]))
    for i, t in enumerate(rng.permutation(points).tolist()):
        state = states[t]
        if i % 16 == 0:
            state.save(tmp_path / "state.npz")
            state = VectorState.load(tmp_path / "state.npz", allow_pickle=True)
        target = [envs, *others][rng.integers(len(others) + 1)]
        # All rows are there, in any order: then all resets are there as well.
        more = rng.integers(0, NUM_ENVS, target.num_envs - NUM_ENVS)
        rows = rng.permutation(np.append(np.arange(NUM_ENVS), more))
        observations = target.set_state(state, rows=rows)
        if t:
            assert_same(list(observations), list(rows_at(results[t - 1][-1][0], rows)))
        for batch, expected in zip(
            actions[t : t + CONTINUATION], results[t : t + CONTINUATION], strict=True
        ):
            continued = play(target, [batch[rows]])
            assert len(continued) == len(expected)
            for one, other in zip(continued, expected, strict=True):
                assert_rows(one, other, rows)
    return len(points)


def assert_rows(result, expected, rows):
    """Check that a result is made of rows of another one, infos included."""
    for one, other in zip(result[:-1], expected[:-1], strict=True):
        assert_same(list(rows_at(one, slice(None))), list(rows_at(other, rows)))
    for env_id, row in enumerate(rows.tolist()):
        assert_same(single_info(result[-1], env_id), single_info(expected[-1], row))


@pytest.mark.parametrize("case", ALL_CASES)
def test_a_few_points_of_every_kind(case, tmp_path):
    rng = np.random.default_rng(ALL_CASES.index(case))
    mode, group_size = MODES[rng.integers(len(MODES))], int(rng.choice(GROUP_SIZES))
    check_points(case, mode, group_size, 4, int(rng.integers(99)), tmp_path)


@pytest.mark.slow
@pytest.mark.parametrize(("case", "mode", "group_size"), COMBINATIONS)
def test_thousands_of_points(case, mode, group_size, tmp_path):
    num_points = scale_steps(-(-TOTAL // len(COMBINATIONS)))
    check_points(case, mode, group_size, num_points, 7 * group_size, tmp_path)


# ------------------------------------------------------------------ mixtures


class Mixture:
    """A batch that takes detours, and a twin that only steps and resets."""

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
    [range(1), pytest.param(range(1, 7), marks=pytest.mark.slow)],
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
