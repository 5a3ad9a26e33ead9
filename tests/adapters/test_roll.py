"""ROLL's classes: configs, text or pixels, the names of ROLL's guide."""

import copy
import dataclasses
import inspect
import pickle
import pydoc

import gymnasium
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env

import roll_vec
from roll_vec import (
    BaseDiscreteActionEnv,
    FrozenLakeEnv,
    FrozenLakeEnvConfig,
    SokobanEnv,
    SokobanEnvConfig,
)
from roll_vec.errors import (
    InvalidActionError,
    InvalidOptionError,
    InvalidSeedError,
    LevelGenerationError,
    ResetNeededError,
    UnknownOptionError,
)
from tests.envs.frozen_lake.user_maps import MAPS
from tests.envs.sokoban.user_levels import EXPECTED, ONE, THREE

ENVS = {
    "sokoban": (SokobanEnv, SokobanEnvConfig, "roll_vec/Sokoban-v0"),
    "frozen_lake": (FrozenLakeEnv, FrozenLakeEnvConfig, "roll_vec/RandomFrozenLake-v0"),
}
SOKOBAN_LOOKUP = {0: "#", 1: "_", 2: "O", 3: "√", 4: "X", 5: "P", 6: "S"}
LAKE_LOOKUP = {0: "P", 1: "_", 2: "O", 3: "G", 4: "X", 5: "√"}


@pytest.fixture(params=ENVS)
def family(request):
    """A class, its config class and more of each game."""
    return ENVS[request.param]


# ----------------------------------------------------------------------- configs


def test_defaults_are_those_of_the_guide():
    config = SokobanEnvConfig()
    assert (config.dim_room, config.num_boxes) == ((6, 6), 3)
    assert (config.max_steps, config.search_depth) == (100, 300)
    assert gymnasium.spec("roll_vec/Sokoban-v0").max_episode_steps == 100
    assert (config.dim_x, config.dim_y, config.num_gen_steps) == (None, None, None)
    assert config.grid_lookup == SOKOBAN_LOOKUP
    assert set(config.grid_vocab) == set(SOKOBAN_LOOKUP.values())
    assert config.action_lookup == {1: "Up", 2: "Down", 3: "Left", 4: "Right"}
    assert config.render_mode == "text"
    config = FrozenLakeEnvConfig()
    assert (config.size, config.p, config.is_slippery) == (4, 0.8, True)
    assert (config.max_steps, config.map_seed) == (100, None)
    assert gymnasium.spec("roll_vec/RandomFrozenLake-v0").max_episode_steps == 100
    assert config.grid_lookup == LAKE_LOOKUP
    assert set(config.grid_vocab) == set(LAKE_LOOKUP.values())
    assert config.action_lookup == {1: "Left", 2: "Down", 3: "Right", 4: "Up"}
    assert config.render_mode == "text"


def test_configs_do_not_share_their_tables(family):
    _, config_class, _ = family
    first, second = config_class(), config_class()
    first.grid_lookup[0] = "changed"
    del first.action_lookup[4]
    for other in (second, config_class()):
        assert other.grid_lookup[0] != "changed"
        assert list(other.action_lookup) == [1, 2, 3, 4]
    assert first == dataclasses.replace(first)


def test_dim_x_and_dim_y_go_together():
    config = SokobanEnvConfig(dim_x=7, dim_y=8, num_boxes=1)
    assert config.dim_room == (7, 8)
    text, _ = SokobanEnv(config).reset(seed=0)
    assert [len(line) for line in text.split("\n")] == [8] * 7
    for wrong in ({"dim_x": 7}, {"dim_y": 7}):
        with pytest.raises(InvalidOptionError, match="dim_x and dim_y"):
            SokobanEnvConfig(**wrong)
    with pytest.raises(InvalidOptionError, match="dim_room"):
        SokobanEnvConfig(dim_room=(9, 9), dim_x=7, dim_y=7)
    assert SokobanEnvConfig(dim_room=[5, 9]).dim_room == (5, 9)


@pytest.mark.parametrize(
    "size", [{"dim_room": (8, 7)}, {"dim_x": 8, "dim_y": 7}], ids=str
)
@pytest.mark.parametrize(
    "other", [{"dim_room": (9, 9)}, {"dim_x": 8, "dim_y": 9}], ids=str
)
def test_a_size_in_keywords_replaces_that_of_the_config(size, other):
    for config in (SokobanEnvConfig(**other), other):
        assert SokobanEnv(config, **size).config.dim_room == (8, 7)
    config = SokobanEnvConfig(dim_x=9, dim_y=7)
    assert SokobanEnv(config, dim_x=8).config.dim_room == (8, 7)
    with pytest.raises(InvalidOptionError, match="dim_room"):
        SokobanEnv(config, dim_room=(9, 9), dim_x=7, dim_y=7)


