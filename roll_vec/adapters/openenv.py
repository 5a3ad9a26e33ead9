"""OpenEnv: a server of many sessions over one vector environment, and its client.

`create_app` has the place of OpenEnv's function of this name.  OpenEnv makes an
environment object for each connection; here the object is a session of
`roll_vec.sessions`, so that steps that have arrived are one step of the batch.
Interfaces of openenv 0.10: `Environment`, `TaskProvider`, `EnvClient`.
"""

from __future__ import annotations

import html
import uuid
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from itertools import compress
from typing import Any

import numpy as np
from gymnasium.spaces import Discrete, Text

from roll_vec.adapters.browser_guard import BrowserGuard
from roll_vec.errors import InvalidOptionError, MissingExtraError, ResetNeededError
from roll_vec.evaluation.splits import tasks_of
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
# A split may have a million tasks.
_MAX_TASKS = 1000


class _NoTaskError(InvalidOptionError, IndexError):
    """Raised for an unknown task; OpenEnv's routes answer an IndexError with 400."""


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
    seeds : mapping of str to sequence of int
        The seed of each task of a split, by the names of splits.
    """

    SUPPORTS_CONCURRENT_SESSIONS = True
    # OpenEnv then has one thread, not one for each connection.
    REQUIRES_SINGLE_THREAD_EXECUTOR = True

    def __init__(
        self,
        sessions: Sessions,
        png: bool = False,
        seeds: Mapping[str, Sequence[int]] | None = None,
    ) -> None:
        super().__init__()
        self._sessions, self._png, self._seeds = sessions, png, dict(seeds or {})
        self._session: Session | None = None
        self._accepts_text = isinstance(sessions.envs.single_action_space, Text)
        self._state = State()

    async def reset_async(
        self, seed: int | None = None, episode_id: str | None = None, **options: Any
    ) -> RollVecObservation:
        """Begin an episode.

        Parameters
        ----------
        seed : int or None
            See `Session.reset`.
        episode_id : str or None
            None: a random id.
        **options
            ``split`` and ``index``: a task, instead of a seed.  ``injected_state``,
            instead of both: a dict of keywords of this method, and of ``actions``, a
            list of the actions to play; the result is that of the last one.  Others are
            the options of `Session.reset`.

        Raises
        ------
        InvalidOptionError
            If there is no such task or state; and all errors of `Session.reset` and
            `Session.step`.  After one of these actions the next call must be a reset.
        """
        seed, actions, options = self._read_reset(seed, options)
        if self._session is None:
            self._session = await self._sessions.open_async(_SECONDS_TO_WAIT)
        begin = await self._session.reset_async(seed, options or None)
        result = self._begin(begin, seed, episode_id)
        with self._injection():
            for action in actions:
                result = await self.step_async(RollVecAction(action=action))
        return result

    def reset(
        self, seed: int | None = None, episode_id: str | None = None, **options: Any
    ) -> RollVecObservation:
        """Begin an episode, from a thread; see `reset_async`."""
        seed, actions, options = self._read_reset(seed, options)
        if self._session is None:
            self._session = self._sessions.open(_SECONDS_TO_WAIT)
        begin = self._session.reset(seed, options or None)
        result = self._begin(begin, seed, episode_id)
        with self._injection():
            for action in actions:
                result = self.step(RollVecAction(action=action))
        return result

    async def step_async(self, action: RollVecAction, **_: Any) -> RollVecObservation:
        """Step once; ``timeout_s`` has no effect, because no step is long."""
        return self._end(await self._open_session().step_async(self._read(action)))

    def step(self, action: RollVecAction, **_: Any) -> RollVecObservation:
        """Take an action, from a thread; see `step_async`."""
        return self._end(self._open_session().step(self._read(action)))

    @property
    def state(self) -> Any:
        """``episode_id``, ``step_count``, and the ``seed`` of the reset."""
        return self._state

    # -------------------------------------------------------------- tasks

    def list_splits(self) -> list[dict[str, str]]:
        """Return the ``name`` and the ``type`` of each split that the batch can play.

        A split of `roll_vec.evaluation` is one of them if its keywords are those of the
        batch.  The split ``train`` has the seeds below those of all tests.
        """
        types = {"train": "train", "eval": "validation"}
        return [{"name": name, "type": types.get(name, "test")} for name in self._seeds]

    def num_tasks(self, split: str) -> int:
        """Return the number of tasks of a split.

        Raises
        ------
        IndexError
            If there is no such split.
        """
        return len(self._seeds_of(split))

    def get_task(self, split: str, index: int) -> dict[str, Any]:
        """Return a task: ``id``, ``split``, ``index`` and the ``seed`` of its reset.

        Raises
        ------
        IndexError
            If there is no such task.
        """
        seed = self._seed_of(split, index)
        return {"id": f"{split}-{index}", "split": split, "index": index, "seed": seed}

    def get_task_range(
        self, split: str, start: int | None = None, stop: int | None = None
    ) -> list[dict[str, Any]]:
        """Return the tasks of a slice of a split; see `get_task`."""
        indices = range(self.num_tasks(split))[start:stop]
        return [self.get_task(split, index) for index in indices]

    def list_tasks(self, split: str) -> list[dict[str, Any]]:
        """Return the tasks of a split, 1,000 at most; see `get_task`."""
        return self.get_task_range(split, 0, _MAX_TASKS)

    # ------------------------------------------------------- the page /web

    def render_web(self, observation: dict[str, Any]) -> str | None:
        """Return a text or a picture as HTML; None for other observations."""
        value = observation.get("observation")
        if not isinstance(value, str):
            return None
        text = html.escape(value)
        if self._png and value.startswith("data:image/png;base64,"):
            return f'<img src="{text}" style="image-rendering: pixelated">'
        return f"<pre>{text}</pre>"

    def web_actions(
        self, observation: dict[str, Any]
    ) -> list[tuple[str, dict[str, Any]]]:
        """Return the name and the message of each action that the page offers.

        These are the actions that ``action_mask`` allows, or all if infos have no mask;
        in WebShop the links of the page.  Other games of free texts have none.
        """
        info = observation.get("info") or {}
        page = info.get("available_actions")  # in a user's pool any value
        if isinstance(page, dict) and "clickables" in page:
            links = [
                f"click[{name}]" for name in page["clickables"] if name != "search"
            ]
            return [(link, {"action": link}) for link in links]
        batch: Any = self._sessions.envs
        space, lookup = batch.single_action_space, dict[Any, str]()
        actions: Sequence[Any] = ()
        is_stacked = hasattr(batch.engine, "first_action")
        if isinstance(space, Discrete):
            actions = range(int(space.start), int(space.start + space.n))
            lookup = batch.get_attr("action_lookup")[0] if is_stacked else {}
        elif is_stacked:  # the texts that a pool accepts are no list of moves
            actions = getattr(space, "examples", ())
        mask = info.get("action_mask")
        legal = compress(actions, mask) if isinstance(mask, list) else actions
        return [(str(lookup.get(each, each)), {"action": each}) for each in legal]

    def close(self) -> None:
        """Free the environment of the batch; OpenEnv calls it for each connection."""
        if self._session is not None:
            self._session.close()

    @contextmanager
    def _injection(self) -> Iterator[None]:
        """Demand a reset after an error: nobody plays on from half of a state."""
        try:
            yield
        except BaseException as error:
            self.close()
            self._session = None
            if isinstance(error, ResetNeededError):
                accepted = "no action after the end of an episode"
                value = f"more than {self._state.step_count:,}"
                raise InvalidOptionError.expected(
                    "injected_state", accepted, value
                ) from error
            raise

    def _open_session(self) -> Session:
        if self._session is None:
            message = "the environment must be reset before it is stepped"
            raise ResetNeededError(message)
        return self._session

    def _seeds_of(self, split: Any) -> Sequence[int]:
        if not isinstance(split, str) or split not in self._seeds:
            accepted = f"one of {', '.join(self._seeds) or 'no splits'}"
            raise _NoTaskError.expected("split", accepted, split)
        return self._seeds[split]

    def _seed_of(self, split: Any, index: Any) -> int:
        seeds = self._seeds_of(split)
        if type(index) is not int or not 0 <= index < len(seeds):
            accepted = f"an integer from 0 to {len(seeds) - 1:,}"
            raise _NoTaskError.expected("index", accepted, index)
        return int(seeds[index])

    def _read_reset(
        self, seed: int | None, options: dict[str, Any]
    ) -> tuple[int | None, list[Any], dict[str, Any]]:
        """Return the seed, the actions to play, and the other options of a reset."""
        actions: Any = []
        if "injected_state" in options:
            state = options["injected_state"]
            actions = state.get("actions") if isinstance(state, dict) else None
            if not isinstance(actions, list):
                accepted = "a dict of keywords of reset and a list of actions"
                raise InvalidOptionError.expected("injected_state", accepted, state)
            options = {name: state[name] for name in state if name != "actions"}
            seed = options.pop("seed", None)
        if options.keys() & {"split", "index"}:
            if seed is not None:
                accepted = "None beside a split and an index"
                raise InvalidOptionError.expected("seed", accepted, seed)
            seed = self._seed_of(options.pop("split", None), options.pop("index", None))
        return seed, actions, options

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
        partial(RollVecEnvironment, env, png, tasks_of(env.envs.spec)),
        RollVecAction,
        RollVecObservation,
        max_concurrent_envs=env.num_envs,
        **(app_options or {}),
    )
    app.add_middleware(BrowserGuard, allowed_hosts=allowed_hosts)
    app.state.sessions = env
    return app
