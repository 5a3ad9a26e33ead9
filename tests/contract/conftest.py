"""Settings for the vector contract."""

import pytest

from tests.conftest import JIT_OFF
from tests.contract import cases


@pytest.fixture(autouse=True)
def _one_thread_where_integers_warn(monkeypatch):
    """With the JIT off, keep to the thread in which wrap-around is silenced."""
    if JIT_OFF:
        monkeypatch.setenv("ROLL_VEC_NUM_THREADS", "1")


@pytest.fixture(autouse=True)
def _batches_are_closed():
    """Leave no workers of one test to the next."""
    yield
    cases.close_batches()


@pytest.fixture(scope="module", autouse=True)
def _custom_ids(module_forgets_ids):
    """Leave the ids of a user's own to no other tests."""
    cases.register_custom_ids()


@pytest.fixture
def twins(case):
    """Two batches after the same steps, at the same point."""
    pair = [cases.make_batch(case, 4) for _ in range(2)]
    for env in pair:
        env.reset(seed=3)
        cases.play(env, cases.draw_actions(env, 7))
        # In the middle of an episode, and nothing waits to be reset.
        env.reset()
        *_, terminations, truncations, _ = env.step([cases.lowest_action(env)] * 4)
        assert not (terminations | truncations).any()
    return pair
