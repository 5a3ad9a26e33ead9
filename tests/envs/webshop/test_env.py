"""One environment: golden episodes, and texts that its space contains."""

import gzip
import json

import pytest

from roll_vec.envs.webshop import WebShop
from tests.envs.webshop.shops import ITEMS, original, write

TABLE = "b000000002"


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
