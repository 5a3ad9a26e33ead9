"""Snapshots at random points: a batch that goes back to one repeats what followed it.

A batch takes random detours that come back, beside a twin that only steps and resets:
it goes elsewhere and back, wholly or in parts, it goes on in another batch, of another
size or with other workers, and it unrolls, sends and receives where the twin steps.
"""

import copy

import numpy as np
import pytest

from roll_vec import VectorState
from tests.conftest import JIT_OFF
from tests.contract.cases import (
    ALL_CASES,
    DISABLED,
    MODES,
    PROCESSES,
    assert_same,
    assert_undisturbed,
    close_batches,
    draw_actions,
    id_of,
    keywords,
    make_batch,
    play,
    rows_at,
    scale_steps,
    single_info,
)
from tests.thinning import one_in

NUM_ENVS, LARGER = 4, 8
EVERYWHERE = (*ALL_CASES, *([] if JIT_OFF else PROCESSES))


def assert_rows(result, expected, rows):
    """Check that a result is made of rows of another one, infos included."""
    for one, other in zip(result[:-1], expected[:-1], strict=True):
        assert_same(list(rows_at(one, slice(None))), list(rows_at(other, rows)))
    for env_id, row in enumerate(rows.tolist()):
        assert_same(single_info(result[-1], env_id), single_info(expected[-1], row))


