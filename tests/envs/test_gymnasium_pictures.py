"""Pictures of Gymnasium's games beside Gymnasium's own, and what trainers ask first."""

import pickle
import sys

import gymnasium
import numpy as np
import pytest

import roll_vec
from roll_vec.envs.cart_pole import CartPole
from roll_vec.errors import MissingExtraError
from roll_vec.registration import ENVIRONMENTS
from tests.contract.cases import EACH_ID
from tests.envs.test_toy_text import CLIFF, DRY

ORIGINALS = {
    "roll_vec/Taxi-v3": DRY,
    "roll_vec/Taxi-v4": DRY,
    "roll_vec/CliffWalking-v1": CLIFF,
    **{
        f"roll_vec/{name}": name
        for name in (
            *("FrozenLake-v1", "FrozenLake8x8-v1", "Blackjack-v1", "CartPole-v1"),
            *("MountainCar-v0", "MountainCarContinuous-v0", "Acrobot-v1"),
            "Pendulum-v1",
        )
    },
}
each_game = pytest.mark.parametrize(("id", "original"), ORIGINALS.items())
PICTURES = {"render_mode": "rgb_array"}


@each_game
def test_frames_are_gymnasiums_at_every_step_and_in_batches(id, original):
    pytest.importorskip("pygame")
    ours, theirs = gymnasium.make(id, **PICTURES), gymnasium.make(original, **PICTURES)
    # In the mode whose kernels other tests of these games need as well.
    batch = roll_vec.make_vec(id, 3, autoreset_mode="SameStep", **PICTURES)
    # 1.1 has another hat for each direction; our lakes have no last action.
    is_lake = "FrozenLake" in id
    ours.action_space.seed(0)
    for seed in range(12 if "Blackjack" in id else 2):
        ours.reset(seed=seed), theirs.reset(seed=seed), batch.reset(seed=seed)
        is_over, num_steps = False, 0
        while True:
            if is_lake:
                theirs.unwrapped.lastaction = None
            frame = ours.render()
            np.testing.assert_array_equal(frame, theirs.render())
            assert frame.dtype == np.uint8
            if is_over or num_steps == 6:
                break
            action = ours.action_space.sample()
            num_steps += 1
            is_over = any(ours.step(action)[2:4])
            theirs.step(action)
            batch.step(np.stack([action] * 3))
        frames = batch.render()
        assert isinstance(frames, tuple)
        if not is_over:
            np.testing.assert_array_equal(frames[0], frame)
    # What pictures show is of the state.
    twin = roll_vec.make_vec(id, 3, autoreset_mode="SameStep", **PICTURES)
    twin.reset(seed=99)
    twin.set_state(batch.get_state())
    np.testing.assert_array_equal(np.stack(twin.render()), np.stack(frames))
    copy = pickle.loads(pickle.dumps(ours.unwrapped))
    np.testing.assert_array_equal(copy.render(), frame)


@each_game
def test_specs_and_speeds_of_pictures_are_gymnasiums(id, original):
    theirs = gymnasium.spec(original)
    assert gymnasium.spec(id).reward_threshold == theirs.reward_threshold
    fps = gymnasium.make(original).metadata["render_fps"]
    assert gymnasium.make(id).metadata["render_fps"] == fps
    batch = roll_vec.make_vec(id)
    assert batch.metadata["render_fps"] == fps
    assert batch.spec.reward_threshold == theirs.reward_threshold


@pytest.mark.parametrize("id", EACH_ID)
def test_who_asks_for_pictures_first_gets_them_or_a_type_error(id, monkeypatch):
    # Only who draws needs the package.
    monkeypatch.setitem(sys.modules, "pygame", None)
    modes = ENVIRONMENTS[id].load().metadata["render_modes"]
    for make in (gymnasium.make, gymnasium.make_vec):
        try:
            env = make(id, **PICTURES)
        except TypeError:
            assert "rgb_array" not in modes
            continue
        assert env.render_mode == "rgb_array"
        env.reset(seed=0)
        if id in ORIGINALS:
            with pytest.raises(MissingExtraError, match=r"needs pygame: .*\[render\]"):
                env.render()
        else:
            assert env.render() is not None


def test_a_users_game_without_pictures_refuses_them_by_a_type_error():
    class Plain(CartPole):
        metadata = roll_vec.ArrayEnv.metadata

    with pytest.raises(TypeError, match="render_mode: expected one of None, 'ansi'"):
        Plain(**PICTURES)
