"""Play episodes by a chat with a language model behind an HTTP endpoint.

The protocol is that of ``POST /chat/completions`` (OpenAI, API reference, "Create chat
completion").  vLLM, SGLang, llama.cpp, Ollama and others serve it, too.

Each environment of a batch has a conversation, a `roll_vec.sessions.Session` in a
coroutine: it steps as soon as its answer arrives, and no conversation waits for
another.  An event loop in a thread runs the coroutines, so that the caller may have an
event loop, too, as notebooks do.  The next episode of an environment begins when the
caller has the last one.
"""

from __future__ import annotations

import asyncio
import json
import os
import re
import threading
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, wait
from contextlib import closing, suppress
from dataclasses import dataclass, field
from itertools import islice
from typing import Any, TypeAlias

from gymnasium.spaces import Text

from roll_vec.errors import InvalidOptionError, MissingExtraError, RollVecError
from roll_vec.evaluation.episodes import EpisodeRecord
from roll_vec.evaluation.splits import Split
from roll_vec.evaluation.turns import EpisodeTurns
from roll_vec.options import check_choice, check_int, check_number
from roll_vec.registration import ENVIRONMENTS
from roll_vec.sessions import Session, Sessions
from roll_vec.trajectories import Trajectory
from roll_vec.trajectories.play import SKIPPED, fault_counts, in_order
from roll_vec.trajectories.trajectory import TEXTS, OpenEpisode, instruction_of
from roll_vec.vector.known_infos import episode_success, fault_of

API_KEY = "OPENAI_API_KEY"
"""The environment variable of the key."""
# Redirects, a wrong key, no permission, no such path or model: every other request
# fails likewise.
_REFUSALS = (301, 302, 303, 307, 308, 401, 403, 404)
# Characters of the reason of a failure: some servers answer with a page of HTML.
_MAX_REASON = 300
# The longest time that the client waits before it repeats a request, in seconds.
_MAX_WAIT = 60
# An address without a user name, a password, a query and a fragment.
_URL = r"https?://([\w.-]+|\[[\da-f:.]+\])(:[1-9]\d*)?(/[^?#\s]*)?"
# Fields of a request that ``extra_body`` may not have.
_FIELDS = ("model", "messages", "n", "stream", "temperature", "max_tokens")


