"""The evaluation splits: another set of episodes under an old name.

Run as ``python -m tests.evaluation.test_splits`` to write the digests of new splits.
"""

import json
import shutil
from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest

import roll_vec
from roll_vec.envs.webshop import Catalogue
from roll_vec.errors import InvalidOptionError
from roll_vec.evaluation import evaluate, find_split, play_episodes, splits
from roll_vec.evaluation.difficulty import draw_levels
from roll_vec.evaluation.result_files import ResultHeader
from roll_vec.registration import ENVIRONMENTS

SHOP = "roll_vec/WebShop-v0"
# Thousands of pages of a shop take seconds.
SLOW = [pytest.mark.slow]
BUILT_IN = [split for by_name in splits.SPLITS.values() for split in by_name.values()]
ALL = [
    pytest.param(
        split,
        id=f"{split.id}-{split.name}",
        marks=SLOW if split.id == SHOP and split.name != "test" else (),
    )
    for split in BUILT_IN
]


@pytest.mark.parametrize("split", ALL)
def test_a_split_has_the_episodes_of_its_digest(split):
    assert split.compute_digest() == split.digest
    assert len(set(split.seeds)) == len(split) >= 500


def test_every_id_of_the_package_has_a_test_split():
    built_in = [id for id in ENVIRONMENTS if id.startswith("roll_vec/")]
    families = [id for id in built_in if ENVIRONMENTS[id].family]
    assert sorted([*splits.SPLITS, *families]) == sorted(built_in)
    assert all([*splits.splits_of(id)] == ["test"] for id in families)
    assert [f"{split.id} {split.name}" for split in BUILT_IN] == list(splits.DIGESTS)
    assert all("test" in by_name for by_name in splits.SPLITS.values())


def test_a_digest_notices_each_part():
    split = find_split("roll_vec/RandomFrozenLake-v0", "test-no-slip")
    digests = {split.digest}
    for changes in (
        {"make_seeds": lambda: split.seeds[:-1]},
        {"make_seeds": lambda: split.seeds[::-1]},
        {"keywords": {**split.keywords, "p": 0.79}},
        {"keywords": {**split.keywords, "is_slippery": True}},
    ):
        digests.add(replace(split, **changes).compute_digest())
    assert len(digests) == 5


def test_a_digest_notices_other_episodes_of_the_same_seeds(monkeypatch):
    split = find_split("roll_vec/Countdown-v0", "test")
    make_vec = roll_vec.make_vec
    monkeypatch.setattr(
        "roll_vec.evaluation.splits.make_vec",
        lambda *args, **keywords: make_vec(*args, number_range=(1, 98), **keywords),
    )
    assert split.compute_digest() != split.digest


def test_other_names_and_keywords_that_would_change_the_task_are_refused():
    for id, name in (("roll_vec/Nothing-v0", "test"), (SHOP, "dev")):
        with pytest.raises(InvalidOptionError, match=r"^(id|name): expected"):
            find_split(id, name)
    rooms = find_split("roll_vec/Sokoban-v0", "test")
    for keywords in ({"num_boxes": 2}, {"dim_room": (6, 6)}, {"num_levels": 5}):
        with pytest.raises(InvalidOptionError, match=r"^keywords: expected one of"):
            rooms.make_vec(2, **keywords)
    space = rooms.make_vec(2, obs_mode="planes").single_observation_space
    assert space.shape == (7, 6, 6)


@pytest.fixture(scope="module")
def shop(tmp_path_factory):
    path = tmp_path_factory.mktemp("shops") / "shop"
    Catalogue.load(num_products=20).save(path)
    return path


def test_a_split_has_the_goals_of_the_shop(shop, tmp_path):
    split = find_split(SHOP, "test", products=shop)
    num_goals = len(Catalogue.load(num_products=20).goals)
    assert len(split) == num_goals < 500
    envs = split.make_vec(num_goals)
    _, infos = envs.reset(seed=split.seeds)
    envs.close()
    assert infos["goal"].tolist() == list(range(num_goals))
    assert split.title == "WebShop's first 500 goals; here those of shop"
    assert split.files["products"]["name"] == "shop"
    # The digest is of the content, not of the place.
    copy = shutil.copy(shop, tmp_path / "shop")
    assert find_split(SHOP, "test", products=str(copy)).digest == split.digest
    Catalogue.load(num_products=20, catalog_seed=1).save(tmp_path / "other")
    others = find_split(SHOP, "test", products=tmp_path / "other", catalog_seed=1)
    assert others.digest != split.digest
    assert others.files["products"]["sha256"] != split.files["products"]["sha256"]


def test_a_policy_plays_it(shop):
    split = find_split(SHOP, "test", products=shop)
    envs = split.make_vec(2)
    play = partial(play_episodes, split, envs, lambda turn: ["search[x]"] * 2)
    (record,) = evaluate(split, play, num=1)
    envs.close()
    assert record.length == 50
    header = ResultHeader.of(split, {}, {"name": "buy"})
    assert header.files == {"products": dict(split.files["products"])}
    assert str(shop) not in str(header)


def test_bad_shops_are_errors(shop, tmp_path):
    for keywords, message in (
        ({"products": shop, "num_boxes": 3}, "keywords: expected keywords of a shop"),
        ({"num_products": 20}, "keywords: expected products, the file of a shop"),
        ({"products": tmp_path / "no"}, "products: .*no"),
    ):
        with pytest.raises(InvalidOptionError, match=message):
            find_split(SHOP, "test", **keywords)
    with pytest.raises(InvalidOptionError, match="'eval' begins at goal 500"):
        find_split(SHOP, "eval", products=shop)
    with pytest.raises(InvalidOptionError, match=r"no keywords; those .*/WebShop"):
        find_split("roll_vec/Countdown-v0", "test", products=shop)


if __name__ == "__main__":
    lines = []
    for split in BUILT_IN:
        if split.bands:
            more = {**split.keywords, **split.bands}
            _, seeds = draw_levels(
                split.id, 1000, start_level=splits.TEST_START, **more
            )
            name = json.dumps(f"{split.id} {split.name}")
            lines.append(
                f" {name}: {json.dumps(seeds.tolist(), separators=(',', ':'))}"
            )
    Path(str(splits.SEEDS_FILE)).write_text("{\n" + ",\n".join(lines) + "\n}\n")
    digests = {f"{x.id} {x.name}": x.digest or x.compute_digest() for x in BUILT_IN}
    Path(str(splits.DIGESTS_FILE)).write_text(json.dumps(digests, indent=1) + "\n")
