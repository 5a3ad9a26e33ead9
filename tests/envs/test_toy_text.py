"""Taxi, CliffWalking and Blackjack beside Gymnasium's, for the same seeds."""

import functools
import hashlib
from types import SimpleNamespace

import gymnasium
import numpy as np
import pytest
from gymnasium.vector import AutoresetMode, SyncVectorEnv

import roll_vec
from roll_vec.envs.blackjack import HIT, STICK
from roll_vec.envs.taxi import Taxi
from tests.contract.cases import FloatProb, assert_same

# What Gymnasium calls them.  1.1 and 1.2 have no Taxi-v4, and 1.1 no rain.
CLIFF = (
    "CliffWalking-v1" if "CliffWalking-v1" in gymnasium.registry else "CliffWalking-v0"
)
DRY = "Taxi-v4" if "Taxi-v4" in gymnasium.registry else "Taxi-v3"
RAIN = {"is_rainy": True, "fickle_passenger": True}
CHANCES = {**RAIN, "rainy_probability": 0.37, "fickle_probability": 0.9}
needs_v4 = pytest.mark.skipif(
    DRY != "Taxi-v4", reason=f"Gymnasium {gymnasium.__version__} has no Taxi-v4"
)
GAMES = [
    ("Taxi-v3", DRY, {}),
    pytest.param("Taxi-v4", "Taxi-v4", CHANCES, marks=needs_v4),
    ("CliffWalking-v1", CLIFF, {"is_slippery": False}),
    ("CliffWalking-v1", CLIFF, {"is_slippery": True}),
    ("Blackjack-v1", "Blackjack-v1", {}),
    ("Blackjack-v1", "Blackjack-v1", {"sab": False, "natural": True}),
]
each_game = pytest.mark.parametrize(("name", "original", "keywords"), GAMES)


def make_original(name, **keywords):
    return FloatProb(gymnasium.make(name, disable_env_checker=True, **keywords))


def choose(rng, envs):
    """Return what the solver plays, or one time in eight a random action."""
    solved = [actions[0] if actions else 0 for actions in envs.solve()]
    random = rng.integers(envs.single_action_space.n, size=envs.num_envs)
    return np.where(rng.random(envs.num_envs) < 1 / 8, random, solved)


@each_game
def test_batches_equal_gymnasiums(name, original, keywords):
    # `tests/contract/test_rules.py` has the other modes.
    keywords, mode = {**keywords, "max_episode_steps": 50}, AutoresetMode.SAME_STEP
    envs = roll_vec.make_vec(f"roll_vec/{name}", 5, autoreset_mode=mode, **keywords)
    originals = SyncVectorEnv(
        [lambda: make_original(original, **keywords)] * 5, autoreset_mode=mode
    )
    assert envs.observation_space == originals.observation_space
    assert envs.action_space == originals.action_space
    assert_same(envs.reset(seed=7), originals.reset(seed=7))
    rng = np.random.default_rng(2)
    terminations = 0
    for _ in range(160):
        actions = choose(rng, envs)
        ours, theirs = envs.step(actions), originals.step(actions)
        assert_same(ours, theirs)
        terminations += ours[2].sum()
    assert terminations > 0


def test_rain_of_taxi_v3_is_that_of_gymnasium_1_2():
    # SHA-256 of the cells after the three outcomes of each move from each cell, in the
    # order of `P` of Gymnasium 1.2.3: `env.P[20 * cell][action]`.
    cells = Taxi(is_rainy=True).cells.astype("<i8")
    digest = "69c009e7317be497"
    assert hashlib.sha256(cells.tobytes()).hexdigest()[:16] == digest
    assert Taxi(is_rainy=True).chances == (0.8, 0.1, 0.1)


