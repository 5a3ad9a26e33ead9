"""RAGEN's own agent proxy and context manager, over its environments and over ours.

A tiny model of random weights chooses the actions.  vLLM, the clients of hosted models
and the logger are modules without contents: nothing here calls them.
"""

import os
import types

import numpy as np
import real
import torch
from tokenizers import Tokenizer, decoders, models, pre_tokenizers
from transformers import PreTrainedTokenizerFast, Qwen2Config, Qwen2ForCausalLM

from roll_vec.adapters.ragen import EnvStateManager

os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")
# RAGEN's clients of hosted models import all of these.
for name, contents in {
    "vllm": ("LLM", "SamplingParams"),
    "anthropic": ("AsyncAnthropic",),
    "openai": ("AsyncOpenAI",),
    "together": ("AsyncTogether",),
    "wandb": (),
}.items():
    real.package(name, **dict.fromkeys(contents, types.SimpleNamespace))

from ragen.llm_agent import agent_proxy  # noqa: E402
from verl import DataProto  # noqa: E402

NAMES = ("Up", "Down", "Left", "Right", "Jump")
TEMPLATE = (
    "{% for m in messages %}<|im_start|>{{ m.role }}\n{{ m.content }}<|im_end|>\n"
    "{% endfor %}{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
)


def make_tokenizer():
    """Return a tokenizer of bytes, with the special tokens of Qwen's."""
    alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
    vocabulary = {letter: number for number, letter in enumerate(alphabet)}
    inner = Tokenizer(models.BPE(vocabulary, []))
    inner.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    inner.decoder = decoders.ByteLevel()
    tokenizer = PreTrainedTokenizerFast(
        tokenizer_object=inner,
        additional_special_tokens=["<|im_start|>", "<|im_end|>"],
        pad_token="<|endoftext|>",
        eos_token="<|im_end|>",
        chat_template=TEMPLATE,
        padding_side="left",
    )
    tokenizer.name_or_path = "tiny-qwen"
    return tokenizer


class Actor(agent_proxy.VllmWrapperWg):
    """A model whose scores of the last token choose two actions."""

    def __init__(self, tokenizer):
        torch.manual_seed(0)
        config = Qwen2Config(
            vocab_size=len(tokenizer),
            hidden_size=16,
            intermediate_size=16,
            num_hidden_layers=1,
            num_attention_heads=2,
            num_key_value_heads=2,
            max_position_embeddings=16384,
        )
        self.model = Qwen2ForCausalLM(config).eval()

    def generate_sequences(self, lm_inputs):
        if lm_inputs.meta_info.get("skip_generation", False):
            return lm_inputs
        texts = []
        for ids, mask in zip(
            lm_inputs.batch["input_ids"], lm_inputs.batch["attention_mask"], strict=True
        ):
            # The last 64 tokens: the end of the board and of the prompt.
            with torch.no_grad():
                scores = self.model(ids[mask.bool()][None, -256:]).logits[0, -1]
            choices = [int(scores[k::5].sum() * 1e4) % len(NAMES) for k in range(2)]
            actions = " || ".join(NAMES[choice] for choice in choices)
            texts.append(f"<think>I go on.</think><answer>{actions}</answer>")
        outputs = DataProto()
        outputs.non_tensor_batch = {
            "response_texts": texts,
            "env_ids": lm_inputs.non_tensor_batch["env_ids"],
            "group_ids": lm_inputs.non_tensor_batch["group_ids"],
        }
        outputs.meta_info = lm_inputs.meta_info
        return outputs


def roll_out(config, manager_class, tokenizer, actor):
    """Return what RAGEN's trainer gets of two rollouts, and of one for validation."""
    original = agent_proxy.EnvStateManager
    agent_proxy.EnvStateManager = manager_class
    try:
        proxy = agent_proxy.LLMAgentProxy(config, actor, tokenizer)
    finally:
        agent_proxy.EnvStateManager = original
    batches = []
    for val in (False, False, True):
        inputs = DataProto(meta_info={"compute_collapse": False})
        batches.append(proxy.rollout(inputs, val=val))
    for manager in (proxy.train_es_manager, proxy.val_es_manager):
        manager.close()
    return batches


def check_agent_proxy(config):
    """Compare tensors and metrics of rollouts over RAGEN's environments and ours."""
    tokenizer = make_tokenizer()
    actor = Actor(tokenizer)
    theirs = roll_out(config, real.EnvStateManager, tokenizer, actor)
    ours = roll_out(config, EnvStateManager, tokenizer, actor)
    tokens = 0
    for expected, batch in zip(theirs, ours, strict=True):
        assert set(batch.batch.keys()) == set(expected.batch.keys())
        for key in sorted(expected.batch.keys()):
            assert torch.equal(batch.batch[key], expected.batch[key]), key
        assert batch.meta_info["metrics"] == expected.meta_info["metrics"]
        for key, values in expected.non_tensor_batch.items():
            np.testing.assert_equal(batch.non_tensor_batch[key], values, key)
        tokens += int(expected.batch["attention_mask"].sum())
    return f"equal tensors and metrics of {len(theirs)} rollouts, {tokens} tokens"
