"""Episodes of MiniGrid's own environments, and our batches in each autoreset mode."""

from __future__ import annotations

import hashlib
import signal
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stdout
from dataclasses import dataclass
from io import StringIO
from itertools import pairwise
from typing import Any

import gymnasium
import numpy as np
from gymnasium.vector import AutoresetMode

import roll_vec
from roll_vec.evaluation import OraclePolicy
from roll_vec.registration import ENVIRONMENTS
from tests.golden import update_digest

IDS = [id for id, known in ENVIRONMENTS.items() if known.family]
# No test level of a split, and no level of a tutorial.
SEED = 7_000_000


@dataclass
class Episodes:
    """What environments return: row t is of step t, column i of environment i.

    ``starts`` has the observations that a reset returns, at the first call and after
    the steps that end an episode; elsewhere that of the step itself.  ``grids`` has all
    cells and what is carried, at the end (environment, step, "end") and the start of
    episodes; None: they were not read.
    """

    actions: np.ndarray
    observations: dict[str, Any]
    starts: dict[str, Any]
    rewards: np.ndarray
    terminations: np.ndarray
    truncations: np.ndarray
    seeds: list[int]
    grids: dict[Any, Any] | None = None

    @property
    def ends(self) -> np.ndarray:
        """Whether a step ends an episode, (steps, environments)."""
        return self.terminations | self.truncations

    @property
    def num_episodes(self) -> int:
        """The number of episodes that end."""
        return int(self.ends.sum())

    @property
    def num_successes(self) -> int:
        """The number of steps with a reward above 0."""
        return int((self.rewards > 0).sum())

    def digest(self) -> str:
        """Return a digest of what they return."""
        digest, parts = hashlib.sha256(), dict(vars(self))
        for name in ("actions", "seeds", "grids"):
            del parts[name]
        update_digest(digest, parts)
        return digest.hexdigest()[:16]


LEFT, RIGHT, FORWARD, PICKUP, DROP, TOGGLE, DONE = range(7)
_STEPS = ((1, 0), (0, 1), (-1, 0), (0, -1))


class Uniform:
    """All actions alike."""

    def __init__(self, env: Any, number: int) -> None:
        self.env, self.rng = env, np.random.default_rng([SEED, number])

    def __call__(self) -> int:
        return int(self.rng.integers(self.env.action_space.n))


class Idle(Uniform):
    """To the left, so that most episodes last until their limit."""

    def __call__(self) -> int:
        return LEFT


class Seeker(Uniform):
    """Goes to things and uses them; a fifth of the actions are random."""

    plan: list[int] = []  # noqa: RUF012

    def __call__(self) -> int:
        if self.rng.random() < 0.2:
            self.plan = []
            return super().__call__()
        self.plan = self.plan or self.make_plan()
        action = self.plan.pop(0) if self.plan else super().__call__()
        return action if action < self.env.action_space.n else super().__call__()

    def make_plan(self) -> list[int]:
        """Return the actions on a shortest way to a thing, and what to do there."""
        env = self.env
        cells, width = env.grid.grid, env.grid.width
        start = tuple(map(int, env.agent_pos))
        here = start[0] + start[1] * width
        wanted = [
            k for k, cell in enumerate(cells) if k != here and self.is_wanted(cell)
        ]
        if not wanted:
            return []
        goal = wanted[self.rng.integers(len(wanted))]
        target = goal % width, goal // width
        before, queue = {start: None}, [start]
        for x, y in queue:
            for dx, dy in _STEPS:
                cell = x + dx, y + dy
                if cell == target:
                    before[target] = x, y
                    return self.walk(before, target)
                thing = env.grid.get(*cell)
                is_free = thing is None or (
                    thing.can_overlap() and thing.type != "lava"
                )
                if is_free and cell not in before:
                    before[cell] = x, y
                    queue.append(cell)
        return []

    def is_wanted(self, cell: Any) -> bool:
        """Return whether a cell has a thing to use, or is empty and things are held."""
        if cell is None:
            return self.env.carrying is not None and self.rng.random() < 0.1
        return cell.type not in ("wall", "lava", "floor")

    def walk(self, before: dict[Any, Any], target: tuple[int, int]) -> list[int]:
        """Return the actions along a way, and that of its end."""
        way = [target]
        while before[way[0]] is not None:
            way.insert(0, before[way[0]])
        actions, direction = [], int(self.env.agent_dir)
        for (x, y), (x_2, y_2) in pairwise(way):
            new = _STEPS.index((x_2 - x, y_2 - y))
            turns = (new - direction) % 4
            actions += [LEFT] if turns == 3 else [RIGHT] * turns
            actions.append(FORWARD)
            direction = new
        thing = self.env.grid.get(*target)
        kind = "" if thing is None else thing.type
        if kind == "door":
            return actions if thing.is_open else [*actions[:-1], TOGGLE, FORWARD]
        if kind == "box" and self.rng.random() < 0.5:
            return [*actions[:-1], TOGGLE]
        use = {"": DROP, "goal": FORWARD}.get(kind, PICKUP)
        return [*actions[:-1], use]


