"""verl-agent's environments and managers beside ours.

`tests.frameworks` runs this file with a checkout of verl-agent.  Its Ray is replaced by
a stand-in within the process, except where speeds are measured; its Lucene, which needs
Java, by our search.
"""

import json
import sys
from pathlib import Path

import stand_ins

stand_ins.install()

import sokoban  # noqa: E402  # after the stand-ins


def check_sokoban():
    """Compare batches of rooms."""
    small = {"dim_room": (6, 6), "num_boxes": 1, "max_steps": 15, "search_depth": 100}
    two = {"dim_room": (6, 6), "num_boxes": 2, "max_steps": 15, "search_depth": 100}
    large = {"dim_room": (8, 8), "num_boxes": 2, "max_steps": 40, "search_depth": 50}
    rows = []
    for what, arguments in {
        "Sokoban, 1000 seeds of training, texts": (
            (0, 1000, 1, "tiny_rgb_array", True, two, 30)
        ),
        "Sokoban, 200 seeds of validation, in pairs, pictures": (
            (1000, 100, 2, "rgb_array", False, small, 30)
        ),
        "Sokoban, 100 rooms of 8x8, texts": (
            (7, 100, 1, "tiny_rgb_array", True, large, 60)
        ),
    }.items():
        compared, retried, steps, won = sokoban.compare(*arguments)
        assert won > compared // 4
        result = (
            f"{compared} transcripts equal ({steps:,} steps, {won} rooms solved); "
            f"{retried} seeds left out, which verl-agent replaces by a hash"
        )
        rows.append({"what": what, "result": result, "lines_changed": 1})
        sys.stdout.write(f"{what}: {result}\n")
    return rows


def main():
    """Run all checks and write their rows."""
    rows = check_sokoban()
    Path(sys.argv[1]).write_text(json.dumps(rows, indent=1), "utf-8")


if __name__ == "__main__":
    main()
