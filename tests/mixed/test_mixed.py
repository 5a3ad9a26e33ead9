"""Rules of mixed batches: numbers, keywords, families, faults, snapshots, recv."""

import itertools
import re
from fractions import Fraction

import gymnasium
import numpy as np
import pytest
from gymnasium.vector import SyncVectorEnv

from roll_vec import VectorState
from roll_vec.errors import (
    InvalidActionError,
    InvalidFileError,
    InvalidOptionError,
    InvalidStateError,
    LevelGenerationError,
    ResetNeededError,
)
from roll_vec.mixed import make_mixed
from roll_vec.mixed.allocation import allocate
from roll_vec.sessions import Sessions
from roll_vec.testing import check_vector_env
from tests.contract.cases import (
    MODES,
    assert_same,
    play,
    register_custom_ids,
)
from tests.pool.cases import with_arrays

COUNTDOWN = "roll_vec/Countdown-v0"
LAKES = {"id": "roll_vec/RandomFrozenLake-v0", "size": 4}
LIMIT = {"max_episode_steps": 6}
ROOMS = {"id": "roll_vec/Sokoban-v0", "dim_room": (5, 5), "num_boxes": 1, **LIMIT}
# Three in stacked arrays, one of them twice; two pools.
FAMILIES = {
    "rooms": {**ROOMS, "weight": 2, "group_size": 2, "format_penalty": -0.25},
    COUNTDOWN: {
        "num_numbers": 2,
        "number_range": (1, 4),
        "target_range": (1, 9),
        "max_steps": 5,
        "max_episode_steps": 4,
    },
    "roll_vec/RandomFrozenLake-v0": {"group_size": 2, "size": 4, **LIMIT},
    "masked": {**ROOMS, "action_mask": True},
    "tests_vector/Guess-v0": {"weight": 1.5, "group_size": 3, **LIMIT},
}
NUM_ENVS = 12
# By environment.
NAMES = [
    name for name, n in zip(FAMILIES, (4, 2, 2, 1, 3), strict=True) for _ in range(n)
]
GROUPS = [0, 0, 1, 1, 2, 3, 4, 4, 5, 6, 6, 6]
TEXTS = ("Up", "Left", "Down", "Right", "", "1", "2", "3", "up and away", "1+2", "9")


@pytest.fixture(scope="module", autouse=True)
def _ids(module_forgets_ids):
    """Leave the ids of a user's own to no other tests."""
    register_custom_ids()


def make(num_envs=NUM_ENVS, families=FAMILIES, **keywords):
    return make_mixed(families, num_envs, **keywords)


def draw_texts(rng):
    return [TEXTS[i] for i in rng.integers(len(TEXTS), size=NUM_ENVS)]


def raise_no_level(*args):
    raise LevelGenerationError("no level")


# --------------------------------------------------------- numbers of environments


def search(num_envs, weights, sizes):
    """Return the documented numbers, or None; slow and obvious."""
    choices = [range(size, num_envs + 1, size) for size in sizes]
    shares = [Fraction(w) * num_envs / sum(map(Fraction, weights)) for w in weights]
    fits = [one for one in itertools.product(*choices) if sum(one) == num_envs]

    def distance(numbers):
        cost = sum((n - s) ** 2 for n, s in zip(numbers, shares, strict=True))
        return cost, [-number for number in numbers]

    return list(min(fits, key=distance)) if fits else None


@pytest.mark.parametrize(
    ("weights", "sizes"),
    [
        ((1,), (4,)),
        ((1, 1), (1, 1)),
        ((2, 1), (8, 1)),
        ((1, 5), (3, 5)),
        ((0.1, 0.2, 0.7), (2, 1, 4)),
        ((1, 1, 1), (6, 4, 10)),
        ((1, 100, 1), (7, 2, 5)),
    ],
)
def test_numbers_are_the_nearest_or_the_message_names_some_that_fit(weights, sizes):
    for num_envs in range(1, 33):
        expected = search(num_envs, weights, sizes)
        if expected is not None:
            assert allocate(num_envs, weights, sizes) == expected, num_envs
            continue
        with pytest.raises(InvalidOptionError, match=r"^num_envs: expected") as caught:
            allocate(num_envs, weights, sizes)
        named = re.search(r"such as (\d+)(?: or (\d+))?,", str(caught.value)).groups()
        for number in filter(None, named):
            assert search(int(number), weights, sizes)


def test_large_batches_are_quick():
    weights, sizes = [1 / 3] * 8 + [7.5], [1] * 4 + [8] * 4 + [64]
    assert sum(allocate(65_537, weights, sizes)) == 65_537
    assert allocate(1 << 20, [1, 1], [512, 7])[0] % 512 == 0


# -------------------------------------------------------------- beside Gymnasium's


class Labels(gymnasium.Wrapper):
    """Adds the infos of a mixed batch to one environment."""

    def __init__(self, env, family):
        super().__init__(env)
        self.family = {"family": family}

    def reset(self, *, seed=None, options=None):
        observation, info = self.env.reset(seed=seed, options=options)
        return observation, {**info, **self.family}

    def step(self, action):
        *results, info = self.env.step(action)
        return (*results, {**info, **self.family})


