"""Play episodes by a chat with a language model behind an HTTP endpoint.

The protocol is that of ``POST /chat/completions`` (OpenAI, API reference, "Create chat
completion").  vLLM, SGLang, llama.cpp, Ollama and others serve it, too.

Each environment of a batch has a conversation of its own, a `roll_vec.sessions.Session`
in a coroutine: it steps as soon as its own answer arrives, and no conversation waits
for another.  (`send` and `recv` alone cannot do this: a reset waits until all results
were received.)  An event loop in a thread runs the coroutines; the caller takes the
episodes from a queue::

    conversation:  reset ─▶ request ─▶ step ─▶ request ─▶ step ... ─▶ queue ─▶ caller
"""

from __future__ import annotations

import asyncio
import json
import os
import queue
import re
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, suppress
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias
from urllib.parse import urlsplit

from gymnasium.spaces import Text

from roll_vec.errors import InvalidOptionError, MissingExtraError, RollVecError
from roll_vec.evaluation.episodes import EpisodeRecord
from roll_vec.evaluation.splits import Split
from roll_vec.options import check_choice, check_int, check_number
from roll_vec.registration import ENVIRONMENTS
from roll_vec.sessions import Session, Sessions
from roll_vec.trajectories import Trajectory
from roll_vec.trajectories.play import SKIPPED, fault_counts
from roll_vec.trajectories.trajectory import OpenEpisode, instruction_of
from roll_vec.vector.known_infos import episode_success, fault_of

API_KEY = "OPENAI_API_KEY"
"""The environment variable of the key."""
# The client of openai demands a key; servers of one's own ignore it.
_NO_KEY = "none"
# Wrong key, no permission, no such path or model: every other request fails likewise.
_REFUSALS = (401, 403, 404)
_REDIRECTS = (301, 302, 303, 307, 308)

# Characters of the reason of a failure: some servers answer with a page of HTML.
_MAX_REASON = 300
_MIN_SECONDS, _MAX_SECONDS = 0.001, 1e6
# The longest time that the client waits before it repeats a request.
_MAX_WAIT = 60

_MAX_TEMPERATURE = 100
# What servers say of a model without a system role: its template refuses the message.
_SYSTEM_ROLE = re.compile(r"\brole|(system|developer) (message|prompt|instr)", re.I)
_ADVICE = ' (no system role? instruction_role="user", --instruction-role user)'
# Fields of a request that ``extra_body`` may not have.
_FIELDS = ("model", "messages", "n", "stream", "temperature", "max_tokens")

Message: TypeAlias = dict[str, str]


class ChatError(RollVecError, RuntimeError):
    """Raised when a request has failed for good.

    Parameters
    ----------
    message : str
    is_refusal : bool
        Whether every other request to the endpoint would fail likewise: the key, the
        address or the name of the model is wrong, or it redirects to another address.
    """

    def __init__(self, message: str, is_refusal: bool = False) -> None:
        super().__init__(message)
        self.is_refusal = is_refusal

    def __reduce__(self) -> tuple[object, ...]:
        return (type(self), (str(self), self.is_refusal))


