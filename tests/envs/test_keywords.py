"""Keywords of every id, in tables: what is accepted, and errors that say it."""

import dataclasses
import functools
import inspect
import re
from pathlib import Path

import gymnasium
import numpy as np
import pytest
from gymnasium.vector import SyncVectorEnv

import roll_vec
from roll_vec.descriptions import describe_env
from roll_vec.envs.countdown.options import CountdownOptions
from roll_vec.envs.webshop.options import WebShopOptions
from roll_vec.errors import (
    InvalidOptionError,
    RollVecWarning,
    UnknownOptionError,
    shorten,
)
from roll_vec.registration import ENVIRONMENTS
from roll_vec.spaces import UnicodeText
from tests.conftest import JIT_OFF
from tests.contract.cases import ALL_IDS, EACH_ID, IDS
from tests.golden import assert_golden

SOKOBAN, LAKE = "roll_vec/Sokoban-v0", "roll_vec/FrozenLake-v1"
RANDOM_LAKE = "roll_vec/RandomFrozenLake-v0"
COUNTDOWN, WEBSHOP = "roll_vec/Countdown-v0", "roll_vec/WebShop-v0"
NAN, INF = float("nan"), float("inf")

# -------------------------------------------------------------------- bad keywords


class Unhashable:
    """A filter of goals that cannot be hashed."""

    __hash__ = None

    def __call__(self, number, goal):
        return True

    def __repr__(self):
        return "Unhashable()"


# Values that every keyword is given, and more for some of them.
VALUES = (None, True, -1, 0, 1, 3, 2.5, 0.5, NAN, INF, 10**30, 10**400, np.int64(2))
VALUES += ("", "x", "3", "text", "a\0b", b"x", (), [], [2, 5], (4, 3), (1, 2, 3))
VALUES += ((0.5,), (0.2, 0.5), (0.6, 0.5), (-0.1, 0.5), (None, 2), {}, {1: "a"})
VALUES += (Unhashable(),)
MORE_VALUES = {
    "dim_room": ((6, 6), (2, 6), (6, 2), (6.0, 6), "66"),
    "obs_mode": ("grid", "position", ["grid"]),
    "render_mode": ("rgb_array", "ansi", "human", "depth_array", ["text"]),
    "grid_lookup": (["#", "_"], {7: "x"}, {"0": "x"}, {0: ""}, {0: 1}, {0: "a\0b"}),
    "action_lookup": ({0: "none"}, {5: "more"}, {1: None}, {1: "a\0"}),
    "grid_vocab": ({"#": "wall"}, {"#": 1}),
    "map_name": ("4x4", "8x8", "5x5", ["4x4"]),
    "reward_schedule": ((1, 0, 0), (1, 0, "a"), (1, 0, INF), (NAN, 0, 0), "123"),
    "desc": (
        *([""], "SFFG", ["SF", "G"], [["S", "FG"]], ["SéG"], ["SX", "FG"]),
        *(["Sf", "FG"], ["FF", "FG"], ["SF", "FF"], ["SH", "HG"], ["SHG"], ["SFG"]),
        np.zeros((2, 2, 2)),
    ),
    "num_numbers": (6, 7, "34"),
    "max_steps": (10, 10.0),
    "number_range": ((-1, 9), (1, 1 << 31), (1, 9.5), [1, np.int8(9)]),
    "target_range": ((100, 10), (0, 1 << 20), ("1", "2"), (-9, 9)),
    "operators": ("+-*/", "++", "+^", "/+", ["+"]),
    "score": (2, 1e300, 2e300, -2e300),
    "format_score": (1e300, -2e300),
    "data": ("/a.txt", "/a.jsonl", Path("a.jsonl")),
    "reward_rule": ("roll", "tinyzero", "ragen"),
    "notation": ("strict", "lenient", "latex"),
    "numbers_rule": ("all", "any"),
    "split": ("all", "test", "eval", "train", "validation"),
    "observation_mode": ("text_rich", "html"),
    "observation_format": ("page", "roll", "gem"),
    "num_boxes": (2147483647,),
}


