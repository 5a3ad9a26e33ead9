"""One person's game: an environment, its score, and for boards an undo history."""

from __future__ import annotations

import copy
from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from gymnasium.spaces import Text

from roll_vec.registration import ENVIRONMENTS

# Keys of infos that the screen shows already or that `Score.details` puts into words.
_HIDDEN_KEYS = frozenset(
    (
        "action_content",
        "action_is_effective",
        "action_is_valid",
        "env_instruction",
        "prob",
        "success",
        "think_content",
    )
)
_DIRECTIONS = frozenset(("up", "down", "left", "right"))
_UNDO_STEPS = 1000
_SHORT = 60


def action_names(env: Any) -> dict[str, int]:
    """Return the actions of an environment by their names, if they have names."""
    bare = env.unwrapped
    lookup: Mapping[int, str] = (
        getattr(bare, "action_lookup", None)
        or getattr(bare, "ACTION_LOOKUP", None)
        or {}
    )
    return {str(name).strip(): action for action, name in lookup.items()}


def has_directions(env: Any) -> bool:
    """Return whether the actions are integers, all named after directions."""
    names = action_names(env)
    is_text = isinstance(env.action_space, Text)
    return (
        bool(names) and not is_text and _DIRECTIONS.issuperset(map(str.casefold, names))
    )


@dataclass(frozen=True)
class Score:
    """The episode so far: steps, return, and the results of the last step."""

    steps: int = 0
    total: float = 0.0
    terminated: bool = False
    truncated: bool = False
    direction: str = ""
    reward: float = 0.0
    observation: Any = None
    info: Mapping[str, Any] = field(default_factory=dict)

    @property
    def is_over(self) -> bool:
        """True: the episode has ended."""
        return self.terminated or self.truncated

    @property
    def is_solved(self) -> bool:
        """True: the last step was a success.

        If its info does not say, a termination with a positive reward is a success.
        """
        is_rewarded_end = self.terminated and self.reward > 0
        return bool(self.info.get("success", is_rewarded_end))

    def outcome(self) -> tuple[str, str]:
        """Return how the episode ended, and the colour of that text."""
        steps = "1 step" if self.steps == 1 else f"{self.steps} steps"
        text = f"in {steps}, return {self.total:g}"
        if self.is_solved:
            return f"Solved {text}", "1;32"
        if self.terminated:
            return f"Lost {text}", "1;31"
        return f"Out of steps: {text}", "1;31"

    def details(self) -> list[str]:
        """Return the short entries of the info, each as a few words."""
        details = []
        if not self.info.get("action_is_valid", True):
            details.append("no valid action")
        elif not self.info.get("action_is_effective", True):
            details.append("nothing changed")
        for key, value in self.info.items():
            if key in _HIDDEN_KEYS:
                continue
            if isinstance(value, str):
                if value and len(value) <= _SHORT and value.isprintable():
                    details.append(f"{key} {value}")
            elif isinstance(value, (bool, np.bool_, int, np.integer)):
                details.append(f"{key} {value}")
            elif isinstance(value, (float, np.floating)):
                details.append(f"{key} {value:.3g}")
        return details


class Game:
    """An environment, the seed of its level, and the score.

    Parameters
    ----------
    env : gymnasium.Env
        The game closes it.
    seed : int
        Seed of the first level.

    Attributes
    ----------
    first_info : mapping
        The info of the level's reset.
    """

    def __init__(self, env: Any, seed: int) -> None:
        self.env = env
        self.seed = seed
        self.score = Score()
        self.first_info: Mapping[str, Any] = {}
        self.start(seed)

    def start(self, seed: int) -> None:
        """Begin the level of a seed."""
        observation, info = self.env.reset(seed=seed)
        self.seed, self.first_info = seed, info
        self.score = Score(observation=observation, info=info)

    def step(self, action: Any, direction: str = "") -> None:
        """Take an action; the episode must not have ended."""
        observation, reward, terminated, truncated, info = self.env.step(action)
        self.score = replace(
            self.score,
            steps=self.score.steps + 1,
            total=self.score.total + float(reward),
            terminated=bool(terminated),
            truncated=bool(truncated),
            direction=direction,
            reward=float(reward),
            observation=observation,
            info=info,
        )

    def compile_kernels(self) -> None:
        """Step a copy of the environment, so that the kernels are compiled.

        Compilation takes seconds and writes a notice on stderr.
        """
        env_id = "" if self.env.spec is None else self.env.spec.id
        if env_id in ENVIRONMENTS and not ENVIRONMENTS[env_id].pooled:
            twin = copy.deepcopy(self.env)
            twin.step(twin.action_space.sample())

    def symbols(self) -> list[str]:
        """Return the symbols of a board with their meanings, a few words each."""
        bare = self.env.unwrapped
        meanings = getattr(bare, "symbol_meanings", None)
        if meanings is None:
            vocab = getattr(bare, "grid_vocab", None)
            meanings = vocab.items() if isinstance(vocab, Mapping) else ()
        return [f"{str(symbol).strip()} {meaning}" for symbol, meaning in meanings]

    def view(self) -> str:
        """Return the environment as text: rendered, or else its observation."""
        frame = self.env.render() if self.env.render_mode is not None else None
        return frame if isinstance(frame, str) else str(self.score.observation)

    def close(self) -> None:
        """Close the environment."""
        self.env.close()


class BoardGame(Game):
    """A game of directions whose moves can be taken back.

    The environment is copied and replaced.
    """

    def __init__(self, env: Any, seed: int) -> None:
        names = action_names(env)
        self._actions = {name.casefold(): action for name, action in names.items()}
        self._past: deque[tuple[Any, Score]] = deque(maxlen=_UNDO_STEPS)
        super().__init__(env, seed)

    def start(self, seed: int) -> None:
        """Begin the level of a seed; nothing before it can be undone."""
        super().start(seed)
        self._past.clear()

    def move(self, direction: str) -> bool:
        """Step in a direction; return False where there is no such action or move."""
        action = self._actions.get(direction)
        if action is None or self.score.is_over:
            return False
        # A deep copy has the random stream as well: a slip that is undone and tried
        # again slips again.
        self._past.append((copy.deepcopy(self.env), self.score))
        self.step(action, direction)
        return True

    def undo(self) -> bool:
        """Go back one step; return False at the beginning."""
        if not self._past:
            return False
        self.env, self.score = self._past.pop()
        return True
