"""``evaluation_split``: each episode of a split once, over all environments."""

import sys
from concurrent.futures import ThreadPoolExecutor
from types import SimpleNamespace

import pytest

from roll_vec.adapters.roll import GemFrozenLakeEnv, GemSokobanEnv, GemWebShopEnv
from roll_vec.adapters.roll import evaluation_split as module
from roll_vec.adapters.roll.evaluation_split import apply_split
from roll_vec.adapters.verl_agent import build_sokoban_envs, build_webshop_envs
from roll_vec.envs.webshop import Catalogue
from roll_vec.errors import InvalidOptionError, ResetNeededError
from roll_vec.evaluation import find_split, splits_of

CLASSES = {
    "Sokoban": (GemSokobanEnv, "test-easy", {"max_steps": 5}),
    "FrozenLake": (GemFrozenLakeEnv, "test-no-slip", {"is_slippery": False}),
    "WebShop": (GemWebShopEnv, "test", {"max_steps": 3}),
}


def validate(env, first_seed):
    """Return the observations of a manager's episodes, by seed."""
    texts = {}
    for seed in range(first_seed, first_seed + 10_000):
        observation, info = env.reset(seed=seed)
        if observation is None:
            assert info == {}
            with pytest.raises(ResetNeededError):
                env.step("<answer>Up</answer>")
            return texts
        texts[seed] = observation
    raise AssertionError


@pytest.mark.parametrize("name", CLASSES)
def test_each_episode_is_played_once_in_each_validation(name):
    cls, split_name, keywords = CLASSES[name]
    split = find_split(cls.ID, split_name)
    envs = [cls(**keywords, evaluation_split=split_name) for _ in range(5)]
    plain = cls(**{**keywords, **split.keywords})
    expected = sorted(plain.reset(seed=seed)[0] for seed in split.seeds)
    for _ in range(2):
        with ThreadPoolExecutor(len(envs)) as threads:
            parts = list(threads.map(validate, envs, range(0, 500_000, 100_000)))
        texts = [text for part in parts for text in part.values()]
        assert len(texts) == len(split)
        if name == "WebShop":
            # The first page has the instruction.
            assert len(set(texts)) > len(split) * 0.9
        assert sorted(texts) == expected


def test_the_counter_lives_as_long_as_its_environments():
    keywords = {"evaluation_split": "test-1-box"}
    env = GemSokobanEnv(**keywords)
    first = env.reset(seed=None)
    second = env.reset(seed=None)
    assert first != second
    other = GemSokobanEnv(**keywords, max_steps=9)
    assert other.reset(seed=None) == first
    del env
    assert GemSokobanEnv(**keywords).reset(seed=None) == first


@pytest.mark.parametrize(
    ("cls", "keywords", "message"),
    [
        (GemSokobanEnv, {}, "evaluation_split: expected one of 'test', 'test-1-box'"),
        (GemSokobanEnv, {"num_boxes": 1}, "num_boxes: expected 3, as in the split"),
        (GemFrozenLakeEnv, {"size": 8}, "size: expected 4, as in the split 'test'"),
        (GemWebShopEnv, {"limit_goals": 9}, "limit_goals: expected None, as in the"),
        (GemWebShopEnv, {"num_products": 9}, "products, the file of a shop"),
    ],
)
def test_keywords_that_would_change_the_episodes_are_errors(cls, keywords, message):
    split = "test" if keywords else "hard"
    with pytest.raises(InvalidOptionError, match=message):
        cls(**keywords, evaluation_split=split)


def test_keywords_of_a_yaml_that_are_the_splits_are_accepted():
    GemSokobanEnv(dim_room=[6, 6], num_boxes=3, evaluation_split="test", max_steps=9)
    GemWebShopEnv(split="test", human_goals=False, evaluation_split="test")
    split, keywords = apply_split("roll_vec/Sokoban-v0", "test", {"obs_mode": "text"})
    assert keywords == {"obs_mode": "text", **split.keywords}


def test_a_shop_in_files_of_the_user_has_splits(tmp_path):
    catalogue = Catalogue.load(num_products=20)
    catalogue.save(tmp_path / "shop")
    env = GemWebShopEnv(file_path=tmp_path / "shop", evaluation_split="test")
    assert len(validate(env, 0)) == len(catalogue.goals) < 500


