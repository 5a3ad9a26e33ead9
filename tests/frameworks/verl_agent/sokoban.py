"""Sokoban: verl-agent's batch and ours, step by step."""

import numpy as np
from stand_ins import load_sokoban

from roll_vec.adapters.verl_agent import build_sokoban_envs

MODES = ("tiny_rgb_array", "list", "state", "rgb_array")


def is_same(theirs, ours):
    """Return whether two observations are the same, types included."""
    if isinstance(theirs, np.ndarray):
        return (
            isinstance(ours, np.ndarray)
            and theirs.dtype == ours.dtype
            and np.array_equal(theirs, ours)
        )
    return type(theirs) is type(ours) and theirs == ours


def compare(seed, env_num, group_n, mode, is_train, env_kwargs, num_steps):
    """Play the same actions in both; every other environment begins with a solution.

    Returns
    -------
    compared, retried, steps, won : int
        Environments that are equal, those whose seed verl-agent has replaced by a
        `hash`, steps, and rooms that were solved.
    """
    arguments = {"mode": mode, "is_train": is_train, "env_kwargs": env_kwargs}
    theirs = load_sokoban().build_sokoban_envs(
        seed, env_num, group_n, **{**arguments, "env_kwargs": dict(env_kwargs)}
    )
    ours = build_sokoban_envs(seed, env_num, group_n, **arguments)
    # The first draw is theirs, of numpy's global generator.
    bounds = (0, 2**16 - 1) if is_train else (2**16, 2**32 - 1)
    seeds = np.random.RandomState(seed).randint(*bounds, size=env_num)
    seeds = np.repeat(seeds, group_n)
    their_observations, their_infos = theirs.reset()
    observations, infos = ours.reset()
    rooms = [actor.instance.env for actor in theirs.workers]
    kept = np.array([env.seed == s for env, s in zip(rooms, seeds, strict=True)])
    rng = np.random.default_rng(seed)
    actions = rng.integers(0, 5, size=(num_steps, env_num * group_n))
    plans = ours.envs.solve()
    for i in range(0, len(plans), 2):
        plan = [] if plans[i] is None else list(plans[i])[:num_steps]
        actions[: len(plan), i] = plan
    active, steps, won = kept.copy(), 0, 0
    ids = np.flatnonzero(active)
    for i in ids:
        assert is_same(their_observations[i], observations[i]), (seeds[i], "reset")
        assert their_infos[i] == infos[i]
    for step, row in enumerate(actions.tolist()):
        results = theirs.step(row)
        ours_results = ours.step(row)
        for i in np.flatnonzero(active):
            where = f"seed {seeds[i]}, step {step}"
            observation, reward, done, info = (one[i] for one in results)
            our_observation, our_reward, our_done, our_info = (
                one[i] for one in ours_results
            )
            assert is_same(observation, our_observation), where
            assert reward == our_reward, (where, reward, our_reward)
            assert done == our_done, where
            assert info == our_info, (where, info, our_info)
            steps, won = steps + 1, won + info["won"]
            active[i] = not done
        if step in (0, num_steps // 2):
            for form in MODES if mode != "tiny_rgb_array" else MODES[:3]:
                pictures, our_pictures = theirs.render(form), ours.render(form)
                for i in np.flatnonzero(active):
                    assert is_same(pictures[i], our_pictures[i]), (seeds[i], form)
                    assert is_same(pictures[i], ours.render(form, env_idx=int(i)))
        # What has ended stays as it is.
        for i in np.flatnonzero(kept & ~active):
            assert ours_results[2][i]
    ours.close()
    return int(kept.sum()), int((~kept).sum()), steps, int(won)
