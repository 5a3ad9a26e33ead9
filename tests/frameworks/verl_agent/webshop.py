"""WebShop: verl-agent's shop and ours, page by page.

The shop has our demo products, written as WebShop's files.  With the environment
variable WEBSHOP_DATA, a folder, it has WebShop's own files of 1000 products.
"""

import gzip
import json
import os
import random
from pathlib import Path

import numpy as np
from stand_ins import load_webshop

from roll_vec.adapters.verl_agent import build_webshop_envs
from roll_vec.envs.webshop import Catalogue
from roll_vec.envs.webshop.demo_shop.products import generate_product

# WebShop's seed of the shuffle.  An actor of verl-agent shuffles by its own seed, and
# draws prices and limits by it: with this seed its shop is WebShop's, and ours.
SEED = 233
NUM_PRODUCTS = 1000
FILES = ("items_shuffle_1000.json", "items_ins_v2_1000.json", "items_human_ins.json")
WORDS = ("red", "women's shoes", "for office", "<q> tripods", "usb", "xyzzy", "5%")
JUNK = ("click[no such thing]", "search[]", "think[hard]", "", "click[search]", "[[]]")


def write_files(folder):
    """Write the shop's files into a folder, and return the paths."""
    folder.mkdir(parents=True, exist_ok=True)
    paths = [folder / name for name in FILES]
    if "WEBSHOP_DATA" in os.environ:
        names = (*FILES[:2], "items_human_ins_subset13.json")
        for name, path in zip(names, paths, strict=True):
            source = Path(os.environ["WEBSHOP_DATA"], name)
            if source.exists():
                path.write_bytes(source.read_bytes())
            else:
                packed = source.with_name(f"{name}.gz").read_bytes()
                path.write_bytes(gzip.decompress(packed))
        return paths
    contents = [], {}, {}
    for number in range(NUM_PRODUCTS):
        product = generate_product(number)
        asin = product.item["asin"]
        contents[0].append({**product.item, "images": [""]})
        contents[1][asin], contents[2][asin] = product.attributes, product.human
    for path, content in zip(paths, contents, strict=True):
        path.write_text(json.dumps(content), "utf-8")
    return paths


class Shops:
    """A shop of verl-agent and the same one of ours.

    Parameters
    ----------
    folder : Path
        For the files.
    human_goals : bool
    """

    def __init__(self, folder, human_goals):
        products, attributes, human = write_files(folder)
        self.env_kwargs = {
            "observation_mode": "text",
            "num_products": None,
            "human_goals": human_goals,
            "file_path": str(products),
            "attr_path": str(attributes),
        }
        self.title_nouns = str(folder / "title_nouns.json")
        # The first catalogue writes the file, with the nouns of spaCy's model.
        self.own = {"catalog_seed": SEED, "title_nouns": self.title_nouns}
        if human_goals:
            self.own["human_instructions"] = str(human)
        catalogue = Catalogue.load(
            products=products,
            attributes=attributes,
            human_goals=human_goals,
            **self.own,
        )
        assert catalogue.title_nouns_source.startswith("spacy:")
        self.module = load_webshop(catalogue, human)

    def build_theirs(self, env_num, group_n, is_train):
        """Return a batch of verl-agent."""
        return self.module.build_webshop_envs(
            seed=SEED,
            env_num=env_num,
            group_n=group_n,
            resources_per_worker={},
            is_train=is_train,
            # Gymnasium's predecessor would refuse the shop, which has no spaces.
            env_kwargs={**self.env_kwargs, "disable_env_checker": True},
        )

    def build_ours(self, env_num, group_n, is_train):
        """Return the batch of ours."""
        return build_webshop_envs(
            seed=SEED,
            env_num=env_num,
            group_n=group_n,
            resources_per_worker={},
            is_train=is_train,
            env_kwargs={**self.env_kwargs, **self.own},
        )


def choose(rng, actions, oracle):
    """Return an action: the oracle's, a click, a search or junk."""
    kind = rng.random()
    if kind < 0.55 and oracle is not None:
        return oracle
    if kind < 0.85 and actions["clickables"]:
        return f"click[{rng.choice(actions['clickables'])}]"
    if kind < 0.93:
        return f"search[{rng.choice(WORDS)}]"
    return rng.choice(JUNK)


def compare(shops, num_goals, is_train, max_steps=12):
    """Play goals in one actor of verl-agent, and all at once in ours.

    Returns
    -------
    steps, purchases, won : int
    """
    ours = shops.build_ours(num_goals, 1, is_train)
    theirs = shops.build_theirs(1, 1, is_train)
    actor = theirs._workers[0].instance
    # The first draw is theirs.
    goals = np.random.RandomState(SEED).choice(
        theirs.goal_idxs, size=num_goals, replace=False
    )
    pages, infos = ours.reset()
    steps = purchases = won = 0
    state, rng = [actor.reset(goal) for goal in goals.tolist()], random.Random(SEED)
    for i, result in enumerate(state):
        assert result == (pages[i], infos[i]), (goals[i], result, pages[i], infos[i])
    # One actor plays one goal at a time: actions are chosen by ours, and repeated.
    script = [[] for _ in goals]
    results = [[] for _ in goals]
    active = [True] * num_goals
    for _ in range(max_steps):
        oracles = ours.envs.get_attr("oracle_action")
        actions = [
            choose(rng, info["available_actions"], oracle) if is_active else None
            for info, oracle, is_active in zip(infos, oracles, active, strict=True)
        ]
        pages, rewards, dones, infos = ours.step(actions)
        for i in range(num_goals):
            if active[i]:
                script[i].append(actions[i])
                results[i].append((pages[i], rewards[i], dones[i], infos[i]))
                active[i] = not dones[i]
            else:
                assert dones[i]
                assert rewards[i] == 0
    for goal, actions, expected in zip(goals.tolist(), script, results, strict=True):
        actor.reset(goal)
        for action, ours_result in zip(actions, expected, strict=True):
            result = actor.step(action)
            assert result == ours_result, (goal, actions, result, ours_result)
            steps += 1
        purchases, won = purchases + result[2], won + result[3]["won"]
    ours.close()
    return steps, purchases, won


def play(envs, num_steps):
    """Play a script in a batch of either side and return the number of steps."""
    rng = random.Random(0)
    _, infos = envs.reset()
    for step in range(num_steps):
        actions = [
            f"search[{rng.choice(WORDS)}]"
            if step % 3 == 0
            else f"click[{rng.choice(info['available_actions']['clickables'])}]"
            for info in infos
        ]
        # A purchase would end the episode on one side only.
        actions = [text.replace("buy now", "features") for text in actions]
        _, _, _, infos = envs.step(actions)
    return num_steps * len(infos)
