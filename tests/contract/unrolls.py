"""What the tests of many steps in one call share."""

import copy

from tests.contract.cases import CASES, DISABLED, is_pooled, lowest_action, make_batch

N, T = 4, 40
ARRAYS = tuple(case for case in CASES if not is_pooled(case))


def make_pair(case, **more):
    """Return two batches at the same point in the middle of episodes."""
    pair = [make_batch(case, N, **more) for _ in range(2)]
    for env in pair:
        env.reset(seed=2)
        env.step([lowest_action(env)] * N)
    return pair


def play_out(env, actions):
    """Return actions and results of steps until the first that ends something."""
    results = []
    for batch in actions:
        results.append(copy.deepcopy(env.step(batch)))
        if env.autoreset_mode is DISABLED and (results[-1][2] | results[-1][3]).any():
            break
    return results
