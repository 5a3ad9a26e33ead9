"""The simulation of a cluster: its arithmetic beside cases worked out by hand."""

import dataclasses
import importlib.util
import json
import sys

import numpy as np
import pytest

from tests.conftest import ROOT

PROGRAM = ROOT / "docs" / "examples" / "cluster_simulation.py"


@pytest.fixture(scope="module")
def simulation():
    """The program as a module."""
    spec = importlib.util.spec_from_file_location("cluster_simulation", PROGRAM)
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    yield module
    del sys.modules[spec.name]


@pytest.fixture
def costs(simulation):
    """Whole seconds, so that a person can add them."""
    return simulation.Costs(
        local_step=10.0,
        step=9.0,
        level=5.0,
        ends=0.0,
        snapshot=1.0,
        head_step=1.0,
        send=1.0,
        receive=1.0,
        delay=2.0,
        request_bytes=0.0,
        reply_bytes=6.0,
        message_bytes=8.0,
        bytes_per_second=8.0,
    )


def test_two_shards_of_two(simulation, costs):
    # Messages leave at 1 and 2 (half a second of bytes each); work 20, delay 2: 23, 24.
    # A reply has 4 + 12 bytes, 2 s: in at 25 and 27.  The head needs 1 + 2 each.
    assert simulation.step_time(costs, 4, 2) == 31.0


def test_episodes_that_end_cost_a_level_each(simulation, costs):
    always = dataclasses.replace(costs, ends=1.0)
    assert simulation.step_time(always, 4, 2) == 31.0 + 2 * 5.0


def test_the_slowest_shard_decides(simulation, costs):
    # Of 3 environments the first shard has 2: done at 23, the other at 2 + 10 + 2 = 14.
    # 4 + 9 bytes take 1.625 s: in at 15.625 and 24.625.  The head: 1 + 1.5 each.
    assert simulation.step_time(costs, 3, 2) == 24.625 + 2.5


def test_long_messages_wait_for_the_network_card(simulation, costs):
    wide = dataclasses.replace(costs, request_bytes=14.0)
    # 4 + 28 bytes take 4 s in place of 1: the messages leave at 4 and 8; 26, 30 are
    # done; in at 28 and 32; joined at 31 and 35.
    assert simulation.step_time(wide, 4, 2) == 35.0


def test_a_queue_serves_one_at_a_time(simulation):
    arrivals = np.array([[0.0, 0.0, 1.0, 9.0]])
    assert simulation.queue(arrivals, 2.0).tolist() == [[2.0, 4.0, 6.0, 11.0]]


def test_a_local_batch_and_the_head_are_the_two_limits(simulation, costs):
    assert simulation.local_time(costs, 8, 4) == 20.0
    # 1024 environments cost the head 1024 s and a machine of one core 10,240 s, but
    # the head's time does not shrink.
    seconds, _ = simulation.best_time(costs, 1024, 64)
    assert 1024.0 < seconds < 10240.0
    assert simulation.bottleneck(costs, 1024, 1) == "the shards"
    assert simulation.bottleneck(costs, 1024, 64) == "the head, environments"


def test_shards_never_pay_where_the_head_is_slower(simulation, costs):
    slow_head = dataclasses.replace(costs, head_step=20.0)
    assert simulation.first_batch_that_pays(slow_head, nodes=1, cores=4) is None
    free_head = dataclasses.replace(
        costs, head_step=0.0, reply_bytes=0.0, message_bytes=0.0
    )
    # 16 environments take 160 s here; over 8 shards 9 + 20 + 2 + 1.
    assert simulation.first_batch_that_pays(free_head, nodes=8, cores=1) == 16


def test_figures_of_ones_own_replace_those_of_the_file(simulation):
    content = json.loads(simulation.FIGURES.read_text())
    parser = simulation.make_parser([])
    arguments = ["--step-us", "500", "--head-us", "3", "--message-us", "80"]
    options = parser.parse_args([*arguments, "--gigabits", "8"])
    costs = simulation.costs_of(content, "Countdown", options)
    assert costs.local_step == 500e-6
    assert costs.head_step == 3e-6
    assert costs.send + costs.receive == pytest.approx(80e-6)
    assert costs.bytes_per_second == 1e9
    # The rest of a shard's work stays: messages, and levels apart.
    measured = simulation.costs_of(content, "Countdown", parser.parse_args([]))
    extra = 500e-6 - measured.local_step
    assert costs.step == pytest.approx(measured.step + extra)


def test_every_figure_of_the_page_is_the_files(simulation):
    from benchmarks.shards import page

    text = (ROOT / "docs" / "cluster.md").read_text("utf-8")
    content = json.loads(simulation.FIGURES.read_text())
    assert page.render(text, content) == text


@pytest.mark.parametrize(
    "arguments",
    [["--cores=0"], ["--step-us=nan"], ["--step-us=-1"], ["--gigabits=0"]],
)
def test_wrong_figures_are_one_line(simulation, arguments, capsys):
    with pytest.raises(SystemExit):
        simulation.main(arguments)
    last = capsys.readouterr().err.splitlines()[-1]
    assert (
        f"argument {arguments[0].partition('=')[0]}: expected a finite number" in last
    )


def test_a_step_of_your_own_changes_no_other_environment(simulation, capsys):
    simulation.main(["--step-us=2000", "--cores=1", "--num-envs=64"])
    titles = [line for line in capsys.readouterr().out.splitlines() if "(sim" in line]
    assert titles == ["one of your own, 2000 µs a step, a batch of 64 (simulated)"]
