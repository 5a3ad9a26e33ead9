"""A batch over shards differs from one undivided batch, also where shards die."""

import copy
import functools

import numpy as np
import pytest

from roll_vec import VectorState
from roll_vec.errors import InvalidActionError, ResetNeededError
from tests.contract import cases
from tests.contract.kinds import FragileWithStates, draw
from tests.contract.rules import register_families
from tests.joined import local_actors
from tests.pool.cases import FAULTS_ON_PURPOSE
from tests.pool.envs import Drifter
from tests.thinning import one_in

pytestmark = FAULTS_ON_PURPOSE

N = 8
SOKOBAN = "roll_vec/Sokoban-v0"
ROOMS = {"dim_room": (5, 5), "num_boxes": 1, "max_episode_steps": 6, "action_start": 1}
# Shards die in these messages: in a reset, in a step, its restoration and the next one,
# and later.
DEATHS = {(0, 1): "early", (2, 1): "late", (2, 2): "early"}
DEATHS |= {(1, 5): "late", (1, 6): "early", (1, 7): "slow"}
DEATHS |= {
    (k, 7 * i + 5 * k): ("early", "late", "slow")[i % 3]
    for k in range(3)
    for i in range(2, 60)
}


@pytest.fixture(scope="module", autouse=True)
def _ids(module_forgets_ids):
    register_families()


def case(name, **more):
    return cases.id_of(name), {**cases.vector_keywords(name), **more}


CASES = {
    "grids": lambda: case(SOKOBAN),
    "masks": lambda: case(SOKOBAN, action_mask=True, level_info=True),
    "texts": lambda: case("roll_vec/RandomFrozenLake-v0 text"),
    "tasks": lambda: case("roll_vec/Countdown-v0"),
    "pickles": lambda: case("tests_vector/Guess-v0 in threads"),
    "rules": lambda: ("tests_rules/Merge-v0", {"max_episode_steps": 9}),
    "boxes": lambda: ("tests_rules/Mass-v0", {"max_episode_steps": 9}),
    "faults": lambda: (FragileWithStates, {"workers": 2}),
    "dicts": lambda: (functools.partial(Drifter, "dict"), {}),
}
# Equal states of these have other bytes.
INEXACT = ("pickles", "dicts")


