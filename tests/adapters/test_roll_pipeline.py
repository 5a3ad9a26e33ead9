"""ROLL's pipeline: recorded transcripts, the shared batch, GEM's registry.

``data/roll.json`` has episodes of ROLL's own classes (commit 8eb27cc2);
tests/frameworks/roll/record.py has written it.
"""

import gc
import importlib
import json
import sys
import threading
import types
import weakref
from collections import UserDict, UserList
from pathlib import Path

import numpy as np
import pytest
from gymnasium.envs.toy_text.frozen_lake import FrozenLakeEnv

from roll_vec.adapters.roll import (
    GemCountdownEnv,
    GemFrozenLakeEnv,
    GemSokobanEnv,
    GemWebShopEnv,
    register_gem_envs,
)
from roll_vec.adapters.roll.registration import GEM_IDS
from roll_vec.envs.frozen_lake import RandomFrozenLake
from roll_vec.errors import (
    EnvironmentFaultError,
    InvalidActionError,
    InvalidOptionError,
    ResetNeededError,
    UnknownOptionError,
)

RECORDED = json.loads((Path(__file__).parent / "data" / "roll.json").read_text("utf-8"))
CLASSES = {
    "sokoban": GemSokobanEnv,
    "frozen_lake": GemFrozenLakeEnv,
    "webshop": GemWebShopEnv,
}
ROOM = {"dim_room": (6, 6), "num_boxes": 1, "max_steps": 4}


def as_json(value):
    """Return a result as a file has it, keys in their order."""
    return json.dumps(value, ensure_ascii=False)


@pytest.mark.parametrize("name", CLASSES)
def test_transcripts_are_those_of_rolls_classes(name):
    env = CLASSES[name](**RECORDED[name]["keywords"])
    for seed, (first, turns) in RECORDED[name]["episodes"].items():
        assert as_json(env.reset(int(seed))) == as_json(first)
        for answer, *expected in turns:
            *result, info = env.step(answer)
            # The file leaves out what is always the same.
            assert list(info)[:2] == ["metrics", "metrics_agg_mode"]
            modes = info.pop("metrics_agg_mode")
            assert as_json([*result, info]) == as_json(expected)
            assert list(modes) == list(info["metrics"])
            assert list(modes.values()) == ["mean", "mean", "last", "mean"]
            assert env.render() == expected[0]


def test_the_recorded_episodes_have_all_kinds_of_turns():
    kinds = {
        (name, info["metrics"]["action_is_valid"], info["metrics"]["success"], ended)
        for name, recorded in RECORDED.items()
        for _, turns in recorded["episodes"].values()
        for _, _, _, ended, _, info in turns
    }
    for name in CLASSES:
        assert {(name, True, False, False), (name, False, False, False)} <= kinds
    assert kinds >= {("sokoban", True, False, True), ("webshop", True, True, True)}


@pytest.mark.parametrize("answer", ["<answer>Up</answer>", "nothing"])
def test_the_limit_of_sokoban_terminates(answer):
    env = GemSokobanEnv(**ROOM, format_penalty=-0.5)
    env.reset(3)
    ends = [env.step(answer)[1:4] for _ in range(4)]
    is_valid = answer != "nothing"
    reward = -0.1 if is_valid else -0.6
    assert ends == [(reward, False, False)] * 3 + [(reward, True, is_valid)]
    with pytest.raises(ResetNeededError):
        env.step(answer)


def test_a_solved_room_is_not_truncated():
    room = "#####\n#@$.#\n#####"
    env = GemSokobanEnv(levels=[room], max_steps=2)
    env.reset(0)
    env.step("<answer>Up</answer>")
    # Solved by the last step of the limit.
    _, reward, *ends, info = env.step("<answer>Right</answer>")
    assert (reward, ends) == (pytest.approx(10.9), [True, False])
    assert info["metrics"]["success"]
    assert info["action_desc"] == "At turn 2, you moved Right, which is effective."


