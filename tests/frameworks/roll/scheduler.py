"""ROLL's queue of episodes, over Ray, gives ours to managers in two workers.

An evaluation split is played once in each validation.  Groups with redundant members,
rollouts that fail and a worker that is killed leave no row of a shared batch taken.
Queue, managers and data sets are ROLL's; a random policy takes the place of a model.
"""

import gc
import os
import random
import re
import threading
import time
from pathlib import Path
from types import SimpleNamespace

import ray
import torch
from omegaconf import DictConfig, OmegaConf
from tokenizers import Tokenizer, decoders, models, pre_tokenizers
from transformers import PreTrainedTokenizerFast

from roll_vec.adapters.roll import GemSokobanEnv, register_gem_envs
from roll_vec.evaluation import find_split

EXAMPLE = Path(os.environ["ROLL_VEC_CHECKOUT"], "examples/config/traj_envs.yaml")
MANAGER = "roll.pipeline.agentic.env_manager.traj_env_manager.TrajEnvManager"
TEMPLATE = (
    "{% for message in messages %}<|im_start|>{{ message['role'] }}\n"
    "{{ message['content'] }}<|im_end|>\n{% endfor %}"
    "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
)
NUM_WORKERS, NUM_ENVS = 2, 6
TAG, PROXY, SPLIT = "Game", "scripted", "test-1-box"
FIRST_ROOM = re.compile(r"Observation:\n(.*?)\nStrictly", re.DOTALL)


class KeepAll:
    """A filter of groups that leaves none out."""

    def __init__(self, *arguments):
        del arguments

    def filter(self, group_id, episode_id, group):
        """Return False: the group is kept."""
        del group_id, episode_id, group
        return False


def make_tokenizer(template):
    """Return a tokenizer whose tokens are bytes, with a template of chats."""
    alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
    tokens = {letter: number for number, letter in enumerate(alphabet)}
    tokenizer = Tokenizer(models.BPE(vocab=tokens, merges=[]))
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    names = {"eos_token": "<|im_end|>", "pad_token": "<|endoftext|>"}
    names["additional_special_tokens"] = ["<|im_start|>"]
    return PreTrainedTokenizerFast(
        tokenizer_object=tokenizer, chat_template=template, **names
    )


def load(**env_config):
    """Return the small Sokoban of ROLL's example, ours."""
    root = OmegaConf.load(EXAMPLE)
    env = OmegaConf.to_container(root.custom_env.SimpleSokoban, resolve=True)
    env["env_config"] |= env_config
    return {**env, "env_type": "roll_vec/sokoban"}


def make_configs(env, managers, max_new_tokens, **keywords):
    """Return ROLL's configurations of a pipeline with one environment, and managers.

    ``managers`` are keywords of ROLL's `EnvManagerConfig`, the others of the pipeline.
    """
    from roll.configs.generating_args import GeneratingArguments
    from roll.pipeline.agentic.agentic_config import (
        AgenticConfig,
        EnvManagerConfig,
        LLMProxyConfig,
    )

    pipeline = SimpleNamespace(
        custom_envs=DictConfig({TAG: env}), skip_mock_system_prompt=False, **keywords
    )
    managers = managers | {"num_groups_partition": [managers["num_env_groups"]]}
    worker = EnvManagerConfig(
        tags=[TAG],
        llm_proxy=LLMProxyConfig(proxy_type=PROXY),
        generating_args=GeneratingArguments(max_new_tokens=max_new_tokens),
        **managers,
    )
    random.seed(0)  # draws the groups' seeds
    AgenticConfig.make_env_configs(pipeline, worker)
    return pipeline, worker


