"""The board, text or picture of environments at one time, taken from their batch."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Any, NamedTuple

import numpy as np
from gymnasium.spaces import Text
from gymnasium.vector import AutoresetMode, VectorEnv
from numpy.typing import NDArray

from roll_vec.errors import MissingExtraError
from roll_vec.render.ansi import strip_colours
from roll_vec.vector.space_batches import item_at


class View(NamedTuple):
    """The board, text and picture of one environment at one time."""

    board: NDArray[np.uint8] | None = None
    text: str | None = None
    picture: NDArray[np.uint8] | None = None


class Views:
    """Takes the boards, texts and pictures of a batch."""

    def __init__(self, env: VectorEnv[Any, Any, Any], mode: AutoresetMode) -> None:
        self._env: Any = env.unwrapped
        self._space = env.single_observation_space
        self._is_text = isinstance(env.single_observation_space, Text)
        self._can_render = getattr(self._env, "render_mode", None) is not None
        engine = getattr(self._env, "engine", None)
        family = getattr(getattr(engine, "options", None), "FAMILY", None)
        self.tiles: NDArray[np.uint8] | None = None
        self._grids: Callable[[NDArray[np.int64]], NDArray[np.uint8]] | None = None
        self._last_boards: dict[int, NDArray[np.uint8]] = {}
        self._engine: Any = None
        if engine is not None and family is not None and hasattr(engine, "grids"):
            self.tiles = family.tiles
            self._grids = engine.grids
            if mode is AutoresetMode.SAME_STEP:
                self._watch_ends(engine)

    def _watch_ends(self, engine: Any) -> None:
        """Have the last boards of episodes stored before the next ones begin.

        In SAME_STEP mode the batch has only the new boards after a step, and the last
        observation need not be a board.
        """
        advance, grids = engine.advance, engine.grids

        def store_and_advance(env_ids: NDArray[np.int64], seeds: Any = ()) -> None:
            # With seeds it is a reset, which ends no episode.
            if not seeds:
                boards = grids(env_ids).copy()
                self._last_boards = dict(zip(env_ids.tolist(), boards, strict=True))
            advance(env_ids, seeds)

        self._engine, self._resets_in_step = engine, engine.resets_in_step
        engine.advance, engine.resets_in_step = store_and_advance, False

    def release(self) -> None:
        """Leave the batch as it was before; later last boards are unknown."""
        if self._engine is not None:
            del self._engine.advance
            self._engine.resets_in_step = self._resets_in_step
            self._engine = None

    def present(self, observations: Any, env_ids: NDArray[np.int64]) -> list[View]:
        """Return the views of some environments as they are now."""
        if not len(env_ids):
            return []
        rows = env_ids.tolist()
        texts: list[str | None] = [None] * len(rows)
        if self._is_text:
            texts = [str(observations[env_id]) for env_id in rows]
        if self._grids is not None:
            return [*map(View, self._grids(env_ids).copy(), texts)]
        if self._is_text:
            return [View(text=text) for text in texts]
        views = []
        for env_id, drawing in zip(rows, self._render(env_ids), strict=True):
            if isinstance(drawing, np.ndarray) and drawing.ndim == 3:
                views.append(View(picture=np.array(drawing[..., :3], np.uint8)))
            elif isinstance(drawing, str):
                views.append(View(text=strip_colours(drawing)))
            else:
                row = item_at(self._space, observations, env_id)
                views.append(View(text=show_value(row)))
        return views

    def final(self, infos: Mapping[str, Any], env_ids: NDArray[np.int64]) -> list[View]:
        """Return the last views of episodes that a step ended in SAME_STEP mode.

        An environment that renders has no picture then: it shows the next episode.
        """
        last = infos.get("final_obs", {})
        views = []
        for env_id in env_ids.tolist():
            board, text = self._last_boards.get(env_id), None
            if self._is_text or (board is None and not self._can_render):
                with suppress(KeyError, IndexError):
                    text = show_value(last[env_id])
            views.append(View(board, text))
        return views

    def _render(self, env_ids: NDArray[np.int64]) -> list[Any]:
        """Return what some environments render; None each where they do not."""
        nothing = [None] * len(env_ids)
        if not self._can_render:
            return nothing
        try:
            if hasattr(self._env, "render_envs"):
                return list(self._env.render_envs(env_ids.tolist()))
            frames = self._env.render()
            return [frames[env_id] for env_id in env_ids.tolist()]
        except MissingExtraError:
            raise
        except Exception:
            # A renderer of a user's may raise anything.
            return nothing


def show_value(value: Any) -> str:
    """Return an observation as a text."""
    if isinstance(value, str):
        return value
    if isinstance(value, np.ndarray):
        return np.array2string(value, precision=4, separator=", ", threshold=200)
    return str(value)
