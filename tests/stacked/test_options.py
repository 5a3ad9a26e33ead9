"""Keywords: what is accepted, and one clear error for what is not, in both forms."""

import dataclasses
import inspect

import gymnasium
import numpy as np
import pytest

import roll_vec
from roll_vec.errors import InvalidOptionError, UnknownOptionError
from roll_vec.registration import ENVIRONMENTS

SOKOBAN, RANDOM_LAKE = "roll_vec/Sokoban-v0", "roll_vec/RandomFrozenLake-v0"
LAKE, LAKE_8X8 = "roll_vec/FrozenLake-v1", "roll_vec/FrozenLake8x8-v1"
NAN, INF = float("nan"), float("inf")

SHARED = [
    ("render_mode", "depth_array"),
    ("render_mode", ["text"]),
    ("obs_mode", "pixels"),
    ("obs_mode", None),
    ("obs_mode", ["grid"]),
]
LEVELS = [
    ("num_levels", -1),
    ("num_levels", 2.0),
    ("num_levels", None),
    ("num_levels", True),
    ("start_level", -1),
    ("start_level", "0"),
    ("max_steps", 0),
    ("max_steps", -5),
    ("max_steps", 10.0),
    ("max_steps", False),
    ("grid_lookup", 5),
    ("grid_lookup", ["#", "_"]),
    ("grid_lookup", {7: "x"}),
    ("grid_lookup", {"0": "x"}),
    ("grid_lookup", {0: ""}),
    ("grid_lookup", {0: 1}),
    ("grid_lookup", {0: "a\0b"}),
    ("action_lookup", {0: "none"}),
    ("action_lookup", {5: "more"}),
    ("action_lookup", {1: None}),
    ("obs_mode", "position"),
]
# Each a keyword whose value alone is wrong.
WRONG = {
    SOKOBAN: [
        *SHARED,
        *LEVELS,
        ("dim_room", 6),
        ("dim_room", None),
        ("dim_room", (6,)),
        ("dim_room", (6, 6, 6)),
        ("dim_room", (2, 6)),
        ("dim_room", (6, 2)),
        ("dim_room", (-6, -6)),
        ("dim_room", (6.0, 6)),
        ("dim_room", "66"),
        ("num_boxes", 0),
        ("num_boxes", -1),
        ("num_boxes", 2.0),
        ("num_boxes", True),
        ("num_boxes", None),
        ("num_boxes", 15),
        ("num_boxes", 10**30),
        ("search_depth", 0),
        ("search_depth", -300),
        ("search_depth", "deep"),
        ("num_gen_steps", 0),
        ("num_gen_steps", 1.5),
    ],
    RANDOM_LAKE: [
        *SHARED,
        *LEVELS,
        ("size", 1),
        ("size", 0),
        ("size", -4),
        ("size", 4.0),
        ("size", "4"),
        ("size", None),
        ("p", -0.1),
        ("p", 1.1),
        ("p", NAN),
        ("p", "high"),
        ("p", None),
    ],
    LAKE: [
        *SHARED,
        ("map_name", "5x5"),
        ("map_name", ["4x4"]),
        ("map_name", 4),
        ("success_rate", -0.1),
        ("success_rate", 1.1),
        ("success_rate", NAN),
        ("success_rate", "high"),
        ("success_rate", None),
        ("success_rate", [0.5]),
        ("reward_schedule", 5),
        ("reward_schedule", None),
        ("reward_schedule", (1, 0)),
        ("reward_schedule", (1, 0, 0, 0)),
        ("reward_schedule", (1, 0, "a")),
        ("reward_schedule", (1, 0, INF)),
        ("reward_schedule", (NAN, 0, 0)),
        ("desc", 5),
        ("desc", []),
        ("desc", [""]),
        ("desc", "SFFG"),
        ("desc", ["SF", "G"]),
        ("desc", [["S", "FG"]]),
        ("desc", ["SX", "FG"]),
        ("desc", ["sf", "fg"]),
        ("desc", ["SéG"]),
        ("desc", [[1, 2], [3, 4]]),
        ("desc", np.zeros((2, 2, 2), "S1")),
        ("desc", ["FF", "FG"]),
        ("desc", ["SF", "FF"]),
        ("desc", ["SH", "HG"]),
        ("desc", ["SHG"]),
    ],
}
CASES = [(id, name, value) for id, wrong in WRONG.items() for name, value in wrong]
# Values that are wrong together: what is named, and the keywords.
CONTRADICTIONS = [
    (SOKOBAN, "dim_x and dim_y", {"dim_x": 7}),
    (SOKOBAN, "dim_x and dim_y", {"dim_y": 7}),
    (SOKOBAN, "dim_room", {"dim_room": (7, 7), "dim_x": 7, "dim_y": 8}),
    (SOKOBAN, "num_boxes", {"dim_room": (3, 3), "num_boxes": 1}),
    (SOKOBAN, "num_boxes", {"dim_room": (3, 6)}),
    (SOKOBAN, "num_boxes", {"dim_x": 4, "dim_y": 4}),
    (SOKOBAN, "start_level", {"start_level": 5}),
    (SOKOBAN, "num_levels", {"num_levels": 2**32, "start_level": 1}),
    (RANDOM_LAKE, "start_level", {"start_level": 1, "num_levels": 0}),
    (LAKE, "desc and map_name", {"map_name": None}),
    (LAKE, "desc and map_name", {"map_name": None, "desc": None}),
]


