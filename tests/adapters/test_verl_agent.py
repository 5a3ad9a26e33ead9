"""verl-agent's build functions: its transcripts, its draws, and bad input.

`data/verl_agent.json` has transcripts of verl-agent itself and says how they were made.
"""

import json
import sys
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

import roll_vec
from roll_vec.adapters.verl_agent import (
    build_countdown_envs,
    build_frozen_lake_envs,
    build_sokoban_envs,
    build_webshop_envs,
)
from roll_vec.errors import (
    EnvironmentFaultWarning,
    InvalidActionError,
    InvalidOptionError,
    InvalidSeedError,
    ResetNeededError,
    UnknownOptionError,
)

TEXT = (Path(__file__).parent / "data" / "verl_agent.json").read_text("utf-8")
RECORDS = json.loads(TEXT)
# The shop of the record: prices and limits are drawn by the same seed there.
SHOP = {"num_products": 100, "catalog_seed": 233}
ROOM = {"dim_room": (6, 6), "num_boxes": 1, "search_depth": 30}
TEXTS = "tiny_rgb_array"


def build_shop(seed=0, env_num=2, group_n=1, is_train=False, **keywords):
    """Return environments of the small shop."""
    arguments = {"is_train": is_train, "env_kwargs": SHOP, **keywords}
    return build_webshop_envs(seed, env_num, group_n, **arguments)


def repeat(envs, record):
    """Play a record again; compare everything up to the ends of episodes."""
    assert [list(pair) for pair in zip(*envs.reset(), strict=True)] == record["reset"]
    rounds = zip(*record["scripts"], strict=True)
    for step, actions in zip(record["steps"], rounds, strict=True):
        results = [list(one) for one in zip(*envs.step(actions), strict=True)]
        for expected, result in zip(step, results, strict=True):
            if expected is None:
                assert result[1:3] == [0.0, True]
            else:
                assert result == expected
    envs.close()


def test_sokoban_repeats_verl_agents_transcript():
    record = RECORDS["sokoban"]
    repeat(build_sokoban_envs(**record["arguments"]), record)
    assert any(one and one[3]["won"] for step in record["steps"] for one in step)


def test_webshop_repeats_verl_agents_transcript():
    record = RECORDS["webshop"]
    repeat(build_webshop_envs(**record["arguments"], env_kwargs=SHOP), record)
    assert record["steps"][-1][0][1:3] == [10.0, True]


def test_an_environment_that_has_ended_stays_as_it_is():
    envs = build_sokoban_envs(0, 2, 1, TEXTS, env_kwargs={**ROOM, "max_steps": 2})
    envs.reset()
    envs.step([1, 0])
    last, rewards, dones, infos = envs.step([2, 0])
    assert rewards[0] != 0
    assert dones == [True, False]
    infos[0]["is_action_valid"] = True  # verl-agent's managers add to infos
    for actions in ([3, 4], [None, 3]):
        texts, rewards, dones, infos = envs.step(actions)
        assert texts[0] == last[0]
        assert rewards[0] == 0
        assert dones[0]
        assert infos[0].keys() == {"won", "action_is_effective"}
    # Still is no step: the other one has ended at its second move.
    assert dones == [True, True]
    envs.reset()
    assert envs.step([1, 1])[2] == [False, False]


@pytest.mark.parametrize("is_train", [True, False])
def test_rooms_are_those_of_verl_agents_draw(is_train):
    state = np.random.get_state()[1].copy()
    # A draw up to 2**16 would be another one here.
    seed = 24646
    envs = build_sokoban_envs(seed, 3, 2, TEXTS, is_train=is_train, env_kwargs=ROOM)
    rng = np.random.RandomState(seed)
    low, high = (0, 2**16 - 1) if is_train else (2**16, 2**32 - 1)
    plain = roll_vec.make_vec("roll_vec/Sokoban-v0", 3, **ROOM)
    for _ in range(2):
        envs.reset()
        grids, _ = plain.reset(seed=rng.randint(low, high, size=3).tolist())
        np.testing.assert_array_equal(envs.render("state"), grids.repeat(2, axis=0))
    np.testing.assert_array_equal(np.random.get_state()[1], state)


