"""OpenEnv: a server of many sessions over one vector environment, and its client.

`create_app` has the place of OpenEnv's function of this name.  OpenEnv makes an
environment object for each connection; here the object is a session of
`roll_vec.sessions`, so that steps that have arrived are one step of the batch.
Interfaces of openenv 0.10 and openenv-core 0.3: `Environment`, `EnvClient`.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterable
from functools import partial
from typing import Any

import numpy as np
from gymnasium.spaces import Text

from roll_vec.adapters.browser_guard import BrowserGuard
from roll_vec.errors import MissingExtraError, ResetNeededError
from roll_vec.options import check_bool, check_int
from roll_vec.registration import find_registered
from roll_vec.registration.factories import make_vec
from roll_vec.render.png import import_pillow, to_data_url
from roll_vec.sessions import Session, Sessions
from roll_vec.trajectories import to_json

try:
    from openenv.core import EnvClient
    from openenv.core.client_types import StepResult
    from openenv.core.env_server import http_server
    from openenv.core.env_server.interfaces import Environment
    from openenv.core.env_server.types import Action, Observation, State
except ImportError as error:
    _FEATURE = "the adapter of OpenEnv"
    raise MissingExtraError(_FEATURE, extra="openenv", package="openenv") from error

__all__ = [
    "RollVecAction",
    "RollVecClient",
    "RollVecEnvironment",
    "RollVecObservation",
    "create_app",
]

# OpenEnv lets the next connection in a moment before a dropped one frees its session.
_SECONDS_TO_WAIT = 10.0
_RESULTS = ("observation", "reward", "terminated", "truncated", "info")


class RollVecAction(Action):  # type: ignore[misc]
    """An answer of a model, any value of JSON; an integer where actions are integers.

    An answer that cannot be read is a step; see ``action_is_valid`` in its info.
    """

    action: Any = None


class RollVecObservation(Observation):  # type: ignore[misc]
    """Observation and info of the single environment, arrays as lists.

    With ``png`` of `create_app`, a picture is the data URL of a PNG file.
    """

    observation: Any = None
    info: dict[str, Any] = {}  # noqa: RUF012  # pydantic copies it
    terminated: bool = False
    truncated: bool = False


class RollVecEnvironment(Environment):  # type: ignore[misc]
    """The environment of one connection: a session, opened by the first reset.

    Errors are those of `Session.reset` and `Session.step`.

    Parameters
    ----------
    sessions : Sessions
    png : bool
        True: observations of pixels become data URLs.
    """

    SUPPORTS_CONCURRENT_SESSIONS = True
    # OpenEnv then has one thread, not one for each connection.
    REQUIRES_SINGLE_THREAD_EXECUTOR = True

    def __init__(self, sessions: Sessions, png: bool = False) -> None:
        super().__init__()
        self._sessions, self._png = sessions, png
        self._session: Session | None = None
        self._accepts_text = isinstance(sessions.envs.single_action_space, Text)
        self._state = State()

    async def reset_async(
        self, seed: int | None = None, episode_id: str | None = None, **options: Any
    ) -> RollVecObservation:
        """Begin an episode; other keywords are the options of `Session.reset`."""
        if self._session is None:
            self._session = await self._sessions.open_async(_SECONDS_TO_WAIT)
        result = await self._session.reset_async(seed, options or None)
        return self._begin(result, seed, episode_id)

    def reset(
        self, seed: int | None = None, episode_id: str | None = None, **options: Any
    ) -> RollVecObservation:
        """Begin an episode, from a thread; see `reset_async`."""
        if self._session is None:
            self._session = self._sessions.open(_SECONDS_TO_WAIT)
        result = self._session.reset(seed, options or None)
        return self._begin(result, seed, episode_id)

    async def step_async(self, action: RollVecAction, **_: Any) -> RollVecObservation:
        """Take an action; nothing takes long, so that ``timeout_s`` has no effect."""
        return self._end(await self._open_session().step_async(self._read(action)))

    def step(self, action: RollVecAction, **_: Any) -> RollVecObservation:
        """Take an action, from a thread; see `step_async`."""
        return self._end(self._open_session().step(self._read(action)))

    @property
    def state(self) -> Any:
        """``episode_id``, ``step_count``, and the ``seed`` of the reset."""
        return self._state

    def close(self) -> None:
        """Free the environment of the batch; OpenEnv calls it for each connection."""
        if self._session is not None:
            self._session.close()

    def _open_session(self) -> Session:
        if self._session is None:
            message = "the environment must be reset before it is stepped"
            raise ResetNeededError(message)
        return self._session

    def _read(self, action: RollVecAction) -> Any:
        answer = action.action
        if not self._accepts_text or isinstance(answer, str):
            return answer
        return "" if answer is None else str(answer)

    def _begin(
        self, result: Any, seed: int | None, episode_id: str | None
    ) -> RollVecObservation:
        episode_id = episode_id or str(uuid.uuid4())
        self._state = State(episode_id=episode_id, step_count=0, seed=seed)
        observation, info = result
        return RollVecObservation(
            observation=self._show(observation), info=to_json(info)
        )

    def _end(self, result: Any) -> RollVecObservation:
        observation, *others = result
        values = self._show(observation), *map(to_json, others)
        results = dict(zip(_RESULTS, values, strict=True))
        self._state.step_count += 1
        done = results["terminated"] or results["truncated"]
        return RollVecObservation(**results, done=done)

    def _show(self, observation: Any) -> Any:
        is_picture = isinstance(observation, np.ndarray) and observation.ndim == 3
        if self._png and is_picture and observation.shape[2] == 3:
            return to_data_url(observation)
        return to_json(observation)


class RollVecClient(EnvClient):  # type: ignore[misc]
    """OpenEnv's client of such a server; `step` also accepts the bare answer."""

    def _step_payload(self, action: Any) -> dict[str, Any]:
        return {"action": getattr(action, "action", action)}

    def _parse_result(self, payload: dict[str, Any]) -> Any:
        results = {key: payload.get(key) for key in ("reward", "done")}
        observation = RollVecObservation(**payload["observation"], **results)
        return StepResult(observation=observation, **results)

    def _parse_state(self, payload: dict[str, Any]) -> Any:
        return State(**payload)


