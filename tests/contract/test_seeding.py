"""Seeds: their forms, entropy, groups, documented level seeds, and what is refused.

That each environment has a stream of its own, which partial resets let go on, is what
the public checker and the lockstep with SyncVectorEnv say of every case.
"""

import numpy as np
import pytest
from gymnasium import error as gym_error

from roll_vec.errors import InvalidSeedError, ResetNeededError
from roll_vec.seeding import episode_seed, fold_seed
from tests.contract.cases import (
    ARRAY_AND_POOL,
    CASES,
    DISABLED,
    LEVELS,
    MODES,
    NEXT_STEP,
    SAME_STEP,
    assert_same,
    assert_undisturbed,
    draw_actions,
    make_batch,
    make_sync,
    play,
    scale_steps,
)

BIG_SEEDS = [2**31, 2**32 - 1, 2**32, 2**33 + 5, 2**64, 3**90]


@pytest.mark.parametrize("case", CASES)
def test_environment_i_is_the_single_form_with_seed_plus_i(case):
    env, singles = make_batch(case, 3), make_sync(case, 3, NEXT_STEP)
    actions = draw_actions(env, scale_steps(80))
    for seed in (0, 2**32 - 2, 2**64 - 1):
        assert_same(env.reset(seed=seed), singles.reset(seed=seed))
        assert env.np_random_seed == singles.np_random_seed
        assert_same(play(env, actions), play(singles, actions))


@pytest.mark.parametrize("case", ARRAY_AND_POOL)
def test_forms_of_seeds(case):
    env = make_batch(case, 3)
    for seeds, forms in (
        ((8, 9, 10), (8, np.int64(8), np.uint8(8))),
        ((3, 2**40, 3), ([3, 2**40, 3], np.array([3, 2**40, 3]))),
    ):
        expected = env.reset(seed=seeds)
        for form in forms:
            assert_same(env.reset(seed=form), expected)
            assert env.np_random_seed == seeds


# ------------------------------------------------------- groups and entropy


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("case", ARRAY_AND_POOL)
def test_group_ids_are_in_the_infos_of_resets_and_change_nothing_else(case, mode):
    more = {"group_size": 2, "autoreset_mode": mode}
    env = make_batch(case, 4, group_id_info=True, **more)
    plain = make_batch(case, 4, **more)

    def check(infos, expected, begun):
        found = infos.pop("group_id", np.zeros(4, np.int64))
        mask = infos.pop("_group_id", np.zeros(4, np.bool_))
        assert_same(mask, begun)
        assert_same(found, np.where(begun, [0, 0, 1, 1], 0))
        assert_same(infos, expected)

    everything = np.ones(4, np.bool_)
    for seed in (5, None):
        check(env.reset(seed=seed)[1], plain.reset(seed=seed)[1], everything)
    assert env.np_random_seed == (5, 5, 6, 6)
    pending = ~everything
    ended = 0
    for row in draw_actions(env, 30):
        result, expected = env.step(row), plain.step(row)
        assert_same(result[:4], expected[:4])
        finished = result[2] | result[3]
        ended += finished.sum()
        begun = {NEXT_STEP: pending, SAME_STEP: finished, DISABLED: ~everything}[mode]
        check(result[4], expected[4], begun)
        pending = finished
        if mode is DISABLED and finished.any():
            resets = [
                batch.reset(options={"reset_mask": finished}) for batch in (env, plain)
            ]
            check(resets[0][1], resets[1][1], finished)
    assert ended


@pytest.mark.parametrize("case", ARRAY_AND_POOL)
def test_a_first_reset_without_seeds_draws_entropy(case):
    env, again, other = (make_batch(case, 4, group_size=2) for _ in range(3))
    assert env.np_random_seed == (None,) * 4
    start = env.reset()
    seeds = env.np_random_seed
    assert all(type(seed) is int and 0 <= seed < 2**64 for seed in seeds)
    # One a group, that can be used again.
    assert seeds[0] == seeds[1] != seeds[2] == seeds[3]
    assert_same(again.reset(seed=seeds), start)
    actions = draw_actions(env, 30)
    assert_same(play(again, actions), play(env, actions))
    env.reset()
    assert env.np_random_seed == seeds
    other.reset(seed=[None, 7, None, None])
    drawn = other.np_random_seed
    assert drawn[1] == 7
    assert drawn[2] == drawn[3]
    assert len({*drawn, *seeds}) == 5


# ------------------------------------------------------- levels and big seeds


@pytest.mark.parametrize("case", LEVELS)
def test_levels_are_those_of_the_documented_seeds(case):
    seeds = [0, 17, 2**50, *BIG_SEEDS]
    size = len(seeds)
    env, levels = make_batch(case, size), make_batch(case, size)
    few = make_batch(case, size, num_levels=3, start_level=10)
    assert_same(levels.reset(seed=[fold_seed(s) for s in seeds]), env.reset(seed=seeds))
    assert env.np_random_seed == tuple(seeds)
    few.reset(seed=seeds)
    for episode in range(1, 8):
        played = [episode_seed(seed, episode) for seed in seeds]
        assert_same(env.reset()[0], levels.reset(seed=played)[0])
        played = [10 + seed % 3 for seed in played]
        assert_same(few.reset()[0], levels.reset(seed=played)[0])


# -------------------------------------------------------------------- refused


@pytest.mark.parametrize(
    "seed",
    [-1, [0, -5, 1], [0, "1", 2], [0, 1.0, 2], "abc", 1.5, True, [True, None, None]],
)
@pytest.mark.parametrize("case", ARRAY_AND_POOL)
def test_bad_seed_is_refused_before_anything_moves(case, seed):
    env, twin = make_batch(case, 3), make_batch(case, 3)
    for batch in (env, twin):
        batch.reset(seed=0)
    with pytest.raises(InvalidSeedError, match=r"non-negative integer.*got") as caught:
        env.reset(seed=seed)
    assert isinstance(caught.value, gym_error.Error)
    assert_undisturbed(env, twin)


@pytest.mark.parametrize("seed", [[], [1, 2], [1, 2, 3, 4], np.arange(5)], ids=str)
def test_wrong_number_of_seeds_is_refused(seed):
    env = make_batch("roll_vec/Sokoban-v0", 3)
    with pytest.raises(ValueError, match=r"each of the 3 environments, got \d"):
        env.reset(seed=seed)
    with pytest.raises(ResetNeededError):
        env.step([1, 1, 1])