def test_forks_play_on_and_leave_later_environments_their_round():
    keywords = {"evaluation_split": "test-1-box", "max_steps": 3}
    env = GemSokobanEnv(**keywords)
    first = env.reset(seed=None)
    envs = [env, *env.fork(2)]
    assert sum(len(validate(one, 10**6 * i)) for i, one in enumerate(envs)) == 999
    later = GemSokobanEnv(**keywords)
    assert later.reset(seed=None) == first


class Handle:
    """An actor that answers at once."""

    def __init__(self, target):
        self._target = target

    def __getattr__(self, name):
        return SimpleNamespace(remote=getattr(self._target, name))


def make_ray(**actors):
    """Return of Ray what the counter needs, with actors by name."""

    def get_actor(name):
        if name not in actors:
            raise ValueError(name)
        return actors[name]

    def remote(cls):
        def options(name, get_if_exists, num_cpus):
            assert (get_if_exists, num_cpus) == (True, 0)
            make = lambda *values: actors.setdefault(name, Handle(cls(*values)))  # noqa: E731
            return SimpleNamespace(remote=make)

        return SimpleNamespace(options=options)

    return SimpleNamespace(
        is_initialized=lambda: True,
        get=lambda value: value,
        get_actor=get_actor,
        remote=remote,
    )


@pytest.mark.parametrize("has_manager", [True, False])
def test_with_ray_all_processes_ask_one_actor(monkeypatch, has_manager):
    # Of ROLL's ``GlobalDatasetManager``.
    datasets = {}
    manager = SimpleNamespace(
        register=lambda dataset_name, dataset_ref: datasets.update(
            {dataset_name: dataset_ref}
        )
    )
    actors = {"val_dataset_manager": Handle(manager)} if has_manager else {}
    monkeypatch.setitem(sys.modules, "ray", make_ray(**actors))
    seen = []
    for _ in range(2):
        # Another process has no counters of its own.
        monkeypatch.setattr(module, "_ray_counters", {})
        envs = [GemSokobanEnv(evaluation_split="test") for _ in range(2)]
        seen += [env.reset(seed=None)[0] for env in envs]
    assert len(set(seen)) == 4
    assert len(datasets) == has_manager
    for actor in datasets.values():
        # As ROLL's pipeline before each validation.
        actor.reset.remote()
        assert envs[0].reset(seed=None)[0] == seen[0]


def test_verl_agents_resets_walk_through_a_split():
    rooms = find_split("roll_vec/Sokoban-v0", "test-easy")
    envs = build_sokoban_envs(
        0, 400, 2, "tiny_rgb_array", is_train=False, evaluation_split="test-easy"
    )
    single = build_sokoban_envs(0, 1, 1, "tiny_rgb_array", env_kwargs=rooms.keywords)
    texts = [envs.reset()[0] for _ in range(3)]
    assert all(one[::2] == one[1::2] for one in texts)
    first, *_, last = rooms.seeds
    for seed, text in ((first, texts[0][0]), (last, texts[2][2 * 199])):
        single._begin([seed])
        assert single._observe() == [text]
    assert texts[2][2 * 200 :] == texts[0][: 2 * 200]
    for each in (envs, single):
        each.close()
    with pytest.raises(InvalidOptionError, match="num_boxes: expected 3, as in"):
        build_sokoban_envs(
            mode="state", env_kwargs={"num_boxes": 2}, evaluation_split="test"
        )


@pytest.mark.parametrize("name", ["test", "eval"])
def test_verl_agents_shop_plays_the_goals_of_a_split(name):
    envs = build_webshop_envs(0, 100, 1, is_train=True, evaluation_split=name)
    split = splits_of("roll_vec/WebShop-v0")[name]
    plain = GemWebShopEnv(split=name)
    pages, _ = envs.reset()
    for page, seed in list(zip(pages, split.seeds, strict=False))[:5]:
        text, _ = plain.reset(seed=seed)
        assert page.split(" [SEP] ")[2] in text
    for _ in range(len(split) // 100 - 1):
        assert envs.reset()[0] != pages
    assert envs.reset()[0] == pages
    envs.close()
