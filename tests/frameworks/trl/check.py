"""TRL's GRPOTrainer gives the members of a group one task, without seeds, too.

`tests.frameworks` runs this file where TRL is installed.
"""

import json
import pickle
import re
import sys
from pathlib import Path

from datasets import Dataset
from record import GROUP, TASKS, train

from roll_vec.adapters.trl import environment_factory


def count_groups(factory, rows):
    """Train for two epochs; return the number of groups, and what members are told."""
    dataset = rows and Dataset.from_dict(rows)
    _, script = train(factory, dataset, steps=4)
    prompts = script.prompts
    groups = [prompts[i : i + GROUP] for i in range(0, len(prompts), GROUP)]
    assert all(len(set(group)) == 1 for group in groups), "a group differs"
    assert len({group[0] for group in groups}) == len(groups), "two groups are equal"
    return len(groups), prompts


def main():
    """Check the groups of several data sets, and write the rows."""
    prompts = [[{"role": "user", "content": f"Game {i}. "}] for i in range(4)]
    count = 0
    for rows in (None, {"prompt": prompts[:1] * 3}, {"prompt": prompts}):
        factory = environment_factory("roll_vec/Sokoban-v0", group_size=GROUP)
        # As TRL's rollout worker does.
        count += count_groups(pickle.loads(pickle.dumps(factory)), rows)[0]
    factories = {
        name: environment_factory(id, group_size=GROUP, **keywords)
        for name, (id, keywords) in TASKS.items()
    }
    rows = {"prompt": prompts * 2, "environment": [*factories] * 2, "seed": range(8)}
    more, texts = count_groups(factories, rows)
    tools = {tuple(re.findall(r'"function": \{"name": "(\w+)"', t)) for t in texts}
    assert tools == {("move",), ("answer",), ("click", "search")}
    what = "one task for the members of each group"
    result = f"{count} groups without seeds, {more} of all families in one run"
    row = {"what": what, "result": result, "lines_changed": 1}
    Path(sys.argv[1]).write_text(json.dumps([row]), "utf-8")


if __name__ == "__main__":
    main()
