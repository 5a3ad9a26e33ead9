"""The base of the classes of ROLL's pipeline: options, parser, session, infos, names.

The interface is that of GEM's `gem.Env`, and of the infos that ROLL's environment
managers read.  Names, texts and keys are those of ROLL's classes in
``roll/pipeline/agentic/env`` (commit 8eb27cc2); `roll_vec` needs neither GEM nor ROLL.
"""

from __future__ import annotations

import copy
import random
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence, Set
from typing import TYPE_CHECKING, Any, ClassVar

from roll_vec.adapters.roll.configs import AnswerOptions, plain_value
from roll_vec.adapters.roll.evaluation_split import apply_split, share_counter
from roll_vec.adapters.roll.shared_batch import share_batch
from roll_vec.errors import EnvironmentFaultError, InvalidStateError, ResetNeededError
from roll_vec.options import (
    check_int,
    check_unknown,
    keywords_of,
    parse_options,
    pop_options,
)
from roll_vec.sessions import Session
from roll_vec.text.action_parser import ActionParser
from roll_vec.text.validation import check_text
from roll_vec.vector.known_infos import fault_of

if TYPE_CHECKING:
    from typing_extensions import Self

# How ROLL aggregates the metrics of an episode's steps.
_AGG_MODE = {
    "action_is_effective": "mean",
    "action_is_valid": "mean",
    "success": "last",
    "format_penalty": "mean",
}


