"""Saved episodes equal those of environments alone; policies; the oracle."""

import numpy as np
import pytest

MODES = ["NextStep", "SameStep", "Disabled"]
SOKOBAN, LAKE = "roll_vec/Sokoban-v0", "roll_vec/RandomFrozenLake-v0"
ONE_LAKE, COUNTDOWN = "roll_vec/FrozenLake-v1", "roll_vec/Countdown-v0"


def load(path="run.npz"):
    """Return the arrays of a saved run."""
    with np.load(path) as file:
        return {name: file[name] for name in file.files}


@pytest.fixture
def actions_of(run):
    """Return a function that rolls out and returns the actions, (steps, num_envs)."""

    def actions_of(env_id, num_envs, *arguments, steps=5):
        size = ("--num-envs", num_envs, "--steps", steps, "--out", "run.npz")
        outcome = run("rollout", env_id, *size, *arguments)
        assert outcome.code == 0, outcome.err
        return load()["actions"]

    return actions_of


@pytest.mark.parametrize(
    ("env_id", "options", "first"),
    [(SOKOBAN, (), 1), (SOKOBAN, ("-oaction_start=0",), 0), ("FrozenLake-v1", (), 0)],
)
def test_random_draws_every_action_and_others_each_time(
    actions_of, env_id, options, first
):
    many = actions_of(env_id, 30, *options)
    assert {*many.ravel().tolist()} == {*range(first, first + 4)}
    assert len({row.tobytes() for row in many}) == 5
    # An environment has its action, whatever the others do.
    assert (actions_of(env_id, 7, *options) == many[:, :7]).all()
    assert (actions_of(env_id, 30, *options, "--seed", 2**70) != many).any()


def test_random_does_not_draw_what_an_environment_of_the_same_seed_draws(actions_of):
    draws = np.random.default_rng(7).integers(0, 2, 100)
    actions = actions_of("CartPole-v1", 100, "--seed", 7, steps=1)[0]
    assert (actions != draws).any()


def test_a_callable_of_the_user_gets_observations_and_gives_actions(
    policy_of, actions_of
):
    policy = policy_of(
        "import numpy as np\n"
        "class Agent:\n"
        "    @staticmethod\n"
        "    def act(observations):\n"
        "        assert observations.shape == (4, 6, 6)\n"
        "        return np.array([1, 2, 3, 4])\n"
    )
    agent = policy.replace(":act", ":Agent.act")
    actions = actions_of(SOKOBAN, 4, "--policy", agent)
    assert actions.tolist() == [[1, 2, 3, 4]] * 5


ORACLE = ("--num-envs", 8, "--steps", 30, "--policy", "oracle")
DRY = ("-o", "is_slippery=False")
TAGS = ("-o", "action_pattern=<think>(.*?)</think><answer>(.*?)</answer>")
TEXTS = ("-o", "action_mode=text", "-o", "obs_mode=text")


@pytest.mark.parametrize(
    ("env_id", "options", "mode", "least"),
    [
        (SOKOBAN, ("-o", "action_start=0", "-o", "num_boxes=2"), "SameStep", 8),
        (SOKOBAN, (*TEXTS, *TAGS, "-o", "num_levels=3"), "NextStep", 8),
        (LAKE, DRY, "Disabled", 24),
        (ONE_LAKE, (*DRY, *TEXTS, *TAGS), "NextStep", 24),
        (COUNTDOWN, (*TAGS, "-o", "workers=2"), "SameStep", 100),
        ("roll_vec/WebShop-v0", ("-o", "num_products=20"), "Disabled", 24),
    ],
)
def test_the_oracle_succeeds_in_every_episode(works, env_id, options, mode, least):
    outcome = works("rollout", env_id, *ORACLE, *options, "--autoreset", mode)
    assert outcome.table["success rate"] == "100.00%"
    assert int(outcome.table["episodes"].replace(",", "")) >= least
    assert "out of the oracle's reach" not in outcome.out


def test_the_oracle_of_an_environment_of_the_user_is_found(run, user_module):
    # In other processes; the transcripts have one in this.
    flags = ("-o", "workers=2", "-o", "executor=process", "--policy", "oracle")
    size = ("--num-envs", 4, "--steps", 12)
    outcome = run("rollout", f"{user_module}:mine/Corridor-v0", *size, *flags)
    # Every episode takes two steps to the right and one reset.
    assert outcome.table["episodes"] == "16"


def test_the_oracle_solves_again_where_it_is_not_certain_what_actions_do(run):
    size = ("--num-envs", 3, "--steps", 60, "--policy", "oracle")
    rain = ("-o", "is_rainy=True", "-o", "fickle_passenger=True")
    outcome = run("rollout", "roll_vec/Taxi-v4", *size, *rain)
    assert int(outcome.table["episodes"]) >= 5
