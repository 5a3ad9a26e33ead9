"""verl-agent's draws, pictures and faults; see also data/verl_agent.*."""

import sys
from types import SimpleNamespace

import numpy as np
import pytest

import roll_vec
from roll_vec.adapters.verl_agent import build_sokoban_envs, build_webshop_envs
from roll_vec.errors import EnvironmentFaultWarning

ROOM = {"dim_room": (6, 6), "num_boxes": 1, "search_depth": 30}


def build_shop(seed=0, env_num=2, group_n=1, is_train=False):
    shop = {"num_products": 100, "catalog_seed": 233}
    return build_webshop_envs(
        seed, env_num, group_n, is_train=is_train, env_kwargs=shop
    )


@pytest.mark.parametrize("is_train", [True, False])
def test_rooms_are_those_of_verl_agents_draw(is_train):
    # A draw up to 2**16 would be another one here.
    seed, mode = 24646, "tiny_rgb_array"
    envs = build_sokoban_envs(seed, 3, 2, mode, is_train=is_train, env_kwargs=ROOM)
    rng = np.random.RandomState(seed)
    low, high = (0, 2**16 - 1) if is_train else (2**16, 2**32 - 1)
    plain = roll_vec.make_vec("roll_vec/Sokoban-v0", 3, **ROOM)
    for _ in range(2):
        envs.reset()
        grids, _ = plain.reset(seed=rng.randint(low, high, size=3).tolist())
        np.testing.assert_array_equal(envs.render("state"), grids.repeat(2, axis=0))


def test_goals_are_those_of_verl_agents_draw():
    envs, rng = build_shop(7, 3, 2, is_train=True), np.random.RandomState(7)
    goals = envs.envs.get_attr("catalogue")[0].goals
    for _ in range(2):
        pages, infos = envs.reset()
        numbers = rng.choice(range(500, len(goals)), size=3, replace=False)
        for i, number in enumerate(np.repeat(numbers, 2)):
            assert f" [SEP] {goals[number].instruction_text} [SEP] " in pages[i]
            assert infos[i]["available_actions"]["clickables"] == ["search"]


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
