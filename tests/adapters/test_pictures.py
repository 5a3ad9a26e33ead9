"""Pictures of adapters are those of gym-sokoban and of Gymnasium, to the byte."""

import sys

import numpy as np
import pytest

from roll_vec.adapters.roll import GemFrozenLakeEnv, GemSokobanEnv
from roll_vec.adapters.tiles import load_sokoban_tiles
from roll_vec.adapters.verl_agent import build_sokoban_envs
from tests.adapters.stand_ins import room_to_rgb

ROOM = {"dim_room": (6, 7), "num_boxes": 2, "search_depth": 50}
CODES = {glyph: code for code, glyph in enumerate("#_O√XPS")}
ANSWERS = [*"LDRU", "", "<answer>Jump</answer>"]
NAMES = dict(zip("LDRU", ("Left", "Down", "Right", "Up"), strict=True))


def answers(seed, number=12):
    """Return random answers of a model, some of them without an action."""
    drawn = np.random.default_rng(seed).choice(ANSWERS, number).tolist()
    return [f"<answer>{NAMES.get(one, one)}</answer>" if one else one for one in drawn]


def frames(env, seed):
    """Yield the answers of an episode of ROLL's kind, and its observations."""
    yield None, env.reset(seed)[0]
    for answer in answers(seed):
        observation, _, terminated, _, _ = env.step(answer)
        yield answer, observation
        if terminated:
            return


# The package itself: `tests/frameworks/roll/compare.py`.
def test_rooms_have_the_tiles_of_the_package(stand_ins):
    texts = GemSokobanEnv(**ROOM)
    pixels = GemSokobanEnv(**ROOM, render_mode="rgb_array")
    for seed in range(5):
        both = zip(frames(texts, seed), frames(pixels, seed), strict=True)
        for (_, text), (_, picture) in both:
            room = np.array([[CODES[glyph] for glyph in row] for row in text.split()])
            expected = room_to_rgb(room)
            assert (picture.dtype, picture.shape) == (np.uint8, (96, 112, 3))
            np.testing.assert_array_equal(picture, expected)
            np.testing.assert_array_equal(texts.render("rgb_array"), expected)
            np.testing.assert_array_equal(pixels.render(), expected)
            assert pixels.render("text") == text
    envs = build_sokoban_envs(0, 2, 1, env_kwargs=ROOM)
    for picture, grid in zip(envs.reset()[0], envs.render("state"), strict=True):
        np.testing.assert_array_equal(picture, room_to_rgb(grid))


def test_without_gym_sokoban_texts_work(monkeypatch):
    load_sokoban_tiles.cache_clear()
    monkeypatch.setitem(sys.modules, "gym_sokoban.envs.render_utils", None)
    for make in (lambda: build_sokoban_envs(env_kwargs=ROOM), load_sokoban_tiles):
        with pytest.raises(ImportError, match="gym_sokoban"):
            make()
    env = GemSokobanEnv(**ROOM)
    env.reset(0)
    with pytest.raises(ImportError, match="gym_sokoban"):
        env.render("rgb_array")


OBLONG = ["FFSFF", "FHFHF", "FFGFF"]
WIDE = ["S" + "F" * 8, *["FFHFFHFFF"] * 9, "F" * 8 + "G"]
LAKES = [{"levels": [OBLONG]}, {"levels": [WIDE], "is_slippery": False}]


def draw_lake(desc, cell, direction):
    """Return a new frame of Gymnasium's."""
    from gymnasium.envs.toy_text.frozen_lake import FrozenLakeEnv

    lake = FrozenLakeEnv(desc=desc, render_mode="rgb_array")
    lake.s, lake.lastaction = cell, direction
    return lake.render()


# Those of a generated map are in data/roll.json.
@pytest.mark.parametrize("keywords", LAKES, ids=["oblong", "wide"])
def test_lakes_are_gymnasiums(keywords):
    pytest.importorskip("pygame", reason="Gymnasium draws with it")
    texts = GemFrozenLakeEnv(**keywords)
    pixels = GemFrozenLakeEnv(**keywords, render_mode="rgb_array")
    (desc,), seen = keywords["levels"], set()
    for seed in range(3):
        direction = None
        both = zip(frames(texts, seed), frames(pixels, seed), strict=True)
        for (answer, text), (_, picture) in both:
            if answer is not None:
                parsed = texts.parse_action(answer)["action"]
                direction = direction if parsed is None else parsed
            glyphs = enumerate("".join(text.split()))
            cell = next(i for i, glyph in glyphs if glyph in "PX√")
            expected = draw_lake(desc, cell, direction)
            seen.add("".join(desc)[cell])
            assert picture.dtype == np.uint8
            np.testing.assert_array_equal(picture, expected)
            np.testing.assert_array_equal(texts.render("rgb_array"), expected)
            assert pixels.render("text") == text
    assert len(seen) > 1
