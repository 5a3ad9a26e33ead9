"""Keywords: what is accepted, and one clear error for what is not, in both forms."""

import dataclasses
import inspect

import gymnasium
import numpy as np
import pytest

import roll_vec
from roll_vec.errors import InvalidOptionError, UnknownOptionError
from roll_vec.registration import ENVIRONMENTS
from tests.gymnasium_versions import LIMIT_ERROR
from tests.stacked.ids import IDS, LEVEL_IDS, OPTIONS

SOKOBAN, RANDOM_LAKE = "roll_vec/Sokoban-v0", "roll_vec/RandomFrozenLake-v0"
LAKE, LAKE_8X8 = "roll_vec/FrozenLake-v1", "roll_vec/FrozenLake8x8-v1"
NAN, INF = float("nan"), float("inf")

# By keyword, values that are wrong: of every id, of those with levels, of one.
SHARED = {
    "render_mode": ["depth_array", ["text"]],
    "obs_mode": ["pixels", None, ["grid"], np.array(["grid"])],
    "render_scale": [0, 65, 1.5, True],
    "action_mask": [1],
    "text_format": ["coord", "x"],
    "action_mode": ["words"],
    "action_pattern": ["<a>(.*)</a>"],
    "env_instruction": [3],
}
LEVELS = {
    "num_levels": [-1, 2.0, None, True],
    "start_level": [-1, "0"],
    "max_steps": [0, -5, 10.0, False],
    "grid_lookup": [5, ["#"], {7: "x"}, {"0": "x"}, {0: ""}, {0: 1}, {0: "a\0b"}],
    "grid_vocab": [5, "abc"],
    "action_lookup": [{0: "none"}, {5: "more"}, {1: None}],
    "action_start": [2, -1, True, "0", "", 1.0, [0]],
    "obs_mode": ["position"],
    **{f"{name}_info": [1] for name in ("seed", "level", "difficulty")},
    "oracle_return_info": [1],
    "prefetch": [1, "yes", 0.0],
}
BANDS = [5, "12", (1, 2, 3), (5, 4), (-1, 4), (1.5, 4), (None, True), (0, 10**30)]
OWN = {
    SOKOBAN: {
        "dim_room": [6, None, (6,), (6, 6, 6), (2, 6), (6, 2), (-6, -6), (6.0, 6), "6"],
        "num_boxes": [0, -1, 2.0, True, None, 15, 10**30],
        "search_depth": [0, -300, "deep", 10**30],
        "num_gen_steps": [0, 1.5, 10**30],
        "solution_steps": BANDS,
        "solution_pushes": BANDS,
    },
    RANDOM_LAKE: {
        "size": [1, 0, -4, 4.0, "4", None],
        "p": [-0.1, 1.1, NAN, "high", None],
        "success_rate": [1.5],
    },
    LAKE: {
        "map_name": ["5x5", ["4x4"], 4],
        "success_rate": [-0.1, 1.1, NAN, "0.5", True, None, [0.5], 10**400],
        "reward_schedule": [
            *(5, None, (1, 0), (1, 0, 0, 0), (1, 0, "a"), (1, 0, INF), (NAN, 0, 0)),
            "123",
        ],
        "desc": [
            *(5, [], [""], "SFFG", ["SF", "G"], [["S", "FG"]], ["SX", "FG"]),
            *(["sf", "fg"], ["SéG"], [[1, 2], [3, 4]], np.zeros((2, 2, 2), "S1")),
            *(["FF", "FG"], ["SF", "FF"], ["SH", "HG"], ["SHG"]),
        ],
    },
}
# Keywords of batches alone.
VECTOR_ONLY = ["autoreset_mode", "copy", "num_threads", "group_size", "prefetch"]
CASES = [
    (id, name, value)
    for id, own in OWN.items()
    for table in (SHARED, LEVELS if id in LEVEL_IDS else {}, own)
    for name, values in table.items()
    for value in values
]
# Values that are wrong together: what is named, and the keywords.
CONTRADICTIONS = [
    (SOKOBAN, "dim_x and dim_y", {"dim_x": 7}),
    (SOKOBAN, "dim_x and dim_y", {"dim_y": 7}),
    (SOKOBAN, "dim_x", {"dim_x": 2, "dim_y": 9}),
    (SOKOBAN, "dim_room", {"dim_room": (7, 7), "dim_x": 7, "dim_y": 8}),
    (SOKOBAN, "num_boxes", {"dim_room": (3, 3), "num_boxes": 1}),
    (SOKOBAN, "num_boxes", {"dim_room": (3, 6)}),
    (SOKOBAN, "num_boxes", {"dim_x": 4, "dim_y": 4}),
    (SOKOBAN, "start_level", {"start_level": 5}),
    (SOKOBAN, "num_levels", {"num_levels": 2**32, "start_level": 1}),
    (SOKOBAN, "action_lookup", {"action_start": 0, "action_lookup": {4: "Go"}}),
    (SOKOBAN, "action_pattern", {"action_mode": "text", "action_pattern": "("}),
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
    if name in VECTOR_ONLY:
        makers = makers[1:]
    messages = set()
    for make in makers:
        with pytest.raises(InvalidOptionError) as caught:
            make()
        assert isinstance(caught.value, ValueError)
        messages.add(str(caught.value))
    (message,) = messages
    assert message.startswith(name)
    return message


@pytest.mark.parametrize(("id", "name", "value"), CASES, ids=lambda part: repr(part))
def test_a_wrong_value_is_refused_by_its_name(id, name, value):
    # What was given, or at least what is wrong with it.
    message = assert_refused(id, name, {name: value})
    assert "got" in message or "needs" in message


@pytest.mark.parametrize(("id", "name", "keywords"), CONTRADICTIONS, ids=str)
def test_values_that_do_not_go_together_are_refused(id, name, keywords):
    assert_refused(id, name, keywords)


def test_messages_say_what_to_do():
    for id, name, value, part in (
        (LAKE, "map_name", None, RANDOM_LAKE),
        (LAKE, "success_rate", True, "expected a number"),
        (SOKOBAN, "num_boxes", 15, "dim_room=(6, 6) has 16 inner cells"),
        (SOKOBAN, "num_boxes", 15, "at most 14 boxes, got 15"),
        (SOKOBAN, "action_start", 2, "expected 0 "),
        (SOKOBAN, "solution_steps", (5, 4), "a low bound that is not above the high"),
        (SOKOBAN, "solution_steps", (0, 10**30), "at most"),
        (SOKOBAN, "level_info", 1, "expected True or False"),
        (SOKOBAN, "prefetch", 1, "expected None, True"),
    ):
        more = {"desc": None} if name == "map_name" else {}
        with pytest.raises(InvalidOptionError) as caught:
            gymnasium.make_vec(id, **{name: value}, **more)
        assert part in str(caught.value)
    for make in forms(SOKOBAN, num_boxes=14):
        make()


# -------------------------------------------------------------- unknown keywords


@pytest.mark.parametrize("id", IDS)
def test_the_keywords_are_shown_and_an_unknown_one_lists_them(id):
    fields = {field.name: field.default for field in dataclasses.fields(OPTIONS[id])}
    shown = inspect.signature(ENVIRONMENTS[id].load()).parameters
    assert {name: p.default for name, p in shown.items()} == fields
    assert all(p.kind is inspect.Parameter.KEYWORD_ONLY for p in shown.values())
    for make, also in zip(
        forms(id, dim_rooms=(6, 6), what=1), ([], VECTOR_ONLY[:4]), strict=True
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
        assert fields.keys() | set(also) <= set(listed)
        assert listed == sorted(listed)


@pytest.mark.parametrize(
    ("id", "names", "message"),
    [
        (LAKE, ("max_steps", "grid_lookup", "size", "num_levels"), "{}"),
        (LAKE, ("seed_info", "level_info"), "get_state keeps an episode"),
        (LAKE, ("action_start",), "action_start.*Sokoban-v0 and roll_"),
        ("roll_vec/Countdown-v0", ("action_start",), "Sokoban-v0 and roll_"),
    ],
)
def test_keywords_of_other_ids_are_unknown(id, names, message):
    for name in names:
        for make in forms(id, **{name: 1}):
            with pytest.raises(UnknownOptionError, match=message.format(name)):
                make()


@pytest.mark.parametrize("name", VECTOR_ONLY)
def test_keywords_of_the_batch_are_unknown_to_the_single_form(name):
    with pytest.raises(UnknownOptionError, match=name):
        gymnasium.make(SOKOBAN, **{name: 1})
    with pytest.raises(UnknownOptionError, match="stacked arrays alone"):
        roll_vec.make_vec("roll_vec/Countdown-v0", 2, prefetch=True)


# --------------------------------------------------------- what is accepted, how


def test_defaults_are_those_of_the_guide():
    sokoban, lake = OPTIONS[SOKOBAN](), OPTIONS[RANDOM_LAKE]()
    assert (sokoban.dim_room, sokoban.num_boxes) == ((6, 6), 3)
    assert (sokoban.search_depth, sokoban.num_gen_steps) == (300, int(1.7 * 12))
    assert (lake.size, lake.p, lake.is_slippery) == (4, 0.8, True)
    for options in (sokoban, lake):
        assert (options.max_steps, options.obs_mode) == (None, "grid")
        assert (options.num_levels, options.start_level) == (0, 0)
        assert set(options.grid_vocab) == set(options.grid_lookup.values())
    assert sokoban.grid_lookup == dict(enumerate("#_O√XPS"))
    assert lake.grid_lookup == dict(enumerate("P_OGX√"))
    for id, name in ((LAKE, "4x4"), (LAKE_8X8, "8x8")):
        fixed = gymnasium.make(id).unwrapped.options
        assert (fixed.desc, fixed.map_name) == (None, name)
        assert (fixed.is_slippery, fixed.success_rate) == (True, 1 / 3)
        assert (fixed.reward_schedule, fixed.obs_mode) == ((1, 0, 0), "position")


@pytest.mark.parametrize(
    "keywords",
    [
        {"dim_room": [7, 8]},
        {"dim_room": np.array([7, 8])},
        {"dim_x": np.int32(7), "dim_y": np.uint8(8)},
        {"dim_room": np.array([7, 8]), "dim_x": 7, "dim_y": 8},
    ],
    ids=str,
)
def test_a_size_can_be_given_in_several_ways(keywords):
    options = gymnasium.make(SOKOBAN, num_boxes=1, **keywords).unwrapped.options
    assert options.dim_room == (7, 8)
    assert {type(length) for length in options.dim_room} == {int}
    # The walk's length follows the size.
    assert options.num_gen_steps == int(1.7 * 15)


def test_numpy_numbers_are_numbers():
    keywords = {
        "num_boxes": np.int8(2),
        "max_steps": np.int64(7),
        "search_depth": np.uint16(30),
        "num_gen_steps": np.int64(20),
        "num_levels": np.uint64(9),
        "start_level": np.int32(1),
        "action_start": np.int64(0),
    }
    options = gymnasium.make(SOKOBAN, **keywords).unwrapped.options
    for name, value in keywords.items():
        assert getattr(options, name) == value
        assert type(getattr(options, name)) is int


def test_options_are_copies_that_cannot_be_changed():
    lookup, actions, vocab = {5: "me"}, {1: "north"}, {"me": "the player"}
    own = {"grid_lookup": lookup, "action_lookup": actions, "grid_vocab": vocab}
    env = gymnasium.make(SOKOBAN, obs_mode="text", **own).unwrapped
    text, _ = env.reset(seed=0)
    assert set(text) == set("me?\n")
    lookup[5], actions[1] = "you", "south"
    vocab.clear()
    assert env.reset(seed=0)[0] == text
    assert env.action_lookup == {1: "north"}
    assert env.get_all_actions() == [1]
    assert env.options.grid_vocab == {"me": "the player"}
    with pytest.raises(dataclasses.FrozenInstanceError):
        env.options.num_boxes = 1
    desc, schedule = np.array([list("SF"), list("HG")]), [1, 0, 0]
    lake = gymnasium.make(LAKE, desc=desc, reward_schedule=schedule, is_slippery=False)
    desc[:], schedule[2] = "H", -7
    lake.reset(seed=0)
    rows = [row.tolist() for row in lake.unwrapped.desc]
    assert rows == [[b"S", b"F"], [b"H", b"G"]]
    assert lake.unwrapped.P[0][2][0][2] == lake.step(2)[1] == 0
    env = gymnasium.make(LAKE, reward_schedule=(r for r in (2, 0, 0)))
    assert env.unwrapped.reward_range == (0, 2)


def test_random_lakes_slip_as_often_as_they_are_told():
    def step_down(**keywords):
        lakes = roll_vec.make_vec(RANDOM_LAKE, 30, size=6, p=1.0, **keywords)
        lakes.reset(seed=0)
        before = np.array(lakes.get_attr("s"))
        lakes.step(np.full(30, 2))
        return before, np.array(lakes.get_attr("s"))

    before, dry = step_down(is_slippery=False)
    assert (step_down(success_rate=1.0)[1] == dry).all()
    _, aside = step_down(success_rate=0.0)
    assert (aside // 6 == before // 6).all()
    assert (aside != before).any()


def test_deep_search_takes_no_memory_ahead():
    env = gymnasium.make(SOKOBAN, search_depth=10**9, num_boxes=1)
    observation, _ = env.reset(seed=1)
    assert (observation >= 5).sum() == 1


# --------------------------------------------------------------------- step limits

# Of ROLL's and Gymnasium's limit the smaller one holds: id, max_steps,
# max_episode_steps, and the step on which an episode is truncated.
LIMITS = [
    (SOKOBAN, None, None, 100),
    (SOKOBAN, None, 7, 7),
    (SOKOBAN, None, -1, None),
    (SOKOBAN, 7, None, 7),
    (RANDOM_LAKE, 150, None, 100),
    (RANDOM_LAKE, 7, 9, 7),
    (RANDOM_LAKE, 9, 7, 7),
    (SOKOBAN, 8, 8, 8),
    (SOKOBAN, 1, 9, 1),
    (RANDOM_LAKE, 9, -1, 9),
    (SOKOBAN, 105, 140, 105),
    (LAKE, None, None, 100),
    (LAKE, None, 7, 7),
    (LAKE_8X8, None, None, 200),
    (LAKE_8X8, None, -1, None),
]


@pytest.mark.parametrize(("id", "max_steps", "max_episode_steps", "limit"), LIMITS)
def test_the_smaller_limit_holds_in_both_forms(id, max_steps, max_episode_steps, limit):
    keywords = {"max_episode_steps": max_episode_steps}
    if id in LEVEL_IDS:
        keywords.update(max_steps=max_steps, action_start=1)
    else:
        keywords["is_slippery"] = False
    env = gymnasium.make(id, **keywords)
    batch = gymnasium.make_vec(id, num_envs=2, autoreset_mode="Disabled", **keywords)
    env.reset(seed=0)
    batch.reset(seed=0)
    # Action 0 moves nothing, or leads against the wall of the first column.
    for t in range(1, (limit or 210) + 1):
        _, _, terminated, truncated, _ = env.step(0)
        _, _, terminations, truncations, _ = batch.step([0, 0])
        assert not terminated
        assert not terminations.any()
        assert truncated == (t == limit)
        assert truncations.tolist() == [t == limit] * 2


@pytest.mark.parametrize("limit", [0, -2])
def test_a_limit_below_one_is_a_value_error_in_both_forms(limit):
    with pytest.raises(LIMIT_ERROR, match="max_episode_steps"):
        gymnasium.make(SOKOBAN, max_episode_steps=limit)
    with pytest.raises(ValueError, match="max_episode_steps"):
        gymnasium.make_vec(SOKOBAN, num_envs=2, max_episode_steps=limit)


def test_roll_environments_refuse_early():
    with pytest.raises(gymnasium.error.Error, match="seed"):
        roll_vec.FrozenLakeEnvConfig(map_seed=-1)
    with pytest.raises(gymnasium.error.ResetNeeded):
        roll_vec.SokobanEnv().render()
