"""``infos["advantage"]`` of every game is that of slow and obvious oracles."""

import functools
import itertools

import gymnasium
import numpy as np
import pytest
from gymnasium.envs.toy_text import blackjack

import roll_vec
from roll_vec.arrays import advantages
from roll_vec.arrays.engine import ArrayEngine
from roll_vec.arrays.rules import rule
from roll_vec.errors import InvalidOptionError
from roll_vec.registration import ENVIRONMENTS
from tests.envs.countdown.tasks import write_jsonl

SOKOBAN, LAKE = "roll_vec/Sokoban-v0", "roll_vec/RandomFrozenLake-v0"
TAXI, CLIFF = "roll_vec/Taxi-v4", "roll_vec/CliffWalking-v1"
LEVELS = {"num_levels": 6}
# Id, keywords, and the variables that make a state.
CERTAIN = {
    "sokoban": (SOKOBAN, LEVELS, ["grid"]),
    "one box": (SOKOBAN, {**LEVELS, "num_boxes": 1, "action_start": 0}, ["grid"]),
    "lakes": (LAKE, {**LEVELS, "is_slippery": False}, ["grid"]),
    "tiles": ("roll_vec/SlidingTiles-v0", {**LEVELS, "size": 2}, ["board"]),
    "sudoku": (
        "roll_vec/Sudoku-v0",
        {"num_levels": 3, "scale": 4, "clues": 9},
        ["board", "solution"],
    ),
    "cliff": (CLIFF, {}, ["cell"]),
    "taxi": (TAXI, {}, ["taxi", "passenger", "destination"]),
    "mines": (
        "roll_vec/Minesweeper-v0",
        {"num_levels": 1, "rows": 2, "cols": 4, "num_mines": 1},
        ["board", "mines", "order"],
    ),
}
TURNS = [400, pytest.param(100_000, marks=pytest.mark.slow)]


def keys_of(arrays, names):
    columns = [arrays[name].reshape(len(arrays[name]), -1) for name in names]
    return [tuple(row.tobytes() for row in rows) for rows in zip(*columns, strict=True)]


def explore(id, keywords, names):
    """Return the numbers of states, and (n, A) the state after each action in each.

    All states that the game's own step reaches from its starts.  State n is a success,
    n + 1 an end without one.
    """
    options = ENVIRONMENTS[id].load()(**{**ENVIRONMENTS[id].keywords, **keywords})
    actions = options.first_action + np.arange(len(options.action_names))
    engine = ArrayEngine(options, keywords.get("num_levels", 400), None, 1)
    engine.reset(np.arange(engine.num_envs), range(engine.num_envs))
    state, numbers, after = engine.get_state(), {}, []
    rows = range(engine.num_envs)
    while True:
        new, keys = {}, keys_of(state, names)
        for row in rows:
            if keys[row] not in numbers:
                numbers[keys[row]] = len(numbers)
                new[keys[row]] = row
        if not new:
            break
        parents = np.repeat(list(new.values()), len(actions))
        engine = ArrayEngine(options, len(parents), None, 1)
        engine.set_state(state, parents, np.arange(len(parents)))
        skip_mask = np.zeros(len(parents), np.bool_)
        _, ends, *_ = engine.step(np.tile(actions, len(new)), skip_mask)
        state, rows = engine.get_state(), np.flatnonzero(~ends)
        results = zip(keys_of(state, names), ends, engine.successes, strict=True)
        after += [key if not end else bool(success) for key, end, success in results]
    numbers |= {True: len(numbers), False: len(numbers) + 1}
    return numbers, np.array([numbers[key] for key in after]).reshape(-1, len(actions))


@functools.lru_cache
def tabulate(name):
    """Return the numbers of states and the advantages of all actions, by the graph."""
    numbers, after = explore(*CERTAIN[name])
    moves = np.full(len(numbers), np.inf)
    moves[numbers[True]] = 0
    for _ in range(200):
        moves[:-2] = 1 + moves[after].min(1)
    old, new = moves[:-2, np.newaxis], moves[after]
    if name == "mines":
        return numbers, (new < np.inf) * 1.0 - (old < np.inf)
    # Infinite numbers of moves, in dead ends, are written over.
    with np.errstate(invalid="ignore"):
        table = np.where(new < np.inf, old - 1 - new, -100)
    return numbers, np.where(old < np.inf, table, 0)


