"""Tool calls and rewards of TRL's GRPOTrainer; one task for the members of a group.

``python compare.py FILE`` writes rows.  A tiny Qwen3 with random weights never writes a
tool call: its `generate` is replaced by a script.  All else is TRL's: prompts, parsing,
tool calls, rewards, the training step.
"""

import json
import pickle

import torch
from datasets import Dataset
from side_by_side import write
from tiny_model import make_model
from trl import GRPOConfig, GRPOTrainer

from roll_vec.adapters.trl import environment_factory

GROUP = 4
TASKS = {
    "Sokoban": ("roll_vec/Sokoban-v0", {"num_boxes": 1, "max_episode_steps": 4}),
    "RandomFrozenLake": ("roll_vec/RandomFrozenLake-v0", {"max_episode_steps": 4}),
    "Countdown": ("roll_vec/Countdown-v0", {"max_steps": 2}),
    "WebShop": ("roll_vec/WebShop-v0", {"num_products": 100}),
}
# The calls of a rollout, turn by turn; a turn without calls ends it.
MOVES = [[("move", {"direction": name})] for name in ("Up", "Left", "banana", "Down")]
CALLS = {
    "move": [*MOVES, [("move", {"direction": "Up"})], []],
    "answer": [[("answer", {"text": "1 + 1"})], [("answer", {"text": "("})], []],
    "search": [
        [("search", {"keywords": "red shoes"})],
        [("click", {"name": "< prev"}), ("click", {"name": "no such button"})],
        [],
    ],
}
BRIEF = "I stop after this turn."


class Script:
    """Take the place of a model's `generate`: write the calls of `CALLS` in turns."""

    def __init__(self, tokenizer):
        self.tokenizer = tokenizer
        self.prompts = []  # the text of every first turn, in the order of the batch

    def __call__(self, input_ids, **_):
        answers = [self.answer(ids) for ids in input_ids]
        longest = max(map(len, answers))
        pad = self.tokenizer.pad_token_id
        answers = [ids + [pad] * (longest - len(ids)) for ids in answers]
        return torch.cat([input_ids, torch.tensor(answers)], dim=1)

    def answer(self, ids):
        text = self.tokenizer.decode(ids).replace("<|endoftext|>", "")
        tool = next(tool for tool in CALLS if f'"name": "{tool}"' in text)
        turn = text.count("<|im_start|>assistant") - 1
        if turn == 0:
            self.prompts.append(text)
        # Every second member stops early, so that the returns of a group differ.
        is_brief = turn == 0 and len(self.prompts) % 2 == 0
        parts = [BRIEF] * is_brief
        for name, arguments in [] if BRIEF in text else CALLS[tool][turn]:
            call = json.dumps({"name": name, "arguments": arguments})
            parts.append(f"<tool_call>\n{call}\n</tool_call>")
        answer = "\n".join(parts) or "I have finished."
        return self.tokenizer(answer + "<|im_end|>")["input_ids"]


def count_groups(factory, rows):
    """Train without seeds; return the number of groups, of which each has a task."""
    torch.manual_seed(0)
    model, tokenizer = make_model()
    script = model.generate = Script(tokenizer)
    arguments = GRPOConfig(
        per_device_train_batch_size=2 * GROUP,
        num_generations=GROUP,
        max_steps=4,
        max_completion_length=16384,
        max_tool_calling_iterations=8,
        logging_steps=1,
        use_cpu=True,
        bf16=False,
        report_to=[],
        save_strategy="no",
        disable_tqdm=True,
    )
    trainer = GRPOTrainer(
        model=model,
        args=arguments,
        train_dataset=rows and Dataset.from_dict(rows),
        processing_class=tokenizer,
        environment_factory=factory,
    )
    trainer.train()
    logged = [x for x in trainer.state.log_history if "tools/failure_frequency" in x]
    assert logged
    assert all(entry["tools/failure_frequency"] == 0 for entry in logged)
    prompts = script.prompts
    groups = [prompts[i : i + GROUP] for i in range(0, len(prompts), GROUP)]
    assert all(len(set(group)) == 1 for group in groups), "a group differs"
    assert len({group[0] for group in groups}) == len(groups), "two groups are equal"
    return len(groups)


def main():
    """Count groups of a mixture of games, and of rows without seeds."""
    prompts = [[{"role": "user", "content": f"Game {i}. "}] for i in range(4)]
    factories = {
        name: environment_factory(id, group_size=GROUP, **keywords)
        for name, (id, keywords) in TASKS.items()
    }
    mixture = {"prompt": prompts * 2, "environment": [*factories] * 2}
    count = count_groups(factories, mixture | {"seed": range(8)})
    for rows in (None, {"prompt": prompts[:1] * 3}, {"prompt": prompts}):
        factory = environment_factory("roll_vec/Sokoban-v0", group_size=GROUP)
        # As TRL's rollout worker does.
        count += count_groups(pickle.loads(pickle.dumps(factory)), rows)
    what = "one task for the members of each group"
    write([{"what": what, "result": f"{count} groups"}])


if __name__ == "__main__":
    main()
