"""Descriptions of ids: keywords, rewards, infos and spaces are those of the game."""

import json
from types import SimpleNamespace

import gymnasium
import numpy as np
import pytest

import roll_vec
from roll_vec.descriptions import describe_env
from roll_vec.descriptions.keywords import describe_batch_keywords, describe_keywords
from roll_vec.docstrings import select_paragraphs
from roll_vec.registration import ENVIRONMENTS
from tests.contract.cases import IDS
from tests.contract.rules import Walk

SOKOBAN = "roll_vec/Sokoban-v0"
ROOM = "#####\n#@$.#\n#####"
# A batch of each family with all infos, and the actions that end its episodes.
LEVEL = {"seed_info": True, "level_info": True}
EXACT = {"advantage_info": True}
ORACLE = {"oracle_return_info": True, **EXACT}
GRID = {"action_mask": True, **EXACT}
LAKES = {"is_slippery": False, **GRID}
CASES = {
    SOKOBAN: ({"levels": [ROOM], "deadlock": True, **GRID, **LEVEL}, ["right"]),
    "roll_vec/FrozenLake-v1": ({"desc": ["SG", "FF"], **LAKES}, ["right"]),
    "roll_vec/RandomFrozenLake-v0": (
        {"levels": [["SG", "FF"]], **LAKES, **LEVEL},
        ["right"],
    ),
    "roll_vec/Blackjack-v1": (EXACT, ["stick"]),
    "roll_vec/CartPole-v1": ({}, ["left"] * 11),
    "roll_vec/Game2048-v0": (
        {"seed_info": True, "level_info": True, "action_mask": True},
        ["none"],
    ),
    "roll_vec/Countdown-v0": ({"difficulty_info": True, **ORACLE, **LEVEL}, ["1 + 1"]),
    "roll_vec/WebShop-v0": (
        {"show_attrs": True, **ORACLE, **LEVEL},
        ["search[<r>]", None, "click[buy now]"],
    ),
}


def info_types(infos):
    """Return the type of each info, in the words of a description."""
    types = {}
    for key, value in infos.items():
        if key.startswith("_"):
            continue
        if isinstance(value, dict):
            types[key] = "dict"
        elif value.dtype == object:
            types[key] = type(value[0]).__name__
        else:
            shape = f"{value.shape[1:]} " if value.shape[1:] else ""
            types[key] = f"{shape}{value.dtype}"
    return types


def infos_of(id, call):
    """Return the described infos of a call, and their types."""
    infos = describe_env(id).infos
    return {one.key: one.dtype for one in infos if call in one.calls.split(", ")}


@pytest.mark.parametrize("id", CASES)
def test_infos_are_those_of_a_batch(id):
    keywords, actions = CASES[id]
    if "action_mode" in ENVIRONMENTS[id].defaults():
        keywords = {**keywords, "action_mode": "text"}
    envs = roll_vec.make_vec(id, 1, autoreset_mode="Disabled", **keywords)
    _, infos = envs.reset(seed=0)
    assert info_types(infos) == infos_of(id, "reset")
    types = {"step": {}, "end": {}}
    for action in actions:
        if action is None:
            # The product that the first page of results shows.
            buttons = infos["available_actions"]["clickables"][0]
            action = f"click[{buttons[-1]}]"
        _, _, terminations, _, infos = envs.step([action])
        types["end" if terminations[0] else "step"] |= info_types(infos)
    assert types["end"]
    ends = infos_of(id, "step") | infos_of(id, "end")
    assert types["end"].items() <= ends.items()
    # An answer without a value.
    assert ends.keys() - types["end"].keys() <= {"value"}


def test_rewards_are_those_of_steps():
    rewards = {one.rule: float(one.value) for one in describe_env(SOKOBAN).rewards}
    rules = "Each step.", "A box is pushed onto a target.", "All boxes are on targets."
    env = gymnasium.make(SOKOBAN, levels=[ROOM])
    env.reset(seed=0)
    assert env.step(4)[1] == sum(rewards[rule] for rule in rules)