def play(id, turns, num_envs=100, highs=(), **keywords):
    """Yield variables, actions counted from 0, and advantages of random turns.

    Variables of ``highs`` are drawn before each turn.
    """
    envs = roll_vec.make_vec(id, num_envs, advantage_info=True, **keywords)
    envs.reset(seed=0)
    rng, space = np.random.default_rng(0), envs.single_action_space
    while turns > 0:
        present = envs.engine.named_variables()
        for name, high in dict(highs).items():
            present[name][:] = rng.integers(high, size=num_envs)
        variables = {name: each.copy() for name, each in present.items()}
        actions = rng.integers(space.start, space.start + space.n, num_envs)
        *_, infos = envs.step(actions)
        if "advantage" in infos:
            rows = np.flatnonzero(infos["_advantage"])
            some = {name: each[rows] for name, each in variables.items()}
            yield some, actions[rows] - space.start, infos["advantage"][rows]
            turns -= len(rows)


@pytest.mark.parametrize("turns", TURNS)
@pytest.mark.parametrize("name", CERTAIN)
def test_advantages_are_those_of_the_graph_of_all_states(name, turns):
    id, keywords, names = CERTAIN[name]
    numbers, table = tabulate(name)
    for variables, actions, values in play(id, turns, **keywords):
        rows = [numbers[key] for key in keys_of(variables, names)]
        np.testing.assert_array_equal(values, table[rows, actions])


# ------------------------------------------------------------------ games of chance


def iterate(outcomes, num_states, num_actions, ends):
    """Return Q - V of all states and actions, (n, A), by value iteration.

    ``outcomes(s, a)`` returns lists of chance, next state and gain; ``ends`` is a dict
    of the values of states that never change.
    """
    chances, gains = np.zeros((2, num_states, num_actions, 9))
    after = np.zeros(chances.shape, np.int64)
    for s, a in np.ndindex(num_states, num_actions):
        for k, (chance, state, gain) in enumerate(outcomes(s, a)):
            chances[s, a, k], after[s, a, k], gains[s, a, k] = chance, state, gain
    places, values = list(ends), np.zeros(num_states)
    for _ in range(20_000):
        values[places] = list(ends.values())
        totals = (chances * (gains + values[after])).sum(2)
        change = np.delete(abs(totals.max(1) - values), places).max()
        values = totals.max(1)
        if change < 1e-15:
            break
    table = totals - values[:, np.newaxis]
    table[places] = 0.0
    return table


def lake_table(desc, keywords):
    """Return the advantages on a map of letters, by Gymnasium's transitions."""
    env = gymnasium.make("FrozenLake-v1", desc=desc, **keywords).unwrapped
    tiles = "".join(desc)
    ends = {s: float(tile == "G") for s, tile in enumerate(tiles) if tile in "GH"}

    def outcomes(s, a):
        return [(p, t, 0.0) for p, t, _, _ in env.P[s][a]]

    return iterate(outcomes, len(tiles), 4, ends)


@pytest.mark.parametrize("turns", TURNS)
@pytest.mark.parametrize("keywords", [{}, {"success_rate": 0.8}])
def test_advantages_on_slippery_lakes(turns, keywords):
    tables = {}
    for variables, actions, values in play(LAKE, turns, num_levels=5, **keywords):
        tiles = np.array(list("FFHGHG"))[variables["grid"]]
        for desc, cell, action, value in zip(
            tiles, variables["position"], actions, values, strict=True
        ):
            rows = tuple(map("".join, desc))
            if rows not in tables:
                start = [list(row) for row in rows]
                start[0][0] = "S"
                tables[rows] = lake_table(list(map("".join, start)), keywords)
            assert value == pytest.approx(tables[rows][cell, action], abs=1e-9)
            assert value <= 0.0


