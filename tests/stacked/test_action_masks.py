"""Action masks: the actions that can change something, at resets and steps."""

import gymnasium
import numpy as np
import pytest

import roll_vec  # noqa: F401  registers the ids
from roll_vec.errors import InvalidOptionError
from tests.conftest import JIT_OFF
from tests.contract.cases import DISABLED, MODES, SAME_STEP, draw_actions, make_batch
from tests.contract.test_unroll import check_equal
from tests.stacked.ids import IDS

# Worlds where an effective action is one that changes the observation.
EXACT = [
    ("roll_vec/Sokoban-v0", {"num_boxes": 2}),
    ("roll_vec/Sokoban-v0", {"num_boxes": 1, "action_start": 0}),
    ("roll_vec/RandomFrozenLake-v0", {"is_slippery": False}),
]
N = 5


@pytest.mark.parametrize(("id", "more"), EXACT)
def test_a_mask_has_the_actions_that_are_effective(id, more):
    env = gymnasium.make_vec(
        id, num_envs=40, autoreset_mode="SameStep", action_mask=True, **more
    )
    _, infos = env.reset(seed=0)
    start, rng = env.single_action_space.start, np.random.default_rng(0)
    outcomes = set()
    for _ in range(60):
        masks = infos["action_mask"]
        assert masks.dtype == np.int8
        assert masks.shape == (40, env.single_action_space.n)
        assert infos["_action_mask"].all()
        columns = rng.integers(0, masks.shape[1], 40)
        *_, infos = env.step(start + columns)
        effective = infos["action_is_effective"]
        if "final_info" in infos:
            effective = effective | infos["final_info"]["action_is_effective"]
        np.testing.assert_array_equal(masks[np.arange(40), columns], effective)
        outcomes.update(zip(columns.tolist(), effective.tolist(), strict=True))
    assert len(outcomes) == 2 * masks.shape[1]


@pytest.mark.parametrize("id", ["roll_vec/Sokoban-v0", "roll_vec/RandomFrozenLake-v0"])
def test_gymnasium_samples_from_a_mask(id):
    slips = {"is_slippery": False} if "Lake" in id else {}
    env = gymnasium.make(id, action_mask=True, action_start=1, **slips)
    _, info = env.reset(seed=3)
    env.action_space.seed(0)
    for _ in range(30):
        action = env.action_space.sample(info["action_mask"])
        *_, terminated, truncated, info = env.step(action)
        assert info["action_is_effective"]
        if terminated or truncated:
            _, info = env.reset()


def test_masks_of_ice_have_the_actions_that_may_slip_to_another_cell():
    # A corner: "left" and "up" may slip along the edge.
    for more, mask in (
        ({}, [1, 1, 1, 1]),
        ({"is_slippery": False}, [0, 1, 1, 0]),
        ({"success_rate": 1.0}, [0, 1, 1, 0]),
        ({"success_rate": 0.0}, [1, 1, 1, 1]),
        ({"desc": ["SFG"]}, [0, 1, 1, 1]),
        ({"desc": ["SFG"], "success_rate": 0.0}, [0, 1, 0, 1]),
    ):
        env = gymnasium.make("roll_vec/FrozenLake-v1", action_mask=True, **more)
        batch = gymnasium.make_vec(
            "roll_vec/FrozenLake-v1", num_envs=2, action_mask=True, **more
        )
        assert env.reset(seed=0)[1]["action_mask"].tolist() == mask
        assert batch.reset(seed=0)[1]["action_mask"].tolist() == [mask] * 2
        # Nothing moves from the end of an episode.
        env.unwrapped.s = env.unwrapped.desc.size - 1
        assert not env.step(0)[4]["action_mask"].any()


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize(
    "case",
    [
        "roll_vec/Sokoban-v0",
        "roll_vec/Sokoban-v0 text",
        "roll_vec/FrozenLake-v1",
        "roll_vec/RandomFrozenLake-v0 text",
    ],
)
def test_unroll_equals_as_many_steps(case, mode):
    more = {"action_mask": True, "autoreset_mode": mode}
    pair = [make_batch(case, N, **more) for _ in range(2)]
    for env in pair:
        env.reset(seed=2)
    steps = 3 if mode is DISABLED else 14 if JIT_OFF else 30
    rollout = check_equal(*pair, draw_actions(pair[0], steps))
    if mode is SAME_STEP:
        assert rollout.infos["final_info"]["_action_mask"].any()


@pytest.mark.parametrize("id", IDS)
def test_values_other_than_bools_are_refused(id):
    for make in (gymnasium.make, gymnasium.make_vec):
        with pytest.raises(InvalidOptionError, match="action_mask: expected True or"):
            make(id, action_mask=1)
