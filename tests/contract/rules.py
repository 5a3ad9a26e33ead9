"""Rules as users write them: arrays, events, masks, levels, actions in a Box."""

from __future__ import annotations

import string

import numpy as np
from gymnasium.spaces import Box, Dict, Discrete, Text

import roll_vec
from tests.contract import random_rules


class Corridor(roll_vec.ArrayEnv):
    """Find the door: it is at one end of a corridor."""

    length: int = 5
    state = {"position": np.int32, "door": np.int32, "success": np.bool_}
    actions = ("left", "right")
    infos = ("position", "success")
    reset_infos = ("position",)
    invalid_reward = -1.5
    moves = (-1, 1)

    @property
    def last(self):
        return self.length - 1

    @property
    def observation_space(self):
        return Box(0, self.length, (2,), np.int32)

    @roll_vec.rule
    def begin(env, rng):
        env.position = env.length // 2
        env.door = rng.integers(2) * env.last

    @roll_vec.rule
    def step(env, action, rng):
        env.position = min(max(env.position + env.moves[action], 0), env.last)
        env.success = env.position == env.door
        return float(env.success), env.success

    @roll_vec.rule
    def observe(env, out):
        out[0] = env.position
        out[1] = env.door

    def solve(self, env):
        way = env.door - env.position
        return [int(way > 0)] * abs(way)


class Race(roll_vec.GridEnv, Corridor):
    """Find the door within a number of steps that is drawn; observe two texts."""

    tile_size: int = 3
    cells = (
        roll_vec.Cell(".", "floor", (230, 230, 220)),
        roll_vec.Cell("@", "player", (200, 60, 60)),
        roll_vec.Cell("D", "door", (60, 60, 160)),
    )
    state = {**Corridor.state, "steps": np.int32, "most": np.int32}
    state["moved"] = (np.int8, 2)
    infos = ("success",)
    reset_infos = ("most",)
    texts = {"goal": "door", "note": "moved"}

    @property
    def observation_space(self):
        texts: dict = {name: Text(99, charset=string.printable) for name in self.texts}
        return Dict({**texts, "numbers": Box(0, 1000, (4,), np.int32)})

    @roll_vec.rule
    def begin(env, rng):
        Corridor.begin(env, rng)
        env.most = env.max_steps - rng.integers(6)

    @roll_vec.rule
    def step(env, action, rng):
        reward, terminated = Corridor.step(env, action, rng=rng)
        env.steps += 1
        env.moved[action] += action + 1
        reward -= env.steps / env.max_steps
        return reward, terminated, env.steps >= env.most

    @roll_vec.rule
    def observe(env, out):
        Corridor.observe(env, out=out.numbers)
        out.numbers[2:] = env.max_steps, env.most

    @property
    def grid_shape(self):
        """Rows and columns of pictures."""
        return 1, self.length

    @property
    def far(self):
        """The last column, which no other rule reads."""
        return self.length - 1

    @property
    def tiles(self):
        """The tiles of the cells, each of a colour."""
        tiles = np.zeros((3, self.tile_size, self.tile_size, 3), np.uint8)
        tiles[1:] = 70
        tiles[2, :, 0] = 90
        return tiles

    @roll_vec.rule
    def draw(env, out):
        out[0, env.door] = 2
        out[0, env.far - env.position] = 1

    def goal_text(self, door):
        """Return where the door is."""
        return f"go {'right' if door else 'left'}"

    def note_text(self, moved):
        """Return how often the player went left and right."""
        return " ".join(map(str, moved.tolist()))

    def text(self, env):
        return f"at {env.position} after {env.steps} of {env.max_steps}"


@roll_vec.rule
def spawn(env, rng):
    """Put a 1, now and then a 2, on one of the empty cells."""
    empty = 0
    for r in range(env.size):
        for c in range(env.size):
            empty += env.board[r, c] == 0
    if empty > 0:
        number = rng.integers(empty)
        for r in range(env.size):
            for c in range(env.size):
                if env.board[r, c] == 0:
                    if number == 0:
                        env.board[r, c] = 2 if rng.random() < 0.1 else 1
                    number -= 1


class Merge(roll_vec.ArrayEnv):
    """Numbers come up on a board; an action takes those of one column away."""

    size: int = 3
    state = {
        "board": (np.uint8, ("size", "size")),
        "taken": np.int16,
        "success": np.bool_,
    }
    actions = 3
    infos = ("success", "taken")

    @property
    def observation_space(self):
        board = Box(0, 2, (self.size, self.size), np.uint8)
        return Dict({"board": board, "taken": Discrete(1000)})

    @roll_vec.rule
    def begin(env, rng):
        spawn(env, rng)
        spawn(env, rng)

    @roll_vec.rule
    def step(env, action, rng):
        total = 0
        for r in range(env.size):
            total += env.board[r, action]
            env.board[r, action] = 0
        env.taken += total
        spawn(env, rng)
        env.success = env.taken >= 8
        return total * 0.1, env.success

    @roll_vec.rule
    def observe(env, out):
        for r in range(env.size):
            for c in range(env.size):
                out.board[r, c] = env.board[r, c]
        out.taken = env.taken

    @roll_vec.rule
    def legal(env, mask):
        for c in range(env.size):
            for r in range(env.size):
                if env.board[r, c] > 0:
                    mask[c] = 1