def make_single(name):
    """Return the single environment of a family."""
    keywords = {"id": name, **FAMILIES[name]}
    for own in ("weight", "group_size"):
        keywords.pop(own, None)
    if "Sokoban" in keywords["id"] or "FrozenLake" in keywords["id"]:
        keywords |= {"obs_mode": "text", "action_mode": "text"}
    return Labels(gymnasium.make(**keywords), name)


@pytest.mark.parametrize("mode", MODES)
def test_batch_equals_sync_vector_env(mode):
    env = make(autoreset_mode=mode)
    expected = SyncVectorEnv(
        [lambda name=name: make_single(name) for name in NAMES],
        autoreset_mode=mode,
        observation_mode="different",
    )
    rng, count = np.random.default_rng(0), 0
    seeds = [7 + group for group in GROUPS]
    assert_same(env.reset(seed=7), expected.reset(seed=seeds))
    for part in range(2):
        actions = [draw_texts(rng) for _ in range(20)]
        # Bad actions move nothing.
        with pytest.raises(InvalidActionError, match=r"environments \[9\]"):
            env.step([*actions[0][:9], 3, *actions[0][10:]])
        results = play(env, actions)
        assert_same(results, play(expected, actions), f"part {part}")
        count += sum((each[2] | each[3]).sum() for each in results if len(each) == 5)
        mask = rng.random(NUM_ENVS) < 0.5
        mask[0] = True
        seeds = [i if i % 3 else None for i in range(NUM_ENVS)]
        starts = [
            batch.reset(seed=seeds, options={"reset_mask": mask.copy()})
            for batch in (env, expected)
        ]
        assert_same(*starts)
    assert count > 30
    assert env.np_random_seed == expected.np_random_seed
    env.close()
    expected.close()


@pytest.mark.slow
def test_public_checker():
    families = {"lakes": {**LAKES, **LIMIT}, "tests_vector/Guess-v0": LIMIT}

    def factory(num_envs, **keywords):
        own = dict(list(families.items())[:num_envs])
        return make(num_envs, own, **keywords)

    # Environment 1 of 3 is of another family than environment 0 of 1.
    check_vector_env(factory, steps=25, ignore={"seed-batch"})


def test_sessions_of_several_families():
    envs = make(4, {"lakes": LAKES, COUNTDOWN: {}}, autoreset_mode="Disabled")
    with Sessions(envs) as sessions:
        opened = [sessions.open() for _ in range(4)]
        names = [session.reset(seed=1)[1]["family"] for session in opened]
        assert set(names) == {"lakes", COUNTDOWN}
        assert [session.step("Up")[4]["family"] for session in opened] == names


# ---------------------------------------------------------- errors, faults


@pytest.mark.parametrize("mode", ["NextStep", "SameStep"])
def test_a_family_that_raises_demands_a_reset(mode, monkeypatch):
    families = {"one": {**LAKES, "is_slippery": False}, "two": LAKES}
    env, twin = (make(4, families, autoreset_mode=mode) for _ in range(2))
    for each in (env, twin):
        each.reset(seed=3)
    with monkeypatch.context() as patch:
        patch.setattr(env.engine.engines[1], "reset", raise_no_level)
        with pytest.raises(LevelGenerationError):
            env.reset()
    with pytest.raises(ResetNeededError):
        env.step(["Right"] * 4)
    for each in (env, twin):
        each.reset(seed=4)
    for step in range(12):
        assert_same(env.step(["Right"] * 4), twin.step(["Right"] * 4), f"step {step}")


# ------------------------------------------------------------------- snapshots


def test_snapshots_of_other_numbers_of_environments_and_bad_ones(tmp_path):
    env, rng = make(), np.random.default_rng(2)
    env.reset(seed=4)
    for _ in range(9):
        env.step(draw_texts(rng))
    state = env.get_state()
    state.save(tmp_path / "state.npz")
    # Guess has no get_state.
    with pytest.raises(InvalidFileError, match="pickled"):
        VectorState.load(tmp_path / "state.npz")
    assert VectorState.load(tmp_path / "state.npz", allow_pickle=True) == state
    # Another number of environments, each a copy of one of its family.
    larger = make(16)
    rows = [
        env.families[name].env_ids[0]
        for name, family in larger.families.items()
        for _ in family.env_ids
    ]
    larger.set_state(state, rows=rows)
    assert larger.get_state().row(0)["seeds"] == 4
    assert state.take([4, 0]).row(0)["stream"]
    with pytest.raises(InvalidStateError, match=r"4 of roll_vec/Countdown-v0 can"):
        env.set_state(state, rows=[0] * NUM_ENVS)
    with pytest.raises(InvalidStateError, match="families"):
        env.set_state(with_arrays(state, families=np.full(NUM_ENVS, 9)))
    for families in (np.full(NUM_ENVS, np.nan), np.zeros((NUM_ENVS, 1), int)):
        with pytest.raises(InvalidStateError, match="families"):
            with_arrays(state, families=families).row(0)
    negative = {"0.elapsed_steps": np.full(NUM_ENVS, -1, "i4")}
    with pytest.raises(InvalidStateError, match="elapsed_steps"):
        env.set_state(with_arrays(state, **negative))
