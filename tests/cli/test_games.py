"""Every command takes every game of rules."""

import gymnasium
import pytest
from gymnasium.spaces import Box

from roll_vec.evaluation import find_split
from tests.contract.cases import GAME_IDS

FEW = ["--num-envs", "4", "--steps", "30"]
RANDOM = ["--policy", "random"]


@pytest.mark.slow
@pytest.mark.parametrize("env_id", GAME_IDS)
def test_every_command_takes_a_game(run, works, play, env_id, tmp_path):
    assert run("rollout", env_id, *FEW, "--out", "run.npz", "--quiet").code == 0
    assert run("replay", "run.npz").code == 0
    assert run("watch", env_id, *FEW, "--out", "page.html").code == 0
    assert env_id in (tmp_path / "page.html").read_text("utf-8")
    split = ["--split", "test", "--num-episodes", "5"]
    outcome = run("eval", "run", env_id, *split, *RANDOM)
    assert outcome.code == 0
    has_none = outcome.table["success rate"] == "-"
    assert has_none is not find_split(env_id, "test").has_success
    rows = ["--num-rows", "2", "--out", "rows.jsonl"]
    is_text = not isinstance(gymnasium.make(env_id).action_space, Box)
    texts = ["-o", "action_mode=text", "-o", "obs_mode=text"] if is_text else []
    assert run("rollout", env_id, *FEW, *texts, "--quiet").code == 0
    if is_text:
        assert run("export", env_id, *RANDOM, *rows).code == 0
        # Numbers of a Box cannot be typed.
        assert env_id in play("?\nq\n", env_id)


def test_the_key_up_moves_forward_in_games_that_are_seen_from_inside(play):
    screen = play("w\ns\nq\n", "roll_vec/MiniGrid-DoorKey-6x6-v0", "--seed", "1")
    assert "step 1 · return 0\nforward +0" in screen
    assert "no action 'down'" in screen
