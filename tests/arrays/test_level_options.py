"""`set_level_options`: a curriculum.

It is for bugs such as these:

- the present episode is changed, too;
- a pending autoreset plays the options from before, or a kernel that is bound to them.
"""

import gymnasium
import pytest
from gymnasium.vector import SyncVectorEnv

import roll_vec
from tests.conftest import JIT_OFF
from tests.contract.cases import assert_same, assert_undisturbed, draw_actions

pytestmark = pytest.mark.skipif(
    JIT_OFF, reason="a minute uncompiled, for kernels that others run as well"
)

SOKOBAN, RANDOM_LAKE = "roll_vec/Sokoban-v0", "roll_vec/RandomFrozenLake-v0"
CASES = {
    SOKOBAN: (
        # Small rooms, for runs without compiled kernels.
        {"dim_room": (5, 6), "search_depth": 20, "num_boxes": 2},
        {"num_boxes": 1, "num_levels": 7, "start_level": 3},
    ),
    RANDOM_LAKE: ({"p": 0.9}, {"p": 0.5, "num_levels": 0}),
}
LIMIT = {"max_episode_steps": 5, "action_start": 1}


def make_batch(id, num_envs=6, **more):
    """Return a batch that was reset."""
    env = roll_vec.make_vec(id, num_envs, **LIMIT, **CASES[id][0], **more)
    env.reset(seed=3)
    return env


@pytest.fixture(params=CASES)
def id(request):
    """The id of a family with levels."""
    return request.param


# ------------------------------------------------------------------------ episodes


@pytest.mark.parametrize("mode", ["NextStep", "SameStep"])
def test_a_batch_equals_single_environments(id, mode):
    first, later = CASES[id]
    keywords = {**LIMIT, **first, "seed_info": True, "level_info": True}
    env = gymnasium.make_vec(id, num_envs=6, autoreset_mode=mode, **keywords)
    sync = SyncVectorEnv(
        [lambda: gymnasium.make(id, **keywords) for _ in range(6)], autoreset_mode=mode
    )
    assert_same(env.reset(seed=1), sync.reset(seed=1))
    actions = draw_actions(env, 60)
    changes = {
        7: later,
        22: {"start_level": 40, "num_levels": 3},
        37: {k: first[k] for k in first.keys() & later.keys()},
        # An episode of every environment has ended at a step of this kind: 5, 10, ...
        48: {"num_levels": 0, "start_level": 0},
    }
    for t, batch in enumerate(actions):
        if t in changes:
            env.unwrapped.set_level_options(**changes[t])
            for one in sync.envs:
                one.unwrapped.set_level_options(**changes[t])
        assert_same(env.step(batch), sync.step(batch), f"step {t}")


def test_options_back_to_the_first_leave_no_trace(id):
    later = CASES[id][1]
    env, twin = make_batch(id), make_batch(id)
    env.set_level_options(**later)
    first = gymnasium.make(id, **CASES[id][0]).unwrapped.options
    env.set_level_options(**{name: getattr(first, name) for name in later})
    assert env.get_state() == twin.get_state()
    assert_undisturbed(env, twin)


# ----------------------------------------------------------------------- snapshots
