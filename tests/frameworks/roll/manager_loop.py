"""ROLL's environment managers and group queues, with environments of either side.

All that plays is ROLL's own: ``AgenticConfig.make_env_configs`` (groups and their
seeds), ``GroupQueueManager`` (numbers of episodes), ``TrajEnvManager`` (prompts,
tokens, rewards), each manager in a thread, as ``EnvironmentWorker`` runs them.  Three
parts are ours: a policy without a model, a tokenizer of bytes, and a thread in place of
Ray's actor.
"""

import asyncio
import inspect
import random
import threading
import types
import zlib
from concurrent.futures import ThreadPoolExecutor

import torch
from omegaconf import DictConfig
from roll.configs.generating_args import GeneratingArguments
from roll.distributed.scheduler.protocol import DataProto
from roll.distributed.scheduler.rollout_scheduler import GroupQueueManager
from roll.pipeline.agentic.agentic_config import (
    AgenticConfig,
    EnvManagerConfig,
    EnvMonitorConfig,
    LLMProxyConfig,
)
from roll.pipeline.agentic.env_manager import traj_env_manager
from roll.pipeline.agentic.llm_proxy.base_llm_proxy import (
    BaseLLMProxy,
    register_llm_proxy,
)
from tokenizers import Tokenizer, decoders, models, pre_tokenizers
from transformers import PreTrainedTokenizerFast

TEMPLATE = (
    "{% for message in messages %}<|im_start|>{{ message['role'] }}\n"
    "{{ message['content'] }}<|im_end|>\n{% endfor %}"
    "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
)
SYSTEM = "You're a helpful assistant."
PROMPT = "Turn {turn_idx}, {actions_left} actions left:\n{observation}"


def make_tokenizer():
    """Return a tokenizer whose tokens are bytes."""
    alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
    vocabulary = {letter: number for number, letter in enumerate(alphabet)}
    tokenizer = Tokenizer(models.BPE(vocab=vocabulary, merges=[]))
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    result = PreTrainedTokenizerFast(
        tokenizer_object=tokenizer,
        eos_token="<|im_end|>",
        pad_token="<|endoftext|>",
        additional_special_tokens=["<|im_start|>"],
    )
    result.chat_template = TEMPLATE
    return result


@register_llm_proxy("scripted")
class ScriptedProxy(BaseLLMProxy):
    """A policy that is a function of the messages and of the environment's number."""

    choose = None

    def generate(self, messages, lm_input, generation_config):
        """Return an answer, as tokens."""
        del generation_config
        text = f"{lm_input.meta_info['src_rank']} {messages}"
        rng = random.Random(zlib.crc32(text.encode()))
        turn = sum(message["role"] == "assistant" for message in messages)
        answer = type(self).choose(rng, turn, messages[-1]["content"])
        tokens = self.tokenizer(f"{answer}<|im_end|>", add_special_tokens=False)
        lm_input.batch["responses"] = torch.tensor([tokens["input_ids"]])
        return lm_input


class KeepAll:
    """ROLL's own filter of groups, without the imports of its pipeline."""

    def __init__(self, config, env_manager_config, mode):
        del config, env_manager_config, mode

    def filter(self, group_id, episode_id, group):
        """Return False: keep the group."""
        del group_id, episode_id, group
        return False


class LocalActor:
    """An object in a thread with a loop, with the interface of a Ray actor.

    Parameters
    ----------
    actor_class : type
        A class that ``ray.remote`` decorates.
    *args
        Of its constructor.
    """

    def __init__(self, actor_class, *args):
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)
        self._thread.start()
        plain_class = actor_class.__ray_metadata__.modified_class
        self._target = self._submit(plain_class, *args).result()

    def _submit(self, function, *args):
        async def call():
            result = function(*args)
            return await result if inspect.isawaitable(result) else result

        return asyncio.run_coroutine_threadsafe(call(), self._loop)

    def __getattr__(self, name):
        function = getattr(self._target, name)
        return types.SimpleNamespace(remote=lambda *args: self._submit(function, *args))

    def stop(self):
        """Stop the thread."""
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()


