"""ROLL's ``evaluation_split`` over several processes."""

from itertools import takewhile

import pytest

from roll_vec.adapters.roll import GemSokobanEnv
from roll_vec.evaluation import find_split

pytestmark = [pytest.mark.ray, pytest.mark.filterwarnings("ignore")]

NAME = "test-1-box"


def test_all_processes_play_each_episode_once_in_each_validation(cluster):
    # Classes in here: workers cannot import this module.
    class Manager:
        """As ROLL's `GlobalDatasetManager`."""

        def __init__(self):
            self.datasets = {}

        async def register(self, dataset_name, dataset_ref):
            self.datasets[dataset_name] = dataset_ref

        async def reset(self):
            for dataset in self.datasets.values():
                await dataset.reset.remote()
            return len(self.datasets)

    class Worker:
        """As ROLL's `EnvironmentWorker`; `tests/adapters` has threads."""

        def __init__(self):
            self.env = GemSokobanEnv(evaluation_split=NAME, max_steps=5)

        def validate(self, first_seed, limit):
            seeds = range(first_seed, first_seed + limit)
            texts = (self.env.reset(seed=seed)[0] for seed in seeds)
            return [*takewhile(lambda text: text is not None, texts)]

    options = {"name": "val_dataset_manager"}
    manager = cluster.remote(num_cpus=0)(Manager).options(**options).remote()
    workers = [cluster.remote(num_cpus=1)(Worker).remote() for _ in range(2)]

    def validate(limit, first_seed=0):
        calls = [
            worker.validate.remote(first_seed + 100_000 * i, limit)
            for i, worker in enumerate(workers)
        ]
        return [text for texts in cluster.get(calls) for text in texts]

    split = find_split(GemSokobanEnv.ID, NAME)
    room = GemSokobanEnv(**split.keywords, max_steps=5)
    expected = sorted(room.reset(seed=seed)[0] for seed in split.seeds)
    # ROLL's val_batch_size: -1, each validation ends when all have got None.
    assert sorted(validate(9999)) == expected
    assert sorted(validate(9999)) == expected
    # A batch of 20 episodes: ROLL's pipeline resets the counter before the next one.
    some = sorted(validate(10))
    others = sorted(validate(10, 10))
    assert len(some) == len(others) == 20
    assert some != others
    assert cluster.get(manager.reset.remote()) == 1
    assert sorted(validate(10)) == some
    cluster.get(manager.reset.remote())
    assert sorted(validate(9999)) == expected