@pytest.mark.parametrize("id", [*IDS, "CartPole-v1"])
def test_every_id_is_described_as_json(id):
    content = json.loads(json.dumps(describe_env(id).as_dict()))
    assert content["id"] == id
    assert content["observations"]
    assert content["action_space"]
    is_ours = id in ENVIRONMENTS
    for name in ("rewards", "sources", "batch", "page"):
        assert bool(content[name]) is is_ours
    # A game of a family may have one sentence alone.
    assert content["docstring"] or ENVIRONMENTS[id].family
    if is_ours:
        actions = gymnasium.make(id).action_space
        assert all(np.int64(code) in actions for code in describe_env(id).actions)


@pytest.mark.usefixtures("forgets_ids")
def test_sections_of_a_users_docstring_are_read():
    roll_vec.register("tests/Walk-v0", Walk)
    walk = describe_env("tests/Walk-v0")
    assert walk.summary
    assert walk.summary not in walk.docstring
    assert walk.rewards == (("1", "The goal."),)
    assert walk.terminated == ("The player is on the goal.",)
    assert walk.differences == ("Walls are new, and they stay.", "No diagonal moves.")
    assert [one.meaning for one in walk.cells] == [cell.meaning for cell in Walk.cells]
    infos = {one.key: one.dtype for one in walk.infos}
    assert infos["success"] == "bool"
    assert infos["level"] == "int64"
    assert "action_mask" not in infos  # there is no rule `legal`


@pytest.mark.parametrize("id", ENVIRONMENTS)
def test_every_keyword_is_described_in_one_line(id):
    keywords = describe_keywords(gymnasium.spec(id))
    of_batches = describe_batch_keywords(ENVIRONMENTS[id].pooled)
    unused = getattr(ENVIRONMENTS[id].load()(), "unused_keywords", {})
    assert {one.name: one.default for one in keywords} == {
        name: repr(value)
        for name, value in ENVIRONMENTS[id].defaults().items()
        if name not in unused
    }
    for one in [*keywords, *of_batches]:
        assert one.type, one.name
        assert one.summary.endswith("."), one.name
        assert one.description.startswith(one.summary)
        assert not one.summary.startswith("See "), one.name
    assert all(10 < len(one.summary) < 100 for one in keywords)
    defaults = {one.name: one.default for one in of_batches}
    assert defaults["autoreset_mode"] == "'NextStep'"
    assert ("workers" in defaults) is ENVIRONMENTS[id].pooled
    assert ("num_threads" in defaults) is not ENVIRONMENTS[id].pooled
    if id == SOKOBAN:
        # A game's own keywords come before those of all games.
        names = [one.name for one in keywords]
        assert names[:4] == ["dim_room", "dim_x", "dim_y", "num_boxes"]
        assert names.index("num_boxes") < names.index("obs_mode") < names.index("match")


class Hill(roll_vec.BaseDiscreteActionEnv):
    """A hill of the tests.

    Parameters
    ----------
    height, width : int
        Metres of the hill.  More take longer.
    colour
        Of the grass.

    Notes
    -----
    slope : float
        Not a keyword.
    """

    ACTION_LOOKUP = {0: "Down", 1: "Up"}  # noqa: RUF012

    def __init__(self, height, width=3, colour="green", slope: float | None = None):
        self.height = height


INSTRUCTIONS = """Go.

If ``steep``: Slowly.

If ``depth`` is
``3``: Deep.

If ``steep`` is ``False``:
Flat."""


@pytest.mark.parametrize(
    ("steep", "text"), [(True, "Go. Slowly. Deep."), (False, "Go. Deep. Flat.")]
)
def test_paragraphs_of_instructions_have_conditions(steep, text):
    owner = SimpleNamespace(steep=steep, depth=3)
    assert select_paragraphs(INSTRUCTIONS, owner) == text
