"""`--policy oracle` of games in stacked arrays: it plays best in every mode."""

import gymnasium
import numpy as np
import pytest

from roll_vec.cli._oracles import make_oracle
from roll_vec.envs.sokoban.solver import solve_rooms
from tests.cli.output import table_of

SOKOBAN = "roll_vec/Sokoban-v0"
MODES = ["next_step", "same_step", "disabled"]
QUICK = ("--num-envs", 20, "--steps", 60, "--no-image")


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize(
    "keywords",
    [
        (),
        ("-o", "action_start=0", "-o", "num_boxes=2"),
        ("-o", "action_mode=text"),
        ("-o", "obs_mode=planes", "-o", "group_size=4", "-o", "num_levels=3"),
    ],
    ids=lambda keywords: " ".join(keywords) or "plain",
)
def test_the_oracle_solves_every_room(run, mode, keywords):
    arguments = ("rollout", SOKOBAN, *QUICK, "--policy", "oracle", *keywords)
    outcome = run(*arguments, "--autoreset", mode)
    assert (outcome.code, outcome.err) == (0, "")
    table = table_of(outcome.out)
    assert table["success rate"] == "100.00%"
    # No room takes more than 30 moves, and each environment plays several.
    assert int(table["episodes"]) > 40


def test_the_oracle_takes_the_fewest_moves(run, tmp_path):
    arguments = ("--policy", "oracle", "--autoreset", "same_step", "--save", "run.npz")
    assert run("rollout", SOKOBAN, *QUICK, "--seed", 7, *arguments).code == 0
    with np.load(tmp_path / "run.npz") as saved:
        env_ids, lengths = saved["env_index"], saved["lengths"]
    single = gymnasium.make(SOKOBAN)
    for env_id in range(3):
        rooms = [single.reset(seed=7 + env_id)[0]]
        mine = lengths[env_ids == env_id].tolist()
        rooms += [single.reset()[0] for _ in mine[1:]]
        assert mine == [len(room.directions) for room in solve_rooms(np.array(rooms))]


LAKES = ["roll_vec/FrozenLake-v1", "roll_vec/RandomFrozenLake-v0"]


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("lake", LAKES)
@pytest.mark.parametrize(
    "text", [(), ("-o", "action_mode=text", "-o", "obs_mode=text")]
)
def test_the_oracle_crosses_every_lake_without_slips(run, lake, mode, text):
    arguments = ("rollout", lake, *QUICK, "--policy", "oracle", *text)
    outcome = run(*arguments, "-o", "is_slippery=False", "--autoreset", mode)
    assert (outcome.code, outcome.err) == (0, "")
    table = table_of(outcome.out)
    assert table["success rate"] == "100.00%"
    assert int(table["episodes"]) > 100


@pytest.mark.parametrize("mode", ["NextStep", "SameStep", "Disabled"])
@pytest.mark.parametrize("lake", LAKES)
def test_on_slippery_ice_the_oracle_plays_the_best_policy_of_each_map(lake, mode):
    envs = gymnasium.make_vec(lake, num_envs=8, autoreset_mode=mode)
    oracle = make_oracle(envs)
    envs.reset(seed=3)
    has_ended = np.zeros(8, np.bool_)
    for _ in range(50):
        actions = oracle(None)
        positions = envs.get_attr("s")
        for env_id, solution in enumerate(
            envs.unwrapped.engine.solve(np.arange(8), "moves")
        ):
            best = solution.policy[positions[env_id]]
            assert has_ended[env_id] or actions[env_id] == best
        *_, terminations, truncations, _ = envs.step(actions)
        has_ended = (terminations | truncations) & (mode != "SameStep")
        if mode == "Disabled" and has_ended.any():
            envs.reset(options={"reset_mask": has_ended})
            has_ended[:] = False


def test_rooms_without_a_solution_are_named(run, tmp_path):
    (tmp_path / "set.txt").write_text(
        "######\n#@$ .#\n######\n\n######\n#$@ .#\n######\n"
    )
    outcome = run(
        *("rollout", SOKOBAN, "--num-envs", 2, "--steps", 20, "--no-image"),
        *("-o", "levels=set.txt", "--policy", "oracle", "-o", "max_episode_steps=5"),
    )
    assert (outcome.code, outcome.err) == (0, "")
    heading = "episodes are out of the oracle's reach, for 1 reason:"
    assert f"{heading}\nlevels: level 1 has no solution" in outcome.out


def test_an_environment_that_is_solved_again_goes_on():
    envs = gymnasium.make_vec(SOKOBAN, num_envs=3, autoreset_mode="SameStep")
    oracle = make_oracle(envs)
    observations, _ = envs.reset(seed=4)
    np.testing.assert_array_equal(oracle(observations), oracle(observations))


def test_lakes_have_hints(play):
    output = play("t\nd\n", "roll_vec/FrozenLake-v1", "-o", "is_slippery=False")
    assert output.count("\nDown\n") == 1


@pytest.mark.parametrize("action_mode", ["discrete", "text"])
def test_play_gives_hints(play, action_mode):
    level = ["######\n#@ $.#\n######"]
    arguments = (SOKOBAN, "-o", f"levels={level!r}", "-o", f"action_mode={action_mode}")
    text = "t\nd\nt\nd\nt\n"
    if action_mode == "text":
        text = ":hint\nright\n:hint\nright\n:hint\n"
    output = play(text, *arguments)
    assert output.count("Right") >= 2
    assert "Solved in 2 steps" in output


@pytest.mark.parametrize("env_id", [SOKOBAN, *LAKES])
def test_the_oracle_writes_the_tags_that_a_pattern_asks_for(run, env_id):
    pattern = "action_pattern=<think>(.*?)</think><answer>(.*?)</answer>"
    outcome = run(
        *("rollout", env_id, *QUICK, "--policy", "oracle", "-o", "action_mode=text"),
        *("-o", pattern, *(() if env_id == SOKOBAN else ("-o", "is_slippery=False"))),
    )
    assert (outcome.code, outcome.err) == (0, "")
    assert table_of(outcome.out)["success rate"] == "100.00%"


def test_a_pattern_that_the_oracle_cannot_write_is_an_error(fails):
    arguments = ("-o", "action_mode=text", "-o", "action_pattern=act: ([a-z]+)")
    line = fails("rollout", SOKOBAN, *QUICK, "--policy", "oracle", *arguments)
    assert "cannot write an answer that matches act: ([a-z]+)" in line
