"""The view of MiniGrid's games beside minigrid itself, on grids of chance."""

import numpy as np
import pytest

import roll_vec
from roll_vec import rule
from roll_vec.envs.minigrid.base import MiniGrid
from roll_vec.envs.minigrid.things import COLOUR_NAMES, STATE_NAMES, TYPE_NAMES
from tests.conftest import JIT_OFF

NUM_ENVS = 10 if JIT_OFF else 200


class Chaos(MiniGrid):
    """Things of chance in all cells, the agent in one of them."""

    width: int = 8
    height: int = 8
    MISSION = "look"

    @rule
    def step(env, action, rng):
        return 0.0, False, False

    @rule
    def begin(env, rng):
        share = rng.random()
        for x in range(env.width):
            for y in range(env.height):
                kind = rng.integers(2, 10)
                if rng.random() < share:
                    colour = 5 if kind == 2 else rng.integers(6)
                    state = rng.integers(3) if kind == 4 else 0
                    number = 0 if kind == 2 else rng.integers(1 << 14)
                    env.grid[x, y] = kind + (colour << 4) + (state << 7) + (number << 9)
        env.x, env.y = rng.integers(env.width), rng.integers(env.height)
        env.direction = rng.integers(4)
        if rng.random() < 0.5:
            env.carrying = 5 + rng.integers(3) + (rng.integers(6) << 4)


@pytest.fixture(scope="module", autouse=True)
def chaos(module_forgets_ids):
    roll_vec.register("tests/Chaos-v0", Chaos)


def make_thing(code):
    """Return a thing of minigrid."""
    from minigrid.core import world_object as things

    kind, colour = TYPE_NAMES[code & 15], COLOUR_NAMES[code >> 4 & 7]
    if kind in ("unseen", "empty"):
        return None
    if kind in ("wall", "floor", "key", "ball", "box"):
        return getattr(things, kind.title())(colour)
    if kind == "door":
        state = STATE_NAMES[code >> 7 & 3]
        return things.Door(colour, state == "open", state == "locked")
    thing = getattr(things, kind.title())()
    thing.color = colour
    return thing


def look(grid, row, size, see_through_walls):
    """Return the view that minigrid has."""
    from minigrid.core.grid import Grid
    from minigrid.envs import EmptyEnv

    env = EmptyEnv(agent_view_size=size)
    env.see_through_walls = see_through_walls
    env.grid = Grid(*grid.shape)
    env.width, env.height = grid.shape
    for (x, y), code in np.ndenumerate(grid):
        env.grid.set(x, y, make_thing(int(code)))
    env.agent_pos, env.agent_dir = (row.x, row.y), row.direction
    env.carrying = make_thing(row.carrying)
    cells, mask = env.gen_obs_grid()
    return cells.encode(mask)


@pytest.mark.parametrize(("width", "height"), [(3, 3), (4, 9), (16, 5), (25, 25)])
@pytest.mark.parametrize("size", [3, 5, 7, 9, 15])
@pytest.mark.parametrize("see_through_walls", [False, True])
def test_views_are_those_of_minigrid(width, height, size, see_through_walls):
    pytest.importorskip("minigrid")
    keywords = {"agent_view_size": size, "see_through_walls": see_through_walls}
    keywords |= {"width": width, "height": height}
    envs = roll_vec.make_vec("tests/Chaos-v0", NUM_ENVS, obs_mode="image", **keywords)
    images, _ = envs.reset(seed=0)
    for number, image in enumerate(images):
        row = envs.engine.named_row(number)
        expected = look(row.grid, row, size, see_through_walls)
        np.testing.assert_array_equal(image, expected, f"environment {number}")
