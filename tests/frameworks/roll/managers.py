"""ROLL's environment managers play ROLL's environments and ours: equal rollouts.

Configurations are ROLL's own yaml files.  Stand-ins are a policy without a model, a
tokenizer and a processor of bytes, a queue without Ray, and what needs a GPU: sglang's
parser of tool calls, qwen-vl-utils' loader of pictures.
"""

import json
import os
import random
import re
import sys
import threading
from collections import deque
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import ModuleType, SimpleNamespace
from unittest.mock import patch

import numpy as np
import pydantic
import ray
import torch
from omegaconf import OmegaConf
from record import ANSWERS, browse, count_resets
from scheduler import PROXY, count_rows, make_configs, make_tokenizer
from side_by_side import assert_same
from transformers import BatchFeature

from roll_vec.adapters.roll import native, register_gem_envs

EXAMPLES = Path(os.environ["ROLL_VEC_CHECKOUT"], "examples")
MANAGERS = "roll.pipeline.agentic.env_manager"
RUNNERS = "roll.pipeline.agentic.agent_runner.gem_runner"
NATIVE_MANAGER = "agent_native_env_manager.AgentNativeStepEnvManager"
CHAT = "qwen2.5-0.5B-agentic/agentic_val_sokoban_native.yaml", "SokobanNativeEnv"
GROUP_SIZE, NUM_EPISODES = 3, 20
LONGEST = 16384  # tokens of an episode
TEMPLATE = (
    "{% if tools %}{{ tools | tojson }}{% endif %}{% for message in messages %}"
    "<|im_start|>{{ message['role'] }}\n{% if message['content'] is string %}"
    "{{ message['content'] }}{% else %}{% for part in message['content'] %}"
    "{{ part['text'] if part['type'] == 'text' else '<|image_pad|>' }}"
    "{% endfor %}{% endif %}{% for call in message['tool_calls'] or [] %}"
    "{{ call['function'] | tojson }}{% endfor %}<|im_end|>\n{% endfor %}"
    "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
)
# What differs in every run: times, and numbers of calls.
TIMES = re.compile("traj_(time|save)|timing_info|timestamp|latency/|throughput/")
NUMBERS = re.compile(r"call_[0-9a-f]{24}|_\d{8}_\d{6}_\d{6}")
# Of `ProxyEnvManager`; `main` starts it.
SERVER = None


# ----------------------------------------------------------------------- stand-ins


class Model(pydantic.BaseModel):
    """Sglang's models of messages and tools, without their checks."""

    model_config = pydantic.ConfigDict(extra="allow")


class FunctionCallParser:
    """Sglang's parser of Qwen's calls; other tools than those given are no calls."""

    def __init__(self, tools, name):
        assert name == "qwen25"
        self.names = {tool.function["name"] for tool in tools}

    def has_tool_call(self, text):
        """Return whether there is the beginning of a call."""
        return "<tool_call>\n" in text

    def parse_non_stream(self, text):
        """Return the text before the calls, and the calls."""
        calls = re.findall(r"<tool_call>\n(.*?)\n</tool_call>", text, re.DOTALL)
        infos = [
            SimpleNamespace(name=c["name"], parameters=json.dumps(c["arguments"]))
            for c in map(json.loads, calls)
            if c["name"] in self.names
        ]
        return text.partition("<tool_call>")[0].strip(), infos


def install_stand_ins():
    """Put stand-ins where ROLL imports packages that need a GPU."""
    protocol = {"Tool": Model, "ChatCompletionMessageParam": Model}
    parser = {"FunctionCallParser": FunctionCallParser}
    loader = {"fetch_image": lambda entry, **_: entry["image"]}
    for name, values in {
        "sglang.srt.entrypoints.openai.protocol": protocol,
        "sglang.srt.function_call.function_call_parser": parser,
        "qwen_vl_utils": loader,
    }.items():
        parts = name.split(".")
        for number in range(1, len(parts)):
            package = ".".join(parts[:number])
            sys.modules.setdefault(package, ModuleType(package))
        module = sys.modules[name] = ModuleType(name)
        vars(module).update(values)


