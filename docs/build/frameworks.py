"""Comparisons with other frameworks, from benchmarks/results/frameworks.json.

`tests.frameworks.results` has the form of this file.
"""

from __future__ import annotations

from benchmarks.table import short
from docs.build.figures import two_digits
from docs.build.tables import table
from tests.frameworks.frameworks import FRAMEWORKS
from tests.frameworks.programs import link_to
from tests.frameworks.results import read_results


def ratio(words: str) -> str:
    """Return ours over theirs, from the name of a framework and a row's ``what``."""
    name, what = words.split(" ", 1)
    result = read_results()[name]
    if result["status"] != "passed":
        return "not measured"
    (row,) = [row for row in result["rows"] if row["what"] == what]
    return f"{two_digits(row['ours'] / row['theirs'])} ×"


def comparisons(_: str) -> str:
    """Return what was compared; frameworks that were not run say why."""
    results, rows = read_results(), []
    for name, framework in FRAMEWORKS.items():
        head = f"[{framework.title}]({link_to(name)})"
        result = results.get(name, {"status": "not run", "reason": "no run yet"})
        if result["status"] != "passed":
            reason = f"{result['status']}: {result['reason']}"
            rows.append((head, reason, *[""] * 4))
            continue
        # The first row is that of the page's program.
        head += f"<br>{result['date']}"
        for row in result["rows"]:
            rates = [""] * 3
            if "ours" in row:
                sides = [f"{short(row[x])} {row['unit']}" for x in ("theirs", "ours")]
                rates = [*sides, ratio(f"{name} {row['what']}")]
            rows.append((head, row["what"], row["result"], *rates))
            head = ""
    heads = ("framework", "what runs", "result", "theirs", "ours", "ratio")
    return table(heads, rows, 3)
