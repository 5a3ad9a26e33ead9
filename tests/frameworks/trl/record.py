"""Tool calls and rewards of TRL's GRPOTrainer; one task for the members of a group.

``python record.py FOLDER`` writes transcripts and rows.  A tiny Qwen3 with random
weights never writes a tool call: its `generate` is replaced by a script.  All else is
TRL's: prompts, parsing, tool calls, rewards, the training step.  A tiny Qwen3-VL does
the same with pictures.
"""

import functools
import json
import pickle

import torch
import trl
from datasets import Dataset
from side_by_side import write
from tokenizers import Tokenizer, decoders, models, pre_tokenizers
from transformers import (
    PreTrainedTokenizerFast,
    Qwen2VLImageProcessor,
    Qwen3Config,
    Qwen3ForCausalLM,
    Qwen3VLConfig,
    Qwen3VLForConditionalGeneration,
    Qwen3VLProcessor,
    Qwen3VLVideoProcessor,
)
from trl import GRPOConfig, GRPOTrainer
from trl.chat_template_utils import qwen3_chat_template, qwen3_vl_chat_template

from roll_vec.adapters.trl import AnswerEnv, MoveEnv, ShopEnv, environment_factory

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


def make_tokenizer():
    """Make a tokenizer of single bytes with Qwen3's chat template."""
    letters = sorted(pre_tokenizers.ByteLevel.alphabet())
    vocabulary = {letter: code for code, letter in enumerate(letters)}
    tokenizer = Tokenizer(models.BPE(vocab=vocabulary, merges=[]))
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    tokenizer.add_special_tokens(["<|endoftext|>", "<|im_start|>", "<|im_end|>"])
    for kind in ("call", "response"):
        tokenizer.add_tokens([f"<tool_{kind}>", f"</tool_{kind}>"])
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
        self.num_patches = []  # of the pictures that each call has

    def __call__(self, input_ids, pixel_values=(), **_):
        self.num_patches.append(len(pixel_values))
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


def make_model():
    """Make a tiny model with random weights, and its tokenizer."""
    tokenizer = make_tokenizer()
    sizes = {"hidden_size": 16, "intermediate_size": 32, "num_hidden_layers": 1}
    heads = {"num_attention_heads": 2, "num_key_value_heads": 1, "head_dim": 8}
    config = Qwen3Config(
        vocab_size=len(tokenizer), max_position_embeddings=32768, **sizes, **heads
    )
    return Qwen3ForCausalLM(config), tokenizer


def make_seeing_model():
    """Make a tiny model with random weights that takes pictures, and its processor."""
    tokenizer = make_tokenizer()
    names = {f"{kind}_token": f"<|{kind}_pad|>" for kind in ("image", "video")}
    names |= {f"vision_{end}_token": f"<|vision_{end}|>" for end in ("start", "end")}
    tokenizer.add_special_tokens({"additional_special_tokens": [*names.values()]})
    ids = {f"{k}_id": tokenizer.convert_tokens_to_ids(v) for k, v in names.items()}
    processor = Qwen3VLProcessor(
        Qwen2VLImageProcessor(
            patch_size=16, size={"shortest_edge": 32**2, "longest_edge": 256**2}
        ),
        tokenizer,
        Qwen3VLVideoProcessor(),
        chat_template=qwen3_vl_chat_template,
    )
    sizes = {"hidden_size": 32, "intermediate_size": 32}
    text = {
        **sizes,
        "vocab_size": len(tokenizer),
        "max_position_embeddings": 32768,
        "num_hidden_layers": 1,
        "num_attention_heads": 2,
        "head_dim": 16,
        "num_key_value_heads": 1,
        "rope_parameters": {
            "rope_type": "default",
            "rope_theta": 1e4,
            "mrope_section": [2, 3, 3],
            "mrope_interleaved": True,
        },
    }
    vision = {
        **sizes,
        "depth": 1,
        "num_heads": 2,
        "out_hidden_size": 32,
        "patch_size": 16,
        "num_position_embeddings": 64,
        "deepstack_visual_indexes": [0],
    }
    config = Qwen3VLConfig(text_config=text, vision_config=vision, **ids)
    return Qwen3VLForConditionalGeneration(config), processor


