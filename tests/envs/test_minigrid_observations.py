"""MiniGrid's observations, pictures and texts, beside MiniGrid itself.

States are random grids with all things.  Rules run as Python on them, which needs no
compilation; `test_batches_equal_the_rules` compares compiled rules.
"""

import hashlib
from collections import namedtuple
from pathlib import Path

import gymnasium
import numpy as np
import pytest
from gymnasium.vector import AutoresetMode

import roll_vec
from roll_vec.envs.minigrid.door_key import DoorKey
from roll_vec.envs.minigrid.observations import encode_letters
from roll_vec.envs.minigrid.texts import describe
from roll_vec.envs.minigrid.things import (
    BALL,
    BOX,
    CLOSED,
    DOOR,
    FLOOR,
    GOAL,
    KEY,
    LAVA,
    LOCKED,
    NUM_LOOKS,
    TYPES_AND_STATES,
    WALL,
)
from roll_vec.envs.minigrid.tiles import AGENT, SEEN, make_tiles
from roll_vec.errors import InvalidOptionError, UnsupportedError
from roll_vec.kernels.rows import Items, Row
from roll_vec.testing import check_vector_env
from tests.golden import assert_golden, update_digest

ID = "roll_vec/MiniGrid-DoorKey-6x6-v0"
DATA = Path(__file__).parent / "data"
NO_MINIGRID = "needs minigrid 3.2, which needs Python 3.11 or newer"
COLOURS = range(0, 96, 16)
HANDY = [kind + colour for kind in (KEY, BALL, BOX) for colour in COLOURS]
ENTERED = [0, 0, FLOOR, GOAL, LAVA, *(DOOR + colour for colour in COLOURS)]
SHUT = [DOOR + colour + state for colour in COLOURS for state in (CLOSED, LOCKED)]
# Keywords of both, the tile size of observations, and seeds of states.
OPTIONS = [
    ({}, 8, range(12)),
    ({"highlight": False, "tile_size": 7}, 3, range(12, 15)),
    ({"agent_view_size": 3, "agent_pov": True, "tile_size": 16}, 1, range(15, 21)),
    ({"see_through_walls": True, "agent_view_size": 5}, 2, range(21, 24)),
    ({"agent_view_size": 9, "agent_pov": True, "highlight": False}, 4, range(24, 27)),
]
WRAPPERS = {
    "image": "ImgObsWrapper",
    "full": "FullyObsWrapper",
    "one_hot": "OneHotPartialObsWrapper",
    "symbolic": "SymbolicObsWrapper",
    "flat": "FlatObsWrapper",
    "rgb": "RGBImgObsWrapper",
    "rgb_view": "RGBImgPartialObsWrapper",
}
MODES = [mode for mode in DoorKey.OBS_MODES if mode != "dict"]


def make_state(options, seed):
    """Return a random state: walls around, half of the cells with a thing."""
    rng = np.random.default_rng(seed)
    variables = options.allocate(1)
    env = options.row_of(variables)
    grid = options.named(variables)["grid"][0]
    things = [WALL, *HANDY, *ENTERED, *SHUT]
    grid[...] = rng.choice(things, grid.shape) * (rng.random(grid.shape) < 0.5)
    grid[[0, -1]] = grid[:, [0, -1]] = WALL
    env.x, env.y = rng.integers(1, options.size - 1, 2).tolist()
    grid[env.x, env.y] = rng.choice(ENTERED)
    env.direction = int(rng.integers(4))
    env.carrying = int(rng.choice([0, *HANDY]))
    return env


def observe(options, env):
    """Return the observation of a state, by the rules as Python."""
    parts = options.parts
    arrays = [np.zeros_like(a) for a in options.allocate_observations(1)[: len(parts)]]
    out = Items(arrays[0][0])
    if "" not in parts:
        out = Row(namedtuple("Row", parts)(*arrays), (), 0)
    options.rules()[2](env, out)
    array, mission = arrays[0][0], options.mission_text(env.mission)
    if options.obs_mode == "text":
        return describe(mission, array)
    if options.obs_mode == "flat":
        letters = options.letters_text(env.mission)
        array[-len(letters) :] = letters
    if "" in parts:
        return array
    return {name: each[0] for name, each in zip(parts, arrays, strict=True)}


