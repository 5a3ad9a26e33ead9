"""Level options, solutions and snapshots, mixed at random, beside a twin."""

import random

import numpy as np
import pytest

import roll_vec
from roll_vec.vector.state import VectorState
from tests.pool.cases import EXECUTORS

COUNTDOWN, WEBSHOP = "roll_vec/Countdown-v0", "roll_vec/WebShop-v0"
INFOS = {"seed_info": True, "level_info": True, "oracle_return_info": True}
KEYWORDS = {
    COUNTDOWN: {"numbers_rule": "any", "max_steps": 2, "difficulty_info": True},
    WEBSHOP: {"num_products": 60, "max_episode_steps": 3},
}


def draw_level_options(rng, id):
    """Return level options, some of which do not fit together."""
    choices = {"num_levels": [2, 9, 50], "start_level": [0, 3, 99]}
    if id == WEBSHOP:
        choices["limit_goals"] = [None, 5, 9]
    else:
        choices["num_operations"] = [None, 1, 2, (2, 3), (0, 1), (None, 2)]
        choices["num_numbers"] = [(2, 4), 2, 4, (3, 4), 5]
    return {
        name: rng.choice(values)
        for name, values in choices.items()
        if rng.random() < 0.5
    }


def error_of(function, **keywords):
    """Return the type and the text of the error of a call, or None."""
    try:
        function(**keywords)
    except (ValueError, TypeError) as error:
        return type(error), str(error)
    return None


def walk(seed, executors, folder):
    """Compare two pools for 25 random calls; return the number of errors."""
    rng = random.Random(seed)
    id = rng.choice([COUNTDOWN, COUNTDOWN, WEBSHOP])
    num_envs = rng.randint(2, 5)
    keywords = {**KEYWORDS[id], **INFOS}
    keywords["autoreset_mode"] = rng.choice(["NextStep", "SameStep"])

    def make():
        return roll_vec.make_vec(id, num_envs, **keywords, **rng.choice(executors))

    env, twin, num_errors = make(), make(), 0
    first_seed = rng.randrange(1 << 34)
    np.testing.assert_equal(env.reset(seed=first_seed), twin.reset(seed=first_seed))
    for _ in range(25):
        call = rng.random()
        if call < 0.25:
            mask = np.array([rng.random() < 0.6 for _ in range(num_envs)])
            options = draw_level_options(rng, id)
            error = error_of(env.set_level_options, mask=mask, **options)
            assert error_of(twin.set_level_options, mask=mask, **options) == error
            num_errors += error is not None
        elif call < 0.4:
            # The twin goes on as a new pool, perhaps one with other level options.
            state = twin.get_state()
            if rng.random() < 0.5:
                state.save(folder / "state.npz")
                state = VectorState.load(folder / "state.npz")
            twin.close()
            twin = make()
            if rng.random() < 0.5:
                twin.reset(seed=1)
                twin.set_level_options(num_levels=7)
            rows = [rng.randrange(num_envs) for _ in range(num_envs)]
            observations = env.set_state(env.get_state(), rows=rows)
            assert observations == twin.set_state(state, rows=rows)
            assert env.get_attr("options") == twin.get_attr("options")
        elif call < 0.5:
            np.testing.assert_equal(env.reset(), twin.reset())
        else:
            solutions = env.solve()
            assert solutions == twin.solve()
            actions = [texts[0] if texts else "?" for texts in solutions]
            actions = [rng.choice([text, "1+1"]) for text in actions]
            np.testing.assert_equal(env.step(actions), twin.step(actions))
    env.close()
    twin.close()
    return num_errors


def test_short_walks(tmp_path):
    assert sum(walk(seed, EXECUTORS[:2], tmp_path) for seed in range(8))


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(100, 160))
def test_walks_in_all_executors(seed, tmp_path):
    walk(seed, EXECUTORS, tmp_path)
