"""TRL's GRPOTrainer drives roll_vec: tools are called, groups share a task.

A tiny Qwen3 with random weights never writes a tool call: its `generate` is replaced by
a script.  All else is TRL's: prompts, parsing, tool calls, rewards, the training step.

    python check.py OUT.json [TRANSCRIPTS.json]

The second file gets one rollout of each family, as tests/adapters/data/trl.json has it.
"""

import functools
import json
import pickle
import re
import sys
import tempfile
from collections import Counter
from pathlib import Path

import gymnasium
import torch
import trl
from datasets import Dataset
from tokenizers import Tokenizer, decoders, models, pre_tokenizers
from transformers import PreTrainedTokenizerFast, Qwen3Config, Qwen3ForCausalLM
from trl import GRPOConfig, GRPOTrainer
from trl.chat_template_utils import qwen3_chat_template

import roll_vec  # noqa: F401  (registers the ids)
from roll_vec.adapters.trl import (
    EPISODE_OVER,
    AnswerEnv,
    GridEnv,
    ShopEnv,
    environment_factory,
)

GROUP = 4
SPECIAL = ["<|endoftext|>", "<|im_start|>", "<|im_end|>"]
MARKS = ["<tool_call>", "</tool_call>", "<tool_response>", "</tool_response>"]
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


def make_tokenizer():
    """Make a tokenizer of single bytes with Qwen3's chat template."""
    letters = sorted(pre_tokenizers.ByteLevel.alphabet())
    vocabulary = {letter: code for code, letter in enumerate(letters)}
    tokenizer = Tokenizer(models.BPE(vocab=vocabulary, merges=[]))
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    tokenizer.add_special_tokens(SPECIAL)
    tokenizer.add_tokens(MARKS)
    fast = PreTrainedTokenizerFast(
        tokenizer_object=tokenizer, eos_token="<|im_end|>", pad_token="<|endoftext|>"
    )
    fast.chat_template = qwen3_chat_template
    return fast


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
        calls = [] if BRIEF in text else CALLS[tool][turn]
        parts = [BRIEF] * is_brief + [
            f"<tool_call>\n{json.dumps({'name': name, 'arguments': arguments})}"
            "\n</tool_call>"
            for name, arguments in calls
        ]
        answer = "\n".join(parts) or "I have finished."
        return self.tokenizer(answer + "<|im_end|>")["input_ids"]


class Recorder:
    """A factory that keeps its instances, whose calls are noted."""

    def __init__(self, factory):
        self.factory = factory
        self.instances = []

    def __call__(self):
        self.instances.append(self.factory())
        self.instances[-1].log = []
        return self.instances[-1]


def note_calls(cls, name):
    """Make a method append its name, arguments and result to the instance's log."""
    method = getattr(cls, name)

    @functools.wraps(method)
    def call(self, **keywords):
        result = method(self, **keywords)
        if hasattr(self, "log"):
            self.log.append((name, keywords, result))
        return result

    setattr(cls, name, call)


def train(factory, dataset, steps=2, **options):
    """Train for some steps; return the trainer and its script."""
    torch.manual_seed(0)
    tokenizer = make_tokenizer()
    model = Qwen3ForCausalLM(
        Qwen3Config(
            vocab_size=len(tokenizer),
            hidden_size=16,
            intermediate_size=32,
            num_hidden_layers=1,
            num_attention_heads=2,
            num_key_value_heads=1,
            head_dim=8,
            max_position_embeddings=32768,
        )
    )
    script = model.generate = Script(tokenizer)
    with tempfile.TemporaryDirectory() as folder:
        options = {
            "per_device_train_batch_size": 2 * GROUP,
            "num_generations": GROUP,
            "max_steps": steps,
            "max_completion_length": 16384,
            "max_tool_calling_iterations": 8,
            "logging_steps": 1,
            **options,
        }
        arguments = GRPOConfig(
            output_dir=folder,
            use_cpu=True,
            report_to=[],
            save_strategy="no",
            disable_tqdm=True,
            bf16=False,
            **options,
        )
        trainer = GRPOTrainer(
            model=model,
            args=arguments,
            train_dataset=dataset,
            processing_class=tokenizer,
            environment_factory=factory,
        )
        before = [weights.clone() for weights in model.parameters()]
        trainer.train()
    after = model.parameters()
    changed = [not torch.equal(*two) for two in zip(before, after, strict=True)]
    return trainer, script, any(changed)


def check_groups(prompts):
    """Members have one prompt, which no other group of the run has."""
    groups = [prompts[i : i + GROUP] for i in range(0, len(prompts), GROUP)]
    assert groups
    assert all(len(set(group)) == 1 for group in groups), "a group differs"
    assert len({group[0] for group in groups}) == len(groups), "two groups are equal"
    return len(groups)


def replay(id, keywords, seed, calls):
    """Return the observations and the return of the engine for an instance's calls."""
    if "Sokoban" in id or "Lake" in id:
        keywords = {**keywords, "obs_mode": "text", "action_mode": "text"}
    env = gymnasium.make(id, **keywords)
    observation, _ = env.reset(seed=seed)
    observations, total, is_over = [observation], 0.0, False
    for name, arguments in calls:
        [text] = arguments.values()
        if is_over:
            observations.append(EPISODE_OVER)
            continue
        action = f"{name}[{text}]" if name in ("search", "click") else text
        observation, reward, terminated, truncated, _ = env.step(action)
        total, is_over = total + float(reward), terminated or truncated
        observations.append(observation + f"\n\n{EPISODE_OVER}" * is_over)
    return observations, total


