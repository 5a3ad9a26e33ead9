"""TRL's environments: the methods of an instance are the tools that the model calls.

Interface: TRL 1.16, `trl/trainer/grpo_trainer.py`.  The trainer calls the factory for
as many instances as a batch has rows, and ``reset(**row)`` of each for each batch.
Every public method of the class but `reset` and `get_reward` becomes a tool: the model
reads its name, its types and its docstring, which has Google's form.  After a rollout
`get_reward` returns its reward.  An instance can be copied and pickled at any time.

With ``obs_mode="rgb"`` a game on a grid shows pictures: `reset` and the tool return
lists of parts, texts and pictures, as TRL takes them for models that see.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

import gymnasium

from roll_vec.envs.webshop import WebShop
from roll_vec.errors import InvalidOptionError, InvalidSeedError
from roll_vec.objects.base_envs import BaseDiscreteActionEnv
from roll_vec.options import check_choice, check_int
from roll_vec.recordings.readers.trl import EPISODE_OVER
from roll_vec.registration import find_registered
from roll_vec.render.png import import_pillow, to_image
from roll_vec.seeding import check_seed, episode_seed
from roll_vec.trajectories import to_json

__all__ = ["environment_factory", "log_episodes"]

CALL_TOOLS = "Act by calling a tool, once for each action."
"""A line below the game's instructions, which ask for an answer in the text."""
# Of games on grids.
OBS_MODES = ("text", "rgb")


