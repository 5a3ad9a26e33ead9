"""Keywords of MiniGrid's games beside MiniGrid itself, and values without a level."""

import gymnasium
import numpy as np
import pytest
from gymnasium.vector import AutoresetMode

import roll_vec
from roll_vec.descriptions import describe_env
from roll_vec.envs.minigrid import MiniGrid
from roll_vec.envs.minigrid.crossing import Crossing
from roll_vec.envs.minigrid.dist_shift import DistShift
from roll_vec.envs.minigrid.door_key import DoorKey
from roll_vec.envs.minigrid.dynamic_obstacles import DynamicObstacles
from roll_vec.envs.minigrid.empty import Empty
from roll_vec.envs.minigrid.fetch import Fetch
from roll_vec.envs.minigrid.four_rooms import FourRooms
from roll_vec.envs.minigrid.go_to_door import GoToDoor
from roll_vec.envs.minigrid.go_to_object import GoToObject
from roll_vec.envs.minigrid.grids import draw_border, place_agent_anywhere
from roll_vec.envs.minigrid.lava_gap import LavaGap
from roll_vec.envs.minigrid.locked_room import LockedRoom
from roll_vec.envs.minigrid.memory import Memory
from roll_vec.envs.minigrid.multi_room import MultiRoom
from roll_vec.envs.minigrid.put_near import PutNear
from roll_vec.envs.minigrid.red_blue_doors import RedBlueDoors
from roll_vec.errors import InvalidOptionError, InvalidStateError, UnsupportedError
from tests.envs.minigrid_episodes import assert_equal, play_original, play_ours

SHIFT, CROSSING, BALLS, ROOMS = (
    "DistShift1-v0",
    "LavaCrossingS9N1-v0",
    "Dynamic-Obstacles-5x5-v0",
    "MultiRoom-N2-S4-v0",
)
# Values beside those of the ids, the least and the most where a level has bounds.
CASES = (
    ("Empty-8x8-v0", {"size": 7, "agent_start_pos": (2, 3), "agent_start_dir": 2}),
    ("Empty-8x8-v0", {"size": 4, "agent_start_pos": None}),
    (SHIFT, {"width": 12, "height": 9, "strip2_row": 7, "agent_start_pos": (2, 5)}),
    (SHIFT, {"width": 5, "height": 4, "strip2_row": 1, "agent_start_pos": None}),
    (SHIFT, {"agent_start_pos": None, "agent_start_dir": 3}),
    ("FourRooms-v0", {"agent_pos": (9, 3), "goal_pos": (5, 5)}),
    ("FourRooms-v0", {"agent_pos": (4, 4)}),
    ("FourRooms-v0", {"goal_pos": (9, 9)}),
    (CROSSING, {"num_crossings": 0}),
    (CROSSING, {"num_crossings": 20, "obstacle_type": "wall"}),
    (CROSSING, {"size": 5}),
    (CROSSING, {"size": 17, "num_crossings": 9}),
    ("LavaGapS5-v0", {"size": 9}),
    (BALLS, {"n_obstacles": 0}),
    (BALLS, {"n_obstacles": 3}),
    (BALLS, {"size": 9, "n_obstacles": 30, "agent_start_pos": (4, 4)}),
    (ROOMS, {"minNumRooms": 1, "maxNumRooms": 4, "maxRoomSize": 6, "width": 20}),
    (ROOMS, {"minNumRooms": 1, "maxNumRooms": 1, "width": 4, "height": 5}),
    ("DoorKey-5x5-v0", {"size": 7}),
    ("Fetch-8x8-N3-v0", {"size": 4, "numObjs": 3}),
    ("Fetch-8x8-N3-v0", {"numObjs": 20}),
    ("GoToDoor-5x5-v0", {"size": 12}),
    ("GoToObject-6x6-N2-v0", {"numObjs": 15}),
    ("GoToObject-6x6-N2-v0", {"size": 9, "numObjs": 18}),
    ("LockedRoom-v0", {"size": 13}),
    ("LockedRoom-v0", {"size": 25}),
    ("MemoryS7-v0", {"size": 9, "random_length": True}),
    ("PutNear-6x6-N2-v0", {"numObjs": 4}),
    ("PutNear-6x6-N2-v0", {"size": 9, "numObjs": 9}),
    ("RedBlueDoors-6x6-v0", {"size": 3}),
    ("RedBlueDoors-6x6-v0", {"size": 9}),
)


