"""Measure shards beside a local batch; write benchmarks/results/cluster.json.

It takes some five minutes.  ``--keep-rates`` measures the costs alone, which other load
on the machine hardly changes.
"""

from __future__ import annotations

import argparse
import json
import sys
from typing import Any

from benchmarks import machine
from benchmarks.result import write_result
from benchmarks.shards import costs, rates
from benchmarks.shards.tables import RESULTS
from benchmarks.shards.workloads import WORKLOADS
from roll_vec.cli._options import integer_from


def report(text: str) -> None:
    """Show what is being measured."""
    sys.stderr.write(f"{text}\n")


def main() -> None:
    """Run the command."""
    parser = argparse.ArgumentParser("python -m benchmarks.shards", description=__doc__)
    parser.add_argument("--rounds", type=integer_from(1), default=7)
    parser.add_argument("--keep-rates", action="store_true")
    options = parser.parse_args()
    content: dict[str, Any] = json.loads(RESULTS.read_text("utf-8"))
    import ray

    # As many actors as there are sides, whatever the machine has.
    ray.init(num_cpus=16, include_dashboard=False, log_to_driver=False)
    content["machine"] = machine.describe("python -m benchmarks.shards")
    content["machine"]["versions"]["ray"] = ray.__version__
    content["machine"]["load"] = machine.load()
    content["message"] = costs.message_costs(ray)
    content["workloads"] = {}
    for workload in WORKLOADS:
        report(f"{workload.name}, costs")
        content["workloads"][workload.name] = costs.workload_costs(workload)
    if not options.keep_rates:
        content["rates"] = [
            rates.measure(workload, size, options.rounds, report)
            for workload in WORKLOADS
            for size in workload.sizes
        ]
    ray.shutdown()
    write_result(RESULTS, content)


if __name__ == "__main__":
    main()