def options_of(id):
    """Return the class of the options of an id."""
    known = ENVIRONMENTS[id]
    pooled = {COUNTDOWN: CountdownOptions, WEBSHOP: WebShopOptions}
    return pooled[id] if known.pooled else known.load()


def show(value):
    """Return a value in the same form with every version of NumPy."""
    return f"numpy's {value.tolist()}" if hasattr(value, "tolist") else shorten(value)


@pytest.mark.filterwarnings("ignore:desc. no way leads")
def test_every_value_of_every_keyword_is_kept_as_in_the_golden_file_or_refused():
    lines, first, first_ids = [], {}, {}
    for id in (SOKOBAN, LAKE, RANDOM_LAKE, COUNTDOWN, WEBSHOP):
        options = options_of(id)
        lines.append(f"# {id}")
        for name in inspect.signature(options).parameters:
            kept, refused = [], []
            first_ids.setdefault(name, id)
            for value in (*VALUES, *MORE_VALUES.get(name, ())):
                try:
                    field = getattr(options(**{name: value}), name)
                    same = type(field) is type(value) and field == value
                    as_it = "" if same else f" as {show(field)}"
                    kept.append(f"{show(value)}{as_it}")
                except RollVecWarning:
                    kept.append(f"{show(value)} with a warning")
                except InvalidOptionError as error:
                    message = str(error)
                    assert re.match(r"\w+(\[.+\]| and \w+)?: ", message)
                    assert name in message
                    assert ": expected " not in message or ", got " in message
                    refused.append(({name: value}, str(error)))
            line = f"{name}: {', '.join(kept)}".rstrip()
            # What is as in the first id with this keyword stands once.
            if first.setdefault(name, line) != line or first_ids[name] == id:
                lines.append(line)
            # An environment and a batch say the same.
            keywords, message = refused[-1]
            assert refusals_of(id, keywords) == [message] * 2
    text = "\n".join([*lines, ""]).replace(str(Path.cwd()), "")
    text = text.replace("\0", "\\0")
    assert_golden(Path(__file__).parent / "data" / "keywords.txt", text.encode())