@pytest.mark.slow
@pytest.mark.parametrize(("name", "keywords"), CASES, ids=str)
def test_keywords_are_minigrids(name, keywords):
    pytest.importorskip("minigrid", reason="needs the extra originals")
    id = f"roll_vec/MiniGrid-{name}"
    for way in ("uniform", "seeker"):
        theirs = play_original(id, way, 120, 4, max_steps=30, **keywords)
        ours = play_ours(
            id,
            theirs.actions,
            theirs.seeds,
            AutoresetMode.DISABLED,
            max_steps=30,
            **keywords,
        )
        assert_equal(ours, theirs)


@pytest.mark.slow
def test_a_wall_with_a_gap_is_minigrids():
    """MiniGrid's LavaGap takes the class of an obstacle alone."""
    reason = "needs the extra originals"
    objects = pytest.importorskip("minigrid.core.world_object", reason=reason)
    id, wall = "roll_vec/MiniGrid-LavaGapS7-v0", {"obstacle_type": objects.Wall}
    theirs = play_original(id, "seeker", 200, 4, max_steps=50, **wall)
    ours = play_ours(
        id,
        theirs.actions,
        theirs.seeds,
        AutoresetMode.DISABLED,
        max_steps=50,
        obstacle_type="wall",
    )
    assert theirs.num_successes
    assert_equal(ours, theirs)


REFUSALS = (
    (Empty, {"size": 3}, "size: expected at least 4, got 3"),
    (
        Empty,
        {"agent_start_pos": (7, 1)},
        "agent_start_pos: expected None, or (x, y) from (1, 1) to (6, 6), got (7, 1)",
    ),
    (
        Empty,
        {"agent_start_pos": (1, 2, 3)},
        "agent_start_pos: expected None, or (x, y)",
    ),
    (Empty, {"agent_start_pos": 3}, "agent_start_pos: expected a tuple"),
    (Empty, {"agent_start_dir": 4}, "agent_start_dir: expected at most 3, got 4"),
    (DistShift, {"width": 3}, "width: expected at least 4, got 3"),
    (DistShift, {"height": 2}, "height: expected at least 3, got 2"),
    (DistShift, {"strip2_row": 6}, "strip2_row: expected at most 5, got 6"),
    (DoorKey, {"size": 4}, "size: expected at least 5, got 4"),
    (DynamicObstacles, {"size": 4}, "size: expected at least 5, got 4"),
    (DynamicObstacles, {"n_obstacles": -1}, "n_obstacles: expected at least 0, got -1"),
    (FourRooms, {"agent_pos": (0, 3)}, "agent_pos: expected None, or (x, y)"),
    (FourRooms, {"goal_pos": (3, 18)}, "goal_pos: expected None, or (x, y)"),
    (FourRooms, {"goal_pos": "far"}, "goal_pos: expected None, or (x, y)"),
    (Crossing, {"size": 8}, "size: expected an odd number, at least 5, got 8"),
    (Crossing, {"num_crossings": -1}, "num_crossings: expected at least 0, got -1"),
    (
        Crossing,
        {"obstacle_type": "water"},
        "obstacle_type: expected one of 'lava', 'wall', got 'water'",
    ),
    (LavaGap, {"size": 4}, "size: expected at least 5, got 4"),
    (Fetch, {"numObjs": 0}, "numObjs: expected at least 1, got 0"),
    (Fetch, {"size": 4, "numObjs": 4}, "numObjs: expected at most 3, got 4"),
    (GoToDoor, {"size": 4}, "size: expected at least 5, got 4"),
    (GoToObject, {"numObjs": 16}, "numObjs: expected at most 15, got 16"),
    (GoToObject, {"size": 9, "numObjs": 19}, "numObjs: expected at most 18, got 19"),
    (LockedRoom, {"size": 11}, "size: expected at least 13, got 11"),
    (LockedRoom, {"size": 14}, "size: expected an odd number, at least 13, got 14"),
    (Memory, {"size": 8}, "size: expected an odd number, at least 7, got 8"),
    (MultiRoom, {"maxNumRooms": 5}, "maxNumRooms: expected at least 6, got 5"),
    (MultiRoom, {"maxNumRooms": 50}, "maxNumRooms: expected at most 49, got 50"),
    (
        MultiRoom,
        {"maxNumRooms": 30},
        "maxNumRooms: expected fewer rooms, which have room on a grid of 25x25, got 30",
    ),
    (MultiRoom, {"maxRoomSize": 3}, "maxRoomSize: expected at least 4, got 3"),
    (PutNear, {"size": 5}, "size: expected at least 6, got 5"),
    (PutNear, {"numObjs": 5}, "numObjs: expected at most 4, got 5"),
    (PutNear, {"numObjs": 1}, "numObjs: expected at least 2, got 1"),
    (RedBlueDoors, {"size": 2}, "size: expected at least 3, got 2"),
)


