"""WebShop's steps and searches a second, and how long a catalogue takes."""

import pytest

from benchmarks import webshop
from roll_vec.webshop import Catalogue


@pytest.fixture
def walk(measuring):
    """Return environments and what they do."""
    return webshop.Walk(64 if measuring else 2, 400 if measuring else 12)


@pytest.mark.parametrize("kept", ["cold", "warm"])
@pytest.mark.benchmark(group="webshop steps")
def test_steps(benchmark, report_rate, walk, kept):
    """Take recorded actions: searches, pages, options, purchases."""

    def setup():
        if kept == "cold":
            webshop.forget_searches(walk.catalogue)

    benchmark.pedantic(walk.play, setup=setup, rounds=5, warmup_rounds=1)
    report_rate("steps_per_s", walk.count)


@pytest.mark.benchmark(group="webshop steps")
def test_steps_of_a_pool(benchmark, report_rate, walk):
    """Take them through make_vec."""
    pool = webshop.PoolWalk(walk)
    benchmark.pedantic(pool.play, rounds=5, warmup_rounds=1)
    pool.env.close()
    report_rate("steps_per_s", walk.count)


@pytest.mark.parametrize("num_products", [1000, 50_000])
@pytest.mark.benchmark(group="webshop search")
def test_search(benchmark, measuring, num_products):
    """Search for a goal's words."""
    catalogue = Catalogue.load(num_products=num_products if measuring else 30)
    found = benchmark(catalogue.search, "red cotton shirt with long sleeves")
    assert len(found) <= 50


@pytest.mark.parametrize("num_products", [1000, 50_000])
@pytest.mark.benchmark(group="webshop catalogue")
def test_ready(benchmark, measuring, num_products):
    """Make the embedded catalogue."""
    count = num_products if measuring else 30
    seeds = iter(range(1 << 30))
    # Of another seed each time, so that it is made anew.
    catalogue = benchmark.pedantic(
        lambda: Catalogue.load(num_products=count, catalog_seed=next(seeds)),
        rounds=5 if num_products == 1000 else 1,
    )
    assert len(catalogue.products) == count
