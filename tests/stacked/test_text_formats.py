"""Texts of coordinates: both forms of each game equal a listing cell by cell.

`tests/adapters/test_transcripts.py` compares the strings with RAGEN's own.
"""

import itertools
import pickle

import gymnasium
import numpy as np
import pytest

import roll_vec
from roll_vec.errors import InvalidOptionError
from roll_vec.stacked.coordinate_texts import CoordinateWriter
from tests.conftest import JIT_OFF
from tests.stacked.ids import FAMILIES, IDS, actions_of

pytestmark = pytest.mark.skipif(JIT_OFF, reason="texts have no kernel of their own")

ROOM = """Board size: 4 rows x 5 cols (zero-indexed).
Targets: (1, 2), (1, 3), (2, 1)
Boxes: (2, 2)
Boxes on target: (1, 2), (1, 3)
Player on target: (2, 1)"""
LAKE = """Board size: 2 rows x 3 cols (zero-indexed).
Start: (0, 0)
Goal: (1, 2)
Player: (0, 0)
Holes: (0, 2)"""


def listing(env):
    """The coordinates of a single environment's things, cell by cell."""
    if isinstance(env, roll_vec.envs.sokoban.Sokoban):
        glyphs = {2: "O", 3: "√", 4: "X", 5: "P", 6: "S"}
        labels = {
            "Targets": "O√S",
            "Boxes": "X",
            "Boxes on target": "√",
            "Player": "P",
            "Player on target": "S",
        }
        cells = [[glyphs.get(code, "") for code in row] for row in env.grid.tolist()]
    else:
        cells = [[letter.decode() for letter in row] for row in env.desc.tolist()]
        row, column = divmod(env.s, env.ncol)
        where = {"G": "Player on goal", "H": "Player in hole"}
        label = where.get(cells[row][column], "Player")
        cells[row][column] += "P"
        labels = {"Start": "S", "Goal": "G", label: "P", "Holes": "H"}
    lines = [f"Board size: {len(cells)} rows x {len(cells[0])} cols (zero-indexed)."]
    for label, letters in labels.items():
        places = [
            f"({r}, {c})"
            for r, row in enumerate(cells)
            for c, cell in enumerate(row)
            if any(letter in letters for letter in cell)
        ]
        if places:
            lines.append(f"{label}: {', '.join(places)}")
    return "\n".join(lines)


@pytest.mark.parametrize("id", IDS)
@pytest.mark.parametrize("text_format", ["coord", "grid_coord"])
def test_both_forms_equal_a_listing_cell_by_cell(id, text_format):
    keywords = {"obs_mode": "text", "text_format": text_format}
    if "Sokoban" in id:
        keywords |= {"num_boxes": 1, "dim_room": (5, 6)}
    batch = roll_vec.make_vec(id, 3, autoreset_mode="SameStep", **keywords)
    envs = [gymnasium.make(id, render_mode="text", **keywords) for _ in range(3)]
    expected = list(batch.reset(seed=7)[0])
    for i, env in enumerate(envs):
        assert env.reset(seed=7 + i)[0] == expected[i]
    plan = np.random.default_rng(3).choice(actions_of(id), (20, 3))
    for t in range(20):
        texts, _, _, _, infos = batch.step(plan[t])
        for i, env in enumerate(envs):
            text, _, terminated, truncated, _ = env.step(plan[t, i])
            coordinates = listing(env.unwrapped)
            if text_format == "coord":
                assert text == coordinates
            else:
                grid = env.render()
                joined = f"Coordinates: \n{coordinates}\nGrid Map: \n{grid}"
                assert text == joined
            assert env.observation_space.contains(text)
            if terminated or truncated:
                assert infos["final_obs"][i] == text
                text = env.reset()[0]
            assert texts[i] == text


def test_the_lines_of_a_room_and_of_a_lake():
    room = ["#####", "#_**#", "#+$_#", "#####"]
    # One box more than targets would be refused: the listing alone is of interest.
    grid = np.array([["#_.*$@+".index(c) for c in row] for row in room], np.uint8)
    writer = CoordinateWriter(FAMILIES["roll_vec/Sokoban-v0"], grid.shape)
    assert writer.write(grid[np.newaxis]) == [ROOM]
    keywords = {"obs_mode": "text", "text_format": "coord"}
    lake = gymnasium.make("roll_vec/FrozenLake-v1", desc=["SFH", "FFG"], **keywords)
    assert lake.reset(seed=0)[0] == LAKE


@pytest.mark.parametrize("id", IDS)
def test_the_longest_text_is_in_the_space(id):
    family, height, width = FAMILIES[id], 3, 4
    writer = CoordinateWriter(family, (height, width))
    codes = range(family.num_codes)
    marks = (0, 128) if family.coordinate_labels[0][1] is None else (0,)
    lengths = []
    for code, mark in itertools.product(codes, marks):
        grid = np.full((1, height, width), code | mark, np.uint8)
        (text,) = writer.write(grid)
        assert set(text) <= set(writer.alphabet)
        lengths.append(len(text))
    assert writer.min_length <= min(lengths)
    assert max(lengths) <= writer.max_length


def test_snapshots_keep_what_texts_name():
    with pytest.raises(InvalidOptionError, match="text_format: expected"):
        gymnasium.make_vec("roll_vec/Sokoban-v0", text_format="x", obs_mode="text")
    keywords = {"obs_mode": "text", "text_format": "coord"}
    lakes = roll_vec.make_vec("roll_vec/RandomFrozenLake-v0", 2, **keywords)
    texts, _ = lakes.reset(seed=1)
    other = roll_vec.make_vec("roll_vec/RandomFrozenLake-v0", 2, **keywords)
    other.reset(seed=5)
    other.set_state(pickle.loads(pickle.dumps(lakes.get_state())))
    assert other.unwrapped.engine.observe() == texts


def test_instructions_explain_the_format():
    lines = {
        text_format: [
            line.split()[0]
            for line in gymnasium.make(
                "roll_vec/Sokoban-v0", obs_mode="text", text_format=text_format
            )
            .unwrapped.get_instructions()
            .splitlines()[1:]
        ]
        for text_format in ("grid", "coord", "grid_coord")
    }
    assert lines == {
        "grid": ["Symbols", "Actions:"],
        "coord": ["Coordinates", "Actions:"],
        "grid_coord": ["Symbols", "Coordinates", "Actions:"],
    }