def create_app(
    env: str | Sessions,
    *,
    max_concurrent_envs: int = 64,
    png: bool = False,
    allowed_hosts: Iterable[str] = (),
    app_options: dict[str, Any] | None = None,
    **keywords: Any,
) -> Any:
    """Return OpenEnv's FastAPI application over one vector environment.

    Parameters
    ----------
    env : str or Sessions
        An id for `roll_vec.make_vec`.
    max_concurrent_envs : int
        Connections at a time, the ``num_envs`` of the batch; that of given sessions.
    png : bool
        True: observations of pixels, as those of ``obs_mode="rgb"``, are texts: data
        URLs of PNG files, as messages of a chat have them.  False: lists of numbers.
    allowed_hosts : iterable of str
        Names under which browsers reach the server, such as ``me-game.hf.space``.
        Pages of other names get no answer, see `BrowserGuard`; programs do.
    app_options : dict or None
        Other arguments of OpenEnv's own `create_app`, such as ``env_name``.
    **keywords
        Those of `make_vec`.  Games on grids have ``action_mode="text"`` and
        ``obs_mode="text"`` here, unless others are passed.

    Returns
    -------
    FastAPI
        ``app.state.sessions`` are the sessions.
    """
    if check_bool("png", png):
        import_pillow("png of OpenEnv's adapter")
    if isinstance(env, str):
        if not find_registered(env).pooled:
            keywords = {"action_mode": "text", "obs_mode": "text", **keywords}
        num_envs = check_int("max_concurrent_envs", max_concurrent_envs, 1)
        env = Sessions(make_vec(env, num_envs, autoreset_mode="Disabled", **keywords))
    app = http_server.create_app(
        partial(RollVecEnvironment, env, png),
        RollVecAction,
        RollVecObservation,
        max_concurrent_envs=env.num_envs,
        **(app_options or {}),
    )
    app.add_middleware(BrowserGuard, allowed_hosts=allowed_hosts)
    app.state.sessions = env
    return app