class Recorded:
    """Actions that were drawn before."""

    def __init__(self, actions: np.ndarray) -> None:
        self.actions = iter(actions.tolist())

    def __call__(self) -> int:
        return next(self.actions)


def record_solver(id: str, steps: int, num_envs: int) -> np.ndarray:
    """Return (steps, num_envs) actions of our solver; a twentieth are random."""
    envs = roll_vec.make_vec(id, num_envs, autoreset_mode="SameStep")
    envs.reset(seed=SEED)
    policy, rng = OraclePolicy(envs), np.random.default_rng(SEED)
    actions = np.zeros((steps, num_envs), np.int64)
    for row in actions:
        drawn = rng.integers(envs.single_action_space.n, size=num_envs)
        row[:] = np.where(rng.random(num_envs) < 0.05, drawn, policy(None))
        envs.step(row)
    envs.close()
    return actions


WAYS = {"uniform": Uniform, "seeker": Seeker, "idle": Idle}


_PARTS = ("image", "direction", "mission")


def _collect(rows: list[list[dict[str, Any]]]) -> dict[str, Any]:
    """Return the parts of observations as arrays, missions as lists."""
    parts = {
        "image": np.array([[each["image"] for each in row] for row in rows], np.uint8),
        "direction": np.array(
            [[int(each["direction"]) for each in row] for row in rows]
        ),
    }
    return {**parts, "mission": [[each["mission"] for each in row] for row in rows]}


@contextmanager
def _silence() -> Iterator[None]:
    """Leave out what BabyAI prints of levels that it rejects."""
    with redirect_stdout(StringIO()):
        yield


def make_original(id: str, **keywords: Any) -> Any:
    """Return MiniGrid's own environment of an id, without Gymnasium's wrappers.

    Not every class takes ``see_through_walls``, which is set afterwards.
    """
    import minigrid  # noqa: F401  registers the ids

    name = id.removeprefix("roll_vec/")
    value = keywords.pop("see_through_walls", None)
    env = gymnasium.make(name, disable_env_checker=True, **keywords).unwrapped
    if value is not None:
        env.see_through_walls = value
    return env


@_silence()
def longest_limit(id: str, num_envs: int) -> int:
    """Return the largest limit of the first episodes; in BabyAI they differ."""
    env = make_original(id)
    limits = []
    for number in range(num_envs):
        env.reset(seed=SEED + number)
        limits.append(env.max_steps)
    return max(limits)