def test_the_limit_of_the_lake_ends_no_episode():
    env = GemFrozenLakeEnv(
        size=4, is_slippery=False, max_steps=2, levels=[["SF", "HG"]]
    )
    env.reset(0)
    for answer in ("", "<answer>Up</answer>", "<answer>Left</answer>", "?"):
        assert env.step(answer)[2:4] == (False, False)
    _, reward, *ends, info = env.step("<answer>Down</answer>")
    assert (reward, ends) == (0.0, [True, True])
    with pytest.raises(ResetNeededError):
        env.step("")
    env.reset(0)
    env.step("<answer>Right</answer>")
    _, reward, *ends, info = env.step("<answer>Down</answer>")
    assert (reward, ends, info["metrics"]["success"]) == (1.0, [True, False], True)


def test_a_map_seed_is_that_of_a_first_reset_without_one():
    env, twin = GemFrozenLakeEnv(map_seed=7), GemFrozenLakeEnv()
    assert env.reset() == twin.reset(7)
    assert env.reset() == twin.reset()
    assert GemFrozenLakeEnv(map_seed=7).reset(3) == twin.reset(3)


@pytest.mark.filterwarnings("ignore::roll_vec.errors.EnvironmentFaultWarning")
def test_an_environment_that_fails_raises(monkeypatch):
    env = GemWebShopEnv(num_products=100)
    with pytest.raises(EnvironmentFaultError, match="session: expected"):
        env.reset(seed=5, session=[3])
    with pytest.raises(ResetNeededError):
        env.step("<answer>search[shoes]</answer>")
    env.reset(seed=5)

    def fail(shop, action):
        raise RuntimeError("broken")

    with monkeypatch.context() as patch:
        patch.setattr("roll_vec.envs.webshop.env.WebShop.step", fail)
        with pytest.raises(EnvironmentFaultError, match="broken"):
            env.step("<answer>search[shoes]</answer>")
    env.reset(seed=5)
    env.step("<answer>search[shoes]</answer>")


def test_the_limit_of_webshop_ends_after_an_answer_without_an_action():
    env = GemWebShopEnv(num_products=100, max_steps=2, format_penalty=-0.05)
    first, _ = env.reset(seed=5, session=3)
    assert first == env.reset(session=3)[0] != env.reset(5)[0]
    for ends in ((False, False), (True, True)):
        _, reward, *others, _ = env.step("buy")
        assert (reward, *others) == (-0.05, *ends)
    with pytest.raises(ResetNeededError):
        env.step("buy")
    env.reset(5)
    for _ in range(3):
        _, _, *ends, info = env.step("<answer>search[shoes]</answer>")
        assert ends == [False, False]
    assert "action_desc" not in info
    assert not info["metrics"]["action_is_effective"]
    env.step("<answer>search[zzzz]</answer>")
    # ROLL's word for a page of results without products.
    *_, info = env.step("<answer>click[next >]</answer>")
    assert info["metrics"]["action_is_effective"]
    page, *_ = env.step("<answer>search[shoes]</answer>")
    actions = env.get_available_actions()
    assert page.endswith(f"\nAvailable actions: {', '.join(actions)}")
    assert env.sample_random_action() in actions


def test_countdown_takes_expressions():
    env = GemCountdownEnv(format_penalty=-0.2, max_steps=2)
    _, info = env.reset(3)
    assert "<answer>" in info["env_instruction"]
    assert env.sample_random_action() != ""
    result = env.step("no tags")
    assert (result[1], result[2]) == (-0.2, False)
    assert not result[4]["metrics"]["action_is_valid"]
    _, reward, terminated, truncated, info = env.step("<answer>1 + 1</answer>")
    assert (reward, terminated, truncated) == (0.0, True, False)
    assert (info["action"], info["metrics"]["success"]) == ("1 + 1", False)


