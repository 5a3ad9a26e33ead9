"""`send` and `recv` over shards differ from those of a local pool."""

import random

import numpy as np
import pytest

from tests.contract.cases import (
    DISABLED,
    MODES,
    assert_same,
    draw_actions,
    id_of,
    make_batch,
    vector_keywords,
)
from tests.distributed.local_actors import actors_of, make_env

NUM_ENVS = 7
KEYWORDS = {"group_id_info": True, "episode_info": True}


def split_results(batch):
    """Return, by environment, what `recv` says of it."""
    observations, rewards, terminations, truncations, infos = batch
    assert infos["env_id"].tolist() == sorted(infos["env_id"].tolist())
    results = {}
    for i, env_id in enumerate(infos["env_id"].tolist()):
        own = {
            key: value[i].item() if isinstance(value[i], np.generic) else value[i]
            for key, value in infos.items()
            if not key.startswith("_") and not isinstance(value, dict)
            if infos[f"_{key}"][i]
        }
        ends = bool(terminations[i]), bool(truncations[i])
        results[env_id] = observations[i], float(rewards[i]), *ends, own
    return results


@pytest.mark.parametrize("mode", MODES, ids=lambda mode: mode.value)
@pytest.mark.parametrize(
    "name",
    [
        "roll_vec/Countdown-v0",
        "tests_vector/Guess-v0 in threads",
        "roll_vec/RandomFrozenLake-v0 text",
    ],
)
@pytest.mark.parametrize("dies", [False, True])
def test_every_environment_plays_as_in_a_local_pool(name, mode, dies):
    rng, deaths = random.Random(f"{name} {mode.value}"), {}
    if dies:
        deaths = {
            (rng.randrange(3), rng.randrange(60)): rng.choice(["early", "late"])
            for _ in range(20)
        }
    own = {"autoreset_mode": mode, **KEYWORDS}
    local = make_batch(name, NUM_ENVS, **own)
    keywords = vector_keywords(name, **own)
    sharded = make_env(
        id_of(name),
        NUM_ENVS,
        3,
        deaths=deaths,
        snapshot_interval=3,
        max_restarts=-1,
        **keywords,
    )
    assert_same(sharded.reset(seed=2), local.reset(seed=2))
    ended = np.zeros(NUM_ENVS, np.bool_)
    for actions in draw_actions(local, 30, seed=3):
        able = np.arange(NUM_ENVS)
        if mode is DISABLED:
            able = np.flatnonzero(~ended)
        env_ids = rng.sample(able.tolist(), rng.randint(0, len(able)))
        if not env_ids:
            continue
        chosen = [actions[env_id] for env_id in env_ids]
        local.send(chosen, env_ids)
        # In two parts: the second while the first may be ready.
        half = rng.randint(0, len(env_ids))
        sharded.send(chosen[:half], env_ids[:half])
        received = split_results(sharded.recv(1)) if half else {}
        sharded.send(chosen[half:], env_ids[half:])
        while len(received) < len(env_ids):
            received |= split_results(sharded.recv(1, 9.0))
        expected = split_results(local.recv(None))
        for env_id in env_ids:
            assert_same(received[env_id], expected[env_id])
            ended[env_id] = expected[env_id][2] or expected[env_id][3]
    if mode is DISABLED and ended.any():
        options = {"reset_mask": ended}
        assert_same(sharded.reset(options=options), local.reset(options=options))
    for actions in draw_actions(local, 1, seed=4):
        assert_same(sharded.step(actions), local.step(actions))
    if dies:
        assert sum(sharded.restarts) >= 4
        restores = [restore for _, _, restore in actors_of(sharded).messages if restore]
        # Snapshots are taken meanwhile: no replay begins at the first reset.
        assert restores[-1].state is not None
        assert max(len(one.operations) for one in restores) < 25
    sharded.close()


@pytest.mark.parametrize("dies", [False, True])
def test_a_shard_that_is_never_at_rest_has_snapshots(dies):
    name = "tests_vector/Guess-v0"
    deaths = {(0, 41): "late", (1, 52): "early"} if dies else {}
    keywords = {"deaths": deaths, "snapshot_interval": 3, **vector_keywords(name)}
    sharded, local = make_env(id_of(name), 4, 2, **keywords), make_batch(name, 4)
    assert_same(sharded.reset(seed=0), local.reset(seed=0))
    expected, lengths = {}, []

    for _ in range(120):
        for env_id in [i for i in range(4) if i not in expected]:
            for env in (sharded, local):
                env.send(["1"], [env_id])
            expected |= split_results(local.recv(None))
        # The oldest message has an answer, and the others are under way.
        for env_id, result in split_results(sharded.recv(1, 9.0)).items():
            assert_same(result, expected.pop(env_id))
        lengths += [len(one.operations) for one in sharded.engine.shards.records]
    assert max(lengths) < 24
    assert sum(sharded.restarts) == len(deaths)
    sharded.close()