@dataclass(frozen=True)
class ChatEndpoint:
    """The address of a model, and how to ask it.

    The key is that of the environment variable ``OPENAI_API_KEY``, if there is one.  It
    is no part of this object, and no message or file has it.

    Parameters
    ----------
    url : str
        Such as ``http://localhost:8000/v1``.
    model : str
        The name that the endpoint has for the model.
    temperature : float or None
        0 to 100; None: the endpoint decides.
    max_tokens : int or None
        The longest answer; None: the endpoint decides.
    timeout : float
        Seconds to wait for a connection, and for the next bytes of an answer, 0.001 to
        a million.  A request ends after at most ``2 * timeout * (retries + 1) + 60 *
        retries`` seconds, also where the bytes never end.
    retries : int
        How often a request is repeated after a timeout, a lost connection, or one of
        the statuses 408, 409, 429 and 500 or above.  The waiting time doubles each
        time, from half a second to eight seconds, unless the endpoint says how long.
    extra_body : mapping or None
        Further fields of a request, as JSON, such as ``{"top_p": 0.9}``.  No place for
        secrets: files of results have them.
    instruction_role : str
        ``system``: the instruction is a message of the system.  ``user``: it stands
        before the first observation of a request, in the message of the user, for
        models that have no system role.

    Raises
    ------
    InvalidOptionError
    """

    url: str
    model: str
    temperature: float | None = 0.0
    max_tokens: int | None = None
    timeout: float = 120.0
    retries: int = 5
    extra_body: Mapping[str, Any] | None = field(default=None, hash=False)
    instruction_role: str = "system"

    def __post_init__(self) -> None:
        _check_url(self.url)
        if not (isinstance(self.model, str) and self.model):
            accepted = "the name of a model"
            raise InvalidOptionError.expected("model", accepted, self.model)
        if self.temperature is not None:
            check_number("temperature", self.temperature, 0, _MAX_TEMPERATURE)
        if self.max_tokens is not None:
            check_int("max_tokens", self.max_tokens, 1)
        check_number("timeout", self.timeout, _MIN_SECONDS, _MAX_SECONDS)
        check_int("retries", self.retries, 0)
        object.__setattr__(self, "extra_body", _copy_fields(self.extra_body))
        check_choice("instruction_role", self.instruction_role, ("system", "user"))

    def to_json(self) -> dict[str, Any]:
        """Return everything that answers depend on."""
        facts: dict[str, Any] = {"name": self.url, "model": self.model}
        facts |= {"temperature": self.temperature, "max_tokens": self.max_tokens}
        for name in ("extra_body", "instruction_role"):
            # Most requests have none of them.
            if getattr(self, name) != getattr(ChatEndpoint, name):
                facts[name] = getattr(self, name)
        return facts

    def write_messages(
        self, instruction: str | None, turns: Sequence[Message]
    ) -> list[Message]:
        """Return the messages of a request.

        Parameters
        ----------
        instruction : str or None
        turns : sequence of dict
            Observations and answers; the first and the last are observations.
        """
        if instruction is None:
            return [*turns]
        if self.instruction_role == "system":
            return [{"role": "system", "content": instruction}, *turns]
        content = f"{instruction}\n\n{turns[0]['content']}"
        return [{"role": "user", "content": content}, *turns[1:]]


def _check_url(url: Any) -> None:
    """Raise an error for an address that cannot be used.

    A user's name, a password or a query can be a secret: files of results would have
    it.
    """
    accepted = f"http(s)://HOST[:PORT]/PATH, with the key in {API_KEY} if there is one"
    parts, is_address = urlsplit(""), False
    with suppress(ValueError):
        parts = urlsplit(url if isinstance(url, str) else "")
        is_http = parts.scheme in ("http", "https")
        is_address = is_http and bool(parts.hostname) and parts.port != 0
    if "@" in parts.netloc or parts.query or parts.fragment:
        message = (
            f"url: expected {accepted}; a user name, a password, ? and # are refused, "
            "because they can be secrets"
        )
        raise InvalidOptionError(message)
    if not is_address:
        raise InvalidOptionError.expected("url", accepted, url)


def _copy_fields(value: Any) -> dict[str, Any] | None:
    """Return checked fields of a request, which nobody else can change."""
    if value is None:
        return None
    accepted = f"a JSON object with texts for names, without {', '.join(_FIELDS)}, NaN"
    try:
        names = {*dict(value)}
        text = json.dumps(dict(value), allow_nan=False, ensure_ascii=False)
        fields: dict[str, Any] = json.loads(text.encode())
    except (TypeError, ValueError, RecursionError):
        fields, names = {}, {*_FIELDS}
    if names & {*_FIELDS} or names != fields.keys():
        raise InvalidOptionError.expected("extra_body", accepted, value)
    return fields