def test_goals_are_those_of_verl_agents_draw():
    envs, rng = build_shop(7, 3, 2, is_train=True), np.random.RandomState(7)
    goals = envs.envs.get_attr("catalogue")[0].goals
    for _ in range(2):
        pages, infos = envs.reset()
        numbers = rng.choice(range(500, len(goals)), size=3, replace=False)
        for i, number in enumerate(np.repeat(numbers, 2)):
            assert f" [SEP] {goals[number].instruction_text} [SEP] " in pages[i]
            assert infos[i]["available_actions"]["clickables"] == ["search"]


@pytest.mark.parametrize("build", [build_sokoban_envs, build_countdown_envs])
def test_a_fixed_draw_repeats_the_first_tasks(build):
    arguments = {"mode": TEXTS} if build is build_sokoban_envs else {}
    fixed = build(3, 4, is_train=False, seed_draw="fixed", **arguments)
    other = build(3, 4, is_train=False, **arguments)
    first = fixed.reset()[0]
    assert first == other.reset()[0]
    assert first == fixed.reset()[0] != other.reset()[0]


def test_frozen_lake_has_the_same_shape():
    kwargs = {"size": 3, "is_slippery": False, "max_steps": 9}
    envs = build_frozen_lake_envs(0, 4, 2, env_kwargs=kwargs)
    texts, infos = envs.reset()
    assert infos == [{"won": False}] * 8
    assert texts[0] == texts[1]
    assert texts[0].count("\t") == 9
    assert texts == envs.render(TEXTS)
    plans = [list(solution) for solution in map(get_actions, envs.envs.solve())]
    for step in range(max(map(len, plans))):
        actions = [plan[step] if step < len(plan) else 0 for plan in plans]
        _, rewards, dones, infos = envs.step(actions)
        for i, plan in enumerate(plans):
            assert dones[i] == infos[i]["won"] == (step >= len(plan) - 1)
            assert rewards[i] == float(step == len(plan) - 1)


def get_actions(solution):
    """Return the actions of a way without slips."""
    return getattr(solution, "actions", solution)


def test_countdown_pays_ten_for_a_correct_answer_alone():
    envs = build_countdown_envs(0, 2, 2, env_kwargs={"num_numbers": 3})
    envs.reset()
    answers = envs.envs.get_attr("oracle_action")
    texts, rewards, dones, infos = envs.step([answers[0], "1", answers[2], "0 + x"])
    assert (rewards, dones) == ([10.0, 0.0, 10.0, 0.0], [True] * 4)
    assert [info["won"] for info in infos] == [True, False, True, False]
    assert infos[0]["task_score"] == 1.0
    assert envs.render(env_idx=1) == texts[1] == envs.render()[1]


def test_pictures_are_put_together_from_gym_sokobans(monkeypatch):
    def room_to_rgb(room):
        tiles = np.arange(7 * 16 * 16 * 3).reshape(7, 16, 16, 3) % 251
        return np.block([[[tiles[code]] for code in row] for row in room])

    module = SimpleNamespace(room_to_rgb=room_to_rgb)
    monkeypatch.setitem(sys.modules, "gym_sokoban.envs.render_utils", module)
    envs = build_sokoban_envs(0, 2, 1, env_kwargs={**ROOM, "dim_room": (6, 7)})
    pictures, _ = envs.reset()
    assert envs.mode == "rgb_array"
    for picture, grid in zip(pictures, envs.render("state"), strict=True):
        assert (picture.shape, picture.dtype) == ((96, 112, 3), np.uint8)
        np.testing.assert_array_equal(picture, room_to_rgb(grid))
    np.testing.assert_array_equal(envs.render(env_idx=1), pictures[1])


