"""One environment: pages, rewards, infos, frames; goals of resets; threads."""

import pickle
import random
import sys

import gymnasium
import numpy as np
import pytest

from roll_vec.envs.webshop import Catalogue, WebShop, actions
from roll_vec.envs.webshop.state import State
from roll_vec.errors import InvalidOptionError, ResetNeededError
from roll_vec.spaces import UnicodeText
from tests.contract import cases
from tests.contract.cases import assert_same
from tests.envs.webshop.shops import ITEMS, play, write

SHIRT, TABLE = "b000000001", "b000000002"


def test_from_the_front_page_to_the_order(shop):
    env = shop()
    goal = env.catalogue.goals[env.state.goal]
    instruction = goal.instruction_text
    observation, info = env.reset(seed=0, options={"session": env.state.goal})
    assert observation == f"WebShop [SEP] Instruction: [SEP] {instruction} [SEP] Search"
    assert info == {
        "goal": env.state.goal,
        "available_actions": {"has_search_bar": True, "clickables": ["search"]},
        "title_nouns": env.catalogue.title_nouns_source,
    }
    observation, reward, terminated, truncated, info = env.step("search[Red SHIRT]")
    head = f"Instruction: [SEP] {instruction} [SEP] Back to Search"
    assert observation == (
        f"{head} [SEP] Page 1 (Total results: 1) [SEP] Next > [SEP] B000000001 [SEP] "
        "Red Cotton Shirt for Men [SEP] $25.5"
    )
    assert (reward, terminated, truncated) == (0.0, False, False)
    assert info == {
        "action_is_valid": True,
        "action_is_effective": True,
        "success": False,
        "available_actions": {
            "has_search_bar": False,
            "clickables": ["back to search", "next >", SHIRT],
        },
    }
    play(env, f"click[{SHIRT}]", "click[small]", "click[Navy Blue]")
    observation, reward, *_ = play(env, "click[x | large]")
    assert "[SEP] size [SEP] small [SEP] x | large [SEP] color [SEP] red" in observation
    result = play(env, "click[features]", "click[< prev]", "click[buy now]")
    observation, reward, terminated, truncated, info = result
    assert observation.startswith("Thank you for shopping with us!")
    assert (reward, terminated, truncated) == (1.0, True, False)
    terms = info.pop("reward_terms")
    assert terms["reward"] == 1.0
    assert terms["title_nouns"] == env.catalogue.title_nouns_source
    assert info == {
        "action_is_valid": True,
        "action_is_effective": True,
        "success": True,
        "available_actions": {"has_search_bar": False, "clickables": []},
        "purchased": {
            "asin": "B000000001",
            "options": [("size", "x | large"), ("color", "navy blue")],
            "price": 25.5,
        },
    }
    with pytest.raises(ResetNeededError, match="must be reset"):
        env.step("search[shirt]")
    with pytest.raises(gymnasium.error.ResetNeeded):
        env.step("click[back to search]")


INVALID = [
    "",
    "buy",
    "search[]",
    "search",
    "Search[shirt]",
    "click[search]",
    "click[ buy now]",
    "click[buy now ]",
    "click[attributes]",
    "click[b000000009]",
    "CLICK[buy now]",
    f"search[{'x' * (actions.MAX_QUERY + 1)}]",
    "search[a\nb]",
    "[" * (1 << 20),
    "click[" + "b" * (1 << 20) + "]",
    "\x00\x1b[2J\ud800",
]


def test_invalid_actions_leave_every_page_unchanged(shop):
    env = shop(observation_mode="text_rich")
    for texts in (
        (),
        ("search[shirt]",),
        (f"click[{SHIRT}]", "click[small]"),
        ("click[reviews]",),
    ):
        observation_before = play(env, *texts)[0] if texts else None
        for text in INVALID:
            before = env.get_state()
            observation, reward, terminated, truncated, info = env.step(text)
            assert (reward, terminated, truncated) == (0.0, False, False)
            assert observation_before is None or observation == observation_before
            observation_before = observation
            assert not info["action_is_valid"]
            assert not info["action_is_effective"]
            before["num_env_steps"] += 1
            assert env.get_state() == before


def test_any_search_works_on_every_page(shop):
    env = shop()
    item = "search[shirt]", f"click[{SHIRT}]"
    for texts in ((), item, (*item, "click[small]"), (*item, "click[reviews]")):
        play(env, *texts, "search[shirt]")
        assert (env.state.page, env.state.options) == ("results", {})
    for query in (*'\0é<"\ud800', "<r>", "<c>", "<q>", "<a>", "x" * 10_000):
        assert "[SEP] Page 1 (Total results: " in play(env, f"search[{query}]")[0]


