"""Keywords of every id, in tables: what is accepted, and errors that say it."""

import dataclasses
import inspect

import numpy as np
import pytest

import roll_vec
from roll_vec.errors import (
    InvalidOptionError,
    UnknownOptionError,
    shorten,
)
from roll_vec.registration import ENVIRONMENTS

SOKOBAN, LAKE = "roll_vec/Sokoban-v0", "roll_vec/FrozenLake-v1"
RANDOM_LAKE, LAKE_8X8 = "roll_vec/RandomFrozenLake-v0", "roll_vec/FrozenLake8x8-v1"
COUNTDOWN, WEBSHOP = "roll_vec/Countdown-v0", "roll_vec/WebShop-v0"
NAN, INF = float("nan"), float("inf")

# -------------------------------------------------------------------- bad keywords


class Unhashable:
    """A filter of goals that cannot be hashed."""

    __hash__ = None

    def __call__(self, number, goal):
        return True


BOOL, INT = "True or False", "an integer"
FRAMES = "one of None, 'human', 'rgb_array', 'ansi', 'text'"
TEXT_FRAMES = {"one of None, 'ansi', 'text'": ["rgb_array", ["text"]]}
LETTER = "a non-empty string without the null character"
CHANCE = {"a number from 0 to 1": [-0.1, 1.1, NAN], "a number": ["0.5", None, True]}
BAND = {
    "None or two numbers": [0.5, (0.5,)],
    "a low bound that is not above the high one": [(0.6, 0.5)],
    "a number from 0 to 1": [(-0.1, 0.5), (0.5, 1.5), (0.5, NAN)],
}
LEVELS = {
    "num_levels": {"at least 0": [-1], INT: [2.0, None, True]},
    "start_level": {"at least 0": [-1], INT: ["0"]},
}
GRIDS = {
    **LEVELS,
    "obs_mode": {
        "one of 'grid', 'planes', 'tiny_rgb', 'rgb', 'text'": [
            "position",
            None,
            ["grid"],
            np.array(["grid"]),
        ]
    },
    "render_mode": {FRAMES: ["depth_array", ["text"]]},
    "max_steps": {"at least 1": [0, -5], INT: [10.0, False]},
    "grid_lookup": {
        "a dict from int to str": [5, ["#", "_"]],
        "keys among [0, 1, 2": [{7: "x"}, {"0": "x"}],
        LETTER: [{0: ""}, {0: 1}, {0: "a\0b"}],
    },
    "action_lookup": {
        "keys among [1, 2, 3, 4]": [{0: "none"}, {5: "more"}],
        LETTER: [{1: None}],
    },
}
# By id and keyword: what is accepted, and values that are not.
WRONG = {
    SOKOBAN: {
        **GRIDS,
        "dim_room": {
            "(rows, columns)": [6, None, (6,), (6, 6, 6)],
            "at least 3": [(2, 6), (6, 2), (-6, -6)],
            INT: [(6.0, 6), "66"],
        },
        "num_boxes": {
            "at least 1": [0, -1],
            INT: [2.0, True, None, "x"],
            "at most 2147483647": [10**30],
        },
        "search_depth": {"at least 1": [0, -300], INT: ["deep"]},
        "num_gen_steps": {"at least 1": [0], INT: [1.5]},
        "grid_vocab": {"a dict from str to str": [5, "abc"]},
        "deadlock": {BOOL: ["yes"]},
        "terminate_on_deadlock": {BOOL: [1]},
    },
    RANDOM_LAKE: {
        **GRIDS,
        "size": {"at least 2": [1, 0, -4], INT: [4.0, "4", None]},
        "p": CHANCE,
        "success_probability": BAND,
    },
    LAKE: {
        "obs_mode": {"one of 'position', 'grid'": ["pixels", None]},
        "render_mode": GRIDS["render_mode"],
        "map_name": {"one of '4x4', '8x8'": ["5x5", ["4x4"], 4]},
        "success_rate": {**CHANCE, "a number": ["high", [0.5], 10**400]},
        "reward_schedule": {
            "three finite numbers for goal, hole and ice": [
                *(5, None, (1, 0), (1, 0, 0, 0), "123"),
                *((1, 0, "a"), (1, 0, INF), (NAN, 0, 0)),
            ]
        },
        "desc": {
            "rows of one length of the letters SFHG": [
                *(5, [], [""], "SFFG", ["SF", "G"], [["S", "FG"]], ["SéG"]),
                np.zeros((2, 2, 2), "S1"),
            ],
            "only the letters S, F, H and G": [["SX", "FG"], ["SF", "Fg"]],
            "at least one start S": [["FF", "FG"]],
            "a way from S to G without holes": [["SF", "FF"], ["SH", "HG"], ["SHG"]],
        },
    },
    COUNTDOWN: {
        **LEVELS,
        "num_numbers": {
            "at least 1": [0],
            "at most 6": [7],
            "the least before the greatest": [(4, 3)],
            "two integers, least and greatest": [(1, 2, 3)],
            INT: ["34", 3.0, True, None],
        },
        "number_range": {
            "at least 0": [(-1, 9)],
            "two integers, least and greatest": [9],
            "at most 2147483647": [(1, 1 << 31)],
            INT: [(1, 9.5)],
        },
        "target_range": {
            "the least before the greatest": [(100, 10)],
            "at most 1048576 targets": [(0, 1 << 20)],
            INT: [("1", "2")],
        },
        "num_operations": {
            "None or two": [(1, 2, 3)],
            "a low bound": [(3, 2)],
            INT: ["23", 2.0, True],
            "at least 0": [-1],
            "at most 5": [6],
        },
        "operators": {"some of '+-*/', each once": ["", "++", "+^", ["+"], None]},
        "format_score": {"a number from -1e+300 to 1e+300": [NAN, 2e300]},
        "score": {"a number from -1e+300 to 1e+300": [INF, -2e300], "a number": [""]},
        "max_steps": {"at least 1": [0], INT: [None]},
        "data": {"the path of a file or None": [3], "a .parquet, .jsonl": ["/a.csv"]},
        "reward_rule": {"one of 'roll', 'tinyzero'": ["ragen"]},
        "numbers_rule": {"one of 'all', 'any'": [None]},
        "unary_minus": {BOOL: [1]},
        "unicode_operators": {BOOL: ["yes"]},
        "trailing_target": {BOOL: [None]},
        "difficulty_info": {BOOL: [1]},
        "max_chars": {"at least 1": [0], "at most 1048576": [(1 << 20) + 1]},
        "max_tokens": {"at least 1": [0], "at most 1024": [1025]},
        "max_depth": {"at least 1": [0], "at most 1024": [1025]},
        "max_digits": {"at least 1": [0], "at most 18": [19]},
        "env_instruction": {"a str or None": [3]},
        "render_mode": TEXT_FRAMES,
    },
    WEBSHOP: {
        **LEVELS,
        "filter_goals": {"a hashable function": [3, "goals", Unhashable()]},
        "limit_goals": {"at least 1": [0], INT: [2.0]},
        "split": {"one of 'all', 'test', 'eval', 'train'": ["validation", None]},
        "observation_mode": {"one of 'text', 'text_rich'": ["html"]},
        "observation_format": {"one of 'page', 'roll'": ["gem"]},
        "show_attrs": {BOOL: [1]},
        "seed_info": {BOOL: ["yes"]},
        "env_instruction": {"a str or None": [3]},
        "render_mode": TEXT_FRAMES,
        "products": {"the path of a file or None": [3]},
        "num_products": {"at least 1": [0]},
        "human_goals": {BOOL: [None, "no"]},
        "catalog_seed": {"at least 0": [-1]},
        "search_backend": {"one of 'lucene', 'tantivy'": ["bm25"]},
    },
}
# Keywords that are wrong together, or for another reason than their form.
CONTRADICTIONS = [
    (SOKOBAN, {"dim_x": 7}, "dim_x and dim_y: expected both or neither"),
    (SOKOBAN, {"dim_y": 7}, "dim_x and dim_y: expected both or neither"),
    (SOKOBAN, {"dim_x": 2, "dim_y": 9}, "dim_x: expected at least 3, got 2"),
    (SOKOBAN, {"dim_room": (7, 7), "dim_x": 7, "dim_y": 8}, "dim_room"),
    (SOKOBAN, {"dim_room": (3, 3), "num_boxes": 1}, "num_boxes: a room of dim_room"),
    (SOKOBAN, {"dim_room": (3, 6)}, "num_boxes: a room of dim_room=(3, 6)"),
    (
        SOKOBAN,
        {"num_boxes": 15},
        "num_boxes: a room of dim_room=(6, 6) has 16 inner cells, which is room for at "
        "most 14 boxes, got 15",
    ),
    *(
        (id, {"start_level": 5}, "start_level: 5 has no meaning with num_levels=0")
        for id in (SOKOBAN, RANDOM_LAKE, COUNTDOWN, WEBSHOP)
    ),
    *(
        (
            id,
            {"num_levels": 2**32, "start_level": 1},
            "num_levels + start_level: expected at most 2**32, got 4294967297",
        )
        for id in (SOKOBAN, COUNTDOWN)
    ),
    (
        LAKE,
        {"map_name": None},
        f"desc and map_name: both are None, which would be a random map; {RANDOM_LAKE}",
    ),
    (
        COUNTDOWN,
        {"num_numbers": 6, "number_range": (1, 900)},
        "number_range: 6 numbers up to 900 are more than can be enumerated exactly",
    ),
    (COUNTDOWN, {"num_numbers": 4, "number_range": (1, 32768)}, "number_range: 4 num"),
    (
        COUNTDOWN,
        {"max_chars": 10},
        "max_chars: an answer of 4 numbers of 2 digits takes at least 11, got 10",
    ),
    (COUNTDOWN, {"max_tokens": 6}, "max_tokens: an answer of 4 numbers of 2 digits"),
    (COUNTDOWN, {"max_digits": 1}, "max_digits: an answer of 4 numbers of 2 digits"),
    *(
        (
            COUNTDOWN,
            {"num_operations": count},
            "num_operations: expected a band that has one of the counts 2 to 3, got "
            f"({count}, {count}): tasks of num_numbers=(3, 4) take 2 to 3 of them",
        )
        for count in (1, 4)
    ),
    (
        COUNTDOWN,
        {"num_operations": 4, "numbers_rule": "any"},
        "num_operations: expected a band that has one of the counts 0 to 3, got (4, 4)"
        ": tasks of num_numbers=(3, 4) take at most 3 of them",
    ),
    *(
        (WEBSHOP, {name: "/a.json"}, f"{name}: '/a.json' needs products")
        for name in ("attributes", "human_instructions", "title_nouns")
    ),
    (WEBSHOP, {"products": "nowhere.json"}, "products: "),
    (WEBSHOP, {"products": "a\0b"}, "products: "),
    (WEBSHOP, {"memory_map": True}, "memory_map: expected products to be the folder"),
]