class Processor:
    """A processor of texts and pictures for a model that sees."""

    image_processor = SimpleNamespace(patch_size=16)

    def __init__(self, tokenizer):
        self.tokenizer = tokenizer

    def __call__(self, images, videos, audio, text, **keywords):
        """Return tokens, and all pixels."""
        del videos, audio, keywords
        tokens = self.tokenizer(text, add_special_tokens=False)
        data = {name: [tokens[name]] for name in ("input_ids", "attention_mask")}
        if images:
            data["pixel_values"] = np.stack([np.asarray(image) for image in images])
        return BatchFeature(data)


def place(input_ids, attention_mask):
    """Return the places of tokens, which models that see have of their own."""
    del input_ids
    places = torch.as_tensor(attention_mask).cumsum(-1) - 1
    return {"position_ids": places.clip(min=0)}


class Queue:
    """Numbers of episodes for one manager, which then stops, and its rollouts."""

    def __init__(self, episodes):
        self.episodes, self.rollouts = deque(episodes), []
        self.manager = None
        self.get_episode_id = SimpleNamespace(remote=self._next)
        self.put = SimpleNamespace(remote=self._put)

    def _next(self, group_id, env_id):
        del group_id, env_id
        if self.episodes:
            return self.episodes.popleft()
        self.manager.stop()
        return None

    def _put(self, group_id, episode_id, start_step, rollout, env_id):
        del group_id, episode_id, start_step, env_id
        if rollout is not None:
            self.rollouts.append(rollout)


# -------------------------------------------------------------------------- policies


def move(rng, turn, observation):
    """Return a random answer with or without an action, and a thought before it."""
    del turn, observation
    return f"<think>Hm.</think>{rng.choice(ANSWERS)}"


def call_tool(rng, turn, observation):
    """Return a random answer, mostly a call of the tool with a direction."""
    del turn, observation
    direction = rng.choice([*native.DIRECTIONS * 3, "west", None])
    if direction is None:
        return "I wait."
    name = "move_player" if rng.random() < 0.9 else "jump"
    call = {"name": name, "arguments": {"direction": direction}}
    return f"<tool_call>{json.dumps(call)}</tool_call>"


POLICIES = {"webshop": browse, "sokoban_tool_call": call_tool}


def make_proxy_class():
    """Return the policy as a proxy of a model, registered for ROLL."""
    from roll.pipeline.agentic.llm_proxy import BaseLLMProxy, register_llm_proxy

    @register_llm_proxy(PROXY)
    class ScriptedProxy(BaseLLMProxy):
        choose, count, abandoned = move, 0, None

        def generate(self, messages, lm_input, generation_config):
            """Return an answer that depends on the member and the number of calls."""
            del generation_config
            self.count += 1
            number = lm_input.meta_info["src_rank"]
            if self.abandoned is not None:
                self.abandoned.managers[number].stop()
            rng = random.Random(f"{number} {self.count}")
            text = messages[-1]["content"]
            answer = type(self).choose(rng, self.count % 12, text)
            tokens = self.tokenizer(f"{answer}<|im_end|>", add_special_tokens=False)
            responses = torch.tensor([tokens["input_ids"]])
            lm_input.batch["responses"] = responses
            lm_input.batch["infer_logprobs"] = responses / -512
            return lm_input

    return ScriptedProxy


# ------------------------------------------------------------------------- rollouts


def load(file, tag, **changes):
    """Return the environment of a yaml, without what needs Ray; a shop is the demo."""
    root = OmegaConf.load(EXAMPLES / file)
    envs = root.custom_env if "custom_env" in root else root.custom_envs
    env = OmegaConf.to_container(envs[tag], resolve=True)
    if tag == "WebShopEnv":
        env["env_config"]["num_products"] = 100
    return {**env, "max_env_step_concurrent": 0, **changes}


