"""Start the WebShop environments of a training run of verl-agent: 16 groups of 8, 128.

``python start.py PRODUCTS ATTRIBUTES TITLE_NOUNS`` prints the seconds of processor time
of the process and its MB, shared memory in proportion, when all environments have shown
their first page.
"""

import re
import sys
import time
from pathlib import Path

from roll_vec.adapters.verl_agent import build_webshop_envs

products, attributes, title_nouns = sys.argv[1:]
env_kwargs = {
    "observation_mode": "text",
    "num_products": None,
    "human_goals": False,
    "file_path": products,
    "attr_path": attributes,
    "title_nouns": title_nouns,
}
for seed, env_num, group_n, is_train in ((0, 16, 8, True), (1000, 128, 1, False)):
    envs = build_webshop_envs(
        seed, env_num, group_n, is_train=is_train, env_kwargs=env_kwargs
    )
    pages, _ = envs.reset()
    assert len(pages) == 128
    assert not {"ray", "spacy", "torch"} & sys.modules.keys()
rollup = Path("/proc/self/smaps_rollup").read_text("utf-8")
kilobytes = int(re.search(r"^Pss: +(\d+) kB", rollup, re.MULTILINE)[1])
sys.stdout.write(f"{time.process_time():.1f} {kilobytes / 1000:.0f}\n")
