"""Scenarios that batches of every kind pass: each is written once, for all kinds.

The reference is a batch in this process without workers, and what the same batch did
before it went back to a snapshot.
"""

import copy
import functools
import pickle
import warnings

import gymnasium
import numpy as np
import pytest

from roll_vec import PoolVectorEnv, VectorState
from roll_vec.errors import (
    ClosedError,
    EnvironmentFaultWarning,
    InvalidActionError,
    InvalidOptionError,
    PendingResultsError,
    ResetNeededError,
)
from tests.contract import kinds
from tests.contract.cases import DISABLED, MODES, assert_same
from tests.pool.cases import EACH_EXECUTOR, FAULTS_ON_PURPOSE
from tests.thinning import one_in

pytestmark = FAULTS_ON_PURPOSE


@pytest.fixture(scope="module", autouse=True)
def _registered(module_forgets_ids):
    kinds.register_kinds()


def close(*envs):
    for env in envs:
        env.close()


def random_mask(rng):
    """Return a mask of some environments, at least of one."""
    mask = rng.random(kinds.N) < 0.6
    mask[rng.integers(kinds.N)] = True
    return mask


# ------------------------------------------------------------------- snapshots


def list_keys(value):
    """Return the keys of all dicts in results, in their order."""
    if isinstance(value, dict):
        return [(key, list_keys(part)) for key, part in value.items()]
    parts = value if isinstance(value, tuple) else ()
    return [list_keys(part) for part in parts if isinstance(part, (dict, tuple))]


class Walk:
    """Goes to random snapshots, and on from there, by calls of the past or new ones.

    The snapshots are nodes of a tree, the calls its edges.  Each pass over an edge must
    give the results, and lead to the snapshot, of the first one.  Two batches walk: the
    kind's and its local one.  A copy now and then takes the place of its original.
    """

    def __init__(self, kind, mode, seed, path):
        self.kind, self.mode, self.path = kinds.WALKED[kind], mode, path
        self.rng = np.random.default_rng(seed)
        keywords = {"autoreset_mode": mode, "group_size": 2}
        self.envs = [
            self.kind.make(kinds.N, **keywords),
            self.kind.local(kinds.N, **keywords),
        ]
        self.envs[0].reset(seed=seed)
        # Snapshots, the environments that have ended there, and the observations, if
        # the last call has returned all of them.
        self.nodes = [(self.envs[0].get_state(), np.zeros(kinds.N, bool), None)]
        self.edges = [[]]
        self.num_repeated = 0

    def walk(self, num_calls):
        places = [0, None]
        for number in range(num_calls):
            which = int(self.rng.integers(2))
            node = places[which]
            if node is None or self.rng.random() < 0.4:
                known = [i for i, edges in enumerate(self.edges) if edges] or [0]
                node = int(self.rng.choice(known))
                self.go_to(which, node, is_new=places[which] is None)
            if self.rng.random() < 0.15 and self.kind.copies:
                env = self.envs[which]
                self.envs[which] = kinds.COPIES[self.rng.choice(self.kind.copies)](env)
                env.close()
            places[which] = self.take_edge(which, node, f"call {number}")
        assert self.num_repeated >= num_calls // 5
        close(*self.envs)

    def go_to(self, which, node, is_new):
        (state, _, seen), env = self.nodes[node], self.envs[which]
        if self.rng.random() < 0.2:
            state.save(self.path)
            # Exact are those of plain data alone.
            pickled = not self.kind.is_exact
            state = VectorState.load(self.path, allow_pickle=pickled)
        if self.rng.random() < 0.3 and not is_new:
            # From rows in another order, all at once or some environments first.
            order = self.rng.permutation(kinds.N)
            moved = VectorState.concatenate(
                [state.select_rows([0]), state.select_rows(order)]
            )
            mask, rows = random_mask(self.rng), 1 + np.argsort(order)
            if self.rng.random() < 0.5:
                env.set_state(moved, mask=mask, rows=rows)
                mask = ~mask
            else:
                mask = None
            observations = env.set_state(moved, mask=mask, rows=rows)
        else:
            observations = env.set_state(state)
        if seen is not None:
            assert_same(observations, seen)

    def take_edge(self, which, node, where):
        env, edges = self.envs[which], self.edges[node]
        if edges and self.rng.random() < 0.6:
            call, expected, after = edges[int(self.rng.integers(len(edges)))]
            results, ended = call(env)
            assert_same(results, expected, f"{where} by {call}")
            assert list_keys(results) == list_keys(expected), f"{where} by {call}"
            assert ended.tolist() == self.nodes[after][1].tolist()
            if self.kind.is_exact:
                assert env.get_state() == self.nodes[after][0], f"{where} by {call}"
            self.num_repeated += 1
            return after
        call = self.draw_call(env, *self.nodes[node][:2])
        results, ended = call(env)
        has_all = call.func.__name__ in ("step", "mask", "reset")
        seen = results[0] if has_all else None
        self.nodes.append((env.get_state(), ended, seen))
        edges.append((call, results, len(self.nodes) - 1))
        self.edges.append([])
        return len(self.nodes) - 1

    def draw_call(self, env, state, ended):
        """Return a function of a batch, by which all passes over an edge go."""
        names = ["step", "reset", "unroll", "set_state"]
        names += ["mask"] * (self.mode is DISABLED)
        names += ["send"] * all(isinstance(one, PoolVectorEnv) for one in self.envs)
        name = self.rng.choice(names)
        seed, mask = int(self.rng.integers(1 << 40)), random_mask(self.rng)
        actions = kinds.draw(env, 3, seed)
        rows = self.rng.integers(kinds.N, size=kinds.N)
        if name == "unroll" and self.mode is DISABLED:
            name = "step"
        return functools.partial(
            getattr(self, name), state, ended.copy(), actions, mask, rows, seed
        )

    def finish(self, result, ended, mask=None):
        """Return a copy of a result, and which environments have ended then."""
        if self.mode is DISABLED:
            over = (result[2] | result[3]).astype(bool)
            ended = over if mask is None else np.where(mask, over, ended)
        return copy.deepcopy(result), ended

    def step(self, state, ended, actions, mask, rows, seed, env):
        if ended.any():
            env.reset(options={"reset_mask": ended.copy()})
        return self.finish(env.step(actions[0]), ended)

    def mask(self, state, ended, actions, mask, rows, seed, env):
        mask = mask & ~ended
        return self.finish(env._step_some(actions[0], mask), ended, mask)

    def send(self, state, ended, actions, mask, rows, seed, env):
        env_ids = (mask & ~ended).nonzero()[0]
        if not len(env_ids):
            return None, ended
        env.send(kinds.part_of(actions[0], env_ids), env_ids)
        result, over = copy.deepcopy(env.recv(None)), ended.copy()
        if self.mode is DISABLED:
            over[env_ids] = result[2] | result[3]
        return result, over

    def reset(self, state, ended, actions, mask, rows, seed, env):
        seeds = seed if seed % 2 else None
        result = env.reset(seed=seeds, options={"reset_mask": mask.copy()})
        return copy.deepcopy(result), ended & ~mask

    def unroll(self, state, ended, actions, mask, rows, seed, env):
        return copy.deepcopy(tuple(env.unroll(actions))), ended

    def set_state(self, state, ended, actions, mask, rows, seed, env):
        mask = mask if seed % 2 else None
        observations = copy.deepcopy(env.set_state(state, rows=rows, mask=mask))
        ended = ended[rows] if mask is None else np.where(mask, ended[rows], ended)
        result, ended = self.step(state, ended, actions, mask, rows, seed, env)
        return (observations, result), ended