def refusals_of(id, keywords):
    """Return what both forms of an id say to keywords that they refuse."""
    messages = []
    for make in (ENVIRONMENTS[id].load(), lambda **k: roll_vec.make_vec(id, 2, **k)):
        with pytest.raises(InvalidOptionError) as caught:
            make(**keywords)
        assert isinstance(caught.value, ValueError)
        messages.append(str(caught.value))
    return messages


@pytest.mark.parametrize(
    ("id", "name"),
    [(id, name) for id in WRONG for name in WRONG[id]],
    ids=lambda part: part.removeprefix("roll_vec/"),
)
def test_a_wrong_value_is_refused_with_name_value_and_what_is_accepted(id, name):
    for accepted, values in WRONG[id][name].items():
        for value in values:
            single, batch = refusals_of(id, {name: value})
            assert single == batch
            assert single.startswith(name)
            assert f": expected {accepted}" in single, value
            # The value, or the part of it that is wrong.
            shown = single.rpartition(", got ")[2]
            assert shown == shorten(value) or set(shown) <= set(repr(value)), single


@pytest.mark.parametrize(("id", "keywords", "message"), CONTRADICTIONS, ids=str)
def test_values_that_do_not_go_together_are_refused(id, keywords, message):
    single, batch = refusals_of(id, keywords)
    assert single == batch
    assert single.startswith(message)