# The manager's only use of Ray.
traj_env_manager.ray = types.SimpleNamespace(get=lambda future: future.result())


def make_configs(env_type, env_config, uses_lock, num_groups, group_size, max_steps):
    """Return ROLL's configs of a pipeline and of its environment managers."""
    env = {
        "env_type": env_type,
        "max_steps": max_steps,
        "max_tokens_per_step": 128,
        "use_thread_lock": uses_lock,
        "agent_system_template": SYSTEM,
        "agent_template": PROMPT,
        "env_config": env_config,
    }
    pipeline = types.SimpleNamespace(
        custom_envs=DictConfig({"Game": env}),
        sequence_length=16384,
        skip_mock_system_prompt=False,
        async_generation_ratio=0,
        rollout_batch_size=num_groups * group_size,
        env_monitor=EnvMonitorConfig(enable=False),
    )
    manager = EnvManagerConfig(
        num_env_groups=num_groups,
        group_size=group_size,
        tags=["Game"],
        num_groups_partition=[num_groups],
        max_traj_per_env=1,
        group_filter_cls=f"{__name__}.{KeepAll.__name__}",
        llm_proxy=LLMProxyConfig(proxy_type="scripted"),
        generating_args=GeneratingArguments(max_new_tokens=128),
    )
    # Draws the seeds of the groups from the global generator.
    random.seed(0)
    AgenticConfig.make_env_configs(pipeline, manager)
    return pipeline, manager


def roll_out(
    env_type, env_config, choose, num_groups, group_size, max_steps=10, uses_lock=True
):
    """Play one batch of episodes with ROLL's managers.

    Parameters
    ----------
    env_type : str
        A name in GEM's registry.
    env_config : dict
        Of a yaml.
    choose : callable
        The policy: an answer for a random generator, a turn and an observation.
    num_groups, group_size, max_steps : int
    uses_lock : bool
        Whether one environment is stepped at a time, as ROLL's yamls ask.  Its own
        environments draw rooms from a global generator.

    Returns
    -------
    envs : list
        The environments.
    rollouts : dict
        ROLL's ``DataProto`` of each trajectory, by its id: tag, group, episode, seed of
        the group, environment.
    """
    ScriptedProxy.choose = staticmethod(choose)
    sizes = num_groups, group_size, max_steps
    pipeline, worker = make_configs(env_type, env_config, uses_lock, *sizes)
    queue = LocalActor(GroupQueueManager, pipeline, worker, "train")
    queue.advance_step.remote(0).result()
    tokenizer, lock = make_tokenizer(), threading.Lock()

    def make_manager(config):
        manager = traj_env_manager.TrajEnvManager(
            worker_config=worker,
            pipeline_config=pipeline,
            env_config=config,
            tokenizer=tokenizer,
            generate_scheduler=None,
            output_queue=queue,
            thread_lock=lock,
        )
        manager.update_step(global_step=0)
        return manager

    configs = [
        config for rank in worker.env_configs.values() for config in rank.values()
    ]
    managers = [make_manager(config) for config in configs]
    with ThreadPoolExecutor(len(managers)) as threads:
        data = [DataProto(meta_info={"seed": 0}) for _ in managers]
        loops = [
            threads.submit(manager.run_rollout_loop, one)
            for manager, one in zip(managers, data, strict=True)
        ]
        batch = queue.get_batch.remote(len(managers), 0).result()
        for manager in managers:
            manager.stop()
        queue.shutdown.remote().result()
        for loop in loops:
            loop.result()
    queue.stop()
    # A fast environment may take the place of a slow one of its group, and play twice.
    rollouts = {one.non_tensor_batch["traj_id"][0]: one for one in batch}
    assert len(batch) == len(managers)
    return [manager.env for manager in managers], rollouts


def as_plain(rollout):
    """Return a trajectory as plain data: tokens, masks, scores, metrics."""
    return (
        {name: tensor.tolist() for name, tensor in rollout.batch.items()},
        {name: array.tolist() for name, array in rollout.non_tensor_batch.items()},
        rollout.meta_info["metrics"],
    )