@pytest.mark.parametrize(("game", "keywords", "message"), REFUSALS, ids=str)
def test_values_without_a_level_are_refused(game, keywords, message):
    with pytest.raises(InvalidOptionError) as error:
        game(**keywords)
    assert str(error.value).startswith(message)


def test_cells_may_be_none_and_are_tuples():
    assert Empty(agent_start_pos=None).start == (-1, -1)
    assert Empty(agent_start_pos=[2, 3]) == Empty(agent_start_pos=(2, 3))


class Room(MiniGrid):
    """Walk in a room."""

    size: int = 5

    @roll_vec.rule
    def begin(env, rng):
        draw_border(env)
        place_agent_anywhere(env, rng)


class Nowhere(MiniGrid):
    """A game without a size."""

    @roll_vec.rule
    def begin(env, rng):
        draw_border(env)


@pytest.mark.usefixtures("forgets_ids")
def test_a_game_of_a_user_ends_its_draws_and_claims_no_origin():
    roll_vec.register("tests/Room-v0", Room)
    env = gymnasium.make("tests/Room-v0", size=2)
    with pytest.raises(RuntimeError, match="no cell is empty"):
        env.reset(seed=0)
    description = describe_env("tests/Room-v0")
    assert (description.sources, description.differences) == ((), ())
    assert describe_env("roll_vec/MiniGrid-DoorKey-5x5-v0").sources
    for keywords, message in (
        ({"size": 0}, "size: expected at least 1, got 0"),
        ({"size": 2.5}, "size: expected"),
    ):
        with pytest.raises(InvalidOptionError, match=message):
            gymnasium.make("tests/Room-v0", **keywords)
    with pytest.raises(InvalidOptionError, match=r"Nowhere.size: expected an option"):
        roll_vec.register("tests/Nowhere-v0", Nowhere)


def test_states_that_cannot_be_are_refused():
    env = gymnasium.make("roll_vec/MiniGrid-DoorKey-5x5-v0")
    env.reset(seed=0)
    game = env.unwrapped
    before = game.get_state()
    for name, value in (
        ("x", 0),
        ("y", 4),
        ("direction", 4),
        ("carrying", 2),
        ("grid", 15),
        ("agent_pos", (1, 2, 3)),
        ("agent_pos", 5),
        ("agent_pos", (1, 0)),
    ):
        if name == "grid":
            value = np.full_like(game.grid, value)
        with pytest.raises(InvalidStateError):
            setattr(game, name, value)
    np.testing.assert_equal(game.get_state(), before)
    game.agent_pos = 2, 1
    assert (game.x, game.y) == (2, 1)


def test_missions_may_be_too_long_for_vectors():
    with pytest.raises(UnsupportedError, match="missions of at most 96 letters"):
        gymnasium.make("roll_vec/BabyAI-BossLevel-v0", obs_mode="flat")
    gymnasium.make("roll_vec/BabyAI-SynthLoc-v0", obs_mode="flat")
    for id, is_possible in (("BossLevel", False), ("SynthLoc", True)):
        modes = describe_env(f"roll_vec/BabyAI-{id}-v0").observations
        assert ("flat" in [each.mode for each in modes]) is is_possible
