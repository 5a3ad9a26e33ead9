"""SkyRL-gym: every id of roll_vec as one of its environments.

SkyRL's workers import this module.  A row of the data set has `seed`.
"""

import gymnasium
import skyrl_gym
from skyrl_gym.envs.base_text_env import BaseTextEnv, BaseTextEnvStepOutput

import roll_vec
from roll_vec.trajectories import to_content


class Game(BaseTextEnv):
    """One environment of roll_vec; the row of the data set has its seed."""

    def __init__(self, id, extras, env_config=None, **keywords):
        super().__init__()
        keywords.setdefault("action_pattern", "<answer>(.*?)</answer>")
        self.max_turns = extras["max_turns"]
        self.env = gymnasium.make(id, max_episode_steps=self.max_turns, **keywords)
        self.seed = extras["seed"]
        self.metrics = {"success": 0.0, "truncated": 0.0}

    def init(self, prompt):
        observation, info = self.env.reset(seed=self.seed)
        content = to_content(info["env_instruction"], observation)
        return [*prompt, {"role": "user", "content": content}], info

    def step(self, action):
        observation, reward, terminated, truncated, info = self.env.step(action)
        self.turns += 1
        self.metrics = {
            "success": float(info.get("success", False)),
            "truncated": float(truncated),
        }
        return BaseTextEnvStepOutput(
            observations=[{"role": "user", "content": to_content(observation)}],
            reward=float(reward),
            done=terminated or truncated,
            metadata=info,
        )

    def get_metrics(self):
        return {"turns": self.turns, **self.metrics}

    def close(self):
        self.env.close()


grid = {"obs_mode": "text", "action_mode": "text", "format_penalty": -0.1}
sokoban = {"id": "roll_vec/Sokoban-v0", "num_boxes": 1, **grid}
games = {"sokoban": sokoban, "countdown": {"id": "roll_vec/Countdown-v0"}}
games["sokoban_pictures"] = {**sokoban, "obs_mode": "rgb"}
for name, keywords in games.items():
    if name not in skyrl_gym.registry:  # as in the second run of a notebook
        skyrl_gym.register(name, entry_point=Game, kwargs=keywords)


def main():
    """Do what SkyRL's generator does, with the answers of a model."""
    env = skyrl_gym.make("sokoban", extras={"max_turns": 3, "seed": 7})
    chat, _ = env.init([{"role": "system", "content": "You play games."}])
    print(chat[-1]["content"])
    for answer in ("<answer>Up</answer>", "I am lost.", "<answer>Left</answer>"):
        output = env.step(answer)
        print(answer, output["reward"], output["done"])
        print(output["observations"][0]["content"])
    print(env.get_metrics())
    env.close()
    env = skyrl_gym.make("sokoban_pictures", extras={"max_turns": 3, "seed": 7})
    text, picture = env.init([])[0][-1]["content"]
    print(text["type"], picture["image_url"]["url"][:40])
    print(env.step("<answer>Up</answer>")["observations"][0]["content"][0]["type"])
    env.close()


if __name__ == "__main__":
    main()
