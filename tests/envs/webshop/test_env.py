"""One environment: pages, rewards, infos, ROLL's methods and frames, step by step."""

from concurrent.futures import ThreadPoolExecutor

import gymnasium
import pytest

from roll_vec.envs.webshop import actions
from roll_vec.envs.webshop.env import WebShop
from roll_vec.errors import ResetNeededError
from roll_vec.spaces import UnicodeText
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


def test_a_worse_order(shop):
    env = shop()
    play(env, "search[shirt]", f"click[{SHIRT}]")
    _, reward, terminated, _, info = play(env, "click[buy now]")
    assert 0 < reward < 1
    assert terminated
    assert not info["success"]
    assert info["purchased"]["options"] == []
    terms = env.catalogue.reward(env.state.goal, ("B000000001", {}))
    term_values = {k: v for k, v in terms._asdict().items() if v is not None}
    source = env.catalogue.title_nouns_source
    assert info["reward_terms"] == {**term_values, "title_nouns": source}
    assert reward == terms.reward == env.state.reward


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


@pytest.mark.parametrize(
    "query", ["\ud800", "\x00", "<r>", "<c>", "<q>", "<a>", "<", '"', "x" * 10_000, "é"]
)
def test_any_search_is_a_page(shop, query):
    env = shop()
    observation, *_, info = env.step(f"search[{query}]")
    assert info["action_is_valid"]
    assert "[SEP] Page 1 (Total results: " in observation


def test_searches_work_on_every_page(shop):
    env = shop()
    item = "search[shirt]", f"click[{SHIRT}]"
    for texts in ((), item, (*item, "click[small]"), (*item, "click[reviews]")):
        play(env, *texts, "search[shirt]")
        assert env.state.page == "results"
        assert env.state.options == {}


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


def test_rich_pages_mark_opened_products(shop):
    env = shop(observation_mode="text_rich")
    play(env, "search[shirt]", f"click[{SHIRT}]")
    observation = play(env, "click[< prev]")[0]
    assert "\n\n[clicked button] B000000001 [clicked button_]\n" in observation
    observation = play(env, "click[back to search]", "search[shirt]")[0]
    assert "\n\n[button] B000000001 [button_]\n" in observation
    env = shop()
    play(env, "search[shirt]", f"click[{SHIRT}]")
    assert env.state.opened_asins == frozenset()


def test_attributes_are_shown_on_request(shop):
    env = shop(show_attrs=True)
    play(env, "search[shirt]", f"click[{SHIRT}]")
    assert (
        "machine wash [SEP] long sleeve [SEP] fashion"
        in play(env, "click[attributes]")[0]
    )


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


def test_rolls_methods(shop):
    env = shop()
    instruction = env.catalogue.goals[env.state.goal].instruction_text
    assert env.get_available_actions() == ["search[<content>]"]
    assert env.get_instruction_text() == f"Instruction: {instruction}"
    assert env.instruction_text == f"Instruction: {instruction}"
    play(env, "search[shirt]")
    assert env.get_available_actions() == [
        "click[back to search]",
        "click[next >]",
        "click[b000000001]",
    ]
    assert env.get_instruction_text() == f"Instruction:{instruction}"
    assert env.instruction_text == f"Instruction: {instruction}"
    play(env, f"click[{SHIRT}]", "click[buy now]")
    assert env.get_available_actions() == []


def test_a_reset_can_replace_the_instruction_text(shop):
    env = shop()
    page, _ = env.reset(options={"session": 0})
    page_again, _ = env.reset(options={"session": 0, "instruction_text": "Buy!"})
    assert page_again == page
    assert env.instruction_text == "Buy!"
    assert env.get_instruction_text().startswith("Instruction: Find me")
    env.reset()
    assert env.instruction_text.startswith("Instruction: Find me")


def test_methods_before_a_reset_raise(files):
    env = WebShop(**files, render_mode="text")
    for call in (
        lambda: env.step("search[x]"),
        env.render,
        env.get_available_actions,
        env.get_instruction_text,
    ):
        with pytest.raises(ResetNeededError, match="reset"):
            call()
    assert env.state is env.instruction_text is env.oracle_action is None
    assert env.oracle_note is None


def test_two_environments_of_one_goal_are_apart(shop):
    first, second = shop(observation_mode="text_rich"), shop()
    assert first.catalogue is second.catalogue
    play(first, "search[shirt]", f"click[{SHIRT}]", "click[small]")
    observation = play(second, "search[table]")[0]
    assert "Oak Table" in observation
    play(first, "click[< prev]")
    assert play(second, f"click[{TABLE}]", "click[buy now]")[2]
    assert play(first, f"click[{SHIRT}]", "click[red]", "click[buy now]")[4][
        "purchased"
    ]["options"] == [("color", "red")]


def test_threads_agree(shop):
    def play_some(seed):
        env = shop(observation_mode="text_rich")
        env.action_space.seed(seed)
        results = []
        for _ in range(60):
            results.append(env.step(env.action_space.sample()))
            if results[-1][2]:
                results.append(env.reset())
        return results

    seeds = [0, 1, 2, 3] * 4
    expected = [play_some(seed) for seed in seeds[:4]] * 4
    with ThreadPoolExecutor(8) as pool:
        assert list(pool.map(play_some, seeds)) == expected


def test_callers_may_change_infos(shop):
    env = shop()
    info = play(env, "search[shirt]")[4]
    info["available_actions"]["clickables"].clear()
    play(env, f"click[{SHIRT}]")


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


def test_random_play_meets_every_page(shop):
    env = shop()
    env.action_space.seed(0)
    pages = set()
    for _ in range(2000):
        env.step(env.action_space.sample())
        pages.add(env.state.page)
        if env.state.page == "done":
            env.reset()
    assert pages == {
        *("index", "results", "item", "description", "features", "reviews", "done")
    }


def test_gymnasiums_checker_accepts_the_environment(files):
    from gymnasium.utils.env_checker import check_env

    check_env(WebShop(**files), skip_render_check=True)


def test_the_oracle_buys_the_best(shop):
    env = shop()
    for goal in range(len(env.catalogue.goals)):
        env.reset(options={"session": goal})
        note = env.oracle_note
        for _ in range(20):
            *_, terminated, _, info = env.step(env.oracle_action)
            if terminated:
                break
        assert terminated
        assert info["success"] == (note is None)
        assert env.oracle_action is None
        if note is not None:
            assert note.startswith(f"goal {goal}: ")


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
