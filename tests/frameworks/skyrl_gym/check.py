"""SkyRL's own generator drives the recipe; every turn equals the environment itself.

Needs skyrl, torch, loguru and omegaconf beside skyrl-gym.  An engine that draws its
answers from a list stands for the model, and a tokenizer of characters for its own.
"""

import asyncio
import json
import random
import sys
import tempfile
import typing
from pathlib import Path

import gymnasium
import skyrl_gym
import typing_extensions
from recipes import load_recipe

# Pydantic accepts that of typing only from Python 3.12 on, and skyrl uses it.
typing.TypedDict = typing_extensions.TypedDict

from skyrl.train.config import GeneratorConfig, SkyRLGymConfig  # noqa: E402
from skyrl.train.generators.skyrl_gym_generator import SkyRLGymGenerator  # noqa: E402

MOVES = ("Up", "Down", "Left", "Right")
EOS = "\x03"
TURNS = 6


class Characters:
    """A tokenizer whose tokens are characters; a chat has a line for each message."""

    eos_token, eos_token_id = EOS, ord(EOS)

    def encode(self, text, **_):
        return [ord(letter) for letter in text]

    def apply_chat_template(self, messages, add_generation_prompt=False, **_):
        text = "".join(f"[{m['role']}]{m['content']}{EOS}\n" for m in messages)
        return self.encode(text + "[assistant]" * add_generation_prompt)


class Engine:
    """The place of SkyRL's inference engine."""

    def __init__(self, seeds):
        self.rngs = {id: random.Random(seed) for id, seed in seeds.items()}
        self.prompts = {id: [] for id in seeds}
        self.answers = {id: [] for id in seeds}

    async def generate(self, batch, model=None):
        await asyncio.sleep(0)  # other trajectories come in between
        [id], [codes] = batch["session_ids"], batch["prompt_token_ids"]
        answer = draw_answer(self.rngs[id])
        self.prompts[id].append("".join(map(chr, codes)))
        self.answers[id].append(answer)
        return {
            "responses": [answer],
            "response_ids": [[ord(letter) for letter in answer + EOS]],
            "stop_reasons": ["stop"],
            "response_logprobs": None,
        }

    async def finish_session(self, id):
        pass


class Trajectory(typing.NamedTuple):
    """SkyRL's TrajectoryID."""

    instance_id: str
    repetition_id: int


def draw_answer(rng):
    """Return a move or a sum, or sometimes a text that is neither."""
    kind = rng.randrange(8)
    if kind == 0:
        return rng.choice(["", "I am lost.", "<answer>jump</answer>", "Up"])
    if kind == 1:
        return f"<answer>{rng.randrange(9)} + {rng.randrange(9)}</answer>"
    return f"I go. <answer>{rng.choice(MOVES)}</answer>"


def check(name, keywords, seeds):
    """Let SkyRL generate two trajectories a seed; replay each. Returns the steps."""
    ids = [(f"{seed}", sample) for seed in seeds for sample in range(2)]
    engine = Engine({f"{a}_{b}": f"{a} {b}" for a, b in ids})
    config = GeneratorConfig()
    config.max_turns, config.max_input_length = TURNS, 1 << 20
    config.batched = config.apply_overlong_filtering = False
    config.sampling_params.logprobs = None
    config.chat_template_kwargs = {}
    generator = SkyRLGymGenerator(config, SkyRLGymConfig(), engine, Characters())
    prompt = [{"role": "system", "content": "Play."}]
    batch = {
        "prompts": [prompt for _ in ids],
        "env_classes": [name for _ in ids],
        "env_extras": [{"seed": int(seed)} for seed, _ in ids],
        "trajectory_ids": [Trajectory(*id) for id in ids],
    }
    output = asyncio.run(generator.generate(batch, disable_tqdm=True))
    steps, successes = 0, []
    env = gymnasium.make(max_episode_steps=TURNS, **keywords)
    for (seed, sample), rewards, metrics in zip(
        ids, output["rewards"], output["env_metrics"], strict=True
    ):
        id = f"{seed}_{sample}"
        observation, info = env.reset(seed=int(seed))
        first = f"{info['env_instruction']}\n\n{observation}"
        chat = [*prompt, {"role": "user", "content": first}]
        expected, is_over = [], False
        answers = list(zip(engine.prompts[id], engine.answers[id], strict=True))
        for text, answer in answers:
            assert not is_over, "SkyRL steps beyond the end"
            lines = [f"[{m['role']}]{m['content']}{EOS}\n" for m in chat]
            assert text == "".join(lines) + "[assistant]"
            observation, reward, terminated, truncated, info = env.step(answer)
            is_over = terminated or truncated
            expected.append(float(reward))
            chat.append({"role": "assistant", "content": answer})
            chat.append({"role": "user", "content": observation})
        assert is_over
        assert [r for r in rewards if r] == [r for r in expected if r]
        success = float(info["success"])
        successes.append(success)
        turns = len(answers)
        truth = {"turns": turns, "success": success, "truncated": float(truncated)}
        assert metrics == truth
        steps += turns
    key = f"environment/{name}/success"
    logged = [v for k, v in output["rollout_metrics"].items() if "success" in k]
    assert abs(logged[0] - sum(successes) / len(successes)) < 1e-6, key
    assert any(output["env_metrics"][i]["truncated"] for i in range(len(ids)))
    return steps


def main():
    """Run the check; write the rows of the table."""
    pattern = {"action_pattern": "<answer>(.*?)</answer>"}
    with tempfile.TemporaryDirectory() as folder:
        recipe = load_recipe("skyrl_gym", folder, "games")
    countdown = {"id": "roll_vec/Countdown-v0", "max_steps": TURNS + 2}
    skyrl_gym.register("long_countdown", recipe.Game, countdown)
    lake = {"id": "roll_vec/RandomFrozenLake-v0", **recipe.grid}
    skyrl_gym.register("lake", recipe.Game, lake)
    rows = []
    for title, name, keywords in (
        ("Sokoban", "sokoban", recipe.sokoban),
        ("RandomFrozenLake", "lake", lake),
        ("Countdown", "long_countdown", countdown),
    ):
        steps = check(name, keywords | pattern, range(500))
        what = f"{title}, 1000 trajectories by SkyRL's generator, a scripted model"
        result = f"equal transcripts and rewards in {steps:,} steps"
        rows.append({"what": what, "result": result, "lines_changed": 1})
        sys.stdout.write(f"{what}: {result}\n")
    Path(sys.argv[1]).write_text(json.dumps(rows, indent=1) + "\n")


if __name__ == "__main__":
    main()