def train(factory, dataset, steps=2, make=make_model):
    """Train for some steps; return the trainer and its script."""
    torch.manual_seed(0)
    model, processor = make()
    tokenizer = getattr(processor, "tokenizer", processor)
    script = model.generate = Script(tokenizer)
    quiet = {"report_to": [], "save_strategy": "no", "disable_tqdm": True}
    arguments = GRPOConfig(
        per_device_train_batch_size=2 * GROUP,
        num_generations=GROUP,
        max_steps=steps,
        max_completion_length=16384,
        max_tool_calling_iterations=8,
        logging_steps=1,
        use_cpu=True,
        bf16=False,
        **quiet,
    )
    trainer = GRPOTrainer(
        model=model,
        args=arguments,
        train_dataset=dataset,
        processing_class=processor,
        environment_factory=factory,
    )
    trainer.train()
    return trainer, script


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


def record(id, keywords):
    """Return the calls of the last rollout of a training, from its reset on."""
    make, instances = environment_factory(id, group_size=GROUP, **keywords), []

    def factory():
        instances.append(make())
        instances[-1].log = []
        return instances[-1]

    prompt = [{"role": "user", "content": "Play well.\n\n"}]
    rows = {"prompt": [prompt] * 4, "seed": [2**40, 7, 1010, 3]}
    trainer, _ = train(factory, Dataset.from_dict(rows))
    calls = [entry for instance in instances for entry in instance.log]
    rewards = [result for name, _, result in calls if name == "get_reward"]
    # TRL has trained on them, and no call has failed.
    column = f"rewards/{type(instances[0]).__name__}/mean"
    logged = [entry for entry in trainer.state.log_history if column in entry]
    mean = sum(entry[column] for entry in logged) / len(logged)
    assert abs(mean - sum(rewards) / len(rewards)) < 1e-6
    assert all(entry["tools/failure_frequency"] == 0 for entry in logged)
    log = instances[-1].log
    start = max(i for i, (name, *_) in enumerate(log) if name == "reset")
    return log[start:]


def count_groups(factory, rows):
    """Train without seeds; return the number of groups, of which each has a task."""
    dataset = rows and Dataset.from_dict(rows)
    prompts = train(factory, dataset, steps=4)[1].prompts
    groups = [prompts[i : i + GROUP] for i in range(0, len(prompts), GROUP)]
    assert all(len(set(group)) == 1 for group in groups), "a group differs"
    assert len({group[0] for group in groups}) == len(groups), "two groups are equal"
    return len(groups)


def count_pictures():
    """Train a model that sees; return how many pictures its longest call has."""
    id, keywords = TASKS["Sokoban"]
    prompt = [{"role": "user", "content": "Play well.\n\n"}]
    dataset = Dataset.from_dict({"prompt": [prompt] * 2, "seed": [7, 3]})
    keywords = {**keywords, "dim_room": (6, 6), "obs_mode": "rgb"}
    factory = environment_factory(id, group_size=GROUP, **keywords)
    trainer, script = train(factory, dataset, steps=1, make=make_seeing_model)
    logged = trainer.state.log_history[0]
    assert logged["tools/failure_frequency"] == 0
    assert logged["rewards/PictureEnv/std"] > 0
    # 96 x 96 pixels in patches of 16.
    counts = [num // 36 for num in script.num_patches]
    # One picture and two of each member; then half of them go on, and an action after
    # the end shows none.
    assert counts == [GROUP * num for num in (2, 4, 3, 4, 5, 5)], counts
    return counts[-1] // GROUP


def main():
    """Record one rollout of each family, and count groups."""
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
    rows = [{"what": what, "result": f"{count} groups", "lines_changed": 1}]
    what, count = "pictures of all turns reach the model", count_pictures()
    rows.append({"what": what, "result": f"{count} pictures", "lines_changed": 1})
    write("rows", rows)
    for cls in (MoveEnv, ShopEnv, AnswerEnv):
        for name in ("reset", "get_reward", "move", "search", "click", "answer"):
            if hasattr(cls, name):
                note_calls(cls, name)
    source = f"TRL {trl.__version__}: tests/frameworks/trl/record.py"
    content = {name: record(*task) for name, task in TASKS.items()}
    write("trl", {"source": source, **content})


if __name__ == "__main__":
    main()
