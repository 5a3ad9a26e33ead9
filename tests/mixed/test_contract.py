"""Mixed batches keep the contract of every batch."""

import numpy as np
import pytest
from gymnasium.vector import AutoresetMode

import roll_vec
from roll_vec.testing import check_vector_env
from tests.contract.cases import MODES, assert_same
from tests.mixed.families import FAMILIES, NUM_ENVS, TEXTS, make, make_sync, seeds_of


def draw_texts(rng):
    """Return a text for each environment."""
    return [TEXTS[i] for i in rng.integers(len(TEXTS), size=NUM_ENVS)]


@pytest.mark.parametrize("mode", MODES)
def test_batch_equals_sync_vector_env(mode):
    env = make(autoreset_mode=mode, group_id_info=True)
    expected = make_sync(mode, group_id_info=True)
    rng, ends = np.random.default_rng(0), np.zeros(NUM_ENVS, np.bool_)
    assert_same(env.reset(seed=7), expected.reset(seed=seeds_of(7)))
    count = 0
    for step in range(40):
        if step % 20 == 19:
            mask = rng.random(NUM_ENVS) < 0.5
            mask[0] = True
            seeds = [i if i % 3 else None for i in range(NUM_ENVS)]
            options = [{"reset_mask": mask.copy()} for _ in range(2)]
            assert_same(
                env.reset(seed=seeds, options=options[0]),
                expected.reset(seed=seeds, options=options[1]),
            )
            ends &= ~mask
        if mode is AutoresetMode.DISABLED and ends.any():
            masks = [{"reset_mask": ends.copy()} for _ in range(2)]
            assert_same(env.reset(options=masks[0]), expected.reset(options=masks[1]))
        texts = draw_texts(rng)
        result = env.step(texts)
        assert_same(result, expected.step(texts), f"step {step}")
        ends = result[2] | result[3]
        count += ends.sum()
    assert count > 30
    assert env.np_random_seed == expected.np_random_seed
    env.close()
    expected.close()


@pytest.mark.slow
def test_public_checker():
    small = {"max_episode_steps": 6}
    lakes = {"id": "roll_vec/RandomFrozenLake-v0", "size": 4, **small}
    families = {"lakes": lakes, "tests_vector/Guess-v0": small}

    def factory(num_envs, **keywords):
        own = dict(list(families.items())[:num_envs])
        return make(num_envs, own, **keywords)

    # Environment 1 of 3 is of another family than environment 0 of 1.
    check_vector_env(factory, steps=25, ignore={"seed-batch"})


def test_family_equals_its_batch_alone():
    keywords = FAMILIES["roll_vec/RandomFrozenLake-v0"]
    alone = roll_vec.make_vec(
        "roll_vec/RandomFrozenLake-v0",
        2,
        obs_mode="text",
        action_mode="text",
        **keywords,
    )
    env = make()
    rows = env.families["roll_vec/RandomFrozenLake-v0"].env_ids
    assert rows == range(6, 8)
    observations = env.reset(seed=3)[0]
    assert observations[6:8] == alone.reset(seed=3 + 4)[0]
    for _ in range(20):
        ours, theirs = env.step(["Down"] * NUM_ENVS), alone.step(["Down"] * 2)
        assert ours[0][6:8] == theirs[0]
        for one, other in zip(ours[1:4], theirs[1:4], strict=True):
            np.testing.assert_array_equal(one[6:8], other)
    env.close()
