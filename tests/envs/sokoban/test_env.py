"""Sokoban, one room or a batch of them: rules, dead ends, failing rooms."""

from functools import partial

import gymnasium
import numpy as np
import pytest

from roll_vec.envs.sokoban import rooms as sokoban_rooms
from roll_vec.errors import InvalidOptionError, LevelGenerationError, ResetNeededError
from tests.conftest import JIT_OFF
from tests.kernels.sokoban.positions import random_board
from tests.oracles.sokoban import OracleSokoban

ID = "roll_vec/Sokoban-v0"


def test_attributes_are_those_of_the_oracle():
    rng = np.random.default_rng(0)
    boards = np.stack([random_board(rng, 6, 7, 2) for _ in range(3)])
    env = gymnasium.make(ID, levels=boards, action_start=1).unwrapped
    for seed, board in enumerate(boards):
        env.reset(seed=seed)
        game = OracleSokoban(board)
        for action in [0, *rng.integers(0, 5, 20).tolist()]:
            grid = env.step(action)[0]
            game.step(action)
            assert grid.shape == env.dim_room == (6, 7)
            for room, expected in zip(
                (env.room_fixed, env.room_state), game.rooms, strict=True
            ):
                np.testing.assert_array_equal(room, expected)
                assert room.dtype == np.uint8
                assert not room.flags.writeable
            assert tuple(env.player_position.tolist()) == game.player
            assert env.boxes_on_target == game.boxes_on_target
            assert env.num_boxes == 2


# Depth 2 looks at no state after a pull, and in a corridor boxes on both sides of a
# third cannot all be pulled.
NO_ROOMS = [{"search_depth": 2, "num_boxes": 1}, {"dim_room": (3, 9), "num_boxes": 3}]


@pytest.mark.parametrize("config", NO_ROOMS, ids=str)
def test_a_configuration_without_rooms_ends_in_an_error(config, monkeypatch):
    if JIT_OFF:
        few = partial(sokoban_rooms.draw_rooms, max_attempts=3)
        monkeypatch.setattr(sokoban_rooms, "draw_rooms", few)
    env = gymnasium.make(ID, **config)
    message = "no room was found for level seed 5 within 2000 attempts"
    with pytest.raises(LevelGenerationError, match=message) as caught:
        env.reset(seed=5)
    options = env.unwrapped.options
    for name in ("dim_room", "num_boxes", "search_depth", "num_gen_steps"):
        assert f"{name}={getattr(options, name)}" in str(caught.value)
    with pytest.raises(ResetNeededError):
        env.unwrapped.step(1)


def test_rooms_that_no_memory_is_for_are_refused(monkeypatch):
    def refuse(*_):
        message = "Unable to allocate 69.6 GiB"
        raise MemoryError(message)

    monkeypatch.setattr(sokoban_rooms.rooms, "make_workspaces", refuse)
    env = gymnasium.make_vec(ID, dim_room=(12, 34))
    with pytest.raises(InvalidOptionError, match=r"dim_room: \(12, 34\) .*69.6 GiB"):
        env.reset(seed=0)
