"""Rounds of chat over four families of environments, in groups for GRPO.

Sokoban, FrozenLake, Countdown and WebShop share one pool.  A group is eight
conversations about the same task.  Each gets an advantage: how much better its return
is than the mean of its group.  `language_loop.py` and `grpo.py` use this file.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Protocol

import gymnasium
import numpy as np

import roll_vec

GRID = {"obs_mode": "text", "action_mode": "text"}
# The id of each family, and its keywords.
FAMILIES: dict[str, tuple[str, dict[str, Any]]] = {
    "Sokoban": ("roll_vec/Sokoban-v0", {"num_boxes": 1, **GRID}),
    "FrozenLake": ("roll_vec/RandomFrozenLake-v0", {"is_slippery": False, **GRID}),
    "Countdown": ("roll_vec/Countdown-v0", {"max_steps": 3}),
    "WebShop": ("roll_vec/WebShop-v0", {"num_products": 200}),
}
# The actions of grids, by code from 1 on.
ACTION_NAMES = {
    "Sokoban": ("Up", "Down", "Left", "Right"),
    "FrozenLake": ("Left", "Down", "Right", "Up"),
}
# Keywords of all families: an answer without a valid action costs 0.1.
TEXT = {"action_pattern": "<answer>(.*?)</answer>", "format_penalty": -0.1}
FORM = "Write the action between <answer> and </answer>."


@dataclass
class Conversation:
    """One episode as a chat.

    `messages` is what a chat model takes: a system message with the instructions, then
    observations (role "user") and answers (role "assistant") in turns.
    """

    round_number: int
    env_id: int
    family: str
    messages: list[dict[str, str]]
    hints: list[str] = field(default_factory=list)  # of the solver, for a script alone
    rewards: list[float] = field(default_factory=list)
    format_errors: int = 0  # answers without tags
    invalid_actions: int = 0  # these, and tags around what is no action here
    success: bool = False
    is_over: bool = False


class Policy(Protocol):
    """The model: it answers, and learns from a round."""

    def answer(self, conversations: Sequence[Conversation]) -> Sequence[str]:
        """Return a text for each conversation; its `messages` are the prompt."""

    def update(self, conversations: Sequence[Conversation], advantages: Any) -> None:
        """Learn from the conversations of a round, (num_envs,) float64 advantages."""


def group_advantages(returns: Any, group_size: int, epsilon: float = 1e-6) -> Any:
    """Return GRPO's advantages: (return - mean of its group) / (its std + epsilon).

    Parameters
    ----------
    returns : (num_groups * group_size,) float
        Environments of a group stand together.
    group_size : int
    epsilon : float
        Keeps groups of equal returns at 0.

    Returns
    -------
    (num_groups * group_size,) float64
    """
    groups = np.asarray(returns, np.float64).reshape(-1, group_size)
    means, deviations = groups.mean(1, keepdims=True), groups.std(1, keepdims=True)
    return ((groups - means) / (deviations + epsilon)).ravel()


def message(role: str, content: str) -> dict[str, str]:
    """Return a message as chat templates take it."""
    return {"role": role, "content": content}


class ConversationRounds:
    """Rounds: each has one episode, a conversation, of every environment.

    Parameters
    ----------
    families : sequence of str
        Keys of `FAMILIES`.
    num_groups : int
        Groups, that is tasks, of each family in a round.
    group_size : int
        Conversations about one task.
    max_turns : int
        Answers after which an episode is truncated.
    seed : int
        Group j of round r has the task of seed + r * (all groups) + j.
    workers : int
        Threads that step the environments.  It does not change the results.
    with_hints : bool
        True: conversations have the solver's answers.
    env_time : context manager
        Is entered where environments step, as `learning.EnvTime`.

    Attributes
    ----------
    conversations : list of Conversation
        Those of the present round, one for each environment.
    round : int
        Its number, from 0; -1 before the first.
    """

    def __init__(
        self,
        families: Sequence[str] = tuple(FAMILIES),
        num_groups: int = 2,
        group_size: int = 8,
        max_turns: int = 20,
        seed: int = 0,
        workers: int = 2,
        with_hints: bool = False,
        env_time: AbstractContextManager[Any] = nullcontext(),  # noqa: B008
    ) -> None:
        self.family_of = np.repeat(families, num_groups * group_size).tolist()
        env_fns = []
        for family in self.family_of:
            env_id, keywords = FAMILIES[family]
            env_fns.append(partial(gymnasium.make, env_id, **keywords, **TEXT))
        self.envs = roll_vec.PoolVectorEnv(
            env_fns,
            group_size=group_size,
            autoreset_mode="Disabled",  # a round ends when all its episodes have ended
            max_episode_steps=max_turns,
            workers=workers,
        )
        self.group_size, self.seed, self.with_hints = group_size, seed, with_hints
        # A checkpoint goes on with the same.
        self.task = {
            "families": list(families),
            "groups": num_groups,
            "group_size": group_size,
            "max_turns": max_turns,
            "seed": seed,
        }
        self.env_time = env_time
        self.round = -1
        self.conversations: list[Conversation] = []

    def start_round(self) -> None:
        """Begin an episode in every environment: new tasks, one for each group."""
        self.round += 1
        num_groups = self.envs.num_envs // self.group_size
        with self.env_time:
            texts, infos = self.envs.reset(seed=self.seed + self.round * num_groups)
        solutions = self._solve() if self.with_hints else [[]] * len(texts)
        self.conversations = []
        for env_id, (text, hints) in enumerate(zip(texts, solutions, strict=True)):
            system = f"{infos['env_instruction'][env_id]}\n{FORM}"
            messages = [message("system", system), message("user", text)]
            self.conversations.append(
                Conversation(
                    self.round, env_id, self.family_of[env_id], messages, hints
                )
            )

    def _solve(self) -> list[list[str]]:
        """Return texts that solve each task; grids have codes for them."""
        solutions = [list(actions) for actions in self.envs.solve()]
        for env_id, family in enumerate(self.family_of):
            if names := ACTION_NAMES.get(family):
                codes = solutions[env_id]
                solutions[env_id] = [f"<answer>{names[i - 1]}</answer>" for i in codes]
        return solutions

    def play(self, policy: Policy, in_lockstep: bool = False) -> int:
        """Play until the round is over.

        Parameters
        ----------
        policy : Policy
            Its `answer` gets the conversations that wait for one.
        in_lockstep : bool
            False: an environment gets its next answer as soon as it has stepped, so
            that slow ones delay nobody.  The conversations of one call of the policy
            then depend on the clock.  True: all environments step together.

        Returns
        -------
        int
            Answers.  No results are outstanding.
        """
        waiting = [chat for chat in self.conversations if not chat.is_over]
        num_answers = num_outstanding = 0
        while waiting or num_outstanding:
            if waiting:
                texts = policy.answer(waiting)
                with self.env_time:
                    self.envs.send(texts, env_ids=[chat.env_id for chat in waiting])
                for chat, text in zip(waiting, texts, strict=True):
                    chat.messages.append(message("assistant", text))
                num_answers += len(texts)
                num_outstanding += len(texts)
            with self.env_time:
                results = self.envs.recv(min_envs=None if in_lockstep else 1)
            num_outstanding -= len(results[1])
            waiting = [chat for chat in self._note(*results) if not chat.is_over]
        return num_answers

    def _note(
        self, texts: Any, rewards: Any, terminations: Any, truncations: Any, infos: Any
    ) -> list[Conversation]:
        """Write results of `recv` into their conversations, and return these."""
        chats = [self.conversations[env_id] for env_id in infos["env_id"]]
        for i, chat in enumerate(chats):
            is_valid = bool(infos["action_is_valid"][i])
            chat.rewards.append(float(rewards[i]))
            chat.invalid_actions += not is_valid
            chat.format_errors += infos["action_content"][i] == ""
            chat.success = bool(infos["success"][i])
            chat.is_over = bool(terminations[i] or truncations[i])
            complaint = "" if is_valid else f"That was no valid action. {FORM}\n"
            chat.messages.append(message("user", complaint + texts[i]))
        return chats

    def advantages(self) -> Any:
        """Return the advantage of each conversation, (num_envs,) float64."""
        returns = [sum(chat.rewards) for chat in self.conversations]
        return group_advantages(returns, self.group_size)

    def summary(self) -> dict[str, dict[str, float]]:
        """Return, for each family, means over the conversations of the round."""
        table = {}
        for family in dict.fromkeys(self.family_of):
            chats = [chat for chat in self.conversations if chat.family == family]
            turns = sum(len(chat.rewards) for chat in chats)
            table[family] = {
                "return": sum(sum(chat.rewards) for chat in chats) / len(chats),
                "success": sum(chat.success for chat in chats) / len(chats),
                "format errors": sum(chat.format_errors for chat in chats) / turns,
                "invalid": sum(chat.invalid_actions for chat in chats) / turns,
                "turns": turns / len(chats),
            }
        return table
