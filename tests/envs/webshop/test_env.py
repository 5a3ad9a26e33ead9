"""One environment: golden episodes, actions, infos, frames, goals, threads."""

import gzip
import json
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
from tests.envs.webshop.shops import ITEMS, original, play, write

SHIRT, TABLE = "b000000001", "b000000002"
ITEM = "search[shirt]", f"click[{SHIRT}]"


def golden_episodes(shared, kind):
    """Return the episodes that the original played with a kind of goals."""
    path = shared / "golden" / f"webshop_trajectories_{kind}_seed0.jsonl.gz"
    with gzip.open(path, "rt", encoding="utf-8") as file:
        return [json.loads(line) for line in file]


@pytest.mark.parametrize("mode", ["text", "text_rich"])
@pytest.mark.parametrize(("kind", "count"), [("synthetic", 125), ("human", 13)])
def test_golden_episodes(shared, kind, count, mode):
    env = WebShop(**original(shared, kind == "human"), observation_mode=mode)
    key = {"text": "obs", "text_rich": "obs_rich"}[mode]
    num_episodes = num_purchases = 0
    for episode in golden_episodes(shared, kind):
        observation, info = env.reset(options={"session": episode["goal_index"]})
        assert observation == episode[f"reset_{key}"]
        assert info["available_actions"] == episode["reset_actions"]
        assert env.get_instruction_text() == episode["instruction"]
        assert env.instruction_text == episode["instruction"]
        for step in episode["steps"]:
            observation, reward, terminated, truncated, info = env.step(step["action"])
            assert observation == step[key]
            assert (reward, terminated) == (step["reward"], step["done"])
            assert not truncated
            assert info["available_actions"] == step["actions"]
            if "info" in step:
                terms = info["reward_terms"]
                assert terms.pop("title_nouns") == env.catalogue.title_nouns_source
                assert {**step["info"], "reward": step["reward"]} == terms
                assert info["success"] == (reward == 1.0)
                num_purchases += 1
        num_episodes += 1
    assert num_episodes == count
    assert num_purchases > count // 2


def test_infos_from_the_front_page_to_the_order(shop):
    env = shop()
    source = env.catalogue.title_nouns_source
    instruction = env.catalogue.goals[env.state.goal].instruction_text
    observation, info = env.reset(seed=0, options={"session": env.state.goal})
    assert observation == f"WebShop [SEP] Instruction: [SEP] {instruction} [SEP] Search"
    assert info == {
        "goal": env.state.goal,
        "available_actions": {"has_search_bar": True, "clickables": ["search"]},
        "title_nouns": source,
    }
    _, *results, info = env.step("search[Red SHIRT]")
    assert results == [0.0, False, False]
    clickables = ["back to search", "next >", SHIRT]
    every_step = {"action_is_valid": True, "action_is_effective": True}
    assert info == {
        **every_step,
        "success": False,
        "available_actions": {"has_search_bar": False, "clickables": clickables},
    }
    play(env, f"click[{SHIRT}]", "click[small]", "click[Navy Blue]")
    play(env, "click[x | large]", "click[features]", "click[< prev]")
    observation, *results, info = play(env, "click[buy now]")
    assert observation.startswith("Thank you for shopping with us!")
    assert results == [1.0, True, False]
    terms = info.pop("reward_terms")
    assert (terms["reward"], terms["title_nouns"]) == (1.0, source)
    assert info == {
        **every_step,
        "success": True,
        "available_actions": {"has_search_bar": False, "clickables": []},
        "purchased": {
            "asin": "B000000001",
            "options": [("size", "x | large"), ("color", "navy blue")],
            "price": 25.5,
        },
    }
    assert env.get_available_actions() == []
    for error, action in (
        (ResetNeededError, "search[shirt]"),
        (gymnasium.error.ResetNeeded, "click[back to search]"),
    ):
        with pytest.raises(error, match="must be reset"):
            env.step(action)


INVALID = [
    *("", "buy", "search[]", "search", "Search[shirt]", "click[search]"),
    *("click[ buy now]", "click[buy now ]", "click[attributes]", "CLICK[buy now]"),
    *("click[b000000009]", "search[a\nb]", "\x00\x1b[2J\ud800", "[" * (1 << 20)),
    f"search[{'x' * (actions.MAX_QUERY + 1)}]",
    "click[" + "b" * (1 << 20) + "]",
]


def test_invalid_actions_leave_every_page_unchanged(shop):
    env = shop(observation_mode="text_rich")
    for texts in ((), ITEM[:1], (ITEM[1], "click[small]"), ("click[reviews]",)):
        observation_before = play(env, *texts)[0] if texts else None
        for text in INVALID:
            before = env.get_state()
            observation, *results, info = env.step(text)
            assert results == [0.0, False, False]
            assert observation_before in (None, observation)
            observation_before = observation
            assert not info["action_is_valid"]
            assert not info["action_is_effective"]
            before["num_env_steps"] += 1
            assert env.get_state() == before


def test_any_search_works_on_every_page(shop):
    env = shop()
    for texts in ((), ITEM, (*ITEM, "click[small]"), (*ITEM, "click[reviews]")):
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


