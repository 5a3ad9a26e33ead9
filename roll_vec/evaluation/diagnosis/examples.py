"""Turns of episodes as people look at them: board, answer, and what was wrong."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import closing, suppress
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from gymnasium.spaces import Text

from roll_vec.errors import MissingExtraError
from roll_vec.evaluation.diagnosis.faulty_answers import Fault, find_fault
from roll_vec.evaluation.diagnosis.played import Ints, Played
from roll_vec.evaluation.replaying import AnswerPlan, EpisodeGroup
from roll_vec.registration import ENVIRONMENTS
from roll_vec.render.mosaic import upscale
from roll_vec.render.png import to_data_url
from roll_vec.vector.space_batches import item_at

_SCALE = 2


@dataclass(frozen=True)
class Example:
    """A turn of an episode.

    Attributes
    ----------
    place : str
        The file and the line, or the number of the episode.
    turn : int
        From 1.
    board : str
        The observation as text, or a drawing in text.
    picture : str or None
        The board as the URL of a PNG file, if the game has tiles and Pillow is there.
    answer : str
    fault : Fault or None
        Of an answer that is no valid action.
    facts : tuple of str
        The reward, and what else is known.
    """

    place: str
    turn: int
    board: str
    picture: str | None
    answer: str
    fault: Fault | None
    facts: tuple[str, ...]


def show_turns(played: Played, turns: Iterable[int]) -> dict[int, Example]:
    """Return examples of turns, by their places in the columns."""
    examples = {}
    numbers = np.array(sorted({*turns}), np.int64)
    tasks = played.task[played.episode[numbers]] if len(numbers) else numbers
    for task in np.unique(tasks).tolist():
        of_task = numbers[tasks == task]
        boards = _draw(played, played.tasks[task].group, of_task)
        for place, (board, picture) in zip(of_task.tolist(), boards, strict=True):
            examples[place] = _describe(played, place, board, picture)
    return examples


def _describe(played: Played, place: int, board: str, picture: str | None) -> Example:
    episode, turn = int(played.episode[place]), int(played.turn[place])
    recorded = played.recorded[episode]
    answer, parser = recorded.answers[turn], played.tasks[played.task[episode]].parser
    fault = None
    if isinstance(answer, str) and parser is not None and not played.is_valid[place]:
        fault = find_fault(parser, answer, played.reasons.get(place, ""))
    facts = [f"seed {recorded.seed}"]
    if played.is_played[place]:
        facts.append(f"reward {played.rewards[place]:.4g}")
    other = played.recorded_rewards[place]
    if np.isfinite(other) and not np.isclose(other, played.rewards[place], atol=1e-4):
        facts.append(f"recorded reward {other:.4g}")
    if np.isfinite(played.advantages[place]):
        facts.append(f"advantage {played.advantages[place] + 0.0:.4g}")
    if recorded.group is not None:
        facts.append(f"group {recorded.group}")
    text = answer if isinstance(answer, str) else _name(played, episode, answer)
    return Example(recorded.place, turn + 1, board, picture, text, fault, tuple(facts))


def _name(played: Played, episode: int, answer: Any) -> str:
    """Return an action with its name, if it has one."""
    names = played.tasks[played.task[episode]].action_names
    with suppress(TypeError, ValueError):
        if int(answer) in names:
            return f"{answer} ({names[int(answer)]})"
    return str(answer)


def _draw(
    played: Played, group: EpisodeGroup, places: Ints
) -> list[tuple[str, str | None]]:
    """Return the board before each turn, as text and as the URL of a picture."""
    turns = played.turn[places]
    episodes = []
    for episode, turn in zip(played.episode[places], turns, strict=True):
        recorded = played.recorded[int(episode)]
        episodes.append(replace(recorded, answers=recorded.answers[: int(turn) + 1]))
    boards: list[tuple[str, str | None]] = [("", None)] * len(turns)
    registered = ENVIRONMENTS.get(group.id)
    modes = getattr(registered and registered.load(), "metadata", {})
    mode = {"render_mode": "text"} if "text" in modes.get("render_modes", ()) else {}
    with closing(group.make_vec(len(turns), **mode)) as envs:
        plan = AnswerPlan(envs, episodes)
        for event in plan.play():
            now = plan.turns + (not event.is_reset)
            is_due = (event.starts | event.plays) & (now == turns[plan.episodes])
            for row in np.flatnonzero(is_due).tolist():
                drawing = _draw_row(envs, event.observations, row)
                boards[plan.episodes[row]] = drawing
    return boards


def _draw_row(envs: Any, observations: Any, row: int) -> tuple[str, str | None]:
    space = envs.single_observation_space
    text = str(item_at(space, observations, row))
    if not isinstance(space, Text) and envs.render_mode is not None:
        text = str(envs.render_envs([row])[0])
    family: Any = getattr(getattr(envs.engine, "options", None), "FAMILY", None)
    picture = None
    if hasattr(family, "tiles") and hasattr(envs.engine, "grids"):
        with suppress(MissingExtraError):
            picture = _picture(family.tiles, envs.engine.grids(np.array([row]))[0])
    return text, picture


def _picture(tiles: Any, grid: Any) -> str:
    """Return the URL of the picture of a board."""
    pixels = tiles[grid].transpose(0, 2, 1, 3, 4)
    height, side, width = pixels.shape[:3]
    return to_data_url(upscale(pixels.reshape(height * side, width * side, 3), _SCALE))