def test_levels_are_played_in_place_of_rooms():
    config = SokobanEnvConfig(levels=[THREE])
    assert config.dim_room == (6, 5)
    env = SokobanEnv(config)
    assert env.config is config
    twin = gymnasium.make(
        "roll_vec/Sokoban-v0", levels=[THREE], obs_mode="text", action_start=1
    )
    for seed in (0, 5):
        assert env.reset(seed=seed)[0] == twin.reset(seed=seed)[0]
        for action in (4, 2, 3, 1):
            assert env.step(action)[:4] == twin.step(action)[:4]
    # Keywords and mappings replace the levels, and the size with them.
    other = SokobanEnv(config, levels=EXPECTED[:2, :5])
    assert (other.config.dim_room, len(other.config.levels)) == ((5, 6), 2)
    assert SokobanEnv({"levels": [ONE]}).config.dim_room == (3, 5)
    larger = SokobanEnvConfig(dim_room=(9, 9))
    assert SokobanEnv(larger, levels=[ONE]).dim_room == (3, 5)
    assert dataclasses.replace(config, max_steps=3).levels is config.levels
    assert pickle.loads(pickle.dumps(config)) == config
    for keywords in ({"num_boxes": 1}, {"dim_room": (7, 7)}, {"dim_x": 6, "dim_y": 5}):
        with pytest.raises(InvalidOptionError, match="cannot be given beside levels"):
            SokobanEnvConfig(levels=[THREE], **keywords)
    with pytest.raises(InvalidOptionError, match="levels: expected an array"):
        SokobanEnvConfig(levels=3)


def test_levels_are_played_in_place_of_random_maps():
    config = FrozenLakeEnvConfig(levels=[MAPS[0]], is_slippery=False)
    assert (config.size, config.is_slippery) == (3, False)
    env = FrozenLakeEnv(config)
    assert env.reset(seed=5)[0] == "P__O\n_O__\n__G_"
    # Keywords and mappings replace the maps, and the size with them.
    other = FrozenLakeEnv(config, levels=[["SG"], ["GS"]])
    assert (other.config.size, len(other.config.levels)) == (1, 2)
    assert FrozenLakeEnv({"levels": MAPS}).reset(seed=1)[0] == "__G_\nO___\nG_PO"
    larger = FrozenLakeEnvConfig(size=8)
    assert FrozenLakeEnv(larger, levels=MAPS).tiles.shape == (3, 4)
    assert dataclasses.replace(config, max_steps=3).levels is config.levels
    for keywords in ({"size": 5}, {"p": 0.5}):
        with pytest.raises(InvalidOptionError, match="cannot be given beside levels"):
            FrozenLakeEnvConfig(levels=MAPS, **keywords)
    with pytest.raises(InvalidOptionError, match="levels: expected a list of maps"):
        FrozenLakeEnvConfig(levels=3)


@pytest.mark.parametrize(
    ("config_class", "name", "value"),
    [
        (SokobanEnvConfig, "dim_room", (2, 2)),
        (SokobanEnvConfig, "num_boxes", 15),
        (SokobanEnvConfig, "max_steps", 0),
        (SokobanEnvConfig, "search_depth", 0),
        (SokobanEnvConfig, "render_mode", "human"),
        (SokobanEnvConfig, "render_mode", None),
        (SokobanEnvConfig, "grid_lookup", {0: ""}),
        (FrozenLakeEnvConfig, "size", 1),
        (FrozenLakeEnvConfig, "p", 2.0),
        (FrozenLakeEnvConfig, "max_steps", -1),
        (FrozenLakeEnvConfig, "render_mode", "ansi"),
        (FrozenLakeEnvConfig, "action_lookup", {0: "x"}),
    ],
    ids=str,
)
def test_a_bad_config_fails_where_it_is_written(config_class, name, value):
    with pytest.raises(InvalidOptionError, match=name):
        config_class(**{name: value})


def test_an_unknown_field_is_a_type_error(family):
    with pytest.raises(TypeError, match="num_levels"):
        family[1](num_levels=3)
    with pytest.raises(UnknownOptionError, match=r"argument 1; .*num_levels"):
        family[0]({"num_levels": 3, 1: 2})


# ------------------------------------------------------------------ environments


def test_a_config_is_optional(family):
    env_class, config_class, _ = family
    env, other = env_class(), env_class(config_class())
    assert isinstance(env, BaseDiscreteActionEnv)
    assert isinstance(env, gymnasium.Env)
    assert env.config == config_class()
    assert env.reset(seed=5) == other.reset(seed=5)