@_silence()
def play_original(
    id: str, way: str | np.ndarray, steps: int, num_envs: int, **keywords: Any
) -> Episodes:
    """Play MiniGrid's own environments of an id.

    Number i has the seed ``SEED + i``, or the next thousand if a reset never returns.
    The way is a name of `WAYS`, or (steps, num_envs) actions.
    """
    columns, seeds, grids = [], [], {}
    for number in range(num_envs):
        env, seed = make_original(id, **keywords), SEED + number
        while True:
            if isinstance(way, str):
                policy = WAYS[way](env, number)
            else:
                policy = Recorded(way[:, number])
            try:
                column = _play_column(env, policy, steps, seed)
                break
            except _EndlessResetError:
                seed += 1000
        columns.append(column[:-1])
        seeds.append(seed)
        grids.update({(number, *key): grid for key, grid in column[-1].items()})
        env.close()
    actions, results, starts = (
        list(zip(*each, strict=True)) for each in zip(*columns, strict=True)
    )
    numbers = [np.array([[r[k] for r in row] for row in results]) for k in (1, 2, 3)]
    return Episodes(
        np.array(actions),
        _collect([[result[0] for result in row] for row in results]),
        _collect(starts),
        numbers[0].astype(np.float64),
        *numbers[1:],
        seeds,
        grids,
    )


def _play_column(env: Any, policy: Any, steps: int, seed: int) -> tuple[Any, ...]:
    """Return the actions, results, starts and grids of one environment."""
    starts, results, actions = [_reset(env, seed)], [], []
    grids = {(-1, "start"): _original_grid(env)}
    for step in range(steps):
        actions.append(policy())
        results.append(env.step(actions[-1]))
        start, *_ = result = results[-1]
        if result[2] or result[3]:
            grids[step, "end"] = _original_grid(env)
            start = _reset(env)
            grids[step, "start"] = _original_grid(env)
        starts.append(start)
    return actions, results, starts, grids


class _EndlessResetError(Exception):
    """MiniGrid looks for a place of the agent in a room that has none."""


def _reset(env: Any, seed: int | None = None) -> Any:
    """Return the first observation; levels take milliseconds, and at most seconds."""

    def stop(*_: Any) -> None:
        raise _EndlessResetError

    before = signal.signal(signal.SIGVTALRM, stop)
    signal.setitimer(signal.ITIMER_VIRTUAL, 5)
    try:
        return env.reset(seed=seed)[0]
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        signal.signal(signal.SIGVTALRM, before)


def _original_grid(env: Any) -> list[Any]:
    thing = env.carrying
    carried = (1, 0, 0) if thing is None else thing.encode()
    return [env.grid.encode().tolist(), [*map(int, carried)]]


def _grid(env_grid: Any, carrying: Any) -> list[Any]:
    """Return MiniGrid's form of all cells, and of what is carried."""
    codes = np.append(env_grid, np.uint32(carrying))
    types, colours, states = codes & 15, codes >> 4 & 7, codes >> 7 & 3
    cells = np.stack([np.where(codes == 0, 1, types), colours, states], -1)
    return [cells[:-1].reshape(*env_grid.shape, 3).tolist(), cells[-1].tolist()]


def play_ours(
    id: str, actions: np.ndarray, seeds: list[int], mode: AutoresetMode, **keywords: Any
) -> Episodes:
    """Play the same episodes in a batch of ours."""
    steps, num_envs = actions.shape
    envs = roll_vec.make_vec(id, num_envs, autoreset_mode=mode, **keywords)
    first, _ = envs.reset(seed=seeds)
    play = {
        AutoresetMode.NEXT_STEP: _play_next_step,
        AutoresetMode.SAME_STEP: _play_same_step,
        AutoresetMode.DISABLED: _play_disabled,
    }[mode]
    shape = (steps, num_envs)
    rewards, ends = np.zeros(shape), np.zeros((2, *shape), bool)
    results: list[list[Any]] = [[None] * num_envs for _ in range(steps)]
    starts = [_rows(first), *([None] * num_envs for _ in range(steps))]
    grids: dict[Any, Any] = {}
    for row, t, *numbers, last, start in play(envs, actions, grids):
        rewards[t, row], ends[0, t, row], ends[1, t, row] = numbers
        results[t][row], starts[t + 1][row] = last, start
    envs.close()
    parts = _collect(results), _collect(starts), rewards, *ends
    return Episodes(actions, *parts, seeds, grids or None)


