"""`set_level_options`: a curriculum, for all or some environments.

It is for bugs such as these:

- the present episode is changed, too;
- the options of a mask go to the environments in front;
- a state of another batch keeps the indices of that batch's sets;
- a pending autoreset takes the options from before;
- the options of a mask are checked beside those of another environment;
- a state gives out the batch's own table of options;
- `solve` takes the level of the next options for the one that is played.
"""

import copy
import pickle

import gymnasium
import numpy as np
import pytest
from gymnasium.vector import SyncVectorEnv

import roll_vec
from roll_vec import VectorState
from roll_vec.errors import (
    InvalidStateError,
)
from tests.conftest import JIT_OFF
from tests.contract.cases import assert_same, assert_undisturbed, draw_actions, play

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


def make_single(id):
    """Return a single environment with the keywords of a batch."""
    keywords = {"action_start": 1, **CASES[id][0]}
    env = gymnasium.make(id, **keywords).unwrapped
    env.reset(seed=0)
    return env


def damage(state, shared=None, **arrays):
    """Return a state with other arrays."""
    return VectorState(
        state.id,
        state.configuration,
        {**state.arrays, **arrays},
        state.shared if shared is None else shared,
    )


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
        7: (np.array([True, False, True, False, False, True]), later),
        22: (None, {"start_level": 40, "num_levels": 3}),
        37: (np.arange(6) < 2, {k: first[k] for k in first.keys() & later.keys()}),
        # An episode of every environment has ended at a step of this kind: 5, 10, ...
        48: (None, {"num_levels": 0, "start_level": 0}),
    }
    for t, batch in enumerate(actions):
        if t in changes:
            mask, options = changes[t]
            env.unwrapped.set_level_options(mask=mask, **options)
            for i in range(6) if mask is None else np.flatnonzero(mask).tolist():
                sync.envs[i].unwrapped.set_level_options(**options)
        assert_same(env.step(batch), sync.step(batch), f"step {t}")


def test_an_empty_mask_and_options_back_to_the_first_leave_no_trace(id):
    later = CASES[id][1]
    env, twin = make_batch(id), make_batch(id)
    env.set_level_options(mask=np.zeros(6, np.bool_), **later)
    env.set_level_options(mask=np.arange(6) > 3, **later)
    first = gymnasium.make(id, **CASES[id][0]).unwrapped.options
    env.set_level_options(**{name: getattr(first, name) for name in later})
    assert env.get_state() == twin.get_state()
    assert_undisturbed(env, twin)


# Walls and targets are equal.  The first can be solved, the second cannot.
SIMILAR = ["######\n#@ $.#\n#    #\n######", "######\n#@  .#\n#   $#\n######"]


@pytest.mark.parametrize(
    ("id", "more", "count"),
    [
        (SOKOBAN, {"levels": SIMILAR, "action_start": 1}, 2),
        (RANDOM_LAKE, {"action_start": 1}, 1 << 32),
        (RANDOM_LAKE, {"levels": [["SFG"]] * 3, "action_start": 1}, 3),
    ],
)
def test_a_level_number_of_no_level_is_refused(id, more, count):
    env, twin = (roll_vec.make_vec(id, 3, **more) for _ in range(2))
    alone = gymnasium.make(id, **more).unwrapped
    for target in (env, twin, alone):
        target.reset(seed=1)
    state = env.get_state()
    for number in (-1, count):
        damaged = damage(state, level_numbers=np.array([0, number, 0]))
        with pytest.raises(InvalidStateError, match=f"level_numbers.*{number}"):
            env.set_state(damaged)
        with pytest.raises(InvalidStateError, match=f"level_numbers.*{number}"):
            alone.set_state(damaged.row(1))
    assert_undisturbed(env, twin)


# ----------------------------------------------------------------- snapshots, copies


def mixed_batch(id, **more):
    """Return a batch with three sets of options, in the middle of episodes."""
    env = make_batch(id, **more)
    env.set_level_options(mask=np.arange(6) % 3 == 1, **CASES[id][1])
    env.set_level_options(mask=np.arange(6) % 3 == 2, num_levels=2, start_level=8)
    play(env, draw_actions(env, 8))
    return env


def test_snapshots_have_the_options(id, tmp_path):
    env, twin = mixed_batch(id), mixed_batch(id)
    state = env.get_state()
    env.set_level_options(num_levels=50)
    play(env, draw_actions(env, 8))
    env.set_state(state)
    assert_undisturbed(env, twin)
    # Another batch, which has other sets; some of its environments keep theirs.
    state.save(tmp_path / "state.npz")
    other = make_batch(id)
    other.set_level_options(mask=np.arange(6) < 5, num_levels=4, start_level=4)
    other.set_state(
        VectorState.load(tmp_path / "state.npz"),
        mask=np.arange(6) != 4,
        rows=[1, 2, 0, 5, 0, 3],
    )
    env.set_state(state, rows=[1, 2, 0, 5, 0, 3])
    env.set_level_options(mask=np.arange(6) == 4, num_levels=4, start_level=4)
    assert other.get_attr("start_level") == env.get_attr("start_level")
    grids, expected = other.reset()[0], env.reset()[0]
    rows = np.arange(6) != 4
    np.testing.assert_array_equal(grids[rows], expected[rows])


def test_copies_and_rows_of_snapshots_have_the_options(id):
    env, single = mixed_batch(id), make_single(id)
    copies = copy.deepcopy(env), pickle.loads(pickle.dumps(env))
    state = env.get_state()
    # The options of a state are a copy.
    for options in env.get_state().shared["level_options"]:
        options.update(num_levels=77, success_probability=[0.0, 0.1])
    assert env.get_state() == state
    for i in (0, 1, 2):
        single.set_state(state.row(i))
        env.set_state(state.replace_row(0, single.get_state()))
        np.testing.assert_array_equal(single.reset()[0], env.reset()[0][0])
    for twin in copies:
        env.set_state(state)
        assert_undisturbed(twin, env)


def test_bad_level_options_of_a_state_are_refused(id):
    env, twin = mixed_batch(id), mixed_batch(id)
    state = env.get_state()
    values = state.shared["level_options"]
    wrong = [
        (None, state.arrays["level_options"]),
        ([], state.arrays["level_options"]),
        ([{"num_levels": 3}], np.zeros(6, np.int32)),
        ([{**values[0], "num_levels": -1}], np.zeros(6, np.int32)),
        (values, np.full(6, 3, np.int32)),
        (values, np.full(6, -1, np.int32)),
    ]
    for table, indices in wrong:
        damaged = damage(state, {"level_options": table}, level_options=indices)
        with pytest.raises(InvalidStateError, match="level_options"):
            env.set_state(damaged)
    single = make_single(id)
    with pytest.raises(InvalidStateError, match="level_options"):
        single.set_state({**state.row(0), "level_options": {}})
    assert_undisturbed(env, twin)


# ------------------------------------------------------------------------- bad input