def test_a_mapping_or_keywords_are_a_config(family):
    env_class, config_class, _ = family
    config = config_class(max_steps=7, render_mode="rgb_array")
    for env in (
        env_class({"max_steps": 7, "render_mode": "rgb_array"}),
        env_class(max_steps=7, render_mode="rgb_array"),
        env_class({"max_steps": 7}, render_mode="rgb_array"),
        env_class(config_class(max_steps=9, render_mode="rgb_array"), max_steps=7),
    ):
        assert env.config == config
        assert env.observation_space == env_class(config).observation_space
    assert env_class(config).config is config
    other = env_class(config, max_steps=3)
    assert (config.max_steps, other.config.max_steps) == (7, 3)


def test_a_config_of_another_kind_is_refused(family):
    env_class, config_class, _ = family
    others = {SokobanEnvConfig, FrozenLakeEnvConfig} - {config_class}
    for wrong in (3, "text", [1], config_class, others.pop()()):
        with pytest.raises(InvalidOptionError, match=config_class.__name__):
            env_class(wrong)
    for config in (None, {}, config_class()):
        with pytest.raises(UnknownOptionError, match=r"num_levels.*max_steps"):
            env_class(config, num_levels=3)
    with pytest.raises(UnknownOptionError, match="num_levels"):
        env_class({"num_levels": 3})
    with pytest.raises(InvalidOptionError, match="max_steps"):
        env_class(max_steps=0)


def test_the_signature_shows_what_is_accepted(family):
    env_class, config_class, _ = family
    shown = inspect.signature(env_class).parameters
    names = [field.name for field in dataclasses.fields(config_class)]
    assert list(shown) == ["config", *names]
    defaults = {name: shown[name].default for name in names}
    assert env_class(**defaults).config == config_class()
    assert "num_levels" not in pydoc.render_doc(env_class).split("Methods")[0]


def test_names_of_the_guide(family):
    env_class, config_class, _ = family
    env = env_class(config_class())
    assert config_class().action_lookup == env.ACTION_LOOKUP
    assert config_class().grid_lookup == env.GRID_LOOKUP
    assert env.get_all_actions() == [1, 2, 3, 4]
    assert env.action_space == gymnasium.spaces.Discrete(4, start=1)
    assert env.ACTION_SPACE is env.action_space
    lookup = {1: "N", 2: "S", 3: "W", 4: "E"}
    env = env_class(config_class(action_lookup=lookup))
    assert lookup == env.ACTION_LOOKUP


def test_text_observations_are_the_single_forms(family):
    env_class, config_class, id = family
    env = env_class(config_class(render_mode="text"))
    twin = gymnasium.make(id, obs_mode="text", action_start=1).unwrapped
    for seed in (1010, None, 3):
        text, info = env.reset(seed=seed)
        assert type(text) is str
        assert info == {}
        assert (text, info) == twin.reset(seed=seed)
        assert env.render() == env.render("text") == text
        for action in (0, 1, 2, 3, 4, 4, 2):
            result = env.step(action)
            assert result == twin.step(action)
            assert env.observation_space.contains(result[0])
            assert env.render() == result[0]


def test_pixel_observations_are_the_single_forms(family):
    env_class, config_class, id = family
    env = env_class(config_class(render_mode="rgb_array"))
    twin = gymnasium.make(id, obs_mode="rgb", action_start=1).unwrapped
    words = env_class(config_class())
    image, _ = env.reset(seed=8)
    words.reset(seed=8)
    np.testing.assert_array_equal(image, twin.reset(seed=8)[0])
    for action in (1, 2, 0, 3):
        image, *rest = env.step(action)
        expected, *others = twin.step(action)
        text, *_ = words.step(action)
        assert rest == others
        np.testing.assert_array_equal(image, expected)
        # Each mode can be had beside the config's.
        for each in (env, words):
            np.testing.assert_array_equal(each.get_image("rgb_array"), image)
            np.testing.assert_array_equal(each.get_image(), image)
            np.testing.assert_array_equal(each.render("rgb_array"), image)
            assert each.render(mode="text") == text
        np.testing.assert_array_equal(env.render(), image)
        assert words.render() == text


@pytest.mark.parametrize("mode", ["human", "ansi", "rgb", "", 1])
def test_other_modes_are_refused(family, mode):
    env = family[0]()
    env.reset(seed=1)
    with pytest.raises(InvalidOptionError, match="mode"):
        env.render(mode)
    with pytest.raises(InvalidOptionError, match="mode"):
        env.get_image(mode)
    with pytest.raises(InvalidOptionError, match="mode"):
        env.get_image("text")