class Mass(roll_vec.ArrayEnv):
    """A mass that forces push; an action is an array."""

    state = {"x": (np.float32, 3)}
    actions = Box(-1, 1, (3,), np.float32)
    observation_space = Box(-np.inf, np.inf, (3,), np.float32)

    @roll_vec.rule
    def begin(env, rng):
        for i in range(3):
            env.x[i] = rng.normal()

    @roll_vec.rule
    def step(env, action, rng):
        total = 0.0
        for i in range(3):
            env.x[i] += 0.5 * action[i]
            total += env.x[i] ** 2
        return -total, total > 6.0

    @roll_vec.rule
    def observe(env, out):
        for i in range(3):
            out[i] = env.x[i]


class Hunt(roll_vec.ArrayEnv):
    """Find the highest of some numbers, a level that a method draws."""

    size: int = 4
    state = {
        "numbers": (np.int16, "size"),
        "first": np.int8,
        "place": np.int8,
        "is_higher": np.bool_,
        "value": np.int32,
        "success": np.bool_,
    }
    level_variables = ("numbers", "first")
    actions = 3
    infos = ("value", "success", "is_higher", "place")
    # Two of them in another order.
    reset_infos = ("place", "is_higher", "first")
    takes_invalid_actions = True

    def draw_levels(self, num_threads, slices, seeds):
        """Return the numbers of each seed, and where it begins."""
        assert len(np.unique(seeds)) == len(seeds)
        rows = [
            np.random.default_rng(seed).permutation(self.size).astype(np.int16)
            for seed in seeds.tolist()
        ]
        return np.stack(rows), (seeds % np.uint64(self.size)).astype(np.int8)

    @property
    def observation_space(self):
        return Box(-(1 << 15), 1 << 15, (self.size + 1,), np.int32)

    @roll_vec.rule
    def begin(env, rng, seed):
        env.place = (env.first + rng.integers(2)) % env.size
        env.is_higher = seed % 2 == 1

    @roll_vec.rule
    def step(env, action, rng):
        before = env.numbers[env.place]
        env.place = (env.place + max(action, 0) + rng.integers(2)) % env.size
        env.value = env.numbers[env.place]
        env.is_higher = env.value > before
        env.numbers[env.place] -= 1
        env.success = env.value == env.size - 1
        return env.value / 4, env.success

    @roll_vec.rule
    def observe(env, out):
        out[:-1] = env.numbers
        out[-1] = env.place

    @roll_vec.rule
    def legal(env, mask):
        mask[:] = env.numbers[env.place] < env.size - 1


FLOOR, WALL, PLAYER, GOAL = range(4)


class Walk(roll_vec.GridEnv):
    """Walk past the walls to the goal.

    Rewards
    -------
    1
        The goal.

    Episode end
    -----------
    terminated
        The player is on the goal.

    Differences
    -----------
    - Walls are new, and
      they stay.
    - No diagonal moves.
    """

    size: int = 4
    state = {
        "board": (np.uint8, ("size", "size")),
        "place": (np.int8, 2),
        "success": np.bool_,
    }
    actions = ("up", "down", "left", "right")
    infos = ("success",)
    cells = (
        roll_vec.Cell(".", "floor", (230, 230, 220)),
        roll_vec.Cell("#", "wall", (60, 60, 60), "2"),
        roll_vec.Cell("@", "player", (200, 60, 60), "1;31"),
        roll_vec.Cell("G", "goal", (60, 160, 60)),
    )

    @roll_vec.rule
    def begin(env, rng):
        for r in range(env.size):
            for c in range(env.size):
                env.board[r, c] = WALL if rng.random() < 0.2 else FLOOR
        env.board[0, 0] = PLAYER
        env.board[env.size - 1, env.size - 1] = GOAL

    @roll_vec.rule
    def step(env, action, rng):
        r = env.place[0] + (action == 1) - (action == 0)
        c = env.place[1] + (action == 3) - (action == 2)
        if not (0 <= r < env.size and 0 <= c < env.size) or env.board[r, c] == WALL:
            return -0.5, False
        env.success = env.board[r, c] == GOAL
        env.board[env.place[0], env.place[1]] = FLOOR
        env.board[r, c] = PLAYER
        env.place[0] = r
        env.place[1] = c
        return float(env.success), env.success


FAMILIES = {
    f"tests_rules/{cls.__name__}-v0": cls
    for cls in (Corridor, Race, Merge, Mass, Hunt, Walk)
}
RANDOM = {
    f"tests_rules/Random{k}-v0": getattr(random_rules, f"Random{k}")
    for k in range(random_rules.COUNT)
}


def register_families(classes=FAMILIES) -> None:
    """Register the ids of these classes."""
    for id, cls in classes.items():
        roll_vec.register(id, cls, max_episode_steps=12)
