"""Seeds of a batch: environment i equals the single environment with its seed."""

import numpy as np
import pytest
from gymnasium import error as gym_error

from roll_vec.errors import InvalidOptionError, InvalidSeedError, ResetNeededError
from roll_vec.seeding import episode_seed, fold_seed
from tests.contract.cases import (
    ARRAY_AND_POOL,
    ARRAY_IDS,
    CASES,
    DISABLED,
    LEVELS,
    MODES,
    NEXT_STEP,
    SAME_STEP,
    assert_same,
    draw_actions,
    is_pooled,
    lowest_action,
    make_batch,
    make_single,
    play,
    scale_steps,
    single_info,
)

BIG_SEEDS = [2**31, 2**32 - 1, 2**32, 2**33 + 5, 2**64, 3**90]


def facts(observation, reward, terminated, truncated, info):
    """Return one environment's step in a form that does not depend on batching."""
    flags = bool(terminated), bool(truncated)
    return np.asarray(observation), float(reward), *flags, info


def rows_of(results, row):
    """Return one environment's part of the results of `play`."""
    return [
        facts(*(batch[row] for batch in batches), single_info(infos, row))
        for *batches, infos in results
    ]


def play_alone(env, seed, actions):
    """Play the single environment as a batch in NEXT_STEP mode does."""
    env.reset(seed=seed)
    results = []
    finished = False
    for action in actions:
        if finished:
            observation, info = env.reset()
            results.append(facts(observation, 0.0, False, False, info))
            finished = False
        else:
            results.append(facts(*env.step(action)))
            finished = results[-1][2] or results[-1][3]
    return results


@pytest.mark.parametrize("seed", [0, 12345, 2**32 - 2, 2**64 - 1], ids=str)
@pytest.mark.parametrize("case", CASES)
def test_environment_i_is_the_single_form_with_seed_plus_i(case, seed):
    env = make_batch(case, 3)
    env.reset(seed=seed)
    actions = draw_actions(env, scale_steps(80))
    results = play(env, actions)
    for i in range(3):
        alone = make_single(case)
        expected = play_alone(alone, seed + i, actions[:, i].tolist())
        assert_same(rows_of(results, i), expected)


@pytest.mark.parametrize("case", CASES)
def test_environment_does_not_depend_on_those_beside_it(case):
    many = make_batch(case, 7)
    many.reset(seed=20)
    actions = draw_actions(many, scale_steps(80))
    expected = play(many, actions)
    for first, size in ((0, 1), (2, 3), (4, 3)):
        alone = {} if is_pooled(case) else {"num_threads": 1}
        few = make_batch(case, size, **alone)
        few.reset(seed=20 + first)
        results = play(few, actions[:, first : first + size])
        for i in range(size):
            assert_same(rows_of(results, i), rows_of(expected, first + i))


@pytest.mark.parametrize("case", CASES)
def test_order_of_resets_does_not_matter(case):
    at_once, in_turn = (make_batch(case, 3, autoreset_mode=DISABLED) for _ in range(2))
    observations, _ = at_once.reset(seed=[5, 6, 7])
    in_turn.reset(seed=[100, 101, 102])
    for row in (2, 0, 1):
        mask = np.arange(3) == row
        seeds = [None, None, None]
        seeds[row] = 5 + row
        others, _ = in_turn.reset(seed=seeds, options={"reset_mask": mask})
    assert_same(others, observations)
    actions = draw_actions(at_once, 40)
    assert_same(play(in_turn, actions), play(at_once, actions))


@pytest.mark.parametrize("case", CASES)
def test_sequences_of_seeds(case):
    seeds = [3, 2**40, 3]
    expected = None
    for given in (seeds, tuple(seeds), np.array(seeds)):
        env = make_batch(case, 3)
        env.reset(seed=given)
        assert env.np_random_seed == (3, 2**40, 3)
        results = play(env, draw_actions(env, 30))
        expected = expected or results
        assert_same(results, expected)
    # Actions differ, worlds do not.
    first, _ = make_batch(case, 3).reset(seed=seeds)
    np.testing.assert_array_equal(first[0], first[2])