def test_a_draw_on_the_bound_of_two_starts_of_taxi_is_the_later_one():
    options, theirs = Taxi(), gymnasium.make(DRY).unwrapped
    bounds = np.cumsum(theirs.initial_state_distrib)
    env = SimpleNamespace(
        start_chances=options.start_chances, fickle_passenger=False, is_fickle=False
    )
    inner = bounds[bounds < bounds[-1]]
    for draw in [*inner, *np.nextafter(inner, 0)]:
        Taxi.begin(env, SimpleNamespace(random=lambda draw=draw: draw))
        state = (env.taxi * 5 + env.passenger) * 4 + env.destination
        assert state == np.argmax(bounds > draw)


def best_totals(transitions):
    """Return the highest expected returns after actions, (S, A), by a table `P`."""
    num_outcomes = max(
        len(each) for row in transitions.values() for each in row.values()
    )
    table = np.zeros((len(transitions), len(transitions[0]), num_outcomes, 4))
    for state, row in transitions.items():
        for action, outcomes in row.items():
            table[state, action, : len(outcomes)] = outcomes
    chances, states, rewards, ends = np.moveaxis(table, -1, 0)
    states, values = states.astype(int), np.zeros(len(table))
    while True:
        totals = (chances * (rewards + (1 - ends) * values[states])).sum(-1)
        change = abs(totals.max(1) - values).max()
        values = totals.max(1)
        if change < 1e-9:
            return totals


@pytest.mark.parametrize(
    ("name", "original", "keywords"),
    [
        ("Taxi-v3", DRY, {}),
        pytest.param("Taxi-v4", "Taxi-v4", {"is_rainy": True}, marks=needs_v4),
        *GAMES[2:4],
    ],
)
def test_the_solver_plays_best_by_gymnasiums_transitions(name, original, keywords):
    env = gymnasium.make(f"roll_vec/{name}", **keywords).unwrapped
    theirs = gymnasium.make(original, **keywords).unwrapped
    totals = best_totals(theirs.P)
    env.action_space.seed(0)
    state, _ = env.reset(seed=0)
    for _ in range(60):
        actions = env.solve()
        assert totals[state, actions[0]] > totals[state].max() - 1e-5
        if not any(keywords.values()):
            last_reward = 20 if "Taxi" in name else -1
            assert len(actions) == last_reward + 1 - round(totals[state].max())
        state, _, terminated, _, _ = env.step(env.action_space.sample())
        if terminated:
            state, _ = env.reset()


CARDS = [(card, (4 if card == 10 else 1) / 13) for card in range(1, 11)]


def worth(total, has_ace):
    return total + 10 if has_ace and total <= 11 else total


@functools.cache
def dealer_chances(total, has_ace, is_first):
    """Return the chances of the dealer's sums; 0: more than 21."""
    sum_now, chances = worth(total, has_ace), {}
    if sum_now >= 17 and not is_first:
        return {sum_now if sum_now <= 21 else 0: 1.0}
    for card, chance in CARDS:
        after = dealer_chances(total + card, has_ace or card == 1, False)
        for result, more in after.items():
            chances[result] = chances.get(result, 0.0) + chance * more
    return chances


@functools.cache
def values_of(total, has_ace, shown):
    """Return the expected returns of both actions."""
    own, results = worth(total, has_ace), dealer_chances(shown, shown == 1, True)
    stick = sum(p * ((own > each) - (own < each)) for each, p in results.items())
    hit = 0.0
    for card, chance in CARDS:
        after = total + card, has_ace or card == 1, shown
        hit += chance * (-1.0 if total + card > 21 else max(values_of(*after)))
    return stick, hit


def test_the_solver_of_blackjack_plays_best():
    env = gymnasium.make("roll_vec/Blackjack-v1").unwrapped
    env.reset(seed=0)
    state = env.get_state()
    for total in range(2, 22):
        for has_ace in (False, True):
            for shown in range(1, 11):
                new = {"total": total, "has_ace": has_ace, "dealer_card": shown}
                env.set_state({**state, **new})
                stick, hit = values_of(total, has_ace, shown)
                assert env.oracle_action == (STICK if stick > hit else HIT)
