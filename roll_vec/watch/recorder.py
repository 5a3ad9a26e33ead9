"""Make a recording from the results of a batch, reset by reset and step by step."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from gymnasium.spaces import Text
from gymnasium.vector import VectorEnv
from numpy.typing import NDArray

from roll_vec.recordings import BatchEvent, Difference, EventStream
from roll_vec.recordings.episodes import EpisodeAccount
from roll_vec.registration.any_id import action_names, mode_of
from roll_vec.vector.known_infos import UNKNOWN, fault_of, read_success
from roll_vec.vector.space_batches import item_at
from roll_vec.watch.frames import Frame, Recording, Tick
from roll_vec.watch.views import View, Views


class FrameRecorder:
    """Collects the frames of some environments of a batch.

    `add_reset` and `add_step` are called with the results of each call of the batch,
    before the next call: boards and pictures are taken from the batch itself.

    Parameters
    ----------
    env : VectorEnv
        Any vector environment; of a batch of this package on grids the boards are
        recorded, of others the texts, or the pictures that they render.
    env_ids : sequence of int
        The environments to record.

    Attributes
    ----------
    last : list of Frame
        The latest frame of each of them.
    """

    def __init__(self, env: VectorEnv[Any, Any, Any], env_ids: Sequence[int]) -> None:
        self._env: Any = env
        self._env_ids = np.array(env_ids, np.int64)
        mode = mode_of(env)
        self._stream = EventStream(env.num_envs, mode)
        self._account = EpisodeAccount(env)
        self._views = Views(env, mode)
        unwrapped: Any = env.unwrapped
        self._names = action_names(lambda name: unwrapped.get_attr(name)[0])
        self._ticks: list[Tick] = []
        self._frames: list[list[Frame | None]] = [[] for _ in env_ids]
        self.last = [Frame(is_reset=True, episode=-1) for _ in env_ids]

    # ---------------------------------------------------------------- results

    def add_reset(
        self,
        observations: Any,
        infos: Mapping[str, Any],
        mask: NDArray[np.bool_] | None = None,
    ) -> None:
        """Add a reset of all environments, or of those of a mask.

        It cuts the episodes of these environments that go on.
        """
        self.add(self._stream.add_reset(observations, infos, mask))

    def add_step(self, actions: Any, *results: Any) -> None:
        """Add a step, with the five results of `step`."""
        self.add(self._stream.add_step(actions, *results))

    def add(self, event: BatchEvent) -> None:
        """Add the event of a reset or step, in the place of its results."""
        episodes = self._account.add(event)
        successes = dict(
            zip(episodes.env_index.tolist(), episodes.success.tolist(), strict=True)
        )
        starts, ends = (mask[self._env_ids] for mask in (event.starts, event.ends))
        both = starts & ends
        env_ids = self._env_ids
        views = self._views.present(event.observations, env_ids)
        step = self._ticks[-1].step if self._ticks else 0
        if not event.is_reset:
            step += 1
            self._ticks.append(Tick(step, is_reset=False))
            last = iter(self._views.final(event.infos, env_ids[both]))
            infos = event.step_infos(env_ids)
            for row in np.flatnonzero(event.plays[env_ids]).tolist():
                view = next(last) if both[row] else views[row]
                success = read_success(infos[row])
                if (code := successes.get(int(env_ids[row]))) is not None:
                    success = None if code == UNKNOWN else bool(code)
                self._add_step(row, event, infos[row], view, success)
        beginning = np.flatnonzero(starts)
        if event.is_reset or both.any():
            self._fill()
            self._ticks.append(Tick(step, is_reset=True))
        infos = event.first_infos(env_ids[beginning])
        for row, own in zip(beginning.tolist(), infos, strict=True):
            episode = self.last[row].episode + 1
            self._append(row, views[row], own, is_reset=True, episode=episode)
        self._fill()

    def add_exception(self, actions: Any, error: Exception) -> None:
        """Accept the exception of the last step, which has no results."""

    # ---------------------------------------------------------------- frames

    def _append(
        self, row: int, view: View, infos: dict[str, Any], **fields: Any
    ) -> None:
        fault = fault_of(infos)
        if fault is not None:
            del infos["error"]
        frame = Frame(**fields, **view._asdict(), infos=infos, fault=fault)
        self._frames[row].append(frame)
        self.last[row] = frame

    def _add_step(
        self,
        row: int,
        event: BatchEvent,
        infos: dict[str, Any],
        view: View,
        success: bool | None,
    ) -> None:
        """Add the frame of a step."""
        env_id = int(self._env_ids[row])
        action = item_at(self._env.single_action_space, event.actions, env_id)
        if isinstance(action, np.generic):
            action = action.item()
        self._append(
            row,
            view,
            infos,
            is_reset=False,
            episode=self.last[row].episode,
            length=int(self._account.lengths[env_id]),
            action=action,
            action_name=self._name(action),
            reward=float(event.rewards[env_id]),
            total_reward=float(self._account.returns[env_id]),
            terminated=bool(event.terminations[env_id]),
            truncated=bool(event.truncations[env_id]),
            success=success,
        )

    def _fill(self) -> None:
        """Complete a tick: environments without a frame of it stay as they are."""
        for frames in self._frames:
            if len(frames) < len(self._ticks):
                frames.append(None)

    def _name(self, action: Any) -> str:
        """Return an action for people."""
        if isinstance(action, str):
            return action
        if isinstance(action, int):
            return self._names.get(action, str(action))
        if isinstance(action, np.ndarray):
            return np.array2string(action, precision=4, separator=", ", threshold=20)
        return str(action)

    # ---------------------------------------------------------------- result

    def recording(
        self,
        id: str,
        details: Mapping[str, str],
        *,
        difference: Difference | None = None,
        is_replay: bool = False,
    ) -> Recording:
        """End the recording and return it; the arguments are its fields."""
        self._views.release()
        unwrapped = self._env.unwrapped
        return Recording(
            id=id,
            details=dict(details),
            env_ids=tuple(self._env_ids.tolist()),
            ticks=tuple(self._ticks),
            frames=tuple(map(tuple, self._frames)),
            group_size=max(1, int(getattr(unwrapped, "group_size", 1) or 1)),
            is_text=isinstance(self._env.single_action_space, Text),
            tiles=self._views.tiles,
            difference=difference,
            is_replay=is_replay,
        )