def test_a_seed_goes_by_position_as_well(family):
    env, twin = family[0](), family[0]()
    for seed in (7, 2**40, None):
        assert env.reset(seed) == twin.reset(seed=seed)
        assert env.reset(seed, None) == twin.reset(seed=seed, options={})


def test_the_configs_limit_truncates(family):
    env_class, config_class, _ = family
    env = env_class(config_class(max_steps=4))
    for _ in range(2):
        env.reset(seed=2)
        truncated = [env.step(0)[3] for _ in range(4)]
        assert truncated == [False, False, False, True]
    env = env_class()
    env.reset(seed=2)
    assert [env.step(0)[3] for _ in range(100)].index(True) == 99


def test_the_lookup_of_the_config_is_what_text_is_made_of():
    lookup = {0: "wall ", 1: ".", 4: "📦"}
    env = SokobanEnv(SokobanEnvConfig(grid_lookup=lookup))
    plain = SokobanEnv()
    text, _ = env.reset(seed=3)
    expected, _ = plain.reset(seed=3)
    for code, string in SOKOBAN_LOOKUP.items():
        expected = expected.replace(string, f"<{code}>")
    for code in SOKOBAN_LOOKUP:
        expected = expected.replace(f"<{code}>", lookup.get(code, "?"))
    assert text == expected
    assert lookup == env.GRID_LOOKUP


def test_a_map_seed_is_that_of_the_first_unseeded_episode():
    config = FrozenLakeEnvConfig(map_seed=77, size=6)
    env, twin = FrozenLakeEnv(config), FrozenLakeEnv(FrozenLakeEnvConfig(size=6))
    assert env.reset() == twin.reset(seed=77)
    # Later the stream goes on.
    assert env.reset() == twin.reset()
    assert env.reset(seed=5) == twin.reset(seed=5)
    assert env.reset() == twin.reset()
    other = FrozenLakeEnv(config)
    assert other.reset(seed=4) == twin.reset(seed=4)
    assert other.reset() == twin.reset()
    with pytest.raises(InvalidSeedError):
        FrozenLakeEnv(FrozenLakeEnvConfig(map_seed=-1)).reset()


def test_bad_input_moves_nothing(family):
    env, twin = family[0](), family[0]()
    with pytest.raises(ResetNeededError):
        env.step(1)
    env.reset(seed=1)
    twin.reset(seed=1)
    for action in (-1, 5, "Up", None):
        with pytest.raises(InvalidActionError):
            env.step(action)
    with pytest.raises(InvalidSeedError):
        env.reset(-1)
    for action in (1, 2, 3):
        assert env.step(action) == twin.step(action)


def test_a_config_without_rooms_ends_in_an_error():
    env = SokobanEnv(SokobanEnvConfig(num_gen_steps=1, num_boxes=5))
    with pytest.raises(LevelGenerationError, match="num_gen_steps=1"):
        env.reset(seed=0)


def test_copies_go_on_alike(family):
    env = family[0]()
    env.reset(seed=6)
    env.step(2)
    for twin in (copy.deepcopy(env), pickle.loads(pickle.dumps(env))):
        original = copy.deepcopy(env)
        for action in (1, 2, 3, 4, 1):
            assert original.step(action) == twin.step(action)
        assert original.reset() == twin.reset()
        assert twin.config == env.config


@pytest.mark.parametrize("render_mode", ["text", "rgb_array"])
def test_check_env_passes(family, render_mode):
    env_class, config_class, _ = family
    check_env(env_class(config_class(render_mode=render_mode)), skip_render_check=True)


def test_the_base_class_asks_for_its_methods():
    class Half(BaseDiscreteActionEnv):
        def get_all_actions(self):
            return [1]

    with pytest.raises(TypeError, match="step"):
        Half()

    class Whole(Half):
        ACTION_LOOKUP = {1: "only"}  # noqa: RUF012
        GRID_LOOKUP = {}  # noqa: RUF012

        def step(self, action):
            return "text", 0.0, True, False, {}

    env = Whole()
    assert isinstance(env, gymnasium.Env)
    assert env.step(1)[2]


def test_the_names_are_the_packages():
    for name in ("BaseDiscreteActionEnv", "SokobanEnv", "SokobanEnvConfig"):
        assert name in roll_vec.__all__
        assert name in dir(roll_vec)
    with pytest.raises(AttributeError, match="SokobanEnvs"):
        roll_vec.SokobanEnvs  # noqa: B018