class ChatError(RollVecError, RuntimeError):
    """Raised when the endpoint refuses all requests.

    The key, the address or the name of the model is wrong, or it redirects to another
    address.
    """


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
    history : int or None
        How many turns before the present one a request has; None: all.

    Raises
    ------
    InvalidOptionError
    MissingExtraError
        Without the extra ``chat``.
    """

    url: str
    model: str
    temperature: float | None = 0.0
    max_tokens: int | None = None
    timeout: float = 120.0
    retries: int = 5
    extra_body: Mapping[str, Any] | None = field(default=None, hash=False)
    instruction_role: str = "system"
    history: int | None = None

    def __post_init__(self) -> None:
        _check_url(self.url)
        if not (isinstance(self.model, str) and self.model):
            accepted = "the name of a model"
            raise InvalidOptionError.expected("model", accepted, self.model)
        if self.temperature is not None:
            check_number("temperature", self.temperature, 0, 100)
        for name, low in (("max_tokens", 1), ("history", 0)):
            if getattr(self, name) is not None:
                check_int(name, getattr(self, name), low)
        check_number("timeout", self.timeout, 0.001, 1e6)
        check_int("retries", self.retries, 0)
        object.__setattr__(self, "extra_body", _copy_fields(self.extra_body))
        check_choice("instruction_role", self.instruction_role, ("system", "user"))
        feature = "a policy behind an HTTP endpoint"
        MissingExtraError.import_module("openai", feature, extra="chat")

    def to_json(self) -> dict[str, Any]:
        """Return everything that answers depend on."""
        facts: dict[str, Any] = {"name": self.url, "model": self.model}
        facts |= {"temperature": self.temperature, "max_tokens": self.max_tokens}
        facts["history"] = self.history
        for name in ("extra_body", "instruction_role"):
            # Most requests have none of them.
            if getattr(self, name) != getattr(ChatEndpoint, name):
                facts[name] = getattr(self, name)
        return facts


def _check_url(url: Any) -> None:
    """Raise an error for an address that cannot be used, or may have a secret in it."""
    accepted = (
        f"http(s)://HOST[:PORT]/PATH, with the key in {API_KEY} if there is one; a "
        "user name, a password, ? and # are refused, because they can be secrets"
    )
    if not (isinstance(url, str) and re.fullmatch(_URL, url, re.IGNORECASE)):
        # An error is shown and logged: it does not repeat a secret.
        value = "one with @, ? or #" if re.search("[@?#]", str(url)) else url
        raise InvalidOptionError.expected("url", accepted, value)


def _copy_fields(value: Any) -> dict[str, Any] | None:
    """Return checked fields of a request, which nobody else can change."""
    if value is None:
        return None
    fields: dict[str, Any] = {}
    with suppress(TypeError, ValueError, RecursionError):
        text = json.dumps(dict(value), allow_nan=False, ensure_ascii=False)
        fields = json.loads(text.encode())
    if fields != value or fields.keys() & {*_FIELDS}:
        accepted = f"a JSON object without {', '.join(_FIELDS)} and NaN"
        raise InvalidOptionError.expected("extra_body", accepted, value)
    return fields


class _ChatClient:
    """A connection to an endpoint."""

    def __init__(self, endpoint: ChatEndpoint) -> None:
        import openai

        # The line end of a file that a key was read from is none of it.
        self._key = os.environ.get(API_KEY, "").strip()
        if not (self._key.isascii() and self._key.isprintable()):
            message = f"{API_KEY}: expected printable ASCII characters, got others"
            raise InvalidOptionError(message)
        self._client: Any = openai.AsyncOpenAI(
            base_url=endpoint.url,
            # The client demands a key, which local servers ignore.
            api_key=self._key or "none",
            timeout=endpoint.timeout,
            max_retries=endpoint.retries,
            # It would send the observations on, to any host.
            http_client=openai.DefaultAsyncHttpxClient(follow_redirects=False),
        )
        self.close = self._client.close
        self._endpoint, retries = endpoint, endpoint.retries
        self._seconds = 2 * endpoint.timeout * (retries + 1) + _MAX_WAIT * retries
        self._fields = dict(endpoint.extra_body or {})
        for name in ("temperature", "max_tokens"):
            if getattr(endpoint, name) is not None:
                self._fields[name] = getattr(endpoint, name)

    async def answer(
        self, instruction: str | None, turns: Sequence[str]
    ) -> tuple[str, bool]:
        """Return the model's answer, and whether its longest length cut it.

        A refusal, or no answer, is the empty text.

        Half of a surrogate pair, which UTF-8 lacks, is a question mark: in the request
        and in the answer.  In the request a blank stands for an empty message, which
        many servers refuse.

        Parameters
        ----------
        instruction : str or None
        turns : sequence of str
            Observations and answers by turns; the last one is an observation.

        Raises
        ------
        ChatError
            If the endpoint refuses all requests.
        Exception
            Of the client, if all attempts have failed.
        """
        if self._endpoint.history is not None:
            turns = turns[max(len(turns) - 1 - 2 * self._endpoint.history, 0) :]
        texts, roles = [*turns], ["user", "assistant"] * len(turns)
        if instruction is not None and self._endpoint.instruction_role == "system":
            texts, roles = [instruction, *texts], ["system", *roles]
        elif instruction is not None:
            texts[0] = f"{instruction}\n\n{texts[0]}"
        request = self._client.chat.completions.create(
            model=self._endpoint.model,
            messages=[
                {"role": role, "content": _replace_halves(text) or " "}
                for role, text in zip(roles, texts, strict=False)
            ],
            extra_body=self._fields,
        )
        try:
            # The client's own limit begins anew with each byte of a response.
            response = await asyncio.wait_for(request, self._seconds)
            if not response.choices or response.choices[0].message is None:
                # Some servers send their error with the status 200.
                raise LookupError(response.model_dump_json(exclude_none=True))
            choice = response.choices[0]
            is_cut = getattr(choice, "finish_reason", None) == "length"
            return _replace_halves(choice.message.content or ""), is_cut
        except asyncio.TimeoutError:
            message = f"no complete response within {self._seconds:g} seconds"
            raise TimeoutError(message) from None
        except Exception as error:
            if getattr(error, "status_code", None) in _REFUSALS:
                raise ChatError(self.describe(error)) from error
            raise

    def describe(self, error: Exception) -> str:
        """Return one line about an error, without the key."""
        # Of a lost connection the library says nothing else.
        reasons = filter(None, map(str, (error, error.__cause__ or "")))
        text = " ".join(": ".join(reasons).split())
        if self._key:
            text = text.replace(self._key, "***")
        if len(text) > _MAX_REASON:
            text = f"{text[:_MAX_REASON]}..."
        kind = type(error).__name__
        if isinstance(error, (LookupError, TypeError, AttributeError, ValueError)):
            kind = f"the response is no chat completion ({kind})"
        return f"{kind}: {text}"


def _replace_halves(text: str) -> str:
    return text.encode("utf-8", "replace").decode()


# ------------------------------------------------------------------------- episodes


def play_chat(
    envs: Any, seeds: Sequence[int], endpoint: ChatEndpoint
) -> Iterator[Trajectory]:
    """Play each seed once, by a chat with a model, and yield the episodes in order.

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

    Yields
    ------
    Trajectory
        One that a failed request has ended is neither terminated nor truncated, and no
        success; it may have no step.  Its ``fault`` is the reason.

    Raises
    ------
    ChatError
        If the endpoint refuses all requests.
    InvalidOptionError
        If an argument, or the key, cannot be used.
    """
    conversations = _Conversations(envs, seeds, endpoint)
    return in_order(
        (index, trajectory) for index, trajectory, _ in conversations.episodes()
    )


def play_chat_episodes(
    split: Split,
    envs: Any,
    endpoint: ChatEndpoint,
    episodes: Sequence[int] | None = None,
) -> Iterator[EpisodeRecord]:
    """Play some episodes of a split by a chat; yield each when it has ended.

    Parameters
    ----------
    split : Split
    envs, endpoint
        As for `play_chat`.
    episodes : sequence of int, optional
        Numbers in the split; None: all.
    """
    numbers = list(range(len(split)) if episodes is None else episodes)
    seeds = [split.seeds[number] for number in numbers]
    conversations = _Conversations(envs, seeds, endpoint)
    for index, trajectory, cut in conversations.episodes():
        steps = trajectory.observations, trajectory.actions, trajectory.rewards
        yield EpisodeRecord(
            episode=numbers[index],
            seed=seeds[index],
            total_reward=trajectory.total_reward,
            success=bool(trajectory.success),
            length=trajectory.num_steps,
            terminated=trajectory.terminated,
            truncated=trajectory.truncated,
            fault=trajectory.fault,
            turns=EpisodeTurns.of_texts(*steps, cut),
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

    Raises
    ------
    InvalidOptionError
        If the environment has no texts, or a keyword cannot be used.
    """
    is_grid = "obs_mode" in ENVIRONMENTS[split.id].defaults()
    defaults = TEXTS if is_grid else {"action_pattern": TEXTS["action_pattern"]}
    keywords = {**defaults, **keywords}
    with closing(split.make_vec(1, **keywords)) as envs:
        _, infos = envs.reset(seed=[split.seeds[0]])
        examples = getattr(envs.single_action_space, "examples", None)
    if "env_instruction" in keywords or keywords["action_pattern"] is None:
        return keywords
    instruction = str(infos["env_instruction"][0])
    # Those of grids say it themselves.
    if examples and examples[0] not in instruction:
        form = f"Write your answer in this form: {examples[0]}"
        keywords["env_instruction"] = f"{instruction}\n{form}"
    return keywords


