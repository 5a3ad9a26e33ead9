"""Saved episodes equal those of environments alone; policies; the oracle."""

import importlib

import gymnasium
import numpy as np
import pytest

import roll_vec
from tests.cli.test_watch import header_of
from tests.contract.rules import Corridor
from tests.thinning import one_in

MODES = ["NextStep", "SameStep", "Disabled"]
SOKOBAN, LAKE = "roll_vec/Sokoban-v0", "roll_vec/RandomFrozenLake-v0"
ONE_LAKE, COUNTDOWN = "roll_vec/FrozenLake-v1", "roll_vec/Countdown-v0"
ECHO = "user_envs:mine/Echo-v0"
COLUMNS = {
    "env_index": np.int64,
    "returns": np.float64,
    "lengths": np.int64,
    "success": np.int8,
    "terminated": np.bool_,
    "truncated": np.bool_,
}


def load(path="run.npz"):
    """Return the arrays of a saved run."""
    with np.load(path) as file:
        return {name: file[name] for name in file.files}


def play_alone(env_id, mode, actions, seed, check=lambda env, action: None, **keywords):
    """Play each environment alone; return its episodes in the order of their ends."""
    episodes, env_steps = [], 0
    for index in range(actions.shape[1]):
        env = gymnasium.make(env_id, **keywords)
        env.reset(seed=seed + index)
        total, length, is_over = 0.0, 0, False
        for step, action in enumerate(actions[:, index]):
            if is_over and mode == "NextStep":
                env.reset()
                is_over = False
                continue
            check(env.unwrapped, action)
            _, reward, terminated, truncated, info = env.step(action)
            env_steps += 1
            total += reward
            length += 1
            is_over = terminated or truncated
            if is_over:
                success = int(info.get("success", -1))
                if "FrozenLake-v1" in env_id:
                    # Its infos are Gymnasium's; the batch has `successes`.
                    success = int(reward)
                ends = (success, terminated, truncated)
                episodes.append((step, index, total, length, *ends))
                total, length = 0.0, 0
                if mode != "NextStep":
                    env.reset()
    return [episode[1:] for episode in sorted(episodes)], env_steps


# Answers to Echo, which say the number by chance, and end nothing or an episode.
ANSWERS = """
import numpy as np
rng = np.random.default_rng(0)
def act(texts):
    return [str(each) for each in rng.integers(10, size=len(texts))]
"""


@one_in(
    3,
    "env_id, mode",
    [SOKOBAN, ONE_LAKE, "Blackjack-v1", "mine/Echo-v0", "mine/Corridor-v0"],
    MODES,
)
def test_episodes_are_those_of_each_environment_alone(
    works, user_module, policy_of, tmp_path, monkeypatch, env_id, mode
):
    steps, num_envs, seed = 40, 4, 5
    keywords = {"max_episode_steps": 15} if env_id == SOKOBAN else {}
    monkeypatch.syspath_prepend(tmp_path)
    importlib.import_module(user_module)
    policy = policy_of(ANSWERS) if "Echo" in env_id else "random"
    name = f"{user_module}:{env_id}" if "mine" in env_id else env_id
    size = ("--num-envs", num_envs, "--steps", steps, "--seed", seed)
    flags = ("--autoreset", mode, "--policy", policy, "--out", "run.npz")
    options = [f"-o{key}={value}" for key, value in keywords.items()]
    outcome = works("rollout", name, *size, *flags, *options)
    saved = load()
    if "Echo" in env_id:
        actions = np.random.default_rng(0).integers(10, size=(steps, num_envs))
        actions = actions.astype(str).astype(object)
    else:
        actions = saved["actions"].astype(np.int64)
    episodes, env_steps = play_alone(env_id, mode, actions, seed, **keywords)
    assert len(episodes) > num_envs
    for (name, dtype), column in zip(
        COLUMNS.items(), zip(*episodes, strict=True), strict=True
    ):
        assert saved[name].dtype == dtype
        assert saved[name].tolist() == [*column], name
    assert outcome.table["environment steps"] == f"{env_steps:,}"


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


def test_policies_act_in_any_space(run, tmp_path):
    def draw(env_id, *flags):
        size = ("--num-envs", 2, "--steps", 3, "--quiet", *flags)
        assert run("watch", env_id, *size, "--out", "page.html").code == 0
        return header_of(tmp_path / "page.html")["actions"]

    # Numbers with decimals, and examples of answers.
    for env_id in ("Pendulum-v1", COUNTDOWN):
        first = draw(env_id, "--seed", 5)
        assert first == draw(env_id, "--seed", 5) != draw(env_id, "--seed", 6)


def test_a_callable_of_the_user_gets_observations_and_gives_actions(
    run, user_module, policy_of, actions_of
):
    policy = policy_of(
        "import numpy as np\n"
        "class Agent:\n"
        "    @staticmethod\n"
        "    def act(observations):\n"
        "        assert observations.shape == (4, 6, 6)\n"
        "        return np.array([1, 2, 3, 4])\n"
        "def act(texts):\n"
        "    assert type(texts) is tuple and len(texts) == 4\n"
        "    return [text.split()[-1] for text in texts]\n"
    )
    agent = policy.replace(":act", ":Agent.act")
    actions = actions_of(SOKOBAN, 4, "--policy", agent)
    assert actions.tolist() == [[1, 2, 3, 4]] * 5
    size = ("--num-envs", 4, "--steps", 12)
    assert run("rollout", ECHO, *size, "--policy", policy).table["success rate"] == (
        "100.00%"
    )


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


@one_in(3, "env_id, mode", [SOKOBAN, LAKE, ONE_LAKE], MODES)
def test_the_oracle_plays_the_best_solution(run, env_id, mode):
    flags = ("--seed", 7, "--autoreset", mode, "--out", "run.npz")
    assert run("rollout", env_id, *ORACLE, *flags).code == 0
    plans = {}

    def check(env, action):
        # Moves of a room; of slippery ice the best move in each cell.
        if env_id == SOKOBAN:
            plan = plans.setdefault(env, [])
            if not plan:
                plan.extend(env.solve("moves"))
            assert action == plan.pop(0)
        else:
            assert action == env.solve("moves").policy[env.s]

    play_alone(env_id, mode, load()["actions"][:, :3], 7, check)


def test_the_oracle_of_an_environment_of_the_user_is_found(run, user_module):
    # In other processes; the transcripts have one in this.
    flags = ("-o", "workers=2", "-o", "executor=process", "--policy", "oracle")
    size = ("--num-envs", 4, "--steps", 12)
    outcome = run("rollout", f"{user_module}:mine/Guide-v0", *size, *flags)
    # Every episode takes two steps to the right and one reset.
    assert outcome.table["episodes"] == "16"


@pytest.mark.usefixtures("forgets_ids")
def test_the_oracle_of_array_environments_is_the_method_solve(run):
    roll_vec.register("mine/Corridor-v0", Corridor)
    flags = ("--num-envs", 3, "--steps", 12, "--policy", "oracle")
    outcome = run("rollout", "mine/Corridor-v0", *flags)
    # An episode takes two steps, and one that begins the next.
    assert (outcome.table["episodes"], outcome.table["success rate"]) == (
        "12",
        "100.00%",
    )


def test_the_oracle_solves_again_where_it_is_not_certain_what_actions_do(run):
    size = ("--num-envs", 20, "--steps", 60, "--policy", "oracle")
    rain = ("-o", "is_rainy=True", "-o", "fickle_passenger=True")
    outcome = run("rollout", "roll_vec/Taxi-v4", *size, *rain)
    assert int(outcome.table["episodes"]) >= 30