def forms(id, **keywords):
    """Both ways to make an environment, each to be called."""
    return [
        lambda: gymnasium.make(id, **keywords),
        lambda: gymnasium.make_vec(id, num_envs=2, **keywords),
    ]


def assert_refused(id, name, keywords):
    """Assert that both forms refuse keywords with the same message."""
    makers = forms(id, **keywords)
    if "render_mode" in keywords:
        # gymnasium.make itself warns first.
        makers[0] = lambda: ENVIRONMENTS[id].load()(**keywords)
    messages = []
    for make in makers:
        with pytest.raises(InvalidOptionError) as caught:
            make()
        assert isinstance(caught.value, ValueError)
        assert isinstance(caught.value, roll_vec.errors.RollVecError)
        messages.append(str(caught.value))
    assert messages[0] == messages[1]
    assert messages[0].startswith(name)
    return messages[0]


@pytest.mark.parametrize(("id", "name", "value"), CASES, ids=lambda part: repr(part))
def test_a_wrong_value_is_refused_by_its_name(id, name, value):
    message = assert_refused(id, name, {name: value})
    # What was given, or at least what is wrong with it.
    assert "got" in message


@pytest.mark.parametrize(("id", "name", "keywords"), CONTRADICTIONS, ids=str)
def test_values_that_do_not_go_together_are_refused(id, name, keywords):
    assert_refused(id, name, keywords)


def test_an_unseeded_map_points_to_the_id_that_has_seeded_ones():
    message = assert_refused(LAKE, "desc and map_name", {"map_name": None})
    assert RANDOM_LAKE in message


def test_a_room_says_how_many_boxes_it_has_room_for():
    message = assert_refused(SOKOBAN, "num_boxes", {"num_boxes": 15})
    assert "dim_room=(6, 6) has 16 inner cells" in message
    assert "at most 14 boxes, got 15" in message
    for make in forms(SOKOBAN, num_boxes=14):
        make()


# -------------------------------------------------------------- unknown keywords

OWN = {
    id: known.load("Options") for id, known in ENVIRONMENTS.items() if not known.pooled
}
VECTOR_ONLY = ["autoreset_mode", "copy", "num_threads", "group_size"]


@pytest.mark.parametrize("id", OWN)
def test_an_unknown_keyword_is_a_type_error_that_lists_what_exists(id):
    own = [field.name for field in dataclasses.fields(OWN[id])]
    for make, also in zip(
        forms(id, dim_rooms=(6, 6), what=1), ([], VECTOR_ONLY), strict=True
    ):
        with pytest.raises(UnknownOptionError) as caught:
            make()
        assert isinstance(caught.value, TypeError)
        # TorchRL and gymnasium.make look for these words of Python's.
        assert str(caught.value).startswith(
            "got an unexpected keyword argument 'dim_rooms'; "
            "got an unexpected keyword argument 'what'; "
        )
        listed = str(caught.value).split("those that exist: ")[1]
        # gymnasium.make adds a few words of its own.
        listed = listed.split(" was raised ")[0].split("; ")[0].split(", ")
        assert set(own) | set(also) <= set(listed)
        assert listed == sorted(listed)