def play(env, number):
    """Return the results of an episode, that of the reset first."""
    results = [env.reset(seed=number // 4)]
    for turn in range(ROOM["max_steps"]):
        name = ("Up", "Left", "Down", "Right")[(number + turn) % 4]
        results.append(env.step(f"<answer>{name}</answer>"))
        if results[-1][2]:
            break
    return results


def test_environments_of_equal_keywords_share_one_batch():
    envs = [GemSokobanEnv(**ROOM) for _ in range(24)]
    other = GemSokobanEnv(**{**ROOM, "max_steps": 5})
    assert len({id(env._batch) for env in envs}) == 1
    assert other._batch is not envs[0]._batch
    # A group has one seed; ROLL plays each environment in a thread of its own.
    results = [None] * len(envs)

    def run(number):
        results[number] = play(envs[number], number)

    threads = [threading.Thread(target=run, args=(n,)) for n in range(len(envs))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    batch = envs[0]._batch
    assert [sessions.num_envs for sessions in batch.batches] == [24]
    alone = GemSokobanEnv(**ROOM, seed_info=True)
    for number in range(len(envs)):
        assert results[number] == play(alone, number)


def test_late_environments_get_rows_of_a_new_batch_and_closed_ones_free_theirs():
    envs = [GemSokobanEnv(**ROOM, num_levels=9) for _ in range(3)]
    batch = envs[0]._batch
    for env in envs:
        env.reset(1)
    late = GemSokobanEnv(**ROOM, num_levels=9)
    late.reset(1)
    assert [sessions.num_envs for sessions in batch.batches] == [3, 3]
    envs[0].close()
    with pytest.raises(ResetNeededError):
        envs[0].step("Up")
    late.close()
    envs.append(GemSokobanEnv(**ROOM, num_levels=9))
    assert envs[3].reset(2) == envs[0].reset(2)
    assert len(batch.batches) == 2
    # Nothing of it stays behind the last environment.
    is_gone = weakref.ref(batch)
    del batch, env, envs, late
    gc.collect()
    assert is_gone() is None


class YamlList(UserList):
    """As OmegaConf's lists: no list by type."""


class YamlMapping(UserDict):
    """As OmegaConf's mappings: no dict by type."""


def test_the_lists_and_mappings_of_a_yaml_are_accepted():
    names = YamlMapping({1: "N", 2: "S", 3: "W", 4: "E"})
    env = GemSokobanEnv(
        dim_room=YamlList([6, 7]),
        num_boxes=1,
        solution_steps=YamlList([1, 60]),
        special_token_list=YamlList(["!"]),
        grid_lookup=YamlMapping(enumerate("W.GCBA@")),
        action_lookup=names,
    )
    text, info = env.reset(0)
    assert [len(line) for line in text.split("\n")] == [7] * 6
    assert set(text) <= set("W.GCBA@\n")
    assert info["env_instruction"].endswith("\nYour available actions are:\nN, S, W, E")
    assert env.step("<ans!wer>e</answer>")[4]["action"] == 4
    assert env.sample_random_action() in names.values()
    countdown = GemCountdownEnv(num_numbers=YamlList([3, 3]))
    assert countdown.reset(0)[0].count(",") == 3


def test_pixels_can_be_observed():
    env = GemSokobanEnv(**ROOM, render_mode="rgb_array")
    pixels, _ = env.reset(0)
    assert (pixels.shape, pixels.dtype) == ((96, 96, 3), np.uint8)
    before = pixels.copy()
    for name in ("Up", "Left", "Down", "Right"):
        after, *_ = env.step(f"<answer>{name}</answer>")
    # The observations of an episode are kept.
    np.testing.assert_array_equal(pixels, before)
    assert after is not pixels


@pytest.mark.parametrize(("height", "width"), [(4, 4), (8, 3), (12, 40)])
def test_pictures_of_lakes_have_gymnasiums_size_as_rolls_have(height, width):
    rows = ["S" + "F" * (width - 1)] + ["F" * width] * (height - 2)
    rows.append("F" * (width - 1) + "G")
    # ROLL's environment is a subclass of Gymnasium's, and shows its pictures.
    shape = (*FrozenLakeEnv(desc=rows).window_size[::-1], 3)
    env = GemFrozenLakeEnv(levels=[rows], render_mode="rgb_array")
    pixels, _ = env.reset(0)
    assert (pixels.shape, pixels.dtype) == (shape, np.uint8)
    after, *_ = env.step("<answer>Right</answer>")
    assert after.shape == pixels.shape
    np.testing.assert_array_equal(env.step("")[0], after)
    # Each pixel is the nearest one of the tiles.
    tiles = RandomFrozenLake(levels=[rows], obs_mode="rgb", action_start=1).reset()[0]
    y, x = (np.arange(n) * m // n for n, m in zip(shape, tiles.shape[:2], strict=False))
    np.testing.assert_array_equal(pixels, tiles[np.ix_(y, x)])


@pytest.mark.parametrize("env_class", [GemSokobanEnv, GemFrozenLakeEnv])
def test_any_mode_can_be_rendered_beside_the_environments_own(env_class):
    modes = ("text", "rgb_array")
    envs = [env_class(render_mode=mode) for mode in modes]
    assert [env.render(mode) for env in envs for mode in modes] == [None] * 4
    for env in envs:
        env.reset(3)
        env.step("<answer>Up</answer>")
    for mode in (None, *modes):
        own = envs[mode == "rgb_array"].render()
        for env in envs:
            expected = env.render() if mode is None else own
            np.testing.assert_array_equal(env.render(mode), expected)
        with pytest.raises(InvalidOptionError, match=r"mode: .*'rgb_array'.*'human'"):
            env.render("human")
    assert isinstance(envs[0].render(), str)
    assert envs[1].render().ndim == 3


@pytest.mark.parametrize(
    ("env_class", "name", "value"),
    [
        (GemSokobanEnv, "max_steps", 0),
        (GemSokobanEnv, "render_mode", "human"),
        (GemSokobanEnv, "num_boxes", 0),
        (GemSokobanEnv, "action_lookup", {5: "Pull"}),
        (GemSokobanEnv, "action_pattern", "("),
        (GemFrozenLakeEnv, "size", 1),
        (GemFrozenLakeEnv, "format_penalty", "much"),
        (GemWebShopEnv, "server", object()),
        (GemWebShopEnv, "max_steps", 0),
        (GemCountdownEnv, "num_numbers", 0),
    ],
)
def test_bad_keywords_are_refused_where_they_are_written(env_class, name, value):
    with pytest.raises(InvalidOptionError, match=name):
        env_class(**{name: value})
    with pytest.raises(UnknownOptionError, match="num_room"):
        env_class(num_room=3)


@pytest.mark.parametrize(
    ("env_class", "name", "key"),
    [
        (GemSokobanEnv, "format_penalti", "format_penalty"),
        (GemFrozenLakeEnv, "render_mod", "render_mode"),
        (GemWebShopEnv, "filepath", "file_path"),
        (GemCountdownEnv, "action_patern", "action_pattern"),
    ],
)
def test_a_typo_in_a_yaml_is_answered_by_rolls_own_key(env_class, name, key):
    with pytest.raises(UnknownOptionError, match=f"did you mean {key}"):
        env_class(**{name: 1})


@pytest.mark.parametrize(
    "name", ["obs_mode", "action_mode", "action_start", "match", "render_scale"]
)
def test_keywords_that_the_class_sets_itself_are_refused(name):
    with pytest.raises(UnknownOptionError, match=name) as refusal:
        GemSokobanEnv(**{name: "text"})
    assert f" {name}," not in str(refusal.value)


def test_a_step_needs_a_reset():
    for env in (
        GemSokobanEnv(**ROOM),
        GemFrozenLakeEnv(),
        GemWebShopEnv(num_products=100),
    ):
        for answer in ("", "<answer>Up</answer>"):
            with pytest.raises(ResetNeededError):
                env.step(answer)
        env.reset(0)
        for answer in (None, 1, b"Up"):
            with pytest.raises(InvalidActionError):
                env.step(answer)
        env.close()
        with pytest.raises(ResetNeededError):
            env.step("")


def test_the_names_are_registered_once(monkeypatch):
    registry = {}
    gem = types.ModuleType("gem")
    gem.register = lambda name, entry_point: registry.update({name: entry_point})
    envs = types.ModuleType("gem.envs")
    registration = types.ModuleType("gem.envs.registration")
    registration.ENV_REGISTRY = registry
    for module in (gem, envs, registration):
        monkeypatch.setitem(sys.modules, module.__name__, module)
    register_gem_envs()
    assert registry == GEM_IDS
    registry["roll_vec/sokoban"] = "mine"
    register_gem_envs()
    assert registry["roll_vec/sokoban"] == "mine"
    for entry_point in GEM_IDS.values():
        module, name = entry_point.split(":")
        assert callable(getattr(importlib.import_module(module), name))
