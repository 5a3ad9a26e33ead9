"""The programs of docs/data.md, also those with datasets, TRL and Minari.

``python compare.py FILE`` writes rows.
"""

import os
import re
from pathlib import Path

from side_by_side import write
from tokenizers import Tokenizer, models, pre_tokenizers
from transformers import LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast

PAGE = Path(__file__).resolve().parents[3] / "docs" / "data.md"
SPECIAL = ["<|unknown|>", "<|pad|>", "<|end|>"]
TEMPLATE = (
    "{% for message in messages %}<|{{ message.role }}|>{{ message.content }}<|end|>"
    "{% endfor %}"
)
SMALL = {"hidden_size": 16, "intermediate_size": 32, "num_hidden_layers": 1}


def make_tokenizer():
    """Return a tokenizer of single characters, with a chat template."""
    vocabulary = [*SPECIAL, "\n", "√", *map(chr, range(32, 127))]
    model = models.WordLevel({t: i for i, t in enumerate(vocabulary)}, SPECIAL[0])
    tokenizer = Tokenizer(model)
    tokenizer.pre_tokenizer = pre_tokenizers.Split("", "isolated")
    tokenizer.add_special_tokens(SPECIAL)
    names = ("unk_token", "pad_token", "eos_token")
    return PreTrainedTokenizerFast(
        tokenizer_object=tokenizer,
        chat_template=TEMPLATE,
        **dict(zip(names, SPECIAL, strict=True)),
    )


def main():
    """Run the blocks one after the other, with the names of those before."""
    tokenizer = make_tokenizer()
    config = LlamaConfig(vocab_size=len(tokenizer), num_attention_heads=2, **SMALL)
    names = {"tokenizer": tokenizer, "model": LlamaForCausalLM(config)}
    Path(os.environ["MINARI_DATASETS_PATH"]).mkdir(exist_ok=True)
    text = PAGE.read_text("utf-8")
    blocks = re.findall(r"^```python\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)
    for block in blocks:
        # The page trains on an accelerator.
        quiet = 'report_to="none"'
        block = block.replace(quiet, f"{quiet}, use_cpu=True, bf16=False")
        exec(compile(block, str(PAGE), "exec"), names)
    pair, log = names["pairs"][0], names["trainer"].state
    messages = names["rows"][0]["messages"]
    assert pair == {"prompt": messages[:-1], "completion": messages[-1:]}
    assert log.global_step == 2
    others = sum(block.startswith("# with ") for block in blocks)
    result = f"run, {others} of them with datasets, TRL or Minari"
    write([{"what": f"the {len(blocks)} programs of data.md", "result": result}])


if __name__ == "__main__":
    main()
