"""Golden episodes: pages, actions, rewards and ends equal the original's exactly."""

import gzip
import json

import pytest

from roll_vec.envs.webshop.env import WebShop
from tests.envs.webshop.shops import original


def episodes(shared, kind):
    """Return the golden episodes of a kind of goals."""
    path = shared / "golden" / f"webshop_trajectories_{kind}_seed0.jsonl.gz"
    with gzip.open(path, "rt", encoding="utf-8") as file:
        return [json.loads(line) for line in file]


@pytest.mark.parametrize("mode", ["text", "text_rich"])
@pytest.mark.parametrize(("kind", "count"), [("synthetic", 125), ("human", 13)])
def test_trajectories(shared, kind, count, mode):
    env = WebShop(**original(shared, kind == "human"), observation_mode=mode)
    key = {"text": "obs", "text_rich": "obs_rich"}[mode]
    num_episodes = num_purchases = 0
    for episode in episodes(shared, kind):
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