def check_family(name):
    """Train on rows with seeds; replay every rollout in the engine.

    Returns the number of tool calls, and the calls of the last rollout.
    """
    id, keywords = TASKS[name]
    recorder = Recorder(environment_factory(id, group_size=GROUP, **keywords))
    seeds = [2**40, 7, 1010, 3]
    prompt = [{"role": "user", "content": "Play well.\n\n"}]
    rows = Dataset.from_dict({"prompt": [prompt] * 4, "seed": seeds})
    trainer, script, _ = train(recorder, rows)
    check_groups(script.prompts)
    assert len(recorder.instances) == 2 * GROUP, "one instance for each row of a batch"
    rollouts, calls, rewards = Counter(), 0, []
    for instance in recorder.instances:
        episodes = []
        for entry in instance.log:
            if entry[0] == "reset":
                episodes.append([])
            episodes[-1].append(entry)
        for (_, row, first), *played, (last, _, reward) in episodes:
            assert last == "get_reward"
            assert row["prompt"] == prompt
            steps = [(tool, arguments) for tool, arguments, _ in played]
            observations, total = replay(id, keywords, row["seed"], steps)
            texts = [text for *_, text in played]
            assert first.endswith(observations[0])
            assert texts == observations[1:]
            assert reward == total
            rollouts[row["seed"]] += 1
            calls += len(played)
            rewards.append(reward)
    assert rollouts == dict.fromkeys(seeds, GROUP)
    column = f"rewards/{type(recorder.instances[0]).__name__}/mean"
    logged = [entry for entry in trainer.state.log_history if column in entry]
    mean = sum(entry[column] for entry in logged) / len(logged)
    assert abs(mean - sum(rewards) / len(rewards)) < 1e-6
    for entry in logged:
        assert entry["tools/failure_frequency"] == 0
    frequency = sum(entry["tools/call_frequency"] for entry in logged) / len(logged)
    assert abs(frequency * len(rewards) - calls) < 1e-6
    return calls, [list(entry) for entry in episodes[-1]]


def check_rows():
    """Rows without a seed: equal prompts, several epochs, no data set at all."""
    factory = environment_factory("roll_vec/Sokoban-v0", group_size=GROUP)
    factory = pickle.loads(pickle.dumps(factory))
    _, script, _ = train(factory, None, steps=4)
    count = check_groups(script.prompts)
    prompt = [{"role": "user", "content": "Play."}]
    factory = environment_factory("roll_vec/Sokoban-v0", group_size=GROUP)
    _, script, _ = train(factory, Dataset.from_dict({"prompt": [prompt] * 3}), steps=4)
    count += check_groups(script.prompts)
    prompts = [[{"role": "user", "content": f"Game {i}. "}] for i in range(4)]
    texts = []
    for seed in (1, 2):  # of the order of the rows
        factory = environment_factory("roll_vec/Sokoban-v0", group_size=GROUP)
        rows = Dataset.from_dict({"prompt": prompts})
        _, script, _ = train(factory, rows, steps=4, seed=seed)  # two epochs
        count += check_groups(script.prompts)
        texts.append(script.prompts)
    assert texts[0] != texts[1]
    assert set(texts[0]) == set(texts[1]), "tasks depend on the order of the rows"
    return count


def check_mixed():
    """One run of all families, by the column `environment`."""
    factories = {
        name: environment_factory(id, group_size=GROUP, **keywords)
        for name, (id, keywords) in TASKS.items()
    }
    prompt = [{"role": "user", "content": ""}]
    names = [*factories] * 2
    rows = {"prompt": [prompt] * 8, "environment": names, "seed": range(8)}
    trainer, script, changed = train(factories, Dataset.from_dict(rows), steps=4)
    assert changed, "the rewards differ within groups, so that the weights change"
    check_groups(script.prompts)
    tools = [
        tuple(re.findall(r'"function": \{"name": "(\w+)"', text))
        for text in script.prompts
    ]
    expected = {("move",), ("answer",), ("click", "search")}
    assert set(tools) == expected, set(tools)
    columns = {key for entry in trainer.state.log_history for key in entry}
    for kind in ("GridEnv", "ShopEnv", "AnswerEnv"):
        assert f"rewards/{kind}/mean" in columns
    return len(names)


def main():
    """Run all checks; write the rows of the table."""
    version = trl.__version__
    for cls in (GridEnv, ShopEnv, AnswerEnv):
        for name in ("reset", "get_reward", "move", "search", "click", "answer"):
            if hasattr(cls, name):
                note_calls(cls, name)
    rows = []

    def add(what, result):
        sys.stdout.write(f"{what}: {result}\n")
        rows.append({"what": what, "result": result, "lines_changed": 1})

    transcripts = {}
    for name in TASKS:
        calls, transcripts[name] = check_family(name)
        add(
            f"{name}, GRPOTrainer of TRL {version}, 2 steps, a scripted model",
            f"{calls} tool calls and all rewards equal the engine's",
        )
    add(
        "rows without seeds, in any order, and no data set",
        f"one task for the members of each of {check_rows()} groups",
    )
    add("all families in one run", f"{check_mixed()} rows, each with its own tools")
    Path(sys.argv[1]).write_text(json.dumps(rows, indent=1) + "\n")
    for path in sys.argv[2:]:
        source = f"TRL {version}: python tests/frameworks/trl/check.py OUT.json {path}"
        text = json.dumps({"source": source, **transcripts}, indent=1)
        Path(path).write_text(text + "\n")


if __name__ == "__main__":
    main()
