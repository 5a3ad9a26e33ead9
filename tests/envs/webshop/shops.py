"""Shops in the form of WebShop's files: a small one of three items, the original."""

import json
from pathlib import Path

ITEMS = [
    {
        "asin": "B000000001",
        "name": "Red Cotton Shirt for Men",
        "full_description": "A shirt to wear every day.",
        "small_description": ["Soft cotton", "", "Machine wash"],
        "pricing": "$25.5",
        "customization_options": {
            "Size": [{"value": "Small "}, {"value": "X/Large", "image": None}],
            "Color": [{"value": "Red"}, {"value": "Navy Blue"}],
        },
        "product_category": "Clothing › Men › Shirts",
        "category": "fashion",
        "query": " Men's Shirts ",
    },
    {
        "asin": "B000000002",
        "name": "Oak Table",
        "full_description": "",
        "small_description": "Solid oak.",
        "pricing": "$100.00$150.50",
        "customization_options": "",
        "product_category": "Home › Tables",
        "category": "garden",
        "query": "tables",
    },
    {
        "asin": "A000000003",
        "name": "Mystery Box",
        "full_description": "Nobody knows.",
        "small_description": [],
        "pricing": "",
        "customization_options": {"Style": None, "Pack": [{"value": "2"}]},
        "product_category": "Home",
        "category": "garden",
        "query": "boxes",
    },
]
ATTRIBUTES = {
    "B000000001": {
        "attributes": ["machine wash", "long sleeve"],
        "instruction": "Find me machine wash men's shirts",
        "instruction_attributes": ["machine wash"],
    },
    "B000000002": {
        "attributes": ["solid wood"],
        "instruction": "Find me tables",
        "instruction_attributes": ["solid wood", "machine wash"],
    },
}
HUMAN = {
    "B000000002": [
        {
            "instruction": "i want a table. ..",
            "instruction_attributes": ["solid wood"],
            "instruction_options": ["brown"],
        },
        {
            "instruction": "nothing in mind",
            "instruction_attributes": [],
            "instruction_options": [],
        },
    ]
}
NOUNS = {
    "B000000001": ["cotton", "shirt", "men"],
    "B000000002": ["oak", "table"],
    "A000000003": ["mystery", "box"],
}


def write(folder: Path, **more) -> dict[str, str]:
    """Write the shop's files and return the keywords that name them.

    A keyword replaces the content of a file.
    """
    contents = {
        "products": ITEMS,
        "attributes": ATTRIBUTES,
        "human_instructions": HUMAN,
        "title_nouns": NOUNS,
        **more,
    }
    paths = {}
    for name, content in contents.items():
        path = folder / f"{name}.json"
        path.write_text(json.dumps(content), encoding="utf-8")
        paths[name] = str(path)
    return paths


def original(shared: Path, human: bool = False) -> dict[str, object]:
    """Return the keywords for the files of WebShop's small split."""
    data, golden = shared / "data" / "webshop", shared / "golden"
    nouns = golden / "webshop_title_nouns_en_core_web_sm_3.8.0.json.gz"
    return {
        "products": str(data / "items_shuffle_1000.json.gz"),
        "attributes": str(data / "items_ins_v2_1000.json.gz"),
        "human_instructions": str(data / "items_human_ins_subset13.json"),
        "title_nouns": str(nouns),
        "human_goals": human,
    }


def shirt_goal(env):
    """Return the number of the goal of a large, navy blue shirt."""
    goals = enumerate(env.catalogue.goals)
    return next(
        number
        for number, goal in goals
        if goal.goal_options == {"size": "x | large", "color": "navy blue"}
    )


def play(env, *texts):
    """Take valid actions; return the last result."""
    for text in texts:
        result = env.step(text)
        assert result[4]["action_is_valid"], text
    return result