def test_methods_of_roll_and_infos_are_no_handle_on_the_page(shop, files):
    new = WebShop(**files)
    for method in (new.get_available_actions, new.get_instruction_text):
        with pytest.raises(ResetNeededError, match="reset"):
            method()
    assert new.state is new.instruction_text is new.oracle_note is None
    env = shop(show_attrs=True)
    text = env.catalogue.goals[env.state.goal].instruction_text
    assert env.get_available_actions() == ["search[<content>]"]
    assert env.get_instruction_text() == env.instruction_text == f"Instruction: {text}"
    info = play(env, "search[shirt]")[4]
    actions = ["click[back to search]", "click[next >]", f"click[{SHIRT}]"]
    assert env.get_available_actions() == actions
    info["available_actions"]["clickables"].clear()
    assert env.get_available_actions() == actions
    assert env.get_instruction_text() == f"Instruction:{text}"
    assert env.instruction_text == f"Instruction: {text}"
    page = play(env, f"click[{SHIRT}]", "click[attributes]")[0]
    assert "machine wash [SEP] long sleeve [SEP] fashion" in page
    play(env, "click[< prev]", "click[buy now]")
    assert env.get_available_actions() == []


def test_effective_actions_change_the_observation(shop):
    env = shop()

    def effective(text):
        info = env.step(text)[4]
        assert info["action_is_valid"]
        return info["action_is_effective"]

    assert effective("search[shirt]")
    assert not effective("search[shirt]")
    # Another query, the same page.
    assert not effective("search[cotton shirt]")
    assert effective("search[box]")
    assert effective("search[shirt]")
    assert effective("click[next >]")
    assert effective("click[< prev]")
    assert effective(f"click[{SHIRT}]")
    # Mode text does not show chosen options.
    assert not effective("click[small]")
    assert env.state.options == {"size": "small"}
    assert effective("click[description]")
    assert effective("click[< prev]")
    env = shop(observation_mode="text_rich")
    play(env, "search[shirt]", f"click[{SHIRT}]")
    assert effective("click[small]")
    assert not effective("click[small]")
    assert effective("click[x | large]")


def test_observations_in_rolls_format(shop):
    env = shop(observation_format="roll")
    instruction = env.catalogue.goals[env.state.goal].instruction_text
    observation, _ = env.reset(seed=0, options={"session": env.state.goal})
    assert observation == (
        f"Instruction: {instruction}\nAvailable actions: search[<content>]"
    )
    assert env.step("?")[0] == (
        f"WebShop [SEP] Instruction: [SEP] {instruction} [SEP] Search\n"
        "Available actions: search[<content>]"
    )
    observation = play(env, "search[shirt]")[0]
    assert observation.endswith(
        "$25.5\nAvailable actions: click[back to search], click[next >], "
        "click[b000000001]"
    )
    observation = play(env, f"click[{SHIRT}]", "click[buy now]")[0]
    assert observation.endswith("Details [SEP] None\nAvailable actions: ")


def test_a_reset_can_replace_the_instruction_text(shop):
    env = shop()
    page, _ = env.reset(options={"session": 0})
    page_again, _ = env.reset(options={"session": 0, "instruction_text": "Buy!"})
    assert page_again == page
    assert env.instruction_text == "Buy!"
    assert env.get_instruction_text().startswith("Instruction: Find me")
    env.reset()
    assert env.instruction_text.startswith("Instruction: Find me")


def test_rendered_frames(shop):
    env = shop(render_mode="text")
    assert play(env, "search[shirt]")[0] == env.render()
    assert play(env, f"click[{SHIRT}]")[0] == env.render()
    assert shop().render() is None
    env = shop(render_mode="ansi")
    for text in ("search[shirt]", f"click[{SHIRT}]", "click[reviews]"):
        play(env, text)
        assert "[back to search]" in env.render()
    assert "Your score" not in env.render()
    play(env, "click[< prev]", "click[buy now]")
    assert "Your score: " in env.render()


def test_instructions(shop):
    instructions = shop().get_instructions()
    assert "search[" in instructions
    assert "click[buy now]" in instructions
    assert shop(env_instruction="Go.").get_instructions() == "Go."
    assert shop(env_instruction="").get_instructions() == ""


def test_spaces(shop):
    env = shop()
    assert isinstance(env.observation_space, UnicodeText)
    env.action_space.seed(0)
    samples = {env.action_space.sample() for _ in range(300)}
    assert samples > set(actions.EXAMPLES)
    assert f"click[{ITEMS[0]['asin'].lower()}]" in samples


@pytest.mark.parametrize("mode", ["text", "text_rich"])
@pytest.mark.parametrize("values", [[f"{i}v" for i in range(150)], ["<é" * 900]])
def test_no_observation_is_longer_than_the_space_allows(tmp_path, mode, values):
    # The goal is a person's, who names none of the many or long options.
    options = {f"{number}": [{"value": value}] for number, value in enumerate(values)}
    table = {**ITEMS[1], "customization_options": options}
    files = write(tmp_path, products=[ITEMS[0], table])
    more = {"observation_mode": mode, "observation_format": "roll"}
    env = WebShop(**files, human_goals=True, show_attrs=True, **more)
    clicks = [f"click[{value}]" for value in values]
    actions = ["search[oak]", f"click[{TABLE}]", *clicks, "click[buy now]"]
    observations = [
        env.reset(seed=0)[0],
        *(env.step(text)[0] for text in actions),
    ]
    assert env.state.page == "done"
    assert all(observation in env.observation_space for observation in observations)
    assert env.observation_space.max_length < 20 * max(map(len, observations))