# An episode, and the turns whose answers were cut.
_Played: TypeAlias = tuple[Trajectory, list[int]]


class _Conversations:
    """The thread of an event loop in which each environment has a conversation."""

    def __init__(self, envs: Any, seeds: Sequence[int], endpoint: ChatEndpoint) -> None:
        for space in (envs.single_observation_space, envs.single_action_space):
            if not isinstance(space, Text):
                accepted = "environments of texts (obs_mode='text', action_mode='text')"
                raise InvalidOptionError.expected("envs", accepted, space)
        self._client = _ChatClient(endpoint)
        self._envs, self._sessions, self._seeds = envs, Sessions(envs), seeds

    def episodes(self) -> Iterator[tuple[int, Trajectory, list[int]]]:
        """Hold all conversations; in the end, close the environments.

        Yields
        ------
        index, trajectory, cut
            Each when it has ended.  The last are the turns whose answers were cut.
        """
        loop = asyncio.new_event_loop()
        thread = threading.Thread(
            target=loop.run_forever, name="roll_vec-chat", daemon=True
        )
        waiting = iter(enumerate(self._seeds))
        count = min(self._envs.num_envs, len(self._seeds))
        idle = [self._sessions.open(0) for _ in range(count)]
        playing: dict[Future[_Played], tuple[int, Session]] = {}
        thread.start()
        try:
            while True:
                for index, seed in islice(waiting, len(idle)):
                    session = idle.pop()
                    episode = self._play(session, seed)
                    future = asyncio.run_coroutine_threadsafe(episode, loop)
                    playing[future] = index, session
                if not playing:
                    return
                # A wait without a limit cannot be interrupted on Windows.
                for future in wait(playing, 0.2, FIRST_COMPLETED).done:
                    index, session = playing.pop(future)
                    idle.append(session)
                    yield index, *future.result()
        finally:
            asyncio.run_coroutine_threadsafe(self._end(), loop).result()
            loop.call_soon_threadsafe(loop.stop)
            thread.join()
            loop.close()
            self._sessions.close()

    # ---------------------------------------------------------- in the thread

    async def _end(self) -> None:
        tasks = asyncio.all_tasks() - {asyncio.current_task()}
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        await self._client.close()

    async def _play(self, session: Session, seed: int) -> _Played:
        """Play one episode; return the turns whose answers were cut as well."""
        envs, env_id = self._envs, session.env_id
        old_count = fault_counts(envs)[env_id]
        observation, info = await session.reset_async(seed=seed)
        episode, turns = OpenEpisode(observation, info), [observation]
        terminated = truncated = False
        fault, cut = None, []
        if fault_counts(envs)[env_id] > old_count:
            # Another episode begins in its place: nobody has to play it.
            fault, truncated = fault_of(info) or SKIPPED, True
        instruction = instruction_of(info)
        while not (terminated or truncated):
            try:
                action, is_cut = await self._client.answer(instruction, turns)
            except ChatError:
                raise
            except Exception as error:
                fault = self._client.describe(error)
                break
            results = await session.step_async(action)
            observation, reward, terminated, truncated, info = results
            if is_cut:
                cut.append(len(episode.actions))
            episode.add(action, observation, reward, info)
            turns += [action, observation]
        id = "" if envs.spec is None else envs.spec.id
        success = episode_success(envs, env_id, info)
        fault = fault or fault_of(info)
        flags = terminated, truncated, success
        return episode.end(id, seed, *flags, fault), cut