class _ChatClient:
    """A connection to an endpoint, which `close` ends.

    Raises
    ------
    MissingExtraError
        Without the package openai.
    InvalidOptionError
        If the key has characters that no header of HTTP can have.
    """

    def __init__(self, endpoint: ChatEndpoint) -> None:
        openai = MissingExtraError.import_module(
            "openai", "a policy behind an HTTP endpoint", extra="chat"
        )
        # The line end of a file that a key was read from is none of it.
        self._key = os.environ.get(API_KEY, "").strip()
        if not (self._key.isascii() and self._key.isprintable()):
            message = f"{API_KEY}: expected printable ASCII characters, got others"
            raise InvalidOptionError(message)
        self._client: Any = openai.AsyncOpenAI(
            base_url=endpoint.url,
            api_key=self._key or _NO_KEY,
            timeout=endpoint.timeout,
            max_retries=endpoint.retries,
            # It would send the observations on, to any host.
            http_client=openai.DefaultAsyncHttpxClient(follow_redirects=False),
        )
        self._endpoint, retries = endpoint, endpoint.retries
        self._seconds = 2 * endpoint.timeout * (retries + 1) + _MAX_WAIT * retries
        fields = {
            "temperature": endpoint.temperature,
            "max_tokens": endpoint.max_tokens,
        }
        self._fields: dict[str, Any] = {**(endpoint.extra_body or {})}
        self._fields |= {key: part for key, part in fields.items() if part is not None}

    async def close(self) -> None:
        """Disconnect."""
        await self._client.close()

    async def answer(self, instruction: str | None, turns: Sequence[Message]) -> str:
        """Return the model's answer; a refusal, or none, is the empty text.

        Half of a surrogate pair, which UTF-8 lacks, is a question mark: in the request
        and in the answer.  In the request a blank stands for an empty message, which
        many servers refuse.

        Raises
        ------
        ChatError
            If all attempts failed, or the response cannot be read.
        """
        try:
            request = self._client.chat.completions.create(
                model=self._endpoint.model,
                messages=[
                    {name: _replace_halves(text) or " " for name, text in each.items()}
                    for each in self._endpoint.write_messages(instruction, turns)
                ],
                extra_body=self._fields,
            )
            # The client's own limit begins anew with each byte of a response.
            response = await asyncio.wait_for(request, self._seconds)
            if not response.choices or response.choices[0].message is None:
                # Some servers send their error with the status 200.
                raise LookupError(response.model_dump_json(exclude_none=True))
            content = response.choices[0].message.content
        except asyncio.TimeoutError as error:
            message = f"no complete response within {self._seconds:g} seconds"
            raise ChatError(message) from error
        except Exception as error:
            # The library raises errors of its own, and those of a broken response.
            status = getattr(error, "status_code", None)
            if status in _REDIRECTS:
                target = error.response.headers.get("Location")  # type: ignore[attr-defined]
                url = self._endpoint.url
                message = f"{url} redirects to {target}, which is not followed"
                raise ChatError(message, is_refusal=True) from error
            raise ChatError(self._describe(error), status in _REFUSALS) from error
        if content is not None and not isinstance(content, str):
            message = f"the answer is no text, its type is {type(content).__name__}"
            raise ChatError(message)
        return _replace_halves(content or "")

    def _describe(self, error: Exception) -> str:
        """Return one line about an error, without the key."""
        reasons = [str(error)]
        if error.__cause__ is not None:
            # Of a lost connection the library says nothing else.
            reasons = [str(error).rstrip("."), str(error.__cause__)]
        text = " ".join(": ".join(filter(None, reasons)).split())
        if self._key:
            text = text.replace(self._key, "***")
        kind = type(error).__name__
        if getattr(error, "status_code", None) is None and "API" not in kind:
            kind = f"the response is no chat completion ({kind})"
        is_refused = getattr(error, "status_code", None) in (400, 422, 500)
        is_refused = is_refused and self._endpoint.instruction_role == "system"
        advice = _ADVICE if is_refused and _SYSTEM_ROLE.search(text) else ""
        if len(text) > _MAX_REASON:
            text = f"{text[:_MAX_REASON]}..."
        return f"{kind}: {text}{advice}" if text else kind


def _replace_halves(text: str) -> str:
    return text.encode("utf-8", "replace").decode()


# ------------------------------------------------------------------------- episodes

OnError = Literal["fault", "raise"]
# Episodes that may be ahead of the first one that the caller has not taken, for each
# environment.  They wait in the memory.
_EPISODES_AHEAD = 4
# A wait without a limit cannot be interrupted on Windows.
_SECONDS_BETWEEN_SIGNALS = 0.2
TAGS = {"action_pattern": "<answer>(.*?)</answer>"}
"""Keywords of an answer between tags."""
TEXTS = {"obs_mode": "text", "action_mode": "text", **TAGS}
"""Keywords of a game on a grid whose observations and actions are texts."""


