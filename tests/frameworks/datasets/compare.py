"""The programs of docs/data.md, also those with datasets, TRL and Minari.

``python compare.py FILE`` writes rows.
"""

import os
import re
from pathlib import Path

from side_by_side import write
from tiny_model import make_model

PAGE = Path(__file__).resolve().parents[3] / "docs" / "data.md"


def main():
    """Run the blocks one after the other, with the names of those before."""
    names = dict(zip(("model", "tokenizer"), make_model(), strict=True))
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