def cases():
    """Yield classes of managers, each with environments of yamls."""
    grids = ("SimpleSokoban", "SokobanDifferentGridVocab", "FrozenLake")
    games = (*grids, "FrozenLakeThink", "WebShopEnv")
    traj, step = "config/traj_envs.yaml", "config/step_envs.yaml"
    yield "traj_env_manager.TrajEnvManager", [load(traj, tag) for tag in games]
    yield "step_env_manager.StepEnvManager", [load(step, tag) for tag in games]
    texts = OmegaConf.load(
        EXAMPLES / "qwen3_agentic_gem/gem_game_guess_the_number.yaml"
    )
    texts = {key: texts[key] for key in ("agent_system_template", "agent_template")}
    envs = [load(step, tag, **texts) for tag in games]
    yield "step_concat_env_manager.StepConcatEnvManager", envs
    vision = "config/vl_traj_envs.yaml"
    tags = (*grids, "FrozenLakeThink")
    envs = [load(vision, tag) for tag in tags]
    yield "vl_traj_env_manager.VLTrajEnvManager", envs
    yield NATIVE_MANAGER, [load(*CHAT)]
    proxy = "proxy_env_manager.ProxyEnvManager"
    runners = {"agent_runner_cls": f"{RUNNERS}.GEMRunner"}
    yield proxy, [load(traj, tag, **runners) for tag in games]
    runners = {"agent_runner_cls": f"{RUNNERS}.ToolCallRunner"}
    yield proxy, [load(*CHAT, env_type="sokoban_tool_call", **runners)]


class Group:
    """A group of managers with ROLL's environments, or with ours.

    Members have one seed; their policies differ.
    """

    def __init__(self, path, env, is_ours):
        from roll.utils.import_utils import safe_import_class

        self.num_threads = GROUP_SIZE if is_ours else 1  # ROLL draws rooms globally
        env_type = f"roll_vec/{env['env_type']}" if is_ours else env["env_type"]
        env = {**env, "env_type": env_type, "proxy_port": SERVER.port}
        sizes = ("group_size", "max_env_num_per_worker")
        pipeline, worker = make_configs(
            env,
            {"num_env_groups": 1, **dict.fromkeys(sizes, GROUP_SIZE)},
            max_new_tokens=128,
            sequence_length=LONGEST,
            parse_tool_call_parameter_to_dict=False,
            exp_name="compare",
            reward=None,
        )
        manager_class = safe_import_class(f"{MANAGERS}.{path}")
        tokenizer = make_tokenizer(TEMPLATE)
        self.managers = {}
        for number, config in worker.env_configs[0].items():
            random.seed(0)  # draws WebShop's prices
            manager = self.managers[number] = manager_class(
                worker_config=worker,
                pipeline_config=pipeline,
                env_config=config,
                tokenizer=tokenizer,
                processor=Processor(tokenizer),
                extra_data_provider=place,
                generate_scheduler=None,
                output_queue=None,
                thread_lock=threading.Lock(),
            )
            manager.update_step(global_step=0)
            if hasattr(manager, "process_request"):
                SERVER.register_handler(number, manager.process_request)
        self.seed = config["group_seed"]

    @property
    def envs(self):
        """The environments."""
        return [getattr(m, "agent_runner", m).env for m in self.managers.values()]

    def play(self, episodes):
        """Return the rollouts of some episodes, member by member."""
        from roll.distributed.scheduler.protocol import DataProto

        def run(manager):
            manager.llm_proxy.count = 0
            queue = manager.output_queue = Queue(episodes)
            queue.manager = manager
            manager.run_rollout_loop(DataProto(meta_info={"seed": 0}))
            return queue.rollouts

        with ThreadPoolExecutor(self.num_threads) as threads:
            each = threads.map(run, self.managers.values())
            return [rollout for rollouts in each for rollout in rollouts]


