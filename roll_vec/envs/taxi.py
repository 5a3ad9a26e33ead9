"""Taxi: fetch a passenger and bring it to its destination, as in Gymnasium."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from gymnasium.spaces import Discrete
from numpy.typing import NDArray

from roll_vec.arrays.array_env import METADATA, ArrayEnv
from roll_vec.arrays.attributes import StateAttribute
from roll_vec.arrays.rules import rule
from roll_vec.envs.walk_solver import (
    Transitions,
    find_costs,
    find_policy,
    follow,
    tabulate_advantages,
)
from roll_vec.kernels.rows import Row
from roll_vec.options import check_int, check_number, refuse_unused
from roll_vec.render.gymnasium_renderers import GymnasiumRenderer

# `:` can be passed, `|` is a wall.
MAP = (
    "+---------+",
    "|R: | : :G|",
    "| : | : : |",
    "| : : : : |",
    "| | : | : |",
    "|Y| : |B: |",
    "+---------+",
)
SIZE = 5
DEPOTS = {"R": 0, "G": 4, "Y": 20, "B": 23}
DEPOT_NUMBERS = {cell: number for number, cell in enumerate(DEPOTS.values())}
SOUTH, NORTH, EAST, WEST, PICKUP, DROPOFF = range(6)
IN_TAXI = 4
STEP_REWARD, WRONG_REWARD, ARRIVAL_REWARD = -1.0, -10.0, 20.0
NUM_STATES = SIZE * SIZE * (len(DEPOTS) + 1) * len(DEPOTS)


def encode(taxi_row: int, taxi_col: int, pass_loc: int, dest_idx: int) -> int:
    """Return the number of a state: the observation."""
    return ((taxi_row * SIZE + taxi_col) * 5 + pass_loc) * 4 + dest_idx


def decode(i: int) -> tuple[int, int, int, int]:
    """Return the row and column of the taxi, the passenger and the destination."""
    cell, places = divmod(i, 20)
    return (*divmod(cell, SIZE), *divmod(places, 4))


def read_number(env: Row) -> int:
    """Return the number of the state of an environment."""
    return encode(0, env.taxi, env.passenger, env.destination)


def write_number(value: Any) -> Mapping[str, Any]:
    """Return the variables of a number of a state."""
    row, column, passenger, destination = decode(
        check_int("s", value, 0, NUM_STATES - 1)
    )
    taxi = row * SIZE + column
    return {"taxi": taxi, "passenger": passenger, "destination": destination}


def next_cell(cell: int, action: int) -> int:
    """Return the cell south, north, east or west of one; behind a wall the same."""
    row, column = divmod(cell, SIZE)
    if action == SOUTH:
        return cell + SIZE * (row < SIZE - 1)
    if action == NORTH:
        return cell - SIZE * (row > 0)
    east = action == EAST
    is_open = MAP[row + 1][2 * column + 2 * east] == ":"
    return cell + is_open * (1 if east else -1)


@rule
def find_depot(env: Any) -> int:
    """Return the depot where the taxi stands, or -1."""
    for depot in range(len(env.depots)):
        if env.depots[depot] == env.taxi:
            return depot
    return -1


class Taxi(ArrayEnv):
    """Drive a taxi to the passenger, pick it up, and drop it off at its destination.

    Passengers wait at one of the depots R, G, Y and B, and want to go to another one.

    Instructions
    ------------
    You drive a taxi. Go to the passenger, pick it up, drive it to its destination, and
    drop it off there. T is the taxi; R, G, Y and B are the depots, where passengers
    wait and where they want to go. The taxi moves one cell at a time: between two cells
    : lets it pass, | is a wall.

    If ``is_rainy``: It rains: a move may go to a side of its direction.

    Parameters
    ----------
    is_rainy : bool
        True: a move may go to a side of its direction.  The chance of each side is 0.1.
    fickle_passenger : bool
        True: the passenger may change its destination.  With the chance 0.3 it does so
        when the taxi first moves with it.

    Attributes
    ----------
    taxi : int
        The cell of the taxi, row * 5 + column.
    passenger : int
        The depot where the passenger is, 0 to 3; 4: in the taxi.
    destination : int
        The depot where it wants to go.
    is_fickle : bool
        Whether it will change its mind.
    prob : float
        The probability of what the last action has led to.
    success : bool
        Whether the passenger has arrived.
    heading : int
        The last move, 0 (south) at first: pictures show it.
    s : int
        The number of the state, which is the observation; may be set.

    Actions
    -------
    A text without the name of an action: nothing moves or is drawn, the reward is -1,
    the step counts.

    Rewards
    -------
    20
        The passenger is dropped off at its destination.
    -10
        A pickup without a passenger to pick up there.
    -10
        A dropoff without a passenger, or beside a depot.
    -1
        Each other step.

    Episode end
    -----------
    terminated
        The passenger is dropped off at its destination.

    Sources
    -------
    Gymnasium, Taxi-v3 : 1.2.3; https://gymnasium.farama.org/environments/toy_text/taxi/
        starts, slips and changes from the same seeds, steps, rewards, infos

    Differences
    -----------
    - The text of ``render_mode='ansi'`` is not Gymnasium's.
    - Not there: ``lastaction``, ``initial_state_distrib``, ``desc``, the method
      ``action_mask``, constants such as ``locs``, attributes of pictures such as
      ``window``.

    Raises
    ------
    InvalidOptionError

    Notes
    -----
    The rule is that of Gymnasium 1.2.3, Taxi-v3, whose random numbers are one stream.
    In its rain a move to the north or the south that the edge stops can still go to a
    side, and one to the side of a move to the east or the west also needs a way on in
    the same direction, to the east from the south, to the west from the north.
    """

    is_rainy: bool = False
    fickle_passenger: bool = False
    action_mask: bool = True

    state: ClassVar = {
        "taxi": np.int8,
        "passenger": np.int8,
        "destination": np.int8,
        "is_fickle": np.bool_,
        "prob": np.float64,
        "success": np.bool_,
        "heading": np.int8,
    }
    state_limits: ClassVar = {
        "taxi": (0, SIZE * SIZE - 1),
        "passenger": (0, IN_TAXI),
        "destination": (0, len(DEPOTS) - 1),
        "prob": (0.0, 1.0),
        "heading": (0, 3),
    }
    attributes: ClassVar = {
        "s": StateAttribute(read_number, write_number),
        "fickle_step": StateAttribute(
            lambda env: env.is_fickle, lambda value: {"is_fickle": value}
        ),
        "encode": encode,
        "decode": decode,
    }
    actions: ClassVar = ("south", "north", "east", "west", "pickup", "dropoff")
    infos: ClassVar = ("prob", "success")
    hidden_infos: ClassVar = ("success",)  # Gymnasium has none
    reset_infos: ClassVar = ("prob",)
    takes_invalid_actions: ClassVar = True
    solution_variables: ClassVar = ("taxi", "passenger", "destination", "is_fickle")
    seeding: ClassVar = "stream"
    observation_space = Discrete(NUM_STATES)
    gymnasium_renderer: ClassVar = GymnasiumRenderer(
        "toy_text.taxi:TaxiEnv",
        lambda env: {
            "s": read_number(env),
            "lastaction": None,
            "taxi_orientation": env.heading,
        },
    )
    metadata: ClassVar = METADATA
    depots: ClassVar = tuple(DEPOTS.values())
    fickle_probability = 0.3

    @property
    def chances(self) -> tuple[float, float, float]:
        """The chances that a move goes in its direction, and to each side of it."""
        return (0.8, 0.1, 0.1) if self.is_rainy else (1.0, 0.0, 0.0)

    @cached_property
    def cells(self) -> NDArray[np.int64]:
        """(25, 4, 3) int64: the cell after a move, in its direction or to a side."""
        return np.array(
            [[self.outcomes(cell, a) for a in range(4)] for cell in range(SIZE * SIZE)]
        )

    def outcomes(self, cell: int, action: int) -> tuple[int, int, int]:
        """Return the cells to which a move leads: its direction, and both sides."""
        ahead = next_cell(cell, action)
        if action in (SOUTH, NORTH):
            return ahead, next_cell(cell, WEST), next_cell(cell, EAST)
        if ahead == cell:
            return cell, cell, cell
        south, north = next_cell(cell, SOUTH), next_cell(cell, NORTH)
        return (
            ahead,
            cell if next_cell(south, EAST) == south else south,
            cell if next_cell(north, WEST) == north else north,
        )

    @cached_property
    def P(self) -> Transitions:
        """Transitions, ``P[s][a]``: (probability, next s, reward, terminated) each."""
        numbers, actions = range(NUM_STATES), range(len(self.actions))
        return {s: {a: self.transitions(s, a) for a in actions} for s in numbers}

    def transitions(self, s: int, a: int) -> list[tuple[float, int, float, bool]]:
        """Return the outcomes of an action in a state; see `P`."""
        row, column, passenger, destination = decode(s)
        cell, reward, is_end = row * SIZE + column, STEP_REWARD, False
        if a < PICKUP:
            places = passenger, destination
            ways = zip(self.chances, self.outcomes(cell, a), strict=True)
            return [
                (chance, encode(0, after, *places), reward, False)
                for chance, after in list(ways)[: 3 if self.is_rainy else 1]
            ]
        depot = DEPOT_NUMBERS.get(cell, -1)
        if a == PICKUP and depot == passenger:
            passenger = IN_TAXI
        elif a == DROPOFF and depot >= 0 and passenger == IN_TAXI:
            passenger, is_end = depot, depot == destination
            reward = ARRIVAL_REWARD if is_end else reward
        else:
            reward = WRONG_REWARD
        return [(1.0, encode(row, column, passenger, destination), reward, is_end)]

    @cached_property
    def start_chances(self) -> NDArray[np.float64]:
        """(300,) float64: the cumulative probabilities of the starts."""
        num_starts = SIZE * SIZE * len(DEPOTS) * (len(DEPOTS) - 1)
        return np.cumsum(np.full(num_starts, 1.0 / num_starts))

    @rule
    def begin(env: Any, rng: Any) -> None:
        env.prob = 1.0
        draw = rng.random()
        # The first start whose cumulative probability is above the draw: it is the
        # number below or one beside it, as sums are rounded.
        count = len(env.start_chances)
        start = int(draw * count)
        while start > 0 and env.start_chances[start - 1] > draw:
            start -= 1
        while start < count - 1 and env.start_chances[start] <= draw:
            start += 1
        # Each cell has 4 places of the passenger, and each of these 3 destinations.
        env.taxi = start // 12
        env.passenger = start // 3 % 4
        env.destination = start % 3 + (start % 3 >= env.passenger)
        if env.fickle_passenger:
            env.is_fickle = rng.random() < env.fickle_probability

    @rule
    def step(env: Any, action: int, rng: Any) -> tuple[float, bool]:
        env.prob = 1.0
        if action < 0:
            return STEP_REWARD, False
        draw = rng.random()
        if action < PICKUP:
            env.heading = action
            outcome, total = 0, 0.0
            for k in range(3):
                total += env.chances[k]
                if total > draw:
                    outcome = k
                    break
            env.prob = env.chances[outcome]
            cell = env.cells[env.taxi, action, outcome]
            if env.is_fickle and env.passenger == IN_TAXI and cell != env.taxi:
                env.is_fickle = False
                other = rng.integers(3)
                env.destination = other + (other >= env.destination)
            env.taxi = cell
            return STEP_REWARD, False
        depot = find_depot(env)
        if action == PICKUP:
            if depot != env.passenger:
                return WRONG_REWARD, False
            env.passenger = IN_TAXI
            return STEP_REWARD, False
        if depot < 0 or env.passenger != IN_TAXI:
            return WRONG_REWARD, False
        env.passenger = depot
        if depot == env.destination:
            env.success = True
            return ARRIVAL_REWARD, True
        return STEP_REWARD, False

    @rule
    def observe(env: Any, out: Any) -> None:
        out[0] = (env.taxi * 5 + env.passenger) * 4 + env.destination

    @rule
    def legal(env: Any, mask: Any) -> None:
        for action in range(PICKUP):
            mask[action] = env.cells[env.taxi, action, 0] != env.taxi
        depot = find_depot(env)
        mask[PICKUP] = depot == env.passenger
        mask[DROPOFF] = depot >= 0 and env.passenger == IN_TAXI

    def text(self, env: Row) -> str:
        """Return the map, and where the passenger is and wants to go."""
        rows = [list(row) for row in MAP]
        row, column = divmod(env.taxi, SIZE)
        rows[row + 1][2 * column + 1] = "T"
        names = [f"at {name}" for name in DEPOTS] + ["in the taxi"]
        passenger, destination = names[env.passenger], [*DEPOTS][env.destination]
        lines = ["".join(each) for each in rows]
        lines.append(f"The passenger is {passenger} and wants to go to {destination}.")
        return "\n".join(lines)

    def solve(self, env: Row) -> list[int]:
        """Return the fewest actions to the end, as far as it is certain what they do.

        In rain: the action with the fewest expected steps.  With a passenger that will
        change its destination: those until it does.
        """
        if env.passenger == env.destination:
            return []
        stops = [(env.destination, DROPOFF)]
        if env.passenger != IN_TAXI:
            stops.insert(0, (env.passenger, PICKUP))
        actions: list[int] = []
        cell = env.taxi
        for depot, action in stops:
            stop, policy = self.depots[depot], self.policies[depot]
            if self.is_rainy:
                return [action if cell == stop else int(policy[cell])]
            actions += [*follow(policy, self.cells, cell, stop), action]
            cell = stop
        if env.is_fickle:
            return actions[: actions.index(PICKUP) + 2 if PICKUP in actions else 1]
        return actions

    @cached_property
    def advantages(self) -> NDArray[np.float64]:
        """(1000, 7) float64: the advantage of each action in each state; none is last.

        The states of fickle passengers are the second half.
        """
        shape = 2 * NUM_STATES, len(self.actions), 9
        states, chances = np.zeros(shape, np.int64), np.zeros(shape)
        for state, action in np.ndindex(shape[:2]):
            is_fickle, s = divmod(state, NUM_STATES)
            outcomes = []
            for chance, after, _, _ in self.transitions(s, action):
                destination = after % 4
                is_move = action < PICKUP and after // 20 != s // 20
                if is_fickle and is_move and s // 4 % 5 == IN_TAXI:
                    others = {0, 1, 2, 3} - {destination}
                    first = after - destination
                    outcomes += [(chance / 3, first + other) for other in others]
                else:
                    outcomes.append((chance, after + is_fickle * NUM_STATES))
            for k, (chance, after) in enumerate(outcomes):
                chances[state, action, k], states[state, action, k] = chance, after
        numbers = np.arange(2 * NUM_STATES)
        ends = numbers // 4 % 5 == numbers % 4
        totals = find_costs(states, 1.0, chances, ends)
        return tabulate_advantages(totals, ends, -1.0)

    def action_advantages(
        self, before: Any, actions: NDArray[np.int64], after: Any
    ) -> NDArray[np.float64]:
        """Return advantages in moves, expected ones where chance decides.

        See `roll_vec.arrays.array_env.ArrayEnv`.
        """
        places = before["taxi"].astype(np.int64) * 5 + before["passenger"]
        states = places * 4 + before["destination"] + before["is_fickle"] * NUM_STATES
        result: NDArray[np.float64] = self.advantages[states, actions]
        return result

    @cached_property
    def policies(self) -> list[NDArray[np.int64]]:
        """(25,) int64 for each depot: the move of the fewest expected steps to it."""
        way = self.cells, 1.0, self.chances
        return [find_policy(*way, depot) for depot in self.depots]


class TaxiV4(Taxi):
    """Drive a taxi to the passenger, pick it up, and drop it off at its destination.

    Passengers wait at one of the depots R, G, Y and B, and want to go to another one.
    `is_rainy` makes moves uncertain: in Taxi-v4 only those that no wall stops.

    Parameters
    ----------
    rainy_probability : float
        With ``is_rainy``: the chance that a move goes in its direction, from 0 to 1.
    fickle_probability : float
        With ``fickle_passenger``: the chance that the passenger changes its
        destination, from 0 to 1.

    Sources
    -------
    Gymnasium, Taxi-v4 : 1.4.0; https://gymnasium.farama.org/environments/toy_text/taxi/
        starts, slips and changes from the same seeds, steps, rewards, infos

    Raises
    ------
    InvalidOptionError

    Notes
    -----
    The rule is that of Gymnasium 1.4.0, Taxi-v4.  It differs from `Taxi` in rain alone:
    a move that the edge or a wall stops goes nowhere, and walls stop moves to a side as
    they stop others.
    """

    rainy_probability: float = 0.8
    fickle_probability: float = 0.3

    def check_options(self) -> None:
        """Check probabilities; warn of one whose event never happens."""
        switches = {
            "rainy_probability": "is_rainy",
            "fickle_probability": "fickle_passenger",
        }
        for name, switch in switches.items():
            check_number(name, getattr(self, name), 0.0, 1.0)
            if not getattr(self, switch):
                reason = f"is ignored with {switch}=False, as in Gymnasium"
                refuse_unused(self, (name,), reason, warns=True)

    @property
    def chances(self) -> tuple[float, float, float]:
        """The chances that a move goes in its direction, and to each side of it."""
        ahead = self.rainy_probability if self.is_rainy else 1.0
        side = (1.0 - ahead) / 2.0
        return ahead, side, side

    def outcomes(self, cell: int, action: int) -> tuple[int, int, int]:
        """Return the cells to which a move leads: its direction, its left and right."""
        ahead = next_cell(cell, action)
        if ahead == cell:
            return cell, cell, cell
        left = (EAST, WEST, NORTH, SOUTH)[action]
        right = (WEST, EAST, SOUTH, NORTH)[action]
        return ahead, next_cell(cell, left), next_cell(cell, right)
