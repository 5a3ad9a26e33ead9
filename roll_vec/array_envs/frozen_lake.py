"""FrozenLake as Gymnasium plays it: one map for all, streams that go on."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from gymnasium.spaces import Discrete
from numpy.typing import NDArray

from roll_vec.array_envs.array_engine import STEP_ROWS_PER_THREAD, ArrayEngine
from roll_vec.array_envs.boards import BoardView
from roll_vec.array_envs.options import (
    OBS_MODES,
    RENDER_MODES,
    check_choice,
    check_number,
    parse_options,
    signature_of,
    smallest_limit,
)
from roll_vec.array_envs.single import BoardEnv
from roll_vec.engine import StepResult
from roll_vec.errors import InvalidOptionError
from roll_vec.infos import Infos, masked_infos
from roll_vec.kernels import frozen_lake as kernels
from roll_vec.seeding import check_seed, draw_entropy
from roll_vec.threads import run_rows

__all__ = ["FrozenLake", "FrozenLakeEngine", "FrozenLakeOptions"]

GRID_LOOKUP = {0: "P", 1: "_", 2: "O", 3: "G", 4: "X", 5: "√"}
GRID_VOCAB = {
    "P": "player",
    "_": "empty",
    "O": "hole",
    "G": "goal",
    "X": "player in hole",
    "√": "player on goal",
}
# Gymnasium's directions are its actions; ROLL's actions are one higher.
DIRECTIONS = ("Left", "Down", "Right", "Up")
ACTION_LOOKUP = dict(enumerate(DIRECTIONS))

MAPS = {
    "4x4": ("SFFF", "FHFH", "FFFH", "HFFG"),
    "8x8": (
        "SFFFFFFF",
        "FFFFFFFF",
        "FFFHFFFF",
        "FFFFFHFF",
        "FFFHFFFF",
        "FHHFFFHF",
        "FHFFHFHF",
        "FFFHFFFG",
    ),
}
_TILES = {
    b"S": kernels.ICE,
    b"F": kernels.ICE,
    b"H": kernels.HOLE,
    b"G": kernels.GOAL,
}


def parse_map(desc: Any) -> NDArray[np.bytes_]:
    """Return a map as an (H, W) array of S, F, H and G bytes.

    Raises
    ------
    InvalidOptionError
        If it is not a rectangle of these letters with a start from which a goal can
        be reached.
    """
    try:
        tiles = np.asarray(desc, dtype="c")
    except (TypeError, ValueError):
        tiles = np.empty(0, "c")
    if tiles.ndim != 2 or not tiles.size:
        message = f"desc: expected rows of one length of the letters SFHG, got {desc!r}"
        raise InvalidOptionError(message)
    unknown = sorted(set(tiles.ravel().tolist()) - set(_TILES))
    if unknown:
        shown = b"".join(unknown).decode("latin-1")
        message = (
            f"desc: expected only the letters S, F, H and G, got {shown!r} as well"
        )
        raise InvalidOptionError(message)
    neighbours = kernels.make_neighbours(*tiles.shape)
    reached = set(np.flatnonzero(tiles == b"S").tolist())
    if not reached:
        message = f"desc: expected at least one start S, got none in {desc!r}"
        raise InvalidOptionError(message)
    frontier = list(reached)
    flat = tiles.ravel()
    while frontier:
        cell = frontier.pop()
        for ahead in neighbours[cell].tolist():
            if flat[cell] in b"SF" and ahead not in reached and flat[ahead] != b"H":
                reached.add(ahead)
                frontier.append(ahead)
    if not any(flat[cell] == b"G" for cell in reached):
        message = (
            f"desc: expected a way from S to G without holes, got none in {desc!r}"
        )
        raise InvalidOptionError(message)
    return tiles


def tile_codes(desc: NDArray[np.bytes_]) -> NDArray[np.uint8]:
    """Return the (H, W) uint8 codes of a map of bytes: 1 ice, 2 hole, 3 goal."""
    codes = np.zeros(desc.shape, np.uint8)
    for letter, code in _TILES.items():
        codes[desc == letter] = code
    return codes


@dataclasses.dataclass(frozen=True)
class FrozenLakeOptions:
    """The keywords of `roll_vec/FrozenLake-v1`: Gymnasium's, and how it is shown.

    Parameters
    ----------
    desc : rows of the letters S, F, H, G, or None
        A map of one's own, instead of ``map_name``.
    map_name : str or None
        ``4x4`` or ``8x8``.
    is_slippery : bool
    success_rate : float
        Probability, from 0 to 1, of going where one wants on slippery ice.
    reward_schedule : (float, float, float)
        Rewards for reaching the goal, a hole, ice.
    obs_mode : str
        ``position`` (Gymnasium's integer), ``grid``, ``planes``, ``tiny_rgb``, ``rgb``
        or ``text``.
    render_mode : str or None
        ``human``, ``rgb_array``, ``ansi`` or ``text``.

    Raises
    ------
    InvalidOptionError
    """

    desc: Any = None
    map_name: str | None = "4x4"
    is_slippery: bool = True
    success_rate: float = 1.0 / 3.0
    reward_schedule: Sequence[float] = (1, 0, 0)
    obs_mode: str = "position"
    render_mode: str | None = None

    def __post_init__(self) -> None:
        if self.desc is not None:
            parse_map(self.desc)
        elif self.map_name is None:
            message = (
                "desc and map_name: both are None, which would be a random map; "
                "roll_vec/RandomFrozenLake-v0 has a new one from the seed each episode"
            )
            raise InvalidOptionError(message)
        else:
            check_choice("map_name", self.map_name, MAPS)
        check_number("success_rate", self.success_rate, 0.0, 1.0)
        try:
            rewards = [float(reward) for reward in self.reward_schedule]
        except (TypeError, ValueError):
            rewards = []
        if len(rewards) != 3 or not np.isfinite(rewards).all():
            message = (
                "reward_schedule: expected three finite numbers for goal, hole and "
                f"ice, got {self.reward_schedule!r}"
            )
            raise InvalidOptionError(message)
        check_choice("obs_mode", self.obs_mode, ("position", *OBS_MODES))
        check_choice("render_mode", self.render_mode, (None, *RENDER_MODES))

    @property
    def map(self) -> NDArray[np.bytes_]:
        """The (H, W) map of bytes, new."""
        if self.desc is not None:
            return parse_map(self.desc).copy()
        return np.asarray(MAPS[self.map_name or ""], dtype="c")

    @property
    def schedule(self) -> NDArray[np.float64]:
        """(3,) float64: rewards for goal, hole and ice."""
        return np.array(self.reward_schedule, np.float64)

    @property
    def action_lookup(self) -> Mapping[int, str]:
        """Names of Gymnasium's actions."""
        return ACTION_LOOKUP


def make_view(
    shape: tuple[int, int],
    lookup: Mapping[int, str],
    obs_mode: str,
    num_threads: int = 1,
) -> BoardView:
    """Return the view of a lake."""
    return BoardView(
        "frozen_lake", shape, kernels.NUM_CODES, lookup, obs_mode, num_threads
    )


class LakeEngine(ArrayEngine):
    """What both FrozenLake engines share: the step and the grids of N lakes.

    Attributes
    ----------
    maps : (n, H * W) or (1, H * W) uint8
        Tile codes of `roll_vec.kernels.frozen_lake`; one map for all in the latter.
    positions : (n,) int64
        Row * W + column.
    noise : (n, 6) uint64
        PCG64 rows that the slips are drawn from.
    """

    options: Any
    maps: NDArray[np.uint8]

    def _allocate(self, slip: NDArray[np.float64], schedule: Sequence[float]) -> None:
        self.slip = slip
        self.schedule = np.array(schedule, np.float64)
        self.neighbours = kernels.make_neighbours(*self.view.shape)
        self.positions = np.zeros(self.num_envs, np.int64)
        self.noise = np.zeros((self.num_envs, 6), np.uint64)
        self.max_steps = 0

    def _step(
        self, actions: NDArray[np.int64], skip_mask: NDArray[np.bool_]
    ) -> tuple[StepResult, dict[str, NDArray[Any]]]:
        """Step; return the result without infos, and every array of an info."""
        n = self.num_envs
        rewards, probs = np.empty(n, np.float64), np.empty(n, np.float64)
        flags = np.empty((5, n), np.bool_)
        terminations, truncations, effective, valid, successes = flags
        run_rows(
            lambda start, stop: kernels.step_rows(
                start,
                stop,
                actions,
                skip_mask,
                self.FIRST_ACTION,
                self.max_steps,
                self.maps,
                self.neighbours,
                self.slip,
                self.schedule,
                self.positions,
                self.elapsed_steps,
                self.noise,
                rewards,
                terminations,
                truncations,
                effective,
                valid,
                successes,
                probs,
            ),
            n,
            self.num_threads,
            STEP_ROWS_PER_THREAD,
        )
        self.successes = successes.copy()
        values = {
            "action_is_effective": effective,
            "action_is_valid": valid,
            "success": successes,
            "prob": probs,
        }
        return StepResult(rewards, terminations, truncations, {}), values

    def _grids(self, rows: NDArray[np.int64] | None = None) -> NDArray[np.uint8]:
        maps, positions = self.maps, self.positions
        if rows is not None:
            positions = positions[rows]
            maps = maps if len(maps) < self.num_envs else maps[rows]
        grids = np.empty((len(positions), maps.shape[1]), np.uint8)
        run_rows(
            lambda start, stop: kernels.write_grids(
                start, stop, maps, positions, grids
            ),
            len(positions),
            self.num_threads,
            STEP_ROWS_PER_THREAD,
        )
        return grids.reshape(-1, *self.view.shape)


class FrozenLakeEngine(LakeEngine):
    """N lakes with one map; see `roll_vec.engine.Engine`."""

    FIRST_ACTION: ClassVar[int] = 0
    QUERIES: ClassVar[tuple[str, ...]] = (
        "action_lookup",
        "get_all_actions",
        "ncol",
        "nrow",
        "num_env_steps",
        "P",
        "s",
    )

    def __init__(
        self,
        options: FrozenLakeOptions,
        num_envs: int,
        max_episode_steps: int | None,
        num_threads: int,
    ) -> None:
        desc = options.map
        grids = options.obs_mode != "position"
        view = make_view(
            desc.shape, GRID_LOOKUP, options.obs_mode if grids else "grid", num_threads
        )
        super().__init__(
            options,
            num_envs,
            num_threads,
            view,
            None if grids else Discrete(desc.size),
        )
        self._allocate(
            kernels.make_slip(options.is_slippery, options.success_rate),
            options.reward_schedule,
        )
        self.max_steps = smallest_limit(max_episode_steps)
        self.maps = tile_codes(desc).reshape(1, -1)
        self.start_chances = np.cumsum(start_distribution(desc))

    def reset(self, rows: NDArray[np.int64], seeds: Sequence[int | None]) -> None:
        """Seed streams or let them go on; see `Engine.reset`."""
        given = [j for j, seed in enumerate(seeds) if seed is not None]
        small = np.array([(seeds[j] or 0) & (2**64 - 1) for j in given], np.uint64)
        kernels.seed_rows(rows[given], small, self.noise)
        for j in given:
            # The kernel takes 64 bits; numpy itself seeds from more.
            if (seed := seeds[j]) is not None and seed >= 1 << 64:
                state = np.random.PCG64(seed).state["state"]
                words = [
                    number >> shift & (1 << 64) - 1
                    for number in (state["state"], state["inc"])
                    for shift in (64, 0)
                ]
                self.noise[rows[j]] = np.array([*words, 0, 0], np.uint64)
        self.advance(rows)

    def advance(self, rows: NDArray[np.int64]) -> None:
        """Go on to the next episode in some rows: draw their start cells."""
        kernels.start_rows(
            rows,
            self.start_chances,
            self.noise,
            self.positions,
            self.elapsed_steps,
        )

    def reset_infos(self, rows: NDArray[np.int64]) -> Infos:
        """Return ``prob`` 1.0 for some rows."""
        probs = np.zeros(self.num_envs)
        probs[rows] = 1.0
        return masked_infos({"prob": probs}, probs == 1.0)

    def step(
        self, actions: NDArray[np.int64], skip_mask: NDArray[np.bool_]
    ) -> StepResult:
        """Step every row but those to skip; see `Engine.step`."""
        result, values = self._step(actions, skip_mask)
        infos = masked_infos({"prob": values["prob"]}, ~skip_mask)
        return result._replace(infos=infos)

    def observe(self, out: Any = None) -> Any:
        """Return positions or boards; see `Engine.observe`."""
        if self.options.obs_mode != "position":
            return super().observe(out)
        if out is None:
            return self.positions.copy()
        np.copyto(out, self.positions)
        return out

    def observe_rows(self, rows: NDArray[np.int64]) -> list[Any]:
        """Return the positions or boards of some rows."""
        if self.options.obs_mode != "position":
            return super().observe_rows(rows)
        return self.positions[rows].tolist()  # type: ignore[no-any-return]

    def single_form(self, row: int) -> FrozenLake:
        """Return a single form in the state of one row."""
        fields = dataclasses.fields(self.options)
        env = FrozenLake(**{f.name: getattr(self.options, f.name) for f in fields})
        env.s = int(self.positions[row])
        env.num_env_steps = int(self.elapsed_steps[row])
        env._started = True
        return env


def start_distribution(desc: NDArray[np.bytes_]) -> NDArray[np.float64]:
    """Return the (H * W,) probabilities of starting in each cell of a map."""
    starts = (desc == b"S").astype(np.float64).ravel()
    distribution: NDArray[np.float64] = starts / starts.sum()
    return distribution


class FrozenLake(BoardEnv):
    """One lake: the form that `gymnasium.make("roll_vec/FrozenLake-v1")` gives.

    Equal to Gymnasium 1.4's FrozenLake-v1, step for step from the same seeds.

    Parameters
    ----------
    **keywords
        Those of `FrozenLakeOptions`.

    Notes
    -----
    Actions: 0 left, 1 down, 2 right, 3 up.  Info of a reset and a step: ``prob``, the
    probability of what happened.

    Attributes
    ----------
    desc : (H, W) array of bytes
        The map.
    nrow, ncol : int
    s : int
        The player's cell, row * ncol + column; may be set.
    lastaction : int or None
    initial_state_distrib : (H * W,) float64
    """

    first_action = 0

    def __init__(self, **keywords: Any) -> None:
        options = parse_options(FrozenLakeOptions, keywords)
        self.desc = options.map
        self.nrow, self.ncol = self.desc.shape
        grids = options.obs_mode != "position"
        view = make_view(
            self.desc.shape, GRID_LOOKUP, options.obs_mode if grids else "grid"
        )
        super().__init__(options, view)
        if not grids:
            self.observation_space = Discrete(self.desc.size)
        schedule = options.reward_schedule
        self.reward_range = (min(schedule), max(schedule))
        self.initial_state_distrib = start_distribution(self.desc)
        self.s = 0
        self.lastaction: int | None = None
        self._tiles = tile_codes(self.desc).reshape(1, -1)
        self._neighbours = kernels.make_neighbours(self.nrow, self.ncol)
        self._slip = kernels.make_slip(options.is_slippery, options.success_rate)
        self._schedule = options.schedule
        self._start_chances = np.cumsum(self.initial_state_distrib)

    __signature__ = signature_of(FrozenLakeOptions)

    @cached_property
    def P(self) -> dict[int, dict[int, list[tuple[float, int, float, bool]]]]:
        """Transitions, ``P[s][a]``: (probability, next s, reward, terminated) each."""
        schedule = self.options.reward_schedule
        rewards = {
            kernels.GOAL: schedule[0],
            kernels.HOLE: schedule[1],
            kernels.ICE: schedule[2],
        }
        chances = self._slip[0].tolist()
        flat = self._tiles.ravel().tolist()

        def outcomes(state: int, action: int) -> list[tuple[float, int, float, bool]]:
            if flat[state] != kernels.ICE:
                return [(1.0, state, 0, True)]
            found = []
            for outcome, chance in enumerate(chances):
                turned = (action + outcome - len(chances) // 2) % 4
                ahead = int(self._neighbours[state, turned])
                ended = flat[ahead] != kernels.ICE
                found.append((chance, ahead, rewards[flat[ahead]], ended))
            return found

        return {s: {a: outcomes(s, a) for a in range(4)} for s in range(len(flat))}

    def _grid(self) -> NDArray[np.uint8]:
        grid = np.empty((1, self.desc.size), np.uint8)
        kernels.write_grids(0, 1, self._tiles, np.array([self.s], np.int64), grid)
        return grid.reshape(self.desc.shape)

    def _observe(self) -> Any:
        if self.options.obs_mode == "position":
            return self.s
        return super()._observe()

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Any, dict[str, Any]]:
        """Start a new episode, as Gymnasium does.

        Parameters
        ----------
        seed : int or None
            An int seeds ``np_random``; None lets it go on.
        options : dict or None
            Ignored.

        Raises
        ------
        InvalidSeedError
        """
        if seed is not None:
            seed = check_seed(seed)
        elif self._np_random is None:
            seed = draw_entropy()
        super().reset(seed=seed)
        self.s = kernels.draw(self._start_chances, self.np_random.random())
        self.lastaction = None
        self.num_env_steps = 0
        self._started = True
        self._show()
        return self._observe(), {"prob": 1.0}

    def step(self, action: int) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        """Go in one direction, or slip.

        Parameters
        ----------
        action : int
            0 to 3.

        Returns
        -------
        observation, reward, terminated, truncated, info
            Terminated in a hole or on the goal; never truncated here.

        Raises
        ------
        InvalidActionError, ResetNeededError
            Nothing has moved then.
        """
        action = self._check_action(action)
        self.s, reward, terminated, prob = kernels.step_row(
            self._tiles,
            0,
            self._neighbours,
            self.s,
            action,
            self.np_random.random(),
            self._slip,
            self._schedule,
        )
        self.lastaction = action
        self.num_env_steps += 1
        self._show()
        return self._observe(), reward, terminated, False, {"prob": prob}