def whole_episodes(group):
    """Return numbers of episodes; ROLL draws no room of theirs from another seed."""
    env = group.envs[0]
    resets, episodes = count_resets(type(env)), []
    for number in range(NUM_EPISODES * 2):
        before = len(resets)
        env.reset(seed=group.seed + number)
        if len(resets) == before + 1:
            episodes.append(number)
    if hasattr(env, "task_idx"):
        env.task_idx = 0
    return episodes[:NUM_EPISODES]


def plain(value):
    """Return a rollout as plain data, without what differs in every run."""
    if hasattr(value, "non_tensor_batch"):
        parts = value.batch, value.non_tensor_batch, value.meta_info
        return [plain(dict(part.items())) for part in parts]
    if isinstance(value, torch.Tensor):
        return value.numpy()
    if isinstance(value, dict):
        return {k: plain(v) for k, v in value.items() if not TIMES.search(str(k))}
    if isinstance(value, list | tuple) or getattr(value, "dtype", None) == np.dtype(
        object
    ):
        return [plain(item) for item in value]
    if isinstance(value, str) and value[:1] in ("{", "["):
        try:
            return plain(json.loads(value))
        except ValueError:
            pass
    return NUMBERS.sub("", value) if isinstance(value, str) else value


# ---------------------------------------------------------------------- comparisons


def state_groups(rollouts):
    """Return for each sample the number of its state, as GiGPO groups them."""
    hashes = [h for one in rollouts for h in one.non_tensor_batch.get("state_hash", ())]
    return [hashes.index(one) for one in hashes]


def abandon(path, env, proxy_class):
    """Stop managers in their first episode; return their batch, which has no row left.

    A stopped manager of ROLL ends its loop, and leaves its environment as it stands.
    """
    group = proxy_class.abandoned = Group(path, env, is_ours=True)
    batch = group.envs[0]._batch
    group.play(range(1))
    proxy_class.abandoned = None
    assert count_rows(batch)[1] == GROUP_SIZE
    for number in group.managers:
        SERVER.unregister_handler(number)
    del group
    assert count_rows(batch)[1] == 0
    return batch


def compare(path, env, proxy_class):
    """Return how many rollouts are equal: all, in rows that others have abandoned."""
    proxy_class.choose = staticmethod(POLICIES.get(env["env_type"], move))
    theirs = Group(path, env, is_ours=False)
    episodes = whole_episodes(theirs)
    expected = theirs.play(episodes)
    batch = abandon(path, env, proxy_class)
    ours = Group(path, env, is_ours=True)
    assert state_groups(ours.play(episodes)) == state_groups(expected)
    ours = Group(path, env, is_ours=True)
    with patch.object(native, "REMINDER", ""):  # ROLL never shows it
        assert_same(plain(ours.play(episodes)), plain(expected))
    assert ours.envs[0]._batch is batch
    return len(expected)


def main():
    """Return the rows of all managers."""
    global SERVER
    install_stand_ins()
    import roll.pipeline.agentic.env  # noqa: F401 (registers ROLL's names)
    from roll.pipeline.agentic.proxy.proxy_server import ProxyServer

    register_gem_envs()
    proxy_class, rows = make_proxy_class(), []
    SERVER = ProxyServer(host="127.0.0.1")
    SERVER.start()
    for path, envs in cases():
        runner = envs[0].get("agent_runner_cls") or ""
        names = [path.rpartition(".")[2], *runner.split(".")[-1:]]
        # No queue is an actor here; that of `scheduler` is one.
        with patch.object(ray, "get", lambda value: value):
            num_equal = sum(compare(path, env, proxy_class) for env in envs)
        games = ", ".join(dict.fromkeys(env["env_type"] for env in envs))
        what = f"{' with '.join(filter(None, names))}: {games}"
        rows.append({"what": what, "result": f"{num_equal} equal rollouts"})
    SERVER.stop()
    return rows