def test_advantages_on_the_map_of_gymnasium():
    env = gymnasium.make("roll_vec/FrozenLake-v1", advantage_info=True).unwrapped
    table = lake_table(list(map("".join, env.desc.astype(str).tolist())), {})
    env.reset(seed=0)
    for cell, action in np.ndindex(16, 4):
        env.s = cell
        info = env.step(action)[4]
        assert info["advantage"] == pytest.approx(table[cell, action], abs=1e-9)


def walk_table(id, keywords):
    """Return the advantages of Taxi and CliffWalking where chance decides."""
    env = gymnasium.make(id, **keywords).unwrapped
    if id == CLIFF:

        def outcomes(s, a):
            return [(p, t, float(reward)) for p, t, reward, _ in env.P[s][a]]

        return iterate(outcomes, 48, 4, {47: 0.0})

    def outcomes(s, a):
        is_fickle, s = divmod(s, 500)
        results = []
        for p, t, _, _ in env.P[s][a]:
            if is_fickle and a < 4 and t // 20 != s // 20 and s // 4 % 5 == 4:
                others = [t - t % 4 + k for k in range(4) if k != t % 4]
                results += [(p / 3, other, -1.0) for other in others]
            else:
                results.append((p, t + 500 * is_fickle, -1.0))
        return results

    ends = {s: 0.0 for s in range(1000) if s // 4 % 5 == s % 4}
    return iterate(outcomes, 1000, 6, ends)


@pytest.mark.parametrize("turns", TURNS)
@pytest.mark.parametrize(
    ("id", "keywords"),
    [
        (CLIFF, {"is_slippery": True}),
        (TAXI, {"is_rainy": True, "fickle_passenger": True}),
    ],
)
def test_advantages_of_uncertain_walks(id, keywords, turns):
    table = walk_table(id, keywords)
    highs = {"cell": 47} if id == CLIFF else {"taxi": 25, "passenger": 5}
    if id == TAXI:
        highs |= {"destination": 4, "is_fickle": 2}
    for variables, actions, values in play(id, turns, highs=highs, **keywords):
        if id == CLIFF:
            states = variables["cell"]
        else:
            names = "is_fickle", "taxi", "passenger", "destination"
            columns = [variables[name].astype(np.int64) for name in names]
            states = np.array([500, 20, 4, 1]) @ columns
        np.testing.assert_allclose(values, table[states, actions], rtol=0, atol=1e-6)


DECK = blackjack.deck


def stick(hand, dealer, keywords):
    """Return the expected return of a hand, the dealer's cards being drawn."""
    if len(dealer) > 1 and blackjack.sum_hand(dealer) >= 17:
        reward = blackjack.cmp(blackjack.score(hand), blackjack.score(dealer))
        is_natural = blackjack.is_natural(hand)
        if keywords.get("sab") and is_natural and not blackjack.is_natural(dealer):
            reward = 1.0
        elif keywords.get("natural") and is_natural and reward == 1.0:
            reward = 1.5
        return reward
    return sum(stick_of(hand, [*dealer, card], keywords) for card in DECK) / 13


def summarize(hand):
    """Return a short hand with the same sum, ace and number of cards, if above 2."""
    ace = 1 in hand
    return hand if len(hand) < 3 else [*[1] * ace, 0, 0, sum(hand) - ace]


def stick_of(hand, dealer, keywords):
    cards = tuple(sorted(summarize(hand))), tuple(sorted(summarize(dealer)))
    return _stick(*cards, tuple(keywords.items()))


@functools.lru_cache(None)
def _stick(hand, dealer, keywords):
    return stick(list(hand), list(dealer), dict(keywords))


@functools.lru_cache(None)
def hit(hand, dealer, keywords):
    total = 0.0
    for card in DECK:
        cards = summarize([*hand, card])
        if blackjack.is_bust(cards):
            total -= 1 / 13
        else:
            best = max(
                stick_of(cards, [dealer], dict(keywords)),
                hit(tuple(sorted(cards)), dealer, keywords),
            )
            total += best / 13
    return total


@pytest.mark.parametrize("turns", TURNS)
@pytest.mark.parametrize("keywords", [{"sab": True}, {"sab": False, "natural": True}])
def test_advantages_in_blackjack(turns, keywords):
    for variables, actions, values in play("roll_vec/Blackjack-v1", turns, **keywords):
        names = "total", "has_ace", "num_cards", "dealer_card"
        columns = [variables[name].tolist() for name in names]
        rows = zip(*columns, actions.tolist(), values.tolist(), strict=True)
        for total, ace, count, dealer, action, value in rows:
            others = total - ace
            hand = [int(ace), others] if count == 2 else [int(ace), 0, others]
            if count == 2 and not ace:
                hand = [total // 2, total - total // 2]
            gains = [
                stick_of(hand, [dealer], keywords),
                hit(tuple(sorted(hand)), dealer, tuple(keywords.items())),
            ]
            assert value == pytest.approx(gains[action] - max(gains), abs=1e-9)


def test_the_solver_of_blackjack_has_advantage_0():
    envs = roll_vec.make_vec("roll_vec/Blackjack-v1", 500, advantage_info=True)
    envs.reset(seed=0)
    for _ in range(20):
        actions = np.array([actions[0] for actions in envs.solve()])
        infos = envs.step(actions)[4]
        assert not infos.get("advantage", np.zeros(1)).any()


# ------------------------------------------------------------------ texts


def test_advantages_in_countdown(tmp_path):
    tasks = [([1, 2], 3), ([1, 2], 9), ([4, 5], 20), ([7, 7], 5)]
    rng = np.random.default_rng(0)
    path = write_jsonl(tmp_path / "tasks.jsonl", tasks)
    keywords = {"data": path, "max_steps": 2, "advantage_info": True}
    env = gymnasium.make("roll_vec/Countdown-v0", **keywords).unwrapped
    count = 2
    for turn in range(300):
        if count == 2:
            env.reset(seed=turn)
            count = 0
        a, b = env.nums
        count += 1
        answers = [f"{x}{sign}{y}" for x, y in ((a, b), (b, a)) for sign in "+-*/"]
        is_solvable = any(eval(answer) == env.target for answer in answers)
        answer = str(rng.choice([*answers, "x"]))
        info = env.step(answer)[4]
        is_lost = count == 2 and not info["success"] and is_solvable
        assert info["advantage"] == -1.0 * is_lost
        count = 2 if info["success"] else count


def test_advantages_in_the_shop():
    envs = roll_vec.make_vec(
        "roll_vec/WebShop-v0", 1, advantage_info=True, oracle_return_info=True
    )
    orders = 0
    for seed in range(30):
        _, infos = envs.reset(seed=seed)
        best = infos["oracle_return"][0]
        solution = envs.solve()[0]
        # The way to the product, without its options in every second episode.
        for action in solution if seed % 2 else [*solution[:2], "click[buy now]"]:
            _, rewards, ends, _, infos = envs.step([action])
            orders += ends[0]
            assert infos["advantage"][0] == (rewards[0] - best if ends[0] else 0.0)
    assert orders > 15


# ------------------------------------------------------------------ all forms


FORMS = [(SOKOBAN, {}), (LAKE, {}), ("roll_vec/SlidingTiles-v0", {"num_shuffles": 9})]


@pytest.mark.parametrize(("id", "keywords"), FORMS)
def test_advantages_do_not_depend_on_the_form_of_a_batch(id, keywords, monkeypatch):
    keywords = {**keywords, "advantage_info": True, "max_episode_steps": 9}
    whole = roll_vec.make_vec(id, 6, **keywords, num_threads=2)
    start = int(whole.single_action_space.start)
    actions = np.random.default_rng(0).integers(start, start + 4, (25, 6))

    def record(envs, states=None):
        envs.reset(seed=0)
        results = []
        for step in range(len(actions)):
            if states is not None and step == 10:
                # Away from the state, and back.
                state = envs.get_state()
                envs.step(actions[step][::-1].copy())
                envs.set_state(state)
            infos = envs.step(actions[step])[4]
            mask = infos.get("_advantage", np.zeros(6, np.bool_))
            results.append((mask, infos.get("advantage", np.zeros(6))))
        envs.close()
        return np.array(results)

    expected = record(whole)
    for form in ("snapshot", "joined", "pool", "cache"):
        states = form if form == "snapshot" else None
        envs = roll_vec.make_vec(id, 6, **keywords)
        if form == "joined":
            parts = [roll_vec.make_vec(id, count, **keywords) for count in (2, 4)]
            envs = roll_vec.JoinedVectorEnv(parts)
        elif form == "pool":
            make = functools.partial(gymnasium.make, id, **keywords)
            envs = roll_vec.PoolVectorEnv([make] * 6, workers=2)
        elif form == "cache":
            monkeypatch.setattr(advantages, "MAX_STATES", 2)
        np.testing.assert_array_equal(record(envs, states), expected)


class Corridor(roll_vec.ArrayEnv):
    """Walk to cell 5; in cell 0 there is no way back."""

    state = {"cell": np.int64, "success": np.bool_}  # noqa: RUF012
    actions = ("left", "right", "wait")
    infos = ("success",)
    observation_space = gymnasium.spaces.Discrete(6)

    @rule
    def begin(env, rng):
        env.cell = 2

    @rule
    def step(env, action, rng):
        if env.cell > 0 and action < 2:
            env.cell += 2 * action - 1
        env.success = env.cell == 5
        return 0.0, env.success

    @rule
    def observe(env, out):
        out[0] = env.cell

    def solve(self, env):
        return [1] * (5 - env.cell) if env.cell else None


class Slippery(Corridor):
    """A corridor whose steps depend on chance."""

    @rule
    def step(env, action, rng):
        env.cell = rng.integers(6)
        return 0.0, False


def test_a_game_of_a_user_gets_advantages_from_its_solver():
    roll_vec.register("tests_advantages/Corridor-v0", Corridor)
    roll_vec.register("tests_advantages/Slippery-v0", Slippery)
    envs = roll_vec.make_vec("tests_advantages/Corridor-v0", 1, advantage_info=True)
    envs.reset(seed=0)
    turns = [(2, -1.0), (1, 0.0), (0, -2.0), (0, -2.0), (0, -100.0), (1, 0.0), (2, 0.0)]
    for action, value in turns:
        assert envs.step(np.array([action]))[4]["advantage"][0] == value
    with pytest.raises(InvalidOptionError, match="define a method `action_advantages`"):
        roll_vec.make_vec("tests_advantages/Slippery-v0", 1, advantage_info=True)
    with pytest.raises(InvalidOptionError, match="CartPole has no solver"):
        roll_vec.make_vec("roll_vec/CartPole-v1", 1, advantage_info=True)


def test_the_actions_of_a_text_are_added_up():
    keywords = {"advantage_info": True, "num_levels": 6}
    text = {"action_mode": "text", "action_separator": "|", "max_actions_per_turn": 3}
    text["action_pattern"] = "<a>(.*?)</a>"
    texts = roll_vec.make_vec(SOKOBAN, 6, **keywords, **text)
    single = gymnasium.make(SOKOBAN, **keywords, **text).unwrapped
    plain = roll_vec.make_vec(SOKOBAN, 6, **keywords)
    texts.reset(seed=0), plain.reset(seed=0)
    single.reset(seed=0)
    for turn in itertools.product(range(1, 5), repeat=3):
        names = [("", "Up", "Down", "Left", "Right")[action] for action in turn]
        answer = f"<a>{'|'.join(names)}</a>"
        total = sum(plain.step(np.full(6, a))[4]["advantage"] for a in turn)
        values = texts.step([answer] * 6)[4]["advantage"]
        np.testing.assert_array_equal(values, total)
        assert single.step(answer)[4]["advantage"] == total[0]
        if plain.engine.elapsed_steps.max() > 90:
            break
    # A text without an action is a turn that changes nothing.
    values = texts.step(["?"] * 6)[4]["advantage"]
    assert set(values.tolist()) <= {0.0, -1.0}
