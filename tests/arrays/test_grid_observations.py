"""Every observation mode equals a naive rendering of the grid, in both forms."""

import re

import gymnasium
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from roll_vec.registration import ENVIRONMENTS
from tests.conftest import JIT_OFF
from tests.contract.cases import ARRAY_IDS, assert_same
from tests.contract.rules import FAMILIES, register_families

needs_jit = pytest.mark.skipif(JIT_OFF, reason="lookups below have the kernels")
# With the board of a user's game, which is not drawn.
WALK = "tests_rules/Walk-v0"
OPTIONS = {**{id: ENVIRONMENTS[id].load() for id in ARRAY_IDS}, WALK: FAMILIES[WALK]}
LOOKS = {id: each.FAMILY for id, each in OPTIONS.items()}
MODES = ("planes", "tiny_rgb", "rgb", "text")
# By mode of observations: frames that are looked at beside them.
FRAMES = dict(zip(MODES, ("rgb_array", "ansi", "text", "ansi"), strict=True))
SOKOBAN, LAKES = "roll_vec/Sokoban-v0", "roll_vec/RandomFrozenLake-v0"
# Levels with nearly all codes, in a few shapes.
LEVELS = {
    SOKOBAN: ["######\n#.$*@#\n# $. #\n######", "####\n#+$#\n#* #\n#  #\n####"],
    LAKES: [["SFH", "FHF", "FFG"], ["SFFFH", "HGFFF"]],
}


def naive(family, grid, mode, lookup=None):
    """One grid of codes as one observation, cell by cell."""
    tile_of, colour_of = family.tiles, family.pixels
    if mode == "grid":
        return grid
    if mode == "planes":
        return np.array([grid == code for code in range(len(tile_of))], np.uint8)
    if mode == "planes4":
        codes = [{5, 6}, {0}, {3, 4}, {2, 3, 6}]  # player, wall, box, target
        return np.array([np.isin(grid, [*each]) for each in codes], np.uint8)
    if mode == "tiny_rgb":
        return np.array([[colour_of[code] for code in row] for row in grid])
    if mode == "rgb":
        rows = [np.concatenate([tile_of[code] for code in row], axis=1) for row in grid]
        return np.concatenate(rows)
    lookup = family.glyphs if lookup is None else lookup
    lines = ["".join(lookup.get(code, "?") for code in row) for row in grid.tolist()]
    return "\n".join(lines)


def assert_shown(obs, family, grid, mode, lookup=None):
    """Assert that an observation is the naive rendering of a grid."""
    expected = naive(family, grid, mode, lookup)
    if mode == "text":
        assert type(obs) is str
        assert obs == expected
    else:
        assert obs.dtype == expected.dtype == np.uint8
        np.testing.assert_array_equal(obs, expected)


def check_views(id, mode, lookup=None, frames="text", **more):
    """Compare what both forms show with the naive rendering of the same grids."""
    frame_mode = "rgb" if frames == "rgb_array" else "text"
    own = {"obs_mode": mode, **({"grid_lookup": lookup} if lookup else {})}
    grids = gymnasium.make_vec(id, num_envs=3, obs_mode="grid", **more)
    batch = gymnasium.make_vec(id, num_envs=3, render_mode=frames, **own, **more)
    alone = gymnasium.make(id, render_mode=frames, **own, **more)
    shown = batch.reset(seed=5)[0]
    codes = grids.reset(seed=5)[0]
    assert_shown(alone.reset(seed=6)[0], LOOKS[id], codes[1], mode, lookup)
    assert_same(alone.render(), batch.render()[1])
    space, rng = grids.single_action_space, np.random.default_rng(0)
    for actions in rng.integers(space.start, space.start + space.n, (8, 3)):
        for i in range(3):
            assert_shown(shown[i], LOOKS[id], codes[i], mode, lookup)
            frame = batch.render()[i]
            if frames == "ansi":
                assert "\x1b" in frame
                frame = re.sub(r"\x1b\[[0-9;]*m", "", frame)
            assert_shown(frame, LOOKS[id], codes[i], frame_mode, lookup)
        assert batch.observation_space.contains(shown)
        shown, codes = batch.step(actions)[0], grids.step(actions)[0]
    assert type(shown) is (tuple if mode == "text" else np.ndarray)


@pytest.fixture(scope="module", autouse=True)
def _walk(module_forgets_ids):
    register_families({WALK: FAMILIES[WALK]})


@needs_jit
@pytest.mark.parametrize("id", OPTIONS)
@pytest.mark.parametrize(("mode", "frames"), FRAMES.items())
def test_modes_and_frames_equal_naive_renderings_of_the_grid(id, mode, frames):
    if frames == "rgb_array" and "/FrozenLake" in id:
        frames = "text"  # Gymnasium draws their pictures
    check_views(id, mode, frames=frames)