class Play:
    """Random calls of a batch over shards and of one undivided batch."""

    def __init__(self, sharded, local, seed, *, is_exact=True):
        self.envs, self.is_exact = (sharded, local), is_exact
        self.rng, self.mode = np.random.default_rng(seed), local.autoreset_mode
        self.ended = np.zeros(local.num_envs, bool)
        self.states = []

    def both(self, function, where):
        """Call a function of each batch; compare, and return, the results."""
        sharded, local = (copy.deepcopy(function(env)) for env in self.envs)
        cases.assert_same(sharded, local, where)
        return local

    def run(self, num_calls):
        names = ["step"] * 6 + ["reset", "unroll", "save", "go back"]
        for number in range(num_calls):
            name = self.rng.choice(names)
            getattr(self, name.replace(" ", "_"))(f"call {number}, {name}")

    def mask(self):
        mask = self.rng.random(len(self.ended)) < 0.5
        mask[self.rng.integers(len(mask))] = True
        return mask

    def actions(self, count):
        return draw(self.envs[1], count, int(self.rng.integers(1 << 30)))

    def reset(self, where, mask=None):
        mask, n = self.mask() if mask is None else mask, len(self.ended)
        seeds = [None, int(self.rng.integers(99)), [None, 5] * (n // 2)]
        keywords = {"seed": seeds[self.rng.integers(3)]}
        if self.rng.random() < 0.8 or self.ended.any():
            keywords["options"] = {"reset_mask": mask.copy()}
        self.both(lambda env: env.reset(**copy.deepcopy(keywords)), where)
        self.ended &= ~mask if "options" in keywords else False

    def step(self, where):
        if self.ended.any():
            self.reset(where, self.ended.copy())
        (batch,) = self.actions(1)
        result = self.both(lambda env: env.step(copy.deepcopy(batch)), where)
        if self.mode is cases.DISABLED:
            self.ended = result[2] | result[3]
        values = [env.successes.tolist() for env in self.envs]
        assert values[0] == values[1]

    def unroll(self, where):
        if self.mode is cases.DISABLED:
            return
        batches = self.actions(4)
        if self.rng.random() < 0.3:
            # A policy gets the observations of the steps.
            calls = [iter(batches), iter(batches)]
            results = [
                tuple(env.unroll(lambda _, it=it: next(it), 4))
                for env, it in zip(self.envs, calls, strict=True)
            ]
            cases.assert_same(*results, where)
        else:
            self.both(lambda env: tuple(env.unroll(batches)), where)

    def save(self, where):
        states = [env.get_state() for env in self.envs]
        if self.is_exact:
            assert states[0] == states[1], where
        self.states.append((*states, self.ended.copy()))

    def go_back(self, where):
        if not self.states:
            return
        *states, ended = self.states[self.rng.integers(len(self.states))]
        # A snapshot of shards is one of an undivided batch.
        which = self.rng.integers(2)
        rows, mask = self.rng.permutation(len(ended)), self.mask()
        keywords = [{}, {"rows": rows}, {"rows": rows, "mask": mask}][
            self.rng.integers(3)
        ]
        self.both(lambda env: env.set_state(states[which], **keywords), where)
        new = ended[keywords.get("rows", slice(None))]
        self.ended = np.where(keywords.get("mask", True), new, self.ended)


@one_in(
    4, "name, mode, num_shards, dies", [*CASES], cases.MODES, [1, 2, 3], [False, True]
)
def test_random_calls(name, mode, num_shards, dies):
    id, keywords = CASES[name]()
    keywords |= {"autoreset_mode": mode, "group_size": 2}
    shards = {"snapshot_interval": 4}
    deaths = DEATHS if dies else {}
    sharded, local = local_actors.make_pair(
        id, N, num_shards, seed=3, deaths=deaths, shards=shards, **keywords
    )
    play = Play(sharded, local, 5, is_exact=name not in INEXACT)
    play.run(40)
    assert (local_actors.restarts_of(sharded) > 3) == dies
    for env in (sharded, local):
        env.close()


@pytest.mark.parametrize("mode", cases.MODES[:2], ids=lambda mode: mode.value)
def test_a_long_unroll_writes_into_the_arrays_of_the_last(mode):
    deaths = {(0, 3): "late", (2, 2): "early"}
    sharded, local = local_actors.make_pair(
        SOKOBAN, 5, 3, deaths=deaths, autoreset_mode=mode, **ROOMS
    )
    actions = np.random.default_rng(0).integers(1, 5, (2, 10, 5))
    first, result = (env.unroll(actions[0]) for env in (local, sharded))
    cases.assert_same(tuple(result), tuple(first))
    again = sharded.unroll(actions[1], out=result)
    cases.assert_same(tuple(again), tuple(local.unroll(actions[1], out=first)))
    assert again.rewards is result.rewards
    assert np.shares_memory(again.observations, result.observations)


def test_snapshots_fit_other_numbers_of_shards():
    keywords = {**ROOMS, "group_size": 2}
    first, second = (
        local_actors.make_env(SOKOBAN, N, count, **keywords) for count in (2, 3)
    )
    larger = local_actors.make_local(SOKOBAN, 2 * N, **keywords)
    first.reset(seed=1)
    actions = draw(first, 4, 0)
    first.step(actions[0])
    state = first.get_state()
    cases.assert_same(second.set_state(state), first.set_state(state))
    cases.assert_same(second.step(actions[1]), first.step(actions[1]))
    larger.set_state(state, rows=[*range(N), *range(N)])
    assert larger.get_state() == VectorState.concatenate([state, state])
    assert first.get_state() == second.get_state()


@one_in(2, "name, mode", ["grids", "tasks"], cases.MODES)
def test_bad_actions_are_refused_before_a_message(name, mode):
    id, keywords = CASES[name]()
    sharded, local = local_actors.make_pair(id, N, 3, autoreset_mode=mode, **keywords)
    messages = local_actors.actors_of(sharded).messages
    good = draw(local, 8, 0)
    bad = [*good[0][:-1], 9.5]
    count = len(messages)
    for call in (lambda: sharded.step(bad), lambda: sharded.unroll([bad] * 3)):
        with pytest.raises(InvalidActionError):
            call()
    if mode is not cases.NEXT_STEP:
        # There only the shards know which actions are ignored.
        with pytest.raises(InvalidActionError, match="step 2"):
            sharded.unroll([*good[:2], bad])
    assert len(messages) == count
    for batch in good:
        count = len(messages)
        ends = np.logical_or(*sharded.step(batch)[2:4])
        # A step is one message to each shard.
        assert [shard for shard, _ in messages[count:]] == [0, 1, 2]
        if mode is cases.DISABLED and ends.any():
            count = len(messages)
            with pytest.raises(ResetNeededError, match="have ended"):
                sharded.step(batch)
            assert len(messages) == count
            sharded.reset(options={"reset_mask": ends})


@pytest.mark.parametrize(
    ("name", "more"),
    [
        ("grids", {"render_mode": "rgb_array", "obs_mode": "planes"}),
        ("tasks", {"render_mode": "ansi"}),
        ("boxes", {"render_mode": "ansi"}),
    ],
)
def test_frames_attributes_levels_and_solutions(name, more):
    id, keywords = CASES[name]()
    keywords |= more
    sharded, local = batches = (
        local_actors.make_env(id, N, 3, **keywords),
        local_actors.make_local(id, N, **keywords),
    )
    for attribute in ("observation_space", "single_action_space", "metadata"):
        assert getattr(sharded, attribute) == getattr(local, attribute)
    for batch in batches:
        with pytest.raises(ResetNeededError, match="reset"):
            batch.render()
    cases.assert_same(sharded.reset(seed=3), local.reset(seed=3))
    names = ["render_mode", "np_random_seed"]
    if name != "boxes":
        cases.assert_same(sharded.solve(), local.solve())
    for batch in draw(local, 3, 1):
        for each in names:
            assert sharded.get_attr(each) == sharded.call(each) == local.get_attr(each)
        cases.assert_same(sharded.sample_actions(seed=3), local.sample_actions(seed=3))
        cases.assert_same(sharded.render(), local.render())
        cases.assert_same(sharded.step(batch), local.step(batch))
    cases.assert_same(sharded.reset(), local.reset())