def play_chat(
    envs: Any,
    seeds: Sequence[int],
    endpoint: ChatEndpoint,
    *,
    history: int | None = None,
    on_error: OnError = "fault",
    in_order: bool = True,
) -> Iterator[Trajectory]:
    """Play each seed once, by a chat with a model, and yield the episodes.

    The system message is the environment's instruction, unless the endpoint has another
    ``instruction_role``, each observation a message of the user, each answer, as
    written, one of the assistant; see `roll_vec.trajectories.to_messages`.

    Parameters
    ----------
    envs : VectorEnv
        A batch of this package in ``Disabled`` mode whose observations and actions are
        texts.  So many conversations are held at a time.  It belongs to this function,
        which closes it in the end.
    seeds : sequence of int
        Episode i is the one that ``reset(seed=seeds[i])`` begins.
    endpoint : ChatEndpoint
    history : int or None
        How many turns before the present one a request has; None: all.
    on_error : str
        ``fault``: a request that fails for good ends its episode, whose ``fault`` is
        the reason.  ``raise``: it ends all.  An endpoint that refuses the key, the path
        or the model, or redirects, always ends all.
    in_order : bool
        True: the episodes come in the order of the seeds.  False: each comes when it
        has ended.

    Yields
    ------
    Trajectory
        One that a failed request has ended is neither terminated nor truncated, and no
        success; it may have no step.

    Raises
    ------
    ChatError
        See ``on_error``.
    InvalidOptionError
        If an argument, or the key, cannot be used.
    MissingExtraError
        Without the extra ``chat``.
    """
    for space in (envs.single_observation_space, envs.single_action_space):
        if not isinstance(space, Text):
            accepted = "environments of texts (obs_mode='text', action_mode='text')"
            raise InvalidOptionError.expected("envs", accepted, space)
    if history is not None:
        history = check_int("history", history, 0)
    check_choice("on_error", on_error, ("fault", "raise"))
    client = _ChatClient(endpoint)
    conversations = _Conversations(envs, list(seeds), client, history, on_error)
    return conversations.episodes(in_order)


def play_chat_episodes(
    split: Split,
    envs: Any,
    endpoint: ChatEndpoint,
    episodes: Sequence[int] | None = None,
    *,
    history: int | None = None,
    on_error: OnError = "fault",
) -> Iterator[EpisodeRecord]:
    """Play some episodes of a split by a chat; yield each when it has ended.

    Parameters
    ----------
    split : Split
    envs, endpoint, history, on_error
        As for `play_chat`.
    episodes : sequence of int, optional
        Numbers in the split; None: all.
    """
    numbers = list(range(len(split)) if episodes is None else episodes)
    number_of = {split.seeds[number]: number for number in numbers}
    seeds = list(number_of)
    for trajectory in play_chat(
        envs, seeds, endpoint, history=history, on_error=on_error, in_order=False
    ):
        assert trajectory.seed is not None
        yield EpisodeRecord(
            episode=number_of[trajectory.seed],
            seed=trajectory.seed,
            total_reward=trajectory.total_reward,
            success=bool(trajectory.success),
            length=trajectory.num_steps,
            terminated=trajectory.terminated,
            truncated=trajectory.truncated,
            fault=trajectory.fault,
        )


def chat_keywords(split: Split, keywords: dict[str, Any]) -> dict[str, Any]:
    """Return the keywords of a split's environments for a chat.

    Observations and actions of grids are texts.  The answer stands between ``<answer>``
    and ``</answer>``, and the instruction says so.

    Parameters
    ----------
    split : Split
    keywords : dict
        Of the user; they stay as they are.
    """
    is_grid = "obs_mode" in ENVIRONMENTS[split.id].defaults()
    keywords = {**TAGS, **(TEXTS if is_grid else {}), **keywords}
    if "env_instruction" in keywords or keywords["action_pattern"] is None:
        return keywords
    with closing(split.make_vec(1, **keywords)) as envs:
        _, infos = envs.reset(seed=[split.seeds[0]])
        examples = getattr(envs.single_action_space, "examples", None)
    instruction = str(infos["env_instruction"][0])
    # Those of grids say it themselves.
    if examples and examples[0] not in instruction:
        form = f"Write your answer in this form: {examples[0]}"
        keywords["env_instruction"] = f"{instruction}\n{form}"
    return keywords


