"""GRPO in one file: a tiny transformer learns the form of an answer from rewards alone.

The transformer begins at random.  Its prompt is the end of the last message, character
by character; its answer is six tokens.  A token is a tag, a digit, an operator, or a
whole action such as `Up`: a few of a thousand random answers then have a valid action,
and learning begins with these.  Each answer without one costs 0.1, so that answers of
the form <answer>...</answer> with a valid action become likely.

`conversations.py` has the environments, the chat and the advantages.  This file has the
part of a language model: `answer` and `update`.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from typing import Any

import torch
from conversations import FAMILIES, Conversation, ConversationRounds
from display import LearningCurve, progress_bar
from learning import EnvTime, add_training_arguments, load_checkpoint, save_checkpoint
from torch import Tensor, nn
from torch.nn import functional

WORDS = ("Up", "Down", "Left", "Right", "search[shoes]", "click[buy now]")
TOKENS = ("<answer>", "</answer>", *WORDS, *"0123456789+-*/()")
# Characters of prompts have the codes after the tokens; the last one is any other.
CHARACTERS = "\n" + "".join(map(chr, range(32, 127)))
CODES = {character: len(TOKENS) + i for i, character in enumerate(CHARACTERS)}
OTHER = len(TOKENS) + len(CHARACTERS)
PROMPT_LENGTH, ANSWER_LENGTH = 48, 6
HELD_OUT = 1 << 30  # a seed that no training gets to


class Block(nn.Module):
    """Attention to everything before, and two layers at each position."""

    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.heads = heads
        self.norms = nn.ModuleList([nn.LayerNorm(width), nn.LayerNorm(width)])
        self.mix, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.hidden = nn.Linear(width, 4 * width)
        self.back = nn.Linear(4 * width, width)

    def forward(self, x: Tensor, cache: Tensor | None) -> tuple[Tensor, Tensor]:
        """Return new values, and the keys and values of all positions so far."""
        n, length, width = x.shape
        parts = self.mix(self.norms[0](x)).view(n, length, 3, self.heads, -1)
        query, *new = parts.permute(2, 0, 3, 1, 4)
        earlier = [] if cache is None else [cache]
        cache = torch.cat((*earlier, torch.stack(new)), 3)
        mixed = functional.scaled_dot_product_attention(
            query, cache[0], cache[1], is_causal=length > 1
        )
        x = x + self.out(mixed.transpose(1, 2).reshape(n, length, width))
        return x + self.back(functional.gelu(self.hidden(self.norms[1](x)))), cache


class Transformer(nn.Module):
    """A decoder: (n, length) codes to (n, length, len(TOKENS)) logits."""

    def __init__(self, width: int = 64, heads: int = 4, layers: int = 2) -> None:
        super().__init__()
        self.embedding = nn.Embedding(OTHER + 1, width)
        self.positions = nn.Embedding(PROMPT_LENGTH + ANSWER_LENGTH, width)
        self.blocks = nn.ModuleList([Block(width, heads) for _ in range(layers)])
        self.norm, self.head = nn.LayerNorm(width), nn.Linear(width, len(TOKENS))

    def forward(
        self, codes: Tensor, caches: Sequence[Tensor] | None = None
    ) -> tuple[Tensor, list[Tensor]]:
        """Return logits, and caches for the positions that follow these."""
        start = caches[0].shape[3] if caches else 0
        positions = torch.arange(start, start + codes.shape[1])
        x, new = self.embedding(codes) + self.positions(positions), []
        for i, block in enumerate(self.blocks):
            x, cache = block(x, caches[i] if caches else None)
            new.append(cache)
        return self.head(self.norm(x)), new


def encode(chat: Conversation) -> list[int]:
    """Return the codes of the end of the last message, with spaces before it."""
    text = chat.messages[-1]["content"][-PROMPT_LENGTH:].rjust(PROMPT_LENGTH)
    return [CODES.get(character, OTHER) for character in text]


class TransformerPolicy:
    """The model in the loop: it samples answers, and learns from their advantages."""

    def __init__(self, seed: int, learning_rate: float = 1e-3) -> None:
        self.rng = torch.Generator().manual_seed(seed)
        with torch.random.fork_rng():  # layers begin with the global generator
            torch.manual_seed(seed)
            self.model = Transformer()
        self.optimizer = torch.optim.Adam(self.model.parameters(), learning_rate)
        self.turns: list[tuple[Tensor, Tensor, Tensor]] = []

    @torch.no_grad()
    def answer(self, conversations: Sequence[Conversation]) -> list[str]:
        """Sample an answer to each conversation, all in one batch."""
        codes = torch.tensor([encode(chat) for chat in conversations])
        logits, caches = self.model(codes)
        log_probs = []
        for _ in range(ANSWER_LENGTH):
            log_p = logits[:, -1].log_softmax(-1)
            token = torch.multinomial(log_p.exp(), 1, generator=self.rng)
            log_probs.append(log_p.gather(1, token))
            codes = torch.cat((codes, token), 1)
            if len(log_probs) < ANSWER_LENGTH:
                logits, caches = self.model(token, caches)
        env_ids = torch.tensor([chat.env_id for chat in conversations])
        self.turns.append((env_ids, codes, torch.cat(log_probs, 1)))
        answers = codes[:, PROMPT_LENGTH:].tolist()
        return ["".join(TOKENS[token] for token in answer) for answer in answers]

    def update(
        self,
        conversations: Sequence[Conversation],  # noqa: ARG002 - turns has the tokens
        advantages: Any,
        batch_size: int = 256,
        clip: float = 0.2,
        entropy_bonus: float = 0.01,
    ) -> None:
        """Take a step of the optimiser for each batch of answers of the round.

        The loss is that of GRPO, - min(ratio A, clip(ratio, 1 - clip, 1 + clip) A).  It
        has no KL term, as there is no earlier model worth staying close to.  A little
        entropy keeps rare answers possible until a family that needs them has them.
        """
        env_ids, codes, old = map(torch.cat, zip(*self.turns, strict=True))
        self.turns = []
        advantage = torch.from_numpy(advantages).float()[env_ids, None]
        for rows in torch.randperm(len(codes), generator=self.rng).split(batch_size):
            logits, _ = self.model(codes[rows, :-1])
            log_p = logits[:, PROMPT_LENGTH - 1 :].log_softmax(-1)
            new = log_p.gather(2, codes[rows, PROMPT_LENGTH:, None])[..., 0]
            ratio = (new - old[rows]).exp()
            gain = torch.min(
                ratio * advantage[rows],
                ratio.clamp(1 - clip, 1 + clip) * advantage[rows],
            )
            entropy = -(log_p.exp() * log_p).sum(-1)
            self.optimizer.zero_grad()
            (-gain.mean() - entropy_bonus * entropy.mean()).backward()
            nn.utils.clip_grad_norm_(self.model.parameters(), 1.0)
            self.optimizer.step()


def form_likelihood(policy: TransformerPolicy, families: Sequence[str]) -> Any:
    """Return the share of valid answers to 128 tasks of each family, as a dict.

    Their seeds, and the generator, are not those of the training.
    """
    probe = TransformerPolicy(seed=1)
    probe.model = policy.model
    rounds = ConversationRounds(families, 128, 1, max_turns=1, seed=HELD_OUT, workers=0)
    rounds.start_round()
    rounds.play(probe, in_lockstep=True)
    rounds.envs.close()
    return {name: 1 - row["invalid"] for name, row in rounds.summary().items()}


def main(arguments: Sequence[str] | None = None) -> TransformerPolicy:
    """Train, print and draw; return the policy."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    add_training_arguments(parser)
    parser.set_defaults(updates=100)
    add = parser.add_argument
    add("--families", nargs="+", choices=FAMILIES, default=[*FAMILIES])
    add("--groups", type=int, default=8, help="tasks of each family in a round")
    add("--group-size", type=int, default=8, help="conversations about one task")
    add("--max-turns", type=int, default=2, help="answers in a conversation")
    add("--learning-rate", type=float, default=1e-3)
    args = parser.parse_args(arguments)

    torch.set_num_threads(1)  # sums of more threads differ in their last bits
    env_time, curve = EnvTime(), LearningCurve()
    policy = TransformerPolicy(args.seed, args.learning_rate)
    rounds = ConversationRounds(
        args.families,
        args.groups,
        args.group_size,
        args.max_turns,
        args.seed,
        workers=0,
        env_time=env_time,
    )
    parts = {"model": policy.model, "optimizer": policy.optimizer, "rng": policy.rng}
    parts |= {"curve": curve, "env_time": env_time}
    if args.resume:
        state, values = load_checkpoint(args.resume, parts, rounds.task)
        rounds.envs.set_state(state)
        rounds.round = values["round"]
    else:
        before = form_likelihood(policy, args.families)
        values = {"task": rounds.task, "answers": 0, "before": before}

    def save() -> None:
        values["round"] = rounds.round
        state = rounds.envs.get_state()
        save_checkpoint(args.checkpoint, envs_state=state, parts=parts, values=values)

    with progress_bar(args.updates, "updates") as progress:
        progress.advance(rounds.round + 1)
        while rounds.round + 1 < args.updates:
            if args.minutes and env_time.total() > 60 * args.minutes:
                break
            rounds.start_round()
            # In lockstep: the batches of the model do not depend on the clock.
            values["answers"] += rounds.play(policy, in_lockstep=True)
            policy.update(rounds.conversations, rounds.advantages())
            valid = {k: 1 - row["invalid"] for k, row in rounds.summary().items()}
            curve.add(values["answers"], **valid)
            progress.advance(1)
            progress.show(**valid)
            if args.checkpoint and rounds.round % 10 == 9:
                save()
    if args.checkpoint:
        save()
    after = form_likelihood(policy, args.families)
    print(f"{'likelihood of a valid answer':<30}{'before':>8}{'after':>8}")
    for family in args.families:
        print(f"{family:<30}{values['before'][family]:>8.1%}{after[family]:>8.1%}")
    counts = f"{rounds.round + 1} updates, {values['answers']:,} answers"
    times = f"{env_time.total():.0f} s, {env_time.share():.1%} in the environments"
    print(f"{counts}, {times}")
    if args.picture:
        curve.save_picture(args.picture, "GRPO: share of valid answers")
    rounds.envs.close()
    return policy


if __name__ == "__main__":
    main()