@pytest.mark.parametrize("name", VECTOR_ONLY)
def test_keywords_of_the_batch_are_unknown_to_the_single_form(name):
    with pytest.raises(UnknownOptionError, match=name):
        gymnasium.make(SOKOBAN, **{name: 1})


def test_fixed_maps_have_no_levels():
    for name in ("num_levels", "start_level", "max_steps", "grid_lookup", "size"):
        for make in forms(LAKE, **{name: 1}):
            with pytest.raises(UnknownOptionError, match=name):
                make()


@pytest.mark.parametrize("id", OWN)
def test_the_constructor_shows_the_keywords(id):
    shown = inspect.signature(ENVIRONMENTS[id].load()).parameters
    fields = {field.name: field.default for field in dataclasses.fields(OWN[id])}
    assert {name: p.default for name, p in shown.items()} == fields
    assert all(p.kind is inspect.Parameter.KEYWORD_ONLY for p in shown.values())


# --------------------------------------------------------- what is accepted, how


def test_defaults_are_those_of_the_guide():
    sokoban = gymnasium.make(SOKOBAN).unwrapped.options
    assert (sokoban.dim_room, sokoban.num_boxes) == ((6, 6), 3)
    assert (sokoban.search_depth, sokoban.num_gen_steps) == (300, int(1.7 * 12))
    assert (sokoban.max_steps, sokoban.obs_mode) == (None, "grid")
    assert (sokoban.num_levels, sokoban.start_level) == (0, 0)
    lookup = {0: "#", 1: "_", 2: "O", 3: "√", 4: "X", 5: "P", 6: "S"}
    assert sokoban.grid_lookup == lookup
    assert set(sokoban.grid_vocab) == set(lookup.values())
    assert sokoban.action_lookup == {1: "Up", 2: "Down", 3: "Left", 4: "Right"}
    lake = gymnasium.make(RANDOM_LAKE).unwrapped.options
    assert (lake.size, lake.p, lake.is_slippery) == (4, 0.8, True)
    assert (lake.max_steps, lake.obs_mode) == (None, "grid")
    assert lake.grid_lookup == {0: "P", 1: "_", 2: "O", 3: "G", 4: "X", 5: "√"}
    assert set(lake.grid_vocab) == set(lake.grid_lookup.values())
    assert lake.action_lookup == {1: "Left", 2: "Down", 3: "Right", 4: "Up"}
    for id, name in ((LAKE, "4x4"), (LAKE_8X8, "8x8")):
        fixed = gymnasium.make(id).unwrapped.options
        assert (fixed.desc, fixed.map_name) == (None, name)
        assert (fixed.is_slippery, fixed.success_rate) == (True, 1 / 3)
        assert (fixed.reward_schedule, fixed.obs_mode) == ((1, 0, 0), "position")


@pytest.mark.parametrize(
    "keywords",
    [
        {"dim_room": (7, 8)},
        {"dim_room": [7, 8]},
        {"dim_room": np.array([7, 8])},
        {"dim_x": 7, "dim_y": 8},
        {"dim_x": np.int32(7), "dim_y": np.uint8(8)},
        {"dim_room": (7, 8), "dim_x": 7, "dim_y": 8},
    ],
    ids=str,
)
def test_a_size_can_be_given_in_several_ways(keywords):
    env = gymnasium.make(SOKOBAN, num_boxes=1, **keywords).unwrapped
    assert env.dim_room == (7, 8)
    assert type(env.dim_room[0]) is type(env.dim_room[1]) is int
    # The walk's length follows the size.
    assert env.options.num_gen_steps == int(1.7 * 15)
    batch = gymnasium.make_vec(SOKOBAN, num_envs=2, num_boxes=1, **keywords)
    grid, _ = env.reset(seed=3)
    assert grid.shape == (7, 8)
    np.testing.assert_array_equal(batch.reset(seed=3)[0][0], grid)