def test_goals_of_seeds_sessions_and_names(shop):
    env = shop()
    count = len(env.catalogue.goals)
    assert count == 5
    for seed in (0, 1, 7, 12345):
        expected = random.Random(seed).randint(0, count - 1)
        assert env.reset(seed=seed)[1]["goal"] == expected
        assert env.state == State(expected)
    for position in (0, 4, np.int64(3)):
        assert env.reset(options={"session": position})[1]["goal"] == position
    names = [f"shopper {n}" for n in range(40)]
    goals = [env.reset(options={"session": name})[1]["goal"] for name in names]
    again = [env.reset(options={"session": name})[1]["goal"] for name in names]
    assert goals == again
    # Pinned: other draws would be a new version of the id.
    assert goals[:6] == [2, 3, 4, 2, 4, 2]
    # The first goal is never drawn by weight.
    assert set(goals) == {1, 2, 3, 4}
    env.reset(options={"session": "\ud800"})
    env.reset(options={"session": None, "reset_mask": [True], "other": 3})


def test_goals_of_levels(shop):
    env = shop(num_levels=3, start_level=100)
    goals = [env.reset(seed=seed)[1]["goal"] for seed in range(9)]
    expected = [random.Random(100 + seed % 3).randint(0, 4) for seed in range(9)]
    assert goals == expected
    assert env.level_seed == 8
    env.reset(seed=1)
    page = env.step("search[<r>]")[0]
    env.reset(seed=4)
    assert env.step("search[<r>]")[0] == page


def test_goals_that_are_selected(files):
    env = WebShop(**files, filter_goals=lambda i, goal: goal.asin == "B000000001")
    assert {env.reset(seed=seed)[1]["goal"] for seed in range(40)} == {
        number
        for number, goal in enumerate(env.catalogue.goals)
        if goal.asin == "B000000001"
    }
    with pytest.raises(InvalidOptionError, match=r"session: expected .* 0 to 3"):
        env.reset(options={"session": 4})
    assert (
        WebShop(**files, limit_goals=2)._goals is WebShop(**files, limit_goals=2)._goals
    )
    with pytest.raises(InvalidOptionError, match="filter_goals: none"):
        WebShop(**files, filter_goals=lambda i, goal: False)
    with pytest.raises(InvalidOptionError, match="split"):
        WebShop(**files, split="train")


@pytest.mark.parametrize(
    "options",
    [
        {"session": -1},
        {"session": 5},
        {"session": 1.0},
        {"session": True},
        {"session": [1]},
        {"session": b"name"},
        {"instruction_text": 3},
        {"session": 1, "instruction_text": b"x"},
    ],
    ids=str,
)
def test_bad_reset_options_change_nothing(shop, options):
    env = shop()
    play(env, "search[shirt]", "click[b000000001]", "click[small]")
    before = env.get_state()
    with pytest.raises(InvalidOptionError, match=r"^(session|instruction_text): exp"):
        env.reset(seed=3, options=options)
    assert env.get_state() == before
    assert play(env, "click[buy now]")[2]


def results(**more):
    """Return the results of random actions in a batch, some of which end episodes."""
    more |= {"autoreset_mode": "SameStep", "max_episode_steps": 60}
    env = cases.make_batch("roll_vec/WebShop-v0", **more)
    try:
        actions = cases.draw_actions(env, 200)
        return [env.reset(seed=0), *cases.play(env, actions)]
    finally:
        env.close()


def test_threads_give_the_same_trajectories():
    expected = results()
    assert sum(rewards.sum() for _, rewards, *_ in expected[1:]) > 0
    assert_same(results(workers=3), expected)


@pytest.mark.slow
def test_processes_that_map_a_stored_catalogue_give_the_same_trajectories(tmp_path):
    Catalogue.load(num_products=3, human_goals=True).save(tmp_path / "shop")
    more = {"products": str(tmp_path / "shop"), "num_products": None}
    processes = {"workers": 2, "executor": "process", "context": "spawn"}
    assert_same(results(**more, memory_map=True, **processes), results())


def test_an_environment_has_few_small_fields():
    def size_of(value):
        """Return the bytes of a value and everything in it."""
        if isinstance(value, dict):
            return sys.getsizeof(value) + sum(map(size_of, value.values()))
        if isinstance(value, (list, tuple)):
            return sys.getsizeof(value) + sum(map(size_of, value))
        return sys.getsizeof(value)

    env, other = WebShop(), WebShop()
    assert env.catalogue is other.catalogue
    assert env._goals is other._goals
    env.reset(seed=0)
    for _ in range(3):
        env.step(env.oracle_action)
    fields = {
        name: value
        for name, value in vars(env).items()
        # Without the fields that all environments share, and Gymnasium's spaces.
        if name not in ("catalogue", "options", "_goals")
        and not name.endswith("_space")
    }
    assert size_of(fields) < 4096
    pickled = pickle.dumps(env)
    assert len(pickled) < 4096
    # The goals are found again: there may be thousands.
    assert b"GoalSelection" not in pickled