def test_four_planes_equal_naive_renderings_of_the_grid():
    check_views(SOKOBAN, "planes4")
    for level in LEVELS[SOKOBAN]:
        check_views(SOKOBAN, "planes4", levels=[level])


@given(
    id=st.sampled_from([*LEVELS]),
    level=st.integers(0, 1),
    mode=st.sampled_from(["grid", *MODES, "text", "text"]),
    lookup=st.dictionaries(
        st.integers(0, 5),
        st.text(
            st.characters(exclude_characters="\0", exclude_categories=["Cs"]),
            min_size=1,
            max_size=3,
        ),
        min_size=1,
    ),
)
def test_texts_have_the_strings_of_any_lookup(id, level, mode, lookup):
    check_views(id, mode, lookup, levels=[LEVELS[id][level]])


@needs_jit
def test_render_scale_enlarges_the_pixels_of_frames_alone():
    id, keywords = SOKOBAN, {"render_mode": "rgb_array"}
    env = gymnasium.make(id, render_scale=3, obs_mode="rgb", **keywords)
    batch = gymnasium.make_vec(id, 2, render_scale=3, obs_mode="rgb", **keywords)
    for observation, frame in (
        (env.reset(seed=4)[0], env.render()),
        (batch.reset(seed=4)[0][0], batch.render()[0]),
    ):
        expected = observation.repeat(3, axis=0).repeat(3, axis=1)
        np.testing.assert_array_equal(frame, expected)


def test_spaces_say_what_is_observed():
    def space(id, **keywords):
        return gymnasium.make(f"roll_vec/{id}-v0", **keywords).observation_space

    box, lake = gymnasium.spaces.Box, "RandomFrozenLake"
    room = {"dim_room": (5, 8), "num_boxes": 1}
    assert space("Sokoban", **room) == box(0, 6, (5, 8), np.uint8)
    assert space(lake, size=7) == box(0, 5, (7, 7), np.uint8)
    for mode, highest, shape in (
        ("planes", 1, (7, 5, 8)),
        ("planes4", 1, (4, 5, 8)),
        ("tiny_rgb", 255, (5, 8, 3)),
        ("rgb", 255, (80, 128, 3)),
    ):
        expected = box(0, highest, shape, np.uint8)
        assert space("Sokoban", obs_mode=mode, **room) == expected
    assert space(lake, obs_mode="planes") == box(0, 1, (6, 4, 4), np.uint8)
    text = space("Sokoban", obs_mode="text", **room)
    assert (text.min_length, text.max_length) == (44, 44)
    lookup = {0: "wall", 1: "."}  # and "?" for the others
    text = space("Sokoban", obs_mode="text", grid_lookup=lookup, **room)
    assert (text.min_length, text.max_length) == (44, 5 * (8 * 4 + 1) - 1)


@pytest.mark.parametrize("family", [LOOKS[id] for id in ARRAY_IDS], ids=ARRAY_IDS)
def test_every_code_has_looks_that_differ_from_every_other(family):
    codes = list(range(family.num_codes))
    for table, shape in ((family.pixels, (3,)), (family.tiles, (16, 16, 3))):
        assert table.shape == (len(codes), *shape)
        assert table.dtype == np.uint8
        assert len(np.unique(table.reshape(len(table), -1), axis=0)) == len(table)
        with pytest.raises(ValueError, match="read-only"):
            table[0] = 0
    for by_code in (family.glyphs, family.colours):
        assert list(by_code) == codes
        assert len(set(by_code.values())) == len(codes)
    assert list(family.meanings) == list(family.glyphs.values())
    assert len(set(family.meanings.values())) == len(codes)


def test_looks_and_names_are_those_of_the_originals():
    # Families without drawings have squares of their pixels.
    np.testing.assert_array_equal(LOOKS[WALK].tiles[:, 7, 3], LOOKS[WALK].pixels)
    sokoban = LOOKS[SOKOBAN]
    assert OPTIONS[SOKOBAN].actions == ("Up", "Down", "Left", "Right")
    assert OPTIONS[LAKES].actions == ("Left", "Down", "Right", "Up")
    # gym-sokoban 0.0.6 draws these in its tiny_rgb_array mode.
    expected = [
        *([0, 0, 0], [243, 248, 238], [254, 126, 125], [254, 95, 56]),
        *([142, 121, 56], [160, 212, 56], [219, 212, 56]),
    ]
    np.testing.assert_array_equal(sokoban.pixels, expected)
