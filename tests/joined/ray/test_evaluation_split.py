"""ROLL's ``evaluation_split`` over the threads of several processes."""

from concurrent.futures import ThreadPoolExecutor

import pytest

from roll_vec.adapters.roll import GemSokobanEnv
from roll_vec.evaluation import find_split

pytestmark = [pytest.mark.ray, pytest.mark.filterwarnings("ignore")]

NAME, NUM_ENVS = "test-1-box", 3


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
        """As ROLL's `EnvironmentWorker`: threads that play episodes."""

        def __init__(self):
            keywords = {"evaluation_split": NAME, "max_steps": 5}
            self.envs = [GemSokobanEnv(**keywords) for _ in range(NUM_ENVS)]

        def validate(self, first_seed, limit):
            with ThreadPoolExecutor(NUM_ENVS) as threads:
                jobs = [
                    threads.submit(self.play, env, first_seed + 10_000 * i, limit)
                    for i, env in enumerate(self.envs)
                ]
                return [text for job in jobs for text in job.result()]

        def play(self, env, first_seed, limit):
            texts = []
            for seed in range(first_seed, first_seed + limit):
                observation, _ = env.reset(seed=seed)
                if observation is None:
                    break
                env.step("<answer>Up</answer>")
                texts.append(observation)
            return texts

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
    # A batch of 60 episodes: ROLL's pipeline resets the counter before the next one.
    some = sorted(validate(10))
    others = sorted(validate(10, 10))
    assert len(some) == len(others) == 60
    assert some != others
    assert cluster.get(manager.reset.remote()) == 1
    assert sorted(validate(10)) == some
    cluster.get(manager.reset.remote())
    assert sorted(validate(9999)) == expected
