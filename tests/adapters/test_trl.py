"""TRL's environments: which task a row of the data set gets; see also data/trl*."""

import itertools

import gymnasium
import pytest

from roll_vec.adapters.trl import environment_factory
from roll_vec.errors import InvalidSeedError

COUNTDOWN = "roll_vec/Countdown-v0"


def reset_all(rows, **keywords):
    """Return the tasks of rows, in the order in which one trainer resets them."""
    factory = environment_factory(COUNTDOWN, **keywords)
    pool = [factory() for _ in range(3)]
    return [each.reset(**row) for each, row in zip(itertools.cycle(pool), rows)]


def test_equal_rows_are_tasks_of_groups():
    rows = [{"prompt": [{"role": "user", "content": ""}]}] * 12
    tasks = reset_all(rows, group_size=4)
    assert [len(set(tasks[i : i + 4])) for i in (0, 4, 8)] == [1, 1, 1]
    assert len(set(tasks)) == 3


def test_tasks_do_not_depend_on_the_order_of_rows():
    rows = [{"prompt": f"game {i % 4}", "image": object()} for i in range(24)]
    by_row = reset_all(rows, group_size=3)
    sets = [[by_row[i + 4 * j] for j in range(6)] for i in range(4)]
    assert all(len({*tasks[:3]}) == len({*tasks[3:]}) == 1 for tasks in sets)
    assert len({task for tasks in sets for task in tasks}) == 8
    order = sorted(range(24), key=lambda i: (-(i % 4), i))
    tasks = reset_all([rows[i] for i in order], group_size=3)
    assert [sets[i % 4][j % 6] for j, i in enumerate(order)] == tasks
    assert reset_all(rows, group_size=3, seed=1) != by_row


def test_a_column_of_seeds_decides(monkeypatch):
    rows = [{"prompt": f"{i}", "seed": i % 3} for i in range(9)]
    tasks = reset_all(rows, group_size=1, seed=5)
    for seed in range(3):
        env = gymnasium.make(COUNTDOWN)
        assert all(task.endswith(env.reset(seed=seed)[0]) for task in tasks[seed::3])
    alone = reset_all([{"seed": None}], group_size=2)
    assert reset_all([{"seed": None}] * 2, group_size=2) == alone * 2
    for seed in (-1, 0.5, "x"):
        with pytest.raises(InvalidSeedError, match="seed: expected"):
            reset_all([{"seed": seed}])
    # Several processes need it.
    monkeypatch.setenv("WORLD_SIZE", "2")
    assert reset_all([{"seed": 3}])
    with pytest.raises(InvalidSeedError, match="a column of the data set"):
        reset_all([{"prompt": ""}])
