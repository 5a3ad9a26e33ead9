"""Every observation mode equals a naive rendering of the grid, in both forms."""

from types import SimpleNamespace

import gymnasium
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import roll_vec  # noqa: F401  registers the ids
from roll_vec.envs.frozen_lake.grid import FROZEN_LAKE
from roll_vec.envs.sokoban.grid import SOKOBAN
from roll_vec.render import ansi
from roll_vec.stacked.grid_family import Cell, GridFamily
from roll_vec.stacked.grid_observations import ARRAY_MODES, GridObserver
from tests.conftest import JIT_OFF
from tests.splits import split_all
from tests.stacked.ids import FAMILIES, IDS, actions_of

needs_jit = pytest.mark.skipif(JIT_OFF, reason="the observers below have the kernels")
MODES = ("planes", "tiny_rgb", "rgb", "text")
# One character a code, several alike, unequal lengths, and codes left out.
LOOKUPS = [
    None,
    dict(enumerate("abcdef")),
    dict(enumerate(["<0>", "<1>", "<2>", "<3>", "<4>", "<5>"])),
    dict(enumerate(["🧊", "two", " ", "\n", "é́", "…long one…"])),
    {0: "zero", 5: "\t"},
]


def make_observer(family, shape, lookup, mode, num_threads=1):
    """Return an observer of grids of any shape."""
    options = SimpleNamespace(
        FAMILY=family,
        grid_shape=shape,
        grid_lookup=lookup,
        obs_mode=mode,
        text_format="grid",
        own_space=None,
    )
    return GridObserver(options, num_threads)


def naive(family, grid, mode, lookup=None):
    """One grid of codes as one observation, cell by cell."""
    tile_of, colour_of = family.tiles, family.pixels
    if mode == "grid":
        return grid
    if mode == "planes":
        return np.array([grid == code for code in range(len(tile_of))], np.uint8)
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


# ------------------------------------------------------------------ through the ids


def check_views(id, mode, lookup=None, **more):
    """Compare what both forms show with the naive rendering of the same grids."""
    keywords = {"render_mode": "text", **more}
    own = {"obs_mode": mode, **({"grid_lookup": lookup} if lookup else {})}
    grids = gymnasium.make_vec(id, num_envs=3, obs_mode="grid", **keywords)
    batch = gymnasium.make_vec(id, num_envs=3, **own, **keywords)
    alone = gymnasium.make(id, **own, **keywords)
    shown = batch.reset(seed=5)[0]
    codes = grids.reset(seed=5)[0]
    assert_shown(alone.reset(seed=6)[0], FAMILIES[id], codes[1], mode, lookup)
    for actions in np.random.default_rng(0).choice(actions_of(id), (8, 3)):
        for i in range(3):
            assert_shown(shown[i], FAMILIES[id], codes[i], mode, lookup)
        assert batch.observation_space.contains(shown)
        shown, codes = batch.step(actions)[0], grids.step(actions)[0]
    assert type(shown) is (tuple if mode == "text" else np.ndarray)


@needs_jit
@pytest.mark.parametrize("id", IDS)
@pytest.mark.parametrize("mode", MODES)
def test_modes_equal_naive_renderings_of_the_grid(id, mode):
    check_views(id, mode)


@needs_jit
@pytest.mark.parametrize("lookup", LOOKUPS, ids=str)
def test_text_has_the_strings_of_the_lookup(lookup):
    room = {"dim_room": (5, 8), "num_boxes": 2}
    check_views("roll_vec/Sokoban-v0", "text", lookup, **room)
    check_views("roll_vec/RandomFrozenLake-v0", "text", lookup, size=3)


@needs_jit
@pytest.mark.parametrize("id", IDS)
@pytest.mark.parametrize("mode", ["rgb_array", "text", "ansi"])
def test_frames_of_both_forms_equal_naive_renderings(id, mode):
    batch = gymnasium.make_vec(id, num_envs=3, obs_mode="grid", render_mode=mode)
    batch.reset(seed=1)
    actions = np.resize(actions_of(id), 3)
    grids = batch.step(actions)[0]
    frames = batch.render()
    assert type(frames) is tuple
    assert len(frames) == 3
    for i in range(3):
        env = gymnasium.make(id, render_mode=mode)
        env.reset(seed=1 + i)
        env.step(actions[i])
        shown = [frames[i], env.render()]
        if mode == "ansi":
            assert shown[0] != ansi.strip_colours(shown[0])
            shown = [ansi.strip_colours(frame) for frame in shown]
        for frame in shown:
            own = "rgb" if mode == "rgb_array" else "text"
            assert_shown(frame, FAMILIES[id], grids[i], own)