def test_numpy_numbers_are_numbers():
    keywords = {
        "num_boxes": np.int8(2),
        "max_steps": np.int64(7),
        "search_depth": np.uint16(30),
        "num_gen_steps": np.int64(20),
        "num_levels": np.uint64(9),
        "start_level": np.int32(1),
    }
    options = gymnasium.make(SOKOBAN, **keywords).unwrapped.options
    for name, value in keywords.items():
        assert getattr(options, name) == value
        assert type(getattr(options, name)) is int


def test_lookups_are_copied_and_may_be_partial():
    lookup, actions, vocab = {5: "me"}, {1: "north"}, {"me": "the player"}
    env = gymnasium.make(
        SOKOBAN,
        grid_lookup=lookup,
        action_lookup=actions,
        grid_vocab=vocab,
        obs_mode="text",
    ).unwrapped
    text, _ = env.reset(seed=0)
    assert text.count("me") == 1
    assert set(text) == set("me?\n")
    lookup[5], actions[1] = "you", "south"
    vocab.clear()
    assert env.reset(seed=0)[0] == text
    assert env.action_lookup == {1: "north"}
    assert env.get_all_actions() == [1]
    assert env.options.grid_vocab == {"me": "the player"}


def test_options_cannot_be_changed():
    env = gymnasium.make(SOKOBAN).unwrapped
    with pytest.raises(dataclasses.FrozenInstanceError):
        env.options.num_boxes = 1


class TestOptionsAreOurs:
    """What is kept of the caller's arrays and lists does not change with them."""

    def test_map(self):
        desc = np.array([list("SF"), list("HG")])
        env = gymnasium.make_vec(LAKE, num_envs=2, desc=desc)
        desc[:] = "H"
        env.reset(seed=0)
        found = env.get_attr("desc")
        assert [row.tolist() for row in found[0]] == [[b"S", b"F"], [b"H", b"G"]]
        assert len(env.get_attr("P")) == 2

    def test_schedule(self):
        schedule = [1, 0, 0]
        env = gymnasium.make(LAKE, reward_schedule=schedule, is_slippery=False)
        schedule[2] = -7
        env.reset(seed=0)
        assert env.unwrapped.P[0][1][0][2] == 0
        assert env.step(1)[1] == 0.0

    def test_schedule_from_a_generator(self):
        env = gymnasium.make(LAKE, reward_schedule=(r for r in (2, 0, 0)))
        assert env.unwrapped.reward_range == (0, 2)


@pytest.mark.parametrize(
    ("env_id", "name", "value"),
    [
        (LAKE, "reward_schedule", "123"),
        (LAKE, "success_rate", 10**400),
        (SOKOBAN, "grid_vocab", 5),
        (SOKOBAN, "grid_vocab", "abc"),
        (SOKOBAN, "num_gen_steps", 10**30),
        (SOKOBAN, "search_depth", 10**30),
        (SOKOBAN, "obs_mode", np.array(["grid"])),
    ],
)
def test_absurd_value_is_named(env_id, name, value):
    for make in (gymnasium.make, gymnasium.make_vec):
        with pytest.raises(InvalidOptionError, match=name):
            make(env_id, **{name: value})


@pytest.mark.parametrize("value", ["0.5", True])
def test_a_text_or_a_bool_is_no_number(value):
    with pytest.raises(InvalidOptionError, match="success_rate: expected a number"):
        gymnasium.make(LAKE, success_rate=value)


def test_dimensions_given_twice_alike():
    for room in ([7, 7], np.array([7, 7])):
        env = gymnasium.make(SOKOBAN, dim_room=room, dim_x=7, dim_y=7)
        assert env.unwrapped.dim_room == (7, 7)
    with pytest.raises(InvalidOptionError, match="dim_x"):
        gymnasium.make(SOKOBAN, dim_x=2, dim_y=9)


def test_deep_search_takes_no_memory_ahead():
    env = gymnasium.make(SOKOBAN, search_depth=10**9, num_boxes=1)
    observation, _ = env.reset(seed=1)
    assert (observation >= 5).sum() == 1


def test_bad_map_seed_fails_where_it_is_written():
    with pytest.raises(gymnasium.error.Error, match="seed"):
        roll_vec.FrozenLakeEnvConfig(map_seed=-1)


def test_roll_environment_renders_nothing_before_a_reset():
    with pytest.raises(gymnasium.error.ResetNeeded):
        roll_vec.SokobanEnv().render()
