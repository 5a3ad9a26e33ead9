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
from roll_vec.errors import InvalidOptionError
from roll_vec.render import ansi
from roll_vec.stacked.grid_observations import ARRAY_MODES, GridObserver
from tests.splits import split_all
from tests.stacked.ids import FAMILIES, IDS, actions_of

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


def both_forms(id, num_steps, **keywords):
    """Observations of each step, (steps, 3): of the batch, of single environments."""
    actions = np.random.default_rng(0).choice(actions_of(id), (num_steps, 3))
    batch = gymnasium.make_vec(id, num_envs=3, **keywords)
    batched = [batch.reset(seed=5)[0]]
    for row in actions:
        batched.append(batch.step(row)[0])
    assert all(batch.observation_space.contains(obs) for obs in batched)
    alone = []
    for i in range(3):
        env = gymnasium.make(id, **keywords)
        alone.append([env.reset(seed=5 + i)[0]])
        ended = False
        for action in actions[:, i]:
            if ended:
                alone[i].append(env.reset()[0])
                ended = False
            else:
                obs, _, terminated, truncated, _ = env.step(action)
                alone[i].append(obs)
                ended = terminated or truncated
        assert all(env.observation_space.contains(obs) for obs in alone[i])
    return batched, list(zip(*alone, strict=True))


@pytest.mark.parametrize("id", IDS)
@pytest.mark.parametrize("mode", MODES)
def test_modes_equal_naive_renderings_of_the_grid(id, mode):
    grids, grids_alone = both_forms(id, 12, obs_mode="grid")
    shown, shown_alone = both_forms(id, 12, obs_mode=mode)
    for t in range(13):
        for i in range(3):
            np.testing.assert_array_equal(grids[t][i], grids_alone[t][i])
            assert_shown(shown[t][i], FAMILIES[id], grids[t][i], mode)
            assert_shown(shown_alone[t][i], FAMILIES[id], grids[t][i], mode)


@pytest.mark.parametrize(
    ("id", "keywords"),
    [
        ("roll_vec/Sokoban-v0", {"dim_room": (5, 8), "num_boxes": 2}),
        ("roll_vec/RandomFrozenLake-v0", {"size": 3}),
    ],
)
@pytest.mark.parametrize("lookup", LOOKUPS, ids=str)
def test_text_has_the_strings_of_the_lookup(id, keywords, lookup):
    grids, _ = both_forms(id, 10, obs_mode="grid", **keywords)
    texts, alone = both_forms(
        id, 10, obs_mode="text", grid_lookup=lookup, render_mode="text", **keywords
    )
    for t in range(11):
        assert type(texts[t]) is tuple
        for i in range(3):
            assert_shown(texts[t][i], FAMILIES[id], grids[t][i], "text", lookup)
            assert_shown(alone[t][i], FAMILIES[id], grids[t][i], "text", lookup)


@pytest.mark.parametrize("id", IDS)
@pytest.mark.parametrize("mode", ["rgb_array", "text", "ansi"])
def test_frames_of_both_forms_equal_naive_renderings(id, mode):
    batch = gymnasium.make_vec(id, num_envs=3, obs_mode="grid", render_mode=mode)
    grids, _ = batch.reset(seed=1)
    actions = np.resize(actions_of(id), 3)
    grids = batch.step(actions)[0]
    frames = batch.render()
    assert type(frames) is tuple
    assert len(frames) == 3
    family = FAMILIES[id]
    for i in range(3):
        env = gymnasium.make(id, render_mode=mode)
        env.reset(seed=1 + i)
        env.step(actions[i])
        shown = [frames[i], env.render()]
        if mode == "ansi":
            shown = [ansi.strip_colours(frame) for frame in shown]
        for frame in shown:
            assert_shown(
                frame, family, grids[i], {"rgb_array": "rgb"}.get(mode, "text")
            )


@pytest.mark.parametrize("id", IDS)
def test_render_scale_enlarges_the_pixels_of_frames_alone(id):
    keywords = {"render_mode": "rgb_array", "obs_mode": "rgb"}
    env = gymnasium.make(id, render_scale=3, **keywords)
    batch = gymnasium.make_vec(id, num_envs=2, render_scale=3, **keywords)
    for reset, render in ((env, env.render), (batch, lambda: batch.render()[0])):
        observations, _ = reset.reset(seed=4)
        pixels = observations if reset is env else observations[0]
        expected = pixels.repeat(3, axis=0).repeat(3, axis=1)
        np.testing.assert_array_equal(render(), expected)
    text = gymnasium.make(id, render_scale=3, render_mode="text")
    plain = gymnasium.make(id, render_mode="text")
    for one in (text, plain):
        one.reset(seed=4)
    assert text.render() == plain.render()
    for scale in (0, 65, 1.5, True):
        with pytest.raises(InvalidOptionError, match="render_scale: expected"):
            gymnasium.make_vec(id, render_scale=scale)


def test_spaces_say_what_is_observed():
    def space(id, **keywords):
        return gymnasium.make(id, **keywords).observation_space

    box = gymnasium.spaces.Box
    sokoban, lake = "roll_vec/Sokoban-v0", "roll_vec/RandomFrozenLake-v0"
    room = {"dim_room": (5, 8), "num_boxes": 1}
    assert space(sokoban, **room) == box(0, 6, (5, 8), np.uint8)
    assert space(lake, size=7) == box(0, 5, (7, 7), np.uint8)
    assert space(sokoban, obs_mode="planes", **room) == box(0, 1, (7, 5, 8), np.uint8)
    assert space(lake, obs_mode="planes") == box(0, 1, (6, 4, 4), np.uint8)
    assert space(sokoban, obs_mode="tiny_rgb", **room) == box(
        0, 255, (5, 8, 3), np.uint8
    )
    assert space(sokoban, obs_mode="rgb", **room) == box(0, 255, (80, 128, 3), np.uint8)
    text = space(sokoban, obs_mode="text", **room)
    assert (text.min_length, text.max_length) == (44, 44)
    lookup = {0: "wall", 1: "."}  # and "?" for the others
    text = space(sokoban, obs_mode="text", grid_lookup=lookup, **room)
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


@pytest.mark.parametrize("mode", MODES)
def test_threads_change_nothing(mode, monkeypatch):
    split_all(monkeypatch, 4)
    grids = np.random.default_rng(1).integers(0, 7, (11, 4, 5), np.uint8)
    one = make_observer(SOKOBAN, (4, 5), {2: "two"}, mode).observe(grids)
    many = make_observer(SOKOBAN, (4, 5), {2: "two"}, mode, 4).observe(grids)
    np.testing.assert_array_equal(many, one)
