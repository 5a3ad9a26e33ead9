"""The loop of a language agent, without a model: rounds of chat, groups, advantages.

A scripted policy plays rounds of Sokoban, FrozenLake, Countdown and WebShop.  It
knows the solver's answers, and makes mistakes: some answers have no tags, some are
guesses.  In each group of eight the first conversation is careful and the last
careless, so that their advantages differ.

To train a language model, replace `ScriptedPolicy`: search for PUT YOUR MODEL HERE.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from typing import Any

import numpy as np
from conversations import ACTION_NAMES, FAMILIES, Conversation, ConversationRounds
from display import progress_bar

# Valid actions that are seldom right.
GUESSES = {
    **ACTION_NAMES,
    "Countdown": ("1 + 1", "2 * 3 - 4"),
    "WebShop": ("click[red]", "click[buy now]"),
}


class ScriptedPolicy:
    """PUT YOUR MODEL HERE: a class with these two methods.

    `answer` gets the conversations that wait.  Their `messages` are a chat: with a
    tokenizer of transformers, `tokenizer.apply_chat_template(chat.messages,
    add_generation_prompt=True)` makes the prompt of a model.  `update` gets all
    conversations of a round and their advantages: the loss of GRPO is minus the
    advantage times the log-probability of the answers, the messages of the role
    "assistant" (`grpo.py` does this with a small transformer).

    This one looks at `hints`, the solver's answers, which a model does not get.
    """

    def __init__(self, seed: int, group_size: int) -> None:
        self.seed, self.group_size = seed, group_size

    def answer(self, conversations: Sequence[Conversation]) -> list[str]:
        """Return a text for each conversation."""
        return [self._answer(chat) for chat in conversations]

    def update(self, conversations: Sequence[Conversation], advantages: Any) -> None:
        """Learn nothing: a script is what it is."""

    def _answer(self, chat: Conversation) -> str:
        """Return the solver's next answer, or a mistake.

        The generator is that of one answer: the order of the answers plays no part.
        """
        turn = len(chat.rewards)
        rng = np.random.default_rng([self.seed, chat.round_number, chat.env_id, turn])
        carelessness = 0.5 * (chat.env_id % self.group_size) / self.group_size
        if rng.random() < carelessness:
            guess = str(rng.choice(GUESSES[chat.family]))
            return f"<answer>{guess}</answer>" if rng.random() < 0.5 else guess
        step = turn - chat.invalid_actions  # these move nothing
        return chat.hints[min(step, len(chat.hints) - 1)]


def print_table(rounds: ConversationRounds, curve: list[dict[str, Any]]) -> None:
    """Print the means of all rounds by family, and one conversation."""
    names = ("return", "success", "format errors", "invalid", "turns")
    print(" " * 12 + "".join(f"{name:>15}" for name in names))
    for family in curve[0]:
        rows = [entry[family] for entry in curve]
        cells = [f"{np.mean([row[name] for row in rows]):.2f}" for name in names]
        print(f"{family:<12}" + "".join(f"{cell:>15}" for cell in cells))
    chat = rounds.conversations[rounds.group_size // 2]
    print(f"\nConversation {chat.env_id} of round {rounds.round}, its end:")
    for entry in chat.messages[-4:]:
        print(f"[{entry['role']}]\n{entry['content']}")
    advantage = rounds.advantages()[chat.env_id]
    print(f"return {sum(chat.rewards):.2f}, advantage {advantage:+.2f}")


def main(arguments: Sequence[str] | None = None) -> list[dict[str, Any]]:
    """Play and print; return the results of each round."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    add = parser.add_argument
    add("--rounds", type=int, default=10)
    add("--groups", type=int, default=4, help="tasks of each family in a round")
    add("--group-size", type=int, default=8, help="conversations about one task")
    add("--max-turns", type=int, default=20, help="answers in a conversation")
    add("--families", nargs="+", choices=FAMILIES, default=[*FAMILIES])
    add("--workers", type=int, default=2, help="threads that step the environments")
    add("--seed", type=int, default=0)
    args = parser.parse_args(arguments)
    if args.rounds < 1:
        parser.error(f"argument --rounds: expected at least 1: {args.rounds}")

    rounds = ConversationRounds(
        args.families,
        args.groups,
        args.group_size,
        args.max_turns,
        args.seed,
        args.workers,
        with_hints=True,
    )
    policy = ScriptedPolicy(args.seed, args.group_size)
    curve: list[dict[str, Any]] = []
    with progress_bar(args.rounds, "rounds") as progress:
        while len(curve) < args.rounds:
            rounds.start_round()
            rounds.play(policy)
            policy.update(rounds.conversations, rounds.advantages())
            curve.append(rounds.summary())
            progress.advance(1)
    print_table(rounds, curve)
    rounds.envs.close()
    return curve


if __name__ == "__main__":
    main()