class _Conversations:
    """The thread of an event loop in which each environment has a conversation."""

    def __init__(
        self,
        envs: Any,
        seeds: list[int],
        client: _ChatClient,
        history: int | None,
        on_error: OnError,
    ) -> None:
        self._envs, self._sessions = envs, Sessions(envs)
        self._id = "" if envs.spec is None else envs.spec.id
        self._waiting = iter(enumerate(seeds))
        self._num_conversations = min(envs.num_envs, len(seeds))
        self._client, self._history, self._on_error = client, history, on_error
        # Pairs of the index of a seed and its trajectory; at the end, None or the error
        # that has ended all.
        self._results: queue.SimpleQueue[Any] = queue.SimpleQueue()

    def episodes(self, in_order: bool) -> Iterator[Trajectory]:
        """Hold all conversations; in the end, close the environments."""
        waiting: dict[int, Trajectory] = {}
        num_yielded = 0
        loop = asyncio.new_event_loop()
        self._slots = asyncio.Semaphore(_EPISODES_AHEAD * self._num_conversations)
        main = loop.create_task(self._hold_all())
        thread = threading.Thread(
            target=self._run, args=(loop, main), name="roll_vec-chat", daemon=True
        )
        try:
            thread.start()
            while True:
                try:
                    result = self._results.get(timeout=_SECONDS_BETWEEN_SIGNALS)
                except queue.Empty:
                    continue
                if result is None:
                    return
                if isinstance(result, BaseException):
                    raise result
                index, trajectory = result
                waiting[index if in_order else num_yielded] = trajectory
                while num_yielded in waiting:
                    with suppress(RuntimeError):  # the loop has ended
                        loop.call_soon_threadsafe(self._slots.release)
                    num_yielded += 1
                    yield waiting.pop(num_yielded - 1)
        finally:
            with suppress(RuntimeError):
                loop.call_soon_threadsafe(main.cancel)
            thread.join()
            self._sessions.close()

    # ---------------------------------------------------------- in the thread

    def _run(self, loop: asyncio.AbstractEventLoop, main: asyncio.Task[None]) -> None:
        end: BaseException | None = None
        try:
            loop.run_until_complete(main)
        except BaseException as error:
            end = error
        finally:
            loop.run_until_complete(loop.shutdown_asyncgens())
            loop.close()
            self._results.put(end)

    async def _hold_all(self) -> None:
        tasks = [
            asyncio.create_task(self._hold()) for _ in range(self._num_conversations)
        ]
        try:
            # Raises the first error.
            await asyncio.gather(*tasks)
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
            await self._client.close()

    async def _hold(self) -> None:
        """Play one episode after the other in one environment."""
        with self._sessions.open(0) as session:
            while True:
                await self._slots.acquire()
                index, seed = next(self._waiting, (None, None))
                if seed is None:
                    return
                trajectory = await self._play(session, seed)
                self._results.put((index, trajectory))

    async def _play(self, session: Session, seed: int) -> Trajectory:
        """Play one episode."""
        env_id = session.env_id
        old_count = fault_counts(self._envs)[env_id]
        observation, info = await session.reset_async(seed=seed)
        episode = OpenEpisode(observation, info)
        terminated = truncated = False
        fault = None
        if fault_counts(self._envs)[env_id] > old_count:
            # Another episode begins in its place: nobody has to play it.
            fault, truncated = fault_of(info) or SKIPPED, True
        instruction = instruction_of(info)
        turns: list[Message] = []
        while not (terminated or truncated):
            turns.append({"role": "user", "content": observation})
            first = 0
            if self._history is not None:
                first = max(len(turns) - 1 - 2 * self._history, 0)
            try:
                action = await self._client.answer(instruction, turns[first:])
            except ChatError as error:
                if error.is_refusal or self._on_error == "raise":
                    raise
                fault = str(error)
                break
            turns.append({"role": "assistant", "content": action})
            results = await session.step_async(action)
            observation, reward, terminated, truncated, info = results
            episode.add(action, observation, reward, info)
        fault = fault or fault_of(info)
        success = episode_success(self._envs, env_id, info)
        return episode.end(self._id, seed, terminated, truncated, success, fault)