@pytest.mark.parametrize("id", ENVIRONMENTS)
def test_no_keyword_takes_just_anything(id):
    for name in inspect.signature(ENVIRONMENTS[id].load()).parameters:
        anything = object()
        with pytest.raises(InvalidOptionError, match=name) as caught:
            ENVIRONMENTS[id].load()(**{name: anything})
        assert "<object object" in str(caught.value)


@pytest.mark.parametrize("id", ENVIRONMENTS)
def test_an_unknown_keyword_is_a_type_error_that_lists_what_exists(id):
    cls, options = ENVIRONMENTS[id].load(), ENVIRONMENTS[id].load("Options")
    shown = inspect.signature(cls).parameters
    fields = {one.name: one.default for one in dataclasses.fields(options)}
    assert {name: one.default for name, one in shown.items()} == fields
    assert all(one.kind is one.KEYWORD_ONLY for one in shown.values())
    with pytest.raises(UnknownOptionError) as caught:
        cls(render_modes="text", what=1)
    assert isinstance(caught.value, TypeError)
    assert str(caught.value) == (
        "got an unexpected keyword argument 'render_modes'; "
        "got an unexpected keyword argument 'what'; "
        f"those that exist: {', '.join(sorted(fields))}; did you mean render_mode?"
    )
    with pytest.raises(TypeError):
        cls("text")


@pytest.mark.parametrize("id", ENVIRONMENTS)
def test_options_are_frozen_and_equal_ones_are_the_same(id):
    options = ENVIRONMENTS[id].load("Options")
    one, other = options(), options()
    assert one == other
    with pytest.raises(dataclasses.FrozenInstanceError):
        one.render_mode = "text"
    again = {field.name: getattr(one, field.name) for field in dataclasses.fields(one)}
    assert options(**again) == one
    for name in again:
        documented = [cls.__doc__ or "" for cls in options.__mro__]
        assert any(name in text for text in documented), name