def make_both(mode, keywords, obs_tile_size):
    """Return our options, MiniGrid's environment, and its wrapper of a mode."""
    wrappers = pytest.importorskip("minigrid.wrappers", reason=NO_MINIGRID)
    env = gymnasium.make(
        "MiniGrid-DoorKey-8x8-v0", disable_env_checker=True, **keywords
    ).unwrapped
    env.reset(seed=0)
    sizes = {"tile_size": obs_tile_size} if mode.startswith("rgb") else {}
    wrapper = getattr(wrappers, WRAPPERS[mode])(env, **sizes)
    options = DoorKey(
        size=8, obs_mode=mode, obs_tile_size=obs_tile_size, max_steps=640, **keywords
    )
    return options, env, wrapper


def copy_state(env, state):
    """Give MiniGrid's environment one of our states."""
    from minigrid.core.world_object import WorldObj

    def decode(thing):
        kind, colour, door = thing & 15, thing >> 4 & 7, thing >> 7 & 3
        return WorldObj.decode(max(kind, 1), colour, door)

    for (x, y), thing in np.ndenumerate(state.grid.array):
        env.grid.set(x, y, decode(int(thing)))
    env.agent_pos, env.agent_dir = np.array([state.x, state.y]), state.direction
    env.carrying = decode(state.carrying)


@pytest.mark.parametrize("mode", WRAPPERS)
@pytest.mark.parametrize(("keywords", "obs_tile_size", "seeds"), OPTIONS)
def test_observations_equal_those_of_wrappers(mode, keywords, obs_tile_size, seeds):
    options, env, wrapper = make_both(mode, keywords, obs_tile_size)
    space, theirs = options.observation_space, wrapper.observation_space
    if isinstance(space, gymnasium.spaces.Dict):
        assert space["image"] == theirs["image"]
        assert space["direction"] == theirs["direction"]
    else:
        assert space == theirs
    for seed in seeds:
        state = make_state(options, seed)
        copy_state(env, state)
        expected, actual = wrapper.observation(env.gen_obs()), observe(options, state)
        if isinstance(expected, dict):
            assert expected.pop("mission") == options.mission_text(0)
            assert expected.keys() == actual.keys()
            assert expected["direction"] == actual["direction"]
            expected, actual = expected["image"], actual["image"]
        assert (actual.dtype, actual.shape) == (expected.dtype, expected.shape)
        np.testing.assert_array_equal(actual, expected)


@pytest.mark.parametrize(("keywords", "obs_tile_size", "seeds"), OPTIONS)
def test_frames_equal_those_of_minigrid(keywords, obs_tile_size, seeds):
    options, env, _ = make_both("image", keywords, obs_tile_size)
    # MiniGrid draws a tile in ten milliseconds.
    for seed in seeds[:2]:
        state = make_state(options, seed)
        copy_state(env, state)
        env.render_mode = "rgb_array"
        expected, actual = env.render(), options.draw_frame(state, "rgb_array")
        assert actual.dtype == expected.dtype
        np.testing.assert_array_equal(actual, expected)
        assert options.draw_frame(state, "text") == env.pprint_grid()


def test_golden_observations_and_frames():
    lines = []
    for number, (keywords, obs_tile_size, seeds) in enumerate(OPTIONS):
        sizes = {"size": 8, "obs_tile_size": obs_tile_size, "max_steps": 640}
        for mode in MODES:
            options = DoorKey(obs_mode=mode, **sizes, **keywords)
            digest = hashlib.sha256()
            for seed in seeds:
                state = make_state(options, seed)
                update_digest(digest, observe(options, state))
                if mode == "image":
                    for form in ("rgb_array", "text"):
                        update_digest(digest, options.draw_frame(state, form))
            lines.append(f"{number} {mode} {digest.hexdigest()[:16]}\n")
    assert_golden(DATA / "minigrid_observations.txt", "".join(lines).encode())