class Tasks:
    """The tasks of TRL's rows: members of a group have one row, and get one seed."""

    def __init__(self, group_size: int, seed: int) -> None:
        self._group_size = check_int("group_size", group_size, 1)
        self._seed = check_seed(seed)
        self._counts: dict[int, int] = {}

    def seed_of(self, row: Mapping[str, Any]) -> int:
        """Return the seed of the episode that a reset with a row begins.

        TRL repeats a row for each member of its group, in one batch.  The digest of the
        row is the seed of a stream.  Its resets, in groups of ``group_size``, begin the
        episodes of the stream one after the other, whatever other rows come in between.

        Raises
        ------
        InvalidSeedError
            If ``seed`` is no seed, or a row has none and there are several processes.
        """
        seed = row.get("seed")
        if seed is not None:
            return check_seed(seed)
        if int(os.environ.get("WORLD_SIZE", "1")) > 1:
            accepted = "a column of the data set with the seed of each row's task"
            hint = ": several processes may share a group, and only the row joins them"
            raise InvalidSeedError.expected("seed", accepted, seed, hint)
        # The names of types stand for images: their repr differs between copies.
        text = json.dumps([self._seed, row], default=lambda each: type(each).__name__)
        stream = int.from_bytes(hashlib.sha256(text.encode()).digest()[:8], "big")
        count = self._counts.get(stream, 0)
        self._counts[stream] = count + 1
        return episode_seed(stream, count // self._group_size)


class _ToolEnv:
    """An environment whose actions are tool calls; a subclass has the tools."""

    def __init__(self, id: str, keywords: Mapping[str, Any], tasks: Tasks) -> None:
        self._env: gymnasium.Env[Any, Any] = gymnasium.make(id, **keywords)
        self._keywords, self._tasks = keywords, tasks
        self._seed = 0
        self._answers: list[str] = []
        self._rewards: list[float] = []
        self._is_over = True

    def reset(self, /, **row: Any) -> Any:
        """Begin the task of a row; return the instructions and the first observation.

        An int ``seed`` of the row chooses the task; see `Tasks.seed_of` for others.
        """
        return _join(self._begin(row))

    def get_reward(self) -> float:
        """Return the sum of the rewards since the last reset."""
        return sum(self._rewards, 0.0)

    def _begin(self, row: Mapping[str, Any]) -> list[Any]:
        self._seed = self._tasks.seed_of(row)
        observation, info = self._env.reset(seed=self._seed)
        self._answers, self._rewards, self._is_over = [], [], False
        return [f"{info['env_instruction']}\n{CALL_TOOLS}", observation]

    def _take(self, text: str) -> list[Any]:
        """Take an action; return the observation, and whether the episode is over."""
        if self._is_over:
            return [EPISODE_OVER]
        observation, reward, terminated, truncated, _ = self._env.step(text)
        self._answers.append(text)
        self._rewards.append(float(reward))
        self._is_over = terminated or truncated
        return [observation, EPISODE_OVER] if self._is_over else [observation]

    def _step(self, text: str) -> str:
        """Take an action; return what `_take` does, as one text."""
        return _join(self._take(text))

    def _log(self) -> dict[str, Any]:
        """Return the columns of `log_episodes`."""
        spec = self._env.spec
        return {
            "id": "" if spec is None else spec.id,
            "keywords": json.dumps(to_json(self._keywords)),
            "seed": self._seed,
            "answers": self._answers,
            "step_rewards": self._rewards,
        }


def _join(parts: list[Any]) -> str:
    return "\n\n".join(map(str, parts))


class MoveEnv(_ToolEnv):
    """Sokoban, a frozen lake, or any environment whose actions have names."""

    def move(self, direction: str) -> str:
        """Take one action of the game.

        Args:
            direction: The name of the action, one of those in the instructions, for
                example Up.

        Returns:
            The board after the move.
        """
        return self._step(str(direction))


class PictureEnv(_ToolEnv):
    """A game on a grid in pictures, for models that see."""

    def reset(self, /, **row: Any) -> Any:
        """Begin the task of a row, as other environments; return a list of parts."""
        return _to_blocks(self._begin(row))

    # Transformers writes the annotation into the prompt: elements would be noise there.
    def move(self, direction: str) -> list:  # type: ignore[type-arg]
        """Take one action of the game.

        Args:
            direction: The name of the action, one of those in the instructions, for
                example Up.

        Returns:
            A picture of the board after the move.
        """
        return _to_blocks(self._take(str(direction)))


def _to_blocks(parts: list[Any]) -> list[dict[str, Any]]:
    """Return texts and pixels as parts of a message."""
    return [
        {"type": "text", "text": part}
        if isinstance(part, str)
        else {"type": "image", "image": to_image(part)}
        for part in parts
    ]


class ShopEnv(_ToolEnv):
    """WebShop."""

    def search(self, keywords: str) -> str:
        """Search the shop for products.

        Args:
            keywords: The words to look for, for example blue running shoes.

        Returns:
            The page of results.
        """
        return self._step(f"search[{keywords}]")

    def click(self, name: str) -> str:
        """Click something on the page: a button, a product or the value of an option.

        Args:
            name: The text to click on, as it stands on the page, for example buy now.

        Returns:
            The page after the click.
        """
        return self._step(f"click[{name}]")


class AnswerEnv(_ToolEnv):
    """Countdown, or any other environment that a text answers."""

    def answer(self, text: str) -> str:
        """Give an answer to the task.

        Args:
            text: The answer alone, without an explanation.

        Returns:
            The task after the answer.
        """
        return self._step(str(text))


def environment_factory(
    id: str, *, group_size: int = 8, seed: int = 0, **keywords: Any
) -> Callable[[], _ToolEnv]:
    """Return TRL's ``environment_factory`` for an id of roll_vec; it can be pickled.

    Parameters
    ----------
    id : str
        ``module:id`` imports the module first.
    group_size : int
        Generations of a prompt: ``num_generations`` of TRL's configuration.
    seed : int
        Of the tasks of rows that have no column ``seed``.
    **keywords
        Those of `gymnasium.make` for this id, without ``action_pattern``, since a tool
        call has the action alone.  ``obs_mode``, of games on grids, is ``text``, or
        ``rgb`` for models that see.

    Raises
    ------
    gymnasium.error.Error
        If the id does not exist.
    InvalidOptionError, InvalidSeedError, UnknownOptionError, MissingExtraError
    """
    tasks = Tasks(group_size, seed)
    registered = find_registered(id)
    cls: type[Any] = registered.load()
    fixed: dict[str, Any] = {"action_pattern": None}
    is_grid = not registered.pooled or issubclass(cls, BaseDiscreteActionEnv)
    if is_grid:
        fixed["action_mode"] = "text"
    for name, value in fixed.items():
        if keywords.setdefault(name, value) != value:
            raise InvalidOptionError.expected(name, repr(value), keywords[name])
    if not registered.pooled:
        check_choice("obs_mode", keywords.setdefault("obs_mode", "text"), OBS_MODES)
    kind: type[_ToolEnv]
    if not registered.pooled and keywords["obs_mode"] == "rgb":
        import_pillow("a picture for TRL")
        kind = PictureEnv
    elif is_grid:
        kind = MoveEnv
    else:
        kind = ShopEnv if issubclass(cls, WebShop) else AnswerEnv
    kind(id, keywords, tasks)  # raises the errors of keywords now
    return partial(kind, id, keywords, tasks)


def log_episodes(
    environments: Sequence[_ToolEnv],
    log_extra: Callable[[str, list[Any]], None],
    **_: Any,
) -> list[None]:
    """Log what plays the episodes again, beside TRL's completions.

    A reward function of TRL that gives no reward: ``reward_funcs=[log_episodes]`` with
    ``log_completions=True``.  The tables have the columns ``id``, ``keywords``,
    ``seed``, ``answers`` and ``step_rewards``, for `roll_vec.recordings.readers`.

    Parameters
    ----------
    environments, log_extra
        Of TRL.

    Returns
    -------
    list of None
    """
    rows = [environment._log() for environment in environments]
    for name in rows[0]:
        log_extra(name, [row[name] for row in rows])
    return [None] * len(rows)