@pytest.mark.parametrize("case", CASES)
def test_numpy_integer_is_an_int(case):
    expected = make_batch(case, 3).reset(seed=8)
    for seed in (np.int64(8), np.uint8(8)):
        assert_same(make_batch(case, 3).reset(seed=seed), expected)


@pytest.mark.parametrize("case", CASES)
def test_none_lets_a_stream_go_on(case):
    env, twin = (make_batch(case, 4, autoreset_mode=DISABLED) for _ in range(2))
    for batch in (env, twin):
        batch.reset(seed=0)
    observations, infos = env.reset(seed=[None, 50, None, None])
    expected, expected_infos = twin.reset()
    fresh, fresh_infos = make_batch(case, 1).reset(seed=50)
    assert infos.keys() == expected_infos.keys()
    assert_same(single_info(infos, 1), single_info(fresh_infos, 0))
    for row in (0, 2, 3):
        assert_same(single_info(infos, row), single_info(expected_infos, row))
        np.testing.assert_array_equal(observations[row], expected[row])
    np.testing.assert_array_equal(observations[1], fresh[0])
    assert env.np_random_seed == (0, 50, 2, 3)
    assert twin.np_random_seed == (0, 1, 2, 3)


@pytest.mark.parametrize("case", CASES)
def test_seeding_again_starts_again(case):
    env = make_batch(case)
    expected = None
    for _ in range(2):
        start = env.reset(seed=4)
        results = [start, play(env, draw_actions(env, 40))]
        expected = expected or results
        assert_same(results, expected)
        env.reset()


# -------------------------------------------------------------------- groups


@pytest.mark.parametrize("mode", [NEXT_STEP, SAME_STEP])
@pytest.mark.parametrize("case", CASES)
def test_group_members_have_one_seed(case, mode):
    env = make_batch(case, 6, group_size=3, autoreset_mode=mode)
    env.reset(seed=30)
    assert env.np_random_seed == (30, 30, 30, 31, 31, 31)
    # The same actions in a group give the same everything.
    actions = draw_actions(env, scale_steps(60))[:, [0, 0, 0, 3, 3, 3]]
    results = play(env, actions)
    for i, j in ((0, 1), (0, 2), (3, 4), (3, 5)):
        assert_same(rows_of(results, i), rows_of(results, j))


@pytest.mark.parametrize("case", LEVELS)
def test_group_members_share_their_next_level_at_their_own_time(case):
    env = make_batch(case, 4, group_size=2, autoreset_mode=DISABLED)
    env.reset(seed=3)
    seen = []
    for row in range(4):
        mask = np.arange(4) == row
        env.step([lowest_action(env)] * 4)
        observations, _ = env.reset(options={"reset_mask": mask})
        seen.append(observations[row])
    np.testing.assert_array_equal(seen[0], seen[1])
    np.testing.assert_array_equal(seen[2], seen[3])


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("case", CASES)
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
            masks = [{"reset_mask": finished.copy()} for _ in range(2)]
            resets = [
                b.reset(options=m) for b, m in zip((env, plain), masks, strict=True)
            ]
            check(resets[0][1], resets[1][1], finished)
    assert ended
    with pytest.raises(InvalidOptionError, match="group_id_info"):
        make_batch(case, 4, group_id_info="yes")


def test_sequence_of_seeds_is_taken_as_given_in_groups():
    env = make_batch(ARRAY_IDS[0], 4, group_size=2)
    env.reset(seed=[1, 2, 3, 4])
    assert env.np_random_seed == (1, 2, 3, 4)


# ------------------------------------------------------------------- entropy


@pytest.mark.parametrize("case", CASES)
def test_first_unseeded_reset_draws_entropy(case):
    env = make_batch(case, 3)
    assert env.np_random_seed == (None, None, None)
    env.reset()
    seeds = env.np_random_seed
    assert len(set(seeds)) == 3
    assert all(type(seed) is int and 0 <= seed < 2**64 for seed in seeds)
    env.reset()
    assert env.np_random_seed == seeds
    other = make_batch(case, 3)
    other.reset()
    assert not set(other.np_random_seed) & set(seeds)