def _rows(observations: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the observations of a batch one by one."""
    image, direction = observations["image"].copy(), observations["direction"].tolist()
    columns = zip(image, direction, observations["mission"], strict=True)
    return [dict(zip(_PARTS, each, strict=True)) for each in columns]


def _read_grids(envs: Any, rows: Any) -> list[Any]:
    grids, carried = envs.get_attr("grid"), envs.get_attr("carrying")
    return [_grid(grids[i], carried[i]) for i in rows]


def _play_same_step(envs: Any, actions: np.ndarray, grids: dict[Any, Any]) -> Any:
    for t, row in enumerate(actions):
        observations, *numbers, infos = envs.step(row)
        rows, ends = _rows(observations), numbers[1] | numbers[2]
        for i in range(len(rows)):
            last = infos["final_obs"][i] if ends[i] else rows[i]
            yield (i, t, *(each[i] for each in numbers), last, rows[i])


def _play_disabled(envs: Any, actions: np.ndarray, grids: dict[Any, Any]) -> Any:
    def read(t: int, time: str, rows: Any) -> None:
        for i, grid in zip(rows, _read_grids(envs, rows), strict=True):
            grids[i, t, time] = grid

    read(-1, "start", range(envs.num_envs))
    for t, row in enumerate(actions):
        observations, *numbers, _ = envs.step(row)
        rows, ends = _rows(observations), numbers[1] | numbers[2]
        starts = rows
        if ends.any():
            ended = np.flatnonzero(ends).tolist()
            read(t, "end", ended)
            starts = _rows(envs.reset(options={"reset_mask": ends})[0])
            read(t, "start", ended)
        for i in range(len(rows)):
            yield (i, t, *(each[i] for each in numbers), rows[i], starts[i])


def _play_next_step(envs: Any, actions: np.ndarray, grids: dict[Any, Any]) -> Any:
    steps, num_envs = actions.shape
    # The next step of each environment, and what the last one returned.
    times, ended, numbers_of = np.zeros(num_envs, int), np.zeros(num_envs, bool), {}
    columns = np.arange(num_envs)
    while times.min() < steps or ended.any():
        row = actions[np.minimum(times, steps - 1), columns]
        observations, *numbers, _ = envs.step(row)
        rows = _rows(observations)
        for i in range(num_envs):
            if ended[i]:
                t, *results = numbers_of.pop(i)
                yield (i, t, *results, rows[i])
                assert [each[i] for each in numbers] == [0, False, False]
                ended[i] = False
            elif times[i] < steps:
                results = (times[i], *(each[i] for each in numbers), rows[i])
                times[i] += 1
                ended[i] = numbers[1][i] or numbers[2][i]
                if ended[i]:
                    numbers_of[i] = results
                else:
                    yield (i, *results, rows[i])


def assert_equal(ours: Episodes, theirs: Episodes) -> None:
    """Compare two plays and name the first difference."""
    for name in ("rewards", "terminations", "truncations"):
        _assert_equal(getattr(ours, name), getattr(theirs, name), name)
    for name in ("starts", "observations"):
        for part in reversed(_PARTS):
            mine, other = (np.array(getattr(x, name)[part]) for x in (ours, theirs))
            _assert_equal(mine, other, f"{part} of {name}")
    if ours.grids is not None and theirs.grids is not None:
        assert ours.grids.keys() == theirs.grids.keys()
        for key, grid in theirs.grids.items():
            assert ours.grids[key] == grid, f"grid of {key}"


def _assert_equal(ours: np.ndarray, theirs: np.ndarray, name: str) -> None:
    if not np.array_equal(ours, theirs):
        t, i = np.argwhere(ours != theirs)[0][:2]
        pair = f"{ours[t, i]}\nexpected\n{theirs[t, i]}"
        raise AssertionError(f"{name}: step {t} of environment {i}:\n{pair}")