@one_in(3, "kind, mode", [*kinds.WALKED], MODES)
def test_every_pass_from_a_snapshot_gives_the_same_results(kind, mode, tmp_path):
    walk = Walk(kind, mode, 5, tmp_path / "state.npz")
    walk.walk(24)


# ---------------------------------------------------------------------- copies


@pytest.mark.parametrize("kind", [kind for kind in kinds.ALL if kinds.ALL[kind].copies])
def test_copies_before_the_first_reset_and_after_the_end(kind):
    """Copies of batches that play: ``Walk``."""
    env = kinds.ALL[kind].make(kinds.N, copy=False)
    way = kinds.COPIES[kinds.ALL[kind].copies[len(kind) % len(kinds.ALL[kind].copies)]]
    other, (actions,) = way(env), kinds.draw(env, 1, seed=2)
    with pytest.raises(ResetNeededError):
        other.step(actions)
    assert_same(other.reset(seed=3), env.reset(seed=3))
    assert_same(other.step(actions), env.step(actions))
    for name in ("spec", "metadata"):
        assert getattr(other, name) == getattr(env, name)
    close(env, other)
    with pytest.raises(ClosedError):
        way(env).reset()


def test_what_cannot_be_copied_says_so():
    env = kinds.ALL["plain"].make(kinds.N)
    env.reset(seed=1)
    for way in (pickle.dumps, copy.deepcopy):
        with pytest.raises(TypeError, match="lock"):
            way(env)
    env.step(kinds.draw(env, 1, seed=0)[0])
    env.close()


# ------------------------------------------------------------- bad calls and faults

# One of each kind, without the repetitions above.
FEW = ["roll_vec/Sokoban-v0", "roll_vec/Countdown-v0"]
FEW += ["tests_vector/Guess-v0 in threads", "processes"]
EACH_OF_FEW = pytest.mark.parametrize("kind", FEW)