class GemEnv(ABC):
    """An environment of ROLL's pipeline, a row of a batch that all of them share.

    Parameters
    ----------
    keywords : mapping from str to object
        The ``env_config`` of a yaml: keywords of `ROLL_OPTIONS` and of `OPTIONS`.

    Attributes
    ----------
    options, our_options : ROLL_OPTIONS, OPTIONS
    env_instruction : str
    max_steps : int
    format_penalty : float
    action_pattern : str

    Raises
    ------
    InvalidOptionError, UnknownOptionError
    """

    ID: ClassVar[str]
    OPTIONS: ClassVar[type[Any]]
    """The options of our environment."""
    ROLL_OPTIONS: ClassVar[type[AnswerOptions]]
    """The options that ROLL's class has besides."""
    LEFT_OUT: ClassVar[Set[str]]
    """Keywords of `OPTIONS` that are not the yaml's to set."""
    INSTRUCTION: ClassVar[str]
    ACTION_LOOKUP: Any = None
    """The parser's names of actions; without names any text is an action."""
    EPISODE: ClassVar[tuple[str, ...]] = (
        *("_turn", "_is_running", "_observation", "_outcome", "_seed"),
    )
    """Attributes of an episode, besides the row of the batch: `get_state` has them."""
    # Of an evaluation split: who counts its episodes, and this environment's place.
    _counter: Any = None
    _place: Any = None
    _seeds: Sequence[int] = ()

    def __init__(self, keywords: Mapping[str, Any]) -> None:
        accepted = keywords_of(self.OPTIONS).keys() - self.LEFT_OUT
        check_unknown(keywords, accepted | keywords_of(self.ROLL_OPTIONS).keys())
        ours = plain_value(keywords)
        self.options: Any = pop_options(self.ROLL_OPTIONS, ours)
        if self.options.evaluation_split is not None:
            ours = self._play_split(self.options.evaluation_split, ours)
        ours = self._batch_keywords(ours)
        # Validated now, so that a bad keyword fails where it is written.
        self.our_options: Any = parse_options(self.OPTIONS, ours)
        self.max_steps: int = self.options.max_steps
        self.env_instruction = self.options.env_instruction or self.INSTRUCTION
        texts = self.options.text_options()
        self.format_penalty = texts.format_penalty
        self.action_pattern = texts.action_pattern
        self._parser = ActionParser(texts, self.ACTION_LOOKUP)
        self._keywords = ours
        self._seed: int | None = None
        self._batch = share_batch(self.ID, ours, self)
        self._session: Session | None = None
        self._is_running = False
        # The batch's latest observation and info.
        self._observation: Any = None
        self._outcome: Mapping[str, Any] = {}
        # Answers of the current episode.
        self._turn = 0
        # Not seeded: members of a group have one seed, and should play differently.
        self._random = random.Random()

    @abstractmethod
    def _batch_keywords(self, keywords: dict[str, Any]) -> dict[str, Any]:
        """Return the keywords of the batch for those of the yaml that are ours."""

    def _task_keywords(self, keywords: dict[str, Any]) -> dict[str, Any]:
        """Return the keywords of the batch that may choose the task."""
        return keywords

    def _play_split(self, name: str, keywords: dict[str, Any]) -> dict[str, Any]:
        """Play the episodes of a split; return its keywords, and those of the yaml."""
        tasks = self._task_keywords(dict(keywords))
        split, _ = apply_split(self.ID, name, tasks)
        self._seeds = split.seeds
        options = {**vars(self.options), **keywords}
        self._counter = share_counter(self.ID, options, len(split))
        self._place = self._counter.join()
        return {**keywords, **split.keywords}

    def reset(self, seed: int | None = None) -> tuple[Any, dict[str, Any]]:
        """Start a new episode.

        Parameters
        ----------
        seed : int or None
            ROLL's environment manager passes that of the group plus the number of the
            episode.  None goes on to the next episode.  With an ``evaluation_split`` it
            chooses no episode: calls with one seed, those of a group, get the same one.

        Returns
        -------
        observation, info
            The info has ``env_instruction``, the beginning of the prompt.  After the
            last episode of an ``evaluation_split`` the observation is None, and the
            info empty; the next call begins the split anew.

        Raises
        ------
        InvalidSeedError, LevelGenerationError
        EnvironmentFaultError
            If the environment fails, as for an option that it refuses.
        """
        return self._reset(seed, None)

    def _reset(
        self, seed: int | None, options: dict[str, Any] | None
    ) -> tuple[Any, dict[str, Any]]:
        if self._counter is not None:
            number, self._place = self._counter.begin(self._place, seed)
            if number is None:
                self._is_running = False
                return None, {}
            seed = self._seeds[number]
        self._seed = seed
        result = self._open().reset(seed, options)
        self._note(*result)
        self._turn, self._is_running = 0, True
        return self._observation, {"env_instruction": self.get_instructions()}

    def _open(self) -> Session:
        """Return the session of this environment, which has a row of the batch."""
        if self._session is None:
            self._session = self._batch.open()
        return self._session

    def _check_running(self) -> None:
        if not self._is_running:
            message = "the environment must be reset before it is given an answer"
            raise ResetNeededError(message)

    def _take(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        """Take an action in the batch, and count the turn."""
        self._check_running()
        assert self._session is not None, "a reset has opened it"
        result = self._session.step(action)
        self._note(result[0], result[4])
        self._turn += 1
        self._is_running = not (result[2] or result[3])
        return self._observation, *result[1:]

    def _note(self, observation: Any, info: Mapping[str, Any]) -> None:
        """Keep a result of the batch; raise an error if its environment has failed."""
        if (fault := fault_of(info)) is not None:
            self._is_running = False
            raise EnvironmentFaultError({0: fault})
        self._observation, self._outcome = observation, info

    @abstractmethod
    def step(self, action: str) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        """Take the action of a model's answer.

        Parameters
        ----------
        action : str
            The whole answer.

        Returns
        -------
        observation, reward, terminated, truncated, info
            The info has ``metrics``, ``metrics_agg_mode``, ``action`` (None for no
            action), ``action_content``, ``think_content``, and mostly ``action_desc``.

        Raises
        ------
        InvalidActionError
            If it is not a str.
        ResetNeededError
            Before a reset and after the end of the episode.
        EnvironmentFaultError
            If the environment fails; the episode has ended.
        """

    def get_instructions(self) -> str:
        """Return the beginning of the prompt, which the info of a reset has, too."""
        return self.env_instruction

    @abstractmethod
    def sample_random_action(self) -> str:
        """Return an action of the present state, without a pattern around it."""

    def parse_action(self, text: str) -> dict[str, Any]:
        """Return ``action``, ``action_content`` and ``think_content`` of an answer.

        Raises
        ------
        InvalidActionError
            If it is not a str.
        """
        actions, content, think, _ = self._parser.parse(check_text(text))
        return {
            "action": actions[0] if actions else None,
            "action_content": content,
            "think_content": think,
        }

    def _info(
        self,
        parsed: Mapping[str, Any],
        description: str | None,
        result: Mapping[str, Any],
        penalty: float,
    ) -> dict[str, Any]:
        """Return the info of a step; a description of None is left out.

        ``result`` has ``action_is_effective`` and ``success``, as the batch's infos.
        """
        info: dict[str, Any] = {
            "metrics": {
                "action_is_effective": bool(result["action_is_effective"]),
                "action_is_valid": parsed["action"] is not None,
                "success": bool(result["success"]),
                "format_penalty": penalty,
            },
            "metrics_agg_mode": dict(_AGG_MODE),
        }
        if description is not None:
            info["action_desc"] = description
        return {**info, **parsed}

    def _invalid_info(self, parsed: Mapping[str, Any], success: bool) -> dict[str, Any]:
        """Return the info of a step whose answer is no action."""
        description = f"At turn {self._turn}, You did not provide a valid action."
        result = {"action_is_effective": False, "success": success}
        return self._info(parsed, description, result, self.format_penalty)

    def _skip(
        self, parsed: Mapping[str, Any], max_turns: float = float("inf")
    ) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        """Return the results of an answer that is no action and moves nothing."""
        self._check_running()
        self._turn += 1
        has_ended = self._turn >= max_turns
        self._is_running = not has_ended
        info = self._invalid_info(parsed, bool(self._outcome.get("success")))
        return self._observation, self.format_penalty, has_ended, has_ended, info

    def render(self, mode: str | None = None) -> Any:  # noqa: ARG002
        """Return the latest observation, for any mode; None before a reset."""
        return self._observation

    def get_state(self) -> dict[str, Any]:
        """Return where the episode stands, with the turns and the latest observation.

        Returns
        -------
        dict
            It can be pickled.  `set_state` of any environment of the same keywords
            accepts it, also in another process.

        Raises
        ------
        ResetNeededError
        """
        if self._session is None:
            message = "the environment must be reset before it has a state"
            raise ResetNeededError(message)
        episode = {name: getattr(self, name) for name in self.EPISODE}
        return {**copy.deepcopy(episode), "row": self._session.get_state()}

    def set_state(self, state: Mapping[str, Any]) -> None:
        """Go to a state of `get_state`; what follows equals what followed it then.

        Raises
        ------
        InvalidStateError
            If it is none of an environment of the same keywords; nothing has changed
            then.
        """
        names = {*self.EPISODE, "row"}
        if not isinstance(state, Mapping) or state.keys() != names:
            accepted = f"a state of {type(self).__name__}.get_state"
            raise InvalidStateError.expected("state", accepted, state)
        self._open().set_state(state["row"])
        for name in self.EPISODE:
            setattr(self, name, copy.deepcopy(state[name]))

    def fork(self, k: int) -> list[Self]:
        """Return k environments that stand where this one stands.

        Each has a row of its own in the shared batch until it is closed or deleted.
        Equal answers lead to equal results.

        Raises
        ------
        ResetNeededError, InvalidOptionError
        """
        state = self.get_state()
        forks = [copy.copy(self) for _ in range(check_int("k", k, 1))]
        # All join before one opens a session, so that a new batch has rows for all.
        for env in forks:
            env._session, env._random = None, random.Random()
            self._batch.join(env)
        for env in forks:
            env.set_state(state)
        return forks

    @property
    def unwrapped(self) -> GemEnv:
        """The environment itself, as of every `gem.Env` without wrappers."""
        return self

    def close(self) -> None:
        """Free the row of the batch; a later reset opens another."""
        if self._session is not None:
            self._session.close()
            self._session = self._observation = None
            self._is_running = False


_PACKAGE = __name__.rpartition(".")[0]

GEM_IDS = {
    "roll_vec/sokoban": f"{_PACKAGE}:GemSokobanEnv",
    "roll_vec/sokoban_native_env": f"{_PACKAGE}:GemSokobanNativeEnv",
    "roll_vec/sokoban_tool_call": f"{_PACKAGE}:GemSokobanToolCallEnv",
    "roll_vec/frozen_lake": f"{_PACKAGE}:GemFrozenLakeEnv",
    "roll_vec/webshop": f"{_PACKAGE}:GemWebShopEnv",
}
"""By ``env_type`` of a yaml: where GEM finds the class."""


def register_gem_envs() -> None:
    """Register the names of `GEM_IDS` by `gem.register`; again is no error.

    GEM has a registry in each process, so that each worker of ROLL must call this: for
    example at the end of ``roll/pipeline/agentic/env/__init__.py``.

    Raises
    ------
    ImportError
        Without GEM.
    """
    import gem
    from gem.envs.registration import ENV_REGISTRY

    for name, entry_point in GEM_IDS.items():
        if name not in ENV_REGISTRY:
            gem.register(name, entry_point=entry_point)
