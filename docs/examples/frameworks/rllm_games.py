"""rLLM: an agent flow and an evaluator for every id of roll_vec.

They take the place of the cookbook FrozenLake and the example Countdown.
"""

import asyncio
from types import SimpleNamespace

import gymnasium
import rllm
from openai import AsyncOpenAI
from rllm.eval.types import EvalOutput, Signal
from rllm.types import AgentConfig, Episode, Step, Task, Trajectory

import roll_vec


@rllm.rollout(name="roll_vec")
async def play(task, config):
    """Play the episode of a row with the model."""
    row = task.metadata
    env = gymnasium.make(row["game"], **row["keywords"])
    observation, info = env.reset(seed=row["seed"])
    text = f"{info['env_instruction']}\n\n{observation}"
    messages, steps, ended = [{"role": "user", "content": text}], [], False
    client = AsyncOpenAI(base_url=config.base_url, api_key="EMPTY")
    while not ended:
        reply = await client.chat.completions.create(
            model=config.model, messages=messages
        )
        answer = reply.choices[0].message.content or ""
        messages.append({"role": "assistant", "content": answer})
        observation, reward, terminated, truncated, info = env.step(answer)
        ended = terminated or truncated
        chat = list(messages)
        steps.append(Step(chat_completions=chat, reward=float(reward), done=ended))
        messages.append({"role": "user", "content": observation})
    total = sum(step.reward for step in steps)
    return Episode(
        trajectories=[Trajectory(name="roll_vec", steps=steps)],
        artifacts={"return": total, "turns": len(steps)},
        is_correct=bool(info.get("success", False)),
    )


@rllm.evaluator
def score(_, episode):
    """Return the sum of the environment's rewards."""
    signals = [Signal("accuracy", float(episode.is_correct))]
    signals.append(Signal("turns", float(episode.artifacts["turns"])))
    return EvalOutput(episode.artifacts["return"], episode.is_correct, signals)


def make_rows(game, seeds, **keywords):
    """Return the rows of a data set for `DatasetRegistry.register_dataset`."""
    keywords = {"action_pattern": "```(.*?)```", **keywords}
    facts = {"game": game, "keywords": keywords}
    return [
        {**facts, "seed": seed, "question": f"{game}, seed {seed}"} for seed in seeds
    ]


grid = {"obs_mode": "text", "action_mode": "text", "is_slippery": False}
lake = {**grid, "size": 4, "max_episode_steps": 8}
LAKES = make_rows("roll_vec/RandomFrozenLake-v0", range(10_000), **lake)
TASKS = make_rows("roll_vec/Countdown-v0", range(10_000))


def main():
    """Play an episode of each, with a client whose model always goes right."""
    global AsyncOpenAI

    class AsyncOpenAI:
        def __init__(self, **_):
            self.chat = self.completions = self

        async def create(self, **_):
            message = SimpleNamespace(content="I go on. ```Right```")
            return SimpleNamespace(choices=[SimpleNamespace(message=message)])

    config = AgentConfig(base_url="", model="", session_uid="")
    for row in LAKES[1], TASKS[0]:
        task = Task(id="0", instruction=row["question"], metadata=row)
        episode = asyncio.run(play.arun(task, config))
        print(episode.artifacts, score.evaluate(row, episode))


if __name__ == "__main__":
    main()