def check_refused(env, twin, table):
    """Check the errors of calls, and that they have moved nothing."""
    for call, error, *words in table:
        with pytest.raises(error, match=words[0] if words else None):
            call(env)
    actions = kinds.draw(env, 3, seed=6)
    for batch in actions:
        assert_same(env.step(batch), twin.step(batch))


@EACH_OF_FEW
def test_calls_at_the_wrong_time_move_nothing(kind):
    env, twin, never_reset = (kinds.ALL[kind].make(kinds.N) for _ in range(3))
    never_reset.close()
    actions = kinds.draw(env, 2, seed=5)
    ids = range(kinds.N)
    moves = {
        "step": lambda batch: batch.step(actions[0]),
        "unroll": lambda batch: batch.unroll(actions),
        "get_state": lambda batch: batch.get_state(),
        "masked reset": lambda batch: batch.reset(
            options={"reset_mask": np.arange(kinds.N) < 2}
        ),
    }
    for call in moves.values():
        with pytest.raises(ResetNeededError):
            call(env)
    for batch in (env, twin):
        batch.reset(seed=2)
    state = env.get_state()
    if not isinstance(env, PoolVectorEnv):
        close(env, twin)
        for call in [*moves.values(), lambda b: b.reset(seed=3, options={})]:
            with pytest.raises(ClosedError, match="closed"):
                call(env)
        return
    bad_ids = ([kinds.N], [-1], [0, 0], [0.5], [[0]], "a")
    table = [
        (lambda b, k=k: b.recv(**k), InvalidOptionError, "min_envs: no results are")
        for k in ({}, {"min_envs": 0}, {"min_envs": "a"}, {"min_envs": None})
    ]
    table += [
        (
            lambda b, i=i: b.send(kinds.part_of(actions[0], [0] * len(i)), i),
            InvalidOptionError,
        )
        for i in bad_ids
    ]
    table += [
        (lambda b: b.send(kinds.part_of(actions[0], [0]), [0, 1]), InvalidActionError)
    ]
    check_refused(env, twin, table)
    env.send(kinds.part_of(actions[0], [1]), [1])
    waits = (-1, -float("inf"), float("nan"), "x", 1j, np.array([1]))
    told = "timeout: expected"
    table = [
        (lambda b, w=w: b.recv(timeout=w), InvalidOptionError, told) for w in waits
    ]
    table += [(lambda b: b.recv(min_envs=2), InvalidOptionError, "min_envs: expected")]
    pending = [
        *moves.values(),
        lambda b: b.reset(),
        lambda b: b.set_state(state),
        lambda b: b.send(kinds.part_of(actions[0], [2, 1]), [2, 1]),
    ]
    # Workers may be busy with these objects.
    pending += [lambda b: b.call("render"), lambda b: b.get_attr("render_mode")]
    pending += [lambda b: b.set_attr("mark", 1), lambda b: b.render()]
    told = r": 1 environments|environments \[1\] have results"
    table += [(call, PendingResultsError, told) for call in pending]
    for call, error, told in table:
        with pytest.raises(error, match=told) as caught:
            call(env)
        if error is PendingResultsError:
            assert isinstance(caught.value, gymnasium.error.AlreadyPendingCallError)
    others = [i for i in ids if i != 1]
    env.send(kinds.part_of(actions[0], others), others)
    result = env.recv(None)
    assert kinds.results_of(result, ids) == kinds.results_of(twin.step(actions[0]), ids)
    assert_same(env.step(actions[1]), twin.step(actions[1]))
    # Closed with results outstanding.
    env.send(kinds.part_of(actions[0], [1]), [1])
    env.close()
    env.close()
    assert env.closed
    for call in [*pending, lambda b: b.recv(), lambda b: b.reset(seed=3, options={})]:
        for batch in (env, never_reset):
            with pytest.raises(ClosedError, match="closed") as caught:
                call(batch)
            assert isinstance(caught.value, gymnasium.error.ClosedEnvironmentError)
    twin.close()


WITH_FAULT = ("a",) * 4 + ("fault:raise", "a")


def receive_all(env):
    """Send the actions, and receive until there is an error."""
    env.send(WITH_FAULT, range(kinds.N))
    while True:
        env.recv()


@pytest.mark.parametrize("by_recv", [False, True])
@EACH_EXECUTOR
def test_a_warning_that_raises_demands_a_reset(workers, by_recv):
    env = PoolVectorEnv([kinds.Fragile] * kinds.N, **workers)
    env.reset(seed=1)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(EnvironmentFaultWarning, match="environment 4 failed"):
            receive_all(env) if by_recv else env.step(WITH_FAULT)
    with pytest.raises(ResetNeededError):
        env.step(("a",) * kinds.N)
    env.reset(seed=1)
    assert not env.step(("a",) * kinds.N)[3].any()
    env.close()