class Walk:
    """A batch that takes detours, and a twin that only steps and resets."""

    def __init__(self, case, mode, seed, path):
        self.rng, self.path = np.random.default_rng(seed), path
        group_size = int(self.rng.choice([1, 2, 4]))
        more = {"autoreset_mode": mode, "group_size": group_size}
        self.envs, self.twin = (make_batch(case, NUM_ENVS, **more) for _ in range(2))
        # Others of the same world: of another size, and with any workers.
        same = [
            other
            for other in EVERYWHERE
            if (id_of(other), keywords(other)) == (id_of(case), keywords(case))
        ]
        self.others = [
            make_batch(case, LARGER, **more),
            make_batch(str(self.rng.choice(same)), NUM_ENVS, **more),
        ]
        self.actions = draw_actions(self.envs, 800, seed)
        self.is_disabled = mode is DISABLED
        self.number = 0
        self.last, _ = self.envs.reset(seed=seed)
        assert_same(self.twin.reset(seed=seed)[0], self.last)

    def next_actions(self, count=1):
        """Return the actions of the next steps."""
        self.number += count
        return self.actions[self.number - count : self.number]

    # ------------------------------------------------------------ both go on

    def step(self):
        """Step both."""
        actions = self.next_actions()
        expected = play(self.twin, actions)
        assert_same(play(self.envs, actions), expected)
        self.last = expected[-1][0]

    def unroll(self):
        """Unroll some steps, until one ends in DISABLED mode."""
        results = []
        for batch in self.next_actions(int(self.rng.integers(1, 6))):
            results.append((batch, copy.deepcopy(self.twin.step(batch))))
            ended = results[-1][1][2] | results[-1][1][3]
            if self.is_disabled and ended.any():
                break
        rollout = self.envs.unroll(np.array([batch for batch, _ in results]))
        for t, (_, (self.last, *numbers, _)) in enumerate(results):
            for values, expected in zip(rollout[1:4], numbers, strict=True):
                assert_same(values[t], expected)
        if self.is_disabled and ended.any():
            self.reset(ended)

    def reset(self, mask=None):
        """Reset some environments of both."""
        if mask is None:
            mask = self.rng.random(NUM_ENVS) < 0.4
        if mask.any():
            options = {"reset_mask": mask.copy()}
            one, other = (env.reset(options=options) for env in (self.envs, self.twin))
            assert_same(one, other)
            self.last = copy.deepcopy(other[0])

    def send(self):
        """Step by `send` and `recv`, in several portions."""
        [batch] = self.next_actions()
        expected = copy.deepcopy(self.twin.step(batch))
        self.last = expected[0]
        order, received = self.rng.permutation(NUM_ENVS), 0
        for env_ids in (order[:3], order[3:]):
            self.envs.send(batch[env_ids], env_ids)
        while received < NUM_ENVS:
            result = self.envs.recv(None if self.rng.random() < 0.5 else 1)
            env_ids, present = (result[4].pop(key) for key in ("env_id", "_env_id"))
            assert_same(present, np.ones(len(env_ids), np.bool_))
            assert_rows(result, expected, env_ids)
            received += len(env_ids)
        ended = expected[2] | expected[3]
        if self.is_disabled and ended.any():
            self.reset(ended)

    # ------------------------------------------------------- one goes astray

    def go_astray(self):
        """Step and reset the batch alone."""
        self.envs.step(draw_actions(self.envs, 1, int(self.rng.integers(99)))[0])
        mask = np.arange(NUM_ENVS) == self.rng.integers(NUM_ENVS)
        self.envs.reset(options={"reset_mask": mask})
        if self.rng.random() < 0.3:
            self.envs.reset(seed=int(self.rng.integers(99)))

    def go_back(self):
        """Continue one environment in all of them, and go back, through a file."""
        state = self.envs.get_state()
        if self.rng.random() < 0.5:
            state.save(self.path)
            loaded = VectorState.load(self.path, allow_pickle=True)
            assert loaded == state
            state = loaded
        self.envs.set_state(state, rows=[int(self.rng.integers(NUM_ENVS))] * NUM_ENVS)
        self.go_astray()
        assert_same(self.envs.set_state(state), self.last)

    def go_back_in_parts(self):
        """Go back, some environments first, from rows in another order."""
        state = self.envs.get_state()
        order = self.rng.permutation(NUM_ENVS)
        moved = VectorState.concatenate([state.take([0]), state.take(order)])
        self.go_astray()
        mask = self.rng.random(NUM_ENVS) < 0.5
        rows = 1 + np.argsort(order)
        self.envs.set_state(moved, mask=mask, rows=rows)
        assert_same(self.envs.set_state(moved, mask=~mask, rows=rows), self.last)

    def go_on_elsewhere(self):
        """Go on in another batch, in another order, and come back from there."""
        other = self.others[self.rng.integers(len(self.others))]
        # All rows are there: then all resets are there as well.
        copies = self.rng.integers(0, NUM_ENVS, other.num_envs - NUM_ENVS)
        rows = self.rng.permutation(np.append(np.arange(NUM_ENVS), copies))
        present = other.set_state(self.envs.get_state(), rows=rows)
        assert_same(list(present), list(rows_at(self.last, rows)))
        seeds = self.twin.np_random_seed
        assert other.np_random_seed == tuple(seeds[row] for row in rows)
        for batch in self.next_actions(3):
            results = play(other, [batch[rows]])
            for one, expected in zip(results, play(self.twin, [batch]), strict=True):
                assert_rows(one, expected, rows)
                self.last = expected[0]
        first = [int(np.flatnonzero(rows == row)[0]) for row in range(NUM_ENVS)]
        assert_same(self.envs.set_state(other.get_state(), rows=first), self.last)


def check_walk(case, mode, seed, tmp_path):
    """Compare a batch that comes back again and again with its twin."""
    walk = Walk(case, mode, seed, tmp_path / "state.npz")
    ways = [walk.step, walk.step, walk.unroll, walk.reset, walk.send]
    ways += [walk.go_back, walk.go_back_in_parts, walk.go_on_elsewhere]
    for way in walk.rng.integers(len(ways), size=scale_steps(40)).tolist():
        ways[way]()
    assert_undisturbed(walk.envs, walk.twin)


@one_in(2, "mode, case", MODES, ALL_CASES)
def test_a_batch_that_comes_back_equals_its_twin(case, mode, tmp_path):
    check_walk(case, mode, 0, tmp_path)


@pytest.mark.slow
@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("case", EVERYWHERE)
def test_many_batches_that_come_back(case, mode, tmp_path):
    for seed in range(1, 6):
        check_walk(case, mode, seed, tmp_path)
        close_batches()