def make_queue_configs(env, group_size, redundancy, batch_size):
    """Return the configurations of all managers of the workers, and of their queue."""
    from roll.pipeline.agentic.agentic_config import EnvMonitorConfig

    managers = {
        "num_env_groups": NUM_WORKERS * NUM_ENVS // (group_size + redundancy),
        "group_size": group_size,
        "group_size_redundancy": redundancy,
        "max_env_num_per_worker": NUM_ENVS,
        "max_traj_per_env": 1,
        "group_filter_cls": f"{KeepAll.__module__}.KeepAll",
    }
    return make_configs(
        env,
        managers,
        max_new_tokens=64,
        sequence_length=8192,
        val_batch_size=batch_size,
        rollout_batch_size=batch_size,
        async_generation_ratio=0,
        env_monitor=EnvMonitorConfig(enable=False),
    )


def count_rows(batch):
    """Return the rows of a shared batch, and how many are taken."""
    gc.collect()
    num_rows = sum(one.num_envs for one in batch.batches)
    return num_rows, num_rows - sum(len(one._free_rows) for one in batch.batches)


@ray.remote(num_cpus=0, max_concurrency=8)
class Worker:
    """ROLL's `EnvironmentWorker` without what downloads a model."""

    def __init__(self, pipeline, worker, rank, queue, mode):
        import roll.pipeline.agentic.env  # noqa: F401 (registers names)
        from roll.pipeline.agentic.llm_proxy import BaseLLMProxy, register_llm_proxy
        from roll.utils.import_utils import safe_import_class

        register_gem_envs()
        broken = self.broken = set()

        @register_llm_proxy(PROXY)
        class RandomProxy(BaseLLMProxy):
            def generate(self, messages, lm_input, generation_config):
                """Return a random answer after a random time."""
                del messages, generation_config
                number = lm_input.meta_info["src_rank"]
                time.sleep(random.random() / 100)
                if number in broken:
                    raise RuntimeError(f"the model of {number} fails")
                name = random.choice(["Up", "Down", "Left", "Right"])
                text = f"<answer>{name}</answer><|im_end|>"
                tokens = self.tokenizer(text, add_special_tokens=False)
                lm_input.batch["responses"] = torch.tensor([tokens["input_ids"]])
                return lm_input

        manager_class = safe_import_class(MANAGER)
        self.managers, self.errors = {}, []
        for number, config in worker.env_configs[rank].items():
            self.managers[number] = manager_class(
                worker_config=worker,
                pipeline_config=pipeline,
                env_config=config,
                tokenizer=make_tokenizer(TEMPLATE),
                generate_scheduler=None,
                output_queue=queue,
                thread_lock=threading.Lock(),
                mode=mode,
            )
        self.batch = next(iter(self.managers.values())).env._batch

    def update_step(self, step):
        """Note the step of the training."""
        for manager in self.managers.values():
            manager.update_step(step)

    def run(self):
        """Play in a thread for each manager; return the errors."""
        from roll.distributed.scheduler.protocol import DataProto

        def play(manager):
            try:
                manager.run_rollout_loop(DataProto(meta_info={"seed": 42}))
            except RuntimeError as error:
                self.errors.append(str(error))

        threads = [
            threading.Thread(target=play, args=(manager,))
            for manager in self.managers.values()
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        return self.errors

    def break_model(self, number):
        """Let the model of a manager fail."""
        self.broken.add(number)

    def stop(self):
        """Let all managers stop at their next turn."""
        for manager in self.managers.values():
            manager.stop()

    def drop(self, numbers):
        """Drop managers, and return the rows of the batch and those that are taken."""
        for number in numbers:
            self.managers.pop(number, None)
        return count_rows(self.batch)


class Run:
    """A queue, and workers with their managers."""

    def __init__(self, env, mode, *sizes):
        from roll.distributed.scheduler.rollout_scheduler import GroupQueueManager

        pipeline, worker = make_queue_configs(env, *sizes)
        count = NUM_WORKERS * NUM_ENVS
        options = GroupQueueManager.options(num_cpus=0, max_concurrency=count + 1)
        self.queue = options.remote(pipeline, worker, mode)
        self.workers = [
            Worker.remote(pipeline, worker, rank, self.queue, mode)
            for rank in range(NUM_WORKERS)
        ]
        self.running = []

    def get_batch(self, size, step):
        """Return rollouts, as ROLL's `RolloutScheduler` gets them."""
        if not self.running:
            self.running = [worker.run.remote() for worker in self.workers]
        ray.get([worker.update_step.remote(step) for worker in self.workers])
        ray.get(self.queue.advance_step.remote(step))
        rollouts = ray.get(self.queue.get_batch.remote(size, step))
        if size <= 0:
            ray.get(self.running)
            self.running = []
            ray.get(self.queue.clear.remote())
        return rollouts

    def shutdown(self):
        """End all, as ROLL's `RolloutScheduler`; return the errors of the workers."""
        ray.get([worker.stop.remote() for worker in self.workers])
        ray.get(self.queue.shutdown.remote())
        return [error for errors in ray.get(self.running) for error in errors]


def first_rooms(rollouts):
    """Return the first room of each rollout, as the model has read it."""
    tokenizer, rooms = make_tokenizer(TEMPLATE), []
    for rollout in rollouts:
        text = tokenizer.decode(rollout.batch["input_ids"][0])
        rooms.append(FIRST_ROOM.search(text)[1])
    return rooms


def validate_split(manager):
    """Play a split in two validations; return its number of episodes."""
    env = load(evaluation_split=SPLIT)
    env["max_steps"] = 1
    split = find_split(GemSokobanEnv.ID, SPLIT)
    room = GemSokobanEnv(**split.keywords)
    expected = sorted(room.reset(seed=seed)[0] for seed in split.seeds)
    run = Run(env, "val", 1, 0, -1)
    for step in range(2):
        ray.get(manager.reset.remote())  # as ROLL's pipeline
        assert sorted(first_rooms(run.get_batch(-1, step))) == expected
    for worker in run.workers:
        ray.kill(worker)
    return len(expected)


def abandon_rollouts():
    """Let rollouts fail, and kill a worker; return the number of other rollouts."""
    run, count = Run(load(), "train", 2, 1, 8), 0
    for step in range(4):
        count += len(run.get_batch(8, step))
    # A member of a group with a redundant one fails: the others fill the group.
    first, second = run.workers
    ray.get(first.break_model.remote(0))
    for step in range(4, 8):
        count += len(run.get_batch(8, step))
    assert ray.get(first.drop.remote([0])) == (NUM_ENVS, NUM_ENVS - 1)
    ray.kill(second)
    del run.workers[1:], run.running[1:]
    # The groups of the other worker go on; then ROLL's queue waits for the lost ones.
    count += len(run.get_batch(4, 8))
    assert run.shutdown() == ["the model of 0 fails"]
    # Stopped in the middle of their episodes, they have rows until they go.
    assert ray.get(first.drop.remote(range(1, 4))) == (NUM_ENVS, 2)
    assert ray.get(first.drop.remote(range(NUM_ENVS))) == (NUM_ENVS, 0)
    return count


def main():
    """Return the rows of the results."""
    settings = {"include_dashboard": False, "log_to_driver": False}
    ray.init(address="local", num_cpus=4, namespace="roll", **settings)
    from roll.datasets.global_dataset import GlobalDatasetManager

    options = {"name": "val_dataset_manager", "namespace": "roll", "num_cpus": 0}
    manager = GlobalDatasetManager.options(**options).remote()
    num_episodes, num_rollouts = validate_split(manager), abandon_rollouts()
    ray.shutdown()
    texts = {
        "an evaluation split in two validations": f"{num_episodes} episodes, each once",
        "groups with redundant members, failures and a killed worker": (
            f"{num_rollouts} rollouts; all rows are free at the end"
        ),
    }
    what = f"Ray, GroupQueueManager and TrajEnvManager, {NUM_WORKERS} workers"
    return [{"what": f"{what}: {key}", "result": text} for key, text in texts.items()]