def test_texts_equal_those_of_babyai_text():
    # Each line was written by the method ``gen_graph`` of BabyAI-Text (commit 31847fb8
    # of flowersteam/Grounding_LLMs_with_online_RL) in the state of that number.
    options = DoorKey(size=8, obs_mode="text")
    lines = (DATA / "minigrid_texts.txt").read_text("utf-8").splitlines()
    assert len(lines) == 40
    for seed, line in enumerate(lines):
        state = make_state(options, seed)
        goal = f"Goal of the agent: {options.MISSION}"
        assert observe(options, state) == f"{goal}\nObservation: {line}"


def test_an_empty_view_has_a_text_too():
    image = np.ones((7, 7, 3), np.uint8) * [1, 0, 0]
    text = "Goal of the agent: go\nObservation: You see nothing"
    assert describe("go", image) == text


def test_ansi_has_the_mission_and_colours(monkeypatch):
    options = DoorKey(size=5)
    state = make_state(options, 3)
    monkeypatch.delenv("NO_COLOR", raising=False)
    assert "\x1b[90mWG" in options.draw_frame(state, "ansi")
    monkeypatch.setenv("NO_COLOR", "1")
    expected = f"{options.draw_frame(state, 'text')}\n{options.MISSION}"
    assert options.draw_frame(state, "ansi") == expected


@pytest.mark.parametrize("name", ["tile_size", "obs_tile_size"])
@pytest.mark.parametrize("value", [0, 65])
def test_sizes_of_tiles_have_limits(name, value):
    with pytest.raises(InvalidOptionError, match=name):
        DoorKey(**{name: value})


def test_flat_observations_refuse_long_missions():
    class Long(DoorKey):
        MISSION = "go " * 33

    with pytest.raises(UnsupportedError, match="96 letters, got 99"):
        Long(obs_mode="flat")
    assert encode_letters("a" * 96).sum() == 96


@pytest.mark.slow
def test_batches_equal_the_rules():
    # Of an array behind which the letters of missions are written.
    keywords, num_envs = {"obs_mode": "flat", "max_steps": 9}, 3
    actions = np.random.default_rng(0).integers(0, 7, (25, num_envs))
    options = DoorKey(size=6, **keywords)
    mode = AutoresetMode.SAME_STEP
    envs, other = (
        roll_vec.make_vec(ID, num_envs, autoreset_mode=mode, **more, **keywords)
        for more in ({}, {"copy": False})
    )
    letters = encode_letters(DoorKey.MISSION)
    first = envs.reset(seed=0)[0]
    np.testing.assert_array_equal(other.reset(seed=0)[0], first)
    num_ends = 0
    for step in actions:
        observations, *_, infos = envs.step(step)
        for row in range(num_envs):
            expected = observe(options, envs.unwrapped.engine.row(row))
            np.testing.assert_array_equal(observations[row], expected)
        for last in infos.get("final_obs", []):
            if last is not None:
                num_ends += 1
                np.testing.assert_array_equal(last[-len(letters) :], letters)
        np.testing.assert_array_equal(other.step(step)[0], observations)
    assert num_ends > 0
    envs.reset(seed=0)
    rollout = envs.unwrapped.unroll(actions)
    np.testing.assert_array_equal(rollout.observations[-1], observations)


def test_batches_of_texts_equal_the_rules():
    envs = roll_vec.make_vec(ID, 3, obs_mode="text", max_steps=9)
    options = DoorKey(size=6, obs_mode="text", max_steps=9)
    texts = envs.reset(seed=0)[0]
    for step in np.random.default_rng(0).integers(0, 7, (25, 3)):
        engine = envs.unwrapped.engine
        assert texts == tuple(observe(options, engine.row(i)) for i in range(3))
        texts = envs.step(step)[0]


def test_prompts_are_complete():
    env = gymnasium.make(ID, obs_mode="text", action_mode="text", render_mode="ansi")
    observation, infos = env.reset(seed=0)
    assert observation == (
        "Goal of the agent: use the key to open the door and then get to the goal\n"
        "Observation: You see a wall 2 steps forward, You see a wall 1 step right, "
        "You see a yellow key 1 step left"
    )
    assert "locked door needs the key of its colour" in infos["env_instruction"]
    observation, *_, infos = env.step("left")
    assert infos["action_is_valid"]
    assert "You see a yellow key 1 step forward" in observation
    env.step("pickup")
    assert "You carry a yellow key" in env.step("done")[0]
    assert env.render().endswith(DoorKey.MISSION)