@needs_jit
def test_render_scale_enlarges_the_pixels_of_frames_alone():
    id, keywords = "roll_vec/Sokoban-v0", {"render_mode": "rgb_array"}
    env = gymnasium.make(id, render_scale=3, obs_mode="rgb", **keywords)
    batch = gymnasium.make_vec(id, 2, render_scale=3, obs_mode="rgb", **keywords)
    for observation, frame in (
        (env.reset(seed=4)[0], env.render()),
        (batch.reset(seed=4)[0][0], batch.render()[0]),
    ):
        expected = observation.repeat(3, axis=0).repeat(3, axis=1)
        np.testing.assert_array_equal(frame, expected)
    texts = [gymnasium.make(id, render_mode="text", render_scale=n) for n in (1, 3)]
    for text in texts:
        text.reset(seed=4)
    assert texts[0].render() == texts[1].render()


def test_spaces_say_what_is_observed():
    def space(id, **keywords):
        return gymnasium.make(f"roll_vec/{id}-v0", **keywords).observation_space

    box, lake = gymnasium.spaces.Box, "RandomFrozenLake"
    room = {"dim_room": (5, 8), "num_boxes": 1}
    assert space("Sokoban", **room) == box(0, 6, (5, 8), np.uint8)
    assert space(lake, size=7) == box(0, 5, (7, 7), np.uint8)
    for mode, highest, shape in (
        ("planes", 1, (7, 5, 8)),
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


# ------------------------------------------------------------------------ the observer


@given(
    family=st.sampled_from([SOKOBAN, FROZEN_LAKE]),
    shape=st.tuples(st.integers(0, 5), st.integers(1, 5), st.integers(1, 7)),
    seed=st.integers(0, 99),
    mode=st.sampled_from(["grid", *MODES]),
    lookup=st.dictionaries(
        st.integers(0, 5),
        st.text(
            st.characters(exclude_characters="\0", exclude_categories=["Cs"]),
            min_size=1,
            max_size=3,
        ),
    ),
)
def test_observers_equal_naive_renderings(family, shape, seed, mode, lookup):
    num_codes = family.num_codes
    grids = np.random.default_rng(seed).integers(0, num_codes, shape, np.uint8)
    observer = make_observer(family, shape[1:], lookup, mode)
    observations = observer.observe(grids)
    assert len(observations) == shape[0]
    for grid, obs in zip(grids, observations, strict=True):
        assert_shown(obs, family, grid, mode, lookup)
        assert_shown(observer.observe_one(grid), family, grid, mode, lookup)
        assert observer.space.contains(obs)


@pytest.mark.parametrize("mode", ARRAY_MODES)
def test_an_array_can_be_written_again(mode):
    rng = np.random.default_rng(0)
    observer = make_observer(SOKOBAN, (4, 5), SOKOBAN.glyphs, mode)
    first, second = rng.integers(0, 7, (2, 3, 4, 5), np.uint8)
    out = observer.observe(first)
    assert not np.shares_memory(out, first)
    assert observer.observe(second, out) is out
    for grid, obs in zip(second, out, strict=True):
        assert_shown(obs, SOKOBAN, grid, mode)
    assert observer.observe(first) is not out


@needs_jit
@pytest.mark.parametrize("mode", MODES)
def test_threads_change_nothing(mode, monkeypatch):
    split_all(monkeypatch, 4)
    grids = np.random.default_rng(1).integers(0, 7, (11, 4, 5), np.uint8)
    one = make_observer(SOKOBAN, (4, 5), {2: "two"}, mode).observe(grids)
    many = make_observer(SOKOBAN, (4, 5), {2: "two"}, mode, 4).observe(grids)
    np.testing.assert_array_equal(many, one)


# ------------------------------------------------------------- the looks of the cells

UNDRAWN = GridFamily(
    cells=(Cell(".", "floor", (1, 2, 3), "2"), Cell("@", "player", (4, 5, 6))),
    action_names=("Wait",),
)
ALL = {**FAMILIES, "undrawn": UNDRAWN}


@pytest.mark.parametrize("family", ALL.values(), ids=ALL)
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
    np.testing.assert_array_equal(UNDRAWN.tiles[:, 7, 3], UNDRAWN.pixels)
    assert SOKOBAN.action_lookup(1) == {1: "Up", 2: "Down", 3: "Left", 4: "Right"}
    assert FROZEN_LAKE.action_lookup(0) == {0: "Left", 1: "Down", 2: "Right", 3: "Up"}
    # gym-sokoban 0.0.6 draws these in its tiny_rgb_array mode.
    expected = [
        *([0, 0, 0], [243, 248, 238], [254, 126, 125], [254, 95, 56]),
        *([142, 121, 56], [160, 212, 56], [219, 212, 56]),
    ]
    np.testing.assert_array_equal(SOKOBAN.pixels, expected)