def test_effective_actions_change_the_observation(shop):
    env, rich = shop(), shop(observation_mode="text_rich")
    play(rich, *ITEM)
    for one, action, is_effective in (
        (env, "search[shirt]", True),
        (env, "search[shirt]", False),
        # Another query, the same page.
        (env, "search[cotton shirt]", False),
        (env, "search[box]", True),
        (env, "search[shirt]", True),
        (env, "click[next >]", True),
        (env, "click[< prev]", True),
        (env, f"click[{SHIRT}]", True),
        # Mode text does not show chosen options.
        (env, "click[small]", False),
        (env, "click[description]", True),
        (env, "click[< prev]", True),
        (rich, "click[small]", True),
        (rich, "click[small]", False),
        (rich, "click[x | large]", True),
    ):
        assert play(one, action)[4]["action_is_effective"] == is_effective
    assert env.state.options == {"size": "small"}


def test_observations_in_rolls_format(shop):
    env, pages = shop(observation_format="roll"), shop()
    session = {"session": env.state.goal}
    (page, _), (observation, _) = (
        each.reset(seed=0, options=session) for each in (pages, env)
    )
    head = env.get_instruction_text()
    assert observation == f"{head}\nAvailable actions: search[<content>]"
    for action in ("?", *ITEM, "click[buy now]"):
        page, observation = (each.step(action)[0] for each in (pages, env))
        names = ", ".join(env.get_available_actions())
        assert observation == f"{page}\nAvailable actions: {names}"


def test_a_reset_can_replace_the_instruction_text(shop):
    env = shop()
    page, _ = env.reset(options={"session": 0})
    page_again, _ = env.reset(options={"session": 0, "instruction_text": "Buy!"})
    assert page_again == page
    assert env.instruction_text == "Buy!"
    assert env.get_instruction_text().startswith("Instruction: Find me")
    env.reset()
    assert env.instruction_text.startswith("Instruction: Find me")


def test_frames_instructions_and_spaces(shop):
    env, at_terminal = shop(render_mode="text"), shop(render_mode="ansi")
    for action in (*ITEM, "click[reviews]", "click[< prev]"):
        assert play(env, action)[0] == env.render()
        play(at_terminal, action)
        assert "[back to search]" in at_terminal.render()
    assert "Your score" not in at_terminal.render()
    play(at_terminal, "click[buy now]")
    assert "Your score: " in at_terminal.render()
    assert shop().render() is None
    for words in ("search[", "click[buy now]"):
        assert words in env.get_instructions()
    for given in ("Go.", ""):
        assert shop(env_instruction=given).get_instructions() == given
    assert isinstance(env.observation_space, UnicodeText)
    env.action_space.seed(0)
    samples = {env.action_space.sample() for _ in range(300)}
    assert samples > {*actions.EXAMPLES, f"click[{SHIRT}]"}


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
    texts = ["search[oak]", f"click[{TABLE}]", *clicks, "click[buy now]"]
    observations = [env.reset(seed=0)[0], *(env.step(text)[0] for text in texts)]
    assert env.state.page == "done"
    assert all(observation in env.observation_space for observation in observations)
    assert env.observation_space.max_length < 20 * max(map(len, observations))


# ------------------------------------------------------------------ goals of resets


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
    assert [env.reset(options={"session": name})[1]["goal"] for name in names] == goals
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
    limited = [WebShop(**files, limit_goals=2)._goals for _ in range(2)]
    assert limited[0] is limited[1]
    with pytest.raises(InvalidOptionError, match="filter_goals: none"):
        WebShop(**files, filter_goals=lambda i, goal: False)
    with pytest.raises(InvalidOptionError, match="split"):
        WebShop(**files, split="train")


def test_bad_reset_options_change_nothing(shop):
    env = shop()
    play(env, *ITEM, "click[small]")
    before = env.get_state()
    bad = [{"session": value} for value in (-1, 5, 1.0, True, [1], b"name")]
    bad += [{"instruction_text": 3}, {"session": 1, "instruction_text": b"x"}]
    for options in bad:
        match = rf"^{list(options)[-1]}: exp"
        with pytest.raises(InvalidOptionError, match=match):
            env.reset(seed=3, options=options)
        assert env.get_state() == before
    assert play(env, "click[buy now]")[2]


# ------------------------------------------------------------------ threads and size


def results(**more):
    """Return the results of random actions in a batch, some of which end episodes."""
    more |= {"autoreset_mode": "SameStep", "max_episode_steps": 60}
    env = cases.make_batch("roll_vec/WebShop-v0", **more)
    try:
        return [env.reset(seed=0), *cases.play(env, cases.draw_actions(env, 200))]
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


def size_of(value):
    """Return the bytes of a value and everything in it."""
    parts = value if isinstance(value, (list, tuple)) else ()
    if isinstance(value, dict):
        parts = value.values()
    return sys.getsizeof(value) + sum(map(size_of, parts))


def test_an_environment_has_few_small_fields():
    env, other = (WebShop(num_products=60) for _ in range(2))
    assert env.catalogue is other.catalogue
    assert env._goals is other._goals
    env.reset(seed=0)
    for _ in range(3):
        env.step(env.oracle_action)
    # Without the fields that all environments share, and Gymnasium's spaces.
    shared = {"catalogue", "options", "_goals", "observation_space", "action_space"}
    fields = {name: vars(env)[name] for name in vars(env).keys() - shared}
    assert size_of(fields) < 4096
    pickled = pickle.dumps(env)
    assert len(pickled) < 4096
    # The goals are found again: there may be thousands.
    assert b"GoalSelection" not in pickled