def test_pictures_of_ours_need_no_other_package(monkeypatch):
    monkeypatch.setitem(sys.modules, "gym_sokoban.envs.render_utils", None)
    envs = build_sokoban_envs(0, 1, 1, env_kwargs=ROOM, tiles="roll_vec")
    pictures, _ = envs.reset()
    assert pictures[0].shape == (96, 96, 3)
    assert envs.render("list", 0)[0] == "# # # # # #"
    with pytest.raises(InvalidOptionError, match=r"tiles: expected .*gym-sokoban"):
        build_sokoban_envs(0, 1, 1, env_kwargs=ROOM)


def test_a_fault_ends_the_episode_alone(monkeypatch):
    def fail(env, action):
        raise RuntimeError(action)

    envs = build_shop()
    pages, _ = envs.reset()
    with monkeypatch.context() as patch:
        patch.setattr("roll_vec.envs.webshop.env.WebShop.step", fail)
        with pytest.warns(EnvironmentFaultWarning):
            after, rewards, dones, infos = envs.step(["search[red]", "search[blue]"])
    assert (after, rewards, dones) == (pages, [0.0] * 2, [True] * 2)
    assert [info["won"] for info in infos] == [False] * 2
    assert envs.reset()[0] != pages
    assert envs.step(["search[red]", "x"])[2] == [False, False]


def test_webshop_takes_verl_agents_keywords(tmp_path):
    with pytest.raises(InvalidOptionError, match=r"products: .*items\.json"):
        build_shop(env_kwargs={"file_path": tmp_path / "items.json", "attr_path": None})
    kwargs = {"human_goals": 1, "limit_goals": -1, "num_products": None, **SHOP}
    envs = build_shop(env_kwargs=kwargs)
    assert envs.envs.get_attr("options")[0].human_goals is True


def test_people_s_goals_are_read_beside_the_products(tmp_path):
    products = tmp_path / "items.json"
    products.write_text("[]")
    kwargs = {"file_path": products, "human_goals": True}
    with pytest.raises(InvalidOptionError, match=r"human_instructions: .*human_ins"):
        build_shop(env_kwargs=kwargs)


BAD = {
    "env_num": ({"env_num": 0}, InvalidOptionError),
    "group_n": ({"group_n": 1.5}, InvalidOptionError),
    "seed": ({"seed": -1}, InvalidSeedError),
    "seed: .* below 2": ({"seed": 2**32}, InvalidOptionError),
    "mode": ({"mode": "text"}, InvalidOptionError),
    "tiles": ({"tiles": "mine"}, InvalidOptionError),
    "seed_draw": ({"seed_draw": "new"}, InvalidOptionError),
    "is_train": ({"is_train": "yes"}, InvalidOptionError),
    "env_kwargs: .* dict": ({"env_kwargs": 6}, InvalidOptionError),
    "obs_mode": ({"env_kwargs": {"obs_mode": "text"}}, InvalidOptionError),
    "dim_room": ({"env_kwargs": {"dim_room": 6}}, InvalidOptionError),
    "boxes": ({"env_kwargs": {"boxes": 2}}, UnknownOptionError),
}


@pytest.mark.parametrize("name", BAD)
def test_bad_arguments_are_named(name):
    keywords, error = BAD[name]
    with pytest.raises(error, match=name):
        build_sokoban_envs(**{"mode": TEXTS, "env_kwargs": ROOM, **keywords})


def test_more_groups_than_goals_are_refused():
    with pytest.raises(InvalidOptionError, match=r"env_num: expected at most 61, the"):
        build_shop(env_num=62, is_train=True)


def test_bad_actions_change_nothing():
    envs = build_sokoban_envs(0, 2, 1, TEXTS, env_kwargs=ROOM)
    with pytest.raises(ResetNeededError):
        envs.step([1, 2])
    texts, _ = envs.reset()
    for actions in ([1], [1, 5], [1, "up"], [1, None], None, "12", 1):
        with pytest.raises(InvalidActionError):
            envs.step(actions)
    assert envs.render(TEXTS) == texts
    for env_idx in (-1, 2, "0"):
        with pytest.raises(InvalidOptionError, match="env_idx"):
            envs.render(TEXTS, env_idx)
    with pytest.raises(InvalidOptionError, match="mode"):
        envs.render("human")
    envs.close()
    envs.close()