# Keywords that are wrong together, and paths that are read later.
CONTRADICTIONS = [
    (SOKOBAN, {"dim_x": 2, "dim_y": 9}, "dim_x: expected at least 3, got 2"),
    (SOKOBAN, {"dim_room": (7, 7), "dim_x": 7, "dim_y": 8}, "dim_room"),
    (SOKOBAN, {"dim_room": (3, 3), "num_boxes": 1}, "num_boxes: a room of dim_room"),
    (SOKOBAN, {"dim_x": 4, "dim_y": 4}, "num_boxes"),
    (SOKOBAN, {"action_start": 0, "action_lookup": {4: "Go"}}, "action_lookup"),
    (SOKOBAN, {"action_mode": "text", "action_pattern": "("}, "action_pattern"),
    (
        SOKOBAN,
        {"num_boxes": 15},
        "num_boxes: a room of dim_room=(6, 6) has 16 inner cells, which is room for at "
        "most 14 boxes, got 15",
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
        COUNTDOWN,
        {"num_numbers": 6, "number_range": (1, 900)},
        "number_range: 6 numbers up to 900 are more than can be enumerated exactly",
    ),
    (COUNTDOWN, {"num_numbers": 4, "number_range": (1, 32768)}, "number_range: 4 num"),
    (WEBSHOP, {"products": "nowhere.json"}, "products: "),
    (WEBSHOP, {"products": "a\0b"}, "products: "),
    (SOKOBAN, {"levels": "a\0b"}, "levels: "),
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


@pytest.mark.parametrize(("id", "keywords", "message"), CONTRADICTIONS, ids=str)
def test_values_that_do_not_go_together_are_refused(id, keywords, message):
    single, batch = refusals_of(id, keywords)
    assert single == batch
    assert single.startswith(message)


@pytest.mark.parametrize("id", ALL_IDS)
def test_an_unknown_keyword_is_a_type_error_that_lists_what_exists(id):
    cls, is_pooled = ENVIRONMENTS[id].load(), ENVIRONMENTS[id].pooled
    make = cls if is_pooled else functools.partial(gymnasium.make, id)
    shown = inspect.signature(cls).parameters
    fields = {one.name: one.default for one in dataclasses.fields(options_of(id))}
    assert {name: one.default for name, one in shown.items()} == fields
    assert all(one.kind is one.KEYWORD_ONLY for one in shown.values())
    with pytest.raises(UnknownOptionError) as caught:
        make(render_modes="text", what=1)
    assert isinstance(caught.value, TypeError)
    # Gymnasium adds the id and the keywords.
    assert str(caught.value).partition(" was raised from")[0] == (
        "got an unexpected keyword argument 'render_modes'; "
        "got an unexpected keyword argument 'what'; "
        f"those that exist: {', '.join(sorted(fields))}; did you mean render_mode?"
    )
    with pytest.raises(TypeError):
        cls("text")


# ------------------------------------------------------- keywords without an effect

ANSWER = {"action_mode": "text", "action_pattern": "<a>(.*?)</a>"}
# Another value of each keyword that several games have, and the keywords that it needs.
OTHER_VALUES = {
    "obs_mode": ("text", {}),
    "render_mode": ("ansi", {}),
    "render_scale": (2, {"render_mode": "rgb_array"}),
    "env_instruction": ("Win!", {}),
    "action_mode": ("text", {}),
    "action_start": (0, {}),
    "action_lookup": ({1: "Leap"}, {}),
    "grid_lookup": ({1: "z"}, {"obs_mode": "text"}),
    "max_steps": (2, {}),
    "num_levels": (1, {}),
    "start_level": (7, {"num_levels": 1}),
    "seed_info": (True, {}),
    "level_info": (True, {}),
    "difficulty_info": (True, {}),
    "oracle_return_info": (True, {}),
    "advantage_info": (True, {}),
    "action_pattern": ("<b>(.*?)</b>", ANSWER),
    "special_token_list": (("<a>",), ANSWER),
    "format_penalty": (-7.0, ANSWER),
    "match": ("last", ANSWER),
    "action_separator": ("||", ANSWER),
    "max_actions_per_turn": (1, {**ANSWER, "action_separator": "||"}),
}


QUICK = (SOKOBAN, LAKE, COUNTDOWN, WEBSHOP)


def record(id, keywords):
    """Return all that a short play of one environment shows."""
    env = gymnasium.make(id, disable_env_checker=True, **keywords)
    names = list(getattr(env.unwrapped, "action_lookup", {0: "?"}).values())
    turns = ["none", *(f"<a>{one}</a><a>{names[0]}||{one}</a>" for one in names[:3])]
    results = [env.observation_space, env.action_space]
    results.append(env.get_wrapper_attr("get_instructions")())
    is_text = isinstance(env.action_space, UnicodeText)
    for seed in range(3):
        results.append(env.reset(seed=seed))
        env.action_space.seed(seed)
        for turn in turns:
            result = env.step(turn if is_text else env.action_space.sample())
            results += [result, env.reset()] if result[2] or result[3] else [result]
        results.append(env.render() if env.render_mode else None)
    env.close()
    return [show_all(each) for each in results]


def show_all(value):
    if isinstance(value, tuple):
        return [show_all(each) for each in value]
    if isinstance(value, dict):
        return {name: show_all(each) for name, each in value.items()}
    return value.tolist() if hasattr(value, "tolist") else repr(value)


@pytest.mark.skipif(JIT_OFF, reason="draws hundreds of levels: minutes in Python")
@pytest.mark.parametrize(
    "id",
    [
        # The others compile a game each, and their keywords have one place.
        pytest.param(id, marks=() if id in QUICK else pytest.mark.slow)
        for id in IDS
    ],
)
@pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore:.*out of date")
def test_a_keyword_changes_something_or_is_neither_listed_nor_taken(id):
    is_text = ENVIRONMENTS[id].pooled
    listed = {one.name for one in describe_env(id).keywords}
    fields = inspect.signature(options_of(id)).parameters
    values = dict(OTHER_VALUES)
    if "action_mask" in fields:
        values["action_mask"] = not fields["action_mask"].default, {}
    if "grid_vocab" in fields:
        glyph = next(iter(options_of(id)().grid_vocab))
        values["grid_vocab"] = {glyph: "a riddle"}, {}
    for name, (value, needed) in values.items():
        if is_text:
            needed = {key: needed[key] for key in needed if key != "action_mode"}
        if name in listed:
            assert record(id, {**needed, name: value}) != record(id, needed), name
        else:
            with pytest.raises((InvalidOptionError, UnknownOptionError)):
                gymnasium.make(id, **{name: value})
            with pytest.raises((InvalidOptionError, UnknownOptionError)):
                roll_vec.make_vec(id, 2, **{name: value})


# Keywords that others turn off; Gymnasium takes the last ones without a word.
UNUSED = [
    (LAKE, {"render_scale": 2, "render_mode": "ansi"}, "render_scale: needs"),
    (LAKE, {"action_mode": "text", "match": "last"}, "match: needs"),
    (LAKE, {"action_mode": "text", "max_actions_per_turn": 2}, "max_actions_per_turn"),
    (COUNTDOWN, {"match": "last"}, "match: needs an action_pattern"),
    (COUNTDOWN, {"data": "a.jsonl", "num_numbers": 2}, "num_numbers: has no effect"),
    (COUNTDOWN, {"executor": "process"}, "executor: has no effect with workers=0"),
    (
        COUNTDOWN,
        {"workers": 1, "context": "spawn"},
        "context: needs executor='process'",
    ),
    (LAKE, {"is_slippery": False, "success_rate": 0.5}, "success_rate: is ignored"),
    (LAKE, {"desc": ["SG"], "map_name": "8x8"}, "map_name: is ignored beside desc"),
    ("roll_vec/Blackjack-v1", {"natural": True}, "natural: is ignored with sab=True"),
    ("roll_vec/Taxi-v4", {"fickle_probability": 1.0}, "fickle_probability: is ignored"),
    (SOKOBAN, {"grid_vocab": {"+": "box"}}, "grid_vocab: '\\+': the board has no such"),
]


@pytest.mark.parametrize(("id", "keywords", "message"), UNUSED, ids=str)
def test_a_keyword_that_another_turns_off_is_refused_or_warned_of(
    id, keywords, message
):
    with pytest.raises((InvalidOptionError, RollVecWarning), match=f"^{message}"):
        roll_vec.make_vec(id, 2, **keywords)


# ----------------------------------------------------------------- options of resets


@pytest.mark.parametrize("id", EACH_ID)
@pytest.mark.filterwarnings("ignore:.*out of date")
def test_options_of_resets_that_are_ignored_are_named(id):
    def make():
        return gymnasium.make(id, disable_env_checker=True)

    single, batch = make(), roll_vec.make_vec(id, 2)
    others = SyncVectorEnv([make] * 2)
    for env in (single, batch, others):
        env.reset(seed=1, options={})
        known = r"'seed_of_map': .* those that it knows: (none|'\w+'(, '\w+')*)$"
        with pytest.warns(RollVecWarning, match=known):
            env.reset(seed=1, options={"seed_of_map": 3})
        with pytest.raises(InvalidOptionError, match=r"^options: expected a dict"):
            (single if env is others else env).reset(options="seed")
    for env in (batch, others):
        env.reset(options={"reset_mask": np.array([True, False])})
        env.close()
    single.close()