@pytest.mark.slow
@pytest.mark.parametrize("size", [1, 2, 3, 5, 8, 13, 32])
def test_tiles_equal_those_of_minigrid(size):
    pytest.importorskip("minigrid", reason=NO_MINIGRID)
    from minigrid.core.constants import IDX_TO_COLOR
    from minigrid.core.grid import Grid
    from minigrid.core.world_object import WorldObj

    for highlight in (False, True):
        tiles = make_tiles(size, highlight)
        for number, tile in enumerate(tiles):
            overlay, look = divmod(number, NUM_LOOKS)
            # MiniGrid takes 30 ms for a tile of 32 pixels.
            is_large = size > 8 and look > 0 and overlay >= AGENT
            if is_large or (overlay < AGENT and not highlight):
                continue
            thing = None
            if look:
                kind, colour = divmod(look - 1, 6)
                kind, state = TYPES_AND_STATES[kind]
                thing = WorldObj.decode(kind, colour, state)
                thing.color = IDX_TO_COLOR[colour]
            direction = overlay - AGENT if overlay >= AGENT else None
            is_lighter = highlight if overlay >= AGENT else overlay == SEEN
            Grid.tile_cache.clear()
            expected = Grid.render_tile(thing, direction, is_lighter, size)
            np.testing.assert_array_equal(tile, expected.astype(np.uint8))


@pytest.mark.slow
@pytest.mark.parametrize("mode", ["flat", "text", "rgb", "rgb_view", "symbolic"])
def test_modes_pass_the_checker(mode):
    keywords = {"obs_mode": mode, "max_steps": 9}
    if mode == "text":
        keywords |= {"action_mode": "text", "format_penalty": -0.25}

    def make(num_envs=4, **more):
        return gymnasium.make_vec(ID, num_envs=num_envs, **keywords, **more)

    check_vector_env(make, seed=3, steps=20)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("id", "mode"),
    [
        ("MiniGrid-DoorKey-6x6-v0", "one_hot"),
        ("MiniGrid-MultiRoom-N2-S4-v0", "rgb"),
        ("MiniGrid-ObstructedMaze-1Dlhb-v0", "rgb_view"),
        ("MiniGrid-LavaGapS5-v0", "full"),
        ("MiniGrid-Dynamic-Obstacles-6x6-v0", "symbolic"),
        ("BabyAI-UnlockPickup-v0", "flat"),
    ],
)
def test_compiled_modes_equal_minigrid(id, mode):
    wrappers = pytest.importorskip("minigrid.wrappers", reason=NO_MINIGRID)
    theirs = gymnasium.make(id, render_mode="rgb_array", disable_env_checker=True)
    theirs = getattr(wrappers, WRAPPERS[mode])(theirs.unwrapped)
    ours = gymnasium.make(f"roll_vec/{id}", obs_mode=mode, render_mode="rgb_array")
    num_actions = ours.action_space.n
    chances = np.array([3, 3, 6, 3, 1, 3, 1][:num_actions])
    for seed in range(6):
        rng, is_over, steps = np.random.default_rng(seed), True, 0
        while steps < 60:
            if is_over:
                more = {"seed": seed} if steps == 0 else {}
                expected, actual = theirs.reset(**more)[0], ours.reset(**more)[0]
                is_over = False
            else:
                action = int(rng.choice(num_actions, p=chances / chances.sum()))
                expected, *results, _ = theirs.step(action)
                actual, *ours_results, _ = ours.step(action)
                assert ours_results == results
                is_over = results[1] or results[2]
            if isinstance(expected, dict):
                assert actual["mission"] == expected["mission"]
                expected, actual = expected["image"], actual["image"]
            np.testing.assert_array_equal(actual, expected)
            picture = theirs.unwrapped.render()
            np.testing.assert_array_equal(ours.render(), picture)
            steps += 1