@pytest.mark.parametrize("case", CASES)
def test_entropy_can_be_played_again(case):
    env, again = (make_batch(case, 3) for _ in range(2))
    start = env.reset()
    assert_same(again.reset(seed=env.np_random_seed), start)
    actions = draw_actions(env, 50)
    assert_same(play(again, actions), play(env, actions))


def test_unseeded_group_draws_once():
    env = make_batch(ARRAY_IDS[0], 6, group_size=3)
    env.reset()
    seeds = env.np_random_seed
    assert len(set(seeds[:3])) == len(set(seeds[3:])) == 1
    assert seeds[0] != seeds[3]


def test_nones_of_a_first_reset_are_drawn_and_the_rest_kept():
    env = make_batch(ARRAY_IDS[0], 4, group_size=2)
    env.reset(seed=[None, 7, None, None])
    drawn = env.np_random_seed
    assert drawn[1] == 7
    assert drawn[2] == drawn[3]
    assert len(set(drawn)) == 3


# ----------------------------------------------------- big and refused seeds


@pytest.mark.parametrize("case", LEVELS)
def test_big_seeds_are_folded_as_documented(case):
    env = make_batch(case, len(BIG_SEEDS))
    folded = make_batch(case, len(BIG_SEEDS))
    observations = env.reset(seed=BIG_SEEDS)
    assert env.np_random_seed == tuple(BIG_SEEDS)
    seeds = [fold_seed(seed) for seed in BIG_SEEDS]
    assert_same(folded.reset(seed=seeds), observations)
    actions = draw_actions(env, 50)
    assert_same(play(folded, actions), play(env, actions))


@pytest.mark.parametrize("case", LEVELS)
def test_later_episodes_play_the_documented_level_seeds(case):
    env, levels = make_batch(case, 2), make_batch(case, 2)
    env.reset(seed=[17, 2**50])
    for episode in range(1, 8):
        observations, _ = env.reset()
        seeds = [episode_seed(17, episode), episode_seed(2**50, episode)]
        assert_same(observations, levels.reset(seed=seeds)[0])


@pytest.mark.parametrize("case", LEVELS)
def test_finite_levels_are_those_of_their_own_seeds(case):
    env = make_batch(case, 4, num_levels=3, start_level=10)
    levels = make_batch(case, 4)
    seeds = [0, 1, 5, 2**35]
    observations, _ = env.reset(seed=seeds)
    for episode in range(5):
        played = [10 + episode_seed(seed, episode) % 3 for seed in seeds]
        assert_same(observations, levels.reset(seed=played)[0])
        observations, _ = env.reset()


@pytest.mark.parametrize("seed", [-1, [0, -5, 1], [0, "1", 2], [0, 1.0, 2], "abc", 1.5])
@pytest.mark.parametrize("case", ARRAY_AND_POOL)
def test_bad_seed_is_refused_before_anything_moves(case, seed):
    env, twin = make_batch(case, 3), make_batch(case, 3)
    for batch in (env, twin):
        batch.reset(seed=0)
    with pytest.raises(InvalidSeedError, match="non-negative integer") as caught:
        env.reset(seed=seed)
    assert isinstance(caught.value, gym_error.Error)
    assert env.np_random_seed == (0, 1, 2)
    actions = draw_actions(env, 40)
    assert_same(play(env, actions), play(twin, actions))


@pytest.mark.parametrize("seed", [[], [1, 2], [1, 2, 3, 4], np.arange(5)], ids=str)
def test_wrong_number_of_seeds_is_refused(seed):
    env = make_batch(ARRAY_IDS[0], 3)
    with pytest.raises(ValueError, match=r"each of the 3 environments, got \d"):
        env.reset(seed=seed)
    with pytest.raises(ResetNeededError):
        env.step([1, 1, 1])


def test_a_bool_is_no_seed():
    for seed in (True, [True, None, None, None]):
        with pytest.raises(InvalidSeedError, match="got True"):
            make_batch(ARRAY_IDS[0]).reset(seed=seed)
