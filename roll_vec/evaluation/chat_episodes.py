"""Play episodes by a chat with a language model behind an HTTP endpoint.

Each environment of a batch has a conversation of its own, a `roll_vec.sessions.Session`
in a coroutine: it steps as soon as its own answer arrives, and no conversation waits
for another.  (`send` and `recv` alone cannot do this: a reset waits until all results
were received.)  An event loop in a thread runs the coroutines; the caller takes the
episodes from a queue::

    conversation:  reset ─▶ request ─▶ step ─▶ request ─▶ step ... ─▶ queue ─▶ caller
"""

from __future__ import annotations

import asyncio
import queue
import threading
from collections.abc import Iterator, Sequence
from contextlib import closing, suppress
from typing import Any, Literal

from gymnasium.spaces import Text

from roll_vec.errors import InvalidOptionError
from roll_vec.evaluation.chat_endpoint import (
    ChatClient,
    ChatEndpoint,
    ChatError,
    import_openai,
    read_key,
)
from roll_vec.evaluation.episodes import EpisodeRecord
from roll_vec.evaluation.splits import Split
from roll_vec.options import check_choice, check_int
from roll_vec.sessions import Session, Sessions
from roll_vec.trajectories import Trajectory
from roll_vec.trajectories.play import SKIPPED, fault_counts
from roll_vec.trajectories.trajectory import OpenEpisode, instruction_of
from roll_vec.vector.infos import episode_success

OnError = Literal["fault", "raise"]
# Episodes that may be ahead of the first one that the caller has not taken, for each
# environment.  They wait in the memory.
_EPISODES_AHEAD = 4
# A wait without a limit cannot be interrupted on Windows.
_SECONDS_BETWEEN_SIGNALS = 0.2
_PATTERN = "<answer>(.*?)</answer>"


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

    The system message is the environment's instruction, each observation a message of
    the user, each answer, as written, one of the assistant; see
    `roll_vec.trajectories.to_messages`.

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
    import_openai()
    read_key()
    conversations = _Conversations(envs, list(seeds), endpoint, history, on_error)
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
    trajectories = play_chat(
        envs,
        list(number_of),
        endpoint,
        history=history,
        on_error=on_error,
        in_order=False,
    )
    for trajectory in trajectories:
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
    from roll_vec.registration import ENVIRONMENTS

    defaults: dict[str, Any] = {"action_pattern": _PATTERN}
    if "obs_mode" in ENVIRONMENTS[split.id].defaults():
        defaults |= {"obs_mode": "text", "action_mode": "text"}
    keywords = {**defaults, **keywords}
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
        endpoint: ChatEndpoint,
        history: int | None,
        on_error: OnError,
    ) -> None:
        self._envs, self._sessions = envs, Sessions(envs)
        self._id = "" if envs.spec is None else envs.spec.id
        self._waiting = iter(enumerate(seeds))
        self._num_conversations = min(envs.num_envs, len(seeds))
        self._endpoint, self._history, self._on_error = endpoint, history, on_error
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
        async with ChatClient.open(self._endpoint) as client:
            tasks = [
                asyncio.create_task(self._hold(client))
                for _ in range(self._num_conversations)
            ]
            try:
                # Raises the first error.
                await asyncio.gather(*tasks)
            finally:
                for task in tasks:
                    task.cancel()
                await asyncio.gather(*tasks, return_exceptions=True)

    async def _hold(self, client: ChatClient) -> None:
        """Play one episode after the other in one environment."""
        with self._sessions.open(0) as session:
            while True:
                await self._slots.acquire()
                index, seed = next(self._waiting, (None, None))
                if seed is None:
                    return
                trajectory = await self._play(session, client, seed)
                self._results.put((index, trajectory))

    async def _play(
        self, session: Session, client: ChatClient, seed: int
    ) -> Trajectory:
        """Play one episode."""
        env_id = session.env_id
        old_count = fault_counts(self._envs)[env_id]
        observation, info = await session.reset_async(seed=seed)
        episode = OpenEpisode(observation, info)
        terminated = truncated = False
        fault = None
        if fault_counts(self._envs)[env_id] > old_count:
            # Another episode begins in its place: nobody has to play it.
            fault, truncated = info.get("error", SKIPPED), True
        instruction = instruction_of(info)
        system = []
        if instruction is not None:
            system = [{"role": "system", "content": instruction}]
        turns: list[dict[str, str]] = []
        while not (terminated or truncated):
            turns.append({"role": "user", "content": observation})
            first = 0
            if self._history is not None:
                first = max(len(turns) - 1 - 2 * self._history, 0)
            try:
                action = await client.answer([*system, *turns[first:]])
            except ChatError as error:
                if error.is_refusal or self._on_error == "raise":
                    raise
                fault = str(error)
                break
            turns.append({"role": "assistant", "content": action})
            observation, reward, terminated, truncated, info = await session.step_async(
                action
            )
            episode.add(action, observation, reward, info)
        fault = fault or info.get("error")
        success = episode_success(self._envs, env_id, info)
        return episode.end(self._id, seed, terminated, truncated, success, fault)
