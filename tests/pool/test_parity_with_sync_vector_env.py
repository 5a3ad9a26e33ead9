"""The pool returns the same as Gymnasium's SyncVectorEnv, with any workers."""

import copy

import numpy as np
import pytest

from tests.contract.cases import assert_same
from tests.pool.cases import (
    DISABLED,
    EACH_EXECUTOR,
    KINDS,
    MODES,
    NAMED_EXECUTORS,
    NAMED_WORKERS,
    NEXT_STEP,
    draw_actions,
    play,
    pool,
    sync,
)
from tests.pool.envs import Drifter, drifters
from tests.thinning import one_in

STEPS = 25


def both(fns, mode=NEXT_STEP, **keywords):
    """Return the contexts of a pool and of Gymnasium's batch."""
    return pool(fns, autoreset_mode=mode, **keywords), sync(fns, autoreset_mode=mode)


@one_in(3, "workers, mode", NAMED_WORKERS, MODES)
def test_lockstep_any_number_of_workers(mode, workers):
    first, second = both(KINDS["text"](4), mode, **workers)
    with first as env, second as twin:
        assert_same(env.reset(seed=7), twin.reset(seed=7))
        actions = draw_actions("text", 4, STEPS)
        assert_same(play(env, actions), play(twin, actions))
        assert_same(env.reset(), twin.reset())
        seeds = [5, None, 2**40, 6]
        assert_same(env.reset(seed=seeds), twin.reset(seed=seeds))
        assert_same(play(env, actions), play(twin, actions))


@one_in(
    3,
    "workers, mode, kind",
    NAMED_EXECUTORS,
    MODES,
    ["box", "dict", "discrete", "tuple", "counter"],
)
def test_lockstep_any_space(kind, mode, workers):
    first, second = both(KINDS[kind](3), mode, **workers)
    with first as env, second as twin:
        assert_same(env.reset(seed=1), twin.reset(seed=1))
        actions = draw_actions(kind, 3, STEPS)
        assert_same(play(env, actions), play(twin, actions))
        assert_same(env.reset(seed=[5, None, 6]), twin.reset(seed=[5, None, 6]))


@EACH_EXECUTOR
def test_spaces_and_attributes(workers):
    fns = [lambda: Drifter("dict", "ansi")] * 3
    first, second = both(fns, **workers)
    with first as env, second as twin:
        for name in (
            "single_observation_space",
            "observation_space",
            "single_action_space",
            "action_space",
            "metadata",
            "render_mode",
            "num_envs",
            "spec",
        ):
            assert getattr(env, name) == getattr(twin, name), name
        for one in (env, twin):
            one.reset(seed=3)
        assert env.np_random_seed == twin.np_random_seed == (3, 4, 5)
        states = [
            [one.bit_generator.state for one in env.np_random] for one in (env, twin)
        ]
        assert states[0] == states[1]
        assert env.render() == twin.render()
        assert env.call("render") == ("clock 0",) * 3
        for one in (env, twin):
            one.set_attr("scale", [2.0, 3.0, 4.0])
            assert one.get_attr("scale") == (2.0, 3.0, 4.0)
            one.set_attr("scale", 5.0)
            assert one.get_attr("scale") == (5.0,) * 3
            with pytest.raises(ValueError, match="3"):
                one.set_attr("scale", [1.0])
            with pytest.raises(AttributeError):
                one.get_attr("nothing")
        if workers.get("executor") == "process":
            with pytest.raises(AttributeError, match="in worker processes: use call"):
                env.envs  # noqa: B018
        else:
            assert list(map(type, env.envs)) == list(map(type, twin.envs))
        actions = draw_actions("dict", 3, 5)
        assert_same(play(env, actions), play(twin, actions))


@EACH_EXECUTOR
def test_options_reach_the_environments_and_stay_as_they_are(workers):
    with pool(KINDS["text"](2), autoreset_mode=DISABLED, **workers) as env:
        options = {"reset_mask": np.array([True, True]), "map": 3}
        _, infos = env.reset(seed=1, options=options)
        assert list(options) == ["reset_mask", "map"]
        assert infos["options"].tolist() == ["{'map': 3}"] * 2
        _, infos = env.reset()
        assert infos["options"].tolist() == ["None"] * 2


@EACH_EXECUTOR
def test_an_unseeded_foreign_environment_is_reset_without_a_seed(workers):
    def seeded():
        env = Drifter("box")
        env.reset(seed=11)
        return env

    first, second = both([seeded] * 2, **workers)
    with first as env, second as twin:
        assert_same(env.reset(), twin.reset())


@EACH_EXECUTOR
def test_groups_share_their_entropy(workers):
    keywords = {"group_size": 2, "group_id_info": True, **workers}
    with pool(KINDS["box"](4), **keywords) as env:
        observations, infos = env.reset()
        assert infos["group_id"].tolist() == [0, 0, 1, 1]
        assert (observations[0] == observations[1]).all()
        assert (observations[2] == observations[3]).all()
        assert (observations[0] != observations[2]).any()
        observations, _ = env.reset(seed=4)
        assert env.np_random_seed == (4, 4, 5, 5)


@EACH_EXECUTOR
def test_step_limit(workers):
    """An episode that also ends by the rules at the limit is both."""
    with pool(KINDS["text"](3), max_episode_steps=2, **workers) as env:
        env.reset(seed=0)
        ends = set()
        for action in draw_actions("text", 3, 40):
            _, _, terminations, truncations, infos = env.step(action)
            turns = infos.get("turn", np.zeros(3))
            for row in range(3):
                assert truncations[row] == (turns[row] == 2)
                ends.add((bool(terminations[row]), bool(truncations[row])))
        assert ends == {(False, False), (False, True), (True, True)}


@EACH_EXECUTOR
@pytest.mark.parametrize("kind", ["box", "dict"])
def test_with_copies_nothing_returned_changes(kind, workers):
    with pool(KINDS[kind](2), **workers) as env:
        results = [env.reset(seed=1)]
        results += [env.step(action) for action in draw_actions(kind, 2, 1)]
        copies = copy.deepcopy(results)
        play(env, draw_actions(kind, 2, 8, seed=1))
        assert_same(results, copies)


@one_in(3, "workers, mode, kind", NAMED_EXECUTORS, MODES, ["box", "dict", "tuple"])
def test_environments_may_reuse_their_arrays(kind, mode, workers):
    """SyncVectorEnv would return the reset's observation as the final one."""
    reusing, careful = (
        pool(drifters(kind, 3, reuses), autoreset_mode=mode, **workers)
        for reuses in (True, False)
    )
    with reusing as one, careful as other:
        assert_same(one.reset(seed=1), other.reset(seed=1))
        actions = draw_actions(kind, 3, STEPS)
        assert_same(play(one, actions), play(other, actions))
